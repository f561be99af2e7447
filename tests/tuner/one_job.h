/* SPDX-License-Identifier: MIT */
/* one_job.h - what tests of sessions share: a farm of one agent with one session, and its end. */
#ifndef TUNE_TESTS_TUNER_ONE_JOB_H
#define TUNE_TESTS_TUNER_ONE_JOB_H

#include "tests/sim/sim_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define DENSE "dense f32 m=8 n=64 k=64"
#define OTHER "dense f32 m=8 n=128 k=64"

/* Agent "a" and session "s", both to be changed until run(). */
static inline struct sim_session *start(struct sim_farm *f, uint64_t seed, const char *workloads)
{
    sim_farm_init(f, seed);
    sim_farm_agent(f, "a");
    return sim_farm_session(f, "s", workloads);
}

static inline void run(struct sim_farm *f)
{
    if (!sim_farm_run(f, 7200 * WORLD_S))
        fail_msg("the farm stands still");
}

/* It came to its own end, and all that must hold of every job does. */
static inline void expect_done(struct sim_farm *f, const struct sim_session *s)
{
    struct why why = {""};

    if (s->e || s->end != SESSION_DONE)
        fail_msg("%s: %s, end %d: %s", s->name, err_name(s->e), s->end, s->why.text);
    if (s->log_path[0] && !sim_check(f, s, &why))
        fail_msg("%s: %s", s->name, why.text);
}

/* Of a job with one workload. */
static inline const struct task *only_task(const struct sim_session *s)
{
    assert_int_equal(s->session.n_tasks, 1);
    return &s->session.tasks[0];
}

static inline void expect_true_values(const struct sim_farm *f, const struct sim_session *s)
{
    struct why why = {""};

    if (!sim_check_values(f, only_task(s), &why))
        fail_msg("%s: %s", s->name, why.text);
}

#endif
