/* SPDX-License-Identifier: MIT */
#include "agent/measure.h"

#include "core/clock.h"
#include "core/err.h"
#include "runtime/verify.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONG_CALL_NS 50e6
#define MAX_CALLS 4096  /* of a slot: 5 ms of calls of 1 us and more */
#define WATCH_SLOTS 1.6 /* of calls whose outputs are compared one by one; of small ones, so that they are many, */
#define WATCH_SLOTS_SMALL 4
#define SMALL_NS 2e4
#define MAX_WATCHED 1100
#define WATCH_SLOTS_LONG 20 /* of what is chosen */
#define MAX_WATCHED_LONG 4400
#define COMPARE_NS 5e3      /* about, */
#define COMPARE_BYTE_NS 0.2 /* and each byte */

/* What packing takes, once more and in the caches; it is told, and counts for nothing. */
static void time_pack(struct measure_batch *b, struct measure_item *m)
{
    int64_t device_ns = 0, wall_ns = 0;
    bool has_pack = false;

    for (size_t i = 0; i < m->program->n_launches; i++)
        has_pack |= m->program->launches[i].phase == PHASE_PACK;
    if (!has_pack || m->e)
        return;
    m->e = b->ops->run(m->loaded, PHASE_PACK, &device_ns, &wall_ns, &m->why);
    m->pack_ns = (double)(device_ns > 0 ? device_ns : wall_ns);
}

static enum err run_once(struct measure_batch *b, struct measure_item *m, double *ns)
{
    int64_t device_ns = 0, wall_ns = 0;
    enum err e;

    e = b->ops->run(m->loaded, PHASE_RUN, &device_ns, &wall_ns, &m->why);
    if (e) {
        m->e = e;
        return e;
    }
    m->spent_ns += (double)wall_ns;
    m->call_ns = (double)(device_ns > 0 ? device_ns : wall_ns);
    if (m->call_ns < 1)
        m->call_ns = 1;
    *ns = m->call_ns;
    return ERR_OK;
}

static const struct blobs *blobs_of(const struct measure_batch *b, const struct measure_item *m)
{
    return m->blobs ? m->blobs : b->blobs;
}

/* What stands there looks right, and is not. */
static enum err nudge_outputs(struct measure_batch *b, struct measure_item *m)
{
    const int64_t from = clock_now_ns();
    const enum err e = verify_nudge_outputs(b->ops, m->loaded, m->program, &m->why);

    m->check_ns += (double)(clock_now_ns() - from);
    return e;
}

/* Notes what the first run wrote; a candidate's is compared with what is expected. */
static enum err note_outputs(struct measure_batch *b, struct measure_item *m, bool candidate)
{
    const int64_t from = clock_now_ns();
    enum err e = verify_output_hash(b->ops, m->loaded, m->program, &m->output, &m->why);

    if (!e && candidate)
        e = verify_timed(b->ops, m->loaded, m->program, blobs_of(b, m), &m->why);
    m->check_ns += (double)(clock_now_ns() - from);
    return e;
}

/* Compares what stands in the outputs with what the first run wrote. */
static void compare_outputs(struct measure_batch *b, struct measure_item *m, int64_t n_calls)
{
    struct sha256 now;

    if (!m->e)
        m->e = verify_output_hash(b->ops, m->loaded, m->program, &now, &m->why);
    if (!m->e && strcmp(now.hex, m->output.hex) != 0)
        m->e = why_set(&m->why, ERR_WRONG, "the outputs after %lld timed calls differ from those of the first",
                       (long long)n_calls);
}

static double compare_ns(const struct program *p)
{
    double ns = COMPARE_NS;

    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].role == ROLE_OUTPUT)
            ns += COMPARE_BYTE_NS * (double)p->buffers[i].n_elems * (double)dtype_bytes(p->buffers[i].dtype);
    return ns;
}

/* Before half of the calls, by chance, the outputs are changed: who leaves out a part now and then would leave there
 * what was right. Before one of eight they are 0, as who takes that for new would have it. */
static enum err change_outputs(struct measure_batch *b, struct measure_item *m)
{
    const uint64_t pick = rng_below(&b->rng, 8);

    if (pick == 0)
        return verify_poison_outputs(b->ops, m->loaded, m->program, POISON_ZERO, &m->why);
    return pick < 4 ? verify_nudge_outputs(b->ops, m->loaded, m->program, &m->why) : ERR_OK;
}

/* The calls behind the first one by one, which nobody times: two at the least. As many as the fastest of them allows:
 * others are disturbed. */
