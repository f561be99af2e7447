/* SPDX-License-Identifier: MIT */
/* A small recording written by the test itself, then a real one where TUNE_TEST_DATA has it. */
#include "core/clock.h"
#include "core/file.h"
#include "runtime/device.h"
#include "runtime/verify.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char dir[PATH_MAX - 64], about[PATH_MAX];
static const struct device_ops *ops;

static const char about_text[] =
    "{\"space\":\"toy-card\",\"device\":\"card\",\"params\":[{\"name\":\"bx\"},{\"name\":\"way\"}]}";
static const char rows_text[] = "bx,way,status,time_ms,cost_ms,compile_ms\n"
                                "1,a,ok,2.5,100,40\n"
                                "2,a,compile,,50,45\n"
                                "2,b,runtime,,60,41\n";

static void put(const char *name, const char *text, char *path)
{
    snprintf(path, PATH_MAX, "%s/%s", dir, name);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
}

static int write_files(void **state)
{
    char path[PATH_MAX];

    (void)state;
    ops = device_find("replay");
    if (dir_temporary("tune-test", dir, sizeof dir, NULL) != ERR_OK)
        return -1;
    put("toy.csv", rows_text, path);
    put("toy.json", about_text, about);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    dir_remove(dir);
    return 0;
}

/* Loads and runs one config; time_ns is the reported time of a run that ends well. */
static enum err measure(struct device *d, const char *knobs, int64_t *time_ns, int64_t *build_ns, struct why *why)
{
    struct program p;
    struct loaded *l = NULL;
    struct load_report report = {0};
    enum err e;

    program_init(&p);
    p.knobs = cJSON_Parse(knobs);
    e = ops->load(d, &p, NULL, NULL, &l, &report, why);
    if (!e)
        e = verify_program(ops, l, &p, NULL, NULL, why);
    if (!e)
        e = ops->run(l, PHASE_RUN, time_ns, NULL, why);
    *build_ns = report.build_ns;
    ops->unload(l);
    program_fini(&p);
    return e;
}

static void recorded_status_becomes_the_error(void **state)
{
    struct device *d = NULL;
    struct why why = {""};
    int64_t time_ns = 0, build_ns = 0;

    (void)state;
    if (ops->open(about, &d, &why) != ERR_OK)
        fail_msg("%s", why.text);
    assert_string_equal(ops->describe(d)->name, "card");
    assert_int_equal(measure(d, "{\"way\":\"a\",\"bx\":1}", &time_ns, &build_ns, &why), ERR_OK);
    assert_int_equal(time_ns, 2500000);
    assert_int_equal(build_ns, 40000000);
    assert_int_equal(measure(d, "{\"bx\":2,\"way\":\"a\"}", &time_ns, &build_ns, &why), ERR_COMPILE);
    assert_int_equal(build_ns, 45000000);
    assert_int_equal(measure(d, "{\"bx\":2,\"way\":\"b\"}", &time_ns, &build_ns, &why), ERR_DEVICE);
    assert_int_equal(measure(d, "{\"bx\":3,\"way\":\"b\"}", &time_ns, &build_ns, &why), ERR_LIMITS);
    assert_non_null(strstr(why.text, "not in the recorded space"));
    assert_int_equal(measure(d, "{\"bx\":3}", &time_ns, &build_ns, &why), ERR_LIMITS);
    assert_non_null(strstr(why.text, "way"));
    ops->close(d);
}

static void a_recording_that_cannot_be_read_is_named_by_its_json(void **state)
{
    static const char *const texts[] = {"no JSON", "[]", "{\"space\":\"s\"}"};
    char path[PATH_MAX], missing[PATH_MAX];
    struct device *d = NULL;
    struct why why = {""};

    (void)state;
    snprintf(missing, sizeof missing, "%s/missing.json", dir);
    assert_int_equal(ops->open(missing, &d, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "missing.json: No such file"));
    snprintf(missing, sizeof missing, "%s/folder.json", dir);
    assert_int_equal(dir_make(missing, 0700, NULL), ERR_OK);
    assert_int_equal(ops->open(missing, &d, &why), ERR_IO);
    assert_non_null(strstr(why.text, "folder.json: Is a directory"));
    put("bad.csv", rows_text, path);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put("bad.json", texts[i], path);
        assert_int_equal(ops->open(path, &d, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, "bad.json: "));
        assert_null(strstr(why.text, "csv"));
    }
    put("alone.json", about_text, path);
    assert_int_equal(ops->open(path, &d, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "alone.csv: No such file"));
}

