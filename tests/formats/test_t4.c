/* SPDX-License-Identifier: MIT */
/* Results in the form T4: files as others write them are read, and what we write comes back whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/file.h"
#include "core/hash.h"
#include "formats/convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[256];

/* As Kernel Tuner (first), the benchmark hub (second, failed) and KTT's converter (third) have results. */
#define KT                                                                                                             \
    "{\"timestamp\": \"2023-12-21 10:44:42.236642+00:00\", \"configuration\": {\"bx\": 16, \"pad\": true},\n"          \
    "\"times\": {\"compilation\": 661.5, \"benchmark\": 3, \"framework\": 53.1, \"search_algorithm\": 0, "             \
    "\"validation\": 0, \"runtimes\": [12.5, 12.25, 13.0]}, \"invalidity\": \"correct\", \"correctness\": 1,\n"        \
    "\"measurements\": [{\"name\": \"time\", \"value\": 12.5, \"unit\": \"ms\"}, {\"name\": \"nvml_energy\", "         \
    "\"value\": 2.5, \"unit\": \"\"}], \"objectives\": [\"time\"]}"
#define HUB                                                                                                            \
    "{\"timestamp\": \"2023-12-22 11:31:47+00:00\", \"configuration\": {\"bx\": 80, \"pad\": 0}, \"times\": "          \
    "{\"compilation\": 7281.7, \"framework\": 1.6, \"search_algorithm\": 0, \"validation\": 0}, \"invalidity\": "      \
    "\"compile\", \"correctness\": 0, \"measurements\": [{\"name\": \"time\", \"value\": "                             \
    "\"CompilationFailedConfig\", "                                                                                    \
    "\"unit\": \"\"}], \"objectives\": [\"time\"]}"
#define KTT                                                                                                            \
    "{\"timestamp\": \"2024-07-10 07:36:36 UTC\", \"configuration\": {\"bx\": 32, \"pad\": 1}, \"objectives\": "       \
    "[\"TotalDuration\"], \"times\": {\"compilation_time\": 1026205.134, \"runtimes\": [96.256], \"framework\": "      \
    "6197.6}, \"invalidity\": \"correct\", \"correctness\": 1, \"measurements\": [{\"name\": \"TotalDuration\", "      \
    "\"value\": 96.256, \"unit\": \"Microseconds\"}]}"
#define FILE_OF(results) "{\"schema_version\": \"1.0.0\", \"results\": [" results "]}\n"

struct seen {
    struct record r[16];
    size_t n, n_bad;
    char words[300];
};

static bool take(const struct record *r, const char *line, size_t n_line, void *arg)
{
    struct seen *s = arg;

    (void)line;
    (void)n_line;
    assert_true(s->n < 16);
    assert_int_equal(record_copy(&s->r[s->n++], r), ERR_OK);
    return true;
}

static void bad(const char *path, int64_t i_line, const char *words, void *arg)
{
    struct seen *s = arg;

    (void)path;
    (void)i_line;
    s->n_bad++;
    snprintf(s->words, sizeof s->words, "%s", words);
}

static void seen_fini(struct seen *s)
{
    for (size_t i = 0; i < s->n; i++)
        record_fini(&s->r[i]);
    *s = (struct seen){.n = 0};
}

static void scan(const char *name, struct seen *s)
{
    char path[512];
    struct why why = {""};

    *s = (struct seen){.n = 0};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (convert_scan(path, NULL, take, bad, s, &why))
        fail_msg("%s", why.text);
}

static void put(const char *name, const char *text, size_t n)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_replace(path, text, n, 0644, NULL), ERR_OK);
}

static double knob(const struct record *r, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(r->knobs, name);

    return v ? v->valuedouble : NAN;
}