static void watch_calls(struct measure_batch *b, struct measure_item *m, bool for_long)
{
    const int64_t from = clock_now_ns();
    const double spent_ns = m->spent_ns, compare = compare_ns(m->program);
    const int most = for_long ? MAX_WATCHED_LONG : MAX_WATCHED;
    double ns, least_ns = m->call_ns;

    for (m->watched = 0; m->watched < most && !m->e; m->watched++) {
        const double each_ns = least_ns + 2 * compare; /* changing them takes about twice as long */
        const double slots = for_long ? WATCH_SLOTS_LONG : each_ns < SMALL_NS ? WATCH_SLOTS_SMALL : WATCH_SLOTS;

        if (m->watched >= 2 && m->watched * each_ns >= slots * m->rules.min_slot_ns)
            break;
        m->e = change_outputs(b, m);
        if (!m->e && !run_once(b, m, &ns))
            compare_outputs(b, m, m->watched + 2);
        least_ns = fmin(least_ns, m->call_ns);
    }
    m->check_ns += (double)(clock_now_ns() - from);
    m->spent_ns = spent_ns;
}

/* The first run of all: checks and notes what came out. True when that call alone is a slot, or as much as this
 * candidate gets. */
static bool first_run(struct measure_batch *b, struct measure_item *m, bool candidate)
{
    const int64_t from = clock_now_ns();
    double ns, at;

    if (run_once(b, m, &ns))
        return true;
    at = 0.5 * ((double)from + (double)clock_now_ns());
    m->e = note_outputs(b, m, candidate);
    if (m->e)
        return true;
    m->censored = candidate && timing_hopeless(&m->rules, ns);
    if (!m->censored && !timing_slot_full(&m->rules, 1, ns)) {
        if (candidate)
            watch_calls(b, m, false);
        return m->e != ERR_OK;
    }
    timing_add(&m->series, at, &ns, 1);
    return true;
}

/* Of calls this long what they wrote is changed before each slot, so that no further run is needed in the end. Shorter
 * ones would feel the poison in their caches. */
static bool is_long(const struct measure_item *m)
{
    return m->call_ns >= LONG_CALL_NS;
}

/* Of a call that is a slot. */
static void compare_slot(struct measure_batch *b, struct measure_item *m)
{
    const int64_t from = clock_now_ns();

    compare_outputs(b, m, m->series.calls);
    m->check_ns += (double)(clock_now_ns() - from);
}

static void slot(struct measure_batch *b, struct measure_item *m, bool candidate)
{
    double calls[MAX_CALLS], sum = 0, ns;
    int64_t from;
    int n = 0;

    if (!m->output.hex[0])
        m->first_is_slot = first_run(b, m, candidate);
    if (m->first_is_slot) {
        m->first_is_slot = false;
        return;
    }
    m->poisoned = candidate && is_long(m);
    if (m->poisoned || (candidate && m->series.n == m->poison_at))
        m->e = nudge_outputs(b, m);
    if (m->e)
        return;
    from = clock_now_ns();
    if (timing_wants_warmup(&m->rules, m->call_ns))
        for (int i = 0; i < m->rules.warmup; i++)
            if (run_once(b, m, &ns))
                return;
    while (n < MAX_CALLS && !timing_slot_full(&m->rules, n, sum)) {
        if (run_once(b, m, &ns))
            return;
        calls[n++] = ns;
        sum += ns;
    }
    timing_add(&m->series, 0.5 * ((double)from + (double)clock_now_ns()), calls, n);
    if (candidate && n == 1)
        compare_slot(b, m);
}

/* Before the anchor runs, which may be the same program: what a kernel keeps from call to call it would keep there,
 * where nobody compares. */
static void first_runs(struct measure_batch *b)
{
    for (int i = 0; i < b->n_items; i++) {
        struct measure_item *m = &b->items[i];

        if (!m->loaded || m->e)
            continue;
        if (b->before_slot)
            b->before_slot(i, b->arg);
        m->first_is_slot = first_run(b, m, true);
    }
}

static void prepare(struct measure_batch *b, struct measure_item *m, int i)
{
    if (b->before_slot)
        b->before_slot(i, b->arg);
    m->poison_at = (int)rng_below(&b->rng, (uint64_t)(m->rules.rounds > 0 ? m->rules.rounds : 1));
    m->e = verify_prepare_timing(b->ops, m->loaded, m->program, blobs_of(b, m), &m->why);
}

/* Has it written where it must not, and does it still write what it wrote at first, which was right? First what the
 * timed calls left, after a change before one of their slots; then of one more run on another poison, unless the caller
 * makes it. A censored one is no candidate for anything, and one that ran once (a baseline) has nothing later to
 * compare: their single answers were checked by verification. */
static void check_again(struct measure_batch *b, struct measure_item *m, int i)
{
    const int64_t from = clock_now_ns();
    const double before_ns = m->check_ns;
    double ns;

    if (m->e || !m->loaded || m->censored || m->series.calls == 1)
        return;
    if (b->before_slot)
        b->before_slot(i, b->arg);
    m->e = verify_kept(b->ops, m->loaded, m->program, blobs_of(b, m), &m->why);
    compare_outputs(b, m, m->series.calls);
    if (!m->e && !m->poisoned && !m->runs_again) {
        m->e = verify_poison_outputs(b->ops, m->loaded, m->program, POISON_HIGH, &m->why);
        if (!m->e)
            m->e = run_once(b, m, &ns);
        compare_outputs(b, m, m->series.calls);
    }
    m->check_ns = before_ns + (double)(clock_now_ns() - from);
}

