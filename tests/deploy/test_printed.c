/* SPDX-License-Identifier: MIT */
/* Bundles say what they were made of: the C text of a bundle, compiled into this test, has the tables that the set has
 * in memory; its vectors are samples of the program's expected values; manifest and header name each record's figures.
 */
#include "tests/deploy/printed.h"

#include "cl/net_vectors.h"
#include "whole/whole.h"
#include "core/file.h"
#include "core/json.h"
#include "kernels/workload.h"
#include "tests/deploy/printed_set.h"
#include "deploy/network.h"
#include "deploy/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct deploy_set cl, cu, whole;

static void same_double(double a, double b)
{
    if (!(a == b || (isnan(a) && isnan(b)))) {
        fail_msg("%.17g, expected %.17g", a, b);
    }
}

/* ---- plans ---- */

static void same_module(const struct exec_module *a, const struct exec_module *b, bool with_text)
{
    assert_string_equal(a->options, b->options);
    assert_int_equal(a->n_lines, with_text ? b->n_lines : 0);
    for (int i = 0; i < a->n_lines; i++) {
        assert_string_equal(a->lines[i], b->lines[i]);
    }
}

static void same_buffer(const struct exec_buffer *a, const struct exec_buffer *b)
{
    assert_string_equal(a->id, b->id);
    assert_int_equal(a->role, b->role);
    assert_int_equal(a->n_bytes, b->n_bytes);
    assert_int_equal(a->fill, b->fill);
    assert_memory_equal(a->pattern, b->pattern, sizeof a->pattern);
    assert_int_equal(a->n_pattern, b->n_pattern);
    assert_int_equal(a->each_run, b->each_run);
    if (b->fill == EXEC_FILL_BYTES) {
        assert_memory_equal(a->bytes, b->bytes, b->n_bytes);
    } else {
        assert_null(a->bytes);
    }
}

static void same_launch(const struct exec_launch *a, const struct exec_launch *b)
{
    assert_int_equal(a->op, b->op);
    assert_int_equal(a->phase, b->phase);
    assert_int_equal(a->i_module, b->i_module);
    assert_string_equal(a->kernel, b->kernel);
    assert_memory_equal(a->grid, b->grid, sizeof a->grid);
    assert_memory_equal(a->block, b->block, sizeof a->block);
    assert_int_equal(a->n_args, b->n_args);
    assert_int_equal(a->dyn_local, b->dyn_local);
    assert_int_equal(a->cooperative, b->cooperative);
    assert_int_equal(a->queue, b->queue);
    assert_int_equal(a->n_after, b->n_after);
    for (int i = 0; i < a->n_after; i++) {
        assert_int_equal(a->after[i], b->after[i]);
    }
    for (int i = 0; i < a->n_args; i++) {
        assert_int_equal(a->args[i].kind, b->args[i].kind);
        assert_int_equal(a->args[i].integer, b->args[i].integer);
        same_double(a->args[i].real, b->args[i].real);
        assert_memory_equal(a->args[i].bump, b->args[i].bump, sizeof a->args[i].bump);
    }
}

static void same_plan(const struct exec_plan *a, const struct exec_plan *b, bool with_text)
{
    assert_string_equal(a->workload, b->workload);
    assert_int_equal(a->n_modules, b->n_modules);
    assert_int_equal(a->n_buffers, b->n_buffers);
    assert_int_equal(a->n_launches, b->n_launches);
    assert_int_equal(a->n_loops, b->n_loops);
    for (int i = 0; i < b->n_modules; i++) {
        same_module(a->modules[i], b->modules[i], with_text);
    }
    for (int i = 0; i < b->n_buffers; i++) {
        same_buffer(&a->buffers[i], &b->buffers[i]);
    }
    for (int i = 0; i < b->n_launches; i++) {
        same_launch(&a->launches[i], &b->launches[i]);
    }
    for (int i = 0; i < b->n_loops; i++) {
        assert_int_equal(a->loops[i].first, b->loops[i].first);
        assert_int_equal(a->loops[i].last, b->loops[i].last);
        assert_int_equal(a->loops[i].count, b->loops[i].count);
    }
}

static void plans_are_those_of_the_programs(void **state)
{
    const struct printed p = printed_cl();
    (void)state;
    assert_int_equal(p.n_plans, cl.n_layers);
    assert_true(p.n_plans > 1);
    for (size_t i = 0; i < p.n_plans; i++) {
        same_plan(&p.plans[i], cl.layers[i].plan, true);
    }
}

