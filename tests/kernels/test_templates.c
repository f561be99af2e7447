/* SPDX-License-Identifier: MIT */
/* Templates without a device: spaces, defaults and programs on many kinds of device. */
#include "core/file.h"
#include "kernels/network.h"
#include "kernels/template.h"
#include "runtime/cuda_arch.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/draw.h"
#include "tests/kernels/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct device_desc opencl_devices[] = {
    {.api = "opencl",
     .kind = DEVICE_CPU,
     .max_work_group = 4096,
     .max_local = {4096, 4096, 4096},
     .local_bytes = 1 << 20,
     .vector_bits = 512},
    {.api = "opencl",
     .kind = DEVICE_CPU,
     .units = 64,
     .threads = 64,
     .max_work_group = 4096,
     .max_local = {4096, 4096, 4096},
     .local_bytes = 1 << 20,
     .vector_bits = 256},
    {.api = "opencl",
     .kind = DEVICE_CPU,
     .units = 2,
     .threads = 2,
     .max_work_group = 64,
     .max_local = {64, 64, 64},
     .local_bytes = 4096,
     .vector_bits = 128},
    {.api = "opencl",
     .kind = DEVICE_MALI,
     .max_work_group = 256,
     .max_local = {256, 256, 256},
     .local_bytes = 32768,
     .vector_bits = 128},
    {.api = "opencl",
     .kind = DEVICE_GPU,
     .max_work_group = 1024,
     .max_local = {1024, 1024, 64},
     .local_bytes = 49152,
     .vector_bits = 0},
    {.api = "opencl", .kind = DEVICE_OTHER},
};
#define N_OPENCL (sizeof opencl_devices / sizeof opencl_devices[0])

/* Architectures that differ in what templates ask for. */
static const int cuda_devices[] = {53, 61, 75, 80, 90, 120};
#define N_CUDA (sizeof cuda_devices / sizeof cuda_devices[0])
#define N_DEVICES (N_OPENCL + N_CUDA)

static struct device_desc devices[N_DEVICES];

static uint64_t seed, turn; /* of the random configs, which the sample of this run takes */
static bool is_full;

static int describe_devices(void **state)
{
    (void)state;
    memcpy(devices, opencl_devices, sizeof opencl_devices);
    for (size_t i = 0; i < N_CUDA; i++)
        cuda_arch_describe(cuda_arch_find(cuda_devices[i]), 24, &devices[N_OPENCL + i]);
    return 0;
}

/* A compiler computes them wrongly (rnn/plan.c). */
static void persistent_steps_of_many_sums_are_not_unrolled(void **state)
{
    static const char text[] =
        "comb_gate=1 streams=1 fuse_pw=2 pretrans=1 comb_in=4 wave=0 persist=1 concat_xh=0 vec=16 g_in_mr=14 g_in_nv=2 "
        "g_in_ku=4 g_in_order=0 g_rec_mr=12 g_rec_nv=2 g_rec_ku=%d pf=16 wg=1";
    const struct template *t = template_find("rnn/plan");
    struct workload w;
    struct space *s = NULL;

    (void)state;
    assert_int_equal(workload_parse("rnn f32 cell=lstm i=24 h=32 b=32 t=6 l=2", &w, NULL), ERR_OK);
    assert_int_equal(template_space(t, &w, &devices[0], &s, NULL), ERR_OK);
    for (int ku = 1; ku <= 4; ku *= 2) {
        struct config c;
        char config[300];

        snprintf(config, sizeof config, text, ku);
        assert_int_equal(space_config_parse(s, config, &c, NULL), ERR_OK);
        assert_int_equal(space_is_valid(s, &c, NULL), ku == 1);
    }
    space_free(s);
}

static const struct operator_desc *operator_of(const char *text)
{
    struct workload w;
    struct why why = {""};

    if (workload_parse(text, &w, &why))
        fail_msg("%s: %s", text, why.text);
    return w.op;
}

typedef void each_fn(const struct template *t, const struct workload *w, const struct device_desc *d,
                     const struct space *s, const char *text);

static void for_all_templates(const char *text, const struct device_desc *d, each_fn *each)
{
    for (const struct template *const *t = operator_of(text)->templates; *t; t++) {
        struct space *s = NULL;
        struct workload w;
        struct why why = {""};

        assert_int_equal(workload_parse(text, &w, &why), ERR_OK);
        if ((*t)->fit(&w, d, &why) == FIT_NONE)
            continue;
        if (template_space(*t, &w, d, &s, &why))
            fail_msg("%s, %s, class %s: %s", (*t)->id, text, device_class_name(d->kind), why.text);
        each(*t, &w, d, s, text);
        space_free(s);
    }
}

/* Calls `each` for all templates x shapes x devices that fit. */
static void for_all(each_fn *each)
{
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape; shape++)
            for (size_t j = 0; j < N_DEVICES; j++)
                for_all_templates(*shape, &devices[j], each);
}