static void results_of_others_are_read(void **state)
{
    static const char text[] = FILE_OF(KT ",\n" HUB ",\n" KTT);
    struct seen s;

    (void)state;
    put("theirs.json", text, strlen(text));
    scan("theirs.json", &s);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.n_bad, 0);
    assert_true(fabs(s.r[0].time_ns - 12.5e6) < 1 && fabs(s.r[0].samples_ns[2] - 13e6) < 1);
    assert_true(fabs(s.r[0].build_ms - 661.5) < 1e-6 && s.r[0].energy_j == 2.5);
    assert_int_equal(s.r[0].ts_ms, INT64_C(1703155482236));
    assert_true(knob(&s.r[0], "bx") == 16 && knob(&s.r[0], "pad") == 1);
    assert_int_equal(s.r[1].status, STATUS_COMPILE);
    assert_string_equal(s.r[1].why, "CompilationFailedConfig");
    assert_true(s.r[1].time_ns == 0);
    assert_true(fabs(s.r[2].time_ns - 96256) < 1e-3 && fabs(s.r[2].build_ms - 1026.205134) < 1e-6);
    assert_string_equal(s.r[0].workload, s.r[2].workload); /* equal parameters, one kernel */
    assert_true(strncmp(s.r[0].workload, "kernel t4-", 10) == 0);
    seen_fini(&s);
}

static void the_unit_of_the_file_may_stand_behind_its_results(void **state)
{
    static const char text[] = "{\"results\": [{\"configuration\": {\"a\": 1}, \"times\": {\"runtimes\": [3, 4, 5]}, "
                               "\"invalidity\": \"correct\", \"correctness\": 1}], \"metadata\": {\"timeunit\": "
                               "\"microseconds\"}}";
    struct seen s;

    (void)state;
    put("unit.json", text, strlen(text));
    scan("unit.json", &s);
    assert_int_equal(s.n, 1);
    assert_true(fabs(s.r[0].time_ns - 4000) < 1e-6);
    seen_fini(&s);
}

static void every_word_of_invalidity_has_a_status(void **state)
{
    static const struct {
        const char *word;
        enum record_status status;
    } words[] = {{"compile", STATUS_COMPILE},    {"runtime", STATUS_RUNTIME},
                 {"timeout", STATUS_TIMEOUT},    {"correctness", STATUS_WRONG},
                 {"constraints", STATUS_LIMITS}, {"correct", STATUS_RUNTIME} /* without a time */};
    struct seen s;

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[300];

        snprintf(text, sizeof text, FILE_OF("{\"configuration\": {\"a\": 1}, \"times\": {}, \"invalidity\": \"%s\"}"),
                 words[i].word);
        put("word.json", text, strlen(text));
        scan("word.json", &s);
        assert_int_equal(s.n, 1);
        assert_int_equal(s.r[0].status, words[i].status);
        seen_fini(&s);
    }
    put("word.json", FILE_OF("{\"configuration\": {}, \"times\": {}, \"invalidity\": \"odd\"}"),
        strlen(FILE_OF("{\"configuration\": {}, \"times\": {}, \"invalidity\": \"odd\"}")));
    scan("word.json", &s);
    assert_true(s.n == 0 && s.n_bad == 1 && strstr(s.words, "expected correct, compile"));
}

static void a_file_cut_at_any_byte_gives_every_whole_result(void **state)
{
    static const char text[] = FILE_OF(KT ",\n" HUB ",\n" KTT);
    const char *const ends[] = {strstr(text, HUB), strstr(text, KTT), text + strlen(text) - 4};

    (void)state;
    for (size_t n = strlen(text) - 1; n > 300; n -= 7) {
        struct seen s;
        size_t whole = 0;

        for (size_t i = 0; i < 3; i++)
            whole += text + n >= ends[i] - (i < 2 ? 2 : 0);
        put("cut.json", text, n);
        {
            char path[512];
            struct why why;

            s = (struct seen){.n = 0};
            snprintf(path, sizeof path, "%s/cut.json", dir);
            assert_int_equal(convert_scan(path, "t4", take, bad, &s, &why), ERR_OK);
        }
        if (s.n != whole)
            fail_msg("cut at %zu: %zu results, expected %zu", n, s.n, whole);
        seen_fini(&s);
    }
}

