/* SPDX-License-Identifier: MIT */
/* The syntax of CLBlast's JSON: what is a row, what is said of the rest, and that files come back. */
#include "formats/syntax/foreign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define META                                                                                                           \
    "  \"kernel_family\": \"xgemm_1\",\n  \"precision\": \"32\",\n  \"best_kernel\": \"Xgemm\",\n  \"best_time\": "    \
    "\"1.5\",\n"                                                                                                       \
    "  \"best_parameters\": \"MWG=64\",\n  \"arg_m\": \"1024\",\n  \"arg_n\": \"512\",\n  \"arg_k\": \"256\",\n"       \
    "  \"clblast_device_name\": \"Mali-T760\",\n  \"device\": \"Mali-T760\",\n  \"device_compute_units\": \"8\",\n"
#define ONE                                                                                                            \
    "    {\n      \"kernel\": \"Xgemm\",\n      \"time\": 1.500,\n      \"parameters\": {\"MWG\": 64,\"PRECISION\": "  \
    "32}\n    }"
#define TWO                                                                                                            \
    "    {\n      \"kernel\": \"Xgemm\",\n      \"time\": 2.250,\n      \"parameters\": {\"MWG\": 32,\"PRECISION\": "  \
    "32}\n    }"
#define FILE_OF(results) "{\n" META "  \"results\": [\n" results "\n  ]\n}\n"

struct heard {
    size_t n_rows, n_bad;
    double times[4];
    char task[64], target[64], why[1024];
    char *args, *knobs;
    const char *format;
    struct foreign_row *rows; /* kept, with their trees, to be written */
};

static bool take_row(const struct foreign_row *r, void *arg)
{
    struct heard *h = arg;

    if (h->n_rows < 4)
        h->times[h->n_rows] = r->time_s;
    snprintf(h->task, sizeof h->task, "%s", r->task ? r->task : "");
    snprintf(h->target, sizeof h->target, "%s", r->target ? r->target : "");
    free(h->args);
    free(h->knobs);
    h->args = r->args ? cJSON_PrintUnformatted(r->args) : NULL;
    h->knobs = cJSON_PrintUnformatted(r->knobs);
    h->rows = realloc(h->rows, (h->n_rows + 1) * sizeof *h->rows);
    h->rows[h->n_rows] = *r;
    h->rows[h->n_rows].task = r->task ? strdup(r->task) : NULL;
    h->rows[h->n_rows].target = r->target ? strdup(r->target) : NULL;
    h->rows[h->n_rows].args = cJSON_Duplicate(r->args, true);
    h->rows[h->n_rows].knobs = cJSON_Duplicate(r->knobs, true);
    h->rows[h->n_rows].extra = cJSON_Duplicate(r->extra, true);
    h->n_rows++;
    return true;
}

static void take_bad(int64_t i_line, const char *why, void *arg)
{
    struct heard *h = arg;

    h->n_bad++;
    snprintf(h->why, sizeof h->why, "%lld: %s", (long long)i_line, why);
}

static struct heard hear(const char *format, const char *text, size_t n, enum err expected)
{
    struct heard h = {.format = format};
    struct why why = {""};
    char *exact = malloc(n + 1);
    const struct foreign_sink sink = {take_row, take_bad, &h};

    memcpy(exact, text, n);
    assert_int_equal(foreign_find(format)->read(exact, n, &sink, &why), expected);
    if (expected)
        snprintf(h.why, sizeof h.why, "%s", why.text);
    free(exact);
    return h;
}

static void forget(struct heard *h)
{
    for (size_t i = 0; i < h->n_rows; i++)
        foreign_row_fini(&h->rows[i]);
    free(h->rows);
    free(h->args);
    free(h->knobs);
}

static void a_tuners_file_is_rows(void **state)
{
    static const char text[] = FILE_OF(ONE ",\n" TWO);
    struct heard h = hear("clblast", text, sizeof text - 1, ERR_OK);

    (void)state;
    assert_int_equal(h.n_rows, 2);
    assert_int_equal(h.n_bad, 0);
    assert_string_equal(h.task, "xgemm_1");
    assert_string_equal(h.target, "Mali-T760");
    assert_true(h.times[0] == 0.0015 && h.times[1] == 0.00225);
    assert_string_equal(h.args, "{\"precision\":\"32\",\"arg_m\":\"1024\",\"arg_n\":\"512\",\"arg_k\":\"256\"}");
    assert_string_equal(h.knobs, "{\"MWG\":32,\"PRECISION\":32}");
    forget(&h);
}

