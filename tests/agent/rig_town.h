/* SPDX-License-Identifier: MIT */
/* rig_town.h - a town with one agent, and what its rig's tests ask of it. Each test program includes it once. */
#ifndef TUNE_TESTS_AGENT_RIG_TOWN_H
#define TUNE_TESTS_AGENT_RIG_TOWN_H

#include "town.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct town t;
static struct sim_job *job;
static struct sim_children *children; /* of the first agent */

static inline struct crew_agent *begin(void)
{
    struct crew_agent *a;

    town_open(&t, 1);
    a = town_agent(&t, "a0");
    children = &a->crew.children;
    job = town_job(&t);
    return a;
}

static inline struct sim_trial *add(const char *how, int anchor)
{
    char knobs[64] = "";

    if (*how)
        snprintf(knobs, sizeof knobs, "\"do\":\"%s\"", how);
    return sim_job_add(job, knobs, anchor);
}

static inline void expect(int i, enum record_status status, const char *stage, const char *words)
{
    const struct record *r = &job->trials[i].record;

    if (job->trials[i].n_records != 1 || r->status != status || strcmp(r->stage, stage) != 0 ||
        !strstr(r->why ? r->why : "", words))
        fail_msg("trial %d: %d records, %s at '%s': %s; wanted %s at '%s' with '%s'", i, job->trials[i].n_records,
                 status_name(r->status), r->stage, r->why ? r->why : "", status_name(status), stage, words);
}

static inline void expect_ok(int i)
{
    expect(i, STATUS_OK, "", "");
}

/* How the i-th request of that kind went: which programs, with which anchor. */
static inline const struct sim_asked *expect_asked(const char *op, int i, const char *programs, int anchor)
{
    const struct sim_asked *x = sim_asked(children, op, i);
    char text[256] = "";

    for (int k = 0; x && k < x->n; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", k ? " " : "", (long long)x->programs[k]);
    if (!x || strcmp(text, programs) != 0 || x->anchor != anchor)
        fail_msg("%s request %d was for '%s' with anchor %d, expected '%s' with %d", op, i, text, x ? x->anchor : -2,
                 programs, anchor);
    return x;
}

/* All are verified before the first is timed. */
static inline void all_built_first(struct crew *c)
{
    struct farm *f = ((struct crew_agent *)c)->farm;

    farm_lease_step(f, 0);
    while (farm_build_step(f, 0))
        ;
}

#endif
