/* SPDX-License-Identifier: MIT */
/* Which CPUs time, and which are left to the rest. */
#include "agent/pin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void expect(const char *what, const int *cpus, int n, const char *wanted)
{
    char text[256] = "";

    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? " " : "", cpus[i]);
    if (strcmp(text, wanted) != 0)
        fail_msg("%s: %s, expected %s", what, text, wanted);
}

static void workers_of_a_cpu_device_get_the_last_cpus(void **state)
{
    static const int cpus[] = {0, 1, 4, 5};
    struct pin_plan p;

    (void)state;
    pin_split(cpus, 4, 3, &p);
    expect("timing", p.timing, p.n_timing, "1 4 5");
    expect("other", p.other, p.n_other, "0");
    assert_true(p.overlap);
    pin_split(cpus, 4, 4, &p);
    expect("all time", p.other, p.n_other, "0 1 4 5");
    assert_false(p.overlap);
}

static void spared_cpus_are_the_last_that_time(void **state)
{
    static const int cpus[] = {0, 1, 2, 3, 4, 5}, fast[] = {0, 1, 2};
    struct pin_plan p;

    (void)state;
    pin_free(cpus, 6, &p);
    pin_spare(&p, 2);
    expect("timing", p.timing, p.n_timing, "0 1 2 3 4 5");
    expect("other", p.other, p.n_other, "0 1 2 3");
    assert_true(p.overlap);
    pin_free(cpus, 6, &p);
    memcpy(p.timing, fast, sizeof fast); /* of CPUs of two kinds only the fast ones time */
    p.n_timing = 3;
    pin_spare(&p, 2);
    expect("timing", p.timing, p.n_timing, "0 1 2");
    expect("other", p.other, p.n_other, "0 3 4 5");
}

static void of_few_cpus_none_is_spared(void **state)
{
    static const int cpus[] = {3, 7};
    struct pin_plan p;

    (void)state;
    pin_free(cpus, 2, &p);
    pin_spare(&p, 2);
    expect("other", p.other, p.n_other, "3 7");
    pin_spare(&p, 1);
    expect("other", p.other, p.n_other, "3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_of_a_cpu_device_get_the_last_cpus),
        cmocka_unit_test(spared_cpus_are_the_last_that_time),
        cmocka_unit_test(of_few_cpus_none_is_spared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