/* A record of a status with all that it can hold. */
static void make_record(enum record_status status, struct record *r)
{
    static const double samples[] = {1234.5678901234, 1200.1, 1300.7};

    record_init(r);
    snprintf(r->id, sizeof r->id, "trial-%d", status);
    strcpy(r->job, "j7");
    strcpy(r->purpose, status == STATUS_OK ? "final" : "search");
    r->workload = strdup(status % 2 ? "kernel scale problem_size=1000" : "dense f32 m=8 n=32 k=16");
    strcpy(r->template_id, status % 2 ? "" : "dense/gemm_packed");
    r->template_version = 3;
    r->knobs = cJSON_Parse("{\"vc\":4,\"order\":\"hwc\"}");
    r->status = status;
    r->build_ms = 17.25;
    r->verify_ms = 3.5;
    r->flops = 8192;
    r->ts_ms = INT64_C(1700000000123);
    r->seed = 9;
    strcpy(r->key, "pc-cpu");
    strcpy(r->protocol, "rounds-1");
    r->device = cJSON_Parse("{\"name\":\"pthread-x\",\"peak_gflops\":150.5}");
    r->program = sha256_of("p", 1);
    r->fingerprint = sha256_of("f", 1);
    strcpy(r->verified, status == STATUS_OK ? "not checked" : "");
    if (status != STATUS_OK) {
        strcpy(r->stage, "verify");
        r->why = strdup("pass reference: y[3] is 4, expected 5\nand a second line \xc3\xa4");
        return;
    }
    r->time_ns = 1234.5678901234;
    r->lnratio = -0.125;
    r->se = 0.01;
    r->rounds = 3;
    r->calls = 30;
    r->samples_ns = malloc(sizeof samples);
    memcpy(r->samples_ns, samples, sizeof samples);
    r->n_samples = 3;
}

static void every_status_goes_there_and_back(void **state)
{
    struct convert_out *out = NULL;
    char path[512];
    struct buf lines[N_STATUSES];
    struct seen s;
    struct why why = {""};

    (void)state;
    snprintf(path, sizeof path, "%s/ours.json", dir);
    assert_int_equal(convert_open(&out, path, "t4", &why), ERR_OK);
    for (int i = 0; i < N_STATUSES; i++) {
        struct record r;

        make_record((enum record_status)i, &r);
        buf_init(&lines[i], RECORD_MAX_BYTES);
        assert_int_equal(record_print(&r, &lines[i]), ERR_OK);
        assert_int_equal(convert_put(out, &r, buf_text(&lines[i]), lines[i].len - 1, &why), ERR_OK);
        record_fini(&r);
    }
    assert_int_equal(convert_close(out, true, &why), ERR_OK);
    scan("ours.json", &s);
    assert_int_equal(s.n, N_STATUSES);
    for (size_t i = 0; i < s.n; i++) {
        struct buf again;

        buf_init(&again, RECORD_MAX_BYTES);
        assert_int_equal(record_print(&s.r[i], &again), ERR_OK);
        assert_string_equal(buf_text(&again), buf_text(&lines[i]));
        buf_fini(&again);
        buf_fini(&lines[i]);
    }
    seen_fini(&s);
}

static bool keep_line(const struct record *r, const char *line, size_t n_line, void *arg)
{
    (void)r;
    return buf_printf(arg, "%.*s\n", (int)n_line, line) == ERR_OK;
}

