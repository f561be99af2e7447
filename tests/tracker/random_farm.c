/* SPDX-License-Identifier: MIT */
#include "tests/tracker/random_farm.h"

#include "tests/tracker/faulty_store.h"

#include "core/file.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MS INT64_C(1000000)
#define STEP_MS 100        /* between two turns at most, unless the tracker is paused */
#define CHAOS_MS 12000     /* then all is calm ... */
#define PATIENCE_MS 200000 /* ... and has to end */

/* ---- chance ---- */

int below(struct random_farm *f, int n)
{
    return (int)rng_below(&f->rng, (uint64_t)n);
}

bool chance(struct random_farm *f, int of_thousand)
{
    return below(f, 1000) < of_thousand;
}

bool mishap(struct random_farm *f, int of_thousand)
{
    return !f->calm && chance(f, of_thousand);
}

void rest(struct peer *p, int64_t max_ms)
{
    p->next_ns = p->farm->rig.now_ns + (1 + below(p->farm, (int)max_ms)) * MS;
}

/* ---- questions ---- */

/* Two versions of tune are in the farm: a process is of one, and the next one of its name of the other. */
static bool is_later(const struct peer *p)
{
    return ((uint64_t)(p->i + p->nonce) + p->farm->seed) % 2;
}

/* What a later version says more: in each object a member that this tracker does not know. */
static void say_more(cJSON *object)
{
    cJSON *member;

    cJSON_ArrayForEach(member, object)
    {
        if (cJSON_IsObject(member) || cJSON_IsArray(member))
            say_more(member);
    }
    if (cJSON_IsObject(object))
        cJSON_AddItemToObject(object, "said_later", cJSON_Parse("{\"more\":[1,\"2\"]}"));
}

void ask(struct peer *p, const char *op, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    p->args = args_of(format, list);
    va_end(list);
    if (is_later(p)) {
        say_more(p->args);
        p->farm->n_later++;
    }
    snprintf(p->op, sizeof p->op, "%s", op);
    p->id[0] = '\0';
    p->asks = true;
    p->asked_ns = p->farm->rig.now_ns;
}

static void end_question(struct peer *p)
{
    cJSON_Delete(p->args);
    p->args = NULL;
    p->asks = false;
}

void hang_up(struct peer *p)
{
    if (p->errand && p->farm->n_gone < 64)
        p->farm->gone[p->farm->n_gone++] = p->line;
    p->line += 100;
    if (p->asks)
        end_question(p);
}

/* Puts a question into bytes: the same id each time, so that it is executed once. */
static struct errand *errand_of(struct random_farm *f, const char *op, const cJSON *args, char *id, uint32_t line,
                                int blob)
{
    const bool puts = strcmp(op, "blob_put") == 0;
    cJSON *request = rig_request(&f->rig, op, cJSON_Duplicate(args, true));
    struct blobs attached;
    struct errand *e;
    struct buf bytes;

    if (id[0])
        cJSON_ReplaceItemInObject(request, "id", cJSON_CreateString(id));
    else
        snprintf(id, REQUEST_ID_HEX + 1, "%s", text_in(request, "id"));
    if (puts)
        farm_blob(blob, &attached);
    rig_encode(&f->rig, request, puts ? &attached : NULL, &bytes);
    if (puts)
        blobs_fini(&attached);
    e = errand_new(bytes.data, bytes.len);
    buf_fini(&bytes);
    e->caller.line = line;
    return e;
}

/* ---- the network's copies ---- */

/* Those that a process says once in its life are not said again behind what followed. */
static bool may_come_twice(const struct peer *p)
{
    return !strstr(p->op, "_register") && strcmp(p->op, "agent_bye") != 0 && strcmp(p->op, "requeue") != 0 &&
           p->kind != &operator_kind;
}

static void double_it(struct peer *p)
{
    struct random_farm *f = p->farm;
    struct ghost *g = &f->ghosts[f->n_ghosts];

    if (f->n_ghosts == FARM_MAX_GHOSTS || !may_come_twice(p))
        return;
    *g = (struct ghost){.of = p, .line = p->line, .args = cJSON_Duplicate(p->args, true), .blob = p->blob};
    memcpy(g->op, p->op, sizeof g->op);
    memcpy(g->id, p->id, sizeof g->id);
    g->due_ns = f->rig.now_ns + below(f, 3000) * MS;
    f->n_ghosts++;
}

static void drop_ghost(struct random_farm *f, int i)
{
    cJSON_Delete(f->ghosts[i].args);
    f->ghosts[i] = f->ghosts[--f->n_ghosts];
}

