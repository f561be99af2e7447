/* SPDX-License-Identifier: MIT */
/* sim_job.h - a job of simulated programs (sim_child.h) in a world: an actor submits it, adds its trials and gathers
 * their records. */
#ifndef TUNE_TESTS_SIM_SIM_JOB_H
#define TUNE_TESTS_SIM_SIM_JOB_H

#include "logs/record.h"
#include "tests/sim/host.h"

#define SIM_JOB_MAX 160

struct sim_trial {
    char knobs[128];       /* members besides "n": "\"us\":50" */
    int anchor;            /* the trial whose program it is timed against; -1 = none */
    const char *purpose;   /* "search" */
    const char *workload;  /* "sim" */
    const char *timing;    /* members of the body's "timing", 3 rounds */
    const char *limits;    /* ... of its "limits" */
    const char *body;      /* further members of the body, with a comma before: ",\"seed\":7" */
    int64_t n_elems;       /* of its only buffer: 16 */
    double build_s, run_s; /* the program's own limits; 0 = none */
    bool cuda;             /* its module is CUDA C */
    bool withheld;         /* its source is not sent to the tracker */
    /* Afterwards: */
    char program[SHA256_HEX + 1], id[24];
    int n_records;
    struct record record; /* the last; empty without */
};

struct sim_job {
    struct peer peer;
    const char *key;
    int64_t first; /* "n" of trial 0: programs of jobs with others differ */
    struct sim_trial trials[SIM_JOB_MAX];
    int n;
    int64_t start_ns; /* of the world */
    char id[24];
    int n_answered; /* trials with a record, or two */
    bool added, done;
    int64_t done_ns;
};

void sim_job_init(struct sim_job *j, struct net *n, const char *key, int64_t first);
/* One more trial; lent until the next. */
struct sim_trial *sim_job_add(struct sim_job *j, const char *knobs, int anchor);
/* Adds the actor: it ends when each trial has a record, or the job is cancelled. */
void sim_job_start(struct sim_job *j);
/* In an actor: a call with arguments by printf; NULL, with words on stderr, when it fails. */
cJSON *sim_call(struct net *n, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4)));
void sim_job_fini(struct sim_job *j);

#endif