static void modules_of_one_text_and_options_are_one(void **state)
{
    const struct exec_plan *p = &printed_cl().plans[cl.n_layers - 1];
    (void)state;
    assert_ptr_not_equal(p->modules[0], p->modules[1]); /* one text, other options */
    assert_ptr_equal(p->modules[0]->lines, p->modules[1]->lines);
    assert_ptr_not_equal(p->modules[0]->lines, p->modules[2]->lines);
    assert_int_equal(cu.n_modules, 3); /* its options differ in one digit */
    assert_int_equal(cu.n_texts, 2);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(deploy_set_module(&cu, &cu.layers[0], i), i);
        assert_string_equal(cu.modules[i].module->options, cu.layers[0].plan->modules[i]->options);
    }
}

static void cuda_has_its_code_instead_of_text(void **state)
{
    static const char *const targets[] = {"compute_61", "sm_75"};
    const struct printed p = printed_cu();
    const struct exec_module *first = p.plans[0].modules[0];
    (void)state;
    assert_int_equal(p.n_plans, 1);
    same_plan(&p.plans[0], cu.layers[0].plan, false);
    assert_int_equal(first->n_binaries, 2);
    for (int i = 0; i < 2; i++) {
        const struct exec_binary *a = &first->binaries[i], *b = &cu.modules[0].code.list[i];
        assert_string_equal(a->target, targets[i]);
        assert_int_equal(a->n_bytes, i == 0 ? 32 : 3);
        assert_memory_equal(a->bytes, b->bytes, b->n_bytes);
        assert_true(a->sum == b->sum && a->sum > UINT32_MAX); /* all 64 bits of it */
    }
    assert_int_equal(p.plans[0].modules[1]->n_binaries, 0);
    assert_int_equal(p.plans[0].modules[2]->n_binaries, 1);
    assert_int_equal(p.plans[0].modules[2]->binaries[0].n_bytes, 24);
}

/* ---- layers and the device ---- */

static void same_tensor(const struct net_tensor *t, const struct program_buffer *b)
{
    static const enum net_role roles[N_ROLES] = {
        [ROLE_INPUT] = NET_INPUT, [ROLE_WEIGHT] = NET_WEIGHT, [ROLE_OUTPUT] = NET_OUTPUT};
    assert_string_equal(t->name, b->id);
    assert_string_equal(t->dtype, dtype_name(b->dtype));
    assert_string_equal(t->layout, b->layout);
    assert_int_equal(t->role, roles[b->role]);
    assert_int_equal(t->n_dims, b->n_dims);
    for (int d = 0; d < b->n_dims; d++) {
        assert_int_equal(t->shape[d], b->shape[d]);
    }
    assert_int_equal(t->n_bytes, (size_t)b->n_elems * dtype_bytes(b->dtype));
}

static int same_tensors(const struct net_layer *a, const struct program *p)
{
    int n = 0;
    for (size_t i = 0; i < p->n_buffers; i++) {
        const enum buffer_role role = p->buffers[i].role;
        if (role == ROLE_INPUT || role == ROLE_WEIGHT || role == ROLE_OUTPUT) {
            assert_true(n < a->n_tensors);
            same_tensor(&a->tensors[n++], &p->buffers[i]);
        }
    }
    assert_int_equal(a->n_tensors, n);
    return n;
}

static void layers_say_what_their_records_say(void **state)
{
    const struct printed p = printed_cl();
    const struct net_layer *layers = p.layers;
    int n_most = 0;
    (void)state;
    assert_int_equal(p.n_layers, cl.n_calls);
    for (size_t i = 0; i < p.n_layers; i++) {
        const struct net_layer *a = &layers[i];
        const struct deploy_layer *l = &cl.layers[cl.calls[i].i_layer];
        const int n = same_tensors(a, &l->program);
        n_most = n > n_most ? n : n_most;
        assert_string_equal(a->name, cl.calls[i].symbol);
        assert_string_equal(a->called, cl.calls[i].called);
        assert_string_equal(a->workload, l->workload);
        assert_string_equal(a->template_id, l->record.template_id);
        assert_int_equal(a->template_version, l->record.template_version);
        assert_string_equal(a->program, l->record.program.hex);
        assert_string_equal(a->status, "ok");
        assert_string_equal(a->purpose, "final");
        assert_string_equal(a->proposed_by, l->record.proposed_by);
        same_double(a->flops, l->program.flops);
        same_double(a->time_ns, l->record.time_ns);
        assert_true(fabs(a->gflops - l->record.flops / l->record.time_ns) <= 1e-5 * a->gflops);
        assert_int_equal(a->i_plan, cl.calls[i].i_layer);
    }
    assert_int_equal(p.max_tensors, n_most);
    assert_string_equal(layers[0].choice, "record");
    assert_string_equal(layers[p.n_layers - 1].choice, "nearest");
    assert_string_equal(layers[p.n_layers - 1].knobs, "vc=4 order=hwc");
    assert_string_equal(layers[p.n_layers - 1].called, "by hand");
}

