/* Energy of a run, from a device of this file's own that draws 50 W and takes a millisecond a run. */
#include "agent/energy.h"
#include "core/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define WATTS 50.0
#define TICK_NS 100000000LL /* of the counter */

static unsigned known;
static int n_runs, fails_at; /* fails_at: this run fails, 0 = none */
static int64_t begin_ns, end_ns;

static enum err fake_run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns,
                         struct why *why)
{
    (void)l;
    (void)phase;
    (void)device_ns;
    (void)wall_ns;
    if (n_runs++ == 0)
        begin_ns = clock_now_ns();
    clock_sleep_ms(1);
    end_ns = clock_now_ns();
    return n_runs == fails_at ? why_set(why, ERR_DEVICE, "run %d", n_runs) : ERR_OK;
}

static enum err fake_sense(struct device *d, struct sense *out)
{
    (void)d;
    *out = (struct sense){.known = known, .power_w = WATTS};
    if (known & SENSE_ENERGY)
        out->energy_j = WATTS * 1e-9 * (double)(clock_now_ns() / TICK_NS * TICK_NS);
    return ERR_OK;
}

static const struct device_ops fake = {.name = "fake", .run = fake_run, .sense = fake_sense};

static enum err measure(unsigned bits, double *joules, struct why *why)
{
    known = bits;
    n_runs = 0;
    return energy_of_run(&fake, NULL, NULL, joules, why);
}

/* What it must be: power times the mean time from run to run. */
static void expect_energy(unsigned bits)
{
    double joules = 0, wanted;
    struct why why = {""};

    assert_int_equal(measure(bits, &joules, &why), ERR_OK);
    wanted = WATTS * 1e-9 * (double)(end_ns - begin_ns) / n_runs;
    if (fabs(joules / wanted - 1) > 0.2)
        fail_msg("%g J a run, expected %g", joules, wanted);
    assert_true(end_ns - begin_ns >= 1300000000LL);
}

static void counter_is_read_between_its_ticks(void **state)
{
    (void)state;
    expect_energy(SENSE_ENERGY | SENSE_POWER);
}

static void power_is_integrated_where_no_counter_is(void **state)
{
    (void)state;
    expect_energy(SENSE_POWER);
}

static void device_without_readings_is_refused(void **state)
{
    double joules = -1;
    struct why why = {""};
    static const struct device_ops blind = {.name = "blind", .run = fake_run};

    (void)state;
    assert_int_equal(measure(SENSE_TEMPERATURE, &joules, &why), ERR_UNSUPPORTED);
    assert_non_null(strstr(why.text, "neither energy nor power"));
    assert_int_equal(energy_of_run(&blind, NULL, NULL, &joules, &why), ERR_UNSUPPORTED);
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
    assert_int_equal(energy_of_run(&still, NULL, NULL, &joules, &why), ERR_DEVICE);
    assert_non_null(strstr(why.text, "did not move"));
    assert_true(joules == -1);
}

static void run_that_fails_ends_it(void **state)
{
    double joules = -1;
    struct why why = {""};

    (void)state;
    fails_at = 5;
    assert_int_equal(measure(SENSE_POWER, &joules, &why), ERR_DEVICE);
    fails_at = 0;
    assert_string_equal(why.text, "run 5");
    assert_true(joules == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_is_read_between_its_ticks),
        cmocka_unit_test(power_is_integrated_where_no_counter_is),
        cmocka_unit_test(device_without_readings_is_refused),
        cmocka_unit_test(counter_that_stands_still_is_told),
        cmocka_unit_test(run_that_fails_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
