/* SPDX-License-Identifier: MIT */
#include "kernels/sparse_conv2d/plan.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT ((size_t)8 << 20)
#define HALF_CHUNK 128 /* as text.c */
#define GPU_MAX_FMAS 32768

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (conv_within("sparse_conv2d/generated", CONV_GROUPS | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    if (d->kind == DEVICE_GPU && sparse_nnz(w) > GPU_MAX_FMAS) {
        why_set(
            why, ERR_UNSUPPORTED,
            "sparse_conv2d/generated on a GPU is code for at most %d nonzeros, a kernel takes its compiler seconds for "
            "4000; this layer has %lld (sparse_conv2d/csr has no limit)",
            GPU_MAX_FMAS, (long long)sparse_nnz(w));
        return FIT_NONE;
    }
    return strcmp(d->api, "cuda") == 0 ? FIT_POSSIBLE : FIT_GOOD; /* there sparse_conv2d/unrolled is better */
}

static const struct build_knob knobs[] = {
    {"vec", {1, 4, 8, 16, BUILD_END}},
    {"x_r", {1, 2, 4, 7, 8, BUILD_END}},
    {"y_r", {1, 2, 4, 7, 8, BUILD_END}},
    {"n_r", {1, 2, 4, 8, BUILD_END}},
    {"wg_x", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {"wg_y", {1, 2, 4, 8, 16, BUILD_END}},
    {"wg_n", {1, 2, 4, 8, BUILD_END}},
    {"strip", {1, 2, 4, 7, 8, 14, 16, 28, 32, 56, 64, 112, 224, BUILD_END}},
    {"flat", {0, 1, BUILD_END}},
    {"unroll_cap", {1024, 4096, 16384, SPARSE_CAP_ALL, BUILD_END}},
    {"sched", {0, 1, 2, BUILD_END}},
    {0},
};
/* GPUs: work-items are lanes, a kernel no longer than what its compiler takes well, images beside each other. */
static const struct build_knob gpu_knobs[] = {
    {"vec", {1, 2, 4, BUILD_END}},
    {"x_r", {1, 2, 4, 7, 8, BUILD_END}},
    {"y_r", {1, 2, 4, 7, 8, BUILD_END}},
    {"n_r", {1, 2, 4, 8, BUILD_END}},
    {"wg_x", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {"wg_y", {1, 2, 4, 8, 16, BUILD_END}},
    {"wg_n", {1, 2, 4, 8, 16, 32, 64, 128, BUILD_END}},
    {"strip", {1, 2, 4, 7, 8, 14, BUILD_END}},
    {"flat", {0, 1, BUILD_END}},
    {"spread", {0, 1, BUILD_END}},
    {"unroll_cap", {500, 1000, 2000, 4000, BUILD_END}},
    {"sched", {0, 1, 2, BUILD_END}},
    {0},
};
static const char *const layouts[] = {"NCHW", "CHWN"}, *const stages[] = {"none", "lmem"},
                         *const values[] = {"const", "imm"}, *const orders[] = {"crs", "rsc"};

static const char *const quantities[][2] = {
    {"chwn", "layout == \"CHWN\""},
    {"staged", "stage == \"lmem\""},
    {"tile", "x_r * y_r * n_r"},
    {"wide", "x_r * (chwn + (1 - chwn) * vec)"},
    {"tall", "n_r * (chwn * vec + 1 - chwn)"},
    {"row", "size_q + (size_s - 1) * dil_w // stride_w"},
    {"grid_q", "size_q + flat * (size_p - 1) * row"},
    {"grid_p", "1 + (1 - flat) * (size_p - 1)"},
    {"tiles_x", "ceil_div(grid_q, wide)"},
    {"tiles_y", "ceil_div(grid_p, y_r)"},
    {"tiles_n", "ceil_div(size_n, tall)"},
    {"waste", "tiles_x * tiles_y * tiles_n * wide * y_r * tall / (size_n * "
              "size_p * size_q)"},
    {"accumulators", "k_t * tile * ceil_div(vec, 1 + (1 - gpu) * (max(lanes, 1) - 1))"},
    {"groups_k", "ceil_div(size_k, k_t)"},
    {"blocks_c", "ceil_div(size_cg, c_blk)"},
    {"nnz_per_output", "size_cg * size_r * size_s * density"},
    {"fma_tile", "tile * (1 + gpu * (vec - 1))"},
    {"total_fmas", "size_k * nnz_per_output * fma_tile"},
    {"unit_fmas", "total_fmas / (groups_k * blocks_c)"},
    {"stage_rows", "wg_y * strip * y_r + (size_r - 1) * dil_h // stride_h"},
    {"stage_columns", "min(wg_x * wide, max(size_q, wide)) + (size_s - 1) * dil_w // stride_w"},
    {"stage_lines", "ceil_div(stage_columns, 16)"},
    {"stage_bytes", "64 * staged * wg_n * n_r * c_blk * stride_h * stride_w * stage_rows * "
                    "(stage_lines + 1 - stage_lines % 2)"},
    {"group", "wg_x * wg_y * wg_n"},
    {"items", "tiles_n * tiles_x * tiles_y / strip"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "vec <= max(lanes, 4)",
    "accumulators <= 64",
    "flat == 0 or (not chwn and not staged and y_r == 1 and wg_y == 1)",
    "not staged or (not chwn and groups_n == 1 and stage_bytes <= max_local)",
    "not chwn or vec * n_r <= size_n",
    "chwn or x_r == 1 or wide <= grid_q",
    "x_r <= size_q and y_r <= size_p and n_r <= size_n",
    "group <= max_group and wg_x <= max_x and wg_y <= max_y and (chwn and gpu or wg_n <= max_z)",
    "wg_x < 2 * tiles_x and wg_y < 2 * tiles_y and wg_n < 2 * tiles_n",
    "strip == 1 or strip < 2 * max(tiles_y, flat * tiles_x)",
    NULL,
};

static const char *const cpu_constraints[] = {
    "unit_fmas <= 1.1 * unroll_cap",
    "unroll_cap <= 4096 or total_fmas * 4 > unroll_cap or unroll_cap == "
    "16777216 and total_fmas > 16384",
    "total_fmas <= 262144",
    NULL,
};

/* A channel's products in one block of inputs fit into a kernel, with room for others (add_longest: in any case); a
 * unit is cut where it is longer. The compiler takes 0.7 ms a product and more where work-items have several outputs.
 */
static const char *const gpu_constraints[] = {
    "nnz_per_output * fma_tile / blocks_c <= .75 * unroll_cap",
    "unroll_cap == 500 or total_fmas > unroll_cap / 2",
    "total_fmas <= max(8192, size_k * nnz_per_output)",
    "spread == 0 or (not staged and groups_k > 1)",
    "not chwn or (size_n > 1 and (tiles_n <= 16 or wg_n >= 16) and wg_x <= 64)",
    "not chwn or wg_x <= max_z",
    "chwn or wg_n <= max_z",
    "group >= 32 or tiles_x * tiles_y * tiles_n < 1024",
    "k_t <= 64",
    NULL,
};

static size_t list_k(int64_t k, int64_t out[40])
{
    static const int64_t all[] = {1, 2, 4, 6, 8, 10, 11, 12, 13, 14, 16, 18, 20, 22, 24, 26, 28, 32, 48, 64};
    size_t n = 0;

    for (size_t i = 0; i < sizeof all / sizeof all[0] && all[i] < k; i++)
        out[n++] = all[i];
    if (n == 0 || k <= 64)
        out[n++] = k < 64 ? k : 64;
    assert(n > 0 && n <= 40);
    return n;
}

static size_t list_c(int64_t c, int64_t out[40])
{
    size_t n = 0;

    for (int64_t v = 1; v < c && v <= 4096; v *= 2)
        out[n++] = v;
    out[n++] = c;
    assert(n <= 40);
    return n;
}

static enum err add_knobs(const struct conv_shape *z, struct space *s, struct why *why)
{
    int64_t list[40];
    size_t n = list_k(z->k, list);
    enum err e = space_add_knob_ints(s, "k_t", why, n, list);

    n = list_c(z->c / z->groups, list);
    if (!e)
        e = space_add_knob_ints(s, "c_blk", why, n, list);
    if (!e)
        e = space_add_knob_words(s, "layout", layouts, 2, why);
    if (!e)
        e = space_add_knob_words(s, "stage", stages, 2, why);
    if (!e)
        e = space_add_knob_words(s, "values", values, 2, why);
    return e ? e : space_add_knob_words(s, "nz_order", orders, 2, why);
}

/* On GPUs: the longest single channel, as the weights are, fits into a kernel, for each way of cutting inputs. */
static enum err add_longest(const struct workload *w, const struct conv_shape *z, struct space *s, struct why *why)
{
    struct sparse_list list;
    struct buf text;
    int64_t cuts[40];
    const size_t n = list_c(z->c / z->groups, cuts);
    enum err e = sparse_list_make(w, &list, why);

    if (e)
        return e;
    buf_init(&text, 4096);
    buf_puts(&text, "fma_tile * (0");
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, " + %lld * (c_blk == %lld)", (long long)sparse_most_of_channel(z, &list, cuts[i]),
                   (long long)cuts[i]);
    e = buf_puts(&text, ") <= unroll_cap");
    if (!e)
        e = space_add_constraint(s, buf_text(&text), why);
    buf_fini(&text);
    sparse_list_fini(&list);
    return e;
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const double density = (double)sparse_nnz(w) / (double)sparse_n_weights(&z);
    const bool gpu = d->kind == DEVICE_GPU;
    enum err e = conv_space(w, d, gpu ? gpu_knobs : knobs, (const char *const[][2]){{NULL, NULL}},
                            (const char *const[]){NULL}, s, why);

    if (!e)
        e = space_add_constant(s, "density", density, why);
    if (!e)
        e = space_add_constant(s, "gpu", gpu, why);
    if (!e)
        e = add_knobs(&z, s, why);
    if (!e)
        e = build_quantities(s, quantities, why);
    if (!e)
        e = sparse_roofline(d, density, s, why);
    if (!e)
        e = build_constraints(s, constraints, why);
    if (!e)
        e = build_constraints(s, gpu ? gpu_constraints : cpu_constraints, why);
    return e || !gpu ? e : add_longest(w, &z, s, why);
}

/* Rows shorter than some vectors are better computed as one long row. */
static bool flat_pays(const struct conv_shape *z, int64_t vec)
{
    const int64_t row = z->q + (z->s - 1) * z->dil_w / z->stride_w;

    return z->p > 1 && CEIL((z->p - 1) * row + z->q, vec) * 8 < z->p * CEIL(z->q, vec) * 7;
}

/* So few that writing the outputs is most of the work: then pieces of rows that are as long as can be. */
static bool few_products(const struct workload *w)
{
    return (double)sparse_nnz(w) < 8.0 * (double)workload_get(w, "k");
}

/* Inputs padded in local memory instead of a padded copy, which is a launch more and larger than the second cache; each
 * kernel stages anew. */
static bool staging_pays(const struct workload *w, const struct conv_shape *z, int64_t x_r)
{
    const bool padded = z->top || z->left || z->bottom || z->right || z->stride_h > 1 || z->stride_w > 1;

    return z->groups == 1 && (padded || z->q < 16) && sparse_nnz(w) * x_r <= 2 * 4096;
}

/* Tiles of a strip: few rows are read twice, yet there is work for two threads. */
static int64_t staged_strip(int64_t p)
{
    const int64_t n = CEIL(p, 16) > 2 || p <= 8 ? CEIL(p, 16) : 2;

    return CEIL(p, n);
}

/* Changes the choice on CPUs: one work-group a strip of whole rows. False when that does not fit. */
static bool choose_staged(const struct workload *w, const struct space *s, int64_t vec, struct config *c)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t lanes = z.q < vec && z.q % 8 == 0 ? 8 : vec;
    const int64_t x_r = space_int(s, c, "x_r"), tiles = CEIL(z.q, lanes * x_r);
    int64_t wg = 1;

    while (wg < tiles)
        wg *= 2;
    build_choose(s,
                 (const struct build_define[]){
                     {"vec", lanes}, {"wg_x", wg}, {"strip", staged_strip(z.p)}, {"flat", 0}, {NULL, 0}},
                 c);
    c->choice[space_find_knob(s, "stage")] = 1;
    return (lanes < vec || !flat_pays(&z, vec)) && staging_pays(w, &z, x_r) && space_is_valid(s, c, NULL);
}

/* Of a kernel's products: as many as compilers take well, but not twice what the layer has. */
static int64_t gpu_cap(const struct workload *w)
{
    int64_t cap = 4000;

    while (cap > 500 && sparse_nnz(w) <= cap / 2)
        cap /= 2;
    return cap;
}

/* Images along the first axis of groups where there are many; else pixels. As many groups of the grid as channel groups
 * allow; one block of input channels where a channel's products fit into a kernel. */
static enum err gpu_fallback(const struct workload *w, const struct space *s, struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool many = z.n >= 16;
    int64_t wide = many ? 16 : 1, across = 1, down = 1, c_blk = z.c / z.groups;
    struct config tried;

    while (many && wide < z.n && wide < 64)
        wide *= 2;
    while (across * 2 < 2 * z.q && wide * across < (many ? 128 : 32))
        across *= 2;
    while (!many && down * 2 < 2 * z.p && across * down < 128 && down < 16)
        down *= 2;
    while (c_blk > 1 && (double)sparse_nnz(w) / (double)z.k * (double)c_blk / (double)(z.c / z.groups) > 2500)
        c_blk = CEIL(c_blk, 2);
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", 1},
                                               {"k_t", 16},
                                               {"c_blk", c_blk},
                                               {"strip", 1},
                                               {"wg_x", across},
                                               {"wg_y", down},
                                               {"wg_n", wide},
                                               {"spread", z.k > 16},
                                               {"unroll_cap", gpu_cap(w)},
                                               {NULL, 0}},
                 out);
    out->choice[space_find_knob(s, "layout")] = many ? 1 : 0;
    tried = *out; /* whole groups first: less than a warp is refused where there are many */
    if (!build_make_valid(s, (const char *const[]){"c_blk", NULL}, &tried)) {
        *out = tried;
        return ERR_OK;
    }
    return build_make_valid(
        s, (const char *const[]){"unroll_cap", "spread", "wg_y", "c_blk", "wg_x", "wg_n", "k_t", NULL}, out);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t vec = cpu ? build_vector(d) : 1;
    const int64_t across = z.q / vec, x_r = cpu && few_products(w) && across > 1 ? (across < 7 ? across : 7) : 1;
    const int64_t k_most = 28 / x_r, k_t = cpu ? CEIL(z.k, CEIL(z.k, k_most)) : 16;
    struct config staged;

    if (d->kind == DEVICE_GPU)
        return gpu_fallback(w, s, out);
    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){{"vec", vec},
                                               {"k_t", k_t},
                                               {"x_r", x_r},
                                               {"c_blk", z.c / z.groups},
                                               {"strip", cpu ? 8 : 1},
                                               {"wg_x", cpu ? 1 : 32},
                                               {"wg_y", cpu ? 1 : 4},
                                               {"flat", cpu && flat_pays(&z, vec)},
                                               {"unroll_cap", 4096},
                                               {NULL, 0}},
                 out);
    staged = *out;
    if (cpu && choose_staged(w, s, vec, &staged)) {
        *out = staged;
        return ERR_OK;
    }
    if (space_is_valid(s, out, NULL))
        return ERR_OK;
    return build_make_valid(
        s, (const char *const[]){"c_blk", "wg_x", "wg_y", "strip", "x_r", "k_t", "flat", "vec", NULL}, out);
}

