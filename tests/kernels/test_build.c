/* SPDX-License-Identifier: MIT */
/* Helpers that spaces and programs are made with, and the defaults that templates choose, by hand. */
#include "kernels/build.h"
#include "kernels/conv/shape.h"
#include "kernels/expect.h"
#include "kernels/operator.h"
#include "kernels/template.h"
#include "runtime/cuda_arch.h"
#include "tracker/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct device_desc cpu = {.api = "opencl",
                                       .kind = DEVICE_CPU,
                                       .units = 4,
                                       .threads = 4,
                                       .max_work_group = 4096,
                                       .max_local = {4096, 4096, 4096},
                                       .local_bytes = 1 << 20,
                                       .vector_bits = 512};
static const struct device_desc gpu = {.api = "opencl",
                                       .kind = DEVICE_GPU,
                                       .units = 20,
                                       .max_work_group = 1024,
                                       .max_local = {1024, 1024, 64},
                                       .local_bytes = 49152};

static struct workload parsed(const char *text)
{
    struct workload w;
    struct why why = {""};

    if (workload_parse(text, &w, &why))
        fail_msg("%s: %s", text, why.text);
    return w;
}

/* ---- facts of a device ---- */

static void facts_of_a_device_have_defaults(void **state)
{
    static const int64_t vectors[][2] = {{0, 1},   {32, 1},  {63, 1},  {64, 4},   {128, 4},
                                         {255, 4}, {256, 8}, {511, 8}, {512, 16}, {1024, 16}};
    const struct device_desc nothing = {.kind = DEVICE_OTHER};
    struct device_desc d = {.threads = 3, .units = 7, .max_work_group = 9, .max_local = {5, 0, 6}, .local_bytes = 11};

    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        d.vector_bits = vectors[i][0];
        assert_int_equal(build_vector(&d), vectors[i][1]);
    }
    assert_int_equal(build_threads(&d), 3);
    d.threads = 0;
    assert_int_equal(build_threads(&d), 7);
    assert_int_equal(build_threads(&nothing), 1);
    assert_int_equal(build_max_group(&d), 9);
    assert_int_equal(build_max_group(&nothing), 256);
    assert_int_equal(build_max_side(&d, 0), 5);
    assert_int_equal(build_max_side(&d, 1), 9); /* as the group */
    assert_int_equal(build_max_side(&d, 2), 6);
    assert_int_equal(build_max_local(&d), 11);
    assert_int_equal(build_max_local(&nothing), 32768);
}

/* ---- knobs ---- */

static void expect_values(const struct space *s, const char *name, const int64_t *wanted)
{
    const int i = space_find_knob(s, name);
    size_t n = 0;

    assert_true(i >= 0);
    while (wanted[n] != BUILD_END)
        n++;
    assert_int_equal(space_n_values(s, (size_t)i), n);
    for (size_t v = 0; v < n; v++)
        assert_true(space_knob_value(s, (size_t)i, v).number == (double)wanted[v]);
}