static bool anchored(const struct measure_batch *b)
{
    return b->anchor && b->anchor->loaded && !b->anchor->e;
}

static const struct timing_series *anchor_series(const struct measure_batch *b)
{
    return anchored(b) && b->anchor->series.n ? &b->anchor->series : NULL;
}

static void estimate_all(struct measure_batch *b)
{
    for (int i = 0; i < b->n_items; i++)
        if (b->items[i].loaded && !b->items[i].e && b->items[i].series.n)
            timing_estimate(&b->items[i].series, anchor_series(b), &b->items[i].value);
}

/* The fastest of the batch other than `not_this`: what a candidate is compared with besides the best known. */
static const struct timing_value *best_other(const struct measure_batch *b, int not_this)
{
    const struct measure_item *best = NULL;

    for (int i = 0; i < b->n_items; i++) {
        const struct measure_item *m = &b->items[i];

        if (i != not_this && m->loaded && !m->e && m->series.n && (!best || m->value.time_ns < best->value.time_ns))
            best = m;
    }
    return best ? &best->value : NULL;
}

/* The candidates that deserve round `round` (from 0). */
static int choose_live(struct measure_batch *b, int round, int *live)
{
    int n = 0;

    for (int i = 0; i < b->n_items; i++) {
        struct measure_item *m = &b->items[i];
        double gap = NAN;

        if (!m->loaded || m->e || (m->censored && round > 0))
            continue;
        if (m->series.n && round > 0)
            gap = timing_gap(&m->rules, &m->value, best_other(b, i));
        if (round == 1 && timing_censored(&m->rules, gap))
            m->censored = true;
        else if (round < timing_rounds_wanted(&m->rules, gap))
            live[n++] = i;
    }
    return n;
}

static void run_canary(struct measure_batch *b)
{
    double ns = 0;

    if (b->before_slot)
        b->before_slot(MEASURE_CANARY, b->arg);
    if (b->canary)
        ns = b->canary(b->arg);
    assert(b->n_canaries < TIMING_MAX_ROUNDS);
    if (ns > 0)
        b->canary_ns[b->n_canaries++] = ns;
}

static void run_round(struct measure_batch *b, const int *live, int n_live)
{
    int plan[2 * TIMING_MAX_BATCH + 1];
    const int n = timing_plan(&b->rng, live, n_live, anchored(b), plan);

    assert(n_live <= b->n_items && n <= 2 * TIMING_MAX_BATCH + 1);
    for (int i = 0; i < n; i++) {
        struct measure_item *m = plan[i] == TIMING_ANCHOR ? b->anchor : &b->items[plan[i]];

        if (m->e)
            continue;
        if (b->before_slot)
            b->before_slot(plan[i], b->arg);
        slot(b, m, m != b->anchor);
    }
}

void measure_batch(struct measure_batch *b)
{
    int live[TIMING_MAX_BATCH], n_live;

    if (b->anchor && b->anchor->loaded)
        prepare(b, b->anchor, TIMING_ANCHOR);
    for (int i = 0; i < b->n_items; i++)
        if (b->items[i].loaded) {
            prepare(b, &b->items[i], i);
            time_pack(b, &b->items[i]);
        }
    first_runs(b);
    for (int round = 0; round < TIMING_MAX_ROUNDS; round++) {
        n_live = choose_live(b, round, live);
        if (n_live == 0)
            break;
        run_canary(b);
        run_round(b, live, n_live);
        estimate_all(b);
    }
    for (int i = 0; i < b->n_items; i++)
        check_again(b, &b->items[i], i);
    estimate_all(b);
}

void measure_watch(struct measure_batch *b, struct measure_item *m)
{
    const int64_t from = clock_now_ns();

    assert(!m->e && m->series.n);
    if (timing_slot_full(&m->rules, 1, m->call_ns))
        return;
    m->e = verify_prepare_timing(b->ops, m->loaded, m->program, blobs_of(b, m), &m->why);
    m->check_ns += (double)(clock_now_ns() - from);
    watch_calls(b, m, true);
}

void measure_simulated(struct measure_batch *b)
{
    double ns;

    if (b->anchor && b->anchor->loaded && !(b->anchor->e = run_once(b, b->anchor, &ns)))
        timing_add(&b->anchor->series, 0, &ns, 1);
    for (int i = 0; i < b->n_items; i++) {
        struct measure_item *m = &b->items[i];

        if (!m->loaded || run_once(b, m, &ns))
            continue;
        timing_add(&m->series, 0, &ns, 1);
        timing_estimate(&m->series, anchor_series(b), &m->value);
        m->value.se = 0;
    }
}
