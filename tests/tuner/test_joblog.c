/* SPDX-License-Identifier: MIT */
/* The log of a run: every line once, held against other runs, its best log beside it. */
#include "core/file.h"
#include "tests/logs/sample.h"
#include "tuner/joblog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define W1 "dense f32 m=1 n=1 k=1"

static char dir[256], path[300];

static int make_dir(void **state)
{
    (void)state;
    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
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

static void open_log(struct joblog *l)
{
    struct why why = {""};

    if (joblog_open(l, path, NULL, NULL, NULL, &why))
        fail_msg("%s", why.text);
}

/* The line of program `program`. */
static void print(char program, double time_ns, struct buf *line)
{
    struct record r = sample_timed(W1, '1', "j1", "search", program, time_ns);

    buf_clear(line);
    assert_int_equal(record_print(&r, line), ERR_OK);
    record_fini(&r);
}

static enum err add(struct joblog *l, char program, double time_ns)
{
    struct record r = sample_timed(W1, '1', "j1", "search", program, time_ns);
    struct why why = {""};
    struct buf line;
    enum err e;

    buf_init(&line, RECORD_MAX_BYTES);
    print(program, time_ns, &line);
    e = joblog_line(l, &r, buf_text(&line), line.len, &why);
    buf_fini(&line);
    record_fini(&r);
    return e;
}

static size_t count_lines(const char *of)
{
    struct buf text;
    size_t n = 0;

    buf_init(&text, 1 << 24);
    if (file_read(of, &text, NULL) == ERR_OK)
        for (const char *p = buf_text(&text); (p = strchr(p, '\n')) != NULL; p++)
            n++;
    buf_fini(&text);
    return n;
}

static void a_line_is_written_once_also_by_the_next_run(void **state)
{
    struct joblog l;

    (void)state;
    open_log(&l);
    for (int twice = 0; twice < 2; twice++)
        for (char p = 'a'; p < 'f'; p++)
            assert_int_equal(add(&l, p, 100), ERR_OK);
    assert_int_equal(count_lines(path), 5);
    assert_int_equal(l.seen.n, 5);
    joblog_close(&l);
    open_log(&l);
    assert_int_equal(l.seen.n, 5);
    assert_int_equal(add(&l, 'c', 100), ERR_OK);
    assert_int_equal(count_lines(path), 5);
    assert_int_equal(add(&l, 'c', 101), ERR_OK); /* the same program, another measurement */
    assert_int_equal(count_lines(path), 6);
    joblog_close(&l);
    unlink(path);
}

/* The line as the tracker has it has no '\n'; that of the file has. */
static void a_line_is_the_same_with_and_without_its_end(void **state)
{
    struct record r = sample_timed(W1, '1', "j1", "search", 'a', 100);
    struct joblog l;
    struct buf line;

    (void)state;
    buf_init(&line, RECORD_MAX_BYTES);
    print('a', 100, &line);
    open_log(&l);
    assert_int_equal(joblog_line(&l, &r, buf_text(&line), line.len - 1, NULL), ERR_OK);
    assert_int_equal(joblog_line(&l, &r, buf_text(&line), line.len, NULL), ERR_OK);
    assert_int_equal(count_lines(path), 1);
    joblog_close(&l);
    buf_fini(&line);
    record_fini(&r);
    unlink(path);
}

static void thousands_of_lines_are_all_remembered(void **state)
{
    struct joblog l;

    (void)state;
    open_log(&l);
    for (int twice = 0; twice < 2; twice++)
        for (int i = 0; i < 3000; i++)
            assert_int_equal(add(&l, 'a', 100 + i), ERR_OK);
    assert_int_equal(l.seen.n, 3000);
    assert_int_equal(count_lines(path), 3000);
    joblog_close(&l);
    unlink(path);
}

struct told {
    int n, n_bad;
    char last;
};

static void note(const struct record *r, void *arg)
{
    struct told *s = arg;

    s->n++;
    s->last = r->program.hex[0];
}

static void note_bad(const char *of, int64_t i_line, const char *words, void *arg)
{
    struct told *s = arg;

    assert_string_equal(of, path);
    assert_int_equal(i_line, 2);
    assert_true(words[0] != '\0');
    s->n_bad++;
}

static void what_the_file_holds_already_is_given_and_damage_is_named(void **state)
{
    struct told s = {.n = 0};
    struct joblog l;
    struct buf line;

    (void)state;
    buf_init(&line, RECORD_MAX_BYTES);
    print('a', 100, &line);
    assert_int_equal(file_append(path, buf_text(&line), line.len, false, NULL), ERR_OK);
    assert_int_equal(file_append(path, "{\"schema\":1\n", 12, false, NULL), ERR_OK);
    assert_int_equal(file_append(path, buf_text(&line), line.len, false, NULL), ERR_OK); /* again */
    print('b', 90, &line);
    assert_int_equal(file_append(path, buf_text(&line), line.len, false, NULL), ERR_OK);
    assert_int_equal(joblog_open(&l, path, note, note_bad, &s, NULL), ERR_OK);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.n_bad, 1);
    assert_int_equal(s.last, 'b');
    assert_int_equal(best_at(l.best, 0)->program.hex[0], 'b');
    joblog_close(&l);
    assert_int_equal(count_lines(path), 4); /* nobody's lines are taken away */
    buf_fini(&line);
    unlink(path);
}

