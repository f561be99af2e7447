/* SPDX-License-Identifier: MIT */
/* The tasks, their knobs in the order in which TVM 0.9's topi declares them, and ours for each. */
#include "kernels/build.h"
#include "kernels/conv/shape.h"
#include "formats/knobs/tvm_private.h"

#include <string.h>

#define END BUILD_END
#define SPLIT(id, of, n, ...)                                                                                          \
    {                                                                                                                  \
        .name = id, .kind = KNOB_SPLIT, .axis = of, .n_parts = n, __VA_ARGS__                                          \
    }
#define SPLIT3(id, of, t, r) SPLIT(id, of, 3, .ours = {NULL, t, r})
#define SPLIT4(id, of, o) SPLIT(id, of, 4, .ours = {NULL, o "_v", o "_t", o "_r"})
#define SPLIT2(id, of, i) SPLIT(id, of, 2, .ours = {NULL, i})
#define SPLIT2_MOST(id, of, i, at_most) SPLIT(id, of, 2, .ours = {NULL, i}, .most = at_most)
#define OTHER(id, i, ...)                                                                                              \
    {                                                                                                                  \
        .name = id, .kind = KNOB_OTHER, .n_parts = 1, .ours = {i}, .values = { __VA_ARGS__, END }                      \
    }
/* What the kernel compiler writes out itself: ours leave that to theirs. */
#define EXPLICIT OTHER("unroll_explicit", NULL, 0, 1)
#define ORDER(is_extra)                                                                                                \
    {                                                                                                                  \
        .name = "reorder_inner", .kind = KNOB_ORDER, .n_parts = 1, .ours = {"order"}, .extra = is_extra                \
    }

static const struct tvm_knob spatial_pack[] = {
    SPLIT3("tile_co", AXIS_K, "co_t", "vc"),
    SPLIT3("tile_oh", AXIS_P, "oh_t", "vh"),
    SPLIT3("tile_ow", AXIS_Q, "ow_t", "vw"),
    {.name = "reorder_0", .kind = KNOB_INNER, .n_parts = 1, .ours = {"chw"}},
    {.name = "ann_reduce", .kind = KNOB_UNROLL, .n_parts = 2, .ours = {"unroll_kh", "unroll_kw"}, .length = {"r", "s"}},
    {.name = "ann_spatial",
     .kind = KNOB_UNROLL_VEC,
     .n_parts = 3,
     .ours = {"ann_vh", "ann_vw", "ann_vc"},
     .length = {"vh", "vw", "vc"}},
    {0},
};

static const struct tvm_knob winograd_mali[] = {
    {.name = "tile_bna",
     .kind = KNOB_OTHER,
     .axis = AXIS_K,
     .n_parts = 1,
     .ours = {"bna"},
     .values = {1, 2, 4, 8, 16, END}},
    OTHER("tile_bnb", "bnb", 1, 2, 4, 8, 16),
    SPLIT2_MOST("tile_t1", AXIS_C, "wg_in", 128),
    SPLIT2_MOST("tile_t2", AXIS_K, "wg_out", 128),
    SPLIT2_MOST("c_unroll", AXIS_C, "c_unroll", 8),
    OTHER("yt", "yt", 1, 2, 4, 8, 16, 32),
    {0},
};

static const struct tvm_knob winograd_cuda[] = {
    SPLIT("tile_b", AXIS_AREA, 4, .only_ones = true),
    SPLIT4("tile_y", AXIS_K, "f"),
    SPLIT4("tile_x", AXIS_TILES, "p"),
    SPLIT2("tile_rc", AXIS_C, "rc_i"),
    OTHER("auto_unroll_max_step", "unroll_step", 0, 128, 1500),
    EXPLICIT,
    {0},
};

