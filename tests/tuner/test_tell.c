/* SPDX-License-Identifier: MIT */
/* Expected values that take long: they are told once, can be given up at once, and are the same when watched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/clock.h"
#include "kernels/expect.h"
#include "tuner/tell.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct workload parse(const char *text)
{
    struct workload w;
    struct why why = {""};

    if (workload_parse(text, &w, &why))
        fail_msg("%s", why.text);
    return w;
}

/* The hash of the exact samples that a program of `w` is checked with. */
static enum err exact_hash(const struct workload *w, char hex[65])
{
    static const struct numerics numerics = {.name = "f32", .data = EXACT_PLAIN, .tolerance = 2e-6};
    struct blobs blobs;
    struct program p;
    enum err e;

    blobs_init(&blobs, (size_t)1 << 24);
    program_init(&p);
    program_add_buffer(&p, "x", ROLE_INPUT, DTYPE_F32, 1);
    program_add_buffer(&p, "w", ROLE_WEIGHT, DTYPE_F32, 1);
    program_add_buffer(&p, "y", ROLE_OUTPUT, DTYPE_F32, 1);
    e = expect_passes(w, &numerics, &p, &blobs);
    if (!e)
        memcpy(hex, p.passes[0].checks[0].values.hex, 65);
    program_fini(&p);
    blobs_fini(&blobs);
    return e;
}

static bool go_on(const struct workload *w, double waited_s, void *arg)
{
    (void)w;
    (void)waited_s;
    ++*(int *)arg;
    return true;
}

static bool give_up(const struct workload *w, double waited_s, void *arg)
{
    *(double *)arg = w->op ? waited_s : -1;
    return false;
}

static void watched_values_are_those_computed_unwatched(void **state)
{
    const struct workload w = parse("dense f32 m=7 n=9 k=11");
    char alone[65] = "a", watched[65] = "b";
    int n_calls = 0;

    (void)state;
    assert_int_equal(exact_hash(&w, alone), ERR_OK);
    for (int m = 1; m <= 8; m++) { /* out of the cache again */
        char text[64], other[65];
        struct workload next;

        snprintf(text, sizeof text, "dense f32 m=%d n=3 k=2", m);
        next = parse(text);
        assert_int_equal(exact_hash(&next, other), ERR_OK);
    }
    expect_set_watch((struct expect_watch){go_on, &n_calls});
    assert_int_equal(exact_hash(&w, watched), ERR_OK);
    assert_int_equal(exact_hash(&w, watched), ERR_OK);
    assert_ptr_equal(expect_set_watch((struct expect_watch){NULL, NULL}).arg, &n_calls);
    assert_string_equal(watched, alone);
}

static void a_long_computation_is_given_up_at_once(void **state)
{
    const struct workload w = parse("dense f32 m=4096 n=4096 k=2048 epilogue=relu"); /* more than 20 s */
    const int64_t begin_ns = clock_now_ns();
    char hex[65];
    double waited_s = 0;

    (void)state;
    expect_set_watch((struct expect_watch){give_up, &waited_s});
    assert_int_equal(exact_hash(&w, hex), ERR_CANCELLED);
    expect_set_watch((struct expect_watch){NULL, NULL});
    assert_true(waited_s > 0.05);
    assert_true(clock_now_ns() - begin_ns < INT64_C(10000000000));
}

static void each_long_computation_is_told_once(void **state)
{
    static const struct {
        double waited_s;
        bool told;
    } calls[] = {{0.1, false}, {1.9, false}, {2.0, true},  {2.1, false}, {30, false},
                 {0.1, false}, {2.5, true},  {2.6, false}, {2.1, true},  {2.2, false}};
    const struct workload w = parse("dense f32 m=1000 n=1000 k=1000");
    char words[TELL_WORDS];
    double told_s = 0;

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (tell_computing(&told_s, &w, calls[i].waited_s, words) != calls[i].told)
            fail_msg("call %zu after %g s: told is not %d", i, calls[i].waited_s, calls[i].told);
    assert_string_equal(words, "computing expected values of dense f32 m=1000 n=1000 k=1000 (2 GFLOP) ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watched_values_are_those_computed_unwatched),
        cmocka_unit_test(a_long_computation_is_given_up_at_once),
        cmocka_unit_test(each_long_computation_is_told_once),
    };

    const int failed = cmocka_run_group_tests(tests, NULL, NULL);

    fflush(stdout);
    _exit(failed); /* the computation given up is not waited for */
}