/* The tracker's own record of a trial given up has few members; a later version's has one that is not known here. */
static void lines_come_back_as_they_stood(void **state)
{
    static const char *const bodies[] = {
        "{\"schema\":1,\"id\":\"t5\",\"job\":\"j1\",\"purpose\":\"search\",\"workload\":\"\",\"template\":\"\","
        "\"knobs\":{},\"status\":\"lost\",\"why\":\"five agents took this trial\",\"protocol\":\"rounds-1\","
        "\"key\":\"pc-cpu\",\"ts\":1700000000123",
        "{\"schema\":1,\"id\":\"t6\",\"workload\":\"kernel scale\",\"template\":\"\",\"knobs\":{\"vc\":4},"
        "\"status\":\"crash\",\"later\":[1,2]"};
    struct buf lines, again;
    struct convert_out *out = NULL;
    char path[512];
    struct seen s;

    (void)state;
    buf_init(&lines, 65536);
    buf_init(&again, 65536);
    for (size_t i = 0; i < 2; i++)
        buf_printf(&lines, "%s,\"crc32c\":\"%08x\"}\n", bodies[i], crc32c(bodies[i], strlen(bodies[i])));
    put("short.jsonl", buf_text(&lines), lines.len);
    scan("short.jsonl", &s);
    assert_int_equal(s.n, 2);
    snprintf(path, sizeof path, "%s/short.json", dir);
    assert_int_equal(convert_open(&out, path, "t4", NULL), ERR_OK);
    for (size_t i = 0, at = 0; i < 2; i++) {
        const size_t n = strcspn(buf_text(&lines) + at, "\n");

        assert_int_equal(convert_put(out, &s.r[i], buf_text(&lines) + at, n, NULL), ERR_OK);
        at += n + 1;
    }
    assert_int_equal(convert_close(out, true, NULL), ERR_OK);
    assert_int_equal(convert_scan(path, NULL, keep_line, NULL, &again, NULL), ERR_OK);
    assert_string_equal(buf_text(&again), buf_text(&lines));
    seen_fini(&s);
    buf_fini(&lines);
    buf_fini(&again);
}

static const char *word_of(const char *text, int i_status)
{
    static char word[20];
    char id[40];
    const char *at;

    snprintf(id, sizeof id, "\\\"id\\\":\\\"trial-%d\\\"", i_status);
    at = strstr(text, id);
    assert_non_null(at);
    while (strncmp(at, "\"invalidity\":\"", 14) != 0)
        at--;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at + 14, "\""), at + 14);
    return word;
}

/* What other readers see of ours: the six words of the form. */
static void our_statuses_are_their_words(void **state)
{
    static const char *const words[N_STATUSES] = {"correct",     "compile", "constraints", "runtime",
                                                  "correctness", "timeout", "runtime",     "runtime"};
    char path[512];
    struct buf text;

    (void)state;
    snprintf(path, sizeof path, "%s/ours.json", dir);
    buf_init(&text, 1 << 20);
    assert_int_equal(file_read(path, &text, NULL), ERR_OK);
    for (int i = 0; i < N_STATUSES; i++)
        assert_string_equal(word_of(buf_text(&text), i), words[i]);
    buf_fini(&text);
}

static void a_result_that_was_changed_by_hand_counts_as_it_stands(void **state)
{
    char path[512], *at;
    struct buf text;
    struct seen s;

    (void)state;
    snprintf(path, sizeof path, "%s/ours.json", dir);
    buf_init(&text, 1 << 20);
    assert_int_equal(file_read(path, &text, NULL), ERR_OK);
    at = strstr(text.data, "\"configuration\":{\"vc\":4");
    at[strlen("\"configuration\":{\"vc\":")] = '8';
    put("changed.json", text.data, text.len);
    buf_fini(&text);
    scan("changed.json", &s);
    assert_true(knob(&s.r[0], "vc") == 8 && knob(&s.r[1], "vc") == 4);
    assert_string_equal(s.r[0].job, ""); /* no longer our record */
    assert_string_equal(s.r[1].job, "j7");
    seen_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_of_others_are_read),
        cmocka_unit_test(the_unit_of_the_file_may_stand_behind_its_results),
        cmocka_unit_test(every_word_of_invalidity_has_a_status),
        cmocka_unit_test(a_file_cut_at_any_byte_gives_every_whole_result),
        cmocka_unit_test(every_status_goes_there_and_back),
        cmocka_unit_test(lines_come_back_as_they_stood),
        cmocka_unit_test(our_statuses_are_their_words),
        cmocka_unit_test(a_result_that_was_changed_by_hand_counts_as_it_stands),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
