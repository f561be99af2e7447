/* SPDX-License-Identifier: MIT */
/* The syntax of AutoTVM's logs: what is a row, what is said of lines that are none, and that rows come back. */
#include "formats/syntax/foreign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define INPUT "\"input\": [\"opencl -device=mali\", \"dense.mali\", [[\"TENSOR\", [1, 2], \"float32\"]], {}]"
#define CONFIG "\"config\": {\"index\": 7, \"code_hash\": null, \"entity\": [[\"tile_y\", \"sp\", [-1, 1, 1]]]}"
#define RESULT "\"result\": [[0.5, 0.25], 0, 1.5, 1538220265.5]"
#define REST "\"version\": 0.2, \"tvm_version\": \"0.9.0\""
#define LINE "{" INPUT ", " CONFIG ", " RESULT ", " REST "}"

/* What a reading came to. */
struct heard {
    struct foreign_row last; /* without the trees */
    size_t n_rows, n_bad;
    int64_t i_bad;
    char why[1024], task[64];
    char *knobs, *extra;
};

static bool take_row(const struct foreign_row *r, void *arg)
{
    struct heard *h = arg;

    h->n_rows++;
    h->last = *r;
    snprintf(h->task, sizeof h->task, "%s", r->task);
    free(h->knobs);
    free(h->extra);
    h->knobs = cJSON_PrintUnformatted(r->knobs);
    h->extra = cJSON_PrintUnformatted(r->extra);
    return true;
}

static void take_bad(int64_t i_line, const char *why, void *arg)
{
    struct heard *h = arg;

    h->n_bad++;
    h->i_bad = i_line;
    snprintf(h->why, sizeof h->why, "%s", why);
}

static struct heard hear(const char *text, enum err expected)
{
    struct heard h = {.n_rows = 0};
    struct why why = {""};
    char *exact = malloc(strlen(text) + 1); /* no NUL behind it that the reader might lean on */
    const struct foreign_sink sink = {take_row, take_bad, &h};

    memcpy(exact, text, strlen(text));
    assert_int_equal(foreign_find("autotvm")->read(exact, strlen(text), &sink, &why), expected);
    if (expected)
        snprintf(h.why, sizeof h.why, "%s", why.text);
    free(exact);
    return h;
}

static void forget(struct heard *h)
{
    free(h->knobs);
    free(h->extra);
}

static void a_line_is_a_row(void **state)
{
    struct heard h = hear("# a comment\n\n" LINE "\n", ERR_OK);

    (void)state;
    assert_int_equal(h.n_rows, 1);
    assert_int_equal(h.n_bad, 0);
    assert_string_equal(h.task, "dense.mali");
    assert_int_equal(h.last.status, STATUS_OK);
    assert_true(h.last.time_s == 0.375); /* the mean, as TVM ranks */
    assert_int_equal(h.last.n_samples, 2);
    assert_int_equal(h.last.i_line, 3);
    assert_int_equal(h.last.ts_ms, 1538220265500);
    assert_string_equal(h.knobs, "[[\"tile_y\",\"sp\",[-1,1,1]]]");
    assert_non_null(strstr(h.extra, "\"index\":7"));
    assert_non_null(strstr(h.extra, "\"tvm_version\":\"0.9.0\""));
    forget(&h);
    h = hear("{" INPUT ", " CONFIG ", " RESULT ", " REST ", \"note\": 1, \"Note\": 2}\n", ERR_OK);
    assert_non_null(strstr(h.extra, "\"note\":1")); /* two members, though they differ in case alone */
    assert_non_null(strstr(h.extra, "\"Note\":2"));
    forget(&h);
}

static void error_numbers_are_statuses(void **state)
{
    static const enum record_status expected[] = {STATUS_OK,      STATUS_LIMITS,  STATUS_COMPILE,
                                                  STATUS_COMPILE, STATUS_RUNTIME, STATUS_WRONG,
                                                  STATUS_TIMEOUT, STATUS_TIMEOUT, STATUS_CRASH};

    (void)state;
    for (int i = 1; i < 9; i++) {
        char line[1024];
        struct heard h;

        snprintf(line, sizeof line, "{" INPUT ", " CONFIG ", \"result\": [[1000000000.0], %d, 1.5, 1.0], " REST "}\n",
                 i);
        h = hear(line, ERR_OK);
        assert_int_equal(h.n_rows, 1);
        assert_int_equal(h.last.status, expected[i]);
        assert_true(h.last.time_s == 0);
        assert_true(h.last.why[0] != '\0');
        forget(&h);
    }
}