static void check_fallback(const struct template *t, const struct workload *w, const struct device_desc *d,
                           const struct space *s, const char *text)
{
    const char *violated = "";
    struct config c;

    if (t->fallback(w, d, s, &c))
        fail_msg("%s has no default for %s on class %s", t->id, text, device_class_name(d->kind));
    if (!space_config_in_range(s, &c) || !space_is_valid(s, &c, &violated))
        fail_msg("%s: the default for %s on class %s violates %s", t->id, text, device_class_name(d->kind), violated);
}

/* What a program says it needs is what its launches and its config ask for. */
static void check_needs(const struct template *t, const struct space *s, const struct config *c,
                        const struct program *p, const char *text)
{
    int64_t most = 0, told = p->needs_local_bytes;
    double local = 0;

    for (size_t i = 0; i < p->n_launches; i++) {
        const int64_t *b = p->launches[i].block;

        most = b[0] * b[1] * b[2] > most ? b[0] * b[1] * b[2] : most;
        told = p->launches[i].dyn_local > told ? p->launches[i].dyn_local : told;
    }
    if (p->needs_work_group != most)
        fail_msg("%s on %s needs work-groups of %lld, it starts %lld", t->id, text, (long long)p->needs_work_group,
                 (long long)most);
    if (space_eval(s, c, "local_bytes", &local) == ERR_OK && (double)told != local)
        fail_msg("%s on %s needs %lld bytes of local memory, its config says %g", t->id, text, (long long)told, local);
}

/* The launches of a default have no more groups than a CUDA device has. */
static void check_grid(const struct template *t, const struct device_desc *d, const struct program *p, bool is_default,
                       const char *text)
{
    for (size_t i = 0; is_default && d->sm && i < p->n_launches; i++)
        if (p->launches[i].grid[1] > CUDA_MAX_GRID_YZ || p->launches[i].grid[2] > CUDA_MAX_GRID_YZ)
            fail_msg("%s: the default for %s on sm_%d has a grid of .. x %lld x %lld", t->id, text, (int)d->sm,
                     (long long)p->launches[i].grid[1], (long long)p->launches[i].grid[2]);
}

/* The default config on every device, and on a third of them, as the seed has it, a random one; --full: three on all.
 */
static void check_program(const struct template *t, const struct workload *w, const struct device_desc *d,
                          const struct space *s, const char *text)
{
    const int n_random = is_full ? 3 : (turn + seed) % 3 == 0;
    struct draw draw = {s, NULL};
    struct rng rng;

    rng_init(&rng, is_full ? 7 : seed + turn);
    turn++;
    for (int i = 0; i <= n_random; i++) {
        struct program p;
        struct blobs blobs;
        struct why why = {""};
        struct config c;
        enum err e;

        if (i == 0)
            assert_int_equal(t->fallback(w, d, s, &c), ERR_OK);
        else if (draw_config(&draw, &rng, &c))
            continue;
        blobs_init(&blobs, (size_t)1 << 28);
        e = template_program(t, w, d, s, &c, &p, &blobs, &why);
        if (e == ERR_LIMIT && i > 0) { /* code that is longer than there may be: told when it is made */
            printf("%s on %s: %s\n", t->id, text, why.text);
            program_fini(&p);
            blobs_fini(&blobs);
            continue;
        }
        if (e)
            fail_msg("%s on %s: %s", t->id, text, why.text);
        assert_int_equal(program_check_sane(&p, &why), ERR_OK);
        assert_true(p.flops == w->op->flops(w));
        check_needs(t, s, &c, &p, text);
        assert_in_range(p.n_passes, 1, 2); /* EXACT_NONE has no exact pass */
        check_grid(t, d, &p, i == 0, text);
        assert_true(d->max_work_group == 0 || p.needs_work_group <= d->max_work_group);
        assert_true(d->local_bytes == 0 || p.needs_local_bytes <= (d->sm ? d->local_max_bytes : d->local_bytes));
        program_fini(&p);
        blobs_fini(&blobs);
    }
    draw_fini(&draw);
}

/* Arrays of a group of 64, counted in the kernels' text: a float for each work-item and sum, a top for each in the type
 * that is computed in. A work-item alone and columns have none. */