/* What is kept of a row is kept once, of its result or of its section. */
static void what_a_row_keeps_it_keeps_once(void **state)
{
    static const struct {
        const char *text, *extra;
    } cases[] = {
        {"{\"sections\":[{\"kernel_family\":\"xgemm\",\"kernel\":\"Xgemm\",\"tune\":{\"a\":1},\"device\":\"D\","
         "\"parameter_names\":[\"MWG\"],\"results\":[[\"64\",1.5]]}]}",
         "{\"kernel\":\"Xgemm\",\"tune\":{\"a\":1},\"device\":\"D\"}"},
        {"{\"kernel_family\":\"xgemm\",\"device\":\"D\",\"results\":[{\"kernel\":\"Xgemm\",\"time\":1.5,\"parameters\":"
         "{\"MWG\":64}}]}",
         "{\"device\":\"D\",\"kernel\":\"Xgemm\"}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct heard h = hear("clblast", cases[i].text, strlen(cases[i].text), ERR_OK);
        char *extra;

        assert_int_equal(h.n_rows, 1);
        extra = cJSON_PrintUnformatted(h.rows[0].extra);
        assert_string_equal(extra, cases[i].extra);
        cJSON_free(extra);
        forget(&h);
    }
}

static void a_database_is_rows(void **state)
{
    static const char text[] =
        "{\"sections\":[{\"kernel_family\":\"xgemm\",\"precision\":\"32\",\"arg_m\":\"64\",\"device\":"
        "\"D\",\"parameter_names\":[\"MWG\",\"NWG\"],\"results\":[[\"64,32\",1.5],[\"16,16\",2.0],"
        "[\"16\",2.0],[\"16,16,1\",2.0],[\"16,x\",2.0]]}]}";
    struct heard h = hear("clblast", text, sizeof text - 1, ERR_OK);

    (void)state;
    assert_int_equal(h.n_rows, 2);
    assert_int_equal(h.n_bad, 3);
    assert_string_equal(h.knobs, "{\"MWG\":16,\"NWG\":16}");
    forget(&h);
}

static void a_file_cut_anywhere_gives_its_whole_results(void **state)
{
    static const char text[] = FILE_OF(ONE ",\n" TWO);
    const size_t first = (size_t)(strstr(text, ONE) - text) + sizeof ONE - 1;
    const size_t second = (size_t)(strstr(text, TWO) - text) + sizeof TWO - 1;

    (void)state;
    for (size_t n = strlen("{\n  \"kernel_family\""); n < sizeof text; n++) {
        struct heard h = {.n_rows = 0};
        const struct foreign_sink sink = {take_row, take_bad, &h};
        char *exact = malloc(n);
        const enum err e = (memcpy(exact, text, n), foreign_find("clblast")->read(exact, n, &sink, NULL));

        free(exact);
        if (h.n_rows != (size_t)(n >= first) + (n >= second) || (e && h.n_rows))
            fail_msg("cut at %zu: %zu rows, %s", n, h.n_rows, err_words(e));
        forget(&h);
    }
}

static const struct {
    const char *result, *words;
} bad[] = {
    {"{\"kernel\": \"Xgemm\", \"time\": 1.5}", "without \"parameters\""},
    {"{\"time\": \"1\", \"parameters\": {}}", "without a \"time\""},
    {"{\"time\": -1, \"parameters\": {}}", "without a \"time\""},
    {"{\"time\": nan, \"parameters\": {}}", ""},
    {"7", "without \"parameters\""},
};

static void a_result_that_is_no_row_is_told_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[4096];
        struct heard h;

        snprintf(text, sizeof text, "{\n" META "\"results\": [" ONE ", %s, " TWO "]}", bad[i].result);
        h = hear("clblast", text, strlen(text), ERR_OK);
        if (h.n_bad == 0 || !strstr(h.why, bad[i].words) || strchr(h.why, '\n'))
            fail_msg("%s: %zu rows, %s", bad[i].result, h.n_rows, h.why);
        forget(&h);
    }
}

static void another_file_is_refused(void **state)
{
    static const char *const texts[] = {"", "x", "[1]", "{}", "{\"a\": 1}"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct heard h = hear("clblast", texts[i], strlen(texts[i]), ERR_INPUT);

        assert_non_null(strstr(h.why, "no file of CLBlast's tuners"));
        forget(&h);
    }
}

/* All but what CLBlast sums up itself. */
static void what_is_read_is_written(void **state)
{
    static const char text[] = FILE_OF(ONE ",\n" TWO);
    struct heard h = hear("clblast", text, sizeof text - 1, ERR_OK), again;
    struct buf out;
    cJSON *before = cJSON_Parse(text), *after;

    (void)state;
    buf_init(&out, 1 << 20);
    assert_int_equal(foreign_find("clblast")->write(h.rows, h.n_rows, &out, NULL), ERR_OK);
    after = cJSON_Parse(buf_text(&out));
    assert_string_equal(cJSON_GetObjectItem(after, "best_parameters")->valuestring, "MWG=64 PRECISION=32");
    cJSON_DeleteItemFromObject(before, "best_parameters");
    cJSON_DeleteItemFromObject(after, "best_parameters");
    if (!cJSON_Compare(before, after, true))
        fail_msg("%s became %s", text, buf_text(&out));
    cJSON_Delete(before);
    cJSON_Delete(after);
    free(h.rows[1].task); /* another kernel: a database */
    h.rows[1].task = strdup("xgemm_direct_1");
    buf_clear(&out);
    assert_int_equal(foreign_find("clblast")->write(h.rows, h.n_rows, &out, NULL), ERR_OK);
    again = hear("clblast", out.data, out.len, ERR_OK);
    assert_int_equal(again.n_rows, 2);
    assert_string_equal(again.task, "xgemm_direct");
    assert_string_equal(again.knobs, "{\"MWG\":32}");
    assert_true(again.times[1] == h.times[1]);
    forget(&again);
    forget(&h);
    buf_fini(&out);
}

