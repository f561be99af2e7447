/* SPDX-License-Identifier: MIT */
#include "tests/deploy/printed_set.h"

#include "deploy/network.h"
#include "tests/deploy/sample_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the plan made by hand ---- */

static const char *const lines_a[] = {"kernel a \"\?\?/\"\n", "\t\\ b\n", "last"}, *const lines_c[] = {"c\n"};
static const struct exec_module module_a = {lines_a, 3, "-DA=1 -DB=\"x\"", NULL, 0},
                                module_b = {lines_a, 3, "-DA=2 -DB=\"x\"", NULL, 0},
                                module_c = {lines_c, 1, "", NULL, 0};
static const struct exec_module *const modules[] = {&module_a, &module_b, &module_c};
static const unsigned char content[] = {0, 255, 1, 254, 2,  253, 3,  252, 4,  251, 5,  250, 6,  249, 7,  248,
                                        8, 247, 9, 246, 10, 245, 11, 244, 12, 243, 13, 242, 14, 241, 15, 240};
static const struct exec_buffer buffers[] = {
    {"x", EXEC_INPUT, 24, EXEC_FILL_NONE, {0}, 0, NULL, 0},
    {"w", EXEC_WEIGHT, 21, EXEC_FILL_NONE, {0}, 0, NULL, 0},
    {"b", EXEC_WEIGHT, 8, EXEC_FILL_NONE, {0}, 0, NULL, 0},
    {"y", EXEC_OUTPUT, 4, EXEC_FILL_NONE, {0}, 0, NULL, 0},
    {"p", EXEC_PACKED, 17, EXEC_FILL_NONE, {0}, 0, NULL, 0},
    {"st", EXEC_STATE, 12, EXEC_FILL_VALUE, {9, 8, 7, 6, 5, 4, 3, 2}, 4, NULL, 1},
    {"sc", EXEC_SCRATCH, sizeof content, EXEC_FILL_BYTES, {0}, 0, content, 0},
};
static const struct exec_arg args_of_kernel[] = {
    {EXEC_ARG_BUFFER, 6, 0, {0, 0, 0}},       {EXEC_ARG_I32, -2, 0, {1, -2, 3}},
    {EXEC_ARG_U32, 4000000000, 0, {0, 0, 5}}, {EXEC_ARG_I64, INT64_MIN, 0, {INT64_MIN, INT64_MAX, 0}},
    {EXEC_ARG_F32, 0, 0.1, {0, 0, 0}},        {EXEC_ARG_F32, 0, INFINITY, {0, 0, 0}},
    {EXEC_ARG_F32, 0, -INFINITY, {0, 0, 0}},  {EXEC_ARG_F32, 0, NAN, {0, 0, 0}},
    {EXEC_ARG_LOCAL, 1536, 0, {0, 0, 0}},     {EXEC_ARG_F64, 0, 1e-300, {0, 0, 0}},
};
static const struct exec_arg args_of_fill[] = {
    {EXEC_ARG_BUFFER, 5, 0, {0}}, {EXEC_ARG_I64, 42, 0, {0}}, {EXEC_ARG_I64, 4, 0, {0}}};
static const struct exec_arg args_of_copy[] = {
    {EXEC_ARG_BUFFER, 3, 0, {0}}, {EXEC_ARG_BUFFER, 4, 0, {0}}, {EXEC_ARG_I64, 16, 0, {0}}};
static const int after_both[] = {1, 3}, after_copy[] = {2};
static const struct exec_launch launches[] = {
    {EXEC_KERNEL, EXEC_PACK, 2, "pack_w", {2, 3, 5}, {7, 11, 13}, args_of_kernel, 10, INT64_C(1) << 33, 0, 0, NULL, 0},
    {EXEC_FILL, EXEC_RUN, 0, "", {1, 1, 1}, {1, 1, 1}, args_of_fill, 3, 0, 0, 0, NULL, 0},
    {EXEC_COPY, EXEC_RUN, 0, "", {1, 1, 1}, {1, 1, 1}, args_of_copy, 3, 0, 0, 7, after_both, 2},
    {EXEC_KERNEL, EXEC_RUN, 1, "step", {17, 19, 23}, {29, 31, 37}, NULL, 0, 0, 1, 2, after_copy, 1},
};
static const struct exec_loop loops[] = {{1, 3, 6}, {3, 3, INT64_C(1) << 40}};
static struct exec_plan by_hand = {BY_HAND, modules, 3, buffers, 7, launches, 4, loops, 2};

