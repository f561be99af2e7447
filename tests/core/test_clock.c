/* SPDX-License-Identifier: MIT */
/* Clocks: a given one is asked, the machine's otherwise; units and signs of both. */
#include "core/clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct dial {
    int64_t ns, ms, slept;
};

static int64_t dial_ns(void *arg)
{
    return ((struct dial *)arg)->ns;
}

static int64_t dial_ms(void *arg)
{
    return ((struct dial *)arg)->ms;
}

static void dial_sleep(void *arg, int64_t ms)
{
    ((struct dial *)arg)->slept += ms;
}

static void a_given_clock_is_asked(void **state)
{
    struct dial dial = {.ns = 5, .ms = -7};
    const struct clock c = {dial_ns, dial_ms, dial_sleep, &dial};

    (void)state;
    assert_int_equal(clock_read_ns(&c), 5);
    assert_int_equal(clock_read_wall_ms(&c), -7);
    clock_wait_ms(&c, 86400000);
    clock_wait_ms(&c, 1);
    assert_int_equal(dial.slept, 86400001);
}

static int64_t monotonic_ns(void)
{
    struct timespec t;

    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t wall_us(void)
{
    struct timeval t;

    assert_int_equal(gettimeofday(&t, NULL), 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

/* Between two looks of our own; a hundred, so that every part of a second comes up. */
static void the_machine_s_clocks_are_in_their_units(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        const int64_t ns = monotonic_ns(), us = wall_us(), read_ns = clock_read_ns(NULL),
                      read_ms = clock_read_wall_ms(NULL);

        assert_true(ns <= read_ns && read_ns <= monotonic_ns());
        assert_true(us / 1000 <= read_ms && read_ms <= wall_us() / 1000);
        clock_wait_ms(NULL, i % 10 == 0);
    }
}

static void ignore(int signal)
{
    (void)signal;
}

/* Signals that come meanwhile end no sleep. */
static void a_sleep_is_never_too_short(void **state)
{
    const struct itimerval every_5_ms = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
    const struct sigaction action = {.sa_handler = ignore};
    int64_t begin;

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every_5_ms, NULL), 0);
    begin = monotonic_ns();
    clock_sleep_ms(40);
    assert_true(monotonic_ns() - begin >= 40000000);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    begin = monotonic_ns();
    clock_sleep_ms(1001);
    assert_true(monotonic_ns() - begin >= 1001000000);
    clock_sleep_ms(0);
    clock_sleep_ms(-86400000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_given_clock_is_asked),
        cmocka_unit_test(the_machine_s_clocks_are_in_their_units),
        cmocka_unit_test(a_sleep_is_never_too_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
