/* SPDX-License-Identifier: MIT */
#include "tests/tracker/random_shares.h"

#include "tests/tracker/rig.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N_USERS 3
#define MAX_JOBS 8
#define MAX_HANDS 4
#define LIFE_MS 120000
#define LEASE_MS 5000
#define N_AHEAD 8      /* trials that each job has waiting at least */
#define GUESS_MS 500.0 /* of the tracker, of a job's first trial: no trial takes more */

/* Some trials of one job, which an agent does one after the other. */
struct hand {
    int64_t next_ms;
    int nonce;
    bool registered;
    cJSON *lease; /* or NULL */
    int i;        /* the trial at work */
    double cost_ms;
};

struct order {
    int user, priority, n_added;
    int64_t id, comes_ms, goes_ms;
    bool is_here;
    double used_ms; /* device time, as told by results */
};

struct life {
    struct rig rig;
    struct rng rng;
    int n_agents, n_orders, max_lease;
    int64_t now_ms, crash_ms;
    struct hand hands[MAX_HANDS];
    struct order orders[MAX_JOBS];
    double cost_ms[N_USERS];
    /* How far apart two of them were when the later one came. */
    double users_apart[N_USERS][N_USERS], orders_apart[MAX_JOBS][MAX_JOBS];
    struct shares_sums sums;
};

static int below(struct life *l, int n)
{
    return (int)rng_below(&l->rng, (uint64_t)n);
}

static double weight(const struct order *o)
{
    return exp2(o->priority);
}

static bool user_is_here(const struct life *l, int user)
{
    for (int i = 0; i < l->n_orders; i++)
        if (l->orders[i].is_here && l->orders[i].user == user)
            return true;
    return false;
}

static double used_by(const struct life *l, int user)
{
    double sum = 0;

    for (int i = 0; i < l->n_orders; i++)
        sum += l->orders[i].user == user ? l->orders[i].used_ms : 0;
    return sum;
}

static double users_apart(const struct life *l, int a, int b)
{
    return used_by(l, a) - used_by(l, b);
}

static double orders_apart(const struct life *l, int a, int b)
{
    return l->orders[a].used_ms / weight(&l->orders[a]) - l->orders[b].used_ms / weight(&l->orders[b]);
}

/* From now on they are compared anew: with all orders of the user, or (-1) of everybody. */
static void compare_anew(struct life *l, int user)
{
    for (int a = 0; a < N_USERS; a++)
        for (int b = 0; b < N_USERS; b++)
            if (user < 0 || a == user || b == user)
                l->users_apart[a][b] = users_apart(l, a, b);
    for (int a = 0; a < l->n_orders; a++)
        for (int b = 0; b < l->n_orders; b++)
            if (user < 0 || l->orders[a].user == user || l->orders[b].user == user)
                l->orders_apart[a][b] = orders_apart(l, a, b);
}

/* ---- what has to be true ---- */

/* All that is leased at once and one lease more, each trial of them guessed too high or too low. */
static double allowed_ms(const struct life *l)
{
    return (l->n_agents + 1) * l->max_lease * GUESS_MS;
}

static void expect_near(struct life *l, double apart_ms, double allowed, const char *what, int a, int b)
{
    if (fabs(apart_ms) > allowed)
        fail_msg("after %.1f s %s %d and %d are %.1f s apart, at most %.1f s are allowed", (double)l->now_ms / 1e3,
                 what, a, b, apart_ms / 1e3, allowed / 1e3);
    if (fabs(apart_ms) / allowed > l->sums.farthest)
        l->sums.farthest = fabs(apart_ms) / allowed;
    l->sums.n_checks++;
}

/* Users with work have used as much as one another, and so, by weight, have the jobs of one. */
static void check_shares(struct life *l)
{
    for (int a = 0; a < N_USERS; a++)
        for (int b = 0; b < a; b++)
            if (user_is_here(l, a) && user_is_here(l, b))
                expect_near(l, users_apart(l, a, b) - l->users_apart[a][b], allowed_ms(l), "users", a, b);
    for (int a = 0; a < l->n_orders; a++)
        for (int b = 0; b < a; b++) {
            const struct order *x = &l->orders[a], *y = &l->orders[b];

            if (x->is_here && y->is_here && x->user == y->user)
                expect_near(l, orders_apart(l, a, b) - l->orders_apart[a][b],
                            allowed_ms(l) / fmin(fmin(weight(x), weight(y)), 1), "jobs", a, b);
        }
}

/* ---- jobs ---- */

static void add_trials(struct life *l, struct order *o)
{
    struct buf list;

    buf_init(&list, 65536);
    for (int i = 0; i < 2 * N_AHEAD; i++, o->n_added++)
        buf_printf(&list, "%s{'n':%d,'program':'%s','body':{}}", i ? "," : "", o->n_added, hash_of(o->n_added % 50));
    rig_do(&l->rig, "trial_add", "{'job':'j%" PRId64 "','token':1,'trials':[%s]}", o->id, buf_text(&list));
    buf_fini(&list);
}

static void come(struct life *l, struct order *o)
{
    const bool is_new = !user_is_here(l, o->user);
    const int me = (int)(o - l->orders);
    cJSON *result = rig_must(&l->rig, "job_submit", "{'body':'b','key':'cpu','lease':true,'user':'u%d','priority':%d}",
                             o->user, o->priority);

    o->id = strtoll(text_in(result, "job") + 1, NULL, 10);
    cJSON_Delete(result);
    o->is_here = true;
    for (int i = 0; i < l->n_orders; i++) {
        l->orders_apart[me][i] = orders_apart(l, me, i);
        l->orders_apart[i][me] = orders_apart(l, i, me);
    }
    if (is_new)
        compare_anew(l, o->user);
}