/* Groups along the axes of a kernel's grid, without its branches. */
static void grid_of(const struct sparse_plan *p, int64_t out[3])
{
    const int axis_x = p->n_first ? 2 : 0;

    out[axis_x] = CEIL(p->tiles_x, p->wg_x * (p->flat ? p->strip : 1));
    out[1] = CEIL(p->tiles_y, p->wg_y * (p->flat ? 1 : p->strip));
    out[2 - axis_x] = CEIL(p->tiles_n, p->wg_n);
}

static void define_plan(struct build *b, const struct sparse_plan *p)
{
    int64_t grid[3];
    const struct build_define list[] = {
        {"STAGED", p->staged},
        {"N_FIRST", p->n_first},
        {"TILES_X", p->tiles_x},
        {"TILES_Y", p->tiles_y},
        {"TILES_N", p->tiles_n},
        {"GRID_P", p->p},
        {"GRID_Q", p->q},
        {"GRID_N", p->n},
        {"YN_STEP", p->y.n_step},
        {"YK_STEP", p->y.k_step},
        {"YP_STEP", p->y.p_step},
        {"YQ_STEP", p->y.q_step},
        {"Y_COPIED", p->y.copied},
        {"STAGE_ROWS", p->stage_rows},
        {"STAGE_COLUMNS", p->stage_columns},
        {"STAGE_CHANNEL", p->stage_channel},
        {"STAGE_ROW", p->stage_row},
        {"STAGE_PHASE", p->stage_phase},
        {"STAGE_IMAGE", p->stage_image},
        {"STAGE_ELEMS", p->stage_elems},
        {NULL, 0},
    };

    grid_of(p, grid);
    sparse_define_copy(b, p);
    build_defines(b, list);
    if (p->blocks_c > 1)
        build_define(b, "HAS_PART", 1);
    if (p->constants && !p->gpu)
        build_define(b, "HALF_CHUNK", HALF_CHUNK);
    if (p->spread)
        build_define(b, "GROUPS_0", grid[0]);
}

