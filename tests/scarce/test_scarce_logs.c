/* SPDX-License-Identifier: MIT */
/* Without memory logs are read, merged and cut short whole or not at all, and what is there stays as it is. */
#include "tests/logs/sample.h"
#include "tests/scarce/scarce.h"

#include "core/file.h"
#include "logs/compact.h"
#include "logs/log.h"
#include "logs/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N_RECORDS 12

static char dir[256], log_path[300], out_path[300];

static bool went_well(enum err e, const char *what)
{
    if (e && e != ERR_NOMEM)
        fail_msg("%s: %s", what, err_name(e));
    return !e;
}

static void write_log(void)
{
    snprintf(log_path, sizeof log_path, "%s/x.jsonl", dir);
    snprintf(out_path, sizeof out_path, "%s/out.jsonl", dir);
    for (int i = 0; i < N_RECORDS; i++) {
        const char workload[] = {(char)('a' + i % 3), '\0'};
        struct record r = sample_timed(workload, 'f', i < 6 ? "j1" : "j2", i % 4 == 3 ? "final" : "search",
                                       (char)('0' + i % 5), 100 + i);

        snprintf(r.id, sizeof r.id, "t%d", i);
        assert_int_equal(log_append(log_path, &r, NULL), ERR_OK);
        record_fini(&r);
    }
}

static bool copy_and_print(void *arg)
{
    struct record copy, again;
    struct buf line;
    enum err e = record_copy(&copy, arg);

    if (e)
        return went_well(e, "a copy");
    buf_init(&line, RECORD_MAX_BYTES);
    e = record_print(&copy, &line);
    if (!e)
        e = record_parse(buf_text(&line), line.len, &again, NULL);
    if (!e) {
        assert_string_equal(again.workload, copy.workload);
        assert_int_equal(again.n_samples, copy.n_samples);
        record_fini(&again);
    }
    record_fini(&copy);
    buf_fini(&line);
    return went_well(e, "a record");
}

struct reading {
    struct best_set *best;
    int n_read, n_bad;
    enum err e;
};

static bool take(const struct record *r, const char *line, size_t n_line, void *arg)
{
    struct reading *a = arg;

    (void)line, (void)n_line;
    a->n_read++;
    a->e = best_add(a->best, r);
    return !a->e;
}

static void count_bad(const char *path, int64_t i_line, const char *why, void *arg)
{
    (void)path, (void)i_line, (void)why;
    ((struct reading *)arg)->n_bad++;
}

/* No line is told to be bad for lack of memory. */
static bool find_the_best(void *arg)
{
    struct reading a = {.best = NULL};
    enum err e = best_new(&a.best);

    (void)arg;
    if (!e)
        e = log_scan(log_path, take, count_bad, &a, NULL);
    if (!e)
        e = a.e;
    assert_int_equal(a.n_bad, 0);
    if (!e) {
        assert_int_equal(a.n_read, N_RECORDS);
        assert_int_equal(best_n(a.best), 3);
        e = best_write(a.best, out_path, NULL);
    }
    best_free(a.best);
    return went_well(e, "the best");
}

static int64_t lines_in(const char *path)
{
    struct buf text;
    int64_t n = 0;

    buf_init(&text, 1 << 20);
    if (file_read(path, &text, NULL) == ERR_OK)
        for (const char *p = buf_text(&text); *p; p++)
            n += *p == '\n';
    buf_fini(&text);
    return n;
}

static enum err own_lines(int fd, const char *path, bool (*each)(const struct log_line *line, void *arg),
                          log_warn *warn, void *arg, struct why *why)
{
    (void)warn;
    return log_lines_fd(fd, path, each, arg, why);
}

static bool merge_two(void *arg)
{
    const char *const paths[] = {log_path, log_path};
    const struct merge_options o = {.lines = own_lines, .one_a_trial = *(bool *)arg};
    struct merge_report report;
    enum err e;

    remove(out_path);
    e = merge_logs(paths, 2, out_path, &o, &report, NULL);
    scarce_watch(false);
    assert_int_equal(lines_in(out_path), e ? 0 : N_RECORDS);
    return went_well(e, "a merge");
}

static bool cut_short(void *arg)
{
    struct compact_report report;
    enum err e;

    (void)arg;
    remove(out_path);
    e = compact_log(log_path, out_path, N_RECORDS, own_lines, NULL, &report, NULL);
    scarce_watch(false);
    assert_int_equal(lines_in(out_path), e ? 0 : N_RECORDS);
    return went_well(e, "a log cut short");
}

static void records_are_read_and_written_whole_or_not_at_all(void **state)
{
    struct record r = sample_record("t1");

    (void)state;
    assert_true(scarce_each(copy_and_print, &r) > 60);
    record_fini(&r);
}

static void a_log_is_read_whole_or_it_is_said_that_it_was_not(void **state)
{
    (void)state;
    assert_true(scarce_each(find_the_best, NULL) > 200);
}

static void logs_are_merged_whole_or_not_at_all(void **state)
{
    bool one_a_trial = false;

    (void)state;
    assert_true(scarce_each(merge_two, &one_a_trial) > 5);
    one_a_trial = true;
    assert_true(scarce_each(merge_two, &one_a_trial) > 5);
}

static void a_log_is_cut_short_without_losing_a_line_for_lack_of_memory(void **state)
{
    (void)state;
    assert_true(scarce_each(cut_short, NULL) > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read_and_written_whole_or_not_at_all),
        cmocka_unit_test(a_log_is_read_whole_or_it_is_said_that_it_was_not),
        cmocka_unit_test(logs_are_merged_whole_or_not_at_all),
        cmocka_unit_test(a_log_is_cut_short_without_losing_a_line_for_lack_of_memory),
    };
    int n_failed;

    if (dir_temporary("tune-scarce", dir, sizeof dir, NULL) != ERR_OK)
        return 1;
    write_log();
    n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return n_failed;
}