static void arrays_of_groups_are_counted(void **state)
{
    static const struct {
        const char *id, *workload, *config;
        int64_t bytes;
    } facts[] = {
        {"reduce/rows", "reduce f32 outer=7 n=501", "vec=1 wg=64 rows=1", 64 * 4},
        {"reduce/rows", "reduce f32 outer=7 n=501 kind=log_sum_exp", "vec=1 wg=64 rows=1", 2 * 64 * 4},
        {"reduce/rows", "reduce f16 outer=7 n=501 kind=log_sum_exp", "vec=1 wg=64 rows=1", 2 * 64 * 4},
        {"reduce/rows", "reduce f32 outer=7 n=501 kind=log_sum_exp", "vec=1 wg=1 rows=1", 0},
        {"reduce/rows", "reduce f32 outer=70 n=51 inner=19 kind=log_sum_exp", "vec=1 wg=64 rows=1", 0},
        {"softmax/rows", "softmax f32 m=7 n=501", "keep=0 vec=1 wg=64 rows=1", 2 * 64 * 4},
        {"softmax/rows", "softmax f32 m=7 n=501", "keep=1 vec=1 wg=1 rows=1", 0},
        {"norm/rows", "norm f32 m=7 n=501", "vec=1 wg=64 rows=1", 2 * 64 * 4},
        {"norm/rows", "norm f32 m=7 n=501 kind=rms", "vec=1 wg=64 rows=1", 64 * 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const struct template *t = template_find(facts[i].id);
        struct space *s = NULL;
        struct workload w;
        struct config c;
        struct program p;
        struct blobs blobs;
        struct why why = {""};

        blobs_init(&blobs, (size_t)1 << 28);
        if (!t || workload_parse(facts[i].workload, &w, &why) || template_space(t, &w, &devices[0], &s, &why) ||
            space_config_parse(s, facts[i].config, &c, &why) ||
            template_kernels(t, &w, &devices[0], s, &c, &p, &blobs, &why))
            fail_msg("%s %s: %s", facts[i].workload, facts[i].config, why.text);
        if (p.needs_local_bytes != facts[i].bytes)
            fail_msg("%s %s: %lld bytes of a group, expected %lld", facts[i].workload, facts[i].config,
                     (long long)p.needs_local_bytes, (long long)facts[i].bytes);
        program_fini(&p);
        blobs_fini(&blobs);
        space_free(s);
    }
}

static void check_features(const struct template *t, const struct workload *w, const struct device_desc *d,
                           const struct space *s, const char *text)
{
    float row[512];
    struct config c;

    assert_true(space_n_features(s) <= 512);
    assert_int_equal(t->fallback(w, d, s, &c), ERR_OK);
    space_features(s, &c, row);
    for (size_t i = 0; i < space_n_features(s); i++)
        if (row[i] != row[i])
            fail_msg("%s on %s: %s cannot be computed", t->id, text, space_feature_name(s, i));
}

static void check(const struct template *t, const struct workload *w, const struct device_desc *d,
                  const struct space *s, const char *text)
{
    check_fallback(t, w, d, s, text);
    check_program(t, w, d, s, text);
    check_features(t, w, d, s, text);
}

/* On one way through all spaces, which take longer to make than to look at. */
static void spaces_hold_their_defaults_programs_are_sane_and_derived_quantities_can_be_computed(void **state)
{
    (void)state;
    for_all(check);
}

/* Layers of the networks are large: only their spaces and defaults are made here. */
static void layers_of_networks_have_defaults(void **state)
{
    (void)state;
    for (const char *const *name = network_names(); *name; name++) {
        const struct network *net;

        assert_int_equal(network_find(*name, &net, NULL), ERR_OK);
        for (size_t i = 0; i < net->n_layers; i++)
            if (net->layers[i].workload)
                for_all_templates(net->layers[i].workload, &devices[0], check_fallback);
    }
}

static void what_a_template_lacks_is_said_in_words(void **state)
{
    static const char *const texts[][3] = {
        {"dense/gemm_packed", "dense i8 m=9 n=9 k=9", "i8"},
        {"dense/gemv", "dense f32 m=100 n=1 k=1", "m=100"},
        {"conv2d/spatial_pack", "conv2d f32 n=1 c=4 h=4 w=4 k=4 r=1 s=1 groups=2", "groups=2"},
        {"conv2d/winograd", "conv2d f32 n=1 c=4 h=4 w=4 k=4 r=1 s=1", "1 x 1"},
        {"conv2d/winograd_tile", "conv2d f32 n=1 c=4 h=4 w=4 k=4 r=3 s=3 stride=2 pad=1", "stride=2,2"},
        {"conv2d/winograd_shared", "conv2d f32 n=1 c=4 h=4 w=4 k=4 r=3 s=3 pad=3", "pad=0 to 2"},
        {"dense/gemm_direct", "dense i8 m=1 n=1 k=1", "i8"},
        {"depthwise_conv2d/tile", "depthwise_conv2d f32 n=1 c=8 h=5 w=5 r=3 s=3 mult=2 layout=nchw8c", "mult=2"},
        {"depthwise_conv2d/tile", "depthwise_conv2d f32 n=1 c=2 h=40 w=40 r=12 s=11", "132"},
        {"pool2d/rows", "pool2d f32 n=1 c=4 h=4 w=4 r=2 s=2 layout=nchw4c", "layout=nchw4c"},
        {"pool2d/rows", "pool2d f32 n=1 c=1 h=1 w=9000 r=1 s=1", "9000"},
        {"pool2d/plane", "pool2d f32 n=1 c=4 h=4 w=4 r=4 s=3", "r=4 s=3 of h=4 w=4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct workload w;
        struct why why = {""};

        assert_int_equal(workload_parse(texts[i][1], &w, &why), ERR_OK);
        assert_int_equal(template_find(texts[i][0])->fit(&w, &devices[0], &why), FIT_NONE);
        if (!strstr(why.text, texts[i][2]) || !strstr(why.text, texts[i][0]))
            fail_msg("%s: \"%s\"", texts[i][1], why.text);
    }
}

/* VGG's first layer: 3 channels are too few for what the transforms cost. */
static void winograd_is_no_good_choice_for_few_channels(void **state)
{
    static const struct {
        const char *text;
        enum fit fit;
    } cases[] = {{"conv2d f32 n=1 c=3 h=224 w=224 k=64 r=3 s=3 pad=1", FIT_POSSIBLE},
                 {"conv2d f32 n=1 c=8 h=112 w=112 k=64 r=3 s=3 pad=1", FIT_GOOD},
                 {"conv2d f32 n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1", FIT_GOOD}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct workload w;

        assert_int_equal(workload_parse(cases[i].text, &w, NULL), ERR_OK);
        assert_int_equal(template_find("conv2d/winograd_tile")->fit(&w, &devices[0], NULL), cases[i].fit);
        assert_int_equal(template_find("conv2d/direct_tile")->fit(&w, &devices[0], NULL), FIT_GOOD);
    }
}

/* One work-item a group: refused on a CUDA device, in words that name a template that computes it. */
static void forms_for_cpus_refuse_cuda_devices(void **state)
{
    static const char *const texts[][3] = {
        {"conv2d/direct_tile", "conv2d f32 n=1 c=4 h=4 w=4 k=4 r=3 s=3 pad=1", "conv2d/direct"},
        {"conv2d/direct_row", "conv2d f32 n=1 c=4 h=4 w=4 k=4 r=3 s=3 pad=1", "conv2d/implicit_gemm"},
        {"conv2d/winograd_tile", "conv2d f32 n=1 c=4 h=4 w=4 k=4 r=3 s=3 pad=1", "conv2d/winograd_shared"},
        {"conv2d/i8_tile", "conv2d i8 n=1 c=4 h=4 w=4 k=4 r=3 s=3 pad=1", "conv2d/i8"},
        {"depthwise_conv2d/tile", "depthwise_conv2d f32 n=1 c=4 h=4 w=4 r=3 s=3", "depthwise_conv2d/shared"},
        {"deformable_conv2d/im2col_gemm", "deformable_conv2d f32 n=1 c=4 h=4 w=4 k=4 r=3 s=3",
         "deformable_conv2d/im2col_tiled"},
        {"pool2d/rows", "pool2d f32 n=1 c=4 h=4 w=4 r=3 s=3", "pool2d/window"},
    };
    struct device_desc cuda;

    (void)state;
    cuda_arch_describe(cuda_arch_find(80), 108, &cuda);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct workload w;
        struct why why = {""};

        assert_int_equal(workload_parse(texts[i][1], &w, &why), ERR_OK);
        assert_int_equal(template_find(texts[i][0])->fit(&w, &cuda, &why), FIT_NONE);
        if (!strstr(why.text, texts[i][2]) || !strstr(why.text, texts[i][0]))
            fail_msg("%s: \"%s\"", texts[i][1], why.text);
        assert_int_not_equal(template_find(texts[i][2])->fit(&w, &cuda, &why), FIT_NONE);
    }
}

/* A knob of the default on 132 multiprocessors of sm_90. */
static int64_t default_on_h100(const char *id, const char *text, const char *knob)
{
    struct device_desc d;
    struct workload w;
    struct space *s;
    struct config c;
    int64_t value;

    cuda_arch_describe(cuda_arch_find(90), 132, &d);
    assert_int_equal(workload_parse(text, &w, NULL), ERR_OK);
    assert_int_equal(template_space(template_find(id), &w, &d, &s, NULL), ERR_OK);
    assert_int_equal(template_find(id)->fallback(&w, &d, s, &c), ERR_OK);
    value = space_int(s, &c, knob);
    space_free(s);
    return value;
}

/* y has 401,408 bytes; x, w and y together 1,126,400 in f32, 582,656 in i8. */
static void parts_of_sums_have_no_more_bytes_than_their_layer(void **state)
{
    static const char f32[] = "conv2d f32 n=1 c=256 h=14 w=14 k=512 r=1 s=1";
    static const char i8[] = "conv2d i8 n=1 c=256 h=14 w=14 k=512 r=1 s=1 layout=nchw4c";
    static const char deep[] = "conv2d f32 n=1 c=512 h=7 w=7 k=512 r=3 s=3 pad=1"; /* y: 1/96 of w */

    (void)state;
    assert_in_range(default_on_h100("conv2d/direct", f32, "split"), 1, 2);
    assert_in_range(default_on_h100("conv2d/im2col_gemm", f32, "split"), 1, 2);
    assert_in_range(default_on_h100("conv2d/implicit_gemm", f32, "split"), 1, 2);
    assert_int_equal(default_on_h100("conv2d/i8", i8, "split"), 1);
    assert_in_range(default_on_h100("conv2d/direct", deep, "split"), 2, 32);
    assert_in_range(default_on_h100("conv2d/implicit_gemm", deep, "split"), 4, 32);
    assert_int_equal(default_on_h100("conv2d/i8", i8, "dbuf_x"), 1);
    assert_int_equal(default_on_h100("conv2d/i8", i8, "dbuf_w"), 1);
    assert_true(default_on_h100("conv2d/i8", i8, "unroll_step") > 0);
}

static void strided_windows_of_one_stage_no_pixels_between(void **state)
{
    static const char *const texts[] = {"conv2d f32 n=1 c=256 h=56 w=56 k=512 r=1 s=1 stride=2",
                                        "conv2d i8 n=1 c=256 h=56 w=56 k=512 r=1 s=1 stride=2 layout=nchw4c"};
    static const char *const ids[] = {"conv2d/direct", "conv2d/i8"};

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(default_on_h100(ids[i], texts[i], "x_staged"),
                         default_on_h100(ids[i], texts[i], "y_tile") * default_on_h100(ids[i], texts[i], "x_tile") *
                             default_on_h100(ids[i], texts[i], "rc_i"));
    assert_int_equal(default_on_h100("conv2d/direct", "conv2d f32 n=1 c=256 h=14 w=14 k=256 r=3 s=3 pad=1", "dbuf_x"),
                     1);
}

/* What the default on `d` computes over what the layer needs; 0: not this template's. */
static double waste_of_default(const char *id, const char *text, const struct device_desc *d)
{
    const struct template *t = template_find(id);
    struct workload w;
    struct space *s = NULL;
    struct config c;
    double waste = 0;

    if (workload_parse(text, &w, NULL) || !template_computes(t, w.op) || t->fit(&w, d, NULL) == FIT_NONE)
        return 0;
    assert_int_equal(template_space(t, &w, d, &s, NULL), ERR_OK);
    assert_int_equal(t->fallback(&w, d, s, &c), ERR_OK);
    assert_int_equal(space_eval(s, &c, "waste", &waste), ERR_OK);
    space_free(s);
    return waste;
}

/* What `measure` gives of the default of each layer of some networks; 0: not this template's, and not counted. */
struct measured {
    double sum, most;
    char of_most[WORKLOAD_MAX_TEXT];
    int n;
};
struct form {
    const char *id, *dtype, *layout;
};
static struct measured measure_defaults(const char *const *networks, const struct form *f, const struct device_desc *d,
                                        double (*measure)(const char *, const char *, const struct device_desc *))
{
    struct measured m = {.n = 0};

    for (; *networks; networks++) {
        const struct network *net;

        assert_int_equal(network_find(*networks, &net, NULL), ERR_OK);
        for (size_t l = 0; l < net->n_layers; l++) {
            struct buf text;
            struct why note = {""};
            double value;

            buf_init(&text, WORKLOAD_MAX_TEXT);
            assert_int_equal(network_layer_as(&net->layers[l], f->dtype, f->layout, &text, &note), ERR_OK);
            value = measure(f->id, buf_text(&text), d);
            m.n += value > 0;
            m.sum += value;
            if (value > m.most) {
                m.most = value;
                snprintf(m.of_most, sizeof m.of_most, "%s", buf_text(&text));
            }
            buf_fini(&text);
        }
    }
    return m;
}

/* Rows of 7, 14, 17 and 35 pixels, groups of 4 to 32 channels: tiles of powers of two had a mean of 1.36. */
static void tiles_of_default_strips_fit_their_layers(void **state)
{
    static const char *const networks[] = {"vgg-16",           "resnet-50",    "inception-v3",
                                           "resnext-50-32x4d", "mobilenet-v1", NULL};
    static const struct form forms[] = {{"conv2d/direct", NULL, NULL},
                                        {"conv2d/group", NULL, NULL},
                                        {"conv2d/i8", "i8", "nchw4c"},
                                        {"conv2d/group_i8", "i8", "nchw4c"},
                                        {"depthwise_conv2d/shared", NULL, NULL}};
    static const double most[] = {1.12, 1.25, 1.2, 1.3, 1.08};
    static const int devices_of[][2] = {{61, 28}, {80, 108}};

    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++)
        for (size_t i = 0; i < sizeof devices_of / sizeof devices_of[0]; i++) {
            struct device_desc d;
            struct measured m;

            cuda_arch_describe(cuda_arch_find(devices_of[i][0]), devices_of[i][1], &d);
            m = measure_defaults(networks, &forms[f], &d, waste_of_default);
            assert_true(m.n >= 6);
            printf("%s sm_%d: %d layers, %.3f times their products\n", forms[f].id, devices_of[i][0], m.n, m.sum / m.n);
            assert_true(m.sum / m.n <= most[f]);
        }
}

