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

static void a_byte_order_mark_costs_no_record(void **state)
{
    struct buf text, marked;

    (void)state;
    append("t1");
    append("t2");
    get(&text);
    buf_init(&marked, 10000000);
    buf_puts(&marked, "\xef\xbb\xbf");
    assert_int_equal(buf_append(&marked, text.data, text.len), ERR_OK);
    put(marked.data, marked.len);
    assert_int_equal(scan().n, 2);
    assert_int_equal(scan().n_warned, 0);
    put("\xef\xbb\xbf\n{\xef\xbb\xbf", 8); /* nothing else on the first line; and not at its beginning */
    assert_int_equal(scan().n_warned, 1);
    buf_fini(&marked);
    buf_fini(&text);
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
    assert_int_equal(log_scan("/dev/zero", see, warned, NULL, &why), ERR_IO); /* it never ends */
    assert_non_null(strstr(why.text, "/dev/zero: a device: expected a file"));
    assert_int_equal(log_scan("/dev/null", see, warned, NULL, &why), ERR_OK);
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

static void lines_have_a_greatest_length(void **state)
{
    char *line = malloc(RECORD_MAX_BYTES + 2);
    struct why why = {""};
    struct buf text;

    (void)state;
    assert_non_null(line);
    memset(line, 'x', RECORD_MAX_BYTES + 2);
    assert_int_equal(log_append_line(path, line, RECORD_MAX_BYTES + 1, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "65536 bytes"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(log_append_line(path, line, RECORD_MAX_BYTES, NULL), ERR_OK);
    assert_int_equal(log_append_line(path, "y", 1, NULL), ERR_OK);
    get(&text);
    assert_int_equal(text.len, RECORD_MAX_BYTES + 1 + 2);
    assert_memory_equal(text.data, line, RECORD_MAX_BYTES);
    assert_string_equal(text.data + RECORD_MAX_BYTES, "\ny\n");
    buf_fini(&text);
    free(line);
}

static void a_torn_line_is_closed_before_the_next(void **state)
{
    static const struct {
        const char *before, *after;
    } cases[] = {{"", "z\n"}, {"\n", "\nz\n"}, {"a", "a\nz\n"}, {"a\n", "a\nz\n"}, {"a\nb", "a\nb\nz\n"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf text;

        put(cases[i].before, strlen(cases[i].before));
        assert_int_equal(log_append_line(path, i % 2 ? "z" : "z\n", 1 + (i % 2 == 0), NULL), ERR_OK);
        get(&text);
        assert_string_equal(text.data, cases[i].after);
        buf_fini(&text);
    }
}

struct lines {
    struct buf text; /* each as it was given: number, length or -, torn or whole */
    size_t n, stop_after;
};

static bool list_line(const struct log_line *line, void *arg)
{
    struct lines *l = arg;

    buf_printf(&l->text, "%lld:", (long long)line->i_line);
    if (line->text)
        buf_printf(&l->text, "%zu%s ", line->n, line->is_torn ? "t" : "");
    else
        buf_printf(&l->text, "-%s ", line->is_torn ? "t" : "");
    return ++l->n != l->stop_after;
}

/* Lines of these lengths, the last with or without its end. */
static void write_lines(const size_t *lengths, size_t n, bool is_whole)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < lengths[i]; k++)
            assert_int_equal(putc('a' + (int)(k % 26), f), 'a' + (int)(k % 26));
        if (is_whole || i + 1 < n)
            putc('\n', f);
    }
    assert_int_equal(fclose(f), 0);
}

static void check_lines(const size_t *lengths, size_t n, bool is_whole, const char *expected)
{
    struct lines l = {.n = 0};
    FILE *f;

    buf_init(&l.text, 10000);
    write_lines(lengths, n, is_whole);
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(log_lines_fd(fileno(f), path, list_line, &l, NULL), ERR_OK);
    assert_string_equal(buf_text(&l.text), expected);
    fclose(f);
    buf_fini(&l.text);
}

/* Numbers count empty lines too; what is longer than a record is not held, wherever the pieces of reading meet. */
static void lines_are_given_with_number_length_and_end(void **state)
{
    (void)state;
    check_lines((const size_t[]){3, 0, 5}, 3, true, "1:3 3:5 ");
    check_lines((const size_t[]){3, 0, 5}, 3, false, "1:3 3:5t ");
    check_lines((const size_t[]){0, 0}, 2, true, "");
    check_lines((const size_t[]){65536, 2}, 2, true, "1:65536 2:2 ");
    check_lines((const size_t[]){65537, 2}, 2, true, "1:- 2:2 ");
    check_lines((const size_t[]){262143, 1}, 2, true, "1:- 2:1 ");
    check_lines((const size_t[]){262144, 1, 2}, 3, true, "1:- 2:1 3:2 ");
    check_lines((const size_t[]){262142, 4, 7}, 3, true, "1:- 2:4 3:7 ");
    check_lines((const size_t[]){262000, 65536, 7}, 3, true, "1:- 2:65536 3:7 ");
    check_lines((const size_t[]){262000, 65537, 7}, 3, true, "1:- 2:- 3:7 ");
    check_lines((const size_t[]){700000, 0, 7}, 3, true, "1:- 3:7 ");
    check_lines((const size_t[]){7, 700000}, 2, false, "1:7 2:-t ");
    check_lines((const size_t[]){7, 65536}, 2, false, "1:7 2:65536t ");
    check_lines((const size_t[]){262144 - 9, 8}, 2, false, "1:- 2:8t ");
}

static void reading_begins_where_the_file_stands_and_ends_when_told(void **state)
{
    struct lines l = {.stop_after = 2};
    FILE *f;

    (void)state;
    buf_init(&l.text, 10000);
    write_lines((const size_t[]){1, 2, 3, 4, 5}, 5, true);
    f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(lseek(fileno(f), 2, SEEK_SET), 2);
    assert_int_equal(log_lines_fd(fileno(f), path, list_line, &l, NULL), ERR_OK);
    assert_string_equal(buf_text(&l.text), "1:2 2:3 ");
    fclose(f);
    buf_fini(&l.text);
}

static void a_line_says_why_it_is_no_record(void **state)
{
    const struct log_line too_long = {NULL, 0, 7, false}, torn = {"{\"a\":1", 6, 7, true},
                          whole = {"{\"a\":1", 6, 7, false};
    struct why why = {""};
    struct record r;

    (void)state;
    assert_int_equal(log_line_record(&too_long, &r, &why), ERR_INPUT);
    assert_string_equal(why.text, "longer than 65536 bytes");
    assert_int_equal(log_line_record(&torn, &r, &why), ERR_INPUT);
    assert_memory_equal(why.text, "the file ends within this line: ", 32);
    assert_int_equal(log_line_record(&whole, &r, &why), ERR_INPUT);
    assert_memory_equal(why.text, "not a record", 12);
}

static void a_record_that_is_no_line_is_not_appended(void **state)
{
    struct record r = sample_record("t1");
    struct why why = {""};

    (void)state;
    r.seed = INT64_MAX;
    assert_int_equal(log_append(path, &r, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "record t1"));
    assert_int_equal(access(path, F_OK), -1);
    record_fini(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appended_records_are_scanned_in_order, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_byte_order_mark_costs_no_record, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_log_cut_at_any_byte_keeps_every_whole_record, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(bad_lines_are_skipped_with_file_and_line, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(endless_lines_are_skipped, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_missing_file_and_a_directory_are_errors, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(only_single_lines_are_appended, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(two_writers_lose_nothing, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(lines_have_a_greatest_length, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_torn_line_is_closed_before_the_next, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(lines_are_given_with_number_length_and_end, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(reading_begins_where_the_file_stands_and_ends_when_told, make_dir, remove_dir),
        cmocka_unit_test(a_line_says_why_it_is_no_record),
        cmocka_unit_test_setup_teardown(a_record_that_is_no_line_is_not_appended, make_dir, remove_dir),
    };

    if (argc == 4 && strcmp(argv[1], "append") == 0)
        return append_many(argv[2], argv[3]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