static void look_after_jobs(struct life *l)
{
    for (int i = 0; i < l->n_orders; i++) {
        struct order *o = &l->orders[i];

        if (!o->is_here && !o->id && l->now_ms >= o->comes_ms)
            come(l, o);
        if (o->is_here && l->now_ms >= o->goes_ms) {
            rig_do(&l->rig, "job_cancel", "{'job':'j%" PRId64 "'}", o->id);
            o->is_here = false;
            compare_anew(l, o->user);
        }
        if (o->is_here && ((struct tracker_job *)table_get_i64(&l->rig.t->jobs, o->id))->n_open < N_AHEAD)
            add_trials(l, o);
    }
}

/* ---- agents ---- */

static struct order *order_of(struct life *l, const cJSON *trial)
{
    const int64_t id = strtoll(text_in(trial, "job") + 1, NULL, 10);

    for (int i = 0; i < l->n_orders; i++)
        if (l->orders[i].id == id)
            return &l->orders[i];
    fail_msg("a trial of j%" PRId64 ", which nobody submitted", id);
    return NULL;
}

static void drop_lease(struct hand *h)
{
    cJSON_Delete(h->lease);
    h->lease = NULL;
}

static void begin_trial(struct life *l, struct hand *h)
{
    h->cost_ms = l->cost_ms[order_of(l, item_in(h->lease, "trials", h->i))->user] * (0.5 + rng_unit(&l->rng));
    h->next_ms = l->now_ms + (int64_t)ceil(h->cost_ms);
}

static void end_trial(struct life *l, struct hand *h)
{
    struct order *o = order_of(l, item_in(h->lease, "trials", h->i));

    if (rig_answer(&l->rig, h->lease, h->i, "ok", h->cost_ms))
        o->used_ms += h->cost_ms;
    if (++h->i < count_in(h->lease, "trials"))
        begin_trial(l, h);
    else
        drop_lease(h);
}

static void lease(struct life *l, struct hand *h)
{
    const int i_agent = (int)(h - l->hands);
    char agent[8], nonce[24];

    snprintf(agent, sizeof agent, "a%d", i_agent);
    snprintf(nonce, sizeof nonce, "n%d", h->nonce);
    if (!h->registered)
        rig_agent(&l->rig, agent, nonce);
    h->registered = true;
    h->lease = rig_must(&l->rig, "trial_lease", "{'agent':'%s','max':%d}", agent, 1 + below(l, l->max_lease));
    h->i = 0;
    if (count_in(h->lease, "trials") > 0) {
        begin_trial(l, h);
        return;
    }
    for (int i = 0; i < N_USERS; i++)
        if (user_is_here(l, i))
            fail_msg("there is work, and agent %s gets nothing", agent);
    drop_lease(h);
    h->next_ms = l->now_ms + 50;
}

/* It dies in mid-lease now and then, and another process comes under its name. */
static void act(struct life *l, struct hand *h)
{
    if (h->lease && below(l, 200) == 0) {
        drop_lease(h);
        h->registered = false;
        h->nonce++;
        h->next_ms = l->now_ms + below(l, 2 * LEASE_MS);
    } else if (h->lease) {
        end_trial(l, h);
    } else {
        lease(l, h);
    }
}

/* ---- life ---- */

static void begin(struct life *l, uint64_t seed)
{
    rng_init(&l->rng, seed);
    rig_init(&l->rig);
    l->rig.options.lease_ms = LEASE_MS;
    rig_start(&l->rig);
    l->n_agents = 1 + below(l, MAX_HANDS);
    l->max_lease = 1 + below(l, 3);
    l->n_orders = 2 + below(l, MAX_JOBS - 1);
    l->crash_ms = below(l, 2) ? below(l, LIFE_MS) : INT64_MAX;
    for (int i = 0; i < N_USERS; i++)
        l->cost_ms[i] = 20 + below(l, 180);
    for (int i = 0; i < l->n_orders; i++)
        l->orders[i] = (struct order){.user = below(l, N_USERS),
                                      .priority = below(l, 4) - 1,
                                      .comes_ms = below(l, 2) ? 0 : below(l, LIFE_MS / 2),
                                      .goes_ms = below(l, 3) ? INT64_MAX : LIFE_MS / 4 + below(l, LIFE_MS / 2)};
}

/* What was used is in the memory of the tracker that was killed: all begin anew. */
static void crash(struct life *l)
{
    rig_crash(&l->rig);
    for (int i = 0; i < l->n_agents; i++)
        l->hands[i].registered = false;
    compare_anew(l, -1);
    l->crash_ms = INT64_MAX;
}

void random_shares_live(uint64_t seed, struct shares_sums *sums)
{
    static struct life l;

    l = (struct life){.sums = *sums};
    begin(&l, seed);
    while (l.now_ms < LIFE_MS) {
        struct hand *next = &l.hands[0];

        for (int i = 1; i < l.n_agents; i++)
            if (l.hands[i].next_ms < next->next_ms)
                next = &l.hands[i];
        rig_pass(&l.rig, next->next_ms - l.now_ms);
        l.now_ms = next->next_ms;
        if (l.now_ms >= l.crash_ms)
            crash(&l);
        look_after_jobs(&l);
        act(&l, next);
        check_shares(&l);
    }
    for (int i = 0; i < l.n_agents; i++)
        drop_lease(&l.hands[i]);
    rig_check_books(l.rig.t);
    rig_stop(&l.rig);
    *sums = l.sums;
}
