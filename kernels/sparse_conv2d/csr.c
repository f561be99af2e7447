/* SPDX-License-Identifier: MIT */
#include "kernels/sparse_conv2d/plan.h"

#include "core/err.h"

#include <assert.h>
#include <stdlib.h>

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    (void)d;
    return conv_within("sparse_conv2d/csr", CONV_GROUPS | CONV_EPILOGUE, w, why) ? FIT_NONE : FIT_POSSIBLE;
}

static const struct build_knob knobs[] = {
    {"vec", {1, 4, 8, 16, BUILD_END}},
    {"x_r", {1, 2, 3, 4, 7, BUILD_END}},
    {"y_r", {1, 2, 4, 7, 8, 14, BUILD_END}},
    {"wg", {1, 2, 4, 8, 16, 32, 64, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"accumulators", "x_r * y_r * ceil_div(vec, max(lanes, 1))"},
    {"tiles_x", "ceil_div(size_q, x_r * vec)"},
    {"waste", "tiles_x * x_r * vec * ceil_div(size_p, y_r) * y_r / (size_p * size_q)"},
    {"groups", "size_n * size_k * ceil_div(size_p, y_r) * ceil_div(tiles_x, wg)"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "accumulators <= 28",
    "vec <= max(lanes, 4)",
    "y_r <= size_p",
    "x_r == 1 or x_r * vec <= size_q",
    "wg < 2 * tiles_x",
    "wg <= max_group and wg <= max_x",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return conv_space(w, d, knobs, quantities, constraints, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    const bool cpu = d->kind == DEVICE_CPU;
    const int64_t vec = cpu ? build_vector(d) : 1, x_r = cpu && z.q >= 2 * vec ? 2 : 1;

    *out = (struct config){{0}};
    build_choose(s,
                 (const struct build_define[]){
                     {"vec", vec}, {"x_r", x_r}, {"y_r", z.p < 8 ? z.p : 8}, {"wg", cpu ? 1 : 64}, {NULL, 0}},
                 out);
    return build_make_valid(s, (const char *const[]){"wg", "x_r", "y_r", "vec", NULL}, out);
}

/* Rows, offsets into the padded input and values as buffers of the program. */
static void add_list(struct build *b, const struct sparse_plan *p, int buffers[3])
{
    const struct sparse_list *l = &p->list;
    const struct conv_shape *z = &p->z;
    int32_t *row = calloc((size_t)z->k + 1, sizeof *row), *offset = calloc((size_t)l->nnz, sizeof *offset);

    if (!row || !offset)
        b->e = ERR_NOMEM;
    for (int64_t k = 0; !b->e && k <= z->k; k++)
        row[k] = (int32_t)l->row[k];
    for (int64_t i = 0; !b->e && i < l->nnz; i++) {
        const int64_t tap = sparse_tap_offset(p, l->c[i], l->r[i], l->s[i]);

        assert(tap >= 0 && tap <= INT32_MAX);
        offset[i] = (int32_t)tap;
    }
    assert(b->e || row[z->k] == l->nnz);
    buffers[0] = sparse_buffer(b, "row", DTYPE_I32, z->k + 1, row);
    buffers[1] = sparse_buffer(b, "offset", DTYPE_I32, l->nnz, offset);
    buffers[2] = sparse_buffer(b, "value", DTYPE_F32, l->nnz, l->value);
    free(row);
    free(offset);
}

static void program(struct build *b)
{
    struct sparse_plan p = {.z = conv_shape_of(b->w), .n_r = 1};
    const int64_t wg = build_int(b, "wg");
    const int x = build_tensor(b, "x");
    int list[3], xp;

    p.gpu = b->d->kind == DEVICE_GPU;
    p.vec = build_int(b, "vec");
    p.x_r = build_int(b, "x_r");
    p.y_r = build_int(b, "y_r");
    sparse_plan_lay(&p);
    b->e = sparse_list_make(b->w, &p.list, b->why);
    if (b->e)
        return;
    xp = p.x.copied ? build_buffer(b, "xp", ROLE_SCRATCH, DTYPE_F32, p.x.n_elems) : x;
    add_list(b, &p, list);
    build_module(b, "sparse_conv2d/csr.cl");
    conv_define_shape(b, &p.z);
    sparse_define_copy(b, &p);
    build_define(b, "TILES_X", p.tiles_x);
    sparse_add_copy(b, &p, x, xp);
    build_last_launch(b, "sparse_csr", (const int64_t[]){CEIL(p.tiles_x, wg) * p.z.k * p.z.n, p.tiles_y, 1},
                      (const int64_t[]){wg, 1, 1}, (const int[]){xp, list[0], list[1], list[2], -1});
    sparse_plan_fini(&p);
}

const struct template sparse_conv2d_csr = {
    .id = "sparse_conv2d/csr",
    .version = 2,
    .summary = "compressed sparse rows: positions and values in arrays",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
