/* SPDX-License-Identifier: MIT */
#include "sample_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void text_of(const struct program *p, struct buf *out)
{
    buf_init(out, PROGRAM_MAX_BYTES);
    assert_int_equal(program_to_json(p, out), ERR_OK);
}

static void program_comes_back_with_the_same_bytes(void **state)
{
    struct program p, q;
    struct buf first, second;
    struct why why = {""};

    (void)state;
    sample_program(&p);
    text_of(&p, &first);
    assert_string_equal((program_from_json(first.data, first.len, &q, &why), why.text), "");
    text_of(&q, &second);
    assert_string_equal(first.data, second.data);
    assert_int_equal(q.launches[2].args[2].integer, 4000000000);
    assert_int_equal(q.launches[2].after[0], 1);
    assert_true(q.launches[2].args[4].real == 0.1);
    assert_int_equal(q.passes[0].checks[0].axis, 4);
    assert_true(q.buffers[3].reset_each_run);
    buf_fini(&first);
    buf_fini(&second);
    program_fini(&p);
    program_fini(&q);
}

static void hash_is_that_of_the_text_and_follows_every_knob(void **state)
{
    struct program p;
    struct sha256 a, b;
    struct buf text;

    (void)state;
    sample_program(&p);
    text_of(&p, &text);
    assert_int_equal(program_hash(&p, &a), ERR_OK);
    assert_string_equal(a.hex, sha256_of(text.data, text.len).hex);
    cJSON_SetNumberValue(p.knobs->child, 8);
    assert_int_equal(program_hash(&p, &b), ERR_OK);
    assert_string_not_equal(a.hex, b.hex);
    buf_fini(&text);
    program_fini(&p);
}

static void count_blob(const char *hex, void *arg)
{
    assert_true(sha256_is_hex(hex));
    ++*(int *)arg;
}

static void every_blob_is_named_once(void **state)
{
    struct program p;
    int n = 0;

    (void)state;
    sample_program(&p);
    p.passes[1].checks[0].scale = p.passes[1].checks[0].values; /* the same blob twice */
    program_each_blob(&p, count_blob, &n);
    assert_int_equal(n, 5); /* source, w, sums, indices, values */
    program_fini(&p);
}

/* The sample's text with the first `from` replaced, read. */
static enum err read_changed(const char *from, const char *to, struct program *out, struct why *why)
{
    struct program p;
    struct buf text, changed;
    const char *at;
    enum err e;

    sample_program(&p);
    text_of(&p, &text);
    at = strstr(text.data, from);
    assert_non_null(at);
    buf_init(&changed, PROGRAM_MAX_BYTES);
    buf_append(&changed, text.data, (size_t)(at - text.data));
    buf_puts(&changed, to);
    buf_puts(&changed, at + strlen(from));
    e = program_from_json(changed.data, changed.len, out, why);
    buf_fini(&text);
    buf_fini(&changed);
    program_fini(&p);
    return e;
}

/* Expects a refusal whose words hold `expected`. */
static void refuses(const char *from, const char *to, const char *expected)
{
    struct program q;
    struct why why = {""};

    if (read_changed(from, to, &q, &why) == ERR_OK)
        fail_msg("'%s' for '%s' was taken", to, from);
    if (!strstr(why.text, expected))
        fail_msg("'%s' for '%s' gave '%s', expected words with '%s'", to, from, why.text, expected);
}

/* The same with a text that is still right. */
static void takes(const char *from, const char *to)
{
    struct program q;
    struct why why = {""};

    if (read_changed(from, to, &q, &why))
        fail_msg("'%s' for '%s' was refused: %s", to, from, why.text);
    program_fini(&q);
}

