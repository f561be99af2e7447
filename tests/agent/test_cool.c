/* Boards that get hot: waiting before timing, sensors in the record, which CPUs launch. Sysfs trees made here stand for
 * a board. With an argument "--child" this program is also the children of a rig. */
#include "agent/child.h"
#include "agent/rig.h"
#include "core/clock.h"
#include "samples.h"
#include "tests/runtime/sysfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

/* ---- waiting, with a device that cools by 5 C a reading ---- */

static double now_c;
static int n_alive;

static enum err fake_sense(struct device *d, struct sense *out)
{
    (void)d;
    *out = (struct sense){.known = SENSE_TEMPERATURE | SENSE_THROTTLE, .temperature_c = now_c};
    strcpy(out->throttle, now_c > 80 ? "thermal:1" : "");
    now_c -= 5;
    return ERR_OK;
}

static enum err no_sense(struct device *d, struct sense *out)
{
    (void)d;
    (void)out;
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
    struct cool cool = {.ops = &ops};

    now_c = c;
    n_alive = 0;
    cool_wait(&cool, r, alive, NULL);
    cool.ops = NULL;
    return cool;
}

static void a_hot_device_is_waited_for(void **state)
{
    const struct cool_rules r = {.max_c = 70};
    const struct cool c = wait_from(80, &r, fake_sense);

    (void)state;
    assert_int_equal(n_alive, 2); /* at 80 and 75 */
    assert_true(c.before.temperature_c == 70 && !c.hot && c.waited_s >= 1.0);
}

static void a_throttled_device_is_waited_for(void **state)
{
    const struct cool_rules r = {.throttled = true};
    const struct cool c = wait_from(85, &r, fake_sense);

    (void)state;
    assert_int_equal(n_alive, 1);
    assert_string_equal(c.before.throttle, "");
}

static void a_cool_device_and_one_without_sensors_are_not(void **state)
{
    const struct cool_rules r = {.max_c = 70, .throttled = true};

    (void)state;
    assert_true(wait_from(70, &r, fake_sense).waited_s == 0);
    assert_true(wait_from(200, &r, no_sense).waited_s == 0);
    assert_true(wait_from(200, &r, NULL).waited_s == 0);
    assert_int_equal(n_alive, 0);
}

static void a_pause_is_kept(void **state)
{
    const struct cool_rules r = {.pause_s = 0.7};
    const int64_t from = clock_now_ns();
    const struct cool c = wait_from(20, &r, NULL);

    (void)state;
    assert_true((double)(clock_now_ns() - from) >= 0.7e9 && c.waited_s >= 0.7);
}

