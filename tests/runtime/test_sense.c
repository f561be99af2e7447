/* SPDX-License-Identifier: MIT */
/* What sensors say, from sysfs trees made here. */
#include "runtime/sense.h"
#include "sysfs.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static char root[PATH_MAX];

static int make_root(void **state)
{
    (void)state;
    return dir_temporary("tune-sysfs", root, sizeof root, NULL) != ERR_OK;
}

static int drop_root(void **state)
{
    (void)state;
    dir_remove(root);
    return 0;
}

static void near(double got, double wanted)
{
    if (fabs(got - wanted) > 1e-6)
        fail_msg("got %g, wanted %g", got, wanted);
}

static void a_mali_is_told_by_its_own_zone_and_clock(void **state)
{
    struct sense s;

    (void)state;
    sysfs_rk3399(root);
    sense_sysfs(root, DEVICE_MALI, &s);
    assert_int_equal(s.known, SENSE_CORE_MHZ | SENSE_MEM_MHZ | SENSE_TEMPERATURE | SENSE_THROTTLE);
    near(s.core_mhz, 800);
    near(s.mem_mhz, 856);
    near(s.temperature_c, 71.5);
    assert_string_equal(s.throttle, "devfreq-ff9a0000.gpu:2"); /* the fan that turns is none */
}

static void a_cpu_is_told_by_its_own(void **state)
{
    struct sense s;

    (void)state;
    sysfs_rk3399(root);
    sense_sysfs(root, DEVICE_CPU, &s);
    near(s.temperature_c, 74.444);
    assert_true(s.core_mhz == 0 || (s.core_mhz >= 1000 && s.core_mhz < 1001)); /* of CPUs that this process has */
}

/* No frequency of CPUs is told here (as in a virtual machine): a GPU beside them is none of theirs, memory is shared.
 */
static void clocks_of_others_are_not_a_cpus(void **state)
{
    struct sense s;

    (void)state;
    sysfs_put(root, "class/devfreq/ff9a0000.gpu/cur_freq", "3000000000");
    sysfs_put(root, "class/devfreq/13000000.mali/cur_freq", "3000000000");
    sense_sysfs(root, DEVICE_CPU, &s);
    assert_int_equal(s.known, 0);
    sysfs_put(root, "class/devfreq/dmc/cur_freq", "856000000");
    sysfs_put(root, "class/devfreq/ufs/cur_freq", "900000000"); /* neither */
    sense_sysfs(root, DEVICE_CPU, &s);
    assert_int_equal(s.known, SENSE_MEM_MHZ);
    near(s.mem_mhz, 856);
    sense_sysfs(root, DEVICE_MALI, &s);
    assert_int_equal(s.known, SENSE_CORE_MHZ | SENSE_MEM_MHZ);
    near(s.core_mhz, 3000);
}

