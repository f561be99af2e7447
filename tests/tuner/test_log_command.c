/* SPDX-License-Identifier: MIT */
/* `tune log` as people type it: what each verb says, its exit codes, and that nothing is half-written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "logs/log.h"
#include "tests/logs/foreign_samples.h"
#include "tests/logs/sample.h"
#include "tests/tuner/shell.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>

static char dir[256];
static struct buf said;

/* A log of n trials from `first` on, their times and a torn line behind. */
static const char *make_log(const char *name, int first, int n, double ms, const char *behind)
{
    const char *path = tune_at(dir, name);
    struct buf text;

    buf_init(&text, 1 << 24);
    for (int i = first; i < first + n; i++) {
        struct record r = sample_record("t");

        snprintf(r.id, sizeof r.id, "t%d", i);
        r.ts_ms = 1790000000000 + i;
        r.time_ns = (ms + i % 7) * 1e6;
        r.lnratio = NAN; /* times decide */
        r.program = sha256_of(r.id, strlen(r.id));
        assert_int_equal(record_print(&r, &text), ERR_OK);
        record_fini(&r);
    }
    buf_puts(&text, behind);
    assert_int_equal(file_replace(path, buf_text(&text), text.len, 0600, NULL), ERR_OK);
    buf_fini(&text);
    return path;
}

static void expect(const char *const *args, int code, const char *words)
{
    const int got = tune_run(dir, args, &said);

    if (got != code || (words && !strstr(buf_text(&said), words)))
        fail_msg("%s %s: exit %d, expected %d and \"%s\"; said: %s", args[0], args[1], got, code, words ? words : "",
                 buf_text(&said));
}

static size_t n_lines_of(const char *path)
{
    struct buf text;
    size_t n = 0;

    buf_init(&text, 1 << 24);
    assert_int_equal(file_read(path, &text, NULL), ERR_OK);
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    buf_fini(&text);
    return n;
}

static void every_verb_has_help_with_an_example(void **state)
{
    static const char *const verbs[] = {"merge", "dedup", "best", "compare", "stat", "check", "convert", "compact"};
    const char *const all[] = {"log", "--help", NULL};

    (void)state;
    expect(all, 0, "verbs:");
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const char *const args[] = {"log", verbs[i], "--help", NULL};

        expect(all, 0, verbs[i]);
        expect(args, 0, "example:");
        assert_non_null(strstr(buf_text(&said), verbs[i]));
    }
}

