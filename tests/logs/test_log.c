/* SPDX-License-Identifier: MIT */
/* Logs: appending, scanning, and what a crash, a stranger or a second writer does to them. */
#include "sample.h"

#include "core/file.h"
#include "core/proc.h"
#include "logs/log.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define N_APPENDED 200 /* records by each of two processes */

static char dir[256], path[300];

static int make_dir(void **state)
{
    (void)state;
    if (dir_temporary("logs", dir, sizeof dir, NULL) != ERR_OK)
        return -1;
    snprintf(path, sizeof path, "%s/x.jsonl", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    dir_remove(dir);
    return 0;
}

struct seen {
    size_t n, n_warned, stop_after;
    int64_t warned_line;
    char last_id[65], words[200];
};

static bool see(const struct record *r, const char *line, size_t n, void *arg)
{
    struct seen *s = arg;

    assert_true(n > 2 && line[0] == '{' && line[n - 1] == '}');
    strcpy(s->last_id, r->id);
    return ++s->n != s->stop_after;
}

static void warned(const char *file, int64_t i_line, const char *why, void *arg)
{
    struct seen *s = arg;

    assert_string_equal(file, path);
    s->n_warned++;
    s->warned_line = i_line;
    snprintf(s->words, sizeof s->words, "%s", why);
}

static struct seen scan(void)
{
    struct seen s = {.n = 0};

    assert_int_equal(log_scan(path, see, warned, &s, NULL), ERR_OK);
    return s;
}

static void append(const char *id)
{
    struct record r = sample_record(id);

    assert_int_equal(log_append(path, &r, NULL), ERR_OK);
    record_fini(&r);
}

/* Not file_replace: its fsync for each of some thousand cuts takes a while. */
static void put(const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void get(struct buf *out)
{
    buf_init(out, 10000000);
    assert_int_equal(file_read(path, out, NULL), ERR_OK);
}

static void appended_records_are_scanned_in_order(void **state)
{
    struct seen s = {.stop_after = 2};

    (void)state;
    append("t1");
    append("t2");
    append("t3");
    assert_int_equal(scan().n, 3);
    assert_int_equal(scan().n_warned, 0);
    assert_string_equal(scan().last_id, "t3");
    assert_int_equal(log_scan(path, see, warned, &s, NULL), ERR_OK);
    assert_int_equal(s.n, 2);
}

/* Whole records before the cut; the last may lack its '\n'. */
static size_t n_whole(const char *text, size_t n_cut)
{
    size_t n = 0;

    for (size_t i = 0; i < n_cut; i++)
        n += text[i] == '\n';
    return n + (n_cut > 0 && text[n_cut - 1] != '\n' && text[n_cut] == '\n');
}

static void a_log_cut_at_any_byte_keeps_every_whole_record(void **state)
{
    struct buf text;

    (void)state;
    append("t1");
    append("t2");
    append("t3");
    get(&text);
    for (size_t cut = 0; cut <= text.len; cut++) {
        struct seen s;

        put(text.data, cut);
        s = scan();
        if (s.n != n_whole(text.data, cut))
            fail_msg("cut at %zu: %zu records, expected %zu", cut, s.n, n_whole(text.data, cut));
        append("t4");
        s = scan();
        if (s.n != n_whole(text.data, cut) + 1 || strcmp(s.last_id, "t4") != 0)
            fail_msg("cut at %zu and appended: %zu records, last %s", cut, s.n, s.last_id);
    }
    buf_fini(&text);
}

static void bad_lines_are_skipped_with_file_and_line(void **state)
{
    static const char *const bad[] = {
        "not JSON at all",
        "{\"input\": [\"a foreign log\"], \"result\": [[0.1], 0, 1.5, 1.6]}",
        "{\"id\":",
        "\x80\xff\x01 bytes",
    };
    struct buf text;

    (void)state;
    append("t1");
    get(&text);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct buf both;
        struct seen s;

        buf_init(&both, 100000);
        buf_printf(&both, "%s\n%s\n%s", text.data, bad[i], text.data);
        put(both.data, both.len);
        s = scan();
        assert_int_equal(s.n, 2);
        assert_int_equal(s.n_warned, 1);
        assert_int_equal(s.warned_line, 3); /* line 2 is empty, which is nothing to warn of */
        assert_non_null(strstr(s.words, "torn"));
        buf_fini(&both);
    }
    buf_fini(&text);
}

static void endless_lines_are_skipped(void **state)
{
    char *junk = malloc(300000);
    struct buf text, all;
    struct seen s;

    (void)state;
    assert_non_null(junk);
    memset(junk, 'x', 300000);
    append("t1");
    get(&text);
    buf_init(&all, 10000000);
    buf_append(&all, junk, 300000);
    buf_puts(&all, "\n");
    buf_append(&all, text.data, text.len);
    buf_append(&all, junk, 70000);
    put(all.data, all.len);
    s = scan();
    assert_int_equal(s.n, 1);
    assert_int_equal(s.n_warned, 2);
    assert_int_equal(s.warned_line, 3);
    assert_non_null(strstr(s.words, "longer than"));
    buf_fini(&all);
    buf_fini(&text);
    free(junk);
}

static void a_missing_file_and_a_directory_are_errors(void **state)
{
    struct why why;

    (void)state;
    assert_int_equal(log_scan(path, see, warned, NULL, &why), ERR_NOT_FOUND);
    assert_int_equal(log_scan(dir, see, warned, NULL, &why), ERR_IO);
    assert_int_equal(log_append_line(dir, "{}", 2, &why), ERR_IO);
}

static void only_single_lines_are_appended(void **state)
{
    (void)state;
    assert_int_equal(log_append_line(path, "", 0, NULL), ERR_INPUT);
    assert_int_equal(log_append_line(path, "\n", 1, NULL), ERR_INPUT);
    assert_int_equal(log_append_line(path, "a\nb", 3, NULL), ERR_INPUT);
    assert_int_equal(log_append_line(path, "a\n", 2, NULL), ERR_OK);
    assert_int_equal(log_append_line(path, "b", 1, NULL), ERR_OK);
    {
        struct buf text;

        get(&text);
        assert_string_equal(text.data, "a\nb\n");
        buf_fini(&text);
    }
}

static int append_many(const char *file, const char *who)
{
    for (int i = 0; i < N_APPENDED; i++) {
        char id[32];
        struct record r;

        snprintf(id, sizeof id, "%s-%d", who, i);
        r = sample_record(id);
        if (log_append(file, &r, NULL) != ERR_OK)
            return 1;
        record_fini(&r);
    }
    return 0;
}

static void two_writers_lose_nothing(void **state)
{
    char self[PATH_MAX], name[PATH_MAX + 16];
    const char *argv[] = {name, "append", path, "other", NULL};
    struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = -1, .err_fd = 2, .pass_fd = -1};
    struct seen s;
    pid_t pid = 0;
    int status = -1;

    (void)state;
    assert_int_equal(proc_own_dir(self, sizeof self), ERR_OK);
    snprintf(name, sizeof name, "%s/test_log", self);
    assert_int_equal(proc_start(&o, &pid, NULL), ERR_OK);
    assert_int_equal(append_many(path, "self"), 0);
    assert_int_equal(proc_wait(pid, 30000, &status), ERR_OK);
    assert_int_equal(status, 0);
    s = scan();
    assert_int_equal(s.n, 2 * N_APPENDED);
    assert_int_equal(s.n_warned, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appended_records_are_scanned_in_order, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_log_cut_at_any_byte_keeps_every_whole_record, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(bad_lines_are_skipped_with_file_and_line, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(endless_lines_are_skipped, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_missing_file_and_a_directory_are_errors, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(only_single_lines_are_appended, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(two_writers_lose_nothing, make_dir, remove_dir),
    };

    if (argc == 4 && strcmp(argv[1], "append") == 0)
        return append_many(argv[2], argv[3]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
