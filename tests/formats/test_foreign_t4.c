/* SPDX-License-Identifier: MIT */
/* The syntax of the form T4: units, statuses, times, what is said of results that are none, and that rows come back. */
#include "formats/syntax/foreign.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_ROWS 8

struct heard {
    struct foreign_row rows[MAX_ROWS]; /* with trees of their own */
    size_t n, n_bad, stop_after;
    int64_t i_bad;
    char words[400];
};

static bool take(const struct foreign_row *r, void *arg)
{
    struct heard *h = arg;
    struct foreign_row *to = &h->rows[h->n];

    assert_true(h->n < MAX_ROWS);
    *to = *r;
    to->task = r->task ? strdup(r->task) : NULL;
    to->target = r->target ? strdup(r->target) : NULL;
    to->args = cJSON_Duplicate(r->args, true);
    to->knobs = cJSON_Duplicate(r->knobs, true);
    to->extra = cJSON_Duplicate(r->extra, true);
    return ++h->n != h->stop_after;
}

static void bad(int64_t i_line, const char *why, void *arg)
{
    struct heard *h = arg;

    h->n_bad++;
    h->i_bad = i_line;
    snprintf(h->words, sizeof h->words, "%s", why);
}

static void forget(struct heard *h)
{
    for (size_t i = 0; i < h->n; i++)
        foreign_row_fini(&h->rows[i]);
    *h = (struct heard){.n = 0};
}

/* From memory of exactly its size, so that a sanitizer sees a byte too far. */
static enum err read_text(const char *text, size_t n, struct heard *h, struct why *why)
{
    const struct foreign_sink sink = {take, bad, h};
    char *copy = malloc(n + !n);
    enum err e;

    assert_non_null(copy);
    memcpy(copy, text, n);
    e = foreign_find("t4")->read(copy, n, &sink, why);
    free(copy);
    return e;
}

/* The one row of a file whose metadata and result are these. */
static struct foreign_row only_row(const char *metadata, const char *result, struct heard *h)
{
    struct why why = {""};
    char text[4096];

    snprintf(text, sizeof text, "{%s\"results\":[%s]}", metadata, result);
    if (read_text(text, strlen(text), h, &why))
        fail_msg("%s: %s", text, why.text);
    if (h->n != 1 || h->n_bad)
        fail_msg("%s: %zu rows, %zu bad: %s", text, h->n, h->n_bad, h->words);
    return h->rows[0];
}

static void near(double v, double expected, const char *of)
{
    if (!(fabs(v - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%s: %.17g, expected %.17g", of, v, expected);
}

static void units_are_known_by_their_beginnings(void **state)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ms", 1e-3},
                 {"Milliseconds", 1e-3},
                 {"miliseconds", 1e-3},
                 {"us", 1e-6},
                 {"Microseconds", 1e-6},
                 {"ns", 1e-9},
                 {"Nanoseconds", 1e-9},
                 {"s", 1},
                 {"S", 1},
                 {"Seconds", 1},
                 {"minutes", 60},
                 {"hours", 3600},
                 {"", 1e-3},
                 {"parsecs", 1e-3}};

    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct heard h = {.n = 0};
        char result[512];

        snprintf(result, sizeof result,
                 "{\"configuration\":{\"a\":1},\"invalidity\":\"correct\",\"times\":{\"compilation_time\":8,"
                 "\"runtimes\":[2,4]},\"measurements\":[{\"name\":\"time\",\"value\":2.5,\"unit\":\"%s\"}]}",
                 units[i].unit);
        only_row("", result, &h);
        near(h.rows[0].time_s, 2.5 * units[i].seconds, units[i].unit);
        near(h.rows[0].build_s, 8 * units[i].seconds, units[i].unit);
        assert_int_equal(h.rows[0].n_samples, 2);
        near(h.rows[0].samples_s[1], 4 * units[i].seconds, units[i].unit);
        forget(&h);
    }
}