/* y, ref and x have 24 floats; y comes in 2 x 4 x 3. */
static void limits_are_taken_at_their_edge_and_refused_behind_it(void **state)
{
    (void)state;
    takes("\"i64\":96", "\"i64\":1");
    refuses("\"i64\":96", "\"i64\":0", "within both");
    refuses("\"elems\":24,\"shape\":[4,6]", "\"elems\":20,\"shape\":[4,5]", "within both"); /* of the source */
    takes("\"n\":10,\"indices\"", "\"n\":16777216,\"indices\"");
    refuses("\"n\":10,\"indices\"", "\"n\":16777217,\"indices\"", "'n'");
    takes("\"i32\":-6", "\"i32\":-2147483648");
    refuses("\"i32\":-6", "\"i32\":-2147483649", "argument");
    takes("\"u32\":4000000000", "\"u32\":4294967295");
    refuses("\"u32\":4000000000", "\"u32\":4294967296", "argument");
    refuses("\"u32\":4000000000", "\"u32\":-1", "argument");
    takes("\"local\":256", "\"local\":1073741824");
    refuses("\"local\":256", "\"local\":1073741825", "argument");
    refuses("\"local\":256", "\"local\":0", "argument");
    takes("\"block\":[6,1,1]", "\"block\":[16777216,1,1]");
    takes("\"grid\":[4,1,1]", "\"grid\":[2147483647,1,1]");
    refuses("\"grid\":[4,1,1]", "\"grid\":[2147483648,1,1]", "grid");
    takes("\"queue\":3", "\"queue\":7");
    takes("\"seed\":7", "\"seed\":9007199254740990");
    takes("\"lo\":-3", "\"lo\":3");
    takes("\"count\":4", "\"count\":65535"); /* of four launches each, beside two that run once: 2^18 */
    refuses("\"count\":4", "\"count\":65536", "more than");
    takes("\"vc\":4", "\"vc\":-1e300");
    /* -6 + 3 * 715827884 = 2147483646: three times and no fourth */
    takes("\"bump\":[5,0,0]", "\"bump\":[715827884,0,0]");
    refuses("\"bump\":[5,0,0]", "\"bump\":[715827885,0,0]", "range");
    takes("\"bump\":[5,0,0]", "\"bump\":[-715827880,0,0]");
    refuses("\"bump\":[5,0,0]", "\"bump\":[-715827881,0,0]", "range");
}

/* All buffers have 8 GiB: by halves, of every type, beside the sample's 360 bytes. */
static void buffers_have_so_many_bytes_of_any_type(void **state)
{
    (void)state;
    for (int t = 0; t < N_DTYPES; t++)
        for (int over = 0; over < 2; over++) {
            const int64_t half = ((int64_t)4 << 30) / (int64_t)dtype_bytes((enum dtype)t);
            const int64_t rest = half - 360 / (int64_t)dtype_bytes((enum dtype)t) + over;
            struct why why = {""};
            struct program p;

            sample_program(&p);
            assert_non_null(program_add_buffer(&p, "half", ROLE_SCRATCH, (enum dtype)t, half));
            assert_non_null(program_add_buffer(&p, "rest", ROLE_SCRATCH, (enum dtype)t, rest));
            if (program_check_sane(&p, &why) != (over ? ERR_LIMIT : ERR_OK))
                fail_msg("%s, %d over: %s", dtype_name((enum dtype)t), over, why.text);
            assert_true(!over || strstr(why.text, "buffer 'rest'"));
            program_fini(&p);
        }
}

/* A launch in three loops, and in four; as many sums as a check may have. */
static void nests_and_sums_have_their_limits(void **state)
{
    struct program p;
    struct program_check *c;

    (void)state;
    sample_program(&p);
    assert_int_equal(program_add_loop(&p, 2, 2, 2), ERR_OK);
    assert_int_equal(program_check_sane(&p, NULL), ERR_OK);
    assert_int_equal(program_add_loop(&p, 2, 2, 2), ERR_OK);
    assert_int_equal(program_check_sane(&p, NULL), ERR_LIMIT);
    program_fini(&p);
    for (int over = 0; over < 2; over++) {
        const int64_t inner = ((int64_t)1 << 12) + over;

        sample_program(&p);
        p.buffers[3].n_elems = p.buffers[4].n_elems = inner << 12;
        c = &p.passes[0].checks[0];
        c->outer = 1 << 12;
        c->axis = 1;
        c->inner = inner;
        assert_int_equal(program_check_sane(&p, NULL), over ? ERR_LIMIT : ERR_OK);
        program_fini(&p);
    }
}

