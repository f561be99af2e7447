/* SPDX-License-Identifier: MIT */
#include "kernels/build.h"
#include "kernels/conv/split.h"
#include "kernels/conv/strips.h"
#include "runtime/cuda_arch.h"

#include <math.h>
#include <string.h>

/* Of a multiprocessor, a cycle; of an item, counted in the code of sm_61 to sm_90: 2 points of its share of products
 * are the mean error, 7 the largest. */
#define ISSUED 128            /* instructions of items */
#define COPY_BYTES 20         /* from the second cache */
#define STORED 2              /* pieces of 32 bytes of y */
#define STEP_INSTRUCTIONS 25  /* of a stage, besides its products, reads and copies */
#define WORD_INSTRUCTIONS 8   /* a word of x, of which all stages have one window */
#define WINDOW_INSTRUCTIONS 3 /* and more where there are several */
#define VECTOR_INSTRUCTIONS 5 /* four words of weights */
#define STORE_INSTRUCTIONS 4  /* a sum */
#define SAMPLE_INSTRUCTIONS 9 /* four pixels, their shares, the store */
#define PLACE_INSTRUCTIONS 68 /* where an item's samples of a step lie, and its offsets */
#define LEAST_BESIDE .1       /* of what takes less time than the slowest part, that is not hidden behind it */
#define WAIT_CYCLES 500       /* of a stage that is not fetched ahead, for memory */
#define BLOCK_CYCLES 2000     /* until the first words are there, and from the last product to the end */
#define WORK_AGAIN .5         /* of work that is counted: how well groups fill a device is guessed */
#define LAUNCH_CYCLES 3000    /* of a second kernel */
#define OTHER_REGISTERS 28    /* of an item, besides sums, factors and words that wait */
#define PLACE_REGISTERS 12
#define WARPS_HALF 1.2 /* that keep a multiprocessor half busy, with MANY_SUMS or more each */
#define MANY_SUMS 32
#define MOST_PRODUCTS 1500 /* of an item and stage, unrolled */
#define MOST_WORDS 12      /* of x that an item knows: MOST_HELD of strips.clh */
#define MOST_VECTORS 4     /* of weights that it holds, as there */
#define MOST_SAMPLES 8     /* that it holds: MOST_OWN_C of samples.clh */
#define MOST_AHEAD 40      /* words of a default's stage that wait in registers, of samples four each */
#define MOST_REGISTERS 128 /* of an item with samples */
#define MOST_SUMS 64
#define MOST_ITEMS 256
#define MOST_TERMS 160 /* of a stage */
#define MOST_WINDOW 7  /* columns of a window that are staged whole */
#define WARP 32

/* Values of a knob; one where the form lacks it. */
struct values {
    int64_t v[64];
    size_t n;
};

struct layer {
    const struct conv_shape *z;
    const struct device_desc *d;
    int64_t f, unit, c, outputs, own_words, units, local_bytes;
    int64_t alike; /* channels that are sampled at the same places; 0: x is read as it lies */
    struct values splits;
};

/* What a tile comes to: of an item, of a group's stage, and of all. */
struct counts {
    int64_t items, warps, sums, factors, words, vectors, steps, terms, x_staged, w_staged, columns, whole;
    bool ahead;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Samples of a stage that an item has, if it has one place for them (samples.clh); else 0. */
static int64_t samples_of(const struct layer *l, const struct strips_tile *t, int64_t items)
{
    const int64_t places = t->ry_i * t->rx_i * t->y_t * t->y_r * t->x_t * t->x_r;
    const int64_t slices = least(items / places, t->rc_i), each = slices ? CEIL(t->rc_i, slices) : 0;
    const bool one_group = l->alike == l->c || l->alike % t->rc_i == 0;

    if (slices == 0 || (!one_group && (t->rc_i % l->alike || t->rc_i % slices || l->alike % each)))
        return 0;
    return each <= MOST_SAMPLES ? each : 0;
}

static int64_t apart_y(const struct layer *l, const struct strips_tile *t)
{
    return t->ry_i == 1 || l->alike ? 1 : l->z->stride_h;
}

static int64_t apart_x(const struct layer *l, const struct strips_tile *t)
{
    return t->rx_i == 1 || l->alike ? 1 : l->z->stride_w;
}

static struct counts counts_of(const struct layer *l, const struct strips_tile *t)
{
    const struct conv_shape *z = l->z;
    const int64_t f_tile = t->f_t * t->f_r, y_tile = t->y_t * t->y_r, x_tile = t->x_t * t->x_r;
    struct counts n = {.items = t->f_t * t->y_t * t->x_t, .terms = t->rc_i * t->ry_i * t->rx_i};