static void the_device_is_that_of_the_records(void **state)
{
    const struct printed p = printed_cu();
    (void)state;
    assert_string_equal(p.device, "a \"name\"");
    assert_string_equal(p.fingerprint, sha256_of("of the device", 13).hex);
    assert_int_equal(p.threads, 5);
    assert_string_equal(p.tuned_on->fingerprint, p.fingerprint);
    assert_string_equal(p.tuned_on->platform, "a platform");
    assert_string_equal(p.tuned_on->platform_version, "CUDA 12.4");
    assert_string_equal(p.tuned_on->vendor, "a vendor");
    assert_string_equal(p.tuned_on->name, p.device);
    assert_string_equal(p.tuned_on->driver, "a driver");
    assert_string_equal(p.tuned_on->extensions, "cl_a cl_b");
    assert_string_equal(p.tuned_on->dots, "some dots");
    assert_int_equal(p.tuned_on->units, 3);
    assert_int_equal(p.tuned_on->threads, 5);
    assert_int_equal(p.tuned_on->sm, 61);
    assert_string_equal(printed_cl().device, "sample device");
    assert_int_equal(printed_cl().threads, 1);
}

/* ---- vectors ---- */

/* The vectors of one workload, from the i-th of them on. */
static const struct net_vector *vector_of(const char *workload, size_t i)
{
    size_t n = 0;
    const struct net_vector *all = net_vectors_all(&n);
    for (size_t k = 0; k < n; k++) {
        if (strcmp(all[k].workload, workload) == 0 && i-- == 0) {
            return &all[k];
        }
    }
    return NULL;
}

static void vectors_have_the_fills_of_their_pass(void **state)
{
    static const struct net_vector_fill expected[] = {{"x", NET_VECTOR_VALUE, 0, 0, 8, 0},
                                                      {"w", NET_VECTOR_INT, 77, -3, 4, .5},
                                                      {"b", NET_VECTOR_NORMAL, 5, .25, 2, 0}};
    const struct net_vector *v = vector_of(BY_HAND, 0);
    (void)state;
    assert_non_null(v);
    assert_int_equal(v->n_fills, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(v->fills[i].tensor, expected[i].tensor);
        assert_int_equal(v->fills[i].kind, expected[i].kind);
        assert_int_equal(v->fills[i].seed, expected[i].seed);
        same_double(v->fills[i].lo, expected[i].lo);
        same_double(v->fills[i].hi, expected[i].hi);
        same_double(v->fills[i].step, expected[i].step);
    }
}

static void vectors_are_samples_of_expected_values(void **state)
{
    const struct net_vector *few = vector_of(BY_HAND, 0), *many = vector_of(BY_HAND, 1);
    (void)state;
    assert_non_null(many);
    assert_null(vector_of(BY_HAND, 2)); /* sums along an axis make none */
    assert_string_equal(few->pass, "exact");
    assert_string_equal(few->tensor, "y");
    assert_int_equal(few->n, 3);
    assert_true(few->values[0] == 1.5 && few->values[1] == -0.1 && few->values[2] == 1e300);
    assert_true(few->indices[0] == 0 && few->indices[1] == 1 && few->indices[2] == 2);
    assert_true(few->tolerance == 0 && few->scale == NULL);
    assert_true(many->tolerance == 1.0 / 3);
    assert_int_equal(many->n, 512);
    for (size_t i = 0; i < many->n; i++) {
        const uint64_t k = (many->indices[i] - 1) / 3; /* the k-th of 1000: see printed_set.c */
        assert_true(many->indices[i] % 3 == 1 && k < N_INDEXED);
        assert_true(i == 0 ? k == 0 : many->indices[i] > many->indices[i - 1]);
        assert_true(fabs((double)k - (double)i * N_INDEXED / 512) <= 1); /* evenly over all of them */
        same_double(many->values[i], (double)k / 7 - 50);
        same_double(many->scale[i], 1.0 / (double)(k + 3));
    }
}

