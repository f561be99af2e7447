/* SPDX-License-Identifier: MIT */
#include "tests/sim/host.h"

#include "tests/sim/net.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct net *net_new(struct world *w)
{
    struct net *n = malloc(sizeof *n);

    assert(n);
    net_init(n, w);
    return n;
}

void net_free(struct net *n)
{
    net_fini(n);
    free(n);
}

struct world *net_world(const struct net *n)
{
    return n->world;
}

const char *net_dir(const struct net *n)
{
    return n->dir;
}

struct net_faults *net_faults_of(struct net *n)
{
    return &n->faults;
}

void net_set_lease_ms(struct net *n, int64_t ms)
{
    n->options.lease_ms = ms;
}

void net_set_running(struct net *n, bool running)
{
    n->paused = !running;
}

int64_t net_crashes(const struct net *n)
{
    return n->n_crashes;
}

void net_on_turn(struct net *n, void (*after_turn)(struct net *n, void *arg), void *arg)
{
    n->after_turn = after_turn;
    n->arg = arg;
}

void host_drain(struct net *n, const char *agent)
{
    struct agent *a = n->up ? table_get_text(&n->tracker->agents, agent) : NULL;

    if (a)
        a->drain = true;
}

int host_n_leased(const struct net *n, const char *agent)
{
    int n_leased = 0;

    for (const struct tracker_trial *t = n->up ? n->tracker->leased.first : NULL; t; t = t->next)
        n_leased += t->agent && strcmp(t->agent->id, agent) == 0;
    return n_leased;
}

static int64_t number_of(const char *id)
{
    return strtoll(id + 1, NULL, 10);
}

/* Its tracker's. */
static struct net *net_of_job(const struct net *n, const char *id)
{
    return n->beside && part_of_id(number_of(id), 2) == 2 ? n->beside : (struct net *)n;
}

bool host_job(const struct net *of, const char *id, struct host_job *out)
{
    const struct net *n = net_of_job(of, id);
    const struct tracker_job *j = n->up ? table_get_i64(&n->tracker->jobs, number_of(id)) : NULL;

    if (!j)
        return false;
    *out = (struct host_job){.is_open = j->state == JOB_OPEN,
                             .leased = j->leased,
                             .lease_left_ns = j->deadline_ns - world_now_ns(n->world),
                             .n_out = j->n_open + j->n_leased,
                             .done = -1,
                             .total = -1};
    if (j->progress)
        (void)sscanf(j->progress, "{\"done\":%" SCNd64 ",\"total\":%" SCNd64, &out->done, &out->total);
    return true;
}

/* ---- the store ---- */

static struct store *open_store(struct net *n)
{
    struct store *s = NULL;
    struct why why = {""};

    if (n->options.ops->open(n->dir, NULL, &s, &why)) {
        fprintf(stderr, "host: %s\n", why.text);
        abort();
    }
    return s;
}

static void must(enum err e)
{
    if (e) {
        fprintf(stderr, "host: the store says %s\n", err_name(e));
        abort();
    }
}

static void keep_job(const struct job_row *row, void *arg)
{
    static const char *const states[] = {"open", "done", "failed", "cancelled"};
    struct host_kept *j = arg;

    snprintf(j->state, sizeof j->state, "%s", states[row->state]);
    j->n_done = row->n_done;
    j->n_lost = row->n_lost;
    j->n_records = row->seq;
}

struct waiting {
    int64_t job, n;
};

static void count_waiting(const struct trial_row *row, void *arg)
{
    struct waiting *w = arg;

    w->n += row->job == w->job;
}

static void count_answered(const struct host_trial *t, void *arg)
{
    *(int64_t *)arg += t->answered;
}

void host_kept(struct net *of, const char *id, struct host_kept *out)
{
    struct net *n = net_of_job(of, id);
    struct store *s = open_store(n);
    struct waiting waiting = {.job = number_of(id)};

    *out = (struct host_kept){.n_done = 0};
    must(n->options.ops->each_job(s, number_of(id), keep_job, out));
    must(n->options.ops->each_live_trial(s, count_waiting, &waiting));
    out->n_waiting = waiting.n;
    n->options.ops->close(s);
    host_trials(n, id, count_answered, &out->n_answered);
}

struct each_line {
    void (*each)(int64_t n_trial, const char *line, void *arg);
    void *arg;
};

static bool pass_line(const struct record_row *row, void *arg)
{
    const struct each_line *l = arg;

    l->each(row->n, row->line, l->arg);
    return true;
}

void host_records(struct net *of, const char *id, void (*each)(int64_t n_trial, const char *line, void *arg), void *arg)
{
    struct net *n = net_of_job(of, id);
    struct each_line l = {each, arg};
    struct store *s = open_store(n);

    must(n->options.ops->each_record(s, number_of(id), 0, 0, INT64_MAX, pass_line, &l));
    n->options.ops->close(s);
}

struct each_trial {
    void (*each)(const struct host_trial *t, void *arg);
    void *arg;
};

static void pass_trial(const struct trial_row *row, void *arg)
{
    const struct each_trial *e = arg;
    struct host_trial t = {.n = row->n,
                           .program = row->program,
                           .anchor = row->anchor,
                           .purpose = row->purpose,
                           .protocol = row->protocol,
                           .answered = row->answered_by != 0};

    must(json_parse(row->body, strlen(row->body), &t.body, NULL));
    e->each(&t, e->arg);
    cJSON_Delete(t.body);
}

void host_trials(struct net *of, const char *id, void (*each)(const struct host_trial *t, void *arg), void *arg)
{
    struct net *n = net_of_job(of, id);
    struct each_trial e = {each, arg};
    struct store *s = open_store(n);

    for (int64_t i = 0;; i++) {
        const enum err found = n->options.ops->trial_get(s, 0, number_of(id), i, pass_trial, &e);

        if (found == ERR_NOT_FOUND)
            break;
        must(found);
    }
    n->options.ops->close(s);
}
