/* SPDX-License-Identifier: MIT */
/* Files of Kernel Tuner and KTT: what they hold is read, and of files cut at any byte every whole result. */
#include "core/json.h"
#include "formats/syntax/foreign.h"
#include "formats/syntax/json_parts.h"
#include "formats/syntax/timestamp.h"
#include "tests/formats/foreign_samples.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct seen {
    struct foreign_row rows[16];
    size_t n, n_bad;
    char words[400];
    int64_t i_bad;
};

static bool take(const struct foreign_row *r, void *arg)
{
    struct seen *s = arg;
    struct foreign_row *to = &s->rows[s->n];

    assert_true(s->n < 16);
    *to = *r;
    to->task = strdup(r->task);
    to->target = r->target ? strdup(r->target) : NULL;
    to->args = r->args ? cJSON_Duplicate(r->args, true) : NULL;
    to->knobs = cJSON_Duplicate(r->knobs, true);
    to->extra = r->extra ? cJSON_Duplicate(r->extra, true) : NULL;
    s->n++;
    return true;
}

static void bad(int64_t i_line, const char *why, void *arg)
{
    struct seen *s = arg;

    s->n_bad++;
    s->i_bad = i_line;
    snprintf(s->words, sizeof s->words, "%s", why);
}

static void forget(struct seen *s)
{
    for (size_t i = 0; i < s->n; i++)
        foreign_row_fini(&s->rows[i]);
    *s = (struct seen){.n = 0};
}

/* From memory of exactly its size, so that a sanitizer sees a byte too far. */
static enum err read_as(const char *format, const char *text, size_t n, struct seen *s, struct why *why)
{
    const struct foreign_sink sink = {take, bad, s};
    char *copy = malloc(n + !n);
    enum err e;

    assert_non_null(copy);
    memcpy(copy, text, n);
    e = foreign_find(format)->read(copy, n, &sink, why);
    free(copy);
    return e;
}

static double knob(const struct foreign_row *r, const char *name)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(r->knobs, name);

    return cJSON_IsNumber(v) ? v->valuedouble : cJSON_IsBool(v) ? cJSON_IsTrue(v) : -1;
}

static void a_cache_gives_its_results(void **state)
{
    struct seen s = {.n = 0};
    struct why why = {""};

    (void)state;
    assert_int_equal(read_as("kernel_tuner", KT_OPEN, strlen(KT_OPEN), &s, &why), ERR_OK);
    assert_int_equal(s.n, 4);
    assert_int_equal(s.n_bad, 0);
    assert_string_equal(s.rows[0].task, "vector_add");
    assert_string_equal(s.rows[0].target, "NVIDIA RTX A4000");
    assert_true(s.rows[0].status == STATUS_OK && s.rows[0].time_s == 0.25e-3 && s.rows[0].build_s == 0.4405);
    assert_true(s.rows[0].n_samples == 3 && s.rows[0].samples_s[2] == 0.125e-3);
    assert_true(s.rows[0].ts_ms == 1671797486411 && s.rows[0].i_line == 29);
    assert_true(knob(&s.rows[0], "block_size_x") == 128 && knob(&s.rows[0], "fast") == 1);
    assert_int_equal(cJSON_GetArraySize(s.rows[0].knobs), 3);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(s.rows[0].args, "problem_size")), 2);
    assert_true(cJSON_GetObjectItem(s.rows[0].extra, "nvml_energy")->valuedouble == 0.5);
    assert_string_equal(cJSON_GetObjectItem(s.rows[1].knobs, "alg")->valuestring, "a\"2");
    assert_int_equal(s.rows[1].status, STATUS_COMPILE);
    assert_string_equal(s.rows[1].why, "CompilationFailedConfig");
    assert_int_equal(s.rows[2].status, STATUS_LIMITS);
    assert_int_equal(s.rows[3].status, STATUS_RUNTIME);
    assert_true(s.rows[1].time_s == 0 && s.rows[3].time_s == 0);
    forget(&s);
}

/* Ends of the results above within the text. */
static size_t n_whole(size_t cut)
{
    static const char *const results[] = {KT_ONE, KT_TWO, KT_THREE, KT_FOUR};
    size_t end = strlen(KT_HEADER), n = 0;

    for (size_t i = 0; i < 4; i++) {
        end += strlen(results[i]);
        n += cut >= end - 1; /* the comma is no part of it */
    }
    return n;
}