static const struct {
    const char *line, *words;
} bad[] = {
    {"{" INPUT ", " CONFIG ", \"result\": [[0.5], 0, 1.5], " REST "}", "\"result\" is not"},
    {"{" INPUT ", " CONFIG ", \"result\": [[0.5], 0, 1.5, 1.0, 2], " REST "}", "\"result\" is not"},
    {"{" INPUT ", " CONFIG ", \"result\": [[NaN], 0, 1.5, 1.0], " REST "}", "NaN or Infinity"},
    {"{" INPUT ", " CONFIG ", \"result\": [[1e999], 0, 1.5, 1.0], " REST "}", "no time in seconds"},
    {"{" INPUT ", " CONFIG ", \"result\": [[-1], 0, 1.5, 1.0], " REST "}", "no time in seconds"},
    {"{" INPUT ", " CONFIG ", \"result\": [[0], 0, 1.5, 1.0], " REST "}", "no time in seconds"},
    {"{" INPUT ", " CONFIG ", \"result\": [[], 0, 1.5, 1.0], " REST "}", "without a list of costs"},
    {"{" INPUT ", " CONFIG ", \"result\": [[0.5], 9, 1.5, 1.0], " REST "}", "error number 9"},
    {"{" INPUT ", " CONFIG ", \"result\": [[0.5], -1, 1.5, 1.0], " REST "}", "error number -1"},
    {"{" INPUT ", " CONFIG ", " RESULT ", \"version\": 0.3}", "version after 0.2"},
    {"{" INPUT ", \"config\": {\"index\": 7}, " RESULT ", " REST "}", "no list \"entity\""},
    {"{" INPUT ", " RESULT ", " REST "}", "no list \"entity\""},
    {"{\"input\": [\"cuda\", \"dense\"], " CONFIG ", " RESULT "}", "\"input\" is not"},
    {"{\"input\": {}, " CONFIG ", " RESULT "}", "\"input\" is not"},
    {"{" CONFIG ", " RESULT "}", "\"input\" is not"},
    {"{\"i\": [\"cuda\", \"x\"], \"t\": \"direct\", \"r\": [[1.0], 0, 1, 1], \"v\": 0.1}",
     "\"i\" is not [target, task, [args], {}, [workload], {config}]"},
    {"cuda\tgASVKAAAAAAAAABdlCiM\tgASV\tgASV\t0.2\t0.9.0", "a row of pickles"},
    {"[1, 2]", "not a JSON object"},
    {LINE ",", "byte"},
};

static void a_line_that_is_no_row_is_told_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[4096];
        struct heard h;

        snprintf(text, sizeof text, LINE "\n%s\n" LINE "\n", bad[i].line);
        h = hear(text, ERR_OK);
        if (h.n_rows != 2 || h.n_bad != 1 || h.i_bad != 2 || !strstr(h.why, bad[i].words) || strchr(h.why, '\n'))
            fail_msg("%s: %zu rows, %zu bad, line %lld: %s", bad[i].line, h.n_rows, h.n_bad, (long long)h.i_bad, h.why);
        forget(&h);
    }
}

static void depth_and_length_have_limits(void **state)
{
    const size_t n = FOREIGN_MAX_ROW_BYTES + 2;
    char deep[4096] = "{\"input\": ", *longest = malloc(n + 1);
    struct heard h;

    (void)state;
    memset(deep + strlen(deep), '[', 2000);
    h = hear(deep, ERR_INPUT);
    assert_int_equal(h.n_bad, 1);
    forget(&h);
    memset(longest, ' ', n);
    memcpy(longest, "{\"input\"", 8);
    longest[n] = '\0';
    h = hear(longest, ERR_INPUT);
    assert_int_equal(h.n_bad, 1);
    forget(&h);
    free(longest);
}

static void a_log_cut_anywhere_gives_its_whole_lines(void **state)
{
    static const char text[] = LINE "\n" LINE "\n";
    const size_t n_line = sizeof LINE - 1;
    char cut[sizeof text];

    (void)state;
    for (size_t n = 1; n < sizeof text; n++) {
        const size_t whole = (n >= n_line) + (n >= 2 * n_line + 1),
                     parts = n != n_line && n != n_line + 1 && n < 2 * n_line + 1;
        struct heard h;

        memcpy(cut, text, n);
        cut[n] = '\0';
        h = hear(cut, n < n_line ? ERR_INPUT : ERR_OK);
        if (h.n_rows != whole || (n > n_line && h.n_bad != parts))
            fail_msg("cut at %zu: %zu rows, %zu bad", n, h.n_rows, h.n_bad);
        forget(&h);
    }
}