/* A launch waits for what is before it: not for itself nor for what comes later, but in a loop with it, where that is
 * the turn before. */
static void launches_wait_for_earlier_ones(void **state)
{
    const int64_t one[3] = {1, 1, 1};

    (void)state;
    for (int after = 0; after < 3; after++)
        for (int in_loop = 0; in_loop < 2; in_loop++) {
            const bool fine = in_loop || after == 0;
            struct program p;

            int first;

            sample_program(&p);
            first = (int)p.n_launches;
            for (int i = 0; i < 3; i++)
                assert_non_null(program_add_kernel(&p, PHASE_RUN, 0, "k", one, one));
            assert_int_equal(program_after(&p.launches[first + 1], first + after), ERR_OK);
            if (in_loop)
                assert_int_equal(program_add_loop(&p, first, first + 2, 2), ERR_OK);
            assert_int_equal(program_check_sane(&p, NULL), fine ? ERR_OK : ERR_INPUT);
            program_fini(&p);
        }
}

/* Samples without indices are the buffer's first elements: all of them at most. */
static void samples_without_places_are_elements_of_the_buffer(void **state)
{
    struct program p;
    struct program_check *c;

    (void)state;
    sample_program(&p);
    c = &p.passes[1].checks[0];
    c->indices.hex[0] = '\0';
    c->n = 24;
    assert_int_equal(program_check_sane(&p, NULL), ERR_OK);
    c->n = 25;
    assert_int_equal(program_check_sane(&p, NULL), ERR_INPUT);
    c->n = 0;
    assert_int_equal(program_check_sane(&p, NULL), ERR_INPUT);
    program_fini(&p);
}

/* A variable of a CUDA module takes bytes of a weight (24 of i8); a module in OpenCL C has none. */
static void symbols_are_variables_of_cuda_modules(void **state)
{
    struct program p;
    struct program_launch *l;
    int i_module;

    (void)state;
    sample_program(&p);
    l = program_add_symbol(&p, 0, "taps", 1, 24);
    assert_non_null(l);
    assert_int_equal(l->phase, PHASE_PACK);
    assert_int_equal(program_check_sane(&p, NULL), ERR_INPUT);
    i_module = (int)p.n_modules;
    assert_non_null(program_add_module(&p, "cuda", LANG_CUDA_C, ""));
    p.modules[i_module].source = p.modules[0].source;
    l->i_module = i_module;
    assert_int_equal(program_check_sane(&p, NULL), ERR_OK);
    l->args[1].integer = 25;
    assert_int_equal(program_check_sane(&p, NULL), ERR_INPUT);
    l->args[1].integer = 24;
    l->args[0].i_buffer = 0; /* an input comes after the weights */
    assert_int_equal(program_check_sane(&p, NULL), ERR_INPUT);
    l->args[0].i_buffer = 1;
    snprintf(l->kernel, sizeof l->kernel, "ta ps");
    assert_int_equal(program_check_sane(&p, NULL), ERR_INPUT);
    program_fini(&p);
}

/* What a symbol and arguments of 8 and 16 bits say comes back; a bit more is refused. */
static void symbols_and_small_numbers_pass_through_text(void **state)
{
    struct program p, q;
    struct buf text;
    struct why why = {""};

    (void)state;
    sample_program(&p);
    p.modules[0].lang = LANG_CUDA_C;
    assert_non_null(program_add_symbol(&p, 0, "taps", 1, 24));
    program_arg_int(&p.launches[2], ARG_B8, 255);
    program_arg_int(&p.launches[2], ARG_B16, 65535);
    buf_init(&text, 1 << 20);
    text_of(&p, &text);
    if (program_from_json(buf_text(&text), text.len, &q, &why))
        fail_msg("%s", why.text);
    assert_int_equal(q.launches[4].op, LAUNCH_SYMBOL);
    assert_string_equal(q.launches[4].kernel, "taps");
    assert_int_equal(q.launches[4].args[1].integer, 24);
    assert_int_equal(q.launches[2].args[7].kind, ARG_B8);
    assert_int_equal(q.launches[2].args[8].integer, 65535);
    program_fini(&q);
    p.launches[2].args[7].integer = 256;
    assert_int_equal(program_check_sane(&p, NULL), ERR_INPUT);
    p.launches[2].args[7].integer = 0;
    p.launches[2].args[8].integer = -1;
    assert_int_equal(program_check_sane(&p, NULL), ERR_INPUT);
    program_fini(&p);
    buf_fini(&text);
}

