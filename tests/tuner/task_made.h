/* SPDX-License-Identifier: MIT */
/* task_made.h - a task of one layer and template, and records as agents send them. cmocka.h comes first. */
#ifndef TUNE_TESTS_TUNER_TASK_MADE_H
#define TUNE_TESTS_TUNER_TASK_MADE_H

#include "tests/tuner/cpu.h"
#include "tuner/task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WORKLOAD "dense f32 m=8 n=32 k=16"

static inline void start(struct task *t)
{
    const struct device_desc d = test_cpu();
    struct why why = {""};
    struct job j;

    job_init(&j);
    snprintf(j.strategy, sizeof j.strategy, "random");
    snprintf(j.templates, sizeof j.templates, "dense/gemm_packed");
    assert_int_equal(job_add_layer(&j, WORKLOAD, "fc", 3), ERR_OK);
    assert_int_equal(task_init(t, &j, 0, &d, &why), ERR_OK);
    job_fini(&j);
}

static inline size_t searched_arm(const struct task *t)
{
    for (size_t i = 0; i < t->n_arms; i++)
        if (!t->arms[i].baseline)
            return i;
    fail();
    return 0;
}

/* A record of one config as an agent would send it. */
static inline void make(const struct task *t, size_t i_arm, const struct config *c, double time_ns, struct record *r)
{
    record_init(r);
    r->workload = strdup(t->text);
    snprintf(r->template_id, sizeof r->template_id, "%s", t->arms[i_arm].id);
    r->template_version = t->arms[i_arm].version;
    r->knobs = space_config_to_json(t->arms[i_arm].space, c);
    r->fingerprint = t->fingerprint;
    snprintf(r->purpose, sizeof r->purpose, "search");
    r->status = time_ns > 0 ? STATUS_OK : STATUS_RUNTIME;
    r->time_ns = time_ns;
    r->lnratio = NAN;
    r->program = sha256_of(c, sizeof *c);
    r->flops = 8192;
}

static inline void take(struct task *t, const struct config *c, double time_ns, double lnratio, const char *purpose,
                        enum origin origin)
{
    struct record r;

    make(t, searched_arm(t), c, time_ns, &r);
    snprintf(r.purpose, sizeof r.purpose, "%s", purpose);
    r.lnratio = lnratio;
    if (!isnan(lnratio)) {
        r.anchor.hash = t->anchor.hash;
        r.anchor.epoch = t->anchor.epoch;
        r.anchor.bridge = t->anchor.bridge;
    }
    assert_int_equal(task_take(t, &r, origin), ERR_OK);
    record_fini(&r);
}

static inline void ask(struct task *t, struct task_proposal *p, size_t n)
{
    size_t got = 0;

    assert_int_equal(task_ask(t, n, p, &got, NULL), ERR_OK);
    assert_int_equal(got, n);
}

#endif