/* Every sampled check of every layer is there, in order. */
static void every_layer_has_its_vectors(void **state)
{
    size_t n = 0, i_vector = 0;
    const struct net_vector *all = net_vectors_all(&n);
    (void)state;
    for (size_t i = 0; i < cl.n_layers; i++) {
        const struct program *p = &cl.layers[i].program;
        for (size_t j = 0; j < p->n_passes; j++) {
            for (size_t k = 0; k < p->passes[j].n_checks; k++) {
                const struct program_check *c = &p->passes[j].checks[k];
                if (c->kind != CHECK_SAMPLE) {
                    continue;
                }
                assert_true(i_vector < n);
                assert_string_equal(all[i_vector].workload, cl.layers[i].workload);
                assert_string_equal(all[i_vector].pass, p->passes[j].id);
                assert_string_equal(all[i_vector].tensor, p->buffers[c->i_buffer].id);
                assert_int_equal(all[i_vector++].n, c->n < 512 ? c->n : 512);
            }
        }
    }
    assert_int_equal(i_vector, n);
    assert_true(n > cl.n_layers);
}

/* ---- header, manifest, files ---- */

static void read_printed(const char *name, struct buf *out)
{
    char path[4096];
    (void)snprintf(path, sizeof path, PRINTED_DIR "/%s", name);
    buf_init(out, 1 << 26);
    assert_int_equal(file_read(path, out, NULL), ERR_OK);
}

static void has(const struct buf *text, const char *words)
{
    if (strstr(buf_text(text), words) == NULL) {
        fail_msg("not in it: %s", words);
    }
}

/* 8 x 32 x 16 multiplications and additions are 8192 operations, in 2 microseconds. */
static void the_header_tells_tensors_and_times(void **state)
{
    struct buf text;
    (void)state;
    read_printed("cl/net.h", &text);
    has(&text, "\n/* conv-1: conv2d f32 n=1 c=5 h=9 w=11 k=7 r=3 s=3 stride=2 pad=1\n"
               " *   x: f32 nchw [1,5,9,11]\n");
    has(&text, "\n/* dense f32 m=8 n=32 k=16\n");
    has(&text, " * dense/naive, 0.002 ms, 4.1 GFLOPS when it was tuned. */\n");
    has(&text, " *   w: i8 l2 [7,3]\n *   b: i32 l1 [2]\n *   y: f16 l0 []\n"
               " * by/hand, config of kernel another: not measured for this workload. */\n");
    has(&text, "#define NET_N_LAYERS 9\n");
    assert_null(strstr(buf_text(&text), "*   st:"));
    buf_fini(&text);
}

static void functions_pass_tensors_in_their_order(void **state)
{
    struct buf text;
    (void)state;
    read_printed("cl/net.c", &text);
    has(&text, "    const cl_mem list[] = {x, y};\n    return net_layer_run(&net_layers[8], queue, list, packed);\n");
    has(&text,
        "    const void *const list[] = {w, b};\n    return net_layer_pack(&net_layers[8], queue, list, out);\n");
    has(&text, "    return net_layer_pack(&net_layers[5], queue, NULL, out);\n"); /* a pool has no weights */
    buf_fini(&text);
    read_printed("cu/cu.c", &text);
    has(&text, "    const cu_mem list[] = {x, y};\n    return cu_layer_run(&cu_layers[0], stream, list, packed);\n");
    buf_fini(&text);
}

/* The text that is compiled into this test, whose tables are compared above, was printed when it was built. */
static void a_set_is_printed_alike_each_time(void **state)
{
    static const struct {
        const struct deploy_set *set;
        const char *name;
    } all[] = {{&cl, "cl/net.c"}, {&cu, "cu/cu.c"}, {&whole, "whole/whole.c"}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct buf before, now;
        struct why why = {""};
        size_t n_line = 2, k = 0;
        const char *from, *text;
        read_printed(all[i].name, &before);
        from = strchr(buf_text(&before), '\n') + 1; /* behind the licence */
        buf_init(&now, 1 << 26);
        assert_int_equal(deploy_text_source(all[i].set, &now, &why), ERR_OK);
        text = buf_text(&now);
        for (; from[k] != '\0' && text[k] == from[k]; k++) {
            n_line += from[k] == '\n';
        }
        if (strcmp(text, from) != 0) {
            fail_msg("%s is printed otherwise now, from line %zu", all[i].name, n_line);
        }
        buf_fini(&before);
        buf_fini(&now);
    }
}

static void text_is(const cJSON *o, const char *name, const char *expected)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);
    if (!cJSON_IsString(v) || strcmp(v->valuestring, expected) != 0) {
        fail_msg("%s: '%s', expected '%s'", name, cJSON_IsString(v) ? v->valuestring : "none", expected);
    }
}