/* Sequences of CLIP's text, of 64 patches and a class, and of ViT; tiles of 64 x 64 gave 2.77, 3.88 and 1.69. Few
 * outputs of a layer: 32 x 32 gave 12.3 for 10, 2.56 for 50. */
static void tiles_of_default_products_fit_their_sizes(void **state)
{
    static const struct {
        const char *id, *text;
        double most;
    } cases[] = {
        {"batch_gemm/tiled", "batch_gemm f32 b=192 m=77 n=77 k=64", 1.56},
        {"batch_gemm/tiled", "batch_gemm f32 b=192 m=65 n=65 k=64", 2.19},
        {"batch_gemm/tiled", "batch_gemm f32 b=192 m=197 n=197 k=64", 1.3},
        {"batch_gemm/tiled", "batch_gemm f32 b=192 m=128 n=128 k=64", 1},
        {"dense/gemm_tiled", "dense f32 m=65 n=768 k=768", 1.24},
        {"dense/gemm_tiled", "dense f32 m=197 n=3072 k=768", 1.14},
        {"dense/gemm_direct", "dense f32 m=1000 n=10 k=512", 1.7},
        {"dense/gemm_direct", "dense f32 m=50 n=50 k=64", 1.64},
        {"deformable_conv2d/direct", "deformable_conv2d f32 n=1 c=128 h=17 w=17 k=128 r=1 s=7 pad=0,3,0,3", 1.07},
        {"deformable_conv2d/direct", "deformable_conv2d f32 n=1 c=96 h=35 w=35 k=80 r=3 s=3 pad=1 deformable_groups=4",
         1.5},
    };
    struct device_desc d;

    (void)state;
    cuda_arch_describe(cuda_arch_find(61), 28, &d);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (waste_of_default(cases[i].id, cases[i].text, &d) > cases[i].most)
            fail_msg("%s | %s: %.2f times its products", cases[i].id, cases[i].text,
                     waste_of_default(cases[i].id, cases[i].text, &d));
    assert_int_equal(default_on_h100("batch_gemm/tiled", cases[3].text, "m_t"), 16);
    assert_int_equal(default_on_h100("dense/gemm_tiled", "dense f32 m=4096 n=4096 k=4096", "mwg"), 128);
    assert_int_equal(default_on_h100("deformable_conv2d/direct", cases[8].text, "dbuf_x"), 1);
    assert_int_equal(default_on_h100("dense/dense", "dense f32 m=1000 n=31 k=1", "m_t"), 4);
    assert_int_equal(default_on_h100("gather/rows", "gather f16 n=100 m=4096 inner=1", "wg"), 64);
    assert_int_equal(default_on_h100("softmax/rows", "softmax f32 m=100000 n=16", "rows"), 16);
    assert_int_equal(default_on_h100("norm/rows", "norm f16 m=1001 n=100", "rows"), 2);
    assert_int_equal(default_on_h100("reduce/rows", "reduce f32 outer=2048 n=49 kind=mean", "rows"), 4);
    assert_int_equal(default_on_h100("dense/small_batch", "dense f32 m=4 n=1000 k=1000", "kt"), 32);
    assert_int_equal(default_on_h100("dense/small_batch", "dense f32 m=1 n=4096 k=4096", "kt"), 128);
    assert_int_equal(default_on_h100("dense/small_batch", "dense f32 m=1 n=10 k=25088", "kt"), 512);
    assert_int_equal(default_on_h100("dense/small_batch", "dense f32 m=1000 n=4 k=1024", "n_r"), 4);
    assert_int_equal(default_on_h100("attention/tiled", "attention f32 b=1 heads=8 q=1 k=4096 d=64", "tx"), 32);
    assert_int_equal(default_on_h100("attention/tiled", "attention f32 b=1 heads=8 q=1 k=4096 d=64", "vec"), 4);
    assert_int_equal(default_on_h100("attention/tiled", "attention f32 b=1 heads=8 q=1 k=4096 d=64", "split"), 32);
}