/* 100 ms of cost: at a thousandth of the time a load is over at once, at a thousandfold it would take minutes. */
static void recorded_costs_are_waited_for_at_the_speed_asked_for(void **state)
{
    struct device *d = NULL;
    int64_t time_ns = 0, build_ns = 0, start_ns;
    struct why why = {""};

    (void)state;
    setenv("TUNE_REPLAY_DELAY", "real", 1);
    for (int fast = 0; fast < 2; fast++) {
        setenv("TUNE_REPLAY_SPEED", fast ? "1000" : "1", 1);
        assert_int_equal(ops->open(about, &d, &why), ERR_OK);
        start_ns = clock_now_ns();
        assert_int_equal(measure(d, "{\"way\":\"a\",\"bx\":1}", &time_ns, &build_ns, &why), ERR_OK);
        start_ns = clock_now_ns() - start_ns;
        assert_true(fast ? start_ns < INT64_C(60000000000) : start_ns >= INT64_C(100000000));
        ops->close(d);
    }
    unsetenv("TUNE_REPLAY_SPEED");
    unsetenv("TUNE_REPLAY_DELAY");
}

/* Any file of the recording names it; a row that took no time has failed; one knob more is as good. */
static void recordings_are_found_by_any_of_their_files(void **state)
{
    static const char *const tails[] = {".json", ".csv", ".csv.gz", ""};
    char path[PATH_MAX + 8];
    struct why why = {""};

    (void)state;
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        struct device *d = NULL;
        int64_t time_ns = 0, build_ns = 0;

        snprintf(path, sizeof path, "%s/toy%s", dir, tails[i]);
        if (ops->open(path, &d, &why))
            fail_msg("%s: %s", path, why.text);
        assert_string_equal(ops->describe(d)->platform, "recorded toy-card");
        assert_string_equal(ops->describe(d)->api, "replay");
        assert_int_equal(measure(d, "{\"way\":\"a\",\"bx\":1,\"more\":7}", &time_ns, &build_ns, &why), ERR_OK);
        ops->close(d);
    }
}

static void rows_without_a_time_have_failed(void **state)
{
    char path[PATH_MAX], table[PATH_MAX];
    struct device *d = NULL;
    int64_t time_ns = 0, build_ns = -1;
    struct why why = {""};

    (void)state;
    put("plain.json", "{\"space\":\"s\",\"device\":\"d\",\"params\":[{\"name\":\"bx\"}]}", path);
    put("plain.csv", "bx,status,time_ms\n1,ok,0\n2,ok,0.000001\n3,ok,x\n4,ok,5000\n",
        table); /* no cost, no compile time */
    assert_int_equal(ops->open(path, &d, &why), ERR_OK);
    assert_int_equal(measure(d, "{\"bx\":1}", &time_ns, &build_ns, &why), ERR_DEVICE);
    assert_int_equal(measure(d, "{\"bx\":3}", &time_ns, &build_ns, &why), ERR_DEVICE);
    assert_int_equal(measure(d, "{\"bx\":2}", &time_ns, &build_ns, &why), ERR_OK);
    assert_int_equal(time_ns, 1);
    assert_int_equal(measure(d, "{\"bx\":4}", &time_ns, &build_ns, &why), ERR_OK);
    assert_int_equal(time_ns, 5000000000); /* seconds are times too */
    assert_int_equal(build_ns, 0);
    ops->close(d);
}