/* A module's text: the fixed part, then the code of its kernels' weights. */
static void add_module(struct build *b, const struct sparse_plan *p, int64_t i_module)
{
    struct buf text;

    if (b->e)
        return;
    buf_init(&text, MAX_TEXT);
    b->e = sparse_text(p, i_module, &text);
    if (b->e == ERR_LIMIT)
        why_set(b->why, b->e, "sparse_conv2d/generated: more than %zu bytes of kernel text", MAX_TEXT);
    build_module_behind(b, "sparse_conv2d/generated.cl", &text);
    if (!b->e && i_module > 0) {
        struct program_module *m = &b->p->modules[b->p->n_modules - 1];

        snprintf(m->id, sizeof m->id, "kernels_%lld", (long long)i_module);
    }
    buf_fini(&text);
    conv_define_shape(b, &p->z);
    define_plan(b, p);
}

/* Buffers that launches take: inputs, sums between blocks (-1: none), outputs. */
struct places {
    int xp, part, yp;
};

static struct places add_buffers(struct build *b, const struct sparse_plan *p)
{
    const int64_t parts = p->z.k * p->tiles_n * p->tiles_y * p->tiles_x * p->tile * p->vec;
    struct places at = {build_tensor(b, "x"), -1, build_tensor(b, "y")};