/* A reply arrives, or nothing does and the question is repeated. */
static void arrive(struct peer *p, const cJSON *reply)
{
    struct random_farm *f = p->farm;
    enum err e = ERR_OK;

    rest(p, 60);
    if (!reply || mishap(f, 40))
        return;
    if (!cJSON_IsTrue(cJSON_GetObjectItem(reply, "ok")))
        e = err_by_name(text_in(reply, "err"));
    p->kind->hear(p, e, cJSON_GetObjectItem(reply, "result"));
    if (p->asks)
        end_question(p);
}

/* ---- turns ---- */

/* Errands whose peer hung up while they were in the hall. */
struct orphans {
    struct errand *all[256];
    int n;
};
static struct orphans orphans;

static void free_orphans(void)
{
    int n = 0;

    for (int i = 0; i < orphans.n; i++)
        if (orphans.all[i]->left)
            errand_free(orphans.all[i]);
        else
            orphans.all[n++] = orphans.all[i];
    orphans.n = n;
}

/* Looks which errands have left. `heard`: their replies get through. */
static void settle(struct random_farm *f, bool heard)
{
    for (int i = 0; i < f->n_peers; i++) {
        struct peer *p = &f->peers[i];
        struct errand *e = p->errand;

        if (!e)
            continue;
        if (!p->asks) { /* it hung up */
            assert_true(orphans.n < 256);
            orphans.all[orphans.n++] = e;
            p->errand = NULL;
        } else if (e->left) {
            p->errand = NULL;
            memcpy(p->came, e->came, sizeof p->came);
            arrive(p, heard ? e->json : NULL);
            errand_free(e);
        }
    }
    free_orphans();
}

static void add_stats(struct stats *sum, const struct stats *s)
{
    sum->requests += s->requests;
    sum->grants += s->grants;
    sum->results += s->results;
    sum->duplicates += s->duplicates;
    sum->expired += s->expired;
    sum->lost += s->lost;
    sum->answered_from_store += s->answered_from_store;
    sum->builds += s->builds;
    sum->blobs_sent += s->blobs_sent;
    sum->blobs_fetched += s->blobs_fetched;
    sum->blobs_failed += s->blobs_failed;
}

/* Copies that are due arrive, in any order with the others; nobody hears the replies. What a connection had goes with
 * it. False: the store failed. */
static bool enter_ghosts(struct random_farm *f)
{
    for (int i = f->n_ghosts - 1; i >= 0; i--) {
        struct ghost *g = &f->ghosts[i];
        struct errand *e;
        bool ok;

        if (g->due_ns > f->rig.now_ns && g->line == g->of->line)
            continue;
        if (g->line != g->of->line || orphans.n == 256) {
            drop_ghost(f, i);
            continue;
        }
        e = errand_of(f, g->op, g->args, g->id, g->line, g->blob);
        drop_ghost(f, i);
        orphans.all[orphans.n++] = e;
        f->n_doubled++;
        ok = hall_enter(&f->rig.hall, &e->caller);
        e->left |= !ok;
        if (!ok)
            return false;
    }
    return true;
}

static void crash(struct random_farm *f)
{
    add_stats(&f->stats, &f->rig.t->stats);
    f->n_crashes++;
    rig_sleep(&f->rig, below(f, 2000));
    farm_crash_vault(f);
    rig_crash(&f->rig);
    f->n_gone = 0;
    settle(f, false);
    check_turn(f, true);
}

/* *n: those that entered. False: the store failed. */
static bool enter_due(struct random_farm *f, int *n)
{
    bool ok = enter_ghosts(f);

    for (int i = 0; ok && i < f->n_peers; i++) {
        struct peer *p = &f->peers[i];

        if (p->errand || p->next_ns > f->rig.now_ns)
            continue;
        if (!p->asks)
            p->kind->act(p);
        if (!p->asks || p->errand)
            continue;
        if (mishap(f, 40)) { /* the question is lost on its way */
            rest(p, 500);
            continue;
        }
        p->errand = errand_of(f, p->op, p->args, p->id, p->line, p->blob);
        ok = hall_enter(&f->rig.hall, &p->errand->caller);
        p->errand->left |= !ok;
        if (ok && mishap(f, 60))
            double_it(p);
        (*n)++;
    }
    return ok;
}

/* The tracker is stopped for a while: what peers believe to hold, they may believe that much longer. */
static void pause_tracker(struct random_farm *f)
{
    const int64_t ms = 1 + HALL_PAUSE_MS + below(f, 3 * FARM_LEASE_MS);

    f->n_pauses++;
    rig_sleep(&f->rig, ms);
    for (int i = 0; i < FARM_MAX_TRIALS; i++)
        f->known[i].until_ns += ms * MS;
}