#define DIRECT                                                                                                         \
    SPLIT4("tile_f", AXIS_K, "f"), SPLIT4("tile_y", AXIS_P, "y"), SPLIT4("tile_x", AXIS_Q, "x"),                       \
        SPLIT2("tile_rc", AXIS_C, "rc_i"), SPLIT2("tile_ry", AXIS_R, "ry_i"), SPLIT2("tile_rx", AXIS_S, "rx_i"),       \
        OTHER("auto_unroll_max_step", "unroll_step", 0, 512, 1500), EXPLICIT

static const struct tvm_knob direct[] = {
    DIRECT,
    ORDER(true),
    {0},
};

static const struct tvm_knob deformable[] = {
    DIRECT,
    ORDER(false),
    {0},
};

/* TVM 0.9 cuts the window's rows by tile_rx and its columns by tile_ry here. */
static const struct tvm_knob group[] = {
    SPLIT4("tile_n", AXIS_N, "n"),
    SPLIT2("tile_g", AXIS_G, "g_v"),
    SPLIT4("tile_f", AXIS_KG, "f"),
    SPLIT4("tile_y", AXIS_P, "y"),
    SPLIT4("tile_x", AXIS_Q, "x"),
    SPLIT2("tile_rc", AXIS_CG, "rc_i"),
    SPLIT2("tile_ry", AXIS_R, "rx_i"),
    SPLIT2("tile_rx", AXIS_S, "ry_i"),
    OTHER("auto_unroll_max_step", "unroll_step", 0, 512, 1500),
    EXPLICIT,
    OTHER("fuse_yx", "fuse_yx", 0, 1),
    ORDER(true),
    {0},
};

static const struct tvm_knob i8[] = {
    SPLIT4("tile_n", AXIS_N, "n"),
    SPLIT4("tile_f", AXIS_KG4, "f"),
    SPLIT4("tile_y", AXIS_P, "y"),
    SPLIT4("tile_x", AXIS_Q, "x"),
    OTHER("fuse_yx", "fuse_yx", 0, 1),
    SPLIT2("tile_rc", AXIS_CG4, "rc_i"),
    SPLIT2("tile_ry", AXIS_R, "ry_i"),
    SPLIT2("tile_rx", AXIS_S, "rx_i"),
    ORDER(false),
    OTHER("AA_double_buffer", "dbuf_x", 0, 1),
    OTHER("WW_double_buffer", "dbuf_w", 0, 1),
    OTHER("auto_unroll_max_step", "unroll_step", 0, 512, 1500),
    {0},
};

static const struct tvm_knob group_i8[] = {
    SPLIT4("tile_n", AXIS_N, "n"),
    SPLIT2("tile_g", AXIS_G, "g_v"),
    SPLIT4("tile_f", AXIS_KG4, "f"),
    SPLIT4("tile_y", AXIS_P, "y"),
    SPLIT4("tile_x", AXIS_Q, "x"),
    OTHER("fuse_yx", "fuse_yx", 0, 1),
    SPLIT2("tile_rc", AXIS_CG4, "rc_i"),
    SPLIT2("tile_ry", AXIS_R, "ry_i"),
    SPLIT2("tile_rx", AXIS_S, "rx_i"),
    OTHER("AA_double_buffer", "dbuf_x", 0, 1),
    OTHER("WW_double_buffer", "dbuf_w", 0, 1),
    OTHER("auto_unroll_max_step", "unroll_step", 0, 512, 1500),
    ORDER(true),
    {0},
};

static const struct tvm_knob depthwise_mali[] = {
    SPLIT3("tile_c", AXIS_K, "c_t", "c_r"),
    SPLIT3("tile_y", AXIS_P, "y_t", "y_r"),
    SPLIT3("tile_x", AXIS_Q, "x_t", "x_r"),
    {.name = "ann_spatial",
     .kind = KNOB_UNROLL_VEC,
     .n_parts = 3,
     .ours = {"ann_c", "ann_y", "ann_x"},
     .length = {"c_r", "y_r", "x_r"}},
    {0},
};

static const struct tvm_knob depthwise_cuda[] = {
    SPLIT4("tile_f", AXIS_K, "f"),
    SPLIT4("tile_y", AXIS_P, "y"),
    SPLIT4("tile_x", AXIS_Q, "x"),
    OTHER("auto_unroll_max_step", "unroll_step", 0, 256, 1500),
    EXPLICIT,
    {0},
};