    if (p->x.copied)
        at.xp = build_buffer(b, "xp", ROLE_SCRATCH, DTYPE_F32, p->x.n_elems);
    if (p->y.copied)
        at.yp = build_buffer(b, "yp", ROLE_SCRATCH, DTYPE_F32, p->y.n_elems);
    if (p->blocks_c > 1)
        at.part = build_buffer(b, "part", ROLE_SCRATCH, DTYPE_F32, parts);
    return at;
}

static void add_kernel(struct build *b, const struct sparse_plan *p, int64_t i, const struct places *at)
{
    const int first[] = {at->xp, at->part, -1};
    const int out[] = {at->xp, at->part < 0 ? at->yp : at->part, at->part < 0 ? -1 : at->yp, -1};
    const int64_t block[] = {p->n_first ? p->wg_n : p->wg_x, p->wg_y, p->n_first ? p->wg_x : p->wg_n};
    int64_t grid[3];
    char name[32];

    grid_of(p, grid);
    grid[0] *= sparse_branches(p, i);
    snprintf(name, sizeof name, "sparse_%lld", (long long)i);
    if (p->y.copied)
        build_launch(b, PHASE_RUN, name, grid, block, out);
    else
        build_last_launch(b, name, grid, block, first);
    if (!b->e && p->constants && !p->gpu)
        b->e = program_arg_int(&b->p->launches[b->p->n_launches - 1], ARG_I32, HALF_CHUNK);
    if (!b->e && p->constants && !p->gpu)
        b->e = program_arg_int(&b->p->launches[b->p->n_launches - 1], ARG_I32, 0);
}

static void program(struct build *b)
{
    struct sparse_plan p;
    struct places at;
    int64_t grid[3], block[3];

    b->e = sparse_plan_make(b, &p);
    if (b->e)
        return;
    at = add_buffers(b, &p);
    for (int64_t m = 0; m < p.n_modules && !b->e; m++) {
        add_module(b, &p, m);
        if (m == 0)
            sparse_add_copy(b, &p, build_tensor(b, "x"), at.xp);
        for (int64_t i = 0; i < p.n_kernels && !b->e; i++)
            if (sparse_module(&p, i) == m)
                add_kernel(b, &p, i, &at);
    }
    sparse_copy_grid(&p, p.z.k, p.z.n, grid, block);
    if (p.y.copied)
        build_last_launch(b, "sparse_copy_y", grid, block, (const int[]){at.yp, -1});
    b->p->needs_local_bytes = p.staged ? p.stage_elems * 4 : p.n_first ? SPARSE_SQUARE_BYTES : 0;
    sparse_plan_fini(&p);
}

const struct template sparse_conv2d_generated = {
    .id = "sparse_conv2d/generated",
    .version = 3,
    .summary = "code generated from the weights: a product for each nonzero, "
               "positions and values in the code",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