static void bad_recordings_are_refused_with_words(void **state)
{
    static const char *const bad_about[] = {"", "[]", "{}", "{\"space\":\"s\",\"device\":\"d\"}",
                                            "{\"space\":\"s\",\"device\":\"d\",\"params\":[{\"name\":\"nothing\"}]}"};
    char path[PATH_MAX], table[PATH_MAX];
    struct device *d = NULL;
    struct why why;

    (void)state;
    put("bad.csv", rows_text, table);
    for (size_t i = 0; i < sizeof bad_about / sizeof bad_about[0]; i++) {
        put("bad.json", bad_about[i], path);
        why.text[0] = '\0';
        if (ops->open(path, &d, &why) == ERR_OK || !why.text[0])
            fail_msg("taken, or refused without words: %s", bad_about[i]);
    }
    put("bad.json", about_text, path);
    put("bad.csv", "bx,way\n1,a\n", table);
    assert_int_equal(ops->open(path, &d, &why), ERR_INPUT);
    assert_int_equal(ops->open("", &d, &why), ERR_INPUT);
    assert_int_not_equal(ops->open("/no/such/file.json", &d, &why), ERR_OK);
}

static void backends_are_found_by_name(void **state)
{
    const struct device_ops *found = NULL;
    const char *selector = NULL;
    struct why why = {""};

    (void)state;
    assert_int_equal(device_parse("opencl:0.1", &found, &selector, &why), ERR_OK);
    assert_string_equal(found->name, "opencl");
    assert_string_equal(selector, "0.1");
    assert_int_equal(device_parse("replay:a:b.json", &found, &selector, &why), ERR_OK);
    assert_string_equal(selector, "a:b.json");
    assert_int_equal(device_parse("opencl", &found, &selector, &why), ERR_OK);
    assert_string_equal(selector, "");
    assert_int_equal(device_parse("vulkan:0", &found, &selector, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "opencl, cuda, c, replay"));
    for (size_t i = 0; device_table[i]; i++) {
        const struct device_ops *o = device_table[i];

        assert_ptr_equal(device_find(o->name), o);
        assert_true(o->summary && o->list && o->open && o->close && o->describe && o->load && o->unload && o->run &&
                    o->write && o->read);
    }
}

static void recorded_space_answers_with_its_optimum(void **state)
{
    const char *data = getenv("TUNE_TEST_DATA");
    char path[PATH_MAX];
    struct device *d = NULL;
    struct why why = {""};
    int64_t time_ns = 0, build_ns = 0;

    (void)state;
    if (!data || !data[0])
        skip();
    snprintf(path, sizeof path, "%s/replay/convolution-RTX_3090.json", data);
    if (ops->open(path, &d, &why) != ERR_OK)
        fail_msg("%s", why.text);
    assert_int_equal(measure(d,
                             "{\"block_size_x\":2,\"block_size_y\":32,\"filter_height\":15,\"filter_width\":15,"
                             "\"read_only\":0,\"tile_size_x\":1,\"tile_size_y\":1,\"use_padding\":0}",
                             &time_ns, &build_ns, &why),
                     ERR_OK);
    assert_int_equal(time_ns, 7001590);
    assert_int_equal(measure(d,
                             "{\"block_size_x\":8,\"block_size_y\":32,\"filter_height\":15,\"filter_width\":15,"
                             "\"read_only\":0,\"tile_size_x\":4,\"tile_size_y\":5,\"use_padding\":1}",
                             &time_ns, &build_ns, &why),
                     ERR_COMPILE);
    ops->close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_status_becomes_the_error),
        cmocka_unit_test(a_recording_that_cannot_be_read_is_named_by_its_json),
        cmocka_unit_test(recorded_costs_are_waited_for_at_the_speed_asked_for),
        cmocka_unit_test(recordings_are_found_by_any_of_their_files),
        cmocka_unit_test(rows_without_a_time_have_failed),
        cmocka_unit_test(bad_recordings_are_refused_with_words),
        cmocka_unit_test(backends_are_found_by_name),
        cmocka_unit_test(recorded_space_answers_with_its_optimum),
    };

    return cmocka_run_group_tests(tests, write_files, remove_files);
}