/* Layers of MobileNet and EfficientNet whose groups had 28 items, or 2.56 times the layer's products. */
static void default_strips_of_depthwise_layers_are_whole_warps_of_their_products(void **state)
{
    static const char small[] = "depthwise_conv2d f32 n=16 c=1024 h=7 w=7 r=3 s=3 pad=1";
    static const char odd[] = "depthwise_conv2d f32 n=1 c=240 h=20 w=20 r=5 s=5 pad=2";
    const char *const id = "depthwise_conv2d/shared";

    (void)state;
    assert_in_range(default_on_h100(id, small, "work_items"), 32, 256);
    assert_int_equal(20 % default_on_h100(id, odd, "x_tile"), 0);
    assert_int_equal(20 % default_on_h100(id, odd, "y_tile"), 0);
}

static void default_strips_of_few_outputs_have_an_item_for_each(void **state)
{
    (void)state;
    assert_in_range(default_on_h100("conv2d/direct", "conv2d f32 n=1 c=64 h=4 w=4 k=1 r=3 s=3 pad=1", "work_items"), 4,
                    256);
    assert_in_range(default_on_h100("conv2d/direct", "conv2d f32 n=1 c=64 h=3 w=3 k=2 r=3 s=3 pad=1", "work_items"), 4,
                    256);
}

