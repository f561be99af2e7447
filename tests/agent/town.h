/* SPDX-License-Identifier: MIT */
/* town.h - a tracker, agents of the real code and jobs in one world: a test sets them up, lets them run to the end and
 * looks at what was said, asked and recorded. */
#ifndef TUNE_TESTS_AGENT_TOWN_H
#define TUNE_TESTS_AGENT_TOWN_H

#include "tests/sim/sim_crew.h"
#include "tests/sim/sim_job.h"

#include <limits.h>

#define TOWN_MAX 4
#define TOWN_MAX_EVENTS 16

struct town;

struct town_event {
    struct town *town;
    int64_t at_ns;
    void (*act)(struct town *t);
};

struct town {
    struct world *world;
    struct net *net;
    struct crew_agent agents[TOWN_MAX];
    struct crew_builder builders[TOWN_MAX];
    struct sim_job jobs[TOWN_MAX];
    int n_agents, n_builders, n_jobs;
    int64_t stay_ns; /* how long it stays after its jobs */
    struct town_event events[TOWN_MAX_EVENTS];
    int n_events;
    char spoilt[PATH_MAX]; /* work directory on a disk that fails; "" = none does */
};

void town_open(struct town *t, uint64_t seed);
/* Their options may be changed until the start. */
struct crew_agent *town_agent(struct town *t, const char *name);
struct crew_builder *town_builder(struct town *t, const char *name);
struct sim_job *town_job(struct town *t);
/* Another actor does this at that time of the world; it may block. */
void town_at(struct town *t, int64_t ms, void (*act)(struct town *t));
/* A work directory whose disk takes nothing: its blobs are aside. One at a time; not again once it was mended. */
void town_lose_disk(struct town *t, const char *dir);
void town_mend_disk(struct town *t); /* for town_at */
/* Lets all act until the jobs are done and nobody holds anything; then ends the agents in good order. The test fails
 * when that takes longer than max_s of the world's time. */
void town_run(struct town *t, int64_t max_s);
void town_close(struct town *t);

#endif
