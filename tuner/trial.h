/* SPDX-License-Identifier: MIT */
/* trial.h - trials on the way to the tracker: programs as blobs, bodies as docs/protocol.md has them. */
#ifndef TUNE_TUNER_TRIAL_H
#define TUNE_TUNER_TRIAL_H

#include "core/err.h"
#include "core/json.h"
#include "tracker/client.h"
#include "tuner/devices.h"
#include "tuner/task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What kind of measurement is asked for. */
enum trial_kind { TRIAL_SEARCH, TRIAL_BASELINE, TRIAL_BRIDGE, TRIAL_FINAL, N_TRIAL_KINDS };

/* The purpose that records of such trials have. */
const char *trial_purpose(enum trial_kind kind);

/* A batch being filled: its programs' blobs, and the list `trials` of trial_add. */
struct trial_batch {
    struct blobs blobs;
    cJSON *trials;
    size_t n;
    const struct job *job;
    const struct device_choice *device;
    bool is_told; /* what comes out of each trial is told as it is: each is put through all passes */
};

enum err trial_batch_init(struct trial_batch *b, const struct job *job, const struct device_choice *device);
void trial_batch_fini(struct trial_batch *b);

/* Adds one trial of a config; its number in the job is `n`, its program's name goes to *program (may be NULL).
 * `anchored` false = timed alone. ERR_INPUT or ERR_LIMIT when the config makes no program. */
enum err trial_batch_add(struct trial_batch *b, const struct task *t, enum trial_kind kind, size_t i_arm,
                         const struct config *c, const char *by, int64_t n, struct sha256 *program, struct why *why);

/* Adds a trial of a program that is finished already (its blobs are in b->blobs), timed alone. */
enum err trial_batch_add_program(struct trial_batch *b, const struct program *p, int64_t n, struct sha256 *program,
                                 struct why *why);

/* Sends blobs, then trials; what came back tells what the store had already. It is lent by *tree: cJSON_Delete it. */
enum err trial_batch_send(struct trial_batch *b, struct client *c, const char *job_id, int64_t token,
                          struct trial_add_result *out, cJSON **tree, struct why *why);

#endif
