/* SPDX-License-Identifier: MIT */
/* A convolution as an implicit matrix product on the cores that everything else runs on. */
#include "core/err.h"
#include "kernels/conv/split.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/gemm/dot.h"
#include "kernels/gemm/gemm.h"
#include "runtime/cuda_arch.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define CAPS (CONV_F16 | CONV_BF16 | CONV_I8 | CONV_U8 | CONV_GROUPS | CONV_LAYOUTS | CONV_NHWC | CONV_EPILOGUE)
#define MOST_WINDOW 32 /* rows or columns, bits of a word */

/* Channels of an input pixel that a word of it holds, and words that lie together before a jump. */
static int64_t channels_of_word(const struct workload *w)
{
    return dtype_is_bytes(w->dtype) ? 4 : 1;
}

static int64_t words_together(const struct workload *w, const struct conv_shape *z)
{
    return z->layout == IMAGES_NHWC ? 1 : CEIL(z->x_lanes, channels_of_word(w));
}

static int64_t words_of_group(const struct workload *w, const struct conv_shape *z)
{
    return CEIL(z->c / z->groups, channels_of_word(w));
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const char *const id = "conv2d/implicit_gemm";
    const struct conv_shape z = conv_shape_of(w);

    if (conv_within(id, kernel_lang(d) == LANG_CUDA_C ? CAPS : CAPS & ~(unsigned)CONV_BF16, w, why))
        return FIT_NONE;
    if (z.r > MOST_WINDOW || z.s > MOST_WINDOW)
        why_set(why, ERR_UNSUPPORTED, "%s computes windows of up to %d x %d", id, MOST_WINDOW, MOST_WINDOW);
    else if (z.layout == IMAGES_NHWC && z.c % channels_of_word(w))
        why_set(why, ERR_UNSUPPORTED, "%s computes int8 in nhwc of channels in fours only, not of %lld", id,
                (long long)z.c);
    else if (z.groups > 1 && (z.c / z.groups % channels_of_word(w) || words_of_group(w, &z) % words_together(w, &z)))
        why_set(why, ERR_UNSUPPORTED, "%s computes groups of whole %s only, not of %lld channels", id,
                z.x_lanes > 1 ? "blocks" : "fours", (long long)(z.c / z.groups));
    else
        return d->kind == DEVICE_GPU && z.k / z.groups >= 16 ? FIT_GOOD : FIT_POSSIBLE;
    return FIT_NONE;
}

/* Pixels of x that are fetched together: where a pixel is its own window and rows of them end at multiples. */
static int64_t pixels_together(const struct workload *w, const struct conv_shape *z)
{
    const bool own = z->r * z->s == 1 && z->stride_h == 1 && z->stride_w == 1 && z->p == z->h && z->q == z->w;

    return own && z->top == 0 && z->left == 0 && z->layout != IMAGES_NHWC && words_together(w, z) == 1 &&
                   z->h * z->w % 4 == 0
               ? 4
               : 1;
}