    n.warps = CEIL(n.items, WARP);
    n.factors = t->f_r * l->unit;
    n.sums = n.factors * t->y_r * t->x_r;
    n.steps = CEIL(l->c, t->rc_i) * CEIL(z->r, t->ry_i) * CEIL(z->s, t->rx_i);
    n.columns = conv_reach(x_tile, apart_x(l, t), t->rx_i, z->dil_w);
    n.x_staged = t->rc_i * conv_reach(y_tile, apart_y(l, t), t->ry_i, z->dil_h) * n.columns;
    if (l->alike) {
        n.columns = x_tile;
        n.x_staged = n.terms * y_tile * x_tile;
    }
    n.w_staged = CEIL(f_tile * l->unit * n.terms, 4) * 4;
    n.words = l->alike ? samples_of(l, t, n.items) : CEIL(n.x_staged, n.items);
    n.vectors = CEIL(n.w_staged, 4 * n.items);
    if (l->alike)
        n.ahead = l->d->sm && n.steps > 1 && n.vectors <= MOST_VECTORS && 4 * (n.words + n.vectors) <= MOST_AHEAD;
    else
        n.ahead = n.steps > 1 && n.words + 4 * n.vectors <= STRIPS_MOST_AHEAD;
    n.whole = z->n * z->groups * CEIL(l->f, f_tile) * CEIL(z->p, y_tile) * CEIL(z->q, x_tile);
    return n;
}

/* How many words of x one bank has to give a warp at once. */
static int64_t ways_of(const struct layer *l, const struct strips_tile *t, const struct counts *n)
{
    int64_t last[WARP], ways[WARP] = {0}, most = 1;

    memset(last, -1, sizeof last);
    for (int64_t i = 0; i < least(n->items, WARP); i++) {
        const int64_t row = i / t->x_t % t->y_t * t->y_r * apart_y(l, t);
        const int64_t at = row * n->columns + i % t->x_t * t->x_r * apart_x(l, t), bank = at % WARP;

        if (i >= t->x_t * t->y_t) /* of the next channels: the same words */
            break;
        if (last[bank] != at)
            ways[bank]++;
        last[bank] = at;
        most = ways[bank] > most ? ways[bank] : most;
    }
    return most;
}

/* An item's reads of x in shared memory in a stage: columns side by side two at once. */
static int64_t reads_of_x(const struct layer *l, const struct strips_tile *t)
{
    const struct conv_shape *z = l->z;
    const int64_t rows = least(conv_reach(t->y_r, apart_y(l, t), t->ry_i, z->dil_h), t->y_r * t->ry_i);
    const int64_t columns = least(conv_reach(t->x_r, apart_x(l, t), t->rx_i, z->dil_w), t->x_r * t->rx_i);
    const int64_t together = t->x_r * apart_x(l, t) % 2 ? 1 : 2;

    if (l->alike)
        return t->rc_i * t->ry_i * t->rx_i * t->y_r * CEIL(t->x_r, together);
    return t->rc_i * rows * CEIL(columns, together);
}

/* And its instructions to stage x. */
static int64_t x_instructions(const struct layer *l, const struct strips_tile *t, const struct counts *n)
{
    const bool windows = l->z->r > t->ry_i || l->z->s > t->rx_i;

    if (l->alike)
        return n->words * SAMPLE_INSTRUCTIONS + PLACE_INSTRUCTIONS;
    return n->words * (WORD_INSTRUCTIONS + (windows ? WINDOW_INSTRUCTIONS : 0));
}

/* Cycles of a multiprocessor for one group, if it had it alone and busy; those of a stage that wait for memory aside.
 */
static double group_cycles(const struct layer *l, const struct strips_tile *t, const struct counts *n, int64_t split)
{
    const int64_t lanes = n->factors % 4 == 0 ? 4 : n->factors % 2 == 0 ? 2 : 1;
    const int64_t reads_x = reads_of_x(l, t), reads_w = n->terms * n->factors / lanes;
    const int64_t channels = CEIL(least(n->items, WARP), t->x_t * t->y_t); /* f_t that a warp has */
    const double instructions = (double)(n->sums * n->terms + reads_x + reads_w + n->vectors * VECTOR_INSTRUCTIONS +
                                         x_instructions(l, t, n) + STEP_INSTRUCTIONS);
    const double issue = instructions * (double)(n->warps * WARP) / ISSUED;
    const int64_t pixels =
        l->alike ? 4 * n->words * (1 + CEIL(WARP, t->x_t * t->x_r)) : 0; /* lines of the first cache */
    const double shared =
        (double)(n->warps * (reads_w * CEIL(lanes * channels, WARP) + reads_x * ways_of(l, t, n) + pixels));
    const double memory = 4.0 * (double)(n->x_staged + n->w_staged) / COPY_BYTES;
    const double most = fmax(issue, fmax(shared, memory));
    const int64_t runs = CEIL(WARP, t->x_t) * CEIL(least(t->x_t, WARP) * t->x_r, 8);
    const double store = fmax((double)STORE_INSTRUCTIONS * WARP / ISSUED, (double)least(runs, WARP) / STORED);

    return (double)CEIL(n->steps, split) * (most + LEAST_BESIDE * (issue + shared + memory - most)) +
           (double)(n->warps * n->sums) * store;
}

static int64_t registers_of(const struct layer *l, const struct strips_tile *t, const struct counts *n)
{
    const int64_t held = n->ahead ? (l->alike ? 4 : 1) * n->words + 4 * n->vectors : 0;

    return n->sums + n->factors + n->columns / t->x_t + held + OTHER_REGISTERS + (l->alike ? PLACE_REGISTERS : 0);
}

/* Cycles until all is done: groups side by side on the multiprocessors, and the parts of the sums written and read. */
static double whole_cycles(const struct layer *l, const struct strips_tile *t, const struct counts *n, int64_t split)
{
    const int64_t bytes = (n->ahead ? 8 : 4) * (n->x_staged + n->w_staged);
    const int64_t fit_on = l->d->sm ? cuda_arch_resident(l->d, n->items, registers_of(l, t, n), bytes) : 2;
    const int64_t groups = n->whole * split, each = CEIL(groups, l->units);
    const int64_t resident = fit_on < 1 ? 1 : least(fit_on, each);
    const double half = WARPS_HALF * (n->sums < MANY_SUMS ? (double)MANY_SUMS / (double)n->sums : 1);
    const double warps = (double)(resident * n->warps), busy = warps / (warps + half);
    const double waits = n->ahead ? 0 : (double)(CEIL(n->steps, split) * WAIT_CYCLES) / (double)resident;
    const double work = group_cycles(l, t, n, split);
    const double parts = 8.0 * (double)(split * l->outputs) / (double)(COPY_BYTES * l->units);

    if (bytes > l->local_bytes)
        return INFINITY;
    return (double)each * (work / busy + waits) + (double)CEIL(each, resident) * BLOCK_CYCLES +
           (split > 1 ? parts + LAUNCH_CYCLES : 0) + WORK_AGAIN * work * (double)groups / (double)l->units;
}

/* As split_spread has it. */
static int64_t split_of(const struct layer *l, const struct counts *n)
{
    int64_t split = 1;

    for (size_t i = 0; i < l->splits.n && n->whole * split < 2 * l->units; i++) {
        const int64_t next = l->splits.v[i];

        if (next <= n->steps && CEIL(n->steps, CEIL(n->steps, next)) == next && next * l->outputs <= l->own_words)
            split = next;
    }
    return split;
}

static struct values values_of(const struct space *s, const char *name, int64_t most)
{
    const int knob = space_find_knob(s, name);
    struct values a = {.n = 0};

