/* SPDX-License-Identifier: MIT */
/* bulk.c - barriers in shared memory (mbarrier), and copies of boxes of rows that they count. What was asked for is
 * unknown (NaN) until somebody waits for its barrier: so a missing wait shows, and a copy into what others still read.
 */
#include "tests/cuda/block.h"

#include <assert.h>
#include <string.h>

#define MAX_COPIES 4096
#define CHUNK 16      /* bytes that the swizzle moves together */
#define BOX_BYTES 128 /* of a row */
#define UNKNOWN 0xff

/* As it lies in shared memory. */
struct barrier {
    unsigned char parity; /* of the phase that is under way */
    unsigned char magic;
    unsigned char pending, count; /* arrivals to come in this phase, in each */
    int bytes;                    /* expected less come */
};
#define MAGIC 0xb7

struct map {
    const unsigned char *rows;
    int n_rows, row_bytes, box_rows;
    unsigned magic;
};
static_assert(sizeof(struct map) <= 128, "as large as a tensor map");

static struct copy {
    unsigned char *to;
    struct map map;
    int at, row;
    struct barrier *barrier;
} copies[MAX_COPIES];
static int n_copies;

void bulk_start(void)
{
    n_copies = 0;
}

static struct barrier *barrier_at(void *at)
{
    struct barrier *b = at;

    if ((uintptr_t)at % 8)
        block_fail(716, "a barrier at an address that is no multiple of 8");
    if (b->magic != MAGIC)
        block_fail(719, "a barrier that was not made");
    return b;
}

static void end_phase(struct barrier *b)
{
    if (b->pending || b->bytes)
        return;
    b->parity ^= 1;
    b->pending = b->count;
}

void bulk_barrier_init(void *b, int count)
{
    const struct barrier made = {0, MAGIC, (unsigned char)count, (unsigned char)count, 0};

    if (count < 1 || count > 255)
        block_fail(715, "a barrier of too many");
    memcpy(b, &made, sizeof made);
}

void bulk_barrier_arrive(void *at, int expected_bytes)
{
    struct barrier *b = barrier_at(at);

    if (!b->pending)
        block_fail(719, "more arrivals at a barrier than it was made for");
    b->bytes += expected_bytes;
    b->pending--;
    end_phase(b);
}

/* Tensor maps. */

void bulk_map(void *map, const void *rows, int n_rows, int row_bytes, int box_rows)
{
    const struct map made = {rows, n_rows, row_bytes, box_rows, MAGIC};

    if (block_thread() % EMU_WARP) /* all lanes make it together */
        return;
    if ((uintptr_t)map % 64 || (uintptr_t)rows % 16 || row_bytes % 16)
        block_fail(716, "a tensor map of misaligned rows, or misaligned itself");
    if (box_rows < 1 || box_rows > 256 || n_rows < 1 || row_bytes < 1)
        block_fail(715, "a tensor map of sizes that there are not");
    memcpy(map, &made, sizeof made);
}

void bulk_bring(void *to, const void *map, int at, int row, void *barrier)
{
    struct copy c = {.to = to, .at = at, .row = row, .barrier = barrier_at(barrier)};

    memcpy(&c.map, map, sizeof c.map);
    if (c.map.magic != MAGIC)
        block_fail(719, "a tensor map that was not made");
    if ((uintptr_t)to % 128)
        block_fail(716, "a box to an address that is no multiple of 128");
    if (n_copies == MAX_COPIES)
        block_fail(2, "too many copies under way");
    memset(to, UNKNOWN, (size_t)c.map.box_rows * BOX_BYTES);
    copies[n_copies++] = c;
}

/* One row: its chunks change places by bits 7 to 9 of the address. Zeros beyond the rows and their ends. */
static void bring_row(const struct copy *c, int i)
{
    const long row = (long)c->row + i;

    for (int chunk = 0; chunk < BOX_BYTES / CHUNK; chunk++) {
        const unsigned char *base = block_dynamic();
        const size_t plain = (size_t)(c->to - base) + (size_t)i * BOX_BYTES + (size_t)chunk * CHUNK;
        unsigned char *to = block_dynamic() + (plain ^ (plain >> 7 & 7) << 4);
        const int at = c->at + chunk * CHUNK;

        memset(to, 0, CHUNK);
        if (row >= 0 && row < c->map.n_rows && at >= 0 && at < c->map.row_bytes)
            memcpy(to, c->map.rows + row * c->map.row_bytes + at, CHUNK);
    }
}

static void finish_copies(struct barrier *b)
{
    int kept = 0;

    for (int i = 0; i < n_copies; i++) {
        if (copies[i].barrier != b) {
            copies[kept++] = copies[i];
            continue;
        }
        for (int row = 0; row < copies[i].map.box_rows; row++)
            bring_row(&copies[i], row);
        b->bytes -= copies[i].map.box_rows * BOX_BYTES;
    }
    if (kept < n_copies)
        end_phase(b);
    n_copies = kept;
}

struct phase {
    struct barrier *barrier;
    int parity;
};

static bool is_over(const void *arg)
{
    const struct phase *p = arg;

    finish_copies(p->barrier);
    return p->barrier->parity != p->parity;
}

void bulk_barrier_wait(void *b, int parity, int line)
{
    const struct phase p = {barrier_at(b), parity};

    block_wait(is_over, &p, line);
}