static bool is_claimed(const char *format, const char *head)
{
    return foreign_find(format)->sniff(head, strlen(head));
}

static void their_own_are_known_by_their_head(void **state)
{
    (void)state;
    assert_true(is_claimed("clblast", FILE_OF(ONE)));
    assert_false(is_claimed("clblast", "{\"input\": 1}"));
}

static struct foreign_row row_of(const char *task, const char *m, double ms, int mwg)
{
    struct foreign_row r;

    foreign_row_init(&r);
    r.task = strdup(task);
    r.target = strdup("D");
    r.args = cJSON_CreateObject();
    cJSON_AddStringToObject(r.args, "arg_m", m);
    r.knobs = cJSON_CreateObject();
    cJSON_AddNumberToObject(r.knobs, "MWG", mwg);
    cJSON_AddNumberToObject(r.knobs, "PRECISION", 32);
    r.extra = cJSON_CreateObject();
    cJSON_AddStringToObject(r.extra, "kernel", "Xgemm");
    r.time_s = ms / 1e3;
    return r;
}

static void the_best_of_a_file_is_its_fastest(void **state)
{
    struct foreign_row rows[3] = {row_of("xgemm_1", "64", 3, 8), row_of("xgemm_1", "64", 1.5, 16),
                                  row_of("xgemm_1", "64", 1.5, 32)};
    struct buf out;
    cJSON *file;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(foreign_find("clblast")->write(rows, 3, &out, NULL), ERR_OK);
    file = cJSON_Parse(buf_text(&out));
    assert_string_equal(cJSON_GetObjectItem(file, "best_parameters")->valuestring, "MWG=16 PRECISION=32");
    assert_string_equal(cJSON_GetObjectItem(file, "best_time")->valuestring, "1.5");
    assert_string_equal(cJSON_GetObjectItem(file, "best_kernel")->valuestring, "Xgemm");
    assert_string_equal(cJSON_GetObjectItem(file, "kernel_family")->valuestring, "xgemm_1");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(file, "results")), 3);
    assert_true(cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(file, "results"), 0), "time")->valuedouble ==
                3);
    cJSON_Delete(file);
    for (size_t i = 0; i < 3; i++)
        foreign_row_fini(&rows[i]);
    buf_fini(&out);
}

/* Sections in order of their first rows, each with all of its own, however they alternate. */
static void a_database_gathers_rows_by_section(void **state)
{
    struct foreign_row rows[5] = {row_of("xgemm_1", "64", 1, 8), row_of("xgemm_1", "128", 2, 8),
                                  row_of("xgemm_1", "64", 3, 16), row_of("xconv", "64", 4, 8),
                                  row_of("xgemm_1", "128", 5, 16)};
    static const struct {
        const char *family, *m, *first, *second;
    } expected[] = {{"xgemm", "64", "8", "16"}, {"xgemm", "128", "8", "16"}, {"xconv", "64", "8", NULL}};
    const cJSON *sections, *section, *results;
    struct buf out;
    cJSON *file;
    int i = 0;

    (void)state;
    buf_init(&out, 1 << 16);
    assert_int_equal(foreign_find("clblast")->write(rows, 5, &out, NULL), ERR_OK);
    file = cJSON_Parse(buf_text(&out));
    sections = cJSON_GetObjectItem(file, "sections");
    assert_int_equal(cJSON_GetArraySize(sections), 3);
    cJSON_ArrayForEach(section, sections)
    {
        results = cJSON_GetObjectItem(section, "results");
        assert_string_equal(cJSON_GetObjectItem(section, "kernel_family")->valuestring, expected[i].family);
        assert_string_equal(cJSON_GetObjectItem(section, "arg_m")->valuestring, expected[i].m);
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(section, "parameter_names")), 1);
        assert_int_equal(cJSON_GetArraySize(results), expected[i].second ? 2 : 1);
        assert_string_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(results, 0), 0)->valuestring, expected[i].first);
        if (expected[i].second)
            assert_string_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(results, 1), 0)->valuestring, expected[i].second);
        i++;
    }
    cJSON_Delete(file);
    for (size_t k = 0; k < 5; k++)
        foreign_row_fini(&rows[k]);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tuners_file_is_rows),
        cmocka_unit_test(what_a_row_keeps_it_keeps_once),
        cmocka_unit_test(a_database_is_rows),
        cmocka_unit_test(a_file_cut_anywhere_gives_its_whole_results),
        cmocka_unit_test(a_result_that_is_no_row_is_told_why),
        cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(what_is_read_is_written),
        cmocka_unit_test(their_own_are_known_by_their_head),
        cmocka_unit_test(the_best_of_a_file_is_its_fastest),
        cmocka_unit_test(a_database_gathers_rows_by_section),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