/* ---- its program: tensors, and the passes that test vectors are made of ---- */

static enum err put_numbers(struct blobs *blobs, struct sha256 *indices, struct sha256 *values, struct sha256 *scale)
{
    uint64_t at[N_INDEXED];
    double value[N_INDEXED], by[N_INDEXED];

    for (size_t i = 0; i < N_INDEXED; i++) {
        at[i] = 3 * i + 1;
        value[i] = (double)i / 7 - 50;
        by[i] = 1.0 / (double)(i + 3);
    }
    enum err e = blobs_put(blobs, at, sizeof at, indices);
    e = e == ERR_OK ? blobs_put(blobs, value, sizeof value, values) : e;
    return e == ERR_OK ? blobs_put(blobs, by, sizeof by, scale) : e;
}

static enum err add_checks(struct program_pass *pass, struct blobs *blobs)
{
    static const double few[] = {1.5, -0.1, 1e300};
    struct program_check *c = program_pass_check_add(pass, CHECK_SAMPLE, 3);
    c->n = 3;
    enum err e = blobs_put(blobs, few, sizeof few, &c->values);
    struct program_check *sums = program_pass_check_add(pass, CHECK_PROJECT, 3); /* makes no vector */
    sums->outer = sums->inner = sums->lanes = 1;
    sums->axis = 4000;
    sums->values = sha256_of("of sums", 7);
    c = program_pass_check_add(pass, CHECK_SAMPLE, 3);
    c->n = N_INDEXED;
    c->tolerance = 1.0 / 3;
    return e == ERR_OK ? put_numbers(blobs, &c->indices, &c->values, &c->scale) : e;
}

static void add_tensor(struct program *p, const char *id, enum buffer_role role, enum dtype t, int n_dims, int64_t a,
                       int64_t b, int64_t c)
{
    struct program_buffer *buffer = program_add_buffer(p, id, role, t, a * b * c);
    (void)snprintf(buffer->layout, sizeof buffer->layout, "l%d", n_dims);
    buffer->n_dims = n_dims;
    buffer->shape[0] = a;
    buffer->shape[1] = b;
    buffer->shape[2] = c;
}

static enum err make_program(struct program *p, struct blobs *blobs)
{
    static const struct program_fill zero = {.kind = FILL_ZERO, .lo = 9, .hi = 8},
                                     ints = {.kind = FILL_INT, .seed = 77, .lo = -3, .hi = 4, .step = .5};
    struct program_pass *pass;

    p->workload = strdup(BY_HAND);
    p->template_id = strdup("by/hand");
    p->knobs = cJSON_Parse("{\"vc\":4,\"order\":\"hwc\"}");
    p->flops = 3e9;
    add_tensor(p, "x", ROLE_INPUT, DTYPE_F32, 3, 1, 2, 3);
    add_tensor(p, "w", ROLE_WEIGHT, DTYPE_I8, 2, 7, 3, 1);
    add_tensor(p, "b", ROLE_WEIGHT, DTYPE_I32, 1, 2, 1, 1);
    add_tensor(p, "y", ROLE_OUTPUT, DTYPE_F16, 0, 1, 1, 4000);
    add_tensor(p, "p", ROLE_PACKED, DTYPE_U8, 1, 17, 1, 1);
    add_tensor(p, "st", ROLE_STATE, DTYPE_F32, 1, 3, 1, 1);
    add_tensor(p, "sc", ROLE_SCRATCH, DTYPE_U8, 1, 32, 1, 1);
    (void)program_add_kernel(p, PHASE_RUN, 0, "f", (const int64_t[]){1, 1, 1}, (const int64_t[]){1, 1, 1});
    p->buffers[2].fill = (struct program_fill){.kind = FILL_NORMAL, .seed = 5, .lo = .25, .hi = 2};
    pass = program_add_pass(p, "exact");
    enum err e = program_pass_fill_add(pass, 1, &ints);
    e = e == ERR_OK ? program_pass_fill_add(pass, 0, &zero) : e;
    return e == ERR_OK ? add_checks(pass, blobs) : e;
}