static void splits_are_divisors_and_powers_of_two(void **state)
{
    struct space *s = NULL;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(build_split_knob(s, "twelve", 12, 100, NULL), ERR_OK);
    assert_int_equal(build_split_knob(s, "fifteen", 15, 8, NULL), ERR_OK);
    assert_int_equal(build_split_knob(s, "one", 1, 8, NULL), ERR_OK);
    assert_int_equal(build_split_knob(s, "six", 12, 6, NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    expect_values(s, "twelve", (const int64_t[]){1, 2, 3, 4, 6, 8, 12, BUILD_END});
    expect_values(s, "fifteen", (const int64_t[]){1, 2, 3, 4, 5, 8, BUILD_END});
    expect_values(s, "one", (const int64_t[]){1, BUILD_END});
    expect_values(s, "six", (const int64_t[]){1, 2, 3, 4, 6, BUILD_END});
    space_free(s);
}

/* A list that counts from 2 to 8; on a GPU also what divides 9 or 14, up to 14: and 14 itself. */
static void divisors_join_a_list_where_the_device_is_no_cpu(void **state)
{
    static const struct build_knob knobs[] = {{"k", {2, 4, 8, BUILD_END}}, {0}};
    static const struct build_axis axes[] = {{"k", {9, 14}, 14}, {0}}, one[] = {{"k", {9, 0}, 8}, {0}};
    struct space *s = NULL;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(build_knobs_or_divisors(s, &gpu, knobs, axes, NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    expect_values(s, "k", (const int64_t[]){1, 2, 3, 4, 7, 8, 9, 14, BUILD_END});
    space_free(s);
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(build_knobs_or_divisors(s, &gpu, knobs, one, NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    expect_values(s, "k", (const int64_t[]){1, 2, 3, 4, 8, BUILD_END});
    space_free(s);
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(build_knobs_or_divisors(s, &cpu, knobs, axes, NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    expect_values(s, "k", (const int64_t[]){2, 4, 8, BUILD_END});
    space_free(s);
}

static void a_wish_is_met_or_the_next_smaller_value_is_taken(void **state)
{
    static const struct build_knob knobs[] = {{"a", {1, 4, 16, BUILD_END}}, {"b", {8, 2, 32, BUILD_END}}, {0}};
    static const int64_t wishes[][4] = {{16, 16, 32, 32}, {15, 4, 31, 8},  {4, 4, 8, 8},
                                        {3, 1, 7, 2},     {100, 16, 2, 2}, {1, 1, 100, 32}};
    struct space *s = NULL;

    (void)state;
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(build_knobs(s, knobs, NULL), ERR_OK);
    assert_int_equal(space_seal(s, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        struct config c = {{0}};

        build_choose(s, (const struct build_define[]){{"a", wishes[i][0]}, {"b", wishes[i][2]}, {"c", 5}, {NULL, 0}},
                     &c);
        assert_int_equal(space_int(s, &c, "a"), wishes[i][1]);
        assert_int_equal(space_int(s, &c, "b"), wishes[i][3]);
    }
    space_free(s);
}

/* One value of each in turn, in the order of the names, until the product is small enough. */
static void configs_are_lowered_until_they_are_valid(void **state)
{
    static const struct build_knob knobs[] = {{"a", {1, 2, 4, BUILD_END}}, {"b", {1, 2, 4, BUILD_END}}, {0}};
    static const struct {
        const char *most, *names[3];
        int64_t a, b;
        enum err e;
    } cases[] = {{"a * b <= 16", {"a", "b"}, 4, 4, ERR_OK}, {"a * b <= 8", {"a", "b"}, 2, 4, ERR_OK},
                 {"a * b <= 7", {"a", "b"}, 2, 2, ERR_OK},  {"a * b <= 8", {"b", "a"}, 4, 2, ERR_OK},
                 {"a * b <= 2", {"a", "b"}, 1, 2, ERR_OK},  {"a * b <= 4", {"a"}, 1, 4, ERR_OK},
                 {"a * b <= 3", {"a"}, 1, 4, ERR_NOT_FOUND}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const constraints[] = {cases[i].most, NULL};
        struct config c = {{2, 2}};
        struct space *s = NULL;

        assert_int_equal(space_new(&s), ERR_OK);
        assert_int_equal(build_knobs(s, knobs, NULL), ERR_OK);
        assert_int_equal(build_constraints(s, constraints, NULL), ERR_OK);
        assert_int_equal(space_seal(s, NULL), ERR_OK);
        assert_int_equal(build_make_valid(s, cases[i].names, &c), cases[i].e);
        assert_int_equal(space_int(s, &c, "a"), cases[i].a);
        assert_int_equal(space_int(s, &c, "b"), cases[i].b);
        space_free(s);
    }
}

/* ---- tolerances and samples ---- */

/* Rounding the result once is half a place of the type, relative: no tolerance is below it, nor above eight places;
 * sums in half are told apart. */
static void tolerances_are_of_the_size_of_a_rounding(void **state)
{
    static const struct {
        const char *workload, *name;
        double half_place;
    } cases[] = {{"dense f32 m=1 n=8 k=8", "f32", 0x1p-24},
                 {"dense f16 m=1 n=8 k=8", "f16-f32", 0x1p-11},
                 {"dense bf16 m=1 n=8 k=8", "bf16-f32", 0x1p-9},
                 {"dense f16 m=1 n=8 k=8 acc=f16", "f16", 0x1p-11}};
    struct device_desc d = gpu;

    (void)state;
    d.fp16 = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct workload w = parsed(cases[i].workload);
        const struct numerics n = numerics_of(&w, &d);

        assert_string_equal(n.name, cases[i].name);
        assert_true(n.tolerance >= cases[i].half_place);
        assert_true(n.tolerance <= 64 * cases[i].half_place);
        if (i == 1 || i == 2)
            assert_true(n.tolerance <= 8 * cases[i].half_place);
    }
    d.fp16 = false; /* without half sums are made in float */
    {
        const struct workload w = parsed("dense f16 m=1 n=8 k=8 acc=f16"), i8 = parsed("dense i8 m=1 n=8 k=8");

        assert_string_equal(numerics_of(&w, &d).name, "f16-f32");
        assert_true(numerics_of(&i8, &d).tolerance == 0);
    }
}

static void samples_are_as_many_as_their_cost_allows(void **state)
{
    (void)state;
    assert_int_equal(sample_count(1, 1 << 30), 4096);
    assert_int_equal(sample_count(10000, 1 << 30), 2000); /* 2e7 products */
    assert_int_equal(sample_count(1e6, 1 << 30), 64);
    assert_int_equal(sample_count(1e6, 63), 63);
    assert_int_equal(sample_count(1, 4095), 4095);
}

/* terms * b^2 <= 2^24 and, projected, terms * b^2 * axis * 2^20 < 2^53; b <= 7. */
static void exact_data_are_as_large_as_sums_stay_exact(void **state)
{
    (void)state;
    assert_true(exact_bound(1, 1) == 7);
    assert_true(exact_bound(342392, 1) == 7); /* times 49 is 8 short of 2^24 */
    assert_true(exact_bound(342393, 1) == 6);
    assert_true(exact_bound(16777216, 1) == 1);
    assert_true(exact_bound(16777217, 1) == 0);
    assert_true(exact_bound(1, 175304787) == 7); /* 2^33 / 49 = 175304787.6 */
    assert_true(exact_bound(1, 175304788) == 6);
    assert_true(exact_bound(1, 8589934591) == 1);
    assert_true(exact_bound(1, 8589934592) == 0);
}

#define N_KEPT 32

/* So many workloads are kept; the one that was not asked for for the longest time goes first. */
static int n_computed;
static const struct operator_desc *counted;

static enum err counting(const struct workload *w, enum exact_data data, struct expected *e)
{
    n_computed++;
    return counted->reference(w, data, e);
}

static void ask(const struct operator_desc *op, int m)
{
    const struct numerics numerics = {.name = "f32", .data = EXACT_PLAIN, .tolerance = 1e-6};
    struct workload w;
    struct program p;
    struct blobs blobs;
    char text[64];

    snprintf(text, sizeof text, "dense f32 m=%d n=4 k=4", m);
    w = parsed(text);
    w.op = op;
    program_init(&p);
    blobs_init(&blobs, 1 << 20);
    (void)program_add_buffer(&p, "y", ROLE_OUTPUT, DTYPE_F32, 4 * m);
    assert_int_equal(expect_passes(&w, &numerics, &p, &blobs), ERR_OK);
    assert_int_equal(p.n_passes, 2);
    program_fini(&p);
    blobs_fini(&blobs);
}

static void expected_values_are_kept_for_the_workloads_asked_for_last(void **state)
{
    struct operator_desc counting_op;

    (void)state;
    counted = operator_find("dense");
    counting_op = *counted;
    counting_op.reference = counting;
    for (int m = 101; m < 101 + N_KEPT; m++)
        ask(&counting_op, m);
    assert_int_equal(n_computed, N_KEPT);
    for (int m = 100 + N_KEPT; m >= 101; m--)
        ask(&counting_op, m);
    assert_int_equal(n_computed, N_KEPT); /* all are there; the last is the oldest now */
    ask(&counting_op, 101 + N_KEPT);
    assert_int_equal(n_computed, N_KEPT + 1);
    for (int m = 101; m < 100 + N_KEPT; m++)
        ask(&counting_op, m);
    assert_int_equal(n_computed, N_KEPT + 1);
    ask(&counting_op, 100 + N_KEPT);
    assert_int_equal(n_computed, N_KEPT + 2);
}

/* What is compared of an output of more elements than a blob has values goes into blobs all the same. */
static void lists_of_large_outputs_fit_into_blobs(void **state)
{
    static const char *const texts[] = {"pool2d f32 n=1 c=1 h=2900 w=2900 r=1 s=1",
                                        "conv2d f32 n=1 c=1 h=2900 w=2900 k=1 r=1 s=1", "dense f32 m=8400000 n=1 k=1"};
    const struct numerics numerics = {.name = "f32", .data = EXACT_PLAIN, .tolerance = 1e-6};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct workload w = parsed(texts[i]);
        struct blobs blobs;
        struct buf sheet;

        buf_init(&sheet, PROGRAM_MAX_BYTES);
        blobs_init(&blobs, (size_t)1 << 30);
        assert_int_equal(expect_sheet(&w, &numerics, 5, &sheet, &blobs), ERR_OK);
        assert_true(blobs.n > 2); /* samples of several passes */
        for (size_t b = 0; b < blobs.n; b++)
            assert_in_range(blobs.items[b].n_bytes, 1, BLOB_MAX_BYTES);
        buf_fini(&sheet);
        blobs_fini(&blobs);
    }
}

/* ---- defaults ---- */

static struct device_desc of_device(const char *name)
{
    struct device_desc d = strncmp(name, "cpu", 3) == 0 ? cpu : gpu;

    if (strncmp(name, "sm_", 3) == 0)
        cuda_arch_describe(cuda_arch_find(atoi(name + 3)), 20, &d);
    if (strcmp(name, "gpu2") == 0)
        d.units = 2;
    if (strcmp(name, "cpu256") == 0)
        d.vector_bits = 256;
    return d;
}

/* Each row is a choice that the template's comment or code explains. */
static const struct {
    const char *template_id, *workload, *device, *knob;
    int64_t value;
} defaults[] = {
    /* one row, four streams: 4096 / (4 rows * 4) turns, at most 128: eight items for four threads; 40 columns: the
     * threads' greatest share of five items costs less than of ten, as each begins with a wait; two chains for few rows
     */
    {"dense/gemv", "dense f32 m=1 n=4096 k=1024", "cpu", "vec", 16},
    {"dense/gemv", "dense f32 m=1 n=4096 k=1024", "cpu256", "vec", 8},
    {"dense/gemv", "dense f32 m=1 n=4096 k=1024", "cpu", "rows", 4},
    {"dense/gemv", "dense f32 m=1 n=4096 k=1024", "cpu", "turns", 128},
    {"dense/gemv", "dense f32 m=1 n=65536 k=1024", "cpu", "turns", 128},
    {"dense/gemv", "dense f32 m=1 n=40 k=1024", "cpu", "turns", 2},
    {"dense/gemv", "dense f32 m=2 n=4096 k=1024", "cpu", "chains", 2},
    {"dense/gemv", "dense f32 m=3 n=4096 k=1024", "cpu", "chains", 1},
    {"dense/gemv", "dense f32 m=1 n=4096 k=1024", "cpu", "ahead", 2048},
    /* the width from 4 to 8 that wastes least, the wider of equals */
    {"depthwise_conv2d/tile", "depthwise_conv2d f32 n=1 c=16 h=12 w=12 r=3 s=3 pad=1 layout=nchw16c", "cpu", "vw", 6},
    {"depthwise_conv2d/tile", "depthwise_conv2d f32 n=1 c=16 h=14 w=14 r=3 s=3 pad=1 layout=nchw16c", "cpu", "vw", 7},
    {"depthwise_conv2d/tile", "depthwise_conv2d f32 n=1 c=16 h=8 w=8 r=3 s=3 pad=1 layout=nchw16c", "cpu", "vw", 8},
    {"depthwise_conv2d/tile", "depthwise_conv2d f32 n=1 c=16 h=5 w=5 r=3 s=3 pad=1 layout=nchw16c", "cpu", "vw", 5},
    /* a CPU's work-item has its thread's part of the plane's eight vectors, others' one vector */
    {"transform/lanes", "transform f32 n=1 c=16 h=8 w=16 to=nchw16c", "cpu", "run", 2},
    {"transform/lanes", "transform f32 n=1 c=16 h=8 w=16 to=nchw16c", "cpu", "vec", 16},
    {"transform/lanes", "transform f32 n=1 c=16 h=8 w=16 to=nchw16c", "gpu", "run", 1},
    {"transform/lanes", "transform f32 n=1 c=16 h=8 w=16 to=nchw16c", "gpu", "wg", 64},
    /* tiles of 64 x 64 where they are two for each unit: 2 x 4 of them */
    {"conv2d/im2col_gemm", "conv2d f32 n=1 c=64 h=16 w=16 k=128 r=3 s=3 pad=1", "gpu2", "mwg", 64},
    {"conv2d/im2col_gemm", "conv2d f32 n=1 c=64 h=16 w=16 k=128 r=3 s=3 pad=1", "gpu", "mwg", 32},
    {"conv2d/im2col_gemm", "conv2d f32 n=1 c=64 h=16 w=16 k=128 r=3 s=3 pad=1", "cpu", "mwg", 12},
    {"conv2d/im2col_gemm", "conv2d f32 n=1 c=64 h=16 w=16 k=11 r=3 s=3 pad=1", "cpu", "mwg", 4},
    {"conv2d/im2col_gemm", "conv2d f32 n=1 c=64 h=16 w=16 k=4 r=3 s=3 pad=1", "cpu", "mwg", 4},
    {"conv2d/im2col_gemm", "conv2d f32 n=1 c=64 h=16 w=16 k=3 r=3 s=3 pad=1", "cpu", "mwg", 2},
    /* several outputs of a row share what a window of up to 16 columns reads */
    {"pool2d/window", "pool2d f32 n=1 c=16 h=32 w=64 r=3 s=3", "cpu", "px", 8},
    {"pool2d/window", "pool2d f32 n=1 c=16 h=32 w=64 r=17 s=17", "cpu", "px", 1},
    /* groups are two for each unit: 4 x 8 tiles of 32 x 32 once, 40 are wanted of 20 units: twice */
    {"conv2d/im2col_gemm", "conv2d f32 n=1 c=64 h=16 w=16 k=128 r=3 s=3 pad=1", "gpu", "split", 2},
    /* a row is a CPU's work-item in its vectors, and kept; others have 256 of four */
    {"softmax/rows", "softmax f32 m=4 n=1000", "cpu", "vec", 16},
    {"softmax/rows", "softmax f32 m=4 n=1000", "cpu", "wg", 1},
    {"softmax/rows", "softmax f32 m=4 n=1000", "cpu", "keep", 1},
    {"softmax/rows", "softmax f32 m=4 n=4096", "gpu", "wg", 256},
    {"softmax/rows", "softmax f16 m=4 n=4096", "gpu", "keep", 0},
    /* the tile and split whose busiest unit does least: 128 x 128 where these are enough for each unit, smaller ones
     * and parts of k, of 128 at least, where outputs are few */
    {"dense/gemm_tiled", "dense f32 m=1024 n=1024 k=512", "sm_80", "mwg", 128},
    {"dense/gemm_tiled", "dense f32 m=256 n=256 k=512", "sm_80", "mwg", 32},
    {"dense/gemm_tiled", "dense f32 m=256 n=256 k=512", "sm_80", "split", 2},
    {"dense/gemm_tiled", "dense f32 m=64 n=64 k=512", "sm_80", "split", 4},
    {"dense/gemm_tiled", "dense f32 m=256 n=256 k=512", "sm_80", "stages", 3},
    {"dense/gemm_tiled", "dense f32 m=256 n=256 k=512", "sm_75", "stages", 2},
    /* lstm of h=256 b=64: 4 * 256 * 64 sums are 16 tiles of 64 x 64, four for each of 20 units are wanted: 8 slices */
    {"rnn/plan", "rnn f32 cell=lstm i=256 h=256 b=64 t=4", "gpu", "g_rec_ks", 8},
    {"rnn/plan", "rnn f32 cell=lstm i=256 h=256 b=64 t=4", "gpu2", "g_rec_ks", 1},
    {"rnn/plan", "rnn f32 cell=lstm i=256 h=256 b=64 t=4", "gpu", "comb_gate", 1},
    {"rnn/plan", "rnn f32 cell=lstm i=256 h=256 b=64 t=4", "gpu", "fuse_pw", 2},
};

static void defaults_are_what_their_rules_say(void **state)
{
    int n_wrong = 0;

    (void)state;
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        const struct workload w = parsed(defaults[i].workload);
        const struct device_desc d = of_device(defaults[i].device);
        const struct template *t = template_find(defaults[i].template_id);
        struct space *s = NULL;
        struct config c;
        struct why why = {""};
        int64_t got;

        assert_non_null(t);
        if (template_space(t, &w, &d, &s, &why) || t->fallback(&w, &d, s, &c))
            fail_msg("%s on %s: %s", t->id, defaults[i].workload, why.text);
        got = space_int(s, &c, defaults[i].knob);
        if (got != defaults[i].value) {
            print_message("%s | %s on %s: %s=%lld, expected %lld\n", t->id, defaults[i].workload, defaults[i].device,
                          defaults[i].knob, (long long)got, (long long)defaults[i].value);
            n_wrong++;
        }
        space_free(s);
    }
    assert_int_equal(n_wrong, 0);
}

/* Which of an operator's templates are offered at the edge of what they compute. */
static void templates_fit_up_to_their_edge(void **state)
{
    static const struct {
        const char *template_id, *workload, *device;
        enum fit fit;
    } cases[] = {{"dense/gemv", "dense f32 m=1 n=64 k=64", "cpu", FIT_GOOD},
                 {"dense/gemv", "dense f32 m=8 n=64 k=64", "cpu", FIT_GOOD},
                 {"dense/gemv", "dense f32 m=9 n=64 k=64", "cpu", FIT_NONE},
                 {"dense/gemv", "dense f32 m=1 n=64 k=64", "gpu", FIT_POSSIBLE},
                 {"dense/gemv", "dense f32 m=1 n=64 k=64", "sm_80", FIT_NONE},
                 /* windows of up to 128 elements are unrolled */
                 {"depthwise_conv2d/tile", "depthwise_conv2d f32 n=1 c=4 h=20 w=20 r=16 s=8", "cpu", FIT_GOOD},
                 {"depthwise_conv2d/tile", "depthwise_conv2d f32 n=1 c=4 h=50 w=20 r=43 s=3", "cpu", FIT_NONE},
                 {"dense/gemm_tiled", "dense f32 m=16 n=64 k=64", "gpu", FIT_GOOD},
                 {"dense/gemm_tiled", "dense f32 m=15 n=64 k=64", "gpu", FIT_POSSIBLE},
                 {"dense/gemm_tiled", "dense f32 m=16 n=64 k=64", "cpu", FIT_POSSIBLE}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct workload w = parsed(cases[i].workload);
        const struct device_desc d = of_device(cases[i].device);

        if (template_find(cases[i].template_id)->fit(&w, &d, NULL) != cases[i].fit)
            fail_msg("%s | %s on %s", cases[i].template_id, cases[i].workload, cases[i].device);
    }
}

/* ---- packing ---- */

/* Groups of a program's kernel along x (0: it has none such) and elements of a buffer. */
struct packing {
    int64_t n_groups, n_elems;
};

static bool packing_of(const char *workload, const cJSON *knobs, const char *kernel, const char *buffer,
                       struct packing *out)
{
    const struct workload w = parsed(workload);
    const struct template *t = template_find("rnn/plan");
    struct space *s = NULL;
    struct program p;
    struct blobs blobs;
    struct config c;
    bool is_one;

    *out = (struct packing){0, 0};
    assert_int_equal(template_space(t, &w, &cpu, &s, NULL), ERR_OK);
    is_one = space_config_from_json(s, knobs, &c, NULL) == ERR_OK && space_is_valid(s, &c, NULL);
    blobs_init(&blobs, (size_t)1 << 28);
    if (is_one) {
        assert_int_equal(template_program(t, &w, &cpu, s, &c, &p, &blobs, NULL), ERR_OK);
        for (size_t i = 0; i < p.n_launches; i++)
            if (strcmp(p.launches[i].kernel, kernel) == 0)
                out->n_groups = p.launches[i].grid[0];
        for (size_t i = 0; i < p.n_buffers; i++)
            if (strcmp(p.buffers[i].id, buffer) == 0)
                out->n_elems = p.buffers[i].n_elems;
        program_fini(&p);
    }
    blobs_fini(&blobs);
    space_free(s);
    return is_one && out->n_groups > 0;
}

/* Layers above the first may be wider than the input: the groups that pack weights are enough for both. What a group
 * packs is known where the widths are equal; what an upper layer has, of the buffers for two layers and for three. */
static void weights_of_wide_upper_layers_are_packed_whole(void **state)
{
    static const char equal[] = "rnn f32 cell=tanh pass=bwd_data i=40 h=40 b=4 t=2",
                      two[] = "rnn f32 cell=tanh pass=bwd_data i=2 h=40 l=2 b=4 t=2",
                      three[] = "rnn f32 cell=tanh pass=bwd_data i=2 h=40 l=3 b=4 t=2";
    const struct workload w = parsed(two);
    struct space *s = NULL;
    struct rng rng;
    int n_checked = 0;

    (void)state;
    rng_init(&rng, 4);
    assert_int_equal(template_space(template_find("rnn/plan"), &w, &cpu, &s, NULL), ERR_OK);
    for (int i = 0; i < 60; i++) {
        struct packing one, lower, upper;
        struct config c;
        cJSON *knobs;

        assert_int_equal(space_sample(s, &rng, 1000000, &c), ERR_OK);
        knobs = space_config_to_json(s, &c);
        if (packing_of(equal, knobs, "rnn_pack_in", "wp", &one) &&
            packing_of(two, knobs, "rnn_pack_in", "wp", &lower) &&
            packing_of(three, knobs, "rnn_pack_in", "wp", &upper)) {
            assert_int_equal(one.n_elems % one.n_groups, 0);
            assert_true(lower.n_groups * (one.n_elems / one.n_groups) >= upper.n_elems - lower.n_elems);
            n_checked++;
        }
        cJSON_Delete(knobs);
    }
    assert_true(n_checked >= 3);
    space_free(s);
}

/* What constraints of a convolution's template read, no two numbers of a pair alike. */
static void a_convolutions_constants_are_its_sizes(void **state)
{
    static const struct {
        const char *name;
        double value;
    } constants[] = {{"size_n", 2},   {"size_c", 8},   {"size_cg", 4},  {"size_h", 23},    {"size_w", 31},
                     {"size_k", 12},  {"size_kg", 6},  {"size_r", 3},   {"size_s", 5},     {"size_p", 9},
                     {"size_q", 6},   {"stride_h", 2}, {"stride_w", 4}, {"dil_h", 4},      {"dil_w", 3},
                     {"groups_n", 2}, {"x_lanes", 4},  {"y_lanes", 4},  {"elem_bytes", 2}, {"sum_elem_bytes", 4}};
    const struct device_desc d = {.api = "opencl", .kind = DEVICE_CPU, .max_work_group = 64};
    struct config c = {{0}};
    struct conv_shape z;
    struct space *s = NULL;
    struct workload w;
    struct why why = {""};

    (void)state;
    /* rows: (23 + 2 - (1 + 2 * 4)) / 2 + 1 = 9; columns: (31 + 4 - (1 + 4 * 3)) / 4 + 1 = 6 */
    if (workload_parse(
            "conv2d f16 n=2 c=8 h=23 w=31 k=12 r=3 s=5 stride=2,4 dilation=4,3 pad=1,2 groups=2 layout=nchw4c", &w,
            &why))
        fail_msg("%s", why.text);
    z = conv_shape_of(&w);
    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(conv_add_constants(&z, DTYPE_F16, DTYPE_F32, &d, s, &why), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "vec", NULL, 1, (const int64_t[]){1}), ERR_OK);
    assert_int_equal(space_seal(s, &why), ERR_OK);
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        double v = -1;

        assert_int_equal(space_eval(s, &c, constants[i].name, &v), ERR_OK);
        if (v != constants[i].value)
            fail_msg("%s is %g, expected %g", constants[i].name, v, constants[i].value);
    }
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_wide_upper_layers_are_packed_whole),
        cmocka_unit_test(facts_of_a_device_have_defaults),
        cmocka_unit_test(splits_are_divisors_and_powers_of_two),
        cmocka_unit_test(divisors_join_a_list_where_the_device_is_no_cpu),
        cmocka_unit_test(a_wish_is_met_or_the_next_smaller_value_is_taken),
        cmocka_unit_test(configs_are_lowered_until_they_are_valid),
        cmocka_unit_test(tolerances_are_of_the_size_of_a_rounding),
        cmocka_unit_test(samples_are_as_many_as_their_cost_allows),
        cmocka_unit_test(exact_data_are_as_large_as_sums_stay_exact),
        cmocka_unit_test(expected_values_are_kept_for_the_workloads_asked_for_last),
        cmocka_unit_test(lists_of_large_outputs_fit_into_blobs),
        cmocka_unit_test(a_convolutions_constants_are_its_sizes),
        cmocka_unit_test(defaults_are_what_their_rules_say),
        cmocka_unit_test(templates_fit_up_to_their_edge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
