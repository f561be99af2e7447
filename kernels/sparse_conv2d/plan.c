/* SPDX-License-Identifier: MIT */
#include "kernels/sparse_conv2d/plan.h"

#include "core/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return CEIL(n, to) * to;
}

static void read_knobs(const struct build *b, struct sparse_plan *p)
{
    p->layout = strcmp(build_word(b, "layout"), "CHWN") == 0 ? SPARSE_CHWN : SPARSE_NCHW;
    p->flat = build_int(b, "flat") == 1;
    p->staged = strcmp(build_word(b, "stage"), "lmem") == 0;
    p->constants = strcmp(build_word(b, "values"), "const") == 0;
    p->by_rows = strcmp(build_word(b, "nz_order"), "rsc") == 0;
    p->vec = build_int(b, "vec");
    p->k_t = build_int(b, "k_t");
    p->x_r = build_int(b, "x_r");
    p->y_r = build_int(b, "y_r");
    p->n_r = build_int(b, "n_r");
    p->wg_x = build_int(b, "wg_x");
    p->wg_y = build_int(b, "wg_y");
    p->wg_n = build_int(b, "wg_n");
    p->c_blk = build_int(b, "c_blk");
    p->strip = build_int(b, "strip");
    p->cap = build_int(b, "unroll_cap");
    p->sched = build_int(b, "sched");
    p->gpu = b->d->kind == DEVICE_GPU;
    p->spread = p->gpu && build_int(b, "spread") == 1;
    p->n_first = p->gpu && p->layout == SPARSE_CHWN;
}

/* An odd number of lines of 64 bytes: neighbours do not fall on the same sets of a cache. */
static int64_t odd_lines(int64_t n)
{
    return (round_up(n, 16) / 16 | 1) * 16;
}

/* Where the padded copy lies: channels inside of rows, so that a tile's inputs lie on few pages; rows inside of
 * channels where rows are one long row. */
static void lay_input(struct sparse_plan *p)
{
    const struct conv_shape *z = &p->z;
    const int64_t lanes = p->layout == SPARSE_CHWN ? round_up(z->n, p->vec * p->n_r) : 1;
    const int64_t rows = z->p + (z->r - 1) * z->dil_h / z->stride_h, phases = z->stride_h * z->stride_w;
    const int64_t behind = (z->s - 1) * z->dil_w / z->stride_w;
    const int64_t columns = p->flat || p->layout == SPARSE_CHWN ? z->q + behind : max64(z->q, p->wide) + behind;
    struct sparse_input *x = &p->x;

    x->copied = !p->staged && (z->top || z->left || z->bottom || z->right || phases > 1 || p->flat || lanes > 1 ||
                               (p->layout == SPARSE_NCHW && z->q < p->wide));
    if (!x->copied) {
        *x = (struct sparse_input){false, z->c * z->h * z->w, z->h * z->w, 0, z->w, 1, z->h, z->w, 0};
        return;
    }
    x->rows = rows;
    x->columns = columns;
    x->column_step = lanes;
    if (p->flat || lanes > 1) {
        x->row_step = columns * lanes;
        x->phase_step = rows * x->row_step + (p->flat ? p->wide : 0);
        x->c_step = odd_lines(phases * x->phase_step);
        x->n_step = lanes > 1 ? 1 : z->c * x->c_step;
        x->n_elems = z->c * x->c_step * (lanes > 1 ? 1 : z->n);
    } else {
        x->c_step = odd_lines(columns);
        x->columns = x->c_step;
        x->row_step = z->c * x->c_step;
        x->phase_step = rows * x->row_step;
        x->n_step = phases * x->phase_step;
        x->n_elems = z->n * x->n_step;
    }
}

static void lay_output(struct sparse_plan *p)
{
    const struct conv_shape *z = &p->z;
    const int64_t lanes = p->layout == SPARSE_CHWN ? round_up(z->n, p->vec * p->n_r) : 1;
    struct sparse_output *y = &p->y;

    y->copied = p->flat || p->layout == SPARSE_CHWN;
    y->q_step = lanes;
    y->p_step = (p->flat ? p->x.columns : z->q) * lanes;
    y->k_step = p->flat ? round_up(max64(p->q, p->wide), 16) : z->p * y->p_step;
    y->n_step = lanes > 1 ? 1 : z->k * y->k_step;
    y->n_elems = z->k * y->k_step * (lanes > 1 ? 1 : z->n);
}

/* The inputs of a work-group's outputs in local memory, padded: [image][phase][row][channel][column]. */
static void lay_stage(struct sparse_plan *p)
{
    const struct conv_shape *z = &p->z;
    const int64_t across = p->wg_x * p->wide, all = max64(p->q, p->wide);

    p->stage_rows = p->wg_y * p->strip * p->y_r + (z->r - 1) * z->dil_h / z->stride_h;
    p->stage_columns = (across < all ? across : all) + (z->s - 1) * z->dil_w / z->stride_w;
    p->stage_channel = odd_lines(p->stage_columns);
    p->stage_row = p->c_blk * p->stage_channel;
    p->stage_phase = p->stage_rows * p->stage_row;
    p->stage_image = z->stride_h * z->stride_w * p->stage_phase;
    p->stage_elems = p->wg_n * p->n_r * p->stage_image;
}