static void a_cache_cut_at_any_byte_gives_every_whole_result(void **state)
{
    const size_t n = strlen(KT_OPEN);

    (void)state;
    for (size_t cut = 0; cut <= n; cut++) {
        struct seen s = {.n = 0};
        struct why why = {""};
        const enum err e = read_as("kernel_tuner", KT_OPEN, cut, &s, &why);

        if (s.n != n_whole(cut) || (e && cut > 1) || (e && !why.text[0]))
            fail_msg("cut at %zu: %zu results, expected %zu; %s %s", cut, s.n, n_whole(cut), err_name(e), why.text);
        if (!e && cut <= strlen(KT_HEADER) - 2 && !s.n_bad)
            fail_msg("cut at %zu: nothing was said of a file that ends before its results", cut);
        forget(&s);
    }
}

/* The other ways such a file ends: closed, reopened, indented as json.dump does, with a schema version. */
static void closed_reopened_and_indented_caches_are_the_same(void **state)
{
    static const char *const ends[] = {"}\n}", "\n  \"x\": {\"block_size_x\": 1", "", "}}"};
    static const char indented[] =
        "\xef\xbb\xbf{\n  \"schema_version\": \"1.1.0\",\n  \"device_name\": \"d\",\n  \"kernel_name\": \"k\",\n  "
        "\"problem_size\": 100,\n  \"tune_params_keys\": [\"a\"],\n  \"cache\": {\n    \"1\": {\n      \"a\": 1,\n     "
        " "
        "\"time\": 2.0,\n      \"times\": [\n        2.0\n      ]\n    }\n  }\n}\n";
    struct seen s = {.n = 0};
    struct why why = {""};

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[4096];

        snprintf(text, sizeof text, "%.*s%s", (int)strlen(KT_OPEN) - (i % 3 == 0), KT_OPEN, ends[i]);
        assert_int_equal(read_as("kernel_tuner", text, strlen(text), &s, &why), ERR_OK);
        assert_int_equal(s.n, 4);
        assert_int_equal(s.n_bad, i == 1);
        forget(&s);
    }
    assert_ptr_equal(foreign_sniff(indented, sizeof indented - 1), foreign_find("kernel_tuner"));
    assert_int_equal(read_as("kernel_tuner", indented, sizeof indented - 1, &s, &why), ERR_OK);
    assert_true(s.n == 1 && s.rows[0].time_s == 0.002 && s.rows[0].i_line == 8);
    forget(&s);
}

static void bad_results_are_told_and_passed_over(void **state)
{
    static const struct {
        const char *result, *words;
        size_t n;
    } cases[] = {
        {"\"1\": {\"b\": 1, \"time\": 1}, ", "'a' is missing", 1},
        {"\"1\": 3, ", "expected an object", 1},
        {"\"1\": {\"a\": tru, \"time\": 1}, ", "not JSON", 1},
        {"\"1\" {\"a\": 1}, ", "not JSON from here on", 0},
        {"1: {\"a\": 1}, ", "not JSON from here on", 0},
        {"\"1\": {\"a\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}, ", "deeper than 32",
         1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct seen s = {.n = 0};
        struct why why = {""};
        char text[1024];

        snprintf(
            text, sizeof text,
            "{\"device_name\": \"d\", \"kernel_name\": \"k\", \"tune_params_keys\": [\"a\"], \"cache\": {\n%s\"2\": "
            "{\"a\": 2, \"time\": 1}}}",
            cases[i].result);
        assert_int_equal(read_as("kernel_tuner", text, strlen(text), &s, &why), ERR_OK);
        if (s.n != cases[i].n || s.n_bad != 1 || s.i_bad != 2 || !strstr(s.words, cases[i].words))
            fail_msg("%s: %zu results, %zu bad, line %d: %s", cases[i].result, s.n, s.n_bad, (int)s.i_bad, s.words);
        forget(&s);
    }
}

static void what_is_no_cache_is_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "[1]",
                                        "hello",
                                        "{\"device_name\": 3, \"kernel_name\": \"k\", \"cache\": {}}",
                                        "{\"device_name\": \"d\", \"kernel_name\": \"k\", \"cache\": {}}",
                                        "{\"a\" 1}",
                                        "{\"a\":}"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct seen s = {.n = 0};
        struct why why = {""};

        if (read_as("kernel_tuner", texts[i], strlen(texts[i]), &s, &why) != ERR_INPUT || !why.text[0])
            fail_msg("%s: expected to be refused, got '%s'", texts[i], why.text);
        forget(&s);
    }
}