static void number_is(const cJSON *o, const char *name, double expected)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);
    if (!cJSON_IsNumber(v) || fabs(v->valuedouble - expected) > 1e-12 * fabs(expected)) {
        fail_msg("%s: %.17g, expected %.17g", name, cJSON_IsNumber(v) ? v->valuedouble : NAN, expected);
    }
}

static cJSON *manifest_of(const char *name)
{
    struct buf text;
    cJSON *root = NULL;
    read_printed(name, &text);
    assert_int_equal(json_parse(buf_text(&text), text.len, &root, NULL), ERR_OK);
    buf_fini(&text);
    return root;
}

static void the_manifest_names_what_each_layer_is_of(void **state)
{
    cJSON *root = manifest_of("cl/manifest.json");
    const cJSON *layers = cJSON_GetObjectItem(root, "layers");
    const cJSON *l = cJSON_GetArrayItem(layers, (int)cl.n_layers - 1), *names;
    (void)state;
    text_is(root, "name", "net");
    text_is(root, "tune", TUNE_VERSION);
    assert_int_equal(cJSON_GetArraySize(layers), cl.n_layers);
    text_is(l, "workload", BY_HAND);
    text_is(l, "choice", "nearest");
    text_is(l, "of", "kernel another");
    number_is(l, "distance", 0.75);
    text_is(l, "template", "by/hand");
    number_is(l, "template_version", 11);
    text_is(cJSON_GetObjectItem(l, "knobs"), "order", "hwc");
    text_is(l, "program", sha256_of("program", 7).hex);
    text_is(l, "fingerprint", sha256_of("of the device", 13).hex);
    text_is(cJSON_GetObjectItem(l, "device"), "name", "a \"name\"");
    number_is(l, "flops", 3e9);
    text_is(l, "status", "ok");
    text_is(l, "purpose", "final");
    text_is(l, "proposed_by", "genetic");
    text_is(l, "key", "a-key");
    text_is(l, "job", "j9");
    text_is(l, "record", "t17");
    text_is(l, "protocol", "rounds-1");
    number_is(l, "time_ns", 12345.5);
    number_is(l, "gflops", 3e9 / 12345.5);
    number_is(l, "se", 0.125);
    number_is(l, "ts", 1700000000123.0);
    names = cJSON_GetObjectItem(cJSON_GetArrayItem(layers, 0), "names"); /* one layer, two names */
    assert_int_equal(cJSON_GetArraySize(names), 2);
    text_is(cJSON_GetArrayItem(names, 0), "symbol", "conv_1");
    text_is(cJSON_GetArrayItem(names, 1), "symbol", "conv_2");
    text_is(cJSON_GetArrayItem(names, 1), "layer", "conv-2");
    text_is(cJSON_GetArrayItem(layers, 0), "choice", "record");
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(layers, 0), "of"));
    cJSON_Delete(root);
}

/* Of each code: the text it was made of, with which options, for what, and a file with its bytes. */
static void the_manifest_lists_code_made_ahead(void **state)
{
    static const struct {
        const char *options, *target, *ending;
        size_t i_module, i_code;
    } codes[] = {{"-DA=1 -DB=\"x\"", "compute_61", ".ptx", 0, 0},
                 {"-DA=1 -DB=\"x\"", "sm_75", ".cubin", 0, 1},
                 {"", "sm_61", ".cubin", 2, 0}};
    cJSON *root = manifest_of("cu/manifest.json");
    const cJSON *list = cJSON_GetObjectItem(root, "binaries");
    (void)state;
    assert_int_equal(cJSON_GetArraySize(list), 3);
    for (size_t i = 0; i < 3; i++) {
        const cJSON *o = cJSON_GetArrayItem(list, (int)i);
        const struct deploy_module *m = &cu.modules[codes[i].i_module];
        const struct exec_binary *b = &m->code.list[codes[i].i_code];
        char path[200], file[300];
        struct buf bytes;
        (void)snprintf(path, sizeof path, "kernels/%s%s", sha256_of(b->bytes, b->n_bytes).hex, codes[i].ending);
        text_is(o, "text", m->source->name.hex);
        text_is(o, "options", codes[i].options);
        text_is(o, "target", codes[i].target);
        text_is(o, "path", path);
        (void)snprintf(file, sizeof file, "cu/%s", path);
        read_printed(file, &bytes);
        assert_int_equal(bytes.len, b->n_bytes);
        assert_memory_equal(bytes.data, b->bytes, b->n_bytes);
        buf_fini(&bytes);
    }
    cJSON_Delete(root);
}