void sparse_plan_lay(struct sparse_plan *p)
{
    const struct conv_shape *z = &p->z;
    const bool chwn = p->layout == SPARSE_CHWN;

    p->wide = p->x_r * (chwn ? 1 : p->vec);
    lay_input(p);
    p->p = p->flat ? 1 : z->p;
    p->q = p->flat ? (z->p - 1) * p->x.columns + z->q : z->q;
    p->n = chwn ? round_up(z->n, p->vec * p->n_r) : z->n;
    lay_output(p);
    p->tiles_x = CEIL(p->q, p->wide);
    p->tiles_y = CEIL(p->p, p->y_r);
    p->tiles_n = chwn ? p->n / (p->vec * p->n_r) : CEIL(p->n, p->n_r);
    assert(p->tiles_x * p->wide >= p->q && p->tiles_y * p->y_r >= p->p && p->tiles_n > 0);
    p->tile = p->x_r * p->y_r * p->n_r;
    lay_stage(p);
}

int64_t sparse_rows_part(const struct sparse_plan *p, int64_t k, int64_t c0, int64_t c1, int64_t *first)
{
    const int64_t cg = p->z.c / p->z.groups, base = k / (p->z.k / p->z.groups) * cg;
    int64_t i = p->list.row[k], n = 0;

    while (i < p->list.row[k + 1] && p->list.c[i] < base + c0)
        i++;
    *first = i;
    while (i + n < p->list.row[k + 1] && p->list.c[i + n] < base + c1)
        n++;
    assert(*first + n <= p->list.row[k + 1]);
    return n;
}

/* The first channel of group i of n: groups differ by one channel at most. */
static int64_t cut(int64_t all, int64_t n, int64_t i)
{
    assert(n > 0 && i >= 0 && i <= n);
    return all * i / n;
}

static int64_t unit_nnz(const struct sparse_plan *p, const struct sparse_unit *u)
{
    int64_t n = 0, first;

    for (int64_t k = u->k0; k < u->k1; k++)
        n += sparse_rows_part(p, k, u->c0, u->c1, &first);
    return n;
}

/* Multiply-add instructions of a nonzero: on a GPU one for each output of a work-item. */
static int64_t tile_fmas(const struct sparse_plan *p)
{
    return p->tile * (p->gpu ? p->vec : 1);
}

/* 64 KiB of constant memory, of a kernel; FMAs of a module on GPUs, so that none has more values than that either. */
enum { MAX_VALUES = 16384, MODULE_FMAS = 8192 };

/* A kernel takes units until their FMAs pass the cap, or their values the constant memory. On a GPU modules are cut
 * between kernels, so that none takes its compiler long. */
static void deal_kernels(struct sparse_plan *p)
{
    int64_t fmas = 0, values = 0, module_fmas = 0;

    p->n_kernels = p->n_modules = 0;
    for (int64_t i = 0; i < p->n_units; i++) {
        const int64_t nnz = unit_nnz(p, &p->units[i]);
        struct sparse_unit *u = &p->units[i];

        if (i > 0 && (fmas + nnz * tile_fmas(p) > p->cap || (p->constants && values + nnz > MAX_VALUES))) {
            p->n_kernels++;
            fmas = values = 0;
            if (p->gpu && module_fmas + p->cap > MODULE_FMAS) {
                p->n_modules++;
                module_fmas = 0;
            }
        }
        u->i_kernel = p->n_kernels;
        u->i_module = p->n_modules;
        if (i > 0 && u[-1].i_kernel == u->i_kernel)
            u->i_branch = u[-1].i_branch + (u[-1].k0 != u->k0);
        fmas += nnz * tile_fmas(p);
        module_fmas += nnz * tile_fmas(p);
        values += nnz;
    }
    p->n_kernels++;
    p->n_modules++;
    assert(p->n_modules <= p->n_kernels);
}

int64_t sparse_branches(const struct sparse_plan *p, int64_t i_kernel)
{
    int64_t n = 1;

    for (int64_t i = 0; i < p->n_units; i++)
        if (p->units[i].i_kernel == i_kernel)
            n = p->units[i].i_branch + 1;
    return p->spread ? n : 1;
}

int64_t sparse_module(const struct sparse_plan *p, int64_t i_kernel)
{
    for (int64_t i = 0; i < p->n_units; i++)
        if (p->units[i].i_kernel == i_kernel)
            return p->units[i].i_module;
    return 0;
}

/* Appends a unit; on a GPU as several of fewer channels where one would be longer than a kernel may be. */
static enum err add_unit(struct sparse_plan *p, struct sparse_unit u, struct why *why)
{
    const int64_t middle = (u.k0 + u.k1) / 2;
    enum err e;

