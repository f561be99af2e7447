/* SPDX-License-Identifier: MIT */
#include "tests/cuda/races.h"

#include "tests/cuda/block.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 20) /* several kernels may have 48 KiB each, beside what is dynamic */

/* Who touches memory: the block's threads, behind them what each warp's products read, and the copy engine. */
#define PRODUCTS BLOCK_MAX_THREADS /* of warp 0 */
#define ENGINE (PRODUCTS + BLOCK_MAX_THREADS / EMU_WARP)
#define N_ACTORS (ENGINE + 1)

/* A moment of an actor: its clock and, in the lower bits, its number. 0: none. */
typedef uint32_t moment;
#define ACTOR_BITS 11 /* of N_ACTORS */
#define MAX_CLOCK ((1u << (32 - ACTOR_BITS)) - 2)
static_assert(N_ACTORS <= 1 << ACTOR_BITS, "a moment has room for each actor");

/* Of a byte. */
struct cell {
    moment writer, readers[2]; /* the last; readers are two threads, the later one first */
    moment copier;             /* whose copy is under way since; of a block before: it was given up */
};

/* How far into each actor's time somebody has seen: what was until then comes before what he does; and how far of what
 * each thread wrote he knows that a fence shows it to the copy engine and to products, too. */
struct sight {
    uint32_t clocks[N_ACTORS], fenced[BLOCK_MAX_THREADS];
};

static struct {
    const unsigned char *base;
    size_t n_bytes;
    bool is_shared[MAX_BYTES]; /* other variables lie between */
    struct cell cells[MAX_BYTES];
    uint32_t start;              /* clocks below are of blocks before */
    uint32_t floor;              /* clocks below are ordered before everything now */
    uint32_t clock[N_ACTORS];    /* of each now, at least `floor` */
    struct sight seen[N_ACTORS]; /* what is below `floor` has been seen by all */
    struct sight arrived[RACES_MAX_BARRIERS], ended[RACES_MAX_BARRIERS]; /* in this phase; in those before */
    uint32_t fenced[BLOCK_MAX_THREADS];                                  /* as all know since the last barrier */
    bool has_fences;                                                     /* in this block */
    int n_threads;
} shadow = {.start = 1, .floor = 1};

/* Clocks start anew: no moment that was noted means anything any more. */
static void forget(void)
{
    memset(shadow.cells, 0, sizeof shadow.cells);
    memset(shadow.seen, 0, sizeof shadow.seen);
    memset(shadow.arrived, 0, sizeof shadow.arrived);
    memset(shadow.ended, 0, sizeof shadow.ended);
    memset(shadow.fenced, 0, sizeof shadow.fenced);
    shadow.floor = shadow.start = 1;
}

bool races_watch(const unsigned char *base, size_t n_bytes)
{
    shadow.base = base;
    shadow.n_bytes = n_bytes;
    if (n_bytes > MAX_BYTES)
        return false;
    memset(shadow.is_shared, 0, n_bytes);
    return true;
}