/* Bytes of sums in parts over those of the layer's own tensors, of the default on `d`; 0: not this template's. */
static double parts_of_default(const char *id, const char *text, const struct device_desc *d)
{
    const struct template *t = template_find(id);
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct program p;
    struct blobs blobs;
    double bytes = 0;

    if (workload_parse(text, &w, NULL) || !template_computes(t, w.op) || t->fit(&w, d, NULL) == FIT_NONE)
        return 0;
    blobs_init(&blobs, (size_t)1 << 28);
    assert_int_equal(template_space(t, &w, d, &s, NULL), ERR_OK);
    assert_int_equal(t->fallback(&w, d, s, &c), ERR_OK);
    assert_int_equal(template_kernels(t, &w, d, s, &c, &p, &blobs, NULL), ERR_OK);
    for (size_t i = 0; i < p.n_buffers; i++)
        if (strncmp(p.buffers[i].id, "part", 4) == 0)
            bytes = (double)p.buffers[i].n_elems * (double)dtype_bytes(p.buffers[i].dtype);
    program_fini(&p);
    blobs_fini(&blobs);
    space_free(s);
    return bytes / w.op->bytes_min(&w);
}

static void no_default_of_three_networks_writes_more_parts_than_twice_its_layer(void **state)
{
    static const char *const networks[] = {"vgg-16", "resnet-50", "mobilenet-v1", NULL};
    static const struct form forms[] = {{"conv2d/direct", NULL, NULL},
                                        {"conv2d/implicit_gemm", NULL, NULL},
                                        {"conv2d/i8", "i8", "nchw4c"},
                                        {"conv2d/implicit_gemm", "i8", "nchw4c"},
                                        {"conv2d/mma", "f16", NULL}};
    static const int devices_of[][2] = {{61, 28}, {80, 108}, {90, 132}};

    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++)
        for (size_t i = 0; i < sizeof devices_of / sizeof devices_of[0]; i++) {
            struct device_desc d;
            struct measured m;

            cuda_arch_describe(cuda_arch_find(devices_of[i][0]), devices_of[i][1], &d);
            m = measure_defaults(networks, &forms[f], &d, parts_of_default);
            printf("%s %s sm_%d: %d layers in parts, at most %.2f times their bytes\n", forms[f].id,
                   forms[f].dtype ? forms[f].dtype : "f32", devices_of[i][0], m.n, m.most);
            if (m.most > 2)
                fail_msg("%s, sm_%d, %s: parts of %.1f times its bytes", forms[f].id, devices_of[i][0], m.of_most,
                         m.most);
        }
}

