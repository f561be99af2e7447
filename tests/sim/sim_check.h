/* SPDX-License-Identifier: MIT */
/* sim_check.h - what must hold of every job of a farm (sim_farm.h) after it has run, whatever went wrong. */
#ifndef TUNE_TESTS_SIM_SIM_CHECK_H
#define TUNE_TESTS_SIM_SIM_CHECK_H

#include "tests/sim/sim_farm.h"

/* A trial as the tracker has it. */
struct asked {
    int64_t n;
    char program[SHA256_HEX + 1], anchor[SHA256_HEX + 1], purpose[16], by[16], protocol[32], objective[8];
    int64_t rounds, rounds_near_best, min_calls, warmup, epoch;
    double min_slot_ms, best_ns, best_lnratio, bridge, run_s;
    bool answered, is_baseline, has_record;
    struct record record; /* the store's, where has_record */
};

struct asked_list {
    struct asked *items;
    size_t n;
};

/* Trials of a job in order of their numbers, with their records. */
void asked_of(struct sim_farm *f, const char *job_id, struct asked_list *out);
void asked_fini(struct asked_list *l);
/* How many have the purpose, the baseline not counted. */
size_t asked_count(const struct asked_list *l, const char *purpose);

/* False, with words, unless: each good record of the job in the store is in the log, byte for byte; the log has no
 * others but answers from the store, each line once; no config was searched twice; no more was searched than the
 * budgets allow, and the session counted as much; the best log holds the best of the log, and the session tells it. */
bool sim_check(struct sim_farm *f, const struct sim_session *s, struct why *why);

/* All values of a task that came by ratios on one scale, through the epochs and whatever the pace was: the truth but
 * for the noise. False, with words, else. */
bool sim_check_values(const struct sim_farm *f, const struct task *t, struct why *why);

/* By docs/log-format.md and the rule of logs/log.h, written anew: does the best log hold the best of the log? */
bool sim_check_best(const char *log_path, struct why *why);

/* Are the winners that the session tells those of its best log? */
bool sim_check_told(const struct sim_session *s, struct why *why);

#endif
