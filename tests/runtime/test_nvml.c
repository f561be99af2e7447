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

static void device_is_held_at_a_clock_and_a_limit(void **state)
{
    struct nvml_device d;
    struct sense s;
    struct why why = {""};

    (void)state;
    assert_true(nvml_find(uuid, &d));
    assert_int_equal(nvml_hold(&d, &(struct nvml_hold){1200, 60}, &why), ERR_OK);
    s = read_sense();
    assert_true(s.core_mhz == 1200 && s.power_w == 60);
    assert_int_equal(nvml_hold(&d, &(struct nvml_hold){0, 0}, &why), ERR_OK);
    s = read_sense();
    assert_true(s.core_mhz == 1500 && s.power_w > 60);
}

static void what_a_device_cannot_be_held_at_is_told(void **state)
{
    static const struct {
        const char *variable, *value;
        struct nvml_hold hold;
        enum err e;
        const char *words;
    } cases[] = {
        {"TUNE_NVML_NO", "", {9999, 0}, ERR_LIMITS, "a clock of 9999 MHz is none that the device takes"},
        {"TUNE_NVML_NO", "", {0, 10}, ERR_LIMITS, "a power limit of 10 W is none"},
        {"TUNE_NVML_NO", "locking", {1200, 0}, ERR_UNSUPPORTED, "a clock cannot be set: the device does not"},
        {"TUNE_NVML_NO", "limiting", {0, 100}, ERR_UNSUPPORTED, "a power limit cannot be set: the device does not"},
        {"TUNE_NVML_NO", "locking,limiting", {0, 0}, ERR_OK, ""},
        {"TUNE_NVML_ROOT", "0", {0, 0}, ERR_UNSUPPORTED, "NVML wants root"},
    };
    const struct nvml_device none = {.handle = NULL};
    struct why why = {""};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nvml_device d;

        assert_true(nvml_find(uuid, &d));
        setenv(cases[i].variable, cases[i].value, 1);
        why.text[0] = '\0';
        if (nvml_hold(&d, &cases[i].hold, &why) != cases[i].e || !strstr(why.text, cases[i].words))
            fail_msg("case %zu: %s", i, why.text);
        unsetenv(cases[i].variable);
    }
    assert_int_equal(nvml_hold(&none, &cases[0].hold, &why), ERR_UNSUPPORTED);
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
        cmocka_unit_test(device_is_held_at_a_clock_and_a_limit),
        cmocka_unit_test(what_a_device_cannot_be_held_at_is_told),
        cmocka_unit_test(driver_tells_its_version),
    };

    setenv("TUNE_NVML_LIBRARY", STUB_NVML, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
