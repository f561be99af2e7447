/* SPDX-License-Identifier: MIT */
/* Boards that get hot, on a clock and a device of the test's own: waiting before timing, what the sensors said. And the
 * threads and CPUs of a machine, as far as trees made here tell. */
#include "agent/cool.h"
#include "agent/hands.h"
#include "agent/host.h"
#include "agent/pin.h"
#include "core/proc.h"
#include "tests/runtime/sysfs.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static char root[PATH_MAX];

static int make_root(void **state)
{
    (void)state;
    if (dir_temporary("tune-sysfs", root, sizeof root, NULL))
        return -1;
    setenv("TUNE_SYSFS", root, 1);
    return 0;
}

static int drop_root(void **state)
{
    (void)state;
    unsetenv("TUNE_SYSFS");
    dir_remove(root);
    return 0;
}

/* ---- waiting, with a device that cools by 5 C a reading ---- */

static double now_c;
static int n_alive;
static int64_t now_ns;

static int64_t read_ns(void *arg)
{
    (void)arg;
    return now_ns;
}

static void pass(void *arg, int64_t ms)
{
    (void)arg;
    now_ns += ms * 1000000;
}

static const struct clock hand_clock = {.now_ns = read_ns, .sleep_ms = pass};

static enum err cooling(struct device *d, struct sense *out)
{
    (void)d;
    *out = (struct sense){.known = SENSE_TEMPERATURE | SENSE_THROTTLE, .temperature_c = now_c};
    strcpy(out->throttle, now_c > 80 ? "thermal:1" : "");
    now_c -= 5;
    return ERR_OK;
}

static enum err hot_for_ever(struct device *d, struct sense *out)
{
    (void)d;
    *out = (struct sense){.known = SENSE_TEMPERATURE, .temperature_c = now_c};
    return ERR_OK;
}

static enum err no_sense(struct device *d, struct sense *out)
{
    (void)d;
    out->known = SENSE_TEMPERATURE; /* whatever a failing driver leaves behind */
    out->temperature_c = 300;
    return ERR_DEVICE;
}

static void alive(void *arg)
{
    (void)arg;
    n_alive++;
}

static struct cool wait_from(double c, const struct cool_rules *r, enum err (*sense)(struct device *, struct sense *))
{
    const struct device_ops ops = {.sense = sense};
    struct cool cool = {.ops = &ops, .clock = &hand_clock};

    now_c = c;
    now_ns = 1000;
    n_alive = 0;
    cool_wait(&cool, r, alive, NULL);
    cool.ops = NULL;
    return cool;
}

static void a_hot_device_is_waited_for(void **state)
{
    const struct cool_rules r = {.max_c = 70};
    const struct cool c = wait_from(80, &r, cooling);

    (void)state;
    assert_int_equal(n_alive, 2); /* at 80 and 75 */
    assert_true(c.before.temperature_c == 70 && !c.hot && c.waited_s == 1.0);
}

static void a_throttled_device_is_waited_for(void **state)
{
    const struct cool_rules r = {.throttled = true};
    const struct cool c = wait_from(85, &r, cooling);

    (void)state;
    assert_int_equal(n_alive, 1);
    assert_string_equal(c.before.throttle, "");
}

static void a_cool_device_and_one_without_sensors_are_not(void **state)
{
    const struct cool_rules r = {.max_c = 70, .throttled = true};

    (void)state;
    assert_true(wait_from(70, &r, cooling).waited_s == 0);
    assert_true(wait_from(200, &r, no_sense).waited_s == 0);
    assert_true(wait_from(200, &r, NULL).waited_s == 0);
    assert_int_equal(n_alive, 0);
}

static void what_nobody_asked_for_is_not_waited_for(void **state)
{
    const struct cool_rules none = {.max_c = 0};

    (void)state;
    assert_true(wait_from(200, &none, cooling).waited_s == 0);
}

static void a_pause_is_kept(void **state)
{
    const struct cool_rules r = {.pause_s = 0.7};
    const struct cool c = wait_from(20, &r, NULL);

    (void)state;
    assert_true(c.waited_s >= 0.7 && c.waited_s < 0.71 && !c.hot);
    assert_int_equal(n_alive, 2);
}

static void a_device_that_does_not_cool_is_given_up(void **state)
{
    const struct cool_rules r = {.max_c = 70};
    const struct cool c = wait_from(90, &r, hot_for_ever);

    (void)state;
    assert_true(c.hot && c.waited_s == COOL_MAX_S);
    assert_int_equal(n_alive, 2 * COOL_MAX_S);
}

static void rules_arrive_as_they_were_sent(void **state)
{
    const struct cool_rules r = {.max_c = 71.5, .pause_s = 2, .throttled = true};
    struct cool_rules got;
    cJSON *o = cool_rules_write(&r);

    (void)state;
    assert_int_equal(cool_rules_read(o, &got, NULL), ERR_OK);
    assert_true(got.max_c == 71.5 && got.pause_s == 2 && got.throttled);
    assert_int_equal(cool_rules_read(NULL, &got, NULL), ERR_OK);
    assert_true(got.max_c == 0 && got.pause_s == 0 && !got.throttled);
    cJSON_Delete(o);
}