static const struct build_knob knobs[] = {
    {"mt", {16, 32, 64, 128, BUILD_END}},
    {"nt", {32, 64, 128, 256, BUILD_END}},
    {"mr", {4, 8, BUILD_END}},
    {"nr", {4, 8, BUILD_END}},
    {"cb", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {"ks", {1, 2, 4, 8, BUILD_END}},
    {"ku", {4, 8, 16, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"work_items", "mt // mr * (nt // nr) * ks"},
    {"accumulators", "mr * nr"},
    {"terms", "cb * tb"},
    {"rows_apart", "max(1, work_items * xv // nt)"},
    {"held", "(stages == 2) * terms * (mt + nt) / work_items"},
    {"tile_bytes", "max(stages * terms * (mt + nt), (ks - 1) * mt * nt) * sum_elem_bytes"},
    {"local_bytes", "tile_bytes"},
    {"steps", "ceil_div(size_words, cb) * (size_r * size_s // tb)"},
    {"m_tiles", "ceil_div(size_kg, mt)"},
    {"n_tiles", "ceil_div(pixels, nt)"},
    {"waste_m", "m_tiles * mt / size_kg"},
    {"waste_n", "n_tiles * nt / pixels"},
    {"waste_k", "ceil_div(size_words, cb) * cb / size_words"},
    {"waste", "waste_m * waste_n * waste_k"},
    {"groups_whole", "groups_n * m_tiles * n_tiles"},
    {"loads_per_fma", "1 / mr + 1 / nr"},
    {"staged_per_fma", "1 / mt + 1 / nt"},
    {"body", "accumulators * min(ku, terms // ks)"},
    {NULL, NULL},
};

/* More stages than two go past the registers: words are not converted on the way. */
static const char *const constraints[] = {
    "work_items <= max_group and work_items <= max_x",
    "tile_bytes <= max_dynamic",
    "tb == 1 or cb % rows_apart == 0",
    "terms % ks == 0 and terms <= 64",
    "ks <= mr and (y_lanes == 1 or ks <= nr)",
    "ku == 4 or ku < 2 * (terms // ks)",
    "held + accumulators <= 128",
    "work_items * (accumulators + mr + nr + held + 24) <= max_registers",
    "terms * (mt + nt) <= 64 * work_items",
    "cb % words_together == 0",
    "cb == 1 or cb < 2 * size_words",
    "mt == 16 or mt < 2 * size_kg",
    "nt == 32 or nt < 2 * pixels",
    "stages <= steps",
    "stages <= 2 or (word_bytes == sum_elem_bytes and word_bytes >= 4)",
    "size_words <= max_grid and size_n <= max_grid",
    NULL,
};

/* Taps of a step: one, a row of the window, all of it. */
static enum err add_taps(const struct conv_shape *z, struct space *s, struct why *why)
{
    int64_t taps[3] = {1};
    size_t n = 1;

    if (z->s > 1)
        taps[n++] = z->s;
    if (z->r > 1)
        taps[n++] = z->r * z->s;
    return space_add_knob_ints(s, "tb", why, n, taps);
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    static const int64_t stages[] = {1, 2, 3, 4};
    const struct conv_shape z = conv_shape_of(w);
    const bool words = dtype_is_bytes(w->dtype);
    const struct build_named constants[] = {{"size_words", (double)words_of_group(w, &z)},
                                            {"words_together", (double)words_together(w, &z)},
                                            {"word_bytes", words ? 4 : (double)dtype_bytes(w->dtype)},
                                            {"pixels", (double)(z.n * z.p * z.q)},
                                            {"xv", (double)pixels_together(w, &z)},
                                            {"max_registers", d->registers > 0 ? (double)d->registers : INT32_MAX},
                                            {"max_dynamic", (double)(d->sm ? d->local_max_bytes : build_max_local(d))},
                                            {NULL, 0}};
    enum err e = conv_add_constants(&z, w->dtype, conv_sums(w, d), d, s, why);

    if (!e)
        e = build_constants(s, constants, why);
    if (!e && words)
        e = dot_add_knob(s, d, DOT_SCALARS, w->dtype, false, why);
    if (!e)
        e = build_knobs(s, knobs, why);
    if (!e)
        e = add_taps(&z, s, why);
    if (!e)
        e = space_add_knob_ints(s, "stages", why, cuda_arch_has(d, "cp_async") ? 4 : 2, stages);
    if (!e)
        e = split_add_knob(s, why);
    if (!e)
        e = build_quantities(s, quantities, why);
    if (!e)
        e = split_add_constraints(s, d, why);
    return e ? e : build_constraints(s, constraints, why);
}

/* A choice of tiles, and what it is for. */
struct tile {
    int64_t mt, nt, mr, nr, ks, cb, tb, split;
};
struct problem {
    int64_t m, n, words, window, groups, xv, outputs, units, stages;
    const struct device_desc *d;
};

#define FMA_CYCLE 128        /* of a multiprocessor */
#define COPY_BYTES 20        /* from the second cache, a cycle and multiprocessor */
#define STEP_INSTRUCTIONS 40 /* of an item, besides its products and copies: counted in sm_90's code */
#define COPY_INSTRUCTIONS 3
#define LOAD_INSTRUCTIONS 3 /* as long as a load of 16 bytes from shared memory takes */
#define BLOCK_CYCLES 2000   /* until the first words are there, and from the last product to the end */
#define LAUNCH_CYCLES 3000  /* of a second kernel */
#define TILE_REGISTERS 64   /* besides the sums */
#define WAIT_ALONE 1.05     /* at barriers, nobody else on the multiprocessor */
#define WARPS_HALF 1.2      /* that keep a multiprocessor half busy */

/* Cycles of a multiprocessor for one group, if it had it alone and busy. */
static double group_cycles(const struct tile *t, const struct problem *p, int64_t items)
{
    const int64_t terms = t->cb * t->tb, steps = CEIL(p->words, t->cb) * (p->window / t->tb);
    const double rows = (double)terms / (double)t->ks, fmas = (double)(t->mr * t->nr);
    const double copies = (double)(terms * (t->nt / p->xv + t->mt / 4)) / (double)items;
    const double step = (fmas + LOAD_INSTRUCTIONS * (double)(t->mr + t->nr) / 4) * rows + STEP_INSTRUCTIONS +
                        COPY_INSTRUCTIONS * copies;
    const double bytes = 4.0 * (double)(terms * (t->mt + t->nt / (p->window > 1 ? 3 : 1)));
    const double each = step * (double)items / FMA_CYCLE, least = bytes / COPY_BYTES;

    return (double)CEIL(steps, t->split) * (each > least ? each : least) +
           (double)((t->ks - 1) * t->mt * t->nt) * 8 / FMA_CYCLE;
}

/* Cycles until all is done: groups side by side on the multiprocessors, and the parts of the sums written and read. */
static double whole_cycles(const struct tile *t, const struct problem *p)
{
    const int64_t items = t->mt / t->mr * (t->nt / t->nr) * t->ks,
                  bytes = 4 * p->stages * t->cb * t->tb * (t->mt + t->nt);
    const int64_t groups = CEIL(p->m, t->mt) * CEIL(p->n, t->nt) * p->groups * t->split, each = CEIL(groups, p->units);
    const int64_t fit_on = p->d->sm ? cuda_arch_resident(p->d, items, t->mr * t->nr + TILE_REGISTERS, bytes) : 2;
    const int64_t resident = fit_on < 1 ? 1 : fit_on < each ? fit_on : each;
    const double warps = (double)(resident * items) / 32, busy = warps / (warps + WARPS_HALF);
    const double parts = 8.0 * (double)(t->split * p->outputs) / (double)(COPY_BYTES * p->units);

    return (double)each * group_cycles(t, p, items) / busy * (resident > 1 ? 1 : WAIT_ALONE) +
           (double)CEIL(each, resident) * BLOCK_CYCLES + (t->split > 1 ? parts + LAUNCH_CYCLES : 0);
}

/* Rows unrolled: all up to 16, else by eights. */
static int64_t rows_unrolled(const struct tile *t)
{
    const int64_t rows = t->cb * t->tb / t->ks;

    return rows > 16 ? 8 : rows > 8 ? 16 : rows > 4 ? 8 : 4;
}

/* Is there a valid config with this tile? With as many stages as can be, `least` or more. */
static bool has_config(const struct space *s, const struct tile *t, int64_t least, struct config *c)
{
    const struct build_define list[] = {{"mt", t->mt}, {"nt", t->nt},       {"mr", t->mr},
                                        {"nr", t->nr}, {"ks", t->ks},       {"cb", t->cb},
                                        {"tb", t->tb}, {"split", t->split}, {"ku", rows_unrolled(t)},
                                        {NULL, 0}};
    const int stages = space_find_knob(s, "stages");

    *c = (struct config){{0}};
    build_choose(s, list, c);
    if (space_int(s, c, "mt") != t->mt || space_int(s, c, "nt") != t->nt || space_int(s, c, "cb") != t->cb)
        return false;
    for (size_t v = space_n_values(s, (size_t)stages); v-- >= (size_t)least;) {
        c->choice[stages] = (uint16_t)v;
        if (space_is_valid(s, c, NULL))
            return true;
    }
    return false;
}

#define N_MT 4
#define N_NT 4
#define N_CB 7
#define N_KS 4
#define MAX_CHOICES (N_MT * N_NT * N_CB * N_KS * 16) /* splits: up to 16 */

/* Tiles and splits, values of the knob `split`, by number. `row`: taps of a row of the window. */
static struct tile tile_at(const struct space *s, size_t split, size_t i, int64_t row)
{
    const size_t n = N_MT * N_NT * N_CB * N_KS;
    const int64_t mt = 128 >> i % N_MT, nt = 256 >> i / N_MT % N_NT, cb = 64 >> i / (N_MT * N_NT) % N_CB;

    return (struct tile){.mt = mt,
                         .nt = nt,
                         .mr = mt > 16 ? 8 : 4,
                         .nr = nt > 32 ? 8 : 4,
                         .ks = 1 << i / (N_MT * N_NT * N_CB) % N_KS,
                         .cb = cb,
                         .tb = cb < 4 ? row : 1,
                         .split = (int64_t)space_knob_value(s, split, i / n).number};
}

/* Of the constraints those that most choices break. */
static bool is_too_large(const struct tile *t, const struct problem *p)
{
    return (t->mt > 16 && t->mt >= 2 * p->m) || (t->nt > 32 && t->nt >= 2 * p->n) ||
           (t->cb > 1 && t->cb >= 2 * p->words) || t->cb * t->tb % t->ks || t->ks > t->mr ||
           t->split > CEIL(p->words, t->cb) * (p->window / t->tb);
}

/* The valid choice of the fewest cycles with `least` stages or more. */
static bool find_best(const struct space *s, const struct problem *p, int64_t row, int64_t least, struct config *out)
{
    const size_t split = (size_t)space_find_knob(s, "split"), n = N_MT * N_NT * N_CB * N_KS * space_n_values(s, split);
    double cycles[MAX_CHOICES];

    assert(n <= MAX_CHOICES);
    for (size_t i = 0; i < n; i++) {
        const struct tile t = tile_at(s, split, i, row);

        cycles[i] = is_too_large(&t, p) ? INFINITY : whole_cycles(&t, p);
    }
    for (size_t tried = 0; tried < n; tried++) {
        size_t best = 0;
        struct tile t;

        for (size_t i = 1; i < n; i++)
            best = cycles[i] < cycles[best] ? i : best;
        if (cycles[best] == INFINITY)
            return false;
        t = tile_at(s, split, best, row);
        if (has_config(s, &t, least, out))
            return true;
        cycles[best] = INFINITY;
    }
    return false;
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const struct problem p = {.m = z.k / z.groups,
                              .n = z.n * z.p * z.q,
                              .words = words_of_group(w, &z),
                              .window = z.r * z.s,
                              .groups = z.groups,
                              .xv = pixels_together(w, &z),
                              .outputs = z.n * z.k * z.p * z.q,
                              .units = build_threads(d),
                              .stages = cuda_arch_has(d, "cp_async") ? 4 : 2,
                              .d = d};

    /* Nothing is fetched ahead only where there is no other way. */
    return find_best(s, &p, z.s, 2, out) || find_best(s, &p, z.s, 1, out) ? ERR_OK : ERR_NOT_FOUND;
}

static int packed_weights(struct build *b, const struct conv_shape *z, enum dtype word)
{
    const int64_t tiles = z->groups * build_int(b, "m_tiles"), rows = build_int(b, "steps") * build_int(b, "terms");

    return conv_pack_weights(b, "implicit_pack_w", word, tiles * rows * build_int(b, "mt"));
}

static int packed_input(struct build *b, const struct conv_shape *z)
{
    const int64_t c4 = CEIL(z->c, 4), plane = z->h * z->w, n = plane % 4 ? plane : plane / 4; /* one or four an item */
    const int x4 = build_buffer(b, "x4", ROLE_SCRATCH, DTYPE_I32, z->n * c4 * plane);
    const struct conv_pack pack = conv_pack_define(b, n);

    build_launch(b, PHASE_RUN, "implicit_pack_x", (const int64_t[]){CEIL(n, pack.run), c4, z->n},
                 (const int64_t[]){pack.group, 1, 1}, (const int[]){0, x4, -1});
    return x4;
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const bool words = dtype_is_bytes(b->w->dtype);
    const int64_t bytes = build_int(b, "tile_bytes");
    const bool dynamic = bytes > build_max_local(b->d);
    int wp, x, around;

    assert(build_int(b, "terms") % build_int(b, "ks") == 0);
    build_module(b, "conv2d/implicit_gemm.cl");
    conv_define_shape(b, &z);
    build_defines(b, (const struct build_define[]){{"VEC", 4}, {"XV", build_int(b, "xv")}, {NULL, 0}});
    b->p->needs_local_bytes = bytes;
    if (words)
        dot_define(b);
    if (build_int(b, "stages") > 2)
        gemm_need(b, "cp_async");
    if (dynamic)
        build_define(b, "DYN_LOCAL", 1);
    wp = packed_weights(b, &z, words ? DTYPE_I32 : b->w->dtype);
    around = build_fold_zero(b, z.k, z.c / z.groups * z.r * z.s);
    x = words && z.x_lanes == 1 ? packed_input(b, &z) : 0;
    split_last_launch(b, &z, "conv_implicit_gemm", (const int64_t[]){build_int(b, "groups"), 1, 1},
                      (const int64_t[]){build_int(b, "work_items"), 1, 1}, (const int[]){x, wp, around, -1});
    for (size_t i = 0; !b->e && dynamic && i < b->p->n_launches; i++)
        if (strcmp(b->p->launches[i].kernel, "conv_implicit_gemm") == 0)
            b->p->launches[i].dyn_local = bytes;
}

const struct template conv2d_implicit_gemm = {
    .id = "conv2d/implicit_gemm",
    .stages = true,
    .version = 3,
    .summary = "GPU: matrix product over patches that are gathered while loading, their addresses known beforehand",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