    if (!p->gpu || unit_nnz(p, &u) * tile_fmas(p) <= p->cap) {
        assert(p->n_units < p->z.k * p->blocks_c);
        p->units[p->n_units++] = u;
        return ERR_OK;
    }
    if (u.k1 - u.k0 < 2)
        return why_set(why, ERR_LIMIT,
                       "sparse_conv2d/generated: output channel %lld alone needs more than unroll_cap=%lld products",
                       (long long)u.k0, (long long)p->cap);
    e = add_unit(p, (struct sparse_unit){.k0 = u.k0, .k1 = middle, .c0 = u.c0, .c1 = u.c1}, why);
    return e ? e : add_unit(p, (struct sparse_unit){.k0 = middle, .k1 = u.k1, .c0 = u.c0, .c1 = u.c1}, why);
}

int64_t sparse_most_of_channel(const struct conv_shape *z, const struct sparse_list *l, int64_t c_blk)
{
    const int64_t cg = z->c / z->groups, blocks = CEIL(cg, c_blk);
    int64_t most = 0;

    for (int64_t k = 0; k < z->k; k++) {
        int64_t block = 0, n = 0; /* rows ascend in c */

        for (int64_t i = l->row[k]; i < l->row[k + 1]; i++) {
            for (; l->c[i] % cg >= cut(cg, blocks, block + 1); n = 0)
                block++;
            assert(block < blocks);
            most = ++n > most ? n : most;
        }
    }
    return most;
}

/* Groups of channels outside, so that their code stays in cache over all
 * blocks; where inputs are staged, blocks outside, so that each is staged once.
 */
static enum err make_units(struct sparse_plan *p, struct why *why)
{
    const int64_t cg = p->z.c / p->z.groups;
    enum err e = ERR_OK;

    p->groups_k = CEIL(p->z.k, p->k_t);
    p->blocks_c = CEIL(cg, p->c_blk);
    p->units = calloc((size_t)(p->z.k * p->blocks_c), sizeof *p->units);
    if (!p->units)
        return ERR_NOMEM;
    for (int64_t i = 0; !e && i < p->groups_k * p->blocks_c; i++) {
        const int64_t g = p->staged ? i % p->groups_k : i / p->blocks_c;
        const int64_t block = p->staged ? i / p->groups_k : i % p->blocks_c;

        e = add_unit(p,
                     (struct sparse_unit){.k0 = cut(p->z.k, p->groups_k, g),
                                          .k1 = cut(p->z.k, p->groups_k, g + 1),
                                          .c0 = cut(cg, p->blocks_c, block),
                                          .c1 = cut(cg, p->blocks_c, block + 1)},
                     why);
    }
    deal_kernels(p);
    p->n_fmas = p->list.nnz * p->tile;
    return e;
}

enum err sparse_plan_make(const struct build *b, struct sparse_plan *out)
{
    enum err e;

    memset(out, 0, sizeof *out);
    out->z = conv_shape_of(b->w);
    read_knobs(b, out);
    sparse_plan_lay(out);
    e = sparse_list_make(b->w, &out->list, b->why);
    if (!e)
        e = make_units(out, b->why);
    if (e)
        sparse_plan_fini(out);
    return e;
}

void sparse_plan_fini(struct sparse_plan *p)
{
    sparse_list_fini(&p->list);
    free(p->units);
    p->units = NULL;
}

void sparse_define_copy(struct build *b, const struct sparse_plan *p)
{
    const struct build_define list[] = {
        {"CHWN", p->layout == SPARSE_CHWN},
        {"XN_STEP", p->x.n_step},
        {"XC_STEP", p->x.c_step},
        {"XH_STEP", p->x.phase_step},
        {"XR_STEP", p->x.row_step},
        {"XQ_STEP", p->x.column_step},
        {"X_ROWS", p->x.rows},
        {"X_COLUMNS", p->x.columns},
        {"COPY_WG", p->gpu ? SPARSE_COPY_GROUP : 1},
        {NULL, 0},
    };

    build_defines(b, list);
}

void sparse_copy_grid(const struct sparse_plan *p, int64_t channels, int64_t images, int64_t grid[3], int64_t block[3])
{
    grid[0] = channels;
    grid[1] = p->gpu && p->layout == SPARSE_CHWN ? CEIL(images, 32) : images;
    block[0] = p->gpu ? SPARSE_COPY_GROUP : 1;
    grid[2] = block[1] = block[2] = 1;
}

void sparse_add_copy(struct build *b, const struct sparse_plan *p, int x, int xp)
{
    int64_t grid[3], block[3];

    sparse_copy_grid(p, p->z.c, p->layout == SPARSE_CHWN ? p->n : p->z.n, grid, block);
    if (p->x.copied)
        build_launch(b, PHASE_RUN, "sparse_copy_x", grid, block, (const int[]){x, xp, -1});
}