/* The measurement's own unit, else the file's, wherever its metadata stand, else milliseconds. */
static void the_nearest_unit_holds(void **state)
{
    static const char own[] = "{\"configuration\":{},\"invalidity\":\"correct\",\"measurements\":[{\"name\":\"time\","
                              "\"value\":3,\"unit\":\"us\"}]}",
                      none[] = "{\"configuration\":{},\"invalidity\":\"correct\",\"measurements\":[{\"name\":"
                               "\"TotalDuration\",\"value\":3}]}",
                      file[] = "\"metadata\":{\"timeunit\":\"seconds\"},";
    struct heard h = {.n = 0};
    char text[1024];

    (void)state;
    near(only_row(file, own, &h).time_s, 3e-6, "own");
    forget(&h);
    near(only_row(file, none, &h).time_s, 3, "the file's");
    forget(&h);
    near(only_row("", none, &h).time_s, 3e-3, "none");
    forget(&h);
    snprintf(text, sizeof text, "{\"results\":[%s],\"metadata\":{\"timeunit\":\"ns\"}}", none);
    assert_int_equal(read_text(text, strlen(text), &h, NULL), ERR_OK);
    near(h.rows[0].time_s, 3e-9, "behind");
    forget(&h);
}

static void a_time_that_was_not_told_is_the_median_of_the_runs(void **state)
{
    static const struct {
        const char *runs;
        double ms;
        size_t n;
    } cases[] = {{"[5]", 5, 1}, {"[9,1,5]", 5, 3}, {"[8,1,2,4]", 3, 4}, {"[2,4]", 3, 2}, {"[7,-1,\"x\",0,9]", 8, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct heard h = {.n = 0};
        char result[512];

        snprintf(result, sizeof result,
                 "{\"configuration\":{},\"invalidity\":\"correct\",\"times\":{\"compilation\":7,\"runtimes\":%s}}",
                 cases[i].runs);
        only_row("", result, &h);
        near(h.rows[0].time_s, cases[i].ms / 1e3, cases[i].runs);
        near(h.rows[0].build_s, 7e-3, cases[i].runs);
        assert_int_equal(h.rows[0].n_samples, cases[i].n);
        forget(&h);
    }
}

static void only_so_many_runs_are_kept(void **state)
{
    struct heard h = {.n = 0};
    struct buf result;

    (void)state;
    buf_init(&result, 10000);
    buf_puts(&result, "{\"configuration\":{},\"invalidity\":\"correct\",\"times\":{\"runtimes\":[1");
    for (int i = 2; i <= RECORD_MAX_SAMPLES + 3; i++)
        buf_printf(&result, ",%d", i);
    buf_puts(&result, "]}}");
    only_row("", buf_text(&result), &h);
    assert_int_equal(h.rows[0].n_samples, RECORD_MAX_SAMPLES);
    near(h.rows[0].samples_s[RECORD_MAX_SAMPLES - 1], RECORD_MAX_SAMPLES / 1e3, "the last");
    near(h.rows[0].time_s, (1 + RECORD_MAX_SAMPLES) / 2e3, "the median");
    forget(&h);
    buf_fini(&result);
}

static void words_of_validity_are_statuses(void **state)
{
    static const struct {
        const char *members;
        enum record_status status;
        const char *why;
    } cases[] = {
        {"\"invalidity\":\"correct\",\"correctness\":1", STATUS_OK, ""},
        {"\"invalidity\":\"correct\",\"correctness\":0", STATUS_WRONG, "correct"},
        {"\"invalidity\":\"correctness\"", STATUS_WRONG, "correctness"},
        {"\"invalidity\":\"compile\"", STATUS_COMPILE, "compile"},
        {"\"invalidity\":\"runtime\"", STATUS_RUNTIME, "runtime"},
        {"\"invalidity\":\"timeout\"", STATUS_TIMEOUT, "timeout"},
        {"\"invalidity\":\"constraints\",\"correctness\":0", STATUS_LIMITS, "constraints"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct heard h = {.n = 0};
        char result[512];

        snprintf(result, sizeof result,
                 "{\"configuration\":{},%s,\"times\":{\"runtimes\":[4]},\"measurements\":[{\"name\":\"time\","
                 "\"value\":4}]}",
                 cases[i].members);
        only_row("", result, &h);
        if (h.rows[0].status != cases[i].status || strcmp(h.rows[0].why, cases[i].why) != 0)
            fail_msg("%s: %s '%s'", cases[i].members, status_name(h.rows[0].status), h.rows[0].why);
        assert_true((h.rows[0].time_s > 0) == (cases[i].status == STATUS_OK));
        assert_int_equal(h.rows[0].n_samples, cases[i].status == STATUS_OK);
        forget(&h);
    }
    {
        struct heard h = {.n = 0};

        only_row("",
                 "{\"configuration\":{},\"invalidity\":\"compile\",\"measurements\":[{\"name\":\"energy\",\"value\":1},"
                 "{\"name\":\"time\",\"value\":\"line 3: error\"}]}",
                 &h);
        assert_string_equal(h.rows[0].why, "line 3: error");
        forget(&h);
        only_row("", "{\"configuration\":{},\"invalidity\":\"correct\"}", &h);
        assert_int_equal(h.rows[0].status, STATUS_RUNTIME);
        assert_string_equal(h.rows[0].why, "no time was measured");
        forget(&h);
    }
}

static void what_else_a_result_says_is_kept(void **state)
{
    struct heard h = {.n = 0};

    (void)state;
    only_row("",
             "{\"timestamp\":\"2000-02-29T12:00:00Z\",\"kernel\":\"k\",\"device\":\"d\",\"configuration\":{\"a\":1,"
             "\"w\":\"x\"},\"invalidity\":\"correct\",\"measurements\":[{\"name\":\"time\",\"value\":1}],\"more\":7}",
             &h);
    assert_int_equal(h.rows[0].ts_ms, 951825600000);
    assert_string_equal(h.rows[0].task, "k");
    assert_string_equal(h.rows[0].target, "d");
    assert_int_equal(cJSON_GetArraySize(h.rows[0].knobs), 2);
    assert_string_equal(cJSON_GetObjectItem(h.rows[0].knobs, "w")->valuestring, "x");
    assert_int_equal(cJSON_GetObjectItem(h.rows[0].extra, "more")->valueint, 7);
    assert_null(cJSON_GetObjectItem(h.rows[0].extra, "configuration"));
    forget(&h);
}

#define GOOD                                                                                                           \
    "{\"configuration\":{\"a\":1},\"invalidity\":\"correct\",\"measurements\":[{\"name\":\"time\",\"value\":1}]}"

static void results_that_are_none_are_told(void **state)
{
    static const struct {
        const char *result, *words;
        size_t n;
    } cases[] = {
        {"3,", "expected an object with \"configuration\"", 2},
        {"{\"invalidity\":\"correct\"},", "expected an object with \"configuration\"", 2},
        {"{\"configuration\":[1],\"invalidity\":\"correct\"},", "\"configuration\"", 2},
        {"{\"configuration\":{}},", "\"invalidity\": expected correct", 2},
        {"{\"configuration\":{},\"invalidity\":\"odd\"},", "\"invalidity\": expected correct", 2},
        {"{\"configuration\":{},\"invalidity\":1},", "\"invalidity\": expected correct", 2},
        {"{\"configuration\":tru},", "not JSON", 2},
        {":", "not JSON from here on", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct heard h = {.n = 0};
        char text[1024];

        snprintf(text, sizeof text, "{\"results\":[" GOOD ",\n%s" GOOD "]}", cases[i].result);
        assert_int_equal(read_text(text, strlen(text), &h, NULL), ERR_OK);
        if (h.n != cases[i].n || h.n_bad != 1 || h.i_bad != 2 || !strstr(h.words, cases[i].words))
            fail_msg("%s: %zu rows, %zu bad, line %d: %s", cases[i].result, h.n, h.n_bad, (int)h.i_bad, h.words);
        forget(&h);
    }
}

static void a_file_cut_anywhere_gives_its_whole_results(void **state)
{
    static const char text[] = "{\"results\":[" GOOD ",\n" GOOD "],\"x\":1}";
    const size_t one = sizeof "{\"results\":[" GOOD - 1, two = one + 2 + sizeof GOOD - 1;

    (void)state;
    for (size_t cut = sizeof "{\"results\":["; cut < sizeof text; cut++) {
        const size_t expected = (cut >= one) + (cut >= two);
        struct heard h = {.n = 0};

        if (read_text(text, cut, &h, NULL) != ERR_OK || h.n != expected)
            fail_msg("cut at %zu: %zu results, expected %zu", cut, h.n, expected);
        if (cut > one + 2 && cut < two && h.n_bad != 1)
            fail_msg("cut at %zu, within the second: %zu said", cut, h.n_bad);
        forget(&h);
    }
}

static void a_sink_that_has_enough_ends_the_reading(void **state)
{
    static const char text[] = "{\"results\":[" GOOD "," GOOD "," GOOD "]}";
    struct heard h = {.stop_after = 2};

    (void)state;
    assert_int_equal(read_text(text, sizeof text - 1, &h, NULL), ERR_OK);
    assert_int_equal(h.n, 2);
    forget(&h);
}

static void another_file_is_refused(void **state)
{
    static const char *const texts[] = {"", "[1]", "{}", "{\"a\":1}", "x", "{\"a\" 1}"};
    static const char claimed[] = "{\"results\":[" GOOD "]}";

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct heard h = {.n = 0};
        struct why why = {""};

        if (read_text(texts[i], strlen(texts[i]), &h, &why) != ERR_INPUT || !why.text[0])
            fail_msg("'%s': %s", texts[i], why.text);
    }
    assert_ptr_equal(foreign_sniff(claimed, sizeof claimed - 1), foreign_find("t4"));
    assert_false(foreign_find("t4")->sniff("{\"results\":[],\"configuration\":1}", 32));
}

static void check_equal(const struct foreign_row *a, const struct foreign_row *b)
{
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->task, b->task);
    assert_string_equal(a->target, b->target);
    assert_string_equal(a->why, b->why);
    assert_int_equal(a->ts_ms, b->ts_ms);
    near(b->time_s, a->time_s, "time");
    near(b->build_s, a->build_s, "build");
    assert_int_equal(a->n_samples, b->n_samples);
    for (size_t i = 0; i < a->n_samples; i++)
        near(b->samples_s[i], a->samples_s[i], "sample");
    assert_true(cJSON_Compare(a->knobs, b->knobs, true));
}

static void what_is_written_is_read(void **state)
{
    static const enum record_status statuses[] = {STATUS_OK,      STATUS_COMPILE, STATUS_LIMITS, STATUS_RUNTIME,
                                                  STATUS_TIMEOUT, STATUS_WRONG,   STATUS_OK};
    struct foreign_row rows[7];
    struct heard h = {.n = 0};
    struct why why = {""};
    struct buf out;

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        struct foreign_row *r = &rows[i];
        const bool is_ok = statuses[i] == STATUS_OK;

        foreign_row_init(r);
        r->task = strdup("kernel");
        r->target = strdup("device \"x\"");
        r->knobs = cJSON_Parse("{\"a\":4,\"w\":\"x\"}");
        r->status = statuses[i];
        r->build_s = 0.75;
        r->ts_ms = 951825600000 + 7 * (int64_t)i + 1;
        r->time_s = is_ok ? 0.002 + (double)i : 0;
        r->n_samples = is_ok ? 3 : 0;
        for (size_t k = 0; k < r->n_samples; k++)
            r->samples_s[k] = 0.001 * (double)(k + 1);
        snprintf(r->why, sizeof r->why, "%s", is_ok ? "" : "words, \"quoted\"");
    }
    buf_init(&out, 1 << 20);
    assert_int_equal(foreign_find("t4")->write(rows, 7, &out, NULL), ERR_OK);
    assert_ptr_equal(foreign_sniff(out.data, out.len), foreign_find("t4"));
    if (read_text(out.data, out.len, &h, &why))
        fail_msg("%s", why.text);
    assert_true(h.n == 7 && h.n_bad == 0);
    for (size_t i = 0; i < 7; i++) {
        check_equal(&rows[i], &h.rows[i]);
        foreign_row_fini(&rows[i]);
    }
    forget(&h);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_known_by_their_beginnings),
        cmocka_unit_test(the_nearest_unit_holds),
        cmocka_unit_test(a_time_that_was_not_told_is_the_median_of_the_runs),
        cmocka_unit_test(only_so_many_runs_are_kept),
        cmocka_unit_test(words_of_validity_are_statuses),
        cmocka_unit_test(what_else_a_result_says_is_kept),
        cmocka_unit_test(results_that_are_none_are_told),
        cmocka_unit_test(a_file_cut_anywhere_gives_its_whole_results),
        cmocka_unit_test(a_sink_that_has_enough_ends_the_reading),
        cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(what_is_written_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