static void another_file_is_refused(void **state)
{
    struct heard h = hear("name,time\na,1\nb,2\n", ERR_INPUT);

    (void)state;
    assert_non_null(strstr(h.why, "no AutoTVM log"));
    forget(&h);
    h = hear("", ERR_OK);
    assert_int_equal(h.n_rows + h.n_bad, 0);
    forget(&h);
}

static bool is_claimed(const char *head)
{
    return foreign_find("autotvm")->sniff(head, strlen(head));
}

static void its_own_are_known_by_their_first_line(void **state)
{
    (void)state;
    assert_true(is_claimed(LINE));
    assert_true(is_claimed("# TopHub\n\n" LINE));
    assert_true(is_claimed("{\"i\": [], \"t\": 1, \"v\": 0.1}\n"));
    assert_true(is_claimed("cuda\tgASVKAAAA\tgASV\n"));
    assert_false(is_claimed("{\"schema\":1,\"id\":\"a\"}"));
    assert_false(is_claimed("a\tb\tc"));
    assert_false(is_claimed(""));
}

struct copies {
    struct buf out;
};

static bool write_again(const struct foreign_row *r, void *arg)
{
    struct copies *c = arg;

    assert_int_equal(foreign_find("autotvm")->write(r, 1, &c->out, NULL), ERR_OK);
    return true;
}

/* Members that TVM has no name for travel too. */
static void what_is_read_is_written(void **state)
{
    static const char text[] =
        "{" INPUT ", " CONFIG ", " RESULT ", " REST ", \"tune\": \"x\", \"more\": {\"a\": [1]}}\n";
    struct copies c;
    const struct foreign_sink sink = {write_again, take_bad, &c};
    cJSON *before = cJSON_Parse(text), *after;

    (void)state;
    buf_init(&c.out, 1 << 16);
    assert_int_equal(foreign_find("autotvm")->read(text, sizeof text - 1, &sink, NULL), ERR_OK);
    after = cJSON_Parse(buf_text(&c.out));
    if (!cJSON_Compare(before, after, true))
        fail_msg("%s became %s", text, buf_text(&c.out));
    assert_int_equal(strchr(c.out.data, '\n') - c.out.data, (long)c.out.len - 1);
    cJSON_Delete(before);
    cJSON_Delete(after);
    buf_fini(&c.out);
}

static void a_failure_is_written_as_tvm_writes_it(void **state)
{
    static const int expected[] = {0, 3, 1, 4, 5, 7, 8};
    struct foreign_row r;
    struct buf out;

    (void)state;
    foreign_row_init(&r);
    for (int s = STATUS_COMPILE; s <= STATUS_CRASH; s++) {
        cJSON *line, *result;

        buf_init(&out, 1 << 16);
        r.status = (enum record_status)s;
        assert_int_equal(foreign_find("autotvm")->write(&r, 1, &out, NULL), ERR_OK);
        line = cJSON_Parse(buf_text(&out));
        result = cJSON_GetObjectItem(line, "result");
        assert_int_equal(cJSON_GetArraySize(result), 4);
        assert_true(cJSON_GetArrayItem(cJSON_GetArrayItem(result, 0), 0)->valuedouble == 1e9);
        assert_int_equal(cJSON_GetArrayItem(result, 1)->valueint, expected[s]);
        cJSON_Delete(line);
        buf_fini(&out);
    }
}

static void all_costs_count_and_so_many_are_kept(void **state)
{
    struct heard h;
    struct buf line;
    double sum = 1;

    (void)state;
    buf_init(&line, 1 << 16);
    buf_puts(&line, "{" INPUT ", " CONFIG ", \"result\": [[1");
    for (int i = 2; i <= RECORD_MAX_SAMPLES + 6; i++) {
        buf_printf(&line, ", %d", i);
        sum += i;
    }
    buf_puts(&line, "], 0, 1.5, 0], " REST "}");
    h = hear(buf_text(&line), ERR_OK);
    assert_int_equal(h.n_rows, 1);
    assert_true(h.last.time_s == sum / (RECORD_MAX_SAMPLES + 6));
    assert_int_equal(h.last.n_samples, RECORD_MAX_SAMPLES);
    assert_true(h.last.samples_s[RECORD_MAX_SAMPLES - 1] == RECORD_MAX_SAMPLES);
    assert_int_equal(h.last.ts_ms, 0);
    forget(&h);
    buf_fini(&line);
}