/* Names of 39 characters fit, 40 do not; a kernel's has 63. */
static void names_are_as_long_as_their_room_and_no_longer(void **state)
{
    char name[80];
    struct program p;

    (void)state;
    memset(name, 'n', sizeof name);
    program_init(&p);
    for (int over = 0; over < 2; over++) {
        const int64_t one[3] = {1, 1, 1};

        name[PROGRAM_ID_BYTES - 1 + over] = '\0';
        assert_int_equal(program_add_module(&p, name, LANG_OPENCL_C, "") != NULL, !over);
        assert_int_equal(program_add_buffer(&p, name, ROLE_INPUT, DTYPE_F32, 1) != NULL, !over);
        assert_int_equal(program_define_text(&p.modules[0], name, "1"), over ? ERR_LIMIT : ERR_OK);
        name[PROGRAM_ID_BYTES - 1 + over] = 'n';
        name[63 + over] = '\0';
        assert_int_equal(program_add_kernel(&p, PHASE_RUN, 0, name, one, one) != NULL, !over);
        assert_int_equal(program_define_text(&p.modules[0], "N", name), over ? ERR_LIMIT : ERR_OK);
        name[63 + over] = 'n';
        name[15 + over] = '\0';
        assert_int_equal(program_add_pass(&p, name) != NULL, !over);
        name[15 + over] = 'n';
    }
    assert_int_equal(p.n_modules, 1);
    assert_int_equal(p.n_buffers, 1);
    assert_int_equal(p.n_launches, 1);
    assert_int_equal(p.n_passes, 1);
    assert_int_equal(p.modules[0].n_defines, 2);
    program_fini(&p);
}

/* Lists take what the header says, and no more. */
static void lists_are_as_long_as_the_format_says(void **state)
{
    struct program p;
    struct program_launch *l;
    struct program_pass *pass;
    char name[16];
    int n;

    (void)state;
    program_init(&p);
    for (n = 0; snprintf(name, sizeof name, "m%d", n) && program_add_module(&p, name, LANG_OPENCL_C, NULL);)
        n++;
    assert_int_equal(n, 16);
    for (n = 0; snprintf(name, sizeof name, "d%d", n) && program_define(&p.modules[0], name, n) == ERR_OK;)
        n++;
    assert_int_equal(n, 128);
    for (n = 0; snprintf(name, sizeof name, "b%d", n) && program_add_buffer(&p, name, ROLE_INPUT, DTYPE_F32, 1);)
        n++;
    assert_int_equal(n, 64);
    l = program_add_launch(&p, LAUNCH_KERNEL, PHASE_RUN);
    for (n = 0; program_arg_int(l, ARG_I32, n) == ERR_OK;)
        n++;
    assert_int_equal(n, 32);
    assert_int_equal(l->args[31].integer, 31);
    for (n = 0; program_after(l, n) == ERR_OK;)
        n++;
    assert_int_equal(n, 32);
    for (n = 0; program_add_loop(&p, 0, 0, 1) == ERR_OK;)
        n++;
    assert_int_equal(n, 256);
    for (n = 0; program_add_pass(&p, "p");)
        n++;
    assert_int_equal(n, 8);
    pass = &p.passes[0];
    for (n = 0; program_pass_check_add(pass, CHECK_SAMPLE, 0);)
        n++;
    assert_int_equal(n, 8);
    program_fini(&p);
}