static void a_huge_result_is_passed_over_with_words(void **state)
{
    static const char start[] =
        "{\"device_name\": \"d\", \"kernel_name\": \"k\", \"tune_params_keys\": [\"a\"], \"cache\": {"
        "\"1\": {\"a\": 1, \"time\": 1, \"x\": \"",
                      end[] = "\"}, \"2\": {\"a\": 2, \"time\": 1}}}";
    const size_t n_long = FOREIGN_MAX_ROW_BYTES, n = sizeof start - 1 + n_long + sizeof end - 1;
    char *text = malloc(n);
    struct seen s = {.n = 0};

    (void)state;
    assert_non_null(text);
    memcpy(text, start, sizeof start - 1);
    memset(text + sizeof start - 1, '\0', n_long);
    memcpy(text + n - (sizeof end - 1), end, sizeof end - 1);
    assert_int_equal(read_as("kernel_tuner", text, n, &s, NULL), ERR_OK);
    assert_true(s.n == 1 && s.n_bad == 1 && strstr(s.words, "longer than"));
    forget(&s);
    free(text);
}

static void check_ktt(const struct seen *s)
{
    const cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(s->rows[0].extra, "ComputationResults"), 0);

    assert_int_equal(s->n, 2);
    assert_string_equal(s->rows[0].task, "Sum");
    assert_string_equal(s->rows[0].target, "NVIDIA GeForce RTX 2080 Ti");
    assert_true(s->rows[0].status == STATUS_OK && fabs(s->rows[0].time_s - 3037.408e-6) < 1e-15);
    assert_true(fabs(s->rows[0].build_s - 1000.5e-6) < 1e-15 && s->rows[0].ts_ms == 1723461983000);
    assert_true(knob(&s->rows[0], "WG") == 16 && cJSON_GetArraySize(s->rows[0].knobs) == 2);
    assert_string_equal(cJSON_GetObjectItem(s->rows[0].knobs, "MODE")->valuestring, "16");
    assert_true(cJSON_GetObjectItem(cJSON_GetObjectItem(run, "CompilationData"), "RegistersCount")->valuedouble == 66);
    assert_true(s->rows[1].status == STATUS_WRONG && s->rows[1].time_s == 0 && knob(&s->rows[1], "WG") == 32);
}

static void results_of_ktt_are_the_same_as_json_and_as_xml(void **state)
{
    static const char *const texts[] = {KTT, XML};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct seen s = {.n = 0};
        struct why why = {""};

        assert_ptr_equal(foreign_sniff(texts[i], strlen(texts[i])), foreign_find("ktt"));
        if (read_as("ktt", texts[i], strlen(texts[i]), &s, &why))
            fail_msg("%s", why.text);
        assert_int_equal(s.n_bad, 0);
        check_ktt(&s);
        forget(&s);
    }
}

static void results_of_ktt_cut_at_any_byte_give_every_whole_one(void **state)
{
    static const struct {
        const char *text;
        size_t one, two;
    } files[] = {
        {KTT, sizeof KTT_HEAD KTT_ONE - 1, sizeof KTT_HEAD KTT_ONE ",\n    " KTT_TWO - 1},
        {XML, sizeof XML_HEAD XML_ONE - 1, sizeof XML_HEAD XML_ONE "\n\t\t" XML_TWO - 1},
    };

    (void)state;
    for (size_t f = 0; f < 2; f++)
        for (size_t cut = strlen(XML_HEAD) / 2; cut <= strlen(files[f].text); cut++) {
            const size_t expected = (cut >= files[f].one) + (cut >= files[f].two);
            struct seen s = {.n = 0};
            struct why why = {""};
            const enum err e = read_as("ktt", files[f].text, cut, &s, &why);

            if (e || s.n != expected)
                fail_msg("file %zu cut at %zu: %zu results, expected %zu; %s", f, cut, s.n, expected, why.text);
            if (expected < 2 && !s.n_bad)
                fail_msg("file %zu cut at %zu: nothing was said of it", f, cut);
            forget(&s);
        }
}