static void kernel_texts_are_files_by_hash(void **state)
{
    static const char text[] = "text of c";
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char path[200];
        struct buf bytes;
        (void)snprintf(path, sizeof path, i == 0 ? "cl/kernels/%s.cl" : "cu/kernels/%s.cu",
                       sha256_of(text, strlen(text)).hex);
        read_printed(path, &bytes);
        assert_string_equal(buf_text(&bytes), text);
        buf_fini(&bytes);
    }
}

static void plan_json_has_every_program(void **state)
{
    cJSON *root = manifest_of("cl/plan.json");
    const cJSON *layers = cJSON_GetObjectItem(root, "layers");
    (void)state;
    number_is(root, "schema", 2);
    assert_int_equal(cJSON_GetArraySize(layers), cl.n_layers);
    for (size_t i = 0; i < cl.n_layers; i++) {
        const cJSON *o = cJSON_GetArrayItem(layers, (int)i);
        struct buf text;
        cJSON *program = NULL;
        buf_init(&text, PROGRAM_MAX_BYTES);
        assert_int_equal(program_to_json(&cl.layers[i].program, &text), ERR_OK);
        assert_int_equal(json_parse(buf_text(&text), text.len, &program, NULL), ERR_OK);
        text_is(o, "workload", cl.layers[i].workload);
        assert_true(cJSON_Compare(cJSON_GetObjectItem(o, "program"), program, true));
        cJSON_Delete(program);
        buf_fini(&text);
    }
    cJSON_Delete(root);
}

static void builds_know_the_interface(void **state)
{
    struct buf text;
    (void)state;
    read_printed("cl/CMakeLists.txt", &text);
    has(&text, "project(net VERSION " TUNE_VERSION " LANGUAGES C)\n");
    has(&text, "set(net_CUDA OFF)\n");
    buf_fini(&text);
    read_printed("cu/cuConfig.cmake", &text);
    has(&text, "set(cu_CUDA ON)\n");
    buf_fini(&text);
}

/* ---- a whole network ---- */

/* The tensors of a step in the order of its program's buffers, whatever that is. */
static void same_values(const struct exec_step *a, const struct lowered_step *b, const struct program *p)
{
    int n = 0;
    for (size_t i = 0; i < p->n_buffers; i++) {
        const char *id = p->buffers[i].id;
        if (p->buffers[i].role == ROLE_OUTPUT) {
            assert_int_equal(a->values[n++], b->out);
        } else if (p->buffers[i].role == ROLE_INPUT) {
            const bool second = strcmp(id, "residual") == 0 || strcmp(id, "b") == 0;
            assert_true(second || strcmp(id, "x") == 0 || strcmp(id, "a") == 0);
            assert_int_equal(a->values[n++], b->in[second]);
        }
    }
    assert_int_equal(n, b->n_in + 1);
    assert_int_equal(a->n_values, n);
}

static void steps_are_those_of_the_network(void **state)
{
    const struct exec_network *n;
    const struct printed p = printed_whole(&n);
    const struct lowered *l = &whole.network->lowered;
    (void)state;
    assert_string_equal(n->name, "resnet-18");
    assert_int_equal(WHOLE_N_STEPS, l->n_steps);
    assert_int_equal(n->n_steps, l->n_steps);
    assert_int_equal(n->n_plans, whole.n_layers);
    for (size_t i = 0; i < l->n_steps; i++) {
        const struct exec_step *a = &n->steps[i];
        const struct lowered_step *b = &l->steps[i];
        const struct deploy_layer *d = deploy_set_find(&whole, b->workload);
        assert_non_null(d);
        assert_string_equal(a->layer, b->name);
        assert_ptr_equal(n->plans[a->i_plan], &p.plans[a->i_plan]);
        assert_string_equal(n->plans[a->i_plan]->workload, b->workload);
        same_values(a, b, &d->program);
        same_double(a->time_ns, d->record.time_ns);
        assert_string_equal(whole_steps[i].layer, b->name);
        assert_string_equal(whole_steps[i].workload, b->workload);
        assert_string_equal(whole_steps[i].template_id, d->program.template_id);
        assert_string_equal(whole_steps[i].choice, deploy_origin_name(d->origin));
        same_double(whole_steps[i].flops, d->program.flops);
        same_double(whole_steps[i].time_ns, d->record.time_ns);
    }
}