/* Whatever a program can say goes to text and back. */
static void nothing_is_lost_on_the_way_through_text(void **state)
{
    const struct program_fill stepped = {.kind = FILL_INT, .seed = 4, .lo = -2, .hi = 2, .step = 0.25};
    struct program p, q;
    struct buf text;
    struct program_check *c;

    (void)state;
    sample_program(&p);
    p.launches[2].dyn_local = 4096;
    p.launches[2].cooperative = true;
    p.passes[0].checks[0].lanes = 3;
    p.passes[0].checks[0].inner = 1;
    p.passes[0].fills[0].fill = stepped;
    p.run_s = 2.5;
    p.flops_effective = 200;
    text_of(&p, &text);
    assert_int_equal(program_from_json(text.data, text.len, &q, NULL), ERR_OK);
    assert_string_equal(q.workload, p.workload);
    assert_string_equal(q.template_id, "dense/sample");
    assert_int_equal(q.template_version, 3);
    assert_string_equal(q.numerics, "f32");
    assert_true(q.flops == 288 && q.flops_effective == 200 && q.bytes_min == 288.5);
    assert_true(q.build_s == 5 && q.run_s == 2.5 && q.memory_bytes == 1 << 20);
    assert_string_equal(q.api, "opencl");
    assert_string_equal(q.std, "CL1.2");
    assert_string_equal(q.extensions, "cl_khr_fp16");
    assert_int_equal(q.needs_work_group, 6);
    assert_int_equal(q.needs_local_bytes, 256);
    assert_string_equal(q.modules[0].options, "-cl-fast-relaxed-math");
    assert_string_equal(q.modules[0].defines[1].value, "float4");
    assert_string_equal(q.buffers[0].layout, "mk");
    assert_true(q.buffers[0].n_dims == 2 && q.buffers[0].shape[0] == 4 && q.buffers[0].shape[1] == 6);
    assert_int_equal(q.buffers[1].dtype, DTYPE_I8);
    assert_int_equal(q.buffers[1].role, ROLE_WEIGHT);
    assert_int_equal(q.buffers[0].fill.seed, 7);
    assert_int_equal(q.launches[2].dyn_local, 4096);
    assert_true(q.launches[2].cooperative && q.launches[2].queue == 3);
    assert_true(q.launches[2].grid[0] == 4 && q.launches[2].block[0] == 6);
    assert_int_equal(q.launches[2].args[3].bump[1], -((int64_t)1 << 30));
    assert_true(q.launches[2].args[6].kind == ARG_F64 && q.launches[2].args[6].real == 0.1);
    assert_int_equal(q.launches[3].phase, PHASE_REFERENCE);
    assert_int_equal(q.launches[3].op, LAUNCH_COPY);
    assert_true(q.loops[1].first == 2 && q.loops[1].last == 2 && q.loops[1].count == 3);
    assert_true(q.passes[0].fills[0].fill.step == 0.25 && q.passes[0].fills[0].fill.hi == 2);
    c = &q.passes[0].checks[0];
    assert_true(c->outer == 2 && c->axis == 4 && c->inner == 1 && c->lanes == 3 && c->seed == 5);
    c = &q.passes[1].checks[0];
    assert_true(c->n == 10 && c->tolerance == 1e-5);
    assert_string_equal(c->scale.hex, p.passes[1].checks[0].scale.hex);
    c = &q.passes[1].checks[1];
    assert_true(c->i_reference == 4 && c->relative == RELATIVE_PEAK && c->tolerance == 0.25);
    buf_fini(&text);
    program_fini(&p);
    program_fini(&q);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    refuses("\"elems\":24", "\"elems\":9007199254740992", "elems");
    refuses("\"elems\":24", "\"elems\":4294967296", "8 GiB");
    refuses("\"elems\":24", "\"elems\":0", "elems");
    refuses("\"elems\":24", "\"elems\":1e300", "elems");
    refuses("\"shape\":[4,6]", "\"shape\":[4294967296,4294967296]", "product");
    refuses("\"shape\":[4,6]", "\"shape\":[5,6]", "product");
    refuses("\"grid\":[4,1,1]", "\"grid\":[2147483647,2147483647,2147483647]", "2^53");
    refuses("\"grid\":[4,1,1]", "\"grid\":[0,1,1]", "grid");
    refuses("\"grid\":[4,1,1]", "\"grid\":[4,1]", "3 whole numbers");
    refuses("\"block\":[6,1,1]", "\"block\":[16777217,1,1]", "block");
    refuses("\"outer\":2", "\"outer\":4294967296", "outer");
    refuses("\"axis\":4", "\"axis\":5", "outer");
    refuses("\"n\":10", "\"n\":99999999999", "'n'");
    refuses("\"local\":256", "\"local\":99999999999", "argument");
    refuses("\"i32\":-6", "\"i32\":4294967296", "argument");
    refuses("\"i64\":96", "\"i64\":97", "copy");
}

