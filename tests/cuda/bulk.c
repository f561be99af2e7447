/* SPDX-License-Identifier: MIT */
/* bulk.c - barriers in shared memory (mbarrier), and copies of boxes of rows that they count. What was asked for is
 * unknown (NaN) until somebody waits for its barrier: so a missing wait shows, and a copy into what others still read.
 * Both are told as races, too, as are missing fences between plain writes and the copy engine. */
#include "tests/cuda/block.h"
#include "tests/cuda/races.h"

#include <assert.h>
#include <string.h>

#define MAX_COPIES 4096
#define CHUNK 16      /* bytes that the swizzle moves together */
#define BOX_BYTES 128 /* of a row */
#define UNKNOWN 0xff

/* As it lies in shared memory. */
struct barrier {
    unsigned char parity : 1, number : 7; /* of the phase that is under way; of the block's barriers (races.h) */
    unsigned char magic;
    unsigned char pending, count; /* arrivals to come in this phase, in each */
    int bytes;                    /* expected less come */
};
#define MAGIC 0xb7
static_assert(sizeof(struct barrier) == 8, "as in the PTX ISA");
static int n_barriers;

struct map {
    struct emu_map tensor;
    unsigned magic;
};
static_assert(sizeof(struct map) <= 128, "as large as a tensor map");

static struct copy {
    unsigned char *to;
    struct emu_map tensor;
    int at[EMU_MAP_DIMS];
    struct barrier *barrier;
} copies[MAX_COPIES];
static int n_copies;

/* Which thread has seen which map as it is now. */
#define MAX_SEEN 256
static struct seen {
    const void *map;
    int thread;
} seen[MAX_SEEN];
static int n_seen;

void bulk_start(void)
{
    n_copies = 0;
    n_barriers = 0;
    n_seen = 0;
}

static struct barrier *barrier_at(void *at)
{
    struct barrier *b = at;

    if ((uintptr_t)at % 8)
        block_fail(716, "a barrier at an address that is no multiple of 8");
    races_access(at, sizeof *b, 0);
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
    races_phase_ends(b->number);
}

void bulk_barrier_init(void *b, int count)
{
    struct barrier made = {.magic = MAGIC, .pending = (unsigned char)count, .count = (unsigned char)count};

    if (count < 1 || count > 255)
        block_fail(715, "a barrier of too many");
    if (n_barriers == RACES_MAX_BARRIERS)
        block_fail(2, "more barriers than can be watched");
    races_access(b, sizeof made, 1);
    made.number = (unsigned char)(n_barriers++ & 0x7f);
    races_barrier_made(made.number);
    memcpy(b, &made, sizeof made);
}

void bulk_barrier_arrive(void *at, int expected_bytes)
{
    struct barrier *b = barrier_at(at);

    if (!b->pending)
        block_fail(719, "more arrivals at a barrier than it was made for");
    races_arrive(b->number);
    b->bytes += expected_bytes;
    b->pending--;
    end_phase(b);
}

/* Tensor maps. */

void bulk_map(void *map, const struct emu_map *t)
{
    const struct map made = {*t, MAGIC};

    if (block_thread() % EMU_WARP) /* all lanes make it together */
        return;
    if (apart_place(map) % 64 || (uintptr_t)t->base % 16)
        block_fail(716, "a tensor map of misaligned rows, or misaligned itself");
    for (int i = 0; i < EMU_MAP_DIMS; i++) {
        if (t->box[i] < 1 || t->box[i] > 256 || t->dims[i] < 1 || t->step[i] < 1 || t->step[i] > 8)
            block_fail(715, "a tensor map of sizes that there are not");
        if (i > 0 && t->strides[i] % 16)
            block_fail(716, "a tensor map of misaligned rows, or misaligned itself");
    }
    memcpy(map, &made, sizeof made);
    for (int i = 0; i < n_seen; i++)
        if (seen[i].map == map)
            seen[i--] = seen[--n_seen];
}

static bool has_seen(const void *map)
{
    int i = 0;

    while (i < n_seen && (seen[i].map != map || seen[i].thread != block_thread()))
        i++;
    return i < n_seen;
}

void bulk_map_see(const void *map)
{
    if (has_seen(map))
        return;
    if (n_seen == MAX_SEEN)
        block_fail(2, "more tensor maps than can be watched");
    seen[n_seen++] = (struct seen){map, block_thread()};
}

/* Of dimension i of a box: how many are brought. */
static int brought(const struct emu_map *t, int i)
{
    return (t->box[i] + t->step[i] - 1) / t->step[i];
}

static int rows_of(const struct emu_map *t)
{
    return brought(t, 1) * brought(t, 2) * brought(t, 3);
}

void bulk_bring(void *to, const void *map, const int at[EMU_MAP_DIMS], void *barrier)
{
    struct copy c = {.to = to, .barrier = barrier_at(barrier)};
    struct map made;

    memcpy(&made, map, sizeof made);
    if (made.magic != MAGIC)
        block_fail(719, "a tensor map that was not made");
    if (!has_seen(map))
        block_fail(719, "a tensor map without fence.proxy.tensormap of the thread since it was made");
    if ((uintptr_t)to % 128)
        block_fail(716, "a box to an address that is no multiple of 128");
    if (n_copies == MAX_COPIES)
        block_fail(2, "too many copies under way");
    c.tensor = made.tensor;
    memcpy(c.at, at, sizeof c.at);
    races_engine_comes(barrier, sizeof *c.barrier);
    races_engine_comes(to, (size_t)rows_of(&c.tensor) * BOX_BYTES);
    races_copy_begins(to, (size_t)rows_of(&c.tensor) * BOX_BYTES);
    memset(to, UNKNOWN, (size_t)rows_of(&c.tensor) * BOX_BYTES);
    copies[n_copies++] = c;
}

/* Where row i of the box begins, without its bytes' offset; NULL: outside. */
static const unsigned char *row_at(const struct copy *c, int i)
{
    const struct emu_map *t = &c->tensor;
    const unsigned char *from = t->base;

    for (int k = 1; k < EMU_MAP_DIMS; k++) {
        const int at = c->at[k] + i % brought(t, k) * t->step[k];

        if (at < 0 || at >= t->dims[k])
            return NULL;
        from += at * t->strides[k];
        i /= brought(t, k);
    }
    return from;
}

/* One row: its chunks change places by bits 7 to 9 of the address. Zeros beyond the tensor. */
static void bring_row(const struct copy *c, int i)
{
    const unsigned char *const from = row_at(c, i);

    for (int chunk = 0; chunk < BOX_BYTES / CHUNK; chunk++) {
        const unsigned char *base = block_dynamic();
        const size_t plain = (size_t)(c->to - base) + (size_t)i * BOX_BYTES + (size_t)chunk * CHUNK;
        unsigned char *to = block_dynamic() + (plain ^ (plain >> 7 & 7) << 4);

        for (int k = 0; k < CHUNK; k++) {
            const int at = c->at[0] + chunk * CHUNK + k;

            to[k] = from && at >= 0 && at < c->tensor.dims[0] ? from[at] : 0;
        }
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
        for (int row = 0; row < rows_of(&copies[i].tensor); row++)
            bring_row(&copies[i], row);
        races_box_ends(copies[i].to, (size_t)rows_of(&copies[i].tensor) * BOX_BYTES, b->number);
        b->bytes -= rows_of(&copies[i].tensor) * BOX_BYTES;
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
    races_pass(p.barrier->number);
}
