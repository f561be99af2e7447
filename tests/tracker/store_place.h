/* SPDX-License-Identifier: MIT */
/* store_place.h - a store in a place of its own, and rows as its tests put and take them; every failure is one of the
 * test. */
#ifndef TUNE_TESTS_TRACKER_STORE_PLACE_H
#define TUNE_TESTS_TRACKER_STORE_PLACE_H

#include "core/err.h"
#include "tracker/store.h"

#include <stdbool.h>
#include <stdint.h>

struct place {
    const struct store_ops *ops;
    struct store *s;
    char dir[256];
    const struct clock *clock; /* NULL = the machine's */
};

/* A machine whose clock a test turns; place_now_ns begins at 0. */
extern const struct clock place_clock;
extern int64_t place_now_ns;
struct store *place_open_at(const struct store_ops *ops, const struct clock *clock, const char *where);

void place_open(struct place *p);
void place_reopen(struct place *p);
void place_commit(struct place *p);

/* Rows that differ in nothing but this: a job "t" of key "k", a trial numbered as its id, a record "line". */
void place_job(struct place *p, int64_t id, enum job_state state, int64_t done_ms);
void place_trial(struct place *p, int64_t id, int64_t job, enum trial_state state);
/* The same where the store may fail. */
enum err place_put_job(struct place *p, int64_t id, enum job_state state, int64_t done_ms);
enum err place_put_trial(struct place *p, int64_t id, int64_t job, enum trial_state state);
enum err place_record(struct place *p, int64_t job, int64_t seq, int64_t trial, const char *status);
/* Retention to its end; how many calls that takes. */
int place_forget(struct place *p, int64_t before_ms);

/* Callbacks. take_job: a struct job_row, its texts checked and dropped (id -1: others); count_trials: int[5] by state;
 * count_records: an int; print_build: 64 characters. */
void take_job(const struct job_row *row, void *arg);
void count_trials(const struct trial_row *row, void *arg);
bool count_records(const struct record_row *row, void *arg);
void print_build(const struct build_row *row, void *arg);

#endif