static void names_and_references_are_checked(void **state)
{
    (void)state;
    refuses("\"id\":\"x\"", "\"id\":\"y\"", "two buffers");
    refuses("\"id\":\"x\"", "\"id\":\"x y\"", "no buffer");
    refuses("\"id\":\"l0\"", "\"id\":\"l 0\"", "");
    refuses("\"id\":\"l0\"", "\"id\":\"l1\"", "two launches");
    refuses("{\"buf\":\"packed\"}", "{\"buf\":\"nothing\"}", "no buffer");
    refuses("{\"buf\":\"packed\"}", "{\"buf\":7}", "not a string");
    refuses("\"module\":\"main\"", "\"module\":\"other\"", "no module");
    refuses("\"kernel\":\"pack\"", "\"kernel\":\"pack(\"", "identifier");
    refuses("\"after\":[\"l1\",\"l2\"]", "\"after\":[\"l1\",\"l3\"]", "earlier");
    refuses("\"after\":[\"l1\",\"l2\"]", "\"after\":[\"l0\"]", "same phase");
    refuses("\"after\":[\"l1\",\"l2\"]", "\"after\":[\"no\"]", "no launch");
    refuses("\"queue\":3", "\"queue\":8", "queue");
    refuses("\"reference\":\"ref\"", "\"reference\":\"y\"", "another buffer");
    refuses("\"tolerance\":0.25,\"relative\"", "\"relative\"", "needs a tolerance");
    refuses("\"relative\":\"peak\"", "\"relative\":\"top\"", "");
    refuses("\"TM\":\"-4\"", "\"TM\":\"4 -I/etc\"", "define");
    refuses("\"TM\":\"-4\"", "\"T M\":\"4\"", "identifier");
    refuses("\"T\":\"float4\"", "\"TM\":\"4\"", "twice");
    refuses("-cl-fast-relaxed-math", "-D X=\\\"y\\\"", "options");
    refuses("\"lang\":\"opencl-c\"", "\"lang\":\"fortran\"", "lang");
    refuses("\"dtype\":\"i8\"", "\"dtype\":\"i9\"", "dtype");
}

static void seeds_and_fills_are_checked(void **state)
{
    (void)state;
    refuses("\"seed\":7", "\"seed\":9007199254740992", "seed");
    refuses("\"seed\":7", "\"seed\":-1", "seed");
    refuses("\"lo\":-3", "\"lo\":-2.5", "whole bounds");
    refuses("\"lo\":-3", "\"lo\":4", "whole bounds");
    refuses("\"lo\":-3", "\"lo\":1e999", "lo");
    refuses("\"kind\":\"blob\",\"sha256\":\"", "\"kind\":\"blob\",\"sha256\":\"g", "");
    refuses("\"tolerance\":1e-05", "\"tolerance\":-1", "tolerance");
}

static void unknown_and_repeated_members_are_refused(void **state)
{
    (void)state;
    refuses("\"tolerance\":1e-05", "\"tolerence\":1e-05", "tolerence");
    refuses("\"schema\":1", "\"schema\":2", "schema");
    refuses("\"numerics\":\"f32\"", "\"numerics\":\"f32\",\"numerics\":\"f16\"", "twice");
    refuses("\"vc\":4", "\"vc\":4,\"vc\":5", "twice");
    refuses("\"vc\":4", "\"vc\":[4]", "knob");
    refuses("\"vc\":4", "\"vc\":1e999", "knob");
}