static void rules_arrive_as_they_were_sent(void **state)
{
    const struct cool_rules r = {.max_c = 71.5, .pause_s = 2, .throttled = true};
    struct cool_rules got;
    cJSON *o = cJSON_CreateObject();
    bool ok = true;

    (void)state;
    cool_add_rules(o, &r, &ok);
    cool_read_rules(o, &got);
    assert_true(ok && got.max_c == 71.5 && got.pause_s == 2 && got.throttled);
    cool_read_rules(NULL, &got);
    assert_true(got.max_c == 0 && got.pause_s == 0 && !got.throttled);
    cJSON_Delete(o);
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

/* ---- from the sensors to the record, on a real device ---- */

static struct rig rig;

static struct trial *lease(struct sample *m)
{
    static const struct trial_agent self = {.name = "me", .key = "test"};
    const struct sha256 name = sample_seal(m);
    struct trial *t = NULL;
    struct why why = {""};
    char text[300];
    cJSON *json;

    for (size_t i = 0; i < m->blobs.n; i++)
        assert_int_equal(workdir_put(&rig.dir, &m->blobs, m->blobs.items[i].name.hex, &why), ERR_OK);
    snprintf(text, sizeof text, "{\"trial\":\"1\",\"token\":1,\"program\":\"%s\",\"body\":{\"purpose\":\"search\"}}",
             name.hex);
    json = cJSON_Parse(text);
    assert_int_equal(trial_new(json, &self, &t, &why), ERR_OK);
    cJSON_Delete(json);
    trial_take_program(t, blobs_get(&m->blobs, name.hex)->data, blobs_get(&m->blobs, name.hex)->n_bytes);
    return t;
}

static void *cool_down(void *arg)
{
    clock_sleep_ms(3000);
    sysfs_put(root, "class/thermal/thermal_zone0/temp", "60000");
    return arg;
}

/* `cools`: to 60 C, three seconds after timing was asked for. */
static cJSON *sense_of_a_trial(bool cools)
{
    struct sample m;
    struct trial *t;
    pthread_t thread;
    cJSON *sense;

    sample_make(&m, sample_good, 64);
    t = lease(&m);
    rig_verify(&rig, 0, t);
    if (cools)
        pthread_create(&thread, NULL, cool_down, NULL);
    rig_time(&rig, &t, 1);
    if (cools)
        pthread_join(thread, NULL);
    if (t->record.status != STATUS_OK)
        fail_msg("%s: %s", t->record.stage, t->record.why);
    rig_complete(&rig, t);
    sense = cJSON_DetachItemFromObjectCaseSensitive(t->record.device, "sense");
    trial_free(t);
    sample_fini(&m);
    return sense;
}

static double temperature(const cJSON *sense, const char *when)
{
    double c = -1;

    json_real_or(cJSON_GetObjectItemCaseSensitive(sense, when), "temperature_c", -1, &c, NULL);
    return c;
}

static int open_rig(const struct cool_rules *rules, struct why *why)
{
    const struct rig_options o = {.device = "opencl", .cool = *rules};

    setenv("TUNE_SYSFS", root, 1);
    return rig_open(&rig, &o, false, why);
}

static void sensors_reach_the_record(void **state)
{
    const struct cool_rules rules = {.max_c = 70};
    struct why why = {""};
    cJSON *sense;
    const char *throttle = "";
    double waited_s = 0;

    (void)state;
    sysfs_rk3399(root);
    sysfs_put(root, "class/thermal/thermal_zone0/temp", "65000"); /* of its CPUs */
    if (open_rig(&rules, &why)) {
        printf("skipped: %s\n", why.text);
        skip();
    }
    sense = sense_of_a_trial(false);
    assert_true(temperature(sense, "before") == 65 && temperature(sense, "during") == 65 &&
                temperature(sense, "after") == 65);
    assert_false(cJSON_HasObjectItem(sense, "waited_s"));
    json_text_or(cJSON_GetObjectItemCaseSensitive(sense, "after"), "throttle", "", &throttle, NULL);
    assert_string_equal(throttle, "devfreq-ff9a0000.gpu:2");
    cJSON_Delete(sense);
    sysfs_put(root, "class/thermal/thermal_zone0/temp", "74444");
    sense = sense_of_a_trial(true);
    assert_true(temperature(sense, "before") == 60);
    json_real_or(sense, "waited_s", 0, &waited_s, NULL);
    assert_true(waited_s > 0);
    cJSON_Delete(sense);
    rig_close(&rig);
}

static void without_sensors_the_record_has_none(void **state)
{
    const struct cool_rules rules = {.max_c = 70, .throttled = true};
    struct why why = {""};

    (void)state;
    if (open_rig(&rules, &why)) {
        printf("skipped: %s\n", why.text);
        skip();
    }
    assert_null(sense_of_a_trial(false));
    rig_close(&rig);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, drop_root)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hot_device_is_waited_for),
        cmocka_unit_test(a_throttled_device_is_waited_for),
        cmocka_unit_test(a_cool_device_and_one_without_sensors_are_not),
        cmocka_unit_test(a_pause_is_kept),
        cmocka_unit_test(rules_arrive_as_they_were_sent),
        WITH_ROOT(launches_come_from_the_fastest_cpus),
        WITH_ROOT(sensors_reach_the_record),
        WITH_ROOT(without_sensors_the_record_has_none),
    };

    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return child_main(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