static void entities_of_a_document_type_do_not_grow(void **state)
{
    static const char text[] = "<?xml version=\"1.0\"?>\n<!DOCTYPE TuningData [<!ENTITY a \"aaaaaaaaaaaaaaaaaaaa\">"
                               "<!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>\n"
                               "<TuningData>\n<KernelResult KernelName=\"&b;\"/></TuningData>";
    struct seen s = {.n = 0};
    struct why why = {""};

    (void)state;
    read_as("ktt", text, strlen(text), &s, &why);
    assert_true(s.n == 0 && s.n_bad == 1 && s.i_bad == 2);
    assert_non_null(strstr(s.words, "document type"));
    forget(&s);
}

static void bad_results_of_ktt_are_told(void **state)
{
    static const struct {
        const char *result, *words;
    } cases[] = {
        {"{\"KernelName\": \"k\", \"Status\": \"Fine\", \"Configuration\": []}", "Status \"Fine\""},
        {"{\"KernelName\": \"k\", \"Status\": \"Ok\", \"Configuration\": []}", "TotalDuration above 0"},
        {"{\"Status\": \"Ok\", \"TotalDuration\": 1, \"Configuration\": []}", "\"KernelName\""},
        {"{\"KernelName\": \"k\", \"Status\": \"Ok\", \"TotalDuration\": 1}", "expected \"Configuration\""},
        {"{\"KernelName\": \"k\", \"Status\": \"Ok\", \"TotalDuration\": 1, \"Configuration\": [3]}", "a pair"},
        {"{\"KernelName\": \"k\", \"Status\": \"Ok\", \"TotalDuration\": 1, \"Configuration\": [{\"Name\": \"a\", "
         "\"Value\": 1}, {\"Name\": \"a\", \"Value\": 2}]}",
         "used before"},
        {"3", "expected an object"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct seen s = {.n = 0};
        struct why why = {""};
        char text[1024];

        snprintf(text, sizeof text, "{\"Metadata\": {\"KttVersion\": \"2\"}, \"Results\": [\n%s, %s]}", cases[i].result,
                 KTT_TWO);
        assert_int_equal(read_as("ktt", text, strlen(text), &s, &why), ERR_OK);
        if (s.n != 1 || s.n_bad != 1 || s.i_bad != 2 || !strstr(s.words, cases[i].words))
            fail_msg("%s: %zu results, %zu bad: %s", cases[i].result, s.n, s.n_bad, s.words);
        forget(&s);
    }
    {
        static const char text[] = "{\"Metadata\": {\"TimeUnit\": \"Fortnights\"}, \"Results\": []}";
        struct seen s = {.n = 0};
        struct why why = {""};

        assert_int_equal(read_as("ktt", text, strlen(text), &s, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, "Fortnights"));
    }
}

static void names_that_differ_in_case_are_two_parameters(void **state)
{
    static const char text[] = "{\"Metadata\": {}, \"Results\": [{\"KernelName\": \"k\", \"Status\": \"Ok\", "
                               "\"TotalDuration\": 1, \"Configuration\": [{\"Name\": \"wi\", \"Value\": 1}, "
                               "{\"Name\": \"WI\", \"Value\": 2}]}]}";
    struct seen s = {.n = 0};
    struct why why = {""};
    int64_t v = 0;

    (void)state;
    assert_int_equal(read_as("ktt", text, strlen(text), &s, &why), ERR_OK);
    if (s.n != 1)
        fail_msg("%s", s.words);
    assert_int_equal(json_get_i64(s.rows[0].knobs, "wi", 0, 9, &v, NULL), ERR_OK);
    assert_int_equal(v, 1);
    assert_int_equal(json_get_i64(s.rows[0].knobs, "WI", 0, 9, &v, NULL), ERR_OK);
    assert_int_equal(v, 2);
    forget(&s);
}

static void parts_are_whole_only_when_something_ends_them(void **state)
{
    static const struct {
        const char *text;
        enum json_part_kind kind;
        const char *value;
    } cases[] = {
        {"{\"a\": 12}", JSON_PART_ONE, "12"},
        {"{\"a\": 12", JSON_PART_CUT, "12"},
        {"{\"a\": \"x\\\"}\"}", JSON_PART_ONE, "\"x\\\"}\""},
        {"{\"a\": \"x\\", JSON_PART_CUT, "\"x\\"},
        {"{, \"a\":[{}]", JSON_PART_ONE, "[{}]"},
        {"{\"a\": [{}", JSON_PART_CUT, "[{}"},
        {"{}", JSON_PART_END, ""},
        {"{,}", JSON_PART_END, ""},
        {"{", JSON_PART_CUT, ""},
        {"{\"a", JSON_PART_CUT, ""},
        {"{\"a\"", JSON_PART_CUT, ""},
        {"{\"a\" 1}", JSON_PART_BAD, ""},
        {"{\"a\":}", JSON_PART_BAD, ""},
        {"{a: 1}", JSON_PART_BAD, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json_parts p;
        struct json_part part;
        enum json_part_kind kind;

        assert_true(json_parts_open(&p, cases[i].text, strlen(cases[i].text), 1));
        kind = json_parts_next(&p, &part);
        if (kind != cases[i].kind || part.n_value != strlen(cases[i].value) ||
            memcmp(part.value, cases[i].value, part.n_value) != 0)
            fail_msg("%s: kind %d, expected %d; value '%.*s'", cases[i].text, (int)kind, (int)cases[i].kind,
                     (int)part.n_value, part.value);
    }
}

static void timestamps_are_read_with_their_zone(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"1970-01-01 00:00:00", 0},
        {"2000-02-29T12:00:00Z", 951825600000},
        {"2024-08-12 11:26:23 UTC", 1723461983000},
        {"2022-12-23 12:11:26.411558+00:00", 1671797486411},
        {"2022-12-23T12:11:26.4+02:00", 1671790286400},
        {"2022-12-23T12:11:26-01:30", 1671802886000},
        {"2022-13-23 12:11:26", 0},
        {"yesterday", 0},
        {"", 0},
        {"2022-12-23 12:11:26 CEST", 0},
        {"2016-12-31 23:59:60", 1483228800000}, /* a leap second counts as the next one */
        {"2016-12-31 23:59:61", 0},
        {"2016-12-31 24:00:00", 0},
        {"2016-12-31 23:60:00", 0},
        {"2016-00-31 00:00:00", 0},
        {"2016-12-32 00:00:00", 0},
        {"2016-12-00 00:00:00", 0},
        {"1969-12-31 23:59:59", 0},
        {"1970-01-01 00:00:01", 1000},
        {"1999-12-31 23:59:59", 946684799000},
        {"2000-01-01 00:00:00", 946684800000},
        {"2000-03-01 00:00:00", 951868800000},
        {"2001-03-01 00:00:00", 983404800000},
        {"2100-02-28 00:00:00", 4107456000000},
        {"2100-03-01 00:00:00", 4107542400000}, /* no leap day */
        {"2000-01-01 00:00:00.1234", 946684800123},
        {"2000-01-01 00:00:00.05Z", 946684800050},
        {"2000-01-01 00:00:00+18:00", 946620000000},
        {"2000-01-01 00:00:00+19:00", 0},
        {"2000-01-01 00:00:00+01:60", 0},
        {"2000-01-01 00:00:00*01:00", 0},
        {"2000-01-01_00:00:00", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (timestamp_ms(cases[i].text) != cases[i].ms)
            fail_msg("%s: %lld, expected %lld", cases[i].text, (long long)timestamp_ms(cases[i].text),
                     (long long)cases[i].ms);
}

static void every_format_has_a_name_and_a_way(void **state)
{
    (void)state;
    for (const struct foreign_format *const *f = foreign_formats; *f; f++) {
        assert_ptr_equal(foreign_find((*f)->name), *f);
        assert_true((*f)->summary && (*f)->summary[0] && (*f)->sniff && ((*f)->read || (*f)->write));
        assert_false((*f)->sniff("", 0));
        assert_false((*f)->sniff("{\"schema\":1,\"id\":\"t1\"", 21)); /* our own log */
    }
    assert_null(foreign_find("punchcards"));
}

/* One cache entry of Kernel Tuner, by its members. */
static void read_entry(const char *members, struct seen *s)
{
    struct why why = {""};
    char text[4096];

    snprintf(
        text, sizeof text,
        "{\"device_name\": \"d\", \"kernel_name\": \"k\", \"tune_params_keys\": [\"a\"], \"cache\": {\"1\": {\"a\": "
        "1, %s}}}",
        members);
    if (read_as("kernel_tuner", text, strlen(text), s, &why) || s->n != 1)
        fail_msg("%s: %zu rows, %s %s", members, s->n, why.text, s->words);
}

static void times_of_a_cache_are_milliseconds_and_failures_have_names(void **state)
{
    static const struct {
        const char *members;
        enum record_status status;
        double time_s;
        const char *why;
    } cases[] = {
        {"\"time\": 2.5, \"compile_time\": 1500", STATUS_OK, 0.0025, ""},
        {"\"time\": 0, \"compile_time\": 1500", STATUS_RUNTIME, 0, "no time was measured"},
        {"\"time\": -1, \"compile_time\": 1500", STATUS_RUNTIME, 0, "no time was measured"},
        {"\"time\": 1e20, \"compile_time\": 1500", STATUS_RUNTIME, 0, "no time was measured"},
        {"\"time\": 9e19, \"compile_time\": 1500", STATUS_OK, 9e16, ""},
        {"\"time\": 1, \"__error__\": \"RuntimeFailedConfig\", \"compile_time\": 1500", STATUS_RUNTIME, 0,
         "RuntimeFailedConfig"},
        {"\"time\": \"ErrorConfig\", \"compile_time\": 1500", STATUS_RUNTIME, 0, "ErrorConfig"},
        {"\"time\": \"InvalidConfig\", \"compile_time\": 1500", STATUS_LIMITS, 0, "InvalidConfig"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen s = {.n = 0};

        read_entry(cases[i].members, &s);
        if (s.rows[0].status != cases[i].status || s.rows[0].time_s != cases[i].time_s ||
            strcmp(s.rows[0].why, cases[i].why) != 0)
            fail_msg("%s: %s, %g s, '%s'", cases[i].members, status_name(s.rows[0].status), s.rows[0].time_s,
                     s.rows[0].why);
        assert_true(s.rows[0].build_s == 1.5);
        forget(&s);
    }
}

static void samples_of_a_cache_are_kept_up_to_their_limit(void **state)
{
    struct seen s = {.n = 0};
    struct buf text;

    (void)state;
    buf_init(&text, 10000);
    buf_puts(&text, "\"time\": 1, \"times\": [-1, \"x\"");
    for (int i = 1; i <= RECORD_MAX_SAMPLES + 2; i++)
        buf_printf(&text, ", %d", i);
    buf_puts(&text, "]");
    read_entry(buf_text(&text), &s);
    assert_int_equal(s.rows[0].n_samples, RECORD_MAX_SAMPLES);
    assert_true(s.rows[0].samples_s[0] == 0.001 && s.rows[0].samples_s[RECORD_MAX_SAMPLES - 1] == 0.064);
    forget(&s);
    buf_fini(&text);
}

/* Words that are no JSON, in and outside of strings, next to each other and at the end. */
static void infinities_are_null_and_words_in_strings_stay(void **state)
{
    struct seen s = {.n = 0};
    const cJSON *list, *item;

    (void)state;
    read_entry("\"time\": 1, \"x\": [NaN,Infinity,-Infinity,7,NaN], \"y\": \"NaN \\\" Infinity\", \"z\": -Infinity",
               &s);
    list = cJSON_GetObjectItem(s.rows[0].extra, "x");
    assert_int_equal(cJSON_GetArraySize(list), 5);
    for (int i = 0; i < 5; i++) {
        item = cJSON_GetArrayItem(list, i);
        assert_true(i == 3 ? item->valuedouble == 7 : (bool)cJSON_IsNull(item));
    }
    assert_string_equal(cJSON_GetObjectItem(s.rows[0].extra, "y")->valuestring, "NaN \" Infinity");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(s.rows[0].extra, "z")));
    forget(&s);
}

static void units_and_statuses_of_ktt(void **state)
{
    static const struct {
        const char *unit, *status;
        double time_s;
        enum record_status expected;
    } cases[] = {
        {"\"TimeUnit\": \"Nanoseconds\"", "Ok", 4e-9, STATUS_OK},
        {"\"TimeUnit\": \"Microseconds\"", "Ok", 4e-6, STATUS_OK},
        {"\"TimeUnit\": \"Milliseconds\"", "Ok", 4e-3, STATUS_OK},
        {"\"TimeUnit\": \"Seconds\"", "Ok", 4, STATUS_OK},
        {"\"x\": 1", "Ok", 4e-3, STATUS_OK},
        {"\"x\": 1", "ComputationFailed", 0, STATUS_RUNTIME},
        {"\"x\": 1", "ValidationFailed", 0, STATUS_WRONG},
        {"\"x\": 1", "CompilationFailed", 0, STATUS_COMPILE},
        {"\"x\": 1", "DeviceLimitsExceeded", 0, STATUS_LIMITS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen s = {.n = 0};
        struct why why = {""};
        char text[1024];

        snprintf(text, sizeof text,
                 "{\"Results\": [{\"KernelName\": \"k\", \"Status\": \"%s\", \"TotalDuration\": 4, "
                 "\"CompilationOverhead\": 8, \"Configuration\": []}], \"Metadata\": {%s}}",
                 cases[i].status, cases[i].unit);
        if (read_as("ktt", text, strlen(text), &s, &why) || s.n != 1 || s.n_bad)
            fail_msg("%s: %s %s", text, why.text, s.words);
        assert_int_equal(s.rows[0].status, cases[i].expected);
        assert_true(fabs(s.rows[0].time_s - cases[i].time_s) <= 1e-15 * cases[i].time_s);
        assert_true(s.rows[0].build_s > 0);
        assert_string_equal(s.rows[0].why, cases[i].expected ? cases[i].status : "");
        assert_null(s.rows[0].target);
        forget(&s);
    }
}

static const cJSON *extra(const struct foreign_row *r, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(r->extra, name);
}

static void attributes_of_xml_are_numbers_words_and_entities(void **state)
{
    static const char text[] =
        "<?xml version='1.0'?><!-- a comment --><TuningData><Results>\r\n"
        "<KernelResult KernelName='a&lt;b&gt;&amp;&quot;&apos;&amp;lt;' Status = \"Ok\"\tTotalDuration='1e1' A=\"-3\" "
        "B=\"0x10\" C=\"true\" D=\"false\" E=\"inf\" F=\"\" G=\"1 \">"
        "<Configuration><Pair Name='16' Value='8' ValueType='String'/><Pair Name='W' Value='true'/></Configuration>"
        "<ComputationResults><ComputationResult X='1'/><ComputationResult X='2'><CompilationData R='7'/>"
        "</ComputationResult></ComputationResults></KernelResult>\n"
        "<KernelResult KernelName='k2' Status='Ok' TotalDuration='2'><Configuration/></KernelResult>"
        "<KernelResult KernelName='k3' Status='ValidationFailed'><Configuration><Pair Name='a' Value='1'/>"
        "</Configuration></KernelResult></Results></TuningData>";
    struct seen s = {.n = 0};
    struct why why = {""};
    const cJSON *runs;

    (void)state;
    if (read_as("ktt", text, sizeof text - 1, &s, &why))
        fail_msg("%s", why.text);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.n_bad, 1); /* k2 has no pair at all */
    assert_int_equal(s.i_bad, 3);
    assert_string_equal(s.rows[0].task, "a<b>&\"'&lt;");
    assert_true(s.rows[0].time_s == 0.01 && s.rows[0].i_line == 2);
    assert_true(extra(&s.rows[0], "A")->valuedouble == -3);
    assert_string_equal(extra(&s.rows[0], "B")->valuestring, "0x10");
    assert_true(cJSON_IsTrue(extra(&s.rows[0], "C")) && cJSON_IsFalse(extra(&s.rows[0], "D")));
    assert_string_equal(extra(&s.rows[0], "E")->valuestring, "inf");
    assert_string_equal(extra(&s.rows[0], "F")->valuestring, "");
    assert_string_equal(extra(&s.rows[0], "G")->valuestring, "1 ");
    assert_true(knob(&s.rows[0], "16") == 8 && knob(&s.rows[0], "W") == 1);
    runs = extra(&s.rows[0], "ComputationResults");
    assert_int_equal(cJSON_GetArraySize(runs), 2);
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(runs, 0), "CompilationData"));
    assert_int_equal(
        cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetArrayItem(runs, 1), "CompilationData"), "R")->valueint, 7);
    assert_string_equal(s.rows[1].task, "k3");
    forget(&s);
}