static void loops_are_checked(void **state)
{
    (void)state;
    refuses("\"first\":\"l1\",\"last\":\"l2\"", "\"first\":\"l9\",\"last\":\"l2\"", "first");
    refuses("\"first\":\"l1\",\"last\":\"l2\"", "\"first\":\"l2\",\"last\":\"l1\"", "first");
    refuses("\"first\":\"l1\",\"last\":\"l2\"", "\"first\":\"l0\",\"last\":\"l2\"", "one phase");
    refuses("\"first\":\"l2\",\"last\":\"l2\"", "\"first\":\"l0\",\"last\":\"l0\"", "first launch");
    refuses("\"count\":4", "\"count\":0", "count");
    refuses("\"count\":4", "\"count\":200000", "more than");
    refuses("\"bump\":[5,0,0]", "\"bump\":[5,0,1]", "bump");
    refuses("\"bump\":[5,0,0]", "\"bump\":[1073741824,0,0]", "range");
    refuses("\"bump\":[5,0,0]", "\"bump\":[5,0.5]", "bump");
    refuses("\"f32\":0.1", "\"f32\":0.1,\"bump\":[1]", "whole numbers");
}

static struct program_launch *launch(struct program *p, enum launch_phase phase, const char *kernel, int queue)
{
    static const int64_t one[] = {1, 1, 1};
    struct program_launch *l = program_add_kernel(p, phase, 0, kernel, one, one);

    l->queue = queue;
    return l;
}

/* x and w in, y out, a packed and a scratch buffer; no launch yet. */
static void five_buffers(struct program *p)
{
    static const enum buffer_role roles[] = {ROLE_INPUT, ROLE_WEIGHT, ROLE_PACKED, ROLE_OUTPUT, ROLE_SCRATCH};
    static const char *const names[] = {"x", "w", "wp", "y", "scratch"};
    program_init(p);
    program_add_module(p, "main", LANG_OPENCL_C, "")->source = sha256_of("", 0);
    for (int i = 0; i < 5; i++)
        (void)program_add_buffer(p, names[i], roles[i], DTYPE_F32, 4);
}

/* What is packed is not timed: it takes weights only. */
static void packing_takes_nothing_that_a_run_is_given(void **state)
{
    static const bool may[] = {false, true, true, false, true};

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct program p;
        struct why why = {""};

        five_buffers(&p);
        (void)program_arg_buffer(launch(&p, PHASE_RUN, "run", 0), 3);
        (void)program_arg_buffer(launch(&p, PHASE_PACK, "pack", 0), i);
        assert_int_equal(program_check_sane(&p, &why), may[i] ? ERR_OK : ERR_INPUT);
        assert_true(may[i] || strstr(why.text, "pack launch"));
        program_fini(&p);
    }
}

/* Two kernels share the buffer; they are on these queues, the second behind the first or not. */
static enum err two_launches(int i_buffer, int queue, bool after, const char *second, struct why *why)
{
    struct program p;
    struct program_launch *l;
    enum err e;

    five_buffers(&p);
    (void)program_arg_buffer(launch(&p, PHASE_RUN, "first", 0), i_buffer);
    l = launch(&p, PHASE_RUN, second, queue);
    (void)program_arg_buffer(l, i_buffer);
    if (after)
        (void)program_after(l, 0);
    e = program_check_sane(&p, why);
    program_fini(&p);
    return e;
}

static void queues_that_share_what_is_written_have_an_order(void **state)
{
    struct why why = {""};

    (void)state;
    assert_int_equal(two_launches(4, 1, false, "second", &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "share 'scratch'"));
    assert_int_equal(two_launches(3, 1, false, "second", &why), ERR_INPUT);
    assert_int_equal(two_launches(4, 1, true, "second", &why), ERR_OK);
    assert_int_equal(two_launches(4, 0, false, "second", &why), ERR_OK); /* one queue has its order */
    assert_int_equal(two_launches(0, 1, false, "second", &why), ERR_OK); /* nobody writes x, w, and what is packed */
    assert_int_equal(two_launches(1, 1, false, "second", &why), ERR_OK);
    assert_int_equal(two_launches(2, 1, false, "second", &why), ERR_OK);
    assert_int_equal(two_launches(4, 1, false, "first", &why), ERR_OK); /* parts of one product */
}