    for (size_t i = 0; knob >= 0 && i < space_n_values(s, (size_t)knob) && a.n < sizeof a.v / sizeof *a.v; i++) {
        const int64_t v = (int64_t)space_knob_value(s, (size_t)knob, i).number;

        if (v <= most)
            a.v[a.n++] = v;
    }
    if (a.n == 0)
        a.v[a.n++] = 1;
    return a;
}

/* May `t` of `r` neighbours each lie along an axis of n? */
static bool lies_along(int64_t t, int64_t r, int64_t n)
{
    return t * r == 1 || t * r < 2 * n;
}

/* An item has one place, and in CUDA there is room for a stage ahead, with two groups side by side. */
static bool is_for_samples(const struct layer *l, const struct strips_tile *t, const struct counts *n)
{
    return n->words > 0 && (!l->d->sm || n->steps == 1 || n->ahead) && registers_of(l, t, n) <= MOST_REGISTERS;
}

/* The best stage for a tile that is whole but for it. */
static void try_stages(const struct layer *l, struct strips_tile t, const struct values *channels, double *cycles,
                       struct strips_tile *best)
{
    const struct conv_shape *z = l->z;

    for (int window = l->alike ? 0 : 1; window < 3; window++) { /* an element of it, a row, all */
        t.rx_i = window == 0 ? 1 : z->s <= MOST_WINDOW ? z->s : 3;
        t.ry_i = window == 2 ? z->r : 1;
        if (window == 2 && (z->r == 1 || z->r > MOST_WINDOW))
            break;
        for (size_t i = 0; i < channels->n; i++) {
            struct counts n;
            double now;

            t.rc_i = channels->v[i];
            if (t.rc_i > 1 && t.rc_i >= 2 * l->c)
                break;
            n = counts_of(l, &t);
            if (n.terms > MOST_TERMS || n.sums * n.terms > MOST_PRODUCTS)
                break;
            if (n.words > MOST_WORDS || (l->alike && !is_for_samples(l, &t, &n)))
                continue;
            now = whole_cycles(l, &t, &n, split_of(l, &n));
            if (now < *cycles) {
                *cycles = now;
                *best = t;
                best->ahead = n.ahead;
            }
        }
    }
}

struct strips_tile strips_tile_of(const struct space *s, const struct conv_shape *z, const struct device_desc *d,
                                  int64_t alike)
{
    const struct config first = {{0}};
    const struct layer l = {
        .z = z,
        .d = d,
        .f = space_int(s, &first, "size_f"),
        .unit = space_int(s, &first, "f_unit"),
        .c = space_int(s, &first, "size_sum_c"),
        .outputs = z->n * z->k * z->p * z->q,
        .own_words = (z->n * z->c * z->h * z->w + z->k * z->c / z->groups * z->r * z->s) *
                         space_int(s, &first, "elem_bytes") / 4 +
                     z->n * z->k * z->p * z->q,
        .units = build_threads(d),
        .local_bytes = build_max_local(d),
        .alike = alike,
        .splits = values_of(s, "split", 32),
    };
    const struct values f_t = values_of(s, "f_t", 64), f_r = values_of(s, "f_r", 16), y_t = values_of(s, "y_t", 32);
    const struct values y_r = values_of(s, "y_r", 4), x_t = values_of(s, "x_t", 32), x_r = values_of(s, "x_r", 8);
    const struct values channels = values_of(s, "rc_i", 64);
    const int64_t most_items = least(build_max_group(d), MOST_ITEMS);
    struct strips_tile best = {1, 1, 1, 1, 1, 1, 1, 1, 1, false};
    double cycles = INFINITY;

    for (size_t a = 0; a < f_r.n; a++)
        for (size_t b = 0; b < y_r.n; b++)
            for (size_t c = 0; c < x_r.n && f_r.v[a] * l.unit * y_r.v[b] * x_r.v[c] <= MOST_SUMS; c++)
                for (size_t e = 0; e < f_t.n && lies_along(f_t.v[e], f_r.v[a], l.f); e++)
                    for (size_t g = 0; g < y_t.n && lies_along(y_t.v[g], y_r.v[b], z->p); g++)
                        for (size_t h = 0; h < x_t.n && lies_along(x_t.v[h], x_r.v[c], z->q); h++) {
                            const int64_t items = f_t.v[e] * y_t.v[g] * x_t.v[h];
                            const struct strips_tile t = {.f_t = f_t.v[e],
                                                          .f_r = f_r.v[a],
                                                          .y_t = y_t.v[g],
                                                          .y_r = y_r.v[b],
                                                          .x_t = x_t.v[h],
                                                          .x_r = x_r.v[c]};

                            if (items <= most_items)
                                try_stages(&l, t, &channels, &cycles, &best);
                        }
    return best;
}