/* A result of 65,536 parts is read, one more is not; how many all of a file have does not matter. */
static void the_parts_of_a_result_are_limited_not_those_of_a_file(void **state)
{
    static const struct {
        size_t n_parts[3], n_rows, n_bad;
    } cases[] = {{{65536 - 3, 0, 0}, 1, 0}, {{65536 - 2, 0, 0}, 0, 1}, {{40000, 40000, 40000}, 3, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen s = {.n = 0};
        struct buf text;

        buf_init(&text, (size_t)1 << 24);
        buf_puts(&text, "<TuningData>\n<Results>\n");
        for (size_t k = 0; k < 3 && cases[i].n_parts[k]; k++) {
            buf_puts(&text, "<KernelResult KernelName='k' Status='Ok' TotalDuration='1'><Configuration>"
                            "<Pair Name='a' Value='1'/></Configuration><More>");
            for (size_t n = 0; n < cases[i].n_parts[k]; n++)
                buf_puts(&text, "<P/>");
            buf_puts(&text, "</More></KernelResult>\n");
        }
        buf_puts(&text, "</Results></TuningData>");
        assert_int_equal(read_as("ktt", buf_text(&text), text.len, &s, NULL), ERR_OK);
        if (s.n != cases[i].n_rows || s.n_bad != cases[i].n_bad)
            fail_msg("case %zu: %zu rows, %zu bad: %s", i, s.n, s.n_bad, s.words);
        forget(&s);
        buf_fini(&text);
    }
}

static void xml_that_is_broken_ends_with_words(void **state)
{
    static const char *const broken[] = {"<KernelResult KernelName=k>",
                                         "<KernelResult KernelName>",
                                         "<KernelResult = 'k'>",
                                         "<KernelResult/ >",
                                         "< KernelResult>",
                                         "<KernelResult K='a' / x>"};

    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct seen s = {.n = 0};
        char text[2048];

        snprintf(text, sizeof text, "<TuningData>\n%s\n%s</TuningData>", XML_TWO, broken[i]);
        assert_int_equal(read_as("ktt", text, strlen(text), &s, NULL), ERR_OK);
        if (s.n != 1 || s.n_bad != 1 || s.i_bad != 3 || !strstr(s.words, "not XML"))
            fail_msg("%s: %zu rows, line %d: %s", broken[i], s.n, (int)s.i_bad, s.words);
        forget(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_gives_its_results),
        cmocka_unit_test(a_cache_cut_at_any_byte_gives_every_whole_result),
        cmocka_unit_test(closed_reopened_and_indented_caches_are_the_same),
        cmocka_unit_test(bad_results_are_told_and_passed_over),
        cmocka_unit_test(what_is_no_cache_is_refused),
        cmocka_unit_test(a_huge_result_is_passed_over_with_words),
        cmocka_unit_test(results_of_ktt_are_the_same_as_json_and_as_xml),
        cmocka_unit_test(results_of_ktt_cut_at_any_byte_give_every_whole_one),
        cmocka_unit_test(entities_of_a_document_type_do_not_grow),
        cmocka_unit_test(bad_results_of_ktt_are_told),
        cmocka_unit_test(names_that_differ_in_case_are_two_parameters),
        cmocka_unit_test(parts_are_whole_only_when_something_ends_them),
        cmocka_unit_test(timestamps_are_read_with_their_zone),
        cmocka_unit_test(every_format_has_a_name_and_a_way),
        cmocka_unit_test(times_of_a_cache_are_milliseconds_and_failures_have_names),
        cmocka_unit_test(samples_of_a_cache_are_kept_up_to_their_limit),
        cmocka_unit_test(infinities_are_null_and_words_in_strings_stay),
        cmocka_unit_test(units_and_statuses_of_ktt),
        cmocka_unit_test(attributes_of_xml_are_numbers_words_and_entities),
        cmocka_unit_test(the_parts_of_a_result_are_limited_not_those_of_a_file),
        cmocka_unit_test(xml_that_is_broken_ends_with_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
