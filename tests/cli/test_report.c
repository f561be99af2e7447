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
#include "cli/table.h"

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

/* A task whose FLOPs nobody told. */
static void progress_without_flops_is_told_in_time(void **state)
{
    struct progress_state s = {
        .n_tasks = 1, .task = "own", .done = 3, .total = 9, .eta_s = -1, .key = "k", .n_devices = 1};
    struct buf line;

    (void)state;
    buf_init(&line, 4096);
    progress_line(&s, 400, &line);
    assert_string_equal(buf_text(&line), "[task 1/1] 3/9  ETA ?  1 x k  own"); /* nothing yet */
    buf_clear(&line);
    s.current_ns = 2.5e6;
    s.best_ns = 1.25e6;
    progress_line(&s, 400, &line);
    assert_string_equal(buf_text(&line), "[task 1/1] 3/9  2.5 / best 1.25 ms  ETA ?  1 x k  own");
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

/* Whatever comes behind it: other limits, other failures, good ones. */
static void a_limit_that_was_hit_once_is_told_in_the_end(void **state)
{
    static const struct {
        enum record_status status;
        const char *stage;
    } rest[] = {{STATUS_TIMEOUT, "start"}, {STATUS_CRASH, "build"}, {STATUS_OK, ""}, {STATUS_COMPILE, "build"}};
    static const char *const first[] = {"build", "time"}, *const told[] = {"--build-timeout", "--run-timeout"};

    (void)state;
    for (size_t i = 0; i < 3; i++) { /* one limit, the other, both */
        struct failures f;
        struct record r;
        struct buf text;

        failures_init(&f);
        record_init(&r);
        buf_init(&text, 4096);
        for (size_t k = 0; k < 2; k++) {
            r.status = STATUS_TIMEOUT;
            snprintf(r.stage, sizeof r.stage, "%s", first[k]);
            if (i == k || i == 2)
                failures_add(&f, &r);
        }
        for (size_t k = 0; k < sizeof rest / sizeof rest[0]; k++) {
            r.status = rest[k].status;
            snprintf(r.stage, sizeof r.stage, "%s", rest[k].stage);
            failures_add(&f, &r);
        }
        failures_remedies(&f, &text);
        for (size_t k = 0; k < 2; k++)
            assert_int_equal(strstr(buf_text(&text), told[k]) != NULL, i == k || i == 2);
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

/* A description may have 64 kB, and its name most of them. */
static void a_device_has_one_line_of_the_table_however_long_its_name(void **state)
{
    char text[5000];
    cJSON *list;
    struct buf out;

    (void)state;
    snprintf(text, sizeof text,
             "{\"devices\":[{\"key\":\"k\",\"agent\":\"a\",\"state\":\"idle\",\"device\":{\"name\":\"%04000d\"}}]}", 7);
    list = parse(text);
    buf_init(&out, 65536);
    assert_int_equal(devices_print(list, 0, &out), ERR_OK);
    assert_true(out.len > 100 && out.len < 400);
    buf_fini(&out);
    cJSON_Delete(list);
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
    assert_int_not_equal(joblog_open(&l, "/dev/null/none/dir/x.jsonl", NULL, NULL, NULL, &why), ERR_OK);
    assert_true(why.text[0] != '\0');
    joblog_close(&l);
}

/* ---- devices of a farm ---- */

#define DEVICE(key, agent, fingerprint, state)                                                                         \
    "{\"key\":\"" key "\",\"agent\":\"" agent "\",\"fingerprint\":\"" fingerprint "\",\"state\":\"" state              \
    "\",\"last_seen_ms\":4000,\"done\":17,\"failed\":3,\"current\":\"j5\",\"device\":%s}"

/* The description of a device, for lists that are printed with it. */
static cJSON *list_of(const char *format, int n)
{
    struct device_desc d = {.api = "opencl", .name = "some device", .units = 4};
    cJSON *desc = device_desc_to_json(&d), *list;
    char *text = cJSON_PrintUnformatted(desc), out[8192];

    snprintf(out, sizeof out, format, text, n > 1 ? text : "", n > 2 ? text : "", n > 3 ? text : "");
    list = parse(out);
    cJSON_free(text);
    cJSON_Delete(desc);
    return list;
}

static void equal_devices_of_a_key_are_counted(void **state)
{
    cJSON *list =
        list_of("{\"devices\":[" DEVICE("k", "a1", "ff", "idle") "," DEVICE("k", "a2", "ff", "busy") "," DEVICE(
                    "k", "a3", "ff", "idle") "," DEVICE("k", "a4", "ff", "lost") "]}",
                4);
    cJSON *mixed = list_of("{\"devices\":[" DEVICE("k", "a1", "11", "lost") "," DEVICE(
                               "k", "a2", "22", "idle") "," DEVICE("k", "a3", "33", "idle") "]}",
                           3);
    cJSON *away = list_of("{\"devices\":[" DEVICE("k", "a1", "11", "lost") "," DEVICE("k", "a2", "22", "gone") "]}", 2);
    struct device_choice d = {.n_agents = 0};
    struct why why = {""};

    (void)state;
    assert_int_equal(devices_choose_from(list, "", &d, &why), ERR_OK); /* the only key needs no name */
    assert_int_equal(d.n_agents, 3);
    assert_string_equal(d.key, "k");
    assert_string_equal(d.fingerprint.hex, "ff");
    assert_string_equal(d.desc.name, "some device");
    assert_int_equal(d.desc.units, 4);
    assert_int_equal(devices_choose_from(mixed, "k", &d, &why), ERR_OK); /* the first that is there, and its equals */
    assert_int_equal(d.n_agents, 1);
    assert_string_equal(d.fingerprint.hex, "22");
    assert_int_equal(devices_choose_from(away, "k", &d, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "all devices of the key \"k\" are away"));
    cJSON_Delete(list);
    cJSON_Delete(mixed);
    cJSON_Delete(away);
}

/* An agent that does not say what it is, or not in our words. */
static void a_device_that_cannot_be_read_stops_none_that_can(void **state)
{
    cJSON *list =
        list_of("{\"devices\":[" DEVICE("k", "a1", "11", "idle") "," DEVICE("k", "a2", "22", "idle") "," DEVICE(
                    "k", "a3", "33", "idle") "," DEVICE("k", "a4", "33", "idle") "]}",
                4);
    cJSON *devices = cJSON_GetObjectItem(list, "devices");
    struct device_choice d = {.n_agents = 0};
    struct why why = {""};

    (void)state;
    cJSON_ReplaceItemInObject(cJSON_GetArrayItem(devices, 0), "device", cJSON_CreateNull());
    cJSON_DeleteItemFromObject(cJSON_GetObjectItem(cJSON_GetArrayItem(devices, 1), "device"), "kind");
    assert_int_equal(devices_choose_from(list, "k", &d, &why), ERR_OK);
    assert_int_equal(d.n_agents, 2);
    assert_string_equal(d.fingerprint.hex, "33");
    assert_string_equal(d.desc.api, "opencl");
    cJSON_DeleteItemFromArray(devices, 3);
    cJSON_DeleteItemFromArray(devices, 2);
    assert_int_equal(devices_choose_from(list, "k", &d, &why), ERR_INPUT); /* nothing else: its words */
    assert_non_null(strstr(why.text, "kind"));
    cJSON_Delete(list);
}

/* Each 16, and who asks for more more; not those that are lost. */
static void trials_that_keep_agents_busy_are_added_up(void **state)
{
    cJSON *list =
        list_of("{\"devices\":[" DEVICE("k", "a1", "ff", "idle") "," DEVICE("k", "a2", "ff", "busy") "," DEVICE(
                    "k", "a3", "ff", "idle") "," DEVICE("k", "a4", "ff", "lost") "]}",
                4);
    cJSON *devices = cJSON_GetObjectItem(list, "devices");
    struct device_choice d = {.n_agents = 0};
    struct why why = {""};

    (void)state;
    cJSON_AddNumberToObject(cJSON_GetArrayItem(devices, 1), "capacity", 30);
    cJSON_AddNumberToObject(cJSON_GetArrayItem(devices, 2), "capacity", 4);
    cJSON_AddNumberToObject(cJSON_GetArrayItem(devices, 3), "capacity", 30);
    assert_int_equal(devices_choose_from(list, "k", &d, &why), ERR_OK);
    assert_int_equal(d.n_agents, 3);
    assert_int_equal(d.capacity, 16 + 30 + 16);
    cJSON_Delete(list);
}

static void a_line_of_a_device_has_its_figures(void **state)
{
    cJSON *list = list_of(
        "{\"devices\":[" DEVICE(
            "k", "a1", "ff",
            "busy") "],\"builders\":[{\"agent\":\"b1\",\"state\":"
                    "\"idle\",\"last_seen_ms\":1000,\"done\":5,\"failed\":1,\"compiler\":\"NVRTC 12.4\",\"arches\":"
                    "[\"sm_61\",\"sm_75\"],\"cage\":\"whole\"}]}",
        1);
    char key[32], agent[32], state_word[32], job[32], name[64];
    int seen, done, failed;
    const char *line;
    struct buf out;

    (void)state;
    buf_init(&out, 65536);
    assert_int_equal(devices_print(list, 9000, &out), ERR_OK);
    line = strchr(buf_text(&out), '\n') + 1;
    assert_int_equal(sscanf(line, "%31s %31s %31s %d s %d %d %31s %63[^\n]", key, agent, state_word, &seen, &done,
                            &failed, job, name),
                     8);
    assert_string_equal(key, "k");
    assert_string_equal(agent, "a1");
    assert_string_equal(state_word, "busy");
    assert_true(seen == 5 && done == 17 && failed == 3);
    assert_string_equal(job, "j5");
    assert_string_equal(name, "some device");
    line = strstr(buf_text(&out), "\nb1 ");
    assert_non_null(line);
    assert_int_equal(sscanf(line + 1, "%31s %31s %d s %d %d %63[^\n]", agent, state_word, &seen, &done, &failed, name),
                     6);
    assert_true(seen == 8 && done == 5 && failed == 1);
    assert_string_equal(name, "NVRTC 12.4   sm_61 sm_75, cage whole");
    buf_clear(&out);
    assert_int_equal(devices_print(list, 3000, &out), ERR_OK); /* a clock behind: not seen in the future */
    assert_non_null(strstr(buf_text(&out), " 0 s "));
    assert_null(strstr(buf_text(&out), "-1 s"));
    buf_fini(&out);
    cJSON_Delete(list);
}

/* ---- progress ---- */

/* What was written into the stream so far; forgets it. */
static void taken(FILE *f, char *out, size_t n)
{
    size_t got;

    fflush(f);
    rewind(f);
    got = fread(out, 1, n - 1, f);
    out[got] = '\0';
    assert_int_equal(ftruncate(fileno(f), 0), 0);
    rewind(f);
}

static void lines_come_now_and_then_and_at_once_when_forced(void **state)
{
    static const struct {
        enum progress_mode mode;
        int64_t ms;
        bool force, drawn;
    } steps[] = {{PROGRESS_PLAIN, 1, false, true},         {PROGRESS_PLAIN, 29000, false, false},
                 {PROGRESS_PLAIN, 29100, true, true},      {PROGRESS_PLAIN, 29200, true, false}, /* within 200 ms */
                 {PROGRESS_PLAIN, 59000, false, false},    {PROGRESS_PLAIN, 59101, false, true},
                 {PROGRESS_TERMINAL, 59200, false, false}, {PROGRESS_TERMINAL, 59302, false, true},
                 {PROGRESS_NONE, 99000, true, false},      {PROGRESS_JSON, 99000, true, false}};
    const struct progress_state s = {.n_tasks = 1, .key = "k", .failures = ""};
    struct progress p = {.to = tmpfile(), .width = 30};
    char text[4096];

    (void)state;
    assert_non_null(p.to);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        p.mode = steps[i].mode;
        progress_draw(&p, &s, steps[i].ms * 1000000, steps[i].force);
        taken(p.to, text, sizeof text);
        if ((text[0] != '\0') != steps[i].drawn)
            fail_msg("step %zu: '%s'", i, text);
    }
    fclose(p.to);
}

static void a_note_clears_the_line_of_a_terminal(void **state)
{
    const struct progress_state s = {.n_tasks = 1, .key = "k"};
    struct progress p = {.mode = PROGRESS_TERMINAL, .to = tmpfile(), .width = 30, .colour = true};
    char text[4096];

    (void)state;
    progress_draw(&p, &s, 1000000000, false);
    taken(p.to, text, sizeof text);
    assert_int_equal(strncmp(text, "\r\033[1m[task 1/1] ", 16), 0);
    assert_non_null(strstr(text, "\033[0m\033[K"));
    assert_int_equal(strlen(text), 1 + 4 + 29 + 4 + 3); /* a column is left free */
    progress_note(&p, "job %s", "j1");
    taken(p.to, text, sizeof text);
    assert_string_equal(text, "\r\033[Kjob j1\n");
    progress_note(&p, "again");
    taken(p.to, text, sizeof text);
    assert_string_equal(text, "again\n");
    p.drawn = true;
    progress_pause(&p);
    progress_pause(&p);
    taken(p.to, text, sizeof text);
    assert_string_equal(text, "\n");
    p.mode = PROGRESS_NONE;
    progress_note(&p, "never");
    taken(p.to, text, sizeof text);
    assert_string_equal(text, "");
    progress_waits(&p, "the disk is full");
    taken(p.to, text, sizeof text);
    assert_string_equal(text, "tune: the disk is full\n");
    fclose(p.to);
}

static void events_are_numbered_and_say_what_was_measured(void **state)
{
    struct progress p = {.mode = PROGRESS_JSON, .to = tmpfile()};
    struct record r;
    char text[4096];
    cJSON *o;

    (void)state;
    record_init(&r);
    r.workload = strdup("dense f32 m=1 n=1 k=1");
    r.knobs = parse("{\"vc\":4}");
    r.status = STATUS_OK;
    r.time_ns = 2000;
    r.flops = 4e3;
    snprintf(r.template_id, sizeof r.template_id, "dense/naive");
    snprintf(r.purpose, sizeof r.purpose, "final");
    for (int better = 0; better < 2; better++) {
        progress_measured(&p, &r, better);
        taken(p.to, text, sizeof text);
        o = parse(text);
        assert_string_equal(cJSON_GetObjectItem(o, "event")->valuestring, better ? "best" : "measured");
        assert_true(cJSON_GetObjectItem(o, "seq")->valuedouble == better + 1);
        assert_true(cJSON_GetObjectItem(o, "time_ns")->valuedouble == 2000);
        assert_true(cJSON_GetObjectItem(o, "gflops")->valuedouble == 2);
        assert_string_equal(cJSON_GetObjectItem(o, "template")->valuestring, "dense/naive");
        assert_string_equal(cJSON_GetObjectItem(o, "purpose")->valuestring, "final");
        assert_string_equal(cJSON_GetObjectItem(o, "status")->valuestring, "ok");
        assert_true(cJSON_GetObjectItem(cJSON_GetObjectItem(o, "knobs"), "vc")->valuedouble == 4);
        cJSON_Delete(o);
    }
    p.mode = PROGRESS_PLAIN;
    progress_measured(&p, &r, true);
    taken(p.to, text, sizeof text);
    assert_string_equal(text, "");
    record_fini(&r);
    fclose(p.to);
}

/* ---- failures ---- */

/* The three most frequent, the most frequent first; equal causes once. */
static void the_most_frequent_failures_come_first(void **state)
{
    static const char *const words[] = {"a", "b", "b", "c", "c", "c", "d", "d", "d", "d"};
    struct failures f;
    struct buf text;

    (void)state;
    failures_init(&f);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        failures_add_words(&f, STATUS_RUNTIME, words[i]);
    buf_init(&text, 4096);
    failures_explain(&f, &text);
    assert_string_equal(buf_text(&text), "most frequent failures:\n     4 x runtime: d\n     3 x runtime: c\n"
                                         "     2 x runtime: b\n");
    buf_fini(&text);
    failures_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_without_flops_is_told_in_time),
        cmocka_unit_test(progress_line_fits_the_terminal),
        cmocka_unit_test(durations_read_well),
        cmocka_unit_test(failures_group_messages_that_differ_in_numbers),
        cmocka_unit_test(failures_show_the_first_compiler_log_once),
        cmocka_unit_test(a_timeout_is_told_with_the_option_that_allows_more),
        cmocka_unit_test(a_limit_that_was_hit_once_is_told_in_the_end),
        cmocka_unit_test(the_error_is_that_of_the_value),
        cmocka_unit_test(a_device_key_must_exist_and_be_named_when_there_are_several),
        cmocka_unit_test(columns_of_devices_stand_under_each_other),
        cmocka_unit_test(a_device_has_one_line_of_the_table_however_long_its_name),
        cmocka_unit_test(equal_devices_of_a_key_are_counted),
        cmocka_unit_test(a_device_that_cannot_be_read_stops_none_that_can),
        cmocka_unit_test(trials_that_keep_agents_busy_are_added_up),
        cmocka_unit_test(a_line_of_a_device_has_its_figures),
        cmocka_unit_test(lines_come_now_and_then_and_at_once_when_forced),
        cmocka_unit_test(a_note_clears_the_line_of_a_terminal),
        cmocka_unit_test(events_are_numbered_and_say_what_was_measured),
        cmocka_unit_test(the_most_frequent_failures_come_first),
        cmocka_unit_test(a_log_takes_each_line_once),
        cmocka_unit_test(a_log_that_cannot_be_written_is_told_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