/* ---- round a batch ---- */

static double number_in(const cJSON *o, const char *part, const char *name)
{
    double v = NAN;

    json_get_real(cJSON_GetObjectItemCaseSensitive(o, part), name, &v, NULL);
    return v;
}

static void the_hottest_reading_is_kept(void **state)
{
    const struct device_ops ops = {.sense = hot_for_ever};
    struct cool c = {.ops = &ops, .waited_s = 1.26, .hot = true};
    double waited_s = 0;
    cJSON *o;

    (void)state;
    for (int i = 0; i < 3; i++) {
        now_c = i == 1 ? 77 : 60 + i;
        cool_during(&c);
    }
    now_c = 66;
    cool_after(&c);
    o = cool_to_json(&c);
    assert_true(number_in(o, "during", "temperature_c") == 77 && number_in(o, "after", "temperature_c") == 66);
    assert_null(cJSON_GetObjectItem(o, "before")); /* nobody looked */
    json_get_real(o, "waited_s", &waited_s, NULL);
    assert_true(waited_s == 1.3 && cJSON_IsTrue(cJSON_GetObjectItem(o, "hot")));
    cJSON_Delete(o);
}

static void without_sensors_nothing_is_said(void **state)
{
    const struct device_ops ops = {.sense = no_sense};
    struct cool c = {.ops = &ops};

    (void)state;
    cool_during(&c);
    cool_after(&c);
    assert_null(cool_to_json(&c));
}

/* ---- which CPUs ---- */

static void launches_come_from_the_fastest_cpus(void **state)
{
    int all[] = {0, 1, 2, 3, 4, 5}, some[] = {2, 3, 5}, unknown[] = {7, 8};

    (void)state;
    sysfs_rk3399(root);
    assert_int_equal(pin_fastest(root, all, 6), 2);
    assert_true(all[0] == 4 && all[1] == 5);
    assert_int_equal(pin_fastest(root, some, 3), 1);
    assert_int_equal(some[0], 5);
    assert_int_equal(pin_fastest(root, unknown, 2), 2);
    sysfs_put(root, "devices/system/cpu/cpu8/cpufreq/cpuinfo_max_freq", "1800000");
    sysfs_put(root, "devices/system/cpu/cpu7/cpufreq/cpuinfo_max_freq", "1416000");
    assert_int_equal(pin_fastest(root, unknown, 2), 1);
    assert_int_equal(unknown[0], 8);
}

static void timing_gets_the_last_cpus_and_all_else_the_first(void **state)
{
    static const int cpus[] = {0, 2, 4, 6};
    static struct pin_plan p;

    (void)state;
    pin_split(cpus, 4, 3, &p);
    assert_true(p.overlap && p.n_timing == 3 && p.n_other == 1);
    assert_true(p.timing[0] == 2 && p.timing[1] == 4 && p.timing[2] == 6 && p.other[0] == 0);
    pin_split(cpus, 4, 4, &p);
    assert_true(!p.overlap && p.n_timing == 4 && p.n_other == 4);
    pin_split(cpus, 4, 9, &p);
    assert_true(!p.overlap && p.n_timing == 4);
    pin_free(cpus, 4, &p);
    assert_true(p.overlap && p.n_timing == 4 && p.n_other == 4 && p.other[3] == 6);
}

static void *sleep_on(void *arg)
{
    pause();
    return arg;
}

static void new_threads_get_a_cpu_each(void **state)
{
    static struct pin_threads before;
    pthread_t threads[3];
    cpu_set_t set;
    int cpus[PIN_MAX_CPUS];
    const int n_cpus = proc_cpus(cpus, PIN_MAX_CPUS);

    (void)state;
    assert_int_equal(pthread_create(&threads[0], NULL, sleep_on, NULL), 0); /* a sanitizer's own comes with the first */
    pthread_cancel(threads[0]);
    pthread_join(threads[0], NULL);
    pin_note_threads(&before);
    assert_true(before.n >= 1);
    assert_int_equal(pin_new_threads(&before), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_on, NULL), 0);
    assert_int_equal(pin_new_threads(&before), 3);
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_int_equal(CPU_COUNT(&set), n_cpus); /* this one was there before */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_getaffinity_np(threads[i], sizeof set, &set), 0);
        assert_int_equal(CPU_COUNT(&set), 1);
        pthread_cancel(threads[i]);
        pthread_join(threads[i], NULL);
    }
}

/* ---- what the machine tells of itself ---- */

static void a_cuda_version_is_a_number(void **state)
{
    struct device_desc d = {.platform_version = "CUDA 12.4"};

    (void)state;
    assert_int_equal(host_cuda_version(&d), 12040);
    strcpy(d.platform_version, "OpenCL 3.0");
    assert_int_equal(host_cuda_version(&d), INT_MAX);
}