/* Where no tile of a default's usual shape is valid: few outputs, one channel, windows far wider than their tile. */
static void odd_layers_have_defaults_wherever_a_template_takes_them(void **state)
{
    static const char *const layers[] = {
        "conv2d f32 n=1 c=47 h=73 w=73 k=1 r=1 s=2 stride=5,2 pad=0,1",
        "conv2d f16 n=1 c=131 h=9 w=2 k=1 r=5 s=1 stride=3,1 pad=4,0 dilation=2 acc=f16",
        "conv2d f32 n=1 c=32 h=2 w=2 k=32 r=33 s=1 pad=16,0 groups=32",
        "conv2d f16 n=1 c=12 h=27 w=8 k=2 r=2 s=3 stride=4,3 pad=10,71,67,43 dilation=18",
        "conv2d f32 n=1 c=31 h=3 w=3 k=3 r=7 s=7 stride=2 pad=54 dilation=18",
        "conv2d f16 n=16 c=257 h=3 w=5 k=16 r=4 s=4 stride=3 pad=18 dilation=12",
        "conv2d f32 n=1 c=47 h=1 w=1 k=3 r=13 s=3 stride=2 pad=108,18 dilation=18",
        "conv2d f32 n=5 c=131 h=15 w=33 k=48 r=5 s=5 stride=2 pad=41,42,31,45 dilation=12 layout=nchw8c",
        "sparse_conv2d f32 n=1 c=320 h=150 w=150 k=24 r=1 s=1 sparsity=0.95",
        "sparse_conv2d f32 n=32 c=16 h=32 w=32 k=31 r=3 s=3 stride=2 pad=1 sparsity=0.95",
        "sparse_conv2d f32 n=3 c=256 h=15 w=15 k=12 r=1 s=1 stride=2 sparsity=0.5",
        NULL,
    };

    (void)state;
    for (const char *const *layer = layers; *layer; layer++)
        for (size_t i = 0; i < N_DEVICES; i++)
            for_all_templates(*layer, &devices[i], check_fallback);
}

/* Images x channels beyond CUDA's 65,535 groups along y and z: MobileNet's last layer at a batch of 64. */
static void check_default_program(const struct template *t, const struct workload *w, const struct device_desc *d,
                                  const struct space *s, const char *text)
{
    struct program p;
    struct blobs blobs;
    struct config c;

    blobs_init(&blobs, (size_t)1 << 28);
    assert_int_equal(t->fallback(w, d, s, &c), ERR_OK);
    assert_int_equal(template_kernels(t, w, d, s, &c, &p, &blobs, NULL), ERR_OK);
    check_grid(t, d, &p, true, text);
    program_fini(&p);
    blobs_fini(&blobs);
}