static void bad_input_gets_one_clear_line_and_exit_1(void **state)
{
    static const char *const cases[][7] = {
        {"log", NULL},
        {"log", "frobnicate", NULL},
        {"log", "merge", NULL},
        {"log", "merge", "/nonexistent.jsonl", "-o", "/tmp/never-written.jsonl", NULL},
        {"log", "merge", "/dev/null", NULL},
        {"log", "dedup", "/dev/null", "-o", "/nonexistent/out.jsonl", NULL},
        {"log", "best", NULL},
        {"log", "compare", "/dev/null", NULL},
        {"log", "compare", "/dev/null", "/nonexistent.jsonl", NULL},
        {"log", "stat", "/nonexistent.jsonl", NULL},
        {"log", "check", NULL},
        {"log", "compact", "/dev/null", "/dev/null", "-o", "/tmp/never-written.jsonl", NULL},
        {"log", "compact", "/dev/null", "--keep", "1", NULL},
        {"log", "convert", "/dev/null", NULL},
        {"log", "convert", "/dev/null", "--to", "punchcards", "-o/tmp/never-written.jsonl", NULL},
        {"log", "convert", "/dev/null", "--to", "kernel_tuner", "-o/tmp/never-written.jsonl", NULL},
        {"log", "convert", "/dev/null", "-o", "/tmp/never-written.jsonl", NULL},
        {"log", "convert", "/dev/zero", "-o", "/tmp/never-written.jsonl", NULL},
        {"log", "merge", "/dev/zero", "-o", "/tmp/never-written.jsonl", NULL},
        {"log", "check", "/dev/zero", NULL},
        {"log", "check", "/tmp", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int code = tune_run(dir, cases[i], &said);
        const char *end = strchr(buf_text(&said), '\n');

        if (code != 1 || strncmp(buf_text(&said), "tune: ", 6) != 0 || !end || end[1])
            fail_msg("case %zu, %s: exit %d, said: %s", i, cases[i][1] ? cases[i][1] : "", code, buf_text(&said));
    }
    assert_int_not_equal(access("/tmp/never-written.jsonl", F_OK), 0);
}

static void merging_tells_what_it_left_out(void **state)
{
    const char *a = make_log("a.jsonl", 0, 10, 5, ""), *b = make_log("b.jsonl", 5, 10, 5, "{\"torn"),
               *c = tune_at(dir, "c.jsonl");
    const char *const args[] = {"log", "merge", a, b, "-o", c, NULL}, *const strict[] = {"log",      "merge", a,
                                                                                         b,          "-o",    c,
                                                                                         "--strict", NULL},
                      *const out[] = {"log", "merge", a, b, "-o", "-", NULL};

    (void)state;
    expect(strict, 1, "b.jsonl:11: the file ends within this line");
    assert_int_not_equal(access(c, F_OK), 0);
    expect(args, 0, "15 of 21 lines of 2 files; 5 stood there before, 1 left out as damaged");
    assert_non_null(strstr(buf_text(&said), "b.jsonl:11: the file ends within this line"));
    assert_int_equal(n_lines_of(c), 15);
    expect(out, 0, "\"crc32c\":");
}

static void check_names_bad_lines_and_its_exit_code_says_so(void **state)
{
    const char *a = make_log("a.jsonl", 0, 3, 5, ""), *b = make_log("b.jsonl", 0, 3, 5, "hello\n");
    const char *const good[] = {"log", "check", a, NULL}, *const bad[] = {"log", "check", a, b, NULL},
                      *const json[] = {"log", "check", b, "--json", NULL};

    (void)state;
    expect(good, 0, "3 lines, 0 bad, 0 doubtful");
    expect(bad, 1, "b.jsonl:4: bad: not a record");
    expect(json, 1, "\"line\":4,\"kind\":\"bad\"");
}

static void compare_calls_ties_ties(void **state)
{
    const char *a = make_log("a.jsonl", 0, 7, 5, ""), *b = make_log("b.jsonl", 7, 7, 5.01, ""),
               *c = make_log("c.jsonl", 14, 7, 4, ""), *d = make_log("d.jsonl", 0, 7, 6.5, "");
    const char *const tie[] = {"log", "compare", a, b, NULL}, *const faster[] = {"log", "compare", a, c, NULL},
                      *const json[] = {"log", "compare", c, a, "--json", NULL},
                      *const same[] = {"log", "compare", a, d, NULL};

    (void)state;
    expect(tie, 0, "B faster 0, slower 0, ties 1, same kernel 0");
    expect(faster, 0, "B faster 1, slower 0, ties 0, same kernel 0, geometric mean A/B 1.250 (1.05"); /* exp(-.17) */
    expect(json, 0, "\"verdict\":\"B slower\"");
    assert_non_null(strstr(buf_text(&said), "\"by\":\"time\""));
    assert_non_null(strstr(buf_text(&said), "\"low\":0.6"));
    assert_non_null(strstr(buf_text(&said), "\"high\":0.9"));
    expect(same, 0, "same kernel local-cpu"); /* 30 % slower: the machine, not the kernel */
    expect(same, 0, "B faster 0, slower 0, ties 0, same kernel 1, geometric mean A/B 1.000 (1.000 to 1.000)");
}

static void stat_and_best_and_compact_agree(void **state)
{
    const char *a = make_log("a.jsonl", 0, 100, 5, ""), *d = tune_at(dir, "d.jsonl");
    const char *const stat_args[] = {"log", "stat", a, NULL}, *const best[] = {"log", "best", a, NULL},
                      *const compact[] = {"log", "compact", a, "--keep", "10", "-o", d, NULL},
                      *const best_d[] = {"best", d, NULL};
    char first[4096];

    (void)state;
    expect(stat_args, 0, "100 records, 0 lines that are none");
    expect(best, 0, "5 ms");
    snprintf(first, sizeof first, "%s", buf_text(&said));
    expect(compact, 0, "of 100 lines");
    assert_true(n_lines_of(d) >= 10 && n_lines_of(d) < 40);
    expect(best_d, 0, first);
}

static void other_tuners_files_are_read_by_every_verb(void **state)
{
    const char *k = tune_at(dir, "cache.json"), *o = tune_at(dir, "cache.jsonl");
    const char *const list[] = {"log", "convert", "--list", NULL}, *const convert[] = {"log", "convert", k,
                                                                                       "-o",  o,         NULL},
                      *const best[] = {"best", k, NULL}, *const merge[] = {"log", "merge", k, o, "-o", o, NULL},
                      *const check[] = {"log", "check", k, NULL}, *const deny[] = {"log", "convert", k, "--from",
                                                                                   "ktt", "-o",      o, NULL};

    (void)state;
    assert_int_equal(file_replace(k, KT_OPEN, strlen(KT_OPEN), 0600, NULL), ERR_OK);
    expect(list, 0, "kernel_tuner");
    expect(convert, 0, "4 records as tune");
    expect(best, 0, "kernel vector_add problem_size=4096,64");
    expect(merge, 0, "4 of 8 lines of 2 files; 4 stood there before");
    expect(check, 0, "4 lines, 0 bad");
    expect(deny, 1, "nothing was written");
}

static bool has_side_file(void)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    bool found = false;

    while ((entry = readdir(d)))
        found |= strncmp(entry->d_name, "killed.jsonl.", 13) == 0;
    closedir(d);
    return found;
}