static void values_lie_in_slots_or_are_the_callers(void **state)
{
    const struct exec_network *n;
    const struct lowered *l = &whole.network->lowered;
    size_t n_callers = 0;
    (void)state;
    (void)printed_whole(&n);
    assert_int_equal(n->n_values, l->n_tensors);
    assert_int_equal(n->n_slots, l->n_slots);
    for (size_t i = 0; i < l->n_slots; i++) {
        assert_int_equal(n->slot_bytes[i], l->slot_bytes[i]);
    }
    for (size_t i = 0; i < l->n_tensors; i++) {
        const struct lowered_tensor *t = &l->tensors[i];
        assert_string_equal(n->values[i].name, t->name);
        assert_int_equal(n->values[i].n_bytes, t->n_bytes);
        assert_int_equal(n->values[i].slot, t->i_slot >= 0 ? t->i_slot : i == 0 ? EXEC_ARGUMENT(0) : EXEC_ARGUMENT(1));
        n_callers += t->i_slot < 0;
    }
    assert_int_equal(n_callers, 2);
    assert_int_equal(n->n_arguments, 2);
}

/* 21 convolutions and one dense layer, a bias each. */
static void weights_are_told_with_shapes_and_bytes(void **state)
{
    static const struct {
        size_t i;
        const char *layer, *dtype;
        int n_dims;
        int64_t shape[4];
        size_t n_bytes;
    } some[] = {{0, "conv0", "f32", 4, {64, 3, 7, 7}, 37632},
                {1, "conv0", "f32", 1, {64}, 256},
                {42, "fc1", "f32", 2, {1000, 512}, 2048000},
                {43, "fc1", "f32", 1, {1000}, 4000}};
    size_t n_weighted = 0;
    (void)state;
    for (size_t i = 0; i < WHOLE_N_STEPS; i++) {
        n_weighted +=
            strncmp(whole_steps[i].workload, "conv2d ", 7) == 0 || strncmp(whole_steps[i].workload, "dense ", 6) == 0;
    }
    assert_int_equal(n_weighted, 22);
    assert_int_equal(WHOLE_N_NETWORK_WEIGHTS, 44);
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        const struct whole_network_weight *w = &whole_network_weights[some[i].i];
        assert_string_equal(w->layer, some[i].layer);
        assert_string_equal(w->dtype, some[i].dtype);
        assert_int_equal(w->n_dims, some[i].n_dims);
        assert_memory_equal(w->shape, some[i].shape, (size_t)w->n_dims * sizeof w->shape[0]);
        assert_int_equal(w->n_bytes, some[i].n_bytes);
    }
}

static void the_networks_arguments_are_told(void **state)
{
    static const int64_t x_shape[] = {1, 3, 224, 224}, y_shape[] = {1, 1000};
    const struct whole_tensor *x = &whole_arguments[0], *y = &whole_arguments[1];
    struct buf text;
    (void)state;
    assert_int_equal(WHOLE_N_ARGUMENTS, 2);
    assert_string_equal(x->name, "x");
    assert_string_equal(x->dtype, "f32");
    assert_string_equal(x->layout, "nchw");
    assert_int_equal(x->role, WHOLE_INPUT);
    assert_int_equal(x->n_dims, 4);
    assert_memory_equal(x->shape, x_shape, sizeof x_shape);
    assert_int_equal(x->n_bytes, 3 * 224 * 224 * 4);
    assert_string_equal(y->name, "prob");
    assert_int_equal(y->role, WHOLE_OUTPUT);
    assert_int_equal(y->n_dims, 2);
    assert_memory_equal(y->shape, y_shape, sizeof y_shape);
    assert_int_equal(y->n_bytes, 4000);
    read_printed("whole/whole.h", &text);
    has(&text, "int whole_run(cl_command_queue queue, cl_mem in_x, cl_mem out_prob);\n");
    buf_fini(&text);
}

/* The time of a step: of its record; scaled by operations from the record whose config it takes; else 1 GFLOPS and
 * 1 GB/s. */
static double step_ns(const char *workload, size_t n_of_kind[3])
{
    const struct deploy_layer *l = deploy_set_find(&whole, workload);
    struct workload w, of;
    assert_int_equal(workload_parse(workload, &w, NULL), ERR_OK);
    for (size_t i = 0; i < N_PRINTED_BEST && l->origin != DEPLOY_DEFAULT; i++) {
        if (strcmp(printed_best[i].workload, l->record.workload) == 0) {
            n_of_kind[l->origin == DEPLOY_NEAREST]++;
            assert_int_equal(workload_parse(printed_best[i].workload, &of, NULL), ERR_OK);
            return printed_best[i].time_ns * w.op->flops(&w) / of.op->flops(&of);
        }
    }
    assert_int_equal(l->origin, DEPLOY_DEFAULT);
    n_of_kind[2]++;
    return w.op->flops(&w) + w.op->bytes_min(&w);
}