static void memory_is_told_in_bytes(void **state)
{
    const int64_t total = host_total_bytes(), left = host_available_bytes();

    (void)state;
    assert_true(total >= (int64_t)64 << 20 && total <= (int64_t)1 << 50);
    assert_true(left > 0 && left <= total);
}

static void a_device_object_says_what_was_readable(void **state)
{
    struct device_desc d = {.api = "opencl", .name = "card", .threads = 8, .peak_gflops = 5};
    double v = 0;
    const char *machine = "";
    cJSON *o;

    (void)state;
    sysfs_rk3399(root);
    sysfs_put(root, "class/thermal/thermal_zone0/temp", "65000"); /* of its CPUs */
    sysfs_put(root, "devices/system/cpu/cpu5/cpufreq/scaling_cur_freq", "1799999");
    o = host_device_object(&d, 99.96, 5);
    assert_true(json_get_real(o, "threads", &v, NULL) == ERR_OK && v == 8);
    assert_true(json_get_real(o, "peak_gflops", &v, NULL) == ERR_OK && v == 100);
    assert_true(json_get_real(o, "clock_mhz", &v, NULL) == ERR_OK && v == 1800);
    assert_true(json_get_real(o, "temperature_c", &v, NULL) == ERR_OK && v == 65);
    assert_true(json_get_real(o, "load", &v, NULL) == ERR_OK && v >= 0);
    assert_true(json_get_text(o, "machine", &machine, NULL) == ERR_OK && *machine);
    assert_true(json_get_text(o, "os", &machine, NULL) == ERR_OK && strchr(machine, ' '));
    cJSON_Delete(o);
    o = host_device_object(&d, 0, -1);
    assert_true(json_get_real(o, "threads", &v, NULL) == ERR_OK && v == 8);
    assert_true(json_get_real(o, "peak_gflops", &v, NULL) == ERR_OK && v == 5);
    assert_null(cJSON_GetObjectItem(o, "clock_mhz"));
    cJSON_Delete(o);
}

/* ---- threads that take steps ---- */

struct counted {
    struct hands hands;
    atomic_bool stop;
    int left, n_done, n_idle; /* under the lock */
};

static bool count_down(void *owner, int i)
{
    struct counted *c = owner;
    bool any;

    if (i != 4)
        abort();
    pthread_mutex_lock(&c->hands.lock);
    any = c->left > 0;
    c->left -= any;
    c->n_done += any;
    c->n_idle += !any;
    pthread_mutex_unlock(&c->hands.lock);
    return any;
}

static bool has_done(struct counted *c, int n_done)
{
    bool done = false;

    for (int i = 0; i < 5000 && !done; i++) {
        pthread_mutex_lock(&c->hands.lock);
        done = c->n_done == n_done && c->n_idle > 0;
        pthread_mutex_unlock(&c->hands.lock);
        if (!done)
            usleep(1000);
    }
    return done;
}

/* They wait where there is nothing to do, and look again when something changes. */
static void hands_work_until_there_is_nothing_left(void **state)
{
    static struct counted c; /* its threads live as long as the process */

    (void)state;
    hands_init(&c.hands, &c.stop, &c);
    hands_add(&c.hands, count_down, 4);
    hands_add(&c.hands, count_down, 4);
    c.left = 10;
    assert_int_equal(hands_start(&c.hands, NULL), ERR_OK);
    assert_true(has_done(&c, 10));
    pthread_mutex_lock(&c.hands.lock);
    c.left = 5;
    c.n_idle = 0;
    hands_changed(&c.hands);
    pthread_mutex_unlock(&c.hands.lock);
    assert_true(has_done(&c, 15));
    atomic_store(&c.stop, true);
    pthread_mutex_lock(&c.hands.lock);
    hands_changed(&c.hands);
    pthread_mutex_unlock(&c.hands.lock);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, drop_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hot_device_is_waited_for),
        cmocka_unit_test(a_throttled_device_is_waited_for),
        cmocka_unit_test(a_cool_device_and_one_without_sensors_are_not),
        cmocka_unit_test(what_nobody_asked_for_is_not_waited_for),
        cmocka_unit_test(a_pause_is_kept),
        cmocka_unit_test(a_device_that_does_not_cool_is_given_up),
        cmocka_unit_test(rules_arrive_as_they_were_sent),
        cmocka_unit_test(the_hottest_reading_is_kept),
        cmocka_unit_test(without_sensors_nothing_is_said),
        WITH_ROOT(launches_come_from_the_fastest_cpus),
        cmocka_unit_test(timing_gets_the_last_cpus_and_all_else_the_first),
        cmocka_unit_test(new_threads_get_a_cpu_each),
        cmocka_unit_test(a_cuda_version_is_a_number),
        cmocka_unit_test(memory_is_told_in_bytes),
        WITH_ROOT(a_device_object_says_what_was_readable),
        cmocka_unit_test(hands_work_until_there_is_nothing_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