static void default_grids_of_large_batches_are_within_cudas(void **state)
{
    static const char *const layers[] = {"depthwise_conv2d f32 n=64 c=1024 h=7 w=7 r=3 s=3 pad=1",
                                         "depthwise_conv2d f32 n=64 c=1152 h=15 w=15 r=3 s=3 stride=2 pad=1",
                                         "conv2d f32 n=64 c=1024 h=7 w=7 k=1024 r=3 s=3 pad=1 groups=32",
                                         "deformable_conv2d f32 n=64 c=1024 h=7 w=7 k=16 r=3 s=3 pad=1", NULL};

    (void)state;
    for (const char *const *layer = layers; *layer; layer++)
        for (size_t i = N_OPENCL; i < N_DEVICES; i++)
            for_all_templates(*layer, &devices[i], check_default_program);
}

static void equal_configs_give_equal_programs(void **state)
{
    const struct template *t = template_find("conv2d/direct_tile");
    struct sha256 hash[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct workload w;
        struct space *s = NULL;
        struct config c;
        struct program p;
        struct blobs blobs;

        blobs_init(&blobs, (size_t)1 << 28);
        assert_int_equal(workload_parse(cases_table[0]->shapes[0], &w, NULL), ERR_OK);
        assert_int_equal(template_space(t, &w, &devices[0], &s, NULL), ERR_OK);
        assert_int_equal(t->fallback(&w, &devices[0], s, &c), ERR_OK);
        assert_int_equal(template_program(t, &w, &devices[0], s, &c, &p, &blobs, NULL), ERR_OK);
        assert_int_equal(program_hash(&p, &hash[i]), ERR_OK);
        program_fini(&p);
        blobs_fini(&blobs);
        space_free(s);
    }
    assert_string_equal(hash[0].hex, hash[1].hex);
}

static const char *const kernel_files[] = {"preamble.h", "preamble_opencl.h", "preamble_store.h", "part.clh", "k.cl"};
#define N_KERNEL_FILES (sizeof kernel_files / sizeof kernel_files[0])

/* The text of k.cl from a folder whose files begin with `head`. */
static void text_behind(const char *head, struct buf *out)
{
    char dir[] = "/tmp/tune-kernels-XXXXXX", path[128];
    struct buf text;

    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < N_KERNEL_FILES; i++) {
        buf_init(&text, 4096);
        buf_printf(&text, "%s/* %s */\n%s", head, kernel_files[i],
                   strcmp(kernel_files[i], "k.cl") == 0 ? "#include \"part.clh\"\n" : "");
        snprintf(path, sizeof path, "%s/%s", dir, kernel_files[i]);
        assert_int_equal(file_replace(path, buf_text(&text), text.len, 0644, NULL), ERR_OK);
        buf_fini(&text);
    }
    assert_int_equal(template_set_kernel_dir(dir, NULL), ERR_OK);
    assert_int_equal(kernel_text("k.cl", LANG_OPENCL_C, out), ERR_OK);
    assert_int_equal(template_set_kernel_dir(NULL, NULL), ERR_OK);
    for (size_t i = 0; i < N_KERNEL_FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, kernel_files[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(dir), 0);
}

static void licences_are_no_part_of_programs(void **state)
{
    struct buf with, without;

    (void)state;
    buf_init(&with, 4096);
    buf_init(&without, 4096);
    text_behind("/* SPDX-License-Identifier: MIT */\n", &with);
    text_behind("", &without);
    for (size_t i = 0; i < N_KERNEL_FILES; i++)
        assert_non_null(strstr(buf_text(&without), kernel_files[i]));
    assert_string_equal(buf_text(&with), buf_text(&without));
    buf_fini(&with);
    buf_fini(&without);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_hold_their_defaults_programs_are_sane_and_derived_quantities_can_be_computed),
        cmocka_unit_test(arrays_of_groups_are_counted),
        cmocka_unit_test(layers_of_networks_have_defaults),
        cmocka_unit_test(persistent_steps_of_many_sums_are_not_unrolled),
        cmocka_unit_test(what_a_template_lacks_is_said_in_words),
        cmocka_unit_test(winograd_is_no_good_choice_for_few_channels),
        cmocka_unit_test(forms_for_cpus_refuse_cuda_devices),
        cmocka_unit_test(no_default_of_three_networks_writes_more_parts_than_twice_its_layer),
        cmocka_unit_test(parts_of_sums_have_no_more_bytes_than_their_layer),
        cmocka_unit_test(strided_windows_of_one_stage_no_pixels_between),
        cmocka_unit_test(tiles_of_default_strips_fit_their_layers),
        cmocka_unit_test(tiles_of_default_products_fit_their_sizes),
        cmocka_unit_test(default_strips_of_depthwise_layers_are_whole_warps_of_their_products),
        cmocka_unit_test(default_strips_of_few_outputs_have_an_item_for_each),
        cmocka_unit_test(odd_layers_have_defaults_wherever_a_template_takes_them),
        cmocka_unit_test(default_grids_of_large_batches_are_within_cudas),
        cmocka_unit_test(equal_configs_give_equal_programs),
        cmocka_unit_test(licences_are_no_part_of_programs),
    };

    seed = sample_seed(argc, argv);
    is_full = sample_flag(argc, argv, "--full");
    return cmocka_run_group_tests(tests, describe_devices, NULL);
}
