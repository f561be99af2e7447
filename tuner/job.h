/* SPDX-License-Identifier: MIT */
/* job.h - a tuning order: workloads x device key x budget x strategy; its text is the body that a tracker stores. */
#ifndef TUNE_TUNER_JOB_H
#define TUNE_TUNER_JOB_H

#include "core/blobs.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "runtime/device_desc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_SCHEMA 1
#define JOB_MAX_LAYERS 512
#define JOB_MAX_TRIALS 1000000
#define JOB_PATH_BYTES 4096     /* of a file that a job names, with its NUL: what Linux takes */
#define JOB_PROTOCOL "rounds-1" /* name of the timing protocol in trials and records; "+energy-rest" behind it */

/* One workload of a job, how often it stands in the network, and its budget. */
struct job_layer {
    char *workload; /* canonical text */
    char *name;     /* of the layer, "" = none */
    int64_t count;
    int64_t trials; /* 0 = as the job says */
};

struct job_timing {
    int64_t rounds, rounds_near_best, min_calls, warmup;
    double min_slot_ms;
};

struct job {
    struct job_layer *layers;
    size_t n_layers, cap_layers;
    char network[64];
    char templates[512]; /* ids separated by commas, "" = those that fit best */
    char key[65];
    char replay[JOB_PATH_BYTES]; /* a recorded space instead of workloads: path of its .json, "" = none */
    char *spec;                  /* a person's own kernel, the one layer's: closed text of spec/spec.h; NULL = none */
    struct blobs spec_files;     /* its files, as far as they are here; no part of the text */
    int64_t trials;              /* of each layer that names no number of its own; a network's share the sum */
    double time_s;               /* 0 = no limit */
    int64_t early_stopping;      /* trials of a task without a better one that end it; 0 = never */
    double target_gflops;        /* a task ends at this rate, 0 = none */
    double target_ns;            /* or at this time, 0 = none */
    double min_gain;             /* or when its next trials are expected to gain less: a share, 0 = never */
    char strategy[32];
    char *command;     /* of strategy exec: what a shell runs, here alone; no part of the text. NULL = none */
    char objective[8]; /* "energy", "edp" (energy times time), "" = time */
    bool plain;        /* only templates that do all of the operator's sums: no Winograd */
    int64_t seed;
    int64_t data_seed; /* of the data that its trials are verified with beside the programs' own; 0 = none but those */
    struct job_timing timing;
    double build_s, run_s;
    int64_t memory_bytes;
};

/* Defaults of every number, no layers. */
void job_init(struct job *j);
void job_fini(struct job *j);

/* Appends a layer (copies the texts). ERR_LIMIT beyond JOB_MAX_LAYERS, ERR_NOMEM. */
enum err job_add_layer(struct job *j, const char *workload, const char *name, int64_t count);

/* The text of a job, and back; ERR_INPUT names the member. parse(text(j)) has the same text. */
enum err job_text(const struct job *j, struct buf *out);
enum err job_parse(const char *text, size_t n, struct job *out, struct why *why);

/* Budget of layer `i` (of the recorded space where there are no layers). */
int64_t job_trials(const struct job *j, size_t i);

/* True when the layers of a network draw on one budget, job.trials for each of them on average. */
bool job_shares_budget(const struct job *j);

/* Can a device like this one measure the job's candidates? ERR_UNSUPPORTED with words: a recording answers for its own
 * space alone. */
enum err job_check_device(const struct job *j, const struct device_desc *device, struct why *why);

/* Sets the budgets from text: "60" for all layers, "60,40" one for each in order. ERR_INPUT with words. */
enum err job_set_trials(struct job *j, const char *text, struct why *why);

/* What a job may want least, objective i: "time", "energy", "edp"; NULL behind the last. */
const char *job_objective_at(size_t i);

/* Exactness i of a job: "any", "plain"; NULL behind the last. */
const char *job_exactness_at(size_t i);

/* True when "a,b,c" has the entry `id`. */
bool job_list_has(const char *list, const char *id);

#endif