static void limits_of_numbers_are_kept(void **state)
{
    static const struct {
        const char *result;
        bool is_row;
    } cases[] = {
        {"[[999999999.0], 0, 1.5, 1.0]", true}, {"[[1000000000.0], 0, 1.5, 1.0]", false},
        {"[[0.5], 8, 1.5, 1.0]", true},         {"[[0.5], 8.5, 1.5, 1.0]", true},
        {"[[0.5], 9, 1.5, 1.0]", false},        {"[[0.5], \"0\", 1.5, 1.0]", false},
        {"[[0.5], 0, null, 1.0]", false},       {"[[0.5], 0, 1.5, null]", false},
        {"[[0.5, -1], 0, 1.5, 1.0]", false},    {"[[0.5, true], 0, 1.5, 1.0]", false},
        {"[0.5, 0, 1.5, 1.0]", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct heard h;
        char line[1024];

        snprintf(line, sizeof line, "{" INPUT ", " CONFIG ", \"result\": %s, " REST "}", cases[i].result);
        h = hear(line, ERR_OK);
        if (h.n_rows != cases[i].is_row || h.n_bad == cases[i].is_row)
            fail_msg("%s: %zu rows, %s", cases[i].result, h.n_rows, h.why);
        forget(&h);
    }
}

static void a_row_of_other_tuners_is_written_with_what_tvm_wants(void **state)
{
    struct foreign_row r;
    struct buf out;
    cJSON *line, *result;

    (void)state;
    foreign_row_init(&r);
    r.time_s = 0.5;
    r.build_s = 2;
    r.ts_ms = 1500;
    buf_init(&out, 1 << 16);
    assert_int_equal(foreign_find("autotvm")->write(&r, 1, &out, NULL), ERR_OK);
    line = cJSON_Parse(buf_text(&out));
    result = cJSON_GetObjectItem(line, "result");
    assert_true(cJSON_GetArrayItem(cJSON_GetArrayItem(result, 0), 0)->valuedouble == 0.5);
    assert_true(cJSON_GetArrayItem(result, 1)->valuedouble == 0);
    assert_true(cJSON_GetArrayItem(result, 2)->valuedouble == 2.5);
    assert_true(cJSON_GetArrayItem(result, 3)->valuedouble == 1.5);
    assert_true(cJSON_GetObjectItem(line, "version")->valuedouble == 0.2);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(line, "input")), 4);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetObjectItem(line, "config"), "code_hash")));
    cJSON_Delete(line);
    buf_clear(&out);
    r.n_samples = 2; /* samples take the place of the mean */
    r.samples_s[0] = 0.25;
    r.samples_s[1] = 0.75;
    assert_int_equal(foreign_find("autotvm")->write(&r, 1, &out, NULL), ERR_OK);
    line = cJSON_Parse(buf_text(&out));
    result = cJSON_GetArrayItem(cJSON_GetObjectItem(line, "result"), 0);
    assert_int_equal(cJSON_GetArraySize(result), 2);
    assert_true(cJSON_GetArrayItem(result, 1)->valuedouble == 0.75);
    cJSON_Delete(line);
    buf_fini(&out);
}

static bool take_two(const struct foreign_row *r, void *arg)
{
    struct heard *h = arg;

    (void)take_row(r, arg);
    return h->n_rows < 2;
}

static void a_sink_that_has_enough_ends_the_reading(void **state)
{
    static const char text[] = LINE "\n\r\n \t\n" LINE "\r\n" LINE "\n";
    struct heard h = {.n_rows = 0};
    const struct foreign_sink sink = {take_two, take_bad, &h};

    (void)state;
    assert_int_equal(foreign_find("autotvm")->read(text, sizeof text - 1, &sink, NULL), ERR_OK);
    assert_true(h.n_rows == 2 && h.n_bad == 0 && h.last.i_line == 4);
    forget(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_row),
        cmocka_unit_test(error_numbers_are_statuses),
        cmocka_unit_test(a_line_that_is_no_row_is_told_why),
        cmocka_unit_test(depth_and_length_have_limits),
        cmocka_unit_test(a_log_cut_anywhere_gives_its_whole_lines),
        cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(its_own_are_known_by_their_first_line),
        cmocka_unit_test(what_is_read_is_written),
        cmocka_unit_test(a_failure_is_written_as_tvm_writes_it),
        cmocka_unit_test(all_costs_count_and_so_many_are_kept),
        cmocka_unit_test(limits_of_numbers_are_kept),
        cmocka_unit_test(a_row_of_other_tuners_is_written_with_what_tvm_wants),
        cmocka_unit_test(a_sink_that_has_enough_ends_the_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