/* Clocks fall from CPU to CPU: the fastest that this process has is the first. */
static void the_fastest_cpu_of_the_process_counts(void **state)
{
    struct sense s;
    cpu_set_t set;
    int first = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    while (!CPU_ISSET(first, &set))
        first++;
    if (first > 63)
        skip();
    for (int i = 0; i < 64; i++) {
        char path[100], khz[32];

        snprintf(path, sizeof path, "devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i);
        snprintf(khz, sizeof khz, "%d", 2000000 - 1000 * i);
        sysfs_put(root, path, khz);
    }
    sense_sysfs(root, DEVICE_CPU, &s);
    assert_true(s.known & SENSE_CORE_MHZ);
    near(s.core_mhz, 2000 - first);
    sense_sysfs(root, DEVICE_MALI, &s); /* which has a clock of its own */
    assert_false(s.known & SENSE_CORE_MHZ);
}

static void without_a_zone_of_its_own_the_hottest_counts(void **state)
{
    struct sense s;

    (void)state;
    sysfs_put(root, "class/thermal/thermal_zone0/type", "acpitz");
    sysfs_put(root, "class/thermal/thermal_zone0/temp", "20000");
    sysfs_put(root, "class/thermal/thermal_zone3/type", "acpitz");
    sysfs_put(root, "class/thermal/thermal_zone3/temp", "41000");
    sysfs_put(root, "class/thermal/thermal_zone4/type", "nvme");
    sysfs_put(root, "class/thermal/thermal_zone4/temp", "30000");
    sense_sysfs(root, DEVICE_MALI, &s);
    assert_int_equal(s.known, SENSE_TEMPERATURE);
    near(s.temperature_c, 41);
}

static void what_cannot_be_read_is_unknown(void **state)
{
    struct sense s;
    bool ok = true;
    cJSON *o = cJSON_CreateObject();

    (void)state;
    sysfs_put(root, "class/thermal/thermal_zone0/type", "gpu-thermal");
    sysfs_put(root, "class/thermal/thermal_zone0/temp", "not a number");
    sysfs_put(root, "class/devfreq/ff9a0000.gpu/governor", "simple_ondemand");
    sense_sysfs(root, DEVICE_MALI, &s);
    assert_int_equal(s.known, 0);
    sense_add_json(o, "before", &s, &ok);
    assert_true(ok && cJSON_GetArraySize(o) == 0);
    sense_sysfs("/nonexistent", DEVICE_CPU, &s);
    assert_int_equal(s.known, 0);
    cJSON_Delete(o);
}

static void only_known_values_reach_json(void **state)
{
    struct sense s = {.known = SENSE_TEMPERATURE | SENSE_THROTTLE, .temperature_c = 50, .core_mhz = 3, .power_w = 9};
    bool ok = true;
    cJSON *o = cJSON_CreateObject();
    struct buf text;

    (void)state;
    buf_init(&text, 1000);
    sense_add_json(o, "after", &s, &ok);
    assert_int_equal(json_print(o, &text), ERR_OK);
    assert_string_equal(buf_text(&text), "{\"after\":{\"temperature_c\":50,\"throttle\":\"\"}}");
    buf_fini(&text);
    cJSON_Delete(o);
}

static void expect_cpu(const char *text, const char *expected, const char *microcode)
{
    char path[PATH_MAX + 8], got[128];

    sysfs_put(root, "cpuinfo", text);
    snprintf(path, sizeof path, "%s/cpuinfo", root);
    sense_cpu(path, got, sizeof got);
    assert_string_equal(got, expected);
    sense_cpuinfo(path, "microcode", got, sizeof got);
    assert_string_equal(got, microcode);
}

/* By the first of the processors: of one generic name there are many. */
static void a_processor_is_told_by_more_than_its_name(void **state)
{
    char got[16];

    (void)state;
    expect_cpu(
        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC Processor\n"
        "stepping\t: 1\nmicrocode\t: 0xa0011d5\ncpu MHz\t\t: 2445.404\n\nprocessor\t: 1\nmodel\t\t: 2\n",
        "AMD EPYC Processor, family 25 model 1 stepping 1", "0xa0011d5");
    expect_cpu("processor\t: 0\nBogoMIPS\t: 48.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
               "CPU part\t: 0xd08\nCPU revision\t: 3\n",
               "0x41 part 0xd08 variant 0x0 revision 3", "");
    expect_cpu("\n", "", "");
    sense_cpu("/nonexistent", got, sizeof got);
    assert_string_equal(got, "");
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, drop_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(a_mali_is_told_by_its_own_zone_and_clock),
        WITH_ROOT(a_cpu_is_told_by_its_own),
        WITH_ROOT(without_a_zone_of_its_own_the_hottest_counts),
        WITH_ROOT(what_cannot_be_read_is_unknown),
        WITH_ROOT(clocks_of_others_are_not_a_cpus),
        WITH_ROOT(the_fastest_cpu_of_the_process_counts),
        WITH_ROOT(a_processor_is_told_by_more_than_its_name),
        cmocka_unit_test(only_known_values_reach_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