void races_watch_variable(const unsigned char *at, size_t n_bytes)
{
    memset(shadow.is_shared + (at - shadow.base), 1, n_bytes);
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* What one thread knows of fences, all do. */
static void share_fences(void)
{
    for (int i = 0; i < shadow.n_threads; i++)
        for (int k = 0; k < shadow.n_threads; k++)
            shadow.fenced[k] = later(shadow.fenced[k], shadow.seen[i].fenced[k]);
}

void races_barrier(int n_threads)
{
    uint32_t latest = shadow.floor;

    if (shadow.has_fences)
        share_fences();
    for (int i = 0; i < N_ACTORS; i++)
        latest = later(latest, shadow.clock[i]);
    shadow.floor = latest + 1;
    if (shadow.floor > MAX_CLOCK / 2)
        forget();
    shadow.n_threads = n_threads;
    for (int i = 0; i < N_ACTORS; i++)
        shadow.clock[i] = shadow.floor;
}

void races_start(int n_threads)
{
    races_barrier(n_threads);
    shadow.start = shadow.floor;
    shadow.has_fences = false;
}

/* `to` has seen what `from` has; only the block's threads and those behind them count. */
static void see(struct sight *to, const struct sight *from)
{
    for (int i = 0; i < N_ACTORS; i = i + 1 == shadow.n_threads ? PRODUCTS : i + 1)
        to->clocks[i] = later(to->clocks[i], from->clocks[i]);
    for (int i = 0; shadow.has_fences && i < shadow.n_threads; i++)
        to->fenced[i] = later(to->fenced[i], from->fenced[i]);
}

/* The actor's past is seen by `to`; what it does from now on is not. */
static void show(int actor, struct sight *to)
{
    see(to, &shadow.seen[actor]);
    to->clocks[actor] = shadow.clock[actor]++;
}

void races_meet(int first, unsigned mask)
{
    static struct sight all;

    memset(&all, 0, sizeof all);
    for (int i = 0; i < EMU_WARP; i++)
        if (mask >> i & 1)
            show(first + i, &all);
    for (int i = 0; i < EMU_WARP; i++)
        if (mask >> i & 1)
            shadow.seen[first + i] = all;
}

void races_fence(void)
{
    const int now = block_thread();
    struct sight *mine = &shadow.seen[now];

    shadow.has_fences = true;
    for (int i = 0; i < shadow.n_threads; i++)
        mine->fenced[i] = later(mine->fenced[i], later(shadow.floor - 1, mine->clocks[i]));
    mine->fenced[now] = shadow.clock[now]++;
}

static int actor_of(moment m)
{
    return (int)(m & ((1u << ACTOR_BITS) - 1));
}

static bool is_ordered(moment before, int now)
{
    const uint32_t clock = before >> ACTOR_BITS;

    return clock < shadow.floor || actor_of(before) == now || shadow.seen[now].clocks[actor_of(before)] >= clock;
}

/* Was it the copy engine, or a fence between, or in a block before? */
static bool is_fenced(moment written, int now)
{
    const uint32_t clock = written >> ACTOR_BITS;
    const int actor = actor_of(written);

    return actor >= PRODUCTS || clock < shadow.start || shadow.fenced[actor] >= clock ||
           shadow.seen[now].fenced[actor] >= clock;
}

static void describe(int actor, char words[80])
{
    if (actor < PRODUCTS)
        block_describe(actor, words);
    else if (actor < ENGINE)
        snprintf(words, 80, "products of warp %d", actor - PRODUCTS);
    else
        snprintf(words, 80, "the copy engine");
}

static void tell(size_t at, int now, const char *what, const char *was, moment before)
{
    char words[256], mine[80], other[80];

    describe(now, mine);
    describe(actor_of(before), other);
    snprintf(words, sizeof words, "race: byte %zu of shared memory is %s by %s, and %s %s", at, what, mine, was, other);
    block_fail(719, words);
}

/* The cells of an access; NULL: not watched. */
static struct cell *cells_of(const void *at, size_t n)
{
    const size_t offset = (size_t)((uintptr_t)at - (uintptr_t)shadow.base);

    if (offset >= shadow.n_bytes || n > shadow.n_bytes - offset || !shadow.is_shared[offset])
        return NULL;
    return shadow.cells + offset;
}

static void check_writer(const struct cell *c, int now, const char *what)
{
    if (c->copier >> ACTOR_BITS >= shadow.start)
        tell((size_t)(c - shadow.cells), now, what, "is the target of a copy of", c->copier);
    if (!is_ordered(c->writer, now))
        tell((size_t)(c - shadow.cells), now, what, "was written by", c->writer);
}

/* For what is no thread. */
static void check_fence(const struct cell *c, int now, const char *what)
{
    if (!is_fenced(c->writer, now))
        tell((size_t)(c - shadow.cells), now, what, "was written, with no fence.proxy.async between, by", c->writer);
}

static void note_read(struct cell *c, int now, moment mine)
{
    check_writer(c, now, "read");
    if (actor_of(c->readers[0]) != now)
        c->readers[1] = c->readers[0];
    c->readers[0] = mine;
}

static void note_write(struct cell *c, int now, moment mine)
{
    check_writer(c, now, "written");
    for (int i = 0; i < 2; i++)
        if (!is_ordered(c->readers[i], now))
            tell((size_t)(c - shadow.cells), now, "written", "was read by", c->readers[i]);
    *c = (struct cell){.writer = mine};
}

static moment moment_of(int now)
{
    return shadow.clock[now] << ACTOR_BITS | (moment)now;
}

/* True where an access is watched and has a byte that is of no variable of the kernel's. */
static bool is_beside(const void *at, size_t n)
{
    const size_t offset = (size_t)((uintptr_t)at - (uintptr_t)shadow.base);

    return offset < shadow.n_bytes && n <= shadow.n_bytes - offset &&
           !(shadow.is_shared[offset] && shadow.is_shared[offset + n - 1]);
}

void races_access(const void *at, size_t n, int writes)
{
    const int now = block_thread();
    const moment mine = moment_of(now);
    struct cell *c = cells_of(at, n);

    if (writes && is_beside(at, n)) /* reads: constants lie there, too */
        block_fail(700, "written beside the arrays of shared memory");
    for (size_t i = 0; c && i < n; i++)
        if (writes)
            note_write(c + i, now, mine);
        else
            note_read(c + i, now, mine);
}

void races_copy_begins(const void *to, size_t n)
{
    struct cell *c = cells_of(to, n);

    races_access(to, n, 1);
    for (size_t i = 0; c && i < n; i++)
        c[i].copier = moment_of(block_thread());
}

void races_copy_ends(const void *to, size_t n)
{
    struct cell *c = cells_of(to, n);

    for (size_t i = 0; c && i < n; i++)
        c[i] = (struct cell){.writer = moment_of(block_thread())};
}

void races_engine_comes(const void *at, size_t n)
{
    struct cell *c = cells_of(at, n);

    for (size_t i = 0; c && i < n; i++)
        check_fence(c + i, block_thread(), "given to the copy engine");
}

void races_box_ends(const void *to, size_t n, int i_barrier)
{
    struct cell *c = cells_of(to, n);

    for (size_t i = 0; c && i < n; i++)
        c[i] = (struct cell){.writer = moment_of(ENGINE)};
    show(ENGINE, &shadow.arrived[i_barrier]);
}

void races_barrier_made(int i_barrier)
{
    shadow.arrived[i_barrier] = shadow.ended[i_barrier] = (struct sight){{0}, {0}};
}

void races_arrive(int i_barrier)
{
    show(block_thread(), &shadow.arrived[i_barrier]);
}

void races_phase_ends(int i_barrier)
{
    see(&shadow.ended[i_barrier], &shadow.arrived[i_barrier]);
}

void races_pass(int i_barrier)
{
    see(&shadow.seen[block_thread()], &shadow.ended[i_barrier]);
}

void races_products_asked(void)
{
    show(block_thread(), &shadow.seen[PRODUCTS + block_thread() / EMU_WARP]);
}

void races_products_begin(int warp)
{
    shadow.clock[PRODUCTS + warp]++;
}

void races_products_read(int warp, const void *at, size_t n)
{
    const moment mine = moment_of(PRODUCTS + warp);
    struct cell *c = cells_of(at, n);

    for (size_t i = 0; c && i < n; i++) {
        check_fence(c + i, PRODUCTS + warp, "read");
        note_read(c + i, PRODUCTS + warp, mine);
    }
}

void races_products_done(int warp, long n_ahead)
{
    const int actor = PRODUCTS + warp;

    shadow.seen[block_thread()].clocks[actor] = shadow.clock[actor] - (uint32_t)n_ahead;
}
