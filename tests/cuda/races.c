/* SPDX-License-Identifier: MIT */
#include "tests/cuda/races.h"

#include "tests/cuda/block.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 20) /* several kernels may have 48 KiB each, beside what is dynamic */

/* A moment of a thread: its clock and, in the lower bits, its number. 0: none. */
typedef uint32_t moment;
#define THREAD_BITS 10 /* of BLOCK_MAX_THREADS */
#define MAX_CLOCK ((1u << (32 - THREAD_BITS)) - 2)

/* Of a byte. */
struct cell {
    moment writer, readers[2]; /* the last; readers are two threads, the later one first */
    moment copier;             /* whose cp.async is under way since; of a block before: it was given up */
};

static struct {
    const unsigned char *base;
    size_t n_bytes;
    bool is_shared[MAX_BYTES]; /* other variables lie between */
    struct cell cells[MAX_BYTES];
    uint32_t start;                    /* clocks below are of blocks before */
    uint32_t floor;                    /* clocks below are ordered before everything now */
    uint32_t clock[BLOCK_MAX_THREADS]; /* of each thread now, at least `floor` */
    /* seen[t][u] >= floor: that far has u's time been ordered before t's now. */
    uint32_t seen[BLOCK_MAX_THREADS][BLOCK_MAX_THREADS];
    int n_threads;
} shadow = {.start = 1, .floor = 1};

/* Clocks start anew: no moment that was noted means anything any more. */
static void forget(void)
{
    memset(shadow.cells, 0, sizeof shadow.cells);
    memset(shadow.seen, 0, sizeof shadow.seen);
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

void races_barrier(int n_threads)
{
    uint32_t latest = shadow.floor;

    for (int i = 0; i < shadow.n_threads; i++)
        latest = shadow.clock[i] > latest ? shadow.clock[i] : latest;
    shadow.floor = latest + 1;
    if (shadow.floor > MAX_CLOCK - BLOCK_MAX_THREADS)
        forget();
    shadow.n_threads = n_threads;
    for (int i = 0; i < n_threads; i++)
        shadow.clock[i] = shadow.floor;
}

void races_start(int n_threads)
{
    races_barrier(n_threads);
    shadow.start = shadow.floor;
}

void races_meet(int first, unsigned mask)
{
    uint32_t all[BLOCK_MAX_THREADS] = {0};

    for (int i = 0; i < EMU_WARP; i++) {
        if (!(mask >> i & 1))
            continue;
        for (int u = 0; u < shadow.n_threads; u++)
            all[u] = shadow.seen[first + i][u] > all[u] ? shadow.seen[first + i][u] : all[u];
        all[first + i] = shadow.clock[first + i]++;
    }
    for (int i = 0; i < EMU_WARP; i++)
        if (mask >> i & 1)
            memcpy(shadow.seen[first + i], all, (size_t)shadow.n_threads * sizeof *all);
}

static int thread_of(moment m)
{
    return (int)(m & (BLOCK_MAX_THREADS - 1));
}

static bool is_ordered(moment before, int now)
{
    const uint32_t clock = before >> THREAD_BITS;

    return clock < shadow.floor || thread_of(before) == now || shadow.seen[now][thread_of(before)] >= clock;
}

static void tell(size_t at, const char *what, const char *was, moment before)
{
    char words[256], mine[80], other[80];

    block_describe(block_thread(), mine);
    block_describe(thread_of(before), other);
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
    if (c->copier >> THREAD_BITS >= shadow.start)
        tell((size_t)(c - shadow.cells), what, "is the target of a cp.async of", c->copier);
    if (!is_ordered(c->writer, now))
        tell((size_t)(c - shadow.cells), what, "was written by", c->writer);
}

static void note_read(struct cell *c, int now, moment mine)
{
    check_writer(c, now, "read");
    if (thread_of(c->readers[0]) != now)
        c->readers[1] = c->readers[0];
    c->readers[0] = mine;
}

static void note_write(struct cell *c, int now, moment mine)
{
    check_writer(c, now, "written");
    for (int i = 0; i < 2; i++)
        if (!is_ordered(c->readers[i], now))
            tell((size_t)(c - shadow.cells), "written", "was read by", c->readers[i]);
    *c = (struct cell){.writer = mine};
}

static moment moment_of(int now)
{
    return shadow.clock[now] << THREAD_BITS | (moment)now;
}

void races_access(const void *at, size_t n, int writes)
{
    const int now = block_thread();
    const moment mine = moment_of(now);
    struct cell *c = cells_of(at, n);

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
