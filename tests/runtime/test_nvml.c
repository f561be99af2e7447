/* SPDX-License-Identifier: MIT */
/* Sensors of a CUDA device, from the stub of NVIDIA's management library (tests/cuda/nvml.c). */
#include "runtime/nvml.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static const char uuid[] = "GPU-01234567-89ab-cdef-0123-456789abcdef";

static struct sense read_sense(void)
{
    struct nvml_device d;
    struct sense s;

    assert_true(nvml_find(uuid, &d));
    nvml_sense(&d, &s);
    return s;
}

static void readings_are_in_our_units(void **state)
{
    const struct sense s = read_sense();

    (void)state;
    assert_int_equal(s.known,
                     SENSE_CORE_MHZ | SENSE_MEM_MHZ | SENSE_TEMPERATURE | SENSE_POWER | SENSE_ENERGY | SENSE_THROTTLE);
    assert_true(s.core_mhz == 1500 && s.mem_mhz == 5000 && s.temperature_c == 61 && s.power_w == 100);
    assert_string_equal(s.throttle, "");
}

static void energy_is_a_counter_of_joules(void **state)
{
    const struct timespec nap = {0, 100000000};
    const double before = read_sense().energy_j;
    double spent;

    (void)state;
    nanosleep(&nap, NULL);
    spent = read_sense().energy_j - before;
    assert_true(spent > 9 && spent < 100); /* 100 W for 0.1 s and more */
}

static void reasons_have_words_and_idling_is_none(void **state)
{
    (void)state;
    setenv("TUNE_NVML_REASONS", "1", 1);
    assert_string_equal(read_sense().throttle, "");
    setenv("TUNE_NVML_REASONS", "37", 1);
    assert_string_equal(read_sense().throttle, "power-cap,thermal");
    setenv("TUNE_NVML_REASONS", "511", 1);
    assert_true(strlen(read_sense().throttle) < 64);
    unsetenv("TUNE_NVML_REASONS");
}

static void what_a_device_does_not_tell_stays_unknown(void **state)
{
    struct sense s;

    (void)state;
    setenv("TUNE_NVML_NO", "energy,power", 1);
    s = read_sense();
    unsetenv("TUNE_NVML_NO");
    assert_false(s.known & (SENSE_ENERGY | SENSE_POWER));
    assert_true(s.known & SENSE_TEMPERATURE);
    assert_true(s.energy_j == 0 && s.power_w == 0);
}

static void another_device_is_not_taken_for_ours(void **state)
{
    struct nvml_device d;
    struct sense s;

    (void)state;
    setenv("TUNE_NVML_UUID", "GPU-other", 1);
    assert_false(nvml_find(uuid, &d));
    unsetenv("TUNE_NVML_UUID");
    nvml_sense(&d, &s);
    assert_int_equal(s.known, 0);
    assert_false(nvml_find("", &d));
}

static void driver_tells_its_version(void **state)
{
    char text[32] = "";

    (void)state;
    assert_true(nvml_driver_version(text, sizeof text));
    assert_string_equal(text, "999.01");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readings_are_in_our_units),
        cmocka_unit_test(energy_is_a_counter_of_joules),
        cmocka_unit_test(reasons_have_words_and_idling_is_none),
        cmocka_unit_test(what_a_device_does_not_tell_stays_unknown),
        cmocka_unit_test(another_device_is_not_taken_for_ours),
        cmocka_unit_test(driver_tells_its_version),
    };

    setenv("TUNE_NVML_LIBRARY", STUB_NVML, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
