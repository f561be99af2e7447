/* SPDX-License-Identifier: MIT */
/* Energy of a run, from a device and a clock of this file's own: a run takes a millisecond. */
#include "agent/energy.h"
#include "core/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define MS 1000000LL
#define WATTS 50.0
#define REST_W 20.0
#define TICK_NS (100 * MS) /* of the counter */

static int64_t now_ns;
static unsigned known;
static int n_runs, fails_at; /* fails_at: this run fails, 0 = none */
static double (*watts)(int64_t at_ns);

static int64_t read_ns(void *arg)
{
    (void)arg;
    return now_ns;
}

static void nap(void *arg, int64_t ms)
{
    (void)arg;
    now_ns += ms * MS;
}

static const struct clock hand_clock = {.now_ns = read_ns, .sleep_ms = nap};
static int loaded; /* where `struct loaded` is wanted */

static enum err fake_run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns,
                         struct why *why)
{
    (void)l;
    (void)phase;
    (void)device_ns;
    (void)wall_ns;
    now_ns += MS;
    return ++n_runs == fails_at ? why_set(why, ERR_DEVICE, "run %d", n_runs) : ERR_OK;
}

static double steady(int64_t at_ns)
{
    (void)at_ns;
    return WATTS;
}

/* Joules drawn until then, by steps of a run. */
static double drawn(int64_t until_ns)
{
    double sum = 0;

    for (int64_t t = 0; t < until_ns; t += MS)
        sum += watts(t) * 1e-9 * (double)MS;
    return sum;
}

static enum err fake_sense(struct device *d, struct sense *out)
{
    (void)d;
    *out = (struct sense){.known = known, .power_w = watts(now_ns)};
    if (known & SENSE_ENERGY)
        out->energy_j = drawn(now_ns / TICK_NS * TICK_NS);
    return ERR_OK;
}

static const struct device_ops fake = {.name = "fake", .run = fake_run, .sense = fake_sense};

static void begin(unsigned bits, double (*power)(int64_t))
{
    known = bits;
    watts = power;
    n_runs = 0;
    now_ns = 37 * MS; /* of no tick */
}

static enum err measure_beyond(double rest_w, unsigned bits, double (*power)(int64_t), double *joules, struct why *why)
{
    begin(bits, power);
    return energy_of_run(&fake, NULL, (struct loaded *)(void *)&loaded, rest_w, &hand_clock, joules, why);
}

static enum err measure(unsigned bits, double (*power)(int64_t), double *joules, struct why *why)
{
    return measure_beyond(0, bits, power, joules, why);
}

static double energy(unsigned bits, double (*power)(int64_t))
{
    struct why why = {""};
    double joules = 0;

    if (measure(bits, power, &joules, &why))
        fail_msg("%s", why.text);
    return joules;
}

static void expect(double joules, double wanted, double within)
{
    if (fabs(joules / wanted - 1) > within)
        fail_msg("%g J a run, expected %g", joules, wanted);
}

static void a_run_takes_power_times_its_time(void **state)
{
    (void)state;
    expect(energy(SENSE_ENERGY | SENSE_POWER, steady), WATTS * 1e-3, 1e-9);
    expect(energy(SENSE_ENERGY, steady), WATTS * 1e-3, 1e-9); /* both ends lie on ticks of the counter */
    expect(energy(SENSE_POWER, steady), WATTS * 1e-3, 1e-9);
}

static void what_the_device_takes_at_rest_is_no_part_of_a_run(void **state)
{
    static const unsigned sensors[] = {SENSE_ENERGY | SENSE_POWER, SENSE_ENERGY, SENSE_POWER};
    struct why why = {""};

    (void)state;
    for (size_t i = 0; i < sizeof sensors / sizeof *sensors; i++) {
        double joules = -1, rest_w = -1;

        begin(sensors[i], steady);
        assert_int_equal(energy_at_rest(&fake, NULL, &hand_clock, &rest_w, &why), ERR_OK);
        assert_int_equal(n_runs, 0);
        expect(rest_w, WATTS, 1e-9);
        assert_int_equal(measure_beyond(REST_W, sensors[i], steady, &joules, &why), ERR_OK);
        expect(joules, (WATTS - REST_W) * 1e-3, 1e-9);
    }
}