static const struct tvm_knob dense_mali[] = {
    SPLIT3("tile_y", AXIS_ROWS, "m_t", "m_r"),
    SPLIT3("tile_x", AXIS_COLUMNS, "n_t", "n_r"),
    SPLIT2_MOST("c_unroll", AXIS_TERMS, "k_unroll", 64),
    {0},
};

/* tile_k counts fours of k, of which TVM cuts only the sixteens where k has them. */
static const struct tvm_knob dense_i8[] = {
    SPLIT4("tile_y", AXIS_ROWS, "m"),
    SPLIT4("tile_x", AXIS_COLUMNS, "n"),
    SPLIT2("tile_k", AXIS_TERMS_I8, "k_i"),
    OTHER("auto_unroll_max_step", "unroll_step", 0, 512, 1500),
    {0},
};

static const struct tvm_knob batch[] = {
    SPLIT3("tile_y", AXIS_ROWS, "m_t", "m_r"),
    SPLIT3("tile_x", AXIS_COLUMNS, "n_t", "n_r"),
    SPLIT2("tile_k", AXIS_TERMS, "k_i"),
    OTHER("auto_unroll_max_step", "unroll_step", 8, 16, 32, 64),
    OTHER("unroll_explicit", "unroll_explicit", 0, 1),
    {0},
};

static const struct tvm_fixed single_features[] = {{"n_unit", 1, "TVM counts features singly"},
                                                   {"dbuf_x", 0, "TVM fetches no stage ahead"},
                                                   {"dbuf_w", 0, "TVM fetches no stage ahead"},
                                                   {0}};
static const struct tvm_fixed nothing[] = {{0}};
static const struct tvm_fixed whole_sums[] = {{"split", 1, "TVM makes each sum in one part"}, {0}};
static const struct tvm_fixed plain_stages[] = {{"split", 1, "TVM makes each sum in one part"},
                                                {"dbuf_x", 0, "TVM fetches no stage ahead"},
                                                {"dbuf_w", 0, "TVM fetches no stage ahead"},
                                                {0}};
static const struct tvm_fixed transforms[] = {{"wg", 128, NULL}, {"stages", 1, "TVM fetches no stage ahead"}, {0}};
static const struct tvm_fixed fetches[] = {
    {"v_k", 1, NULL}, {"pad", 0, NULL}, {"stages", 1, "TVM fetches no stage ahead"}, {0}};

#define F32 (1u << DTYPE_F32)
#define F16 (1u << DTYPE_F16)
#define I8 (1u << DTYPE_I8)