static void a_file_that_is_no_log_is_left_as_it_is(void **state)
{
    static const char *const foreign[] = {"{\"device_name\": \"x\", \"cache\": {\n\"1\": {\"a\": 1}\n}}", "int x;\n",
                                          "{\"s"};
    static const char *const torn[] = {"{\"schema\":1,\"id\":\"t1\",\"jo", "{\"schema\":1,\"id\":3}\n", "{\"sch"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        const bool refused = i < 2; /* the last might be the beginning of a log */
        struct why why = {""};
        struct joblog l;
        struct stat st;

        assert_int_equal(file_append(path, foreign[i], strlen(foreign[i]), false, NULL), ERR_OK);
        assert_int_equal(joblog_open(&l, path, NULL, NULL, NULL, &why), refused ? ERR_INPUT : ERR_OK);
        assert_int_equal(strstr(why.text, "x.jsonl: this is no log, and is left as it is") != NULL, refused);
        joblog_close(&l);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, strlen(foreign[i]));
        unlink(path);
        assert_int_equal(file_append(path, torn[i], strlen(torn[i]), false, NULL), ERR_OK);
        open_log(&l);
        joblog_close(&l);
        unlink(path);
    }
}

static void the_best_log_is_written_beside_it(void **state)
{
    struct joblog l;
    struct stat st;

    (void)state;
    open_log(&l);
    assert_int_equal(joblog_write_best(&l, NULL), ERR_OK);
    assert_int_not_equal(stat(l.best_path, &st), 0); /* nothing is best of nothing */
    add(&l, 'a', 100);
    add(&l, 'b', 50);
    assert_int_equal(joblog_write_best(&l, NULL), ERR_OK);
    assert_int_equal(count_lines(l.best_path), 1);
    assert_non_null(strstr(l.best_path, "/x.best.jsonl"));
    unlink(l.best_path);
    joblog_close(&l);
    unlink(path);
}

static void a_log_that_got_no_line_is_not_left_behind(void **state)
{
    struct joblog l;
    struct stat st;

    (void)state;
    open_log(&l);
    assert_int_equal(stat(path, &st), 0);
    joblog_close(&l);
    assert_int_not_equal(stat(path, &st), 0);
    assert_int_equal(file_append(path, "", 0, false, NULL), ERR_OK); /* but one that was there stays */
    open_log(&l);
    joblog_close(&l);
    assert_int_equal(stat(path, &st), 0);
    unlink(path);
    open_log(&l);
    add(&l, 'a', 100);
    joblog_close(&l);
    assert_int_equal(stat(path, &st), 0);
    unlink(path);
}

static void two_runs_do_not_write_one_log(void **state)
{
    struct joblog first, second;
    struct why why = {""};

    (void)state;
    open_log(&first);
    assert_int_equal(joblog_open(&second, path, NULL, NULL, NULL, &why), ERR_BUSY);
    assert_non_null(strstr(why.text, "another run is writing this log"));
    joblog_close(&second);
    assert_int_equal(add(&first, 'a', 100), ERR_OK); /* writing does not drop the lock */
    assert_int_equal(joblog_open(&second, path, NULL, NULL, NULL, &why), ERR_BUSY);
    joblog_close(&second);
    joblog_close(&first);
    open_log(&second);
    joblog_close(&second);
    joblog_close(NULL);
    unlink(path);
}

static void a_path_that_cannot_be_written_is_told_at_once(void **state)
{
    struct why why = {""};
    struct joblog l;
    char bad[400], long_path[5000];

    (void)state;
    snprintf(bad, sizeof bad, "%s/no/such/x.jsonl", dir);
    assert_int_not_equal(joblog_open(&l, bad, NULL, NULL, NULL, &why), ERR_OK);
    assert_non_null(strstr(why.text, bad));
    joblog_close(&l);
    memset(long_path, 'x', sizeof long_path);
    long_path[sizeof long_path - 1] = '\0';
    assert_int_equal(joblog_open(&l, long_path, NULL, NULL, NULL, &why), ERR_LIMIT);
    joblog_close(&l);
}

/* "-": lines go to standard output, and there is no best log. */
static void standard_output_gets_each_line_once(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        struct joblog l;

        if (!freopen(path, "w", stdout) || joblog_open(&l, "-", NULL, NULL, NULL, NULL))
            _exit(1);
        if (add(&l, 'a', 100) || add(&l, 'a', 100) || add(&l, 'b', 90) || joblog_write_best(&l, NULL))
            _exit(2);
        joblog_close(&l);
        _exit(fflush(stdout) ? 3 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(count_lines(path), 2);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_written_once_also_by_the_next_run),
        cmocka_unit_test(a_line_is_the_same_with_and_without_its_end),
        cmocka_unit_test(thousands_of_lines_are_all_remembered),
        cmocka_unit_test(what_the_file_holds_already_is_given_and_damage_is_named),
        cmocka_unit_test(a_file_that_is_no_log_is_left_as_it_is),
        cmocka_unit_test(the_best_log_is_written_beside_it),
        cmocka_unit_test(a_log_that_got_no_line_is_not_left_behind),
        cmocka_unit_test(two_runs_do_not_write_one_log),
        cmocka_unit_test(a_path_that_cannot_be_written_is_told_at_once),
        cmocka_unit_test(standard_output_gets_each_line_once),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
