/* SPDX-License-Identifier: MIT */
/* sample_set.h - layers of sample records for sets that are deployed. */
#ifndef TUNE_TESTS_DEPLOY_SAMPLE_SET_H
#define TUNE_TESTS_DEPLOY_SAMPLE_SET_H

#include "core/err.h"
#include "deploy/bundle.h"
#include "tests/libtune/sample_layer.h"

struct set_sample {
    const char *called, *workload, *template_id;
};

/* Adds a call of the sample's workload, and its layer where the set has none yet; time_ns 0 = as the record says. */
static inline enum err sample_set_add(struct deploy_set *s, const struct set_sample *x, double time_ns, struct why *why)
{
    struct deploy_layer l;
    struct record r;
    enum err e = ERR_OK;

    if (!deploy_set_find(s, x->workload)) {
        if (!sample_record(x->workload, x->template_id, &r))
            return why_set(why, ERR_INPUT, "%s: no record", x->workload);
        r.time_ns = time_ns > 0 ? time_ns : r.time_ns;
        e = deploy_layer_init(&l, &r, why);
        record_fini(&r);
        e = e == ERR_OK ? deploy_set_take(s, &l, why) : e;
    }
    return e == ERR_OK ? deploy_set_call(s, x->called, x->workload, why) : e;
}

#endif