static enum err add_modules(struct program *p, struct blobs *blobs, const char *api)
{
    static const char *const texts[] = {"text of a and b", "text of a and b", "text of c"}, *const ids[] = {"a", "b",
                                                                                                            "c"};
    enum err e = ERR_OK;
    for (size_t i = 0; i < 3 && e == ERR_OK; i++) {
        struct program_module *m =
            program_add_module(p, ids[i], strcmp(api, "cuda") == 0 ? LANG_CUDA_C : LANG_OPENCL_C, "");
        e = blobs_put(blobs, texts[i], strlen(texts[i]), &m->source);
    }
    return e;
}

static enum err make_by_hand(struct deploy_layer *l, const char *api)
{
    memset(l, 0, sizeof *l);
    record_init(&l->record);
    program_init(&l->program);
    blobs_init(&l->blobs, (size_t)1 << 20);
    enum err e = make_program(&l->program, &l->blobs);
    e = e == ERR_OK ? add_modules(&l->program, &l->blobs, api) : e;
    l->workload = strdup(BY_HAND);
    l->plan = &by_hand;
    l->origin = DEPLOY_NEAREST;
    l->distance = 0.75;
    l->record.workload = strdup("kernel another");
    l->record.knobs = cJSON_Duplicate(l->program.knobs, true);
    (void)snprintf(l->record.template_id, sizeof l->record.template_id, "by/hand");
    l->record.template_version = 11;
    l->record.fingerprint = sha256_of("of the device", 13);
    l->record.program = sha256_of("program", 7);
    l->record.status = STATUS_OK;
    l->record.time_ns = 12345.5;
    l->record.flops = 3e9;
    l->record.se = 0.125;
    l->record.ts_ms = INT64_C(1700000000123);
    (void)snprintf(l->record.purpose, sizeof l->record.purpose, "final");
    (void)snprintf(l->record.proposed_by, sizeof l->record.proposed_by, "genetic");
    (void)snprintf(l->record.key, sizeof l->record.key, "a-key");
    (void)snprintf(l->record.job, sizeof l->record.job, "j9");
    (void)snprintf(l->record.id, sizeof l->record.id, "t17");
    (void)snprintf(l->record.protocol, sizeof l->record.protocol, "rounds-1");
    l->device = (struct device_desc){.units = 3, .threads = 5, .sm = 61};
    (void)snprintf(l->device.api, sizeof l->device.api, "%s", api);
    (void)snprintf(l->device.platform, sizeof l->device.platform, "a platform");
    (void)snprintf(l->device.platform_version, sizeof l->device.platform_version, "CUDA 12.4");
    (void)snprintf(l->device.vendor, sizeof l->device.vendor, "a vendor");
    (void)snprintf(l->device.name, sizeof l->device.name, "a \"name\"");
    (void)snprintf(l->device.driver, sizeof l->device.driver, "a driver");
    (void)snprintf(l->device.extensions, sizeof l->device.extensions, "cl_a cl_b");
    (void)snprintf(l->device.dots, sizeof l->device.dots, "some dots");
    l->record.device = device_desc_to_json(&l->device);
    return e;
}

/* ---- the set ---- */

static const struct set_sample samples[] = {
    {"conv-1", "conv2d f32 n=1 c=5 h=9 w=11 k=7 r=3 s=3 stride=2 pad=1", "conv2d/naive"},
    {"", "dense f32 m=8 n=32 k=16", "dense/naive"},
    {"int", "dense f16 m=4 n=33 k=64 epilogue=bias", "dense/naive"},
    {"short.cut", "conv2d f32 n=1 c=16 h=12 w=12 k=16 r=3 s=3 pad=1 epilogue=bias_add_relu", "conv2d/winograd_tile"},
    {"loops", "rnn f32 i=5 h=7 b=3 t=6", "rnn/plan"},
    {"no_weights", "pool2d f32 n=1 c=4 h=9 w=9 r=3 s=3 stride=2 pad=1", "pool2d/naive"},
    {"bytes", "sparse_conv2d f32 n=1 c=16 h=8 w=8 k=16 r=3 s=3 pad=1 sparsity=0.8", "sparse_conv2d/csr"},
    {"conv-2", "conv2d f32 n=1 c=5 h=9 w=11 k=7 r=3 s=3 stride=2 pad=1", "conv2d/naive"},
};

