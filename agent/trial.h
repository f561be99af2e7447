/* SPDX-License-Identifier: MIT */
/* trial.h - one leased trial in the agent: what was asked, and the record that grows from it. */
#ifndef TUNE_AGENT_TRIAL_H
#define TUNE_AGENT_TRIAL_H

#include "agent/built.h"
#include "agent/timing.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/json.h"
#include "logs/record.h"
#include "runtime/program.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trial {
    char id[SHA256_HEX + 1];
    int64_t token;
    struct sha256 program_name, anchor_name; /* blobs; anchor hex "" = none */
    struct sha256 sheet_name;                /* of the passes to verify it with; "" = the program's */
    char fills[PROGRAM_SUM_BYTES];           /* what its tuner makes of its fills; "" = not told */
    struct timing_rules rules;
    double build_s, run_s;
    int64_t memory_bytes;
    bool ran_once;      /* while it was verified: building has that run in it */
    double least_flops; /* of a run; 0 = not known */
    char prove[8];      /* which of its batch are put through all passes (agent/prove.h) */
    bool proven;        /* the job has put this program through them */
    struct program program;
    /* What a builder answered about the program and about the anchor's; empty where the lease brought none. Of the
     * program also what was compiled apart here, by nobody. */
    struct built code, anchor_code;
    int64_t buffer_bytes; /* of the program */
    bool wants_energy;    /* of one run, measured behind its time */
    struct record record;
    bool finished;       /* the record is whole: nothing more is to be done but to send it */
    atomic_bool dropped; /* the tracker took it back, or it was cancelled: no record */
    const struct clock *clock;
    int64_t leased_ns, verified_ns;
    cJSON *sense;       /* the device's sensors round its batch; NULL = none */
    double peak_gflops; /* of the canary beside it; 0 = it was not timed */
    int64_t generation; /* of the compiler cache its binary is in */
    int64_t blob_stamp; /* its blobs in the work directory were used after this */
    bool built;         /* no more to be done but timing; under the farm's lock */
};

/* What an agent knows of itself and writes into every record; its trials keep what it points at. */
struct trial_agent {
    const char *name, *key;
    struct sha256 fingerprint;
    const struct clock *clock; /* NULL = the machine's */
    const char *tune;          /* its version; NULL = not told */
};

/* From one entry of trial_lease's answer; ERR_PROTOCOL when it has no id, token or program, ERR_NOMEM. A body that
 * lacks something gets the protocol's defaults. */
enum err trial_new(const cJSON *lease, const struct trial_agent *agent, struct trial **out, struct why *why);
void trial_free(struct trial *t);

/* What a trial's body says of building and running, with the protocol's defaults; run_s may be NULL. */
void trial_limits(const cJSON *body, double *build_s, double *run_s, int64_t *memory_bytes);

/* Parses the program and copies its identity into the record; a program that is not sane finishes the trial. */
void trial_take_program(struct trial *t, const void *text, size_t n);

/* Finishes the trial when this agent makes other data than its tuner of the fills of `p`, which is its program with the
 * passes of its sheet. */
void trial_check_fills(struct trial *t, const struct program *p);

/* Copies what a builder answered, or a compile child, into the record; a failure finishes the trial. */
void trial_take_code(struct trial *t);

/* Ends the trial with a failure. */
void trial_fail(struct trial *t, enum record_status status, const char *stage, const char *why);

/* Takes a child's answer to `verify`: finishes the trial unless it is ok. */
void trial_take_verify(struct trial *t, const cJSON *reply);

/* Takes one trial of a child's answer to `time`, with what the whole batch had in common: finishes the trial. */
void trial_take_time(struct trial *t, const cJSON *item, const cJSON *batch);

/* The rules as the child wants them; known_ns: the least time of what its job has put through all passes here, 0 =
 * none. NULL on lack of memory. */
cJSON *trial_time_request(const struct trial *t, double known_ns);

#endif