static void take_turn(struct random_farm *f)
{
    const bool may_be_full = mishap(f, 20);
    struct caller *left = NULL;
    int n_new = 0;
    bool ok;

    f->n_turns++;
    store_faults.n_calls = 0;
    store_faults.fail_at = may_be_full ? 1 + below(f, 10) : 0;
    ok = hall_begin(&f->rig.hall);
    if (mishap(f, 4)) /* within the turn */
        pause_tracker(f);
    ok = ok && enter_due(f, &n_new);
    if (ok && n_new && mishap(f, 8)) {
        store_faults.fail_at = 0;
        crash(f);
        return;
    }
    ok = ok && hall_end(&f->rig.hall, f->gone, f->n_gone, &left, NULL);
    store_faults.fail_at = 0;
    if (!ok) { /* it ends, and is started when there is room again */
        assert_true(may_be_full);
        f->n_full++;
        crash(f);
        return;
    }
    f->n_gone = 0;
    rig_take_replies(&f->rig, left);
    if (n_new && mishap(f, 8)) {
        settle(f, false);
        crash(f);
        return;
    }
    settle(f, true);
    check_turn(f, n_new && chance(f, 60));
}

static void go_on(struct random_farm *f)
{
    int64_t next_ns = f->rig.now_ns + STEP_MS * MS;

    for (int i = 0; i < f->n_peers; i++)
        if (!f->peers[i].errand && f->peers[i].next_ns < next_ns)
            next_ns = f->peers[i].next_ns;
    if (next_ns > f->rig.now_ns)
        rig_sleep(&f->rig, (next_ns - f->rig.now_ns + MS - 1) / MS);
    if (mishap(f, 4))
        pause_tracker(f);
    if (mishap(f, 2))
        f->rig.wall_ms += (below(f, 2000) - 1000) * INT64_C(86400000);
}

/* ---- life ---- */

static void add_peer(struct random_farm *f, const struct peer_kind *kind, int i)
{
    struct peer *p = &f->peers[f->n_peers];

    assert_true(f->n_peers < FARM_MAX_PEERS);
    *p = (struct peer){.farm = f, .kind = kind, .i = i, .line = (uint32_t)++f->n_peers};
    rest(p, 300);
}

static void populate(struct random_farm *f)
{
    const int n_agents = 2 + below(f, 3);

    f->n_tuners = 1 + below(f, 3);
    f->with_builders = chance(f, 400);
    for (int i = 0; i < f->n_tuners; i++)
        add_peer(f, &tuner_kind, i);
    for (int i = 0; i < n_agents; i++)
        add_peer(f, &agent_kind, i);
    for (int i = 0; f->with_builders && i < 2; i++)
        add_peer(f, &builder_kind, i);
    if (chance(f, 300)) {
        add_peer(f, &agent_kind, 0);
        f->peers[f->n_peers - 1].is_twin = true;
        f->peers[f->n_peers - 1].nonce = 1000;
    }
    if (chance(f, 500))
        add_peer(f, &operator_kind, 0);
    if (f->with_blobs)
        add_peer(f, &keeper_kind, 0);
}

static bool has_ended(const struct random_farm *f)
{
    const struct tracker_job *j;
    size_t at = 0;

    for (int i = 0; i < f->n_tuners; i++)
        if (f->peers[i].n_submitted == 0)
            return false;
    while ((j = table_next(&f->rig.t->jobs, &at)) != NULL)
        if (j->state == JOB_OPEN)
            return false;
    return farm_blobs_are_known(f);
}

void (*random_farm_place)(char *out, size_t n_out);

void random_farm_live(struct random_farm *f, uint64_t seed)
{
    int64_t began_ns;

    *f = (struct random_farm){.seed = seed, .with_blobs = seed % 4 == 3};
    rng_init(&f->rng, seed);
    rig_init(&f->rig);
    if (random_farm_place) {
        dir_remove(f->rig.dir);
        random_farm_place(f->rig.dir, sizeof f->rig.dir);
    }
    store_faults = (struct store_faults){0};
    f->rig.options.ops = &faulty_store;
    f->rig.options.lease_ms = FARM_LEASE_MS;
    if (f->with_blobs)
        farm_open_vault(f);
    rig_start(&f->rig);
    began_ns = f->rig.now_ns;
    populate(f);
    while (!has_ended(f)) {
        const int64_t ms = (f->rig.now_ns - began_ns) / MS;

        f->calm = ms > CHAOS_MS;
        if (ms > CHAOS_MS + PATIENCE_MS)
            fail_msg("all is calm for %d s, and %zu trials have not ended, or not all blobs have come",
                     PATIENCE_MS / 1000, f->rig.t->trials.n);
        go_on(f);
        take_turn(f);
    }
    f->calm = true;
    add_stats(&f->stats, &f->rig.t->stats);
    check_end(f);
}

void random_farm_fini(struct random_farm *f)
{
    while (f->n_ghosts)
        drop_ghost(f, 0);
    for (int i = 0; i < f->n_peers; i++)
        hang_up(&f->peers[i]);
    rig_stop(&f->rig); /* all errands have left now */
    farm_close_vault(f);
    settle(f, false);
}
