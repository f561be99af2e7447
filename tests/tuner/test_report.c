/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/file.h"
#include "tuner/devices.h"
#include "tuner/failures.h"
#include "tuner/joblog.h"
#include "tuner/progress.h"
#include "tuner/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void progress_line_fits_the_terminal(void **state)
{
    const struct progress_state s = {.n_tasks = 12,
                                     .task = "conv3_2",
                                     .done = 96,
                                     .total = 1000,
                                     .current_gflops = 49.2,
                                     .best_gflops = 118.3,
                                     .eta_s = 250,
                                     .failures = "compile 3",
                                     .key = "rk3399",
                                     .n_devices = 2};
    struct buf line;

    (void)state;
    buf_init(&line, 4096);
    progress_line(&s, 400, &line);
    assert_string_equal(buf_text(&line),
                        "[task 1/12] 96/1000  49.2 / best 118.3 GFLOPS  ETA 4m10s  2 x rk3399  failed: "
                        "compile 3  conv3_2");
    buf_clear(&line);
    progress_line(&s, 40, &line);
    assert_int_equal(line.len, 40);
    buf_fini(&line);
}

static void durations_read_well(void **state)
{
    static const struct {
        double s;
        const char *text;
    } cases[] = {{0, "0s"}, {59, "59s"}, {61, "1m01s"}, {3720, "1h02m"}, {-1, "?"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];

        duration_text(cases[i].s, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void failures_group_messages_that_differ_in_numbers(void **state)
{
    struct failures f;
    struct buf text;

    (void)state;
    failures_init(&f);
    failures_add_words(&f, STATUS_COMPILE, "line 12: no such name\nmore");
    failures_add_words(&f, STATUS_COMPILE, "line 7: no such name");
    failures_add_words(&f, STATUS_WRONG, "y[3] is 4, expected 5");
    buf_init(&text, 4096);
    failures_line(&f, &text);
    assert_string_equal(buf_text(&text), "compile 2 wrong 1");
    buf_clear(&text);
    failures_explain(&f, &text);
    assert_non_null(strstr(buf_text(&text), "     2 x compile: line 12: no such name"));
    assert_non_null(strstr(buf_text(&text), "     1 x wrong: y[3] is 4, expected 5"));
    buf_fini(&text);
    failures_fini(&f);
}

static void failures_show_the_first_compiler_log_once(void **state)
{
    struct record r;
    struct failures f;
    struct buf text;

    (void)state;
    failures_init(&f);
    record_init(&r);
    r.status = STATUS_COMPILE;
    r.why = strdup("k.cl:1: error: unknown type 'flot'");
    failures_add(&f, &r);
    failures_add(&f, &r);
    buf_init(&text, 4096);
    failures_explain(&f, &text);
    assert_non_null(strstr(buf_text(&text), "first words:\nk.cl:1: error: unknown type 'flot'\n"));
    buf_fini(&text);
    record_fini(&r);
    failures_fini(&f);
}

static void a_timeout_is_told_with_the_option_that_allows_more(void **state)
{
    static const struct {
        enum record_status status;
        const char *stage, *option;
    } cases[] = {{STATUS_TIMEOUT, "build", "--build-timeout"},
                 {STATUS_TIMEOUT, "load", "--build-timeout"},
                 {STATUS_TIMEOUT, "verify", "--run-timeout"},
                 {STATUS_TIMEOUT, "time", "--run-timeout"},
                 {STATUS_CRASH, "time", NULL},
                 {STATUS_OK, "", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct failures f;
        struct record r;
        struct buf text;

        failures_init(&f);
        record_init(&r);
        buf_init(&text, 4096);
        r.status = cases[i].status;
        snprintf(r.stage, sizeof r.stage, "%s", cases[i].stage);
        failures_add(&f, &r);
        failures_explain(&f, &text);
        if (cases[i].option) {
            assert_non_null(strstr(failure_remedy(&r), cases[i].option));
            assert_non_null(strstr(buf_text(&text), cases[i].option));
        } else {
            assert_string_equal(failure_remedy(&r), "");
            assert_null(strstr(buf_text(&text), "-timeout"));
        }
        buf_fini(&text);
        record_fini(&r);
        failures_fini(&f);
    }
}

static void the_error_is_that_of_the_value(void **state)
{
    const struct record r = {.se = 0.004}, unknown = {.se = NAN};

    (void)state;
    assert_true(fabs(table_error_percent(&r) - 0.4) < 1e-12);
    assert_true(table_error_percent(&unknown) == 0);
}

static cJSON *parse(const char *text)
{
    cJSON *o = NULL;

    assert_int_equal(json_parse(text, strlen(text), &o, NULL), ERR_OK);
    return o;
}

static void a_device_key_must_exist_and_be_named_when_there_are_several(void **state)
{
    cJSON *none = parse("{\"devices\":[]}");
    cJSON *two =
        parse("{\"devices\":[{\"key\":\"a\",\"agent\":\"x\",\"state\":\"idle\"},{\"key\":\"b\",\"agent\":\"y\"}]}");
    struct device_choice d;
    struct why why = {""};

    (void)state;
    assert_int_equal(devices_choose_from(none, "", &d, &why), ERR_NOT_FOUND);
    assert_int_equal(devices_choose_from(two, "", &d, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "a, b"));
    assert_int_equal(devices_choose_from(two, "c", &d, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "\"c\""));
    cJSON_Delete(none);
    cJSON_Delete(two);
}

/* Where a word of the header begins, each line under it has a blank before its value. */
static void columns_of_devices_stand_under_each_other(void **state)
{
    cJSON *two =
        parse("{\"devices\":[{\"key\":\"a-key-of-more-than-eighteen-bytes\",\"agent\":\"x\",\"state\":\"idle\"},"
              "{\"key\":\"b\",\"agent\":\"an-agent-of-more-than-22-bytes:12345\",\"state\":\"idle\"}]}");
    struct buf out;
    const char *line[3];

    (void)state;
    buf_init(&out, 65536);
    assert_int_equal(devices_print(two, 0, &out), ERR_OK);
    line[0] = buf_text(&out);
    for (int i = 1; i < 3; i++)
        line[i] = strchr(line[i - 1], '\n') + 1;
    for (int i = 1; i < 3; i++)
        assert_int_equal(strstr(line[i], " idle ") - line[i], strstr(line[0], " state ") - line[0]);
    assert_int_equal(strstr(line[2], " an-agent") - line[2], strstr(line[0], " agent ") - line[0]);
    buf_fini(&out);
    cJSON_Delete(two);
}

static void a_log_takes_each_line_once(void **state)
{
    char dir[256], path[300];
    struct joblog l;
    struct record r;
    struct buf line, file;
    struct why why = {""};

    (void)state;
    assert_int_equal(dir_temporary("tune-test", dir, sizeof dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/x.jsonl", dir);
    record_init(&r);
    r.workload = strdup("dense f32 m=1 n=1 k=1");
    snprintf(r.id, sizeof r.id, "t1");
    snprintf(r.job, sizeof r.job, "j1");
    snprintf(r.purpose, sizeof r.purpose, "search");
    r.status = STATUS_RUNTIME;
    r.knobs = cJSON_CreateObject();
    r.program = r.fingerprint = sha256_of("p", 1);
    buf_init(&line, RECORD_MAX_BYTES);
    buf_init(&file, 1 << 20);
    assert_int_equal(record_print(&r, &line), ERR_OK);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(joblog_open(&l, path, NULL, NULL, NULL, &why), ERR_OK);
        assert_int_equal(joblog_line(&l, &r, buf_text(&line), line.len, &why), ERR_OK);
        assert_int_equal(joblog_line(&l, &r, buf_text(&line), line.len, &why), ERR_OK);
        joblog_close(&l);
    }
    assert_int_equal(file_read(path, &file, NULL), ERR_OK);
    assert_string_equal(buf_text(&file), buf_text(&line));
    buf_fini(&line);
    buf_fini(&file);
    record_fini(&r);
    dir_remove(dir);
}

static void a_log_that_cannot_be_written_is_told_at_once(void **state)
{
    struct joblog l;
    struct why why = {""};

    (void)state;
    assert_int_not_equal(joblog_open(&l, "/nonexistent/dir/x.jsonl", NULL, NULL, NULL, &why), ERR_OK);
    assert_true(why.text[0] != '\0');
    joblog_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_line_fits_the_terminal),
        cmocka_unit_test(durations_read_well),
        cmocka_unit_test(failures_group_messages_that_differ_in_numbers),
        cmocka_unit_test(failures_show_the_first_compiler_log_once),
        cmocka_unit_test(a_timeout_is_told_with_the_option_that_allows_more),
        cmocka_unit_test(the_error_is_that_of_the_value),
        cmocka_unit_test(a_device_key_must_exist_and_be_named_when_there_are_several),
        cmocka_unit_test(columns_of_devices_stand_under_each_other),
        cmocka_unit_test(a_log_takes_each_line_once),
        cmocka_unit_test(a_log_that_cannot_be_written_is_told_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