static void the_network_tells_what_its_layouts_were_chosen_by(void **state)
{
    const struct lowered *l = &whole.network->lowered;
    size_t n[3] = {0}, n_transforms = 0, n_in[4] = {0};
    double sum_ns = 0, guessed_ns = 0, sum_bytes = 0;
    char words[300];
    struct buf text;
    (void)state;
    for (size_t i = 0; i < l->n_steps; i++) {
        const size_t guessed = n[2];
        const double ns = step_ns(l->steps[i].workload, n);

        sum_ns += ns;
        guessed_ns += n[2] > guessed ? ns : 0;
        n_transforms += l->steps[i].is_transform;
    }
    for (size_t i = 1; i < l->n_tensors; i++) { /* the first one is the caller's */
        n_in[l->tensors[i].layout]++;
    }
    for (size_t i = 0; i < l->n_slots; i++) {
        sum_bytes += (double)l->slot_bytes[i];
    }
    assert_true(n[0] >= 2 && n[1] > 2 && n[2] > 1 && n_in[0] > 0 && n_in[3] > 0 && n_in[1] + n_in[2] == 0);
    assert_int_equal(whole.network->n_measured, n[0]);
    assert_int_equal(whole.network->n_nearest, n[1]);
    assert_int_equal(whole.network->n_guessed, n[2]);
    assert_true(fabs(whole.network->cost_ns - sum_ns) <= 1e-9 * sum_ns);
    buf_init(&text, 4096);
    deploy_network_describe(whole.network, &text);
    (void)snprintf(words, sizeof words,
                   "whole network: %zu steps, %zu of them transforms; tensors in nchw (%zu) nchw16c (%zu); %zu pieces "
                   "of memory, %.1f MB\n",
                   l->n_steps, n_transforms, n_in[0], n_in[3], l->n_slots, sum_bytes / 1e6);
    has(&text, words);
    (void)snprintf(words, sizeof words,
                   "times %.3f ms: %zu measured, %zu scaled from the nearest record; without %zu that have no record\n",
                   (sum_ns - guessed_ns) / 1e6, n[0], n[1], n[2]);
    has(&text, words);
    buf_fini(&text);
}

static int make_sets(void **state)
{
    struct why why = {""};
    (void)state;
    return printed_set_init(&cl, "opencl", &why) == ERR_OK && printed_set_init(&cu, "cuda", &why) == ERR_OK &&
                   printed_set_init(&whole, "network", &why) == ERR_OK
               ? 0
               : -1;
}

static int end_sets(void **state)
{
    (void)state;
    printed_set_fini(&cl);
    printed_set_fini(&cu);
    printed_set_fini(&whole);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_those_of_the_programs),
        cmocka_unit_test(modules_of_one_text_and_options_are_one),
        cmocka_unit_test(cuda_has_its_code_instead_of_text),
        cmocka_unit_test(layers_say_what_their_records_say),
        cmocka_unit_test(the_device_is_that_of_the_records),
        cmocka_unit_test(vectors_have_the_fills_of_their_pass),
        cmocka_unit_test(vectors_are_samples_of_expected_values),
        cmocka_unit_test(every_layer_has_its_vectors),
        cmocka_unit_test(the_header_tells_tensors_and_times),
        cmocka_unit_test(functions_pass_tensors_in_their_order),
        cmocka_unit_test(a_set_is_printed_alike_each_time),
        cmocka_unit_test(the_manifest_names_what_each_layer_is_of),
        cmocka_unit_test(the_manifest_lists_code_made_ahead),
        cmocka_unit_test(kernel_texts_are_files_by_hash),
        cmocka_unit_test(plan_json_has_every_program),
        cmocka_unit_test(builds_know_the_interface),
        cmocka_unit_test(steps_are_those_of_the_network),
        cmocka_unit_test(values_lie_in_slots_or_are_the_callers),
        cmocka_unit_test(weights_are_told_with_shapes_and_bytes),
        cmocka_unit_test(the_networks_arguments_are_told),
        cmocka_unit_test(the_network_tells_what_its_layouts_were_chosen_by),
    };
    return cmocka_run_group_tests(tests, make_sets, end_sets);
}