static void runs_that_take_no_more_than_rest_are_told(void **state)
{
    double joules = -1;
    struct why why = {""};

    (void)state;
    assert_int_equal(measure_beyond(WATTS, SENSE_POWER, steady, &joules, &why), ERR_DEVICE);
    assert_non_null(strstr(why.text, "no more power than the device at rest, 50 W"));
    assert_true(joules == -1);
}

static double hot_start(int64_t at_ns)
{
    return at_ns < 330 * MS ? 1000 : WATTS;
}

static double rising(int64_t at_ns)
{
    return WATTS + 20e-9 * (double)at_ns;
}

static void the_first_300_ms_do_not_count(void **state)
{
    (void)state;
    expect(energy(SENSE_ENERGY, hot_start), WATTS * 1e-3, 1e-9);
    expect(energy(SENSE_POWER, hot_start), WATTS * 1e-3, 1e-9);
}

/* What is measured is the second after the warm-up, to the next tick where a counter is. */
static void power_that_changes_is_integrated(void **state)
{
    (void)state;
    expect(energy(SENSE_POWER, rising), rising((37 + 300 + 500) * MS) * 1e-3, 0.001);
    expect(energy(SENSE_ENERGY, rising), rising((400 + 500) * MS) * 1e-3, 0.05);
}

static void a_second_is_measured_and_no_more_than_two(void **state)
{
    (void)state;
    energy(SENSE_POWER, steady);
    assert_int_equal(n_runs, 1300);
    energy(SENSE_ENERGY, steady);
    assert_in_range(n_runs, 1300, 1900);
}

static void device_without_readings_is_refused(void **state)
{
    double joules = -1;
    struct why why = {""};
    static const struct device_ops blind = {.name = "blind", .run = fake_run};

    (void)state;
    assert_int_equal(measure(SENSE_TEMPERATURE, steady, &joules, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "neither energy nor power"));
    assert_int_equal(energy_of_run(&blind, NULL, (struct loaded *)(void *)&loaded, 0, &hand_clock, &joules, &why),
                     ERR_UNSUPPORTED);
    assert_int_equal(energy_at_rest(&blind, NULL, &hand_clock, &joules, &why), ERR_UNSUPPORTED);
    assert_true(joules == -1);
}

static enum err still_sense(struct device *d, struct sense *out)
{
    (void)d;
    *out = (struct sense){.known = SENSE_ENERGY, .energy_j = 1000};
    return ERR_OK;
}

static void counter_that_stands_still_is_told(void **state)
{
    static const struct device_ops still = {.name = "still", .run = fake_run, .sense = still_sense};
    double joules = -1;
    struct why why = {""};

    (void)state;
    assert_int_equal(energy_of_run(&still, NULL, (struct loaded *)(void *)&loaded, 0, &hand_clock, &joules, &why),
                     ERR_DEVICE);
    assert_non_null(strstr(why.text, "did not move"));
    assert_true(joules == -1);
}

static void run_that_fails_ends_it(void **state)
{
    (void)state;
    for (fails_at = 5; fails_at < 1300; fails_at += 431) { /* warming up, and while it is measured */
        double joules = -1;
        struct why why = {""};
        char words[16];

        snprintf(words, sizeof words, "run %d", fails_at);
        assert_int_equal(measure(SENSE_POWER, steady, &joules, &why), ERR_DEVICE);
        assert_string_equal(why.text, words);
        assert_int_equal(n_runs, fails_at);
        assert_true(joules == -1);
    }
    fails_at = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_takes_power_times_its_time),
        cmocka_unit_test(what_the_device_takes_at_rest_is_no_part_of_a_run),
        cmocka_unit_test(runs_that_take_no_more_than_rest_are_told),
        cmocka_unit_test(the_first_300_ms_do_not_count),
        cmocka_unit_test(power_that_changes_is_integrated),
        cmocka_unit_test(a_second_is_measured_and_no_more_than_two),
        cmocka_unit_test(device_without_readings_is_refused),
        cmocka_unit_test(counter_that_stands_still_is_told),
        cmocka_unit_test(run_that_fails_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