#define N_SAMPLES (sizeof samples / sizeof samples[0])

static enum err add_by_hand(struct deploy_set *s, const char *api, struct why *why)
{
    struct deploy_layer l;
    enum err e = make_by_hand(&l, api);
    e = e == ERR_OK ? deploy_set_take(s, &l, why) : why_set(why, e, "the layer by hand cannot be made");
    return e == ERR_OK ? deploy_set_call(s, "by hand", BY_HAND, why) : e;
}

static enum err add_codes(struct deploy_set *s)
{
    enum err e = deploy_code_add(&s->modules[0].code, "compute_61", content, sizeof content);
    e = e == ERR_OK ? deploy_code_add(&s->modules[0].code, "sm_75", content + 5, 3) : e;
    return e == ERR_OK ? deploy_code_add(&s->modules[2].code, "sm_61", content + 8, 24) : e;
}

static enum err add_best(struct best_set *best, const char *workload, const char *template_id, double time_ns)
{
    struct record r;
    if (!sample_record(workload, template_id, &r)) {
        return ERR_INPUT;
    }
    r.time_ns = time_ns;
    const enum err e = best_add(best, &r);
    record_fini(&r);
    return e;
}

/* A convolution in nchw16c, whose config others take; one that is so fast in nchw that two transforms are worth it; the
 * dense layer. */
const struct printed_best printed_best[N_PRINTED_BEST] = {
    {"conv2d f32 n=1 c=512 h=7 w=7 k=512 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_relu", "conv2d/direct_tile", 5e6},
    {"conv2d f32 n=1 c=128 h=28 w=28 k=256 r=1 s=1 stride=2 epilogue=bias", "conv2d/direct_tile", 1e3},
    {"dense f32 m=1 n=1000 k=512 epilogue=bias", "dense/naive", 5e3}};

static enum err add_network(struct deploy_set *s, struct why *why)
{
    const struct deploy_network_options o = {
        .network = "resnet-18", .dtype = DTYPE_F32, .layouts = 1 | 1u << 3, .calls = false, .exact = false};
    struct best_set *best = NULL;
    enum err e = best_new(&best);
    for (size_t i = 0; i < N_PRINTED_BEST && e == ERR_OK; i++) {
        e = add_best(best, printed_best[i].workload, printed_best[i].template_id, printed_best[i].time_ns);
    }
    e = e == ERR_OK ? deploy_network_make(s, best, &o, why) : e;
    best_free(best);
    return e == ERR_OK ? deploy_set_call(s, "fc", printed_best[2].workload, why) : e;
}

enum err printed_set_init(struct deploy_set *s, const char *api, struct why *why)
{
    const bool cuda = strcmp(api, "cuda") == 0, network = strcmp(api, "network") == 0;
    enum err e = deploy_set_init(s, network ? "whole" : cuda ? "cu" : "net", why);
    if (network) {
        e = e == ERR_OK ? add_network(s, why) : e;
        return e == ERR_OK ? deploy_set_share(s, why) : e;
    }
    for (size_t i = 0; i < N_SAMPLES && e == ERR_OK && !cuda; i++) {
        e = sample_set_add(s, &samples[i], 1000.0 * (double)(i + 1), why);
    }
    e = e == ERR_OK ? add_by_hand(s, api, why) : e;
    e = e == ERR_OK ? deploy_set_share(s, why) : e;
    return e == ERR_OK && cuda ? add_codes(s) : e;
}

void printed_set_fini(struct deploy_set *s)
{
    for (size_t i = 0; i < s->n_layers; i++) {
        if (s->layers[i].plan == &by_hand) {
            s->layers[i].plan = NULL; /* not of plan_of_program */
        }
    }
    deploy_set_fini(s);
}