static const struct tvm_task tasks[] = {
    {"conv2d_nchw_spatial_pack.mali", "conv2d/spatial_pack", "conv2d", FORM_CONV, F32 | F16 | I8, false, spatial_pack,
     nothing, 0, tvm_settle_annotations, NULL},
    {"conv2d_nchw_winograd.mali", "conv2d/winograd", "conv2d", FORM_CONV, F32 | F16, false, winograd_mali, nothing, 4,
     NULL, NULL},
    {"conv2d_nchw.cuda", "conv2d/direct", "conv2d", FORM_CONV, F32 | F16 | I8, false, direct, plain_stages, 0,
     tvm_settle_strips, NULL},
    {"conv2d_nchw_winograd.cuda", "conv2d/winograd_shared", "conv2d", FORM_CONV, F32 | F16, false, winograd_cuda,
     transforms, 8, tvm_settle_winograd, NULL},
    {"conv2d_NCHWc_int8.cuda", "conv2d/i8", "conv2d", FORM_CONV_I8, I8, false, i8, whole_sums, 0, tvm_settle_strips,
     NULL},
    {"group_conv2d_nchw.cuda", "conv2d/group", "conv2d", FORM_CONV_GROUP, F32 | F16, true, group, plain_stages, 0,
     tvm_settle_strips, NULL},
    {"group_conv2d_NCHWc_int8.cuda", "conv2d/group_i8", "conv2d", FORM_CONV_GROUP, I8, true, group_i8, whole_sums, 0,
     tvm_settle_strips, NULL},
    {"depthwise_conv2d_nchw.mali", "depthwise_conv2d/direct", "depthwise_conv2d", FORM_CONV, F32 | F16, false,
     depthwise_mali, nothing, 0, tvm_settle_annotations, NULL},
    {"depthwise_conv2d_nchw.cuda", "depthwise_conv2d/shared", "depthwise_conv2d", FORM_CONV, F32 | F16 | I8, false,
     depthwise_cuda, nothing, 0, tvm_settle_strips, NULL},
    {"deformable_conv2d_nchw.cuda", "deformable_conv2d/direct", "deformable_conv2d", FORM_DEFORMABLE, F32 | F16, false,
     deformable, plain_stages, 0, tvm_settle_strips, NULL},
    {"dense.mali", "dense/dense", "dense", FORM_DENSE, F32 | F16, false, dense_mali, nothing, 0, NULL, NULL},
    {"dense_int8.cuda", "dense/dense_i8", "dense", FORM_DENSE, I8, false, dense_i8, single_features, 0,
     tvm_settle_strips, NULL},
    {"batch_matmul.cuda", "batch_gemm/tiled", "batch_gemm", FORM_BATCH, F32 | F16, false, batch, fetches, 0,
     tvm_settle_batch, tvm_express_batch},
    {0},
};

const struct tvm_task *tvm_task_find(const char *name)
{
    for (const struct tvm_task *t = tasks; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

const char *tvm_task_name(const struct tvm_task *t)
{
    return t->name;
}

const struct template *tvm_task_template(const struct tvm_task *t)
{
    const struct template *found = template_find(t->template_id);

    return found;
}

const struct tvm_task *tvm_task_of(const char *template_id, const struct workload *w)
{
    for (const struct tvm_task *t = tasks; t->name; t++)
        if (strcmp(t->template_id, template_id) == 0 && strcmp(t->op, w->op->name) == 0 && t->dtypes & (1u << w->dtype))
            return t;
    return NULL;
}

int64_t tvm_winograd_m(const struct tvm_task *t, const struct workload *w)
{
    return workload_get(w, "h") % t->winograd_rows == 0 ? 4 : 2;
}

static int64_t conv_length(const struct tvm_task *t, const struct workload *w, enum tvm_axis a)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t m = t->winograd_rows ? tvm_winograd_m(t, w) : 1;
    const int64_t lengths[N_AXES] = {[AXIS_N] = z.n,
                                     [AXIS_K] = z.k,
                                     [AXIS_KG] = z.k / z.groups,
                                     [AXIS_KG4] = z.k / z.groups / 4,
                                     [AXIS_P] = z.p,
                                     [AXIS_Q] = z.q,
                                     [AXIS_C] = z.c,
                                     [AXIS_CG] = z.c / z.groups,
                                     [AXIS_CG4] = z.c / z.groups / 4,
                                     [AXIS_G] = z.groups,
                                     [AXIS_R] = z.r,
                                     [AXIS_S] = z.s,
                                     [AXIS_AREA] = (m + 2) * (m + 2),
                                     [AXIS_TILES] = z.n * CEIL(z.p, m) * CEIL(z.q, m)};

    return lengths[a];
}

int64_t tvm_axis_length(const struct tvm_task *t, const struct workload *w, enum tvm_axis a)
{
    switch (a) {
    case AXIS_NONE:
        return 0;
    case AXIS_ROWS:
        return workload_get(w, "m");
    case AXIS_COLUMNS:
        return workload_get(w, "n");
    case AXIS_TERMS:
        return workload_get(w, "k");
    case AXIS_TERMS_I8:
        return workload_get(w, "k") / (workload_get(w, "k") % 16 ? 4 : 16);
    default:
        return conv_length(t, w, a);
    }
}