/* The second input is a pipe that nobody ends: the merge has written of the first, and waits. */
static void a_merge_that_is_killed_leaves_the_old_file(void **state)
{
    const char *a = make_log("a.jsonl", 0, 1000, 5, ""), *fifo = tune_at(dir, "fifo"),
               *out = tune_at(dir, "killed.jsonl");
    const char *const args[] = {"log", "merge", a, fifo, "-o", out, NULL};
    struct buf text;
    pid_t pid;
    int fd;

    (void)state;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(file_replace(out, "old\n", 4, 0600, NULL), ERR_OK);
    pid = tune_start(tune_at(dir, "said"), args);
    assert_true(pid > 0);
    fd = open(fifo, O_WRONLY | O_CLOEXEC); /* returns when the merge has come to the pipe */
    assert_true(fd >= 0);
    assert_true(has_side_file());
    proc_kill(pid, SIGKILL, false);
    assert_int_equal(tune_end(pid, 10000), -1);
    close(fd);
    buf_init(&text, 100);
    assert_int_equal(file_read(out, &text, NULL), ERR_OK);
    assert_string_equal(buf_text(&text), "old\n");
    buf_fini(&text);
}

static void a_log_that_a_run_holds_is_not_replaced(void **state)
{
    const char *a = make_log("a.jsonl", 0, 3, 5, ""), *held = make_log("held.jsonl", 0, 3, 5, "");
    const char *const args[] = {"log", "dedup", a, held, "-o", held, NULL};
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = open(held, O_RDWR | O_CLOEXEC);

    (void)state;
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
    expect(args, 1, "a run is writing this log");
    close(fd);
    expect(args, 0, "3 of 6 lines");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_has_help_with_an_example),
        cmocka_unit_test(bad_input_gets_one_clear_line_and_exit_1),
        cmocka_unit_test(merging_tells_what_it_left_out),
        cmocka_unit_test(check_names_bad_lines_and_its_exit_code_says_so),
        cmocka_unit_test(compare_calls_ties_ties),
        cmocka_unit_test(stat_and_best_and_compact_agree),
        cmocka_unit_test(other_tuners_files_are_read_by_every_verb),
        cmocka_unit_test(a_merge_that_is_killed_leaves_the_old_file),
        cmocka_unit_test(a_log_that_a_run_holds_is_not_replaced),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    buf_init(&said, 1 << 22);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&said);
    dir_remove(dir);
    return failed;
}
