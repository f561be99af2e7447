/* SPDX-License-Identifier: MIT */
#include "town.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

void town_open(struct town *t, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->world = world_new(seed);
    t->net = net_new(t->world);
}

struct crew_agent *town_agent(struct town *t, const char *name)
{
    struct crew_agent *a = &t->agents[t->n_agents];

    assert_true(t->n_agents < TOWN_MAX);
    crew_agent_init(a, t->net, name, t->n_agents++);
    return a;
}

struct crew_builder *town_builder(struct town *t, const char *name)
{
    struct crew_builder *b = &t->builders[t->n_builders++];

    assert_true(t->n_builders <= TOWN_MAX);
    crew_builder_init(b, t->net, name);
    return b;
}

struct sim_job *town_job(struct town *t)
{
    struct sim_job *j = &t->jobs[t->n_jobs];

    assert_true(t->n_jobs < TOWN_MAX);
    sim_job_init(j, t->net, "sim", 100 * t->n_jobs++);
    return j;
}

static void happen(void *arg)
{
    const struct town_event *e = arg;

    world_sleep(e->town->world, e->at_ns);
    e->act(e->town);
}

void town_at(struct town *t, int64_t ms, void (*act)(struct town *t))
{
    struct town_event *e = &t->events[t->n_events++];

    assert_true(t->n_events <= TOWN_MAX_EVENTS);
    *e = (struct town_event){t, ms * WORLD_MS, act};
    world_add(t->world, "event", happen, e);
}

static void move_blobs(const struct town *t, const char *from, const char *to)
{
    char here[PATH_MAX + 16], there[PATH_MAX + 16];

    snprintf(here, sizeof here, "%s/%s", t->spoilt, from);
    snprintf(there, sizeof there, "%s/%s", t->spoilt, to);
    assert_int_equal(rename(here, there), 0);
}

void town_lose_disk(struct town *t, const char *dir)
{
    if (t->spoilt[0])
        return;
    snprintf(t->spoilt, sizeof t->spoilt, "%s", dir);
    move_blobs(t, "blobs", "aside");
}

void town_mend_disk(struct town *t)
{
    move_blobs(t, "aside", "blobs");
}

static struct crew *crew_of(struct town *t, int i)
{
    if (i < t->n_agents)
        return &t->agents[i].crew;
    i -= t->n_agents;
    return i < t->n_builders ? &t->builders[i].crew : NULL;
}

static bool all_done(void *arg)
{
    struct town *t = arg;

    for (int i = 0; i < t->n_jobs; i++)
        if (!t->jobs[i].done)
            return false;
    for (int i = 0; crew_of(t, i); i++)
        if (!crew_of(t, i)->working && !crew_of(t, i)->ended)
            return false;
    for (int i = 0; i < t->n_agents; i++)
        if (t->agents[i].farm && t->agents[i].farm->n_held > 0)
            return false;
    return true;
}

static bool all_ended(void *arg)
{
    struct town *t = arg;

    for (int i = 0; crew_of(t, i); i++)
        if (!crew_of(t, i)->ended)
            return false;
    return true;
}

static void keep_house(void *arg)
{
    struct town *t = arg;

    world_wait(t->world, all_done, t, INT64_MAX);
    world_sleep(t->world, t->stay_ns);
    for (int i = 0; crew_of(t, i); i++)
        crew_stop(crew_of(t, i));
    world_wait(t->world, all_ended, t, INT64_MAX);
    net_stop(t->net);
}

static void tell_all(struct town *t)
{
    for (int i = 0; crew_of(t, i); i++)
        for (int k = 0; k < crew_of(t, i)->n_lines; k++)
            print_error("%s: %s\n", crew_of(t, i)->name, crew_of(t, i)->lines[k]);
}

void town_run(struct town *t, int64_t max_s)
{
    net_start(t->net);
    for (int i = 0; i < t->n_agents; i++)
        crew_agent_start(&t->agents[i]);
    for (int i = 0; i < t->n_builders; i++)
        crew_builder_start(&t->builders[i]);
    for (int i = 0; i < t->n_jobs; i++)
        sim_job_start(&t->jobs[i]);
    world_add(t->world, "town", keep_house, t);
    if (world_run(t->world, max_s * WORLD_S))
        return;
    tell_all(t);
    fail_msg("the town does not come to its end");
}

void town_close(struct town *t)
{
    for (int i = 0; i < t->n_jobs; i++)
        sim_job_fini(&t->jobs[i]);
    for (int i = 0; i < t->n_agents; i++)
        crew_agent_fini(&t->agents[i]);
    for (int i = 0; i < t->n_builders; i++)
        crew_builder_fini(&t->builders[i]);
    net_free(t->net);
    world_free(t->world);
}