/* Parts of one product are launches of one kernel: of one name in one module. A fill and a kernel are never. */
static void kernels_of_one_name_in_two_modules_are_two(void **state)
{
    struct why why = {""};

    (void)state;
    for (int i_module = 0; i_module < 2; i_module++) {
        struct program p;
        struct program_launch *l;

        five_buffers(&p);
        program_add_module(&p, "other", LANG_OPENCL_C, "")->source = sha256_of("", 0);
        (void)program_arg_buffer(launch(&p, PHASE_RUN, "part", 0), 3);
        l = launch(&p, PHASE_RUN, "part", 1);
        l->i_module = i_module;
        (void)program_arg_buffer(l, 3);
        assert_int_equal(program_check_sane(&p, &why), i_module ? ERR_INPUT : ERR_OK);
        assert_true(!i_module || strstr(why.text, "share 'y'"));
        program_fini(&p);
    }
}

/* An order by way of a third launch is one. */
static void orders_go_on_from_launch_to_launch(void **state)
{
    struct program p;
    struct program_launch *l;

    (void)state;
    five_buffers(&p);
    (void)program_arg_buffer(launch(&p, PHASE_RUN, "first", 0), 4);
    l = launch(&p, PHASE_RUN, "between", 1);
    (void)program_after(l, 0);
    (void)launch(&p, PHASE_RUN, "behind", 1);
    l = launch(&p, PHASE_RUN, "last", 2);
    (void)program_arg_buffer(l, 4);
    assert_int_equal(program_check_sane(&p, NULL), ERR_INPUT);
    (void)program_after(&p.launches[3], 2);
    assert_int_equal(program_check_sane(&p, NULL), ERR_OK);
    program_fini(&p);
}

static void too_many_launches_are_refused(void **state)
{
    struct program p;

    (void)state;
    sample_program(&p);
    while (p.n_launches < PROGRAM_MAX_LAUNCHES)
        assert_non_null(program_add_launch(&p, LAUNCH_FILL, PHASE_RUN));
    assert_null(program_add_launch(&p, LAUNCH_FILL, PHASE_RUN));
    program_fini(&p);
}

static void long_text_is_refused(void **state)
{
    char *text = malloc(PROGRAM_MAX_BYTES + 1);
    struct program p;
    struct why why;

    (void)state;
    memset(text, ' ', PROGRAM_MAX_BYTES + 1);
    assert_int_equal(program_from_json(text, PROGRAM_MAX_BYTES + 1, &p, &why), ERR_LIMIT);
    free(text);
}

static void fini_takes_half_made_programs(void **state)
{
    struct program p;

    (void)state;
    program_init(&p);
    program_fini(&p);
    program_fini(&p);
    program_fini(NULL);
    assert_int_equal(p.n_modules, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_comes_back_with_the_same_bytes),
        cmocka_unit_test(hash_is_that_of_the_text_and_follows_every_knob),
        cmocka_unit_test(every_blob_is_named_once),
        cmocka_unit_test(limits_are_taken_at_their_edge_and_refused_behind_it),
        cmocka_unit_test(buffers_have_so_many_bytes_of_any_type),
        cmocka_unit_test(nests_and_sums_have_their_limits),
        cmocka_unit_test(samples_without_places_are_elements_of_the_buffer),
        cmocka_unit_test(launches_wait_for_earlier_ones),
        cmocka_unit_test(symbols_are_variables_of_cuda_modules),
        cmocka_unit_test(symbols_and_small_numbers_pass_through_text),
        cmocka_unit_test(names_are_as_long_as_their_room_and_no_longer),
        cmocka_unit_test(lists_are_as_long_as_the_format_says),
        cmocka_unit_test(nothing_is_lost_on_the_way_through_text),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(names_and_references_are_checked),
        cmocka_unit_test(seeds_and_fills_are_checked),
        cmocka_unit_test(unknown_and_repeated_members_are_refused),
        cmocka_unit_test(loops_are_checked),
        cmocka_unit_test(packing_takes_nothing_that_a_run_is_given),
        cmocka_unit_test(queues_that_share_what_is_written_have_an_order),
        cmocka_unit_test(kernels_of_one_name_in_two_modules_are_two),
        cmocka_unit_test(orders_go_on_from_launch_to_launch),
        cmocka_unit_test(too_many_launches_are_refused),
        cmocka_unit_test(long_text_is_refused),
        cmocka_unit_test(fini_takes_half_made_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
