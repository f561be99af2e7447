/* SPDX-License-Identifier: MIT */
#include "sample_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

/* Replaces the first `from` of the sample's text and expects a refusal whose words hold `expected`. */
static void refuses(const char *from, const char *to, const char *expected)
{
    struct program p, q;
    struct buf text, changed;
    struct why why = {""};
    const char *at;

    sample_program(&p);
    text_of(&p, &text);
    at = strstr(text.data, from);
    assert_non_null(at);
    buf_init(&changed, PROGRAM_MAX_BYTES);
    buf_append(&changed, text.data, (size_t)(at - text.data));
    buf_puts(&changed, to);
    buf_puts(&changed, at + strlen(from));
    if (program_from_json(changed.data, changed.len, &q, &why) == ERR_OK)
        fail_msg("'%s' for '%s' was taken", to, from);
    if (!strstr(why.text, expected))
        fail_msg("'%s' for '%s' gave '%s', expected words with '%s'", to, from, why.text, expected);
    buf_fini(&text);
    buf_fini(&changed);
    program_fini(&p);
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

/* What was run, as text: launch(outer,inner) */
static enum err note(size_t i_launch, const int64_t *iteration, void *arg)
{
    buf_printf(arg, "%zu(%d,%d) ", i_launch, (int)iteration[0], (int)iteration[1]);
    return ERR_OK;
}

static void launches_repeat_in_their_loops(void **state)
{
    struct program p;
    struct buf runs;

    (void)state;
    sample_program(&p);
    p.loops[0].count = 2;
    buf_init(&runs, 1000);
    assert_int_equal(program_each_run(&p, PHASE_RUN, note, &runs), ERR_OK);
    assert_string_equal(buf_text(&runs), "1(0,0) 2(0,0) 2(0,1) 2(0,2) 1(1,0) 2(1,0) 2(1,1) 2(1,2) ");
    assert_int_equal(program_arg_value(&p.launches[2].args[1], (int64_t[]){2, 1, 0}), -6 + 10);
    buf_fini(&runs);
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
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(names_and_references_are_checked),
        cmocka_unit_test(seeds_and_fills_are_checked),
        cmocka_unit_test(unknown_and_repeated_members_are_refused),
        cmocka_unit_test(loops_are_checked),
        cmocka_unit_test(launches_repeat_in_their_loops),
        cmocka_unit_test(too_many_launches_are_refused),
        cmocka_unit_test(long_text_is_refused),
        cmocka_unit_test(fini_takes_half_made_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
