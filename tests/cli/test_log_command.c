/* SPDX-License-Identifier: MIT */
/* `tune log` as people type it: what each verb says, its exit codes, and that nothing is half-written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "logs/log.h"
#include "tests/formats/foreign_samples.h"
#include "tests/logs/sample.h"
#include "tests/cli/shell.h"

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
    static const char *const verbs[] = {"merge", "dedup",   "best",    "compare", "stat",
                                        "check", "convert", "compact", "plot"};
    const char *const all[] = {"log", "--help", NULL};
    char usage[64];

    (void)state;
    expect(all, 0, "verbs:");
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const char *const args[] = {"log", verbs[i], "--help", NULL};

        expect(all, 0, verbs[i]);
        expect(args, 0, "example:");
        snprintf(usage, sizeof usage, "usage: tune log %s ", verbs[i]);
        if (!strstr(buf_text(&said), usage))
            fail_msg("expected '%s' in: %s", usage, buf_text(&said));
    }
}

#define NONE "/dev/null/none.jsonl"
#define NEVER "/tmp/never-written.jsonl"

/* Each says in its line what is wrong, and what was expected. */
static const struct {
    const char *args[8], *words;
} refused[] = {
    {{"log"}, "tune log needs a verb; tune log --help lists them"},
    {{"log", "frobnicate"}, "no verb \"frobnicate\" of tune log; tune log --help lists them"},
    {{"log", "merge"}, "no log: expected e.g. a.jsonl b.jsonl"},
    {{"log", "merge", NONE, "-o", NEVER}, NONE ": Not a directory"},
    {{"log", "merge", "/dev/null"}, "where to? expected -o FILE"},
    {{"log", "dedup", "/dev/null", "-o", "/dev/null/none/out.jsonl"}, "/dev/null/none/out.jsonl: Not a directory"},
    {{"log", "best"}, "no log: expected e.g. conv.jsonl"},
    {{"log", "compare"}, "no log: expected e.g. old.jsonl new.jsonl"},
    {{"log", "compare", "/dev/null"}, "one log: expected two, e.g. old.jsonl new.jsonl"},
    {{"log", "compare", "a", "b", "c"}, "stray argument \"c\""},
    {{"log", "compare", "/dev/null", NONE}, "/dev/null: no good record in it"},
    {{"log", "compare", NONE, "/dev/null"}, NONE ": Not a directory"},
    {{"log", "stat"}, "no log: expected e.g. week.jsonl"},
    {{"log", "stat", NONE}, NONE ": Not a directory"},
    {{"log", "check"}, "no log: expected e.g. week.jsonl"},
    {{"log", "plot", "/dev/null"}, "where to? expected -o FILE"},
    {{"log", "plot", NONE, "-o", NEVER}, NONE ": Not a directory"},
    {{"log", "plot", "/dev/null", "-o", NEVER}, "no search of these logs has a trial with a time"},
    {{"log", "compact", "/dev/null", "/dev/null", "-o", NEVER}, "stray argument \"/dev/null\""},
    {{"log", "compact", "/dev/null", "--keep", "1"}, "--keep 1: expected a number from 2 to "},
    {{"log", "convert", "/dev/null"}, "where to? expected -o FILE"},
    {{"log", "convert", "/dev/null", "--to", "punchcards", "-o" NEVER},
     "--to punchcards: expected one of tune, autotvm, clblast, "},
    {{"log", "convert", "/dev/null", "--to", "kernel_tuner", "-o" NEVER}, "format kernel_tuner is read, not written"},
    {{"log", "convert", "/dev/null", "-o", NEVER},
     "/dev/null has no record that could be read: expected a log of tune, or a file of one of "},
    {{"log", "convert", "/dev/zero", "-o", NEVER}, "/dev/zero: a device: expected a file"},
    {{"log", "merge", "/dev/zero", "-o", NEVER}, "/dev/zero: a device: expected a file"},
    {{"log", "check", "/dev/zero"}, "/dev/zero: a device: expected a file"},
    {{"log", "check", "/tmp"}, "/tmp: a directory: expected a file"},
};

static void bad_input_gets_one_clear_line_and_exit_1(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const int code = tune_run(dir, refused[i].args, &said);
        const char *end = strchr(buf_text(&said), '\n');

        if (code != 1 || strncmp(buf_text(&said), "tune: ", 6) != 0 || !end || end[1] ||
            !strstr(buf_text(&said), refused[i].words))
            fail_msg("case %zu: exit %d, expected '%s', said: %s", i, code, refused[i].words, buf_text(&said));
    }
    assert_int_not_equal(access(NEVER, F_OK), 0);
}

static void a_span_is_of_records_that_have_a_time(void **state)
{
    struct record r = sample_record("t");
    struct buf text, whole;
    const char *path;

    (void)state;
    r.ts_ms = 0;
    buf_init(&text, 1 << 20);
    buf_init(&whole, 1 << 20);
    assert_int_equal(record_print(&r, &text), ERR_OK);
    path = make_log("span.jsonl", 5, 3, 1, buf_text(&text));
    expect((const char *const[]){"log", "stat", path, "--json", NULL}, 0,
           "{\"records\":4,\"bad\":0,\"first_ts\":1790000000005,\"last_ts\":1790000000007,");
    buf_puts(&whole, buf_text(&text));
    path = make_log("span.jsonl", 5, 3, 1, "");
    assert_int_equal(file_read(path, &whole, NULL), ERR_OK);
    assert_int_equal(file_replace(path, whole.data, whole.len, 0600, NULL), ERR_OK);
    expect((const char *const[]){"log", "stat", path, "--json", NULL}, 0,
           "{\"records\":4,\"bad\":0,\"first_ts\":1790000000005,\"last_ts\":1790000000007,");
    expect((const char *const[]){"log", "stat", path, NULL}, 0,
           "4 records, 0 lines that are none, from 2026-09-21T14:13:20Z to 2026-09-21T14:13:20Z\n");
    assert_int_equal(file_replace(path, text.data, text.len, 0600, NULL), ERR_OK);
    expect((const char *const[]){"log", "stat", path, NULL}, 0, "1 records, 0 lines that are none\n");
    buf_fini(&whole);
    buf_fini(&text);
    record_fini(&r);
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

static const char *make_garbage(const char *name, const char *text)
{
    const char *path = tune_at(dir, name);

    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), ERR_OK);
    return path;
}

/* A gate in somebody's build must not take nothing for agreement, nor lose a log to a file of another kind. */
static void a_file_without_a_record_is_no_log(void **state)
{
    static const char *const texts[] = {"null\n", "{}\n{\"a\":1}\n", "\x7f\x01 no text\n"};
    const char *good = make_log("good.jsonl", 0, 7, 5, ""), *out = tune_at(dir, "never.jsonl"),
               *empty = make_garbage("empty.jsonl", "");

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *bad = make_garbage("bad.jsonl", texts[i]);
        const char *const right[] = {"log", "compare", good, bad, NULL},
                          *const left[] = {"log", "compare", bad, good, NULL}, *const merge[] = {"log", "merge", bad,
                                                                                                 "-o",  out,     NULL},
                          *const dedup[] = {"log", "dedup", bad, bad, "-o", out, NULL},
                          *const compact[] = {"log", "compact", bad, "-o", out, NULL}, *const both[] = {"log", "merge",
                                                                                                        good,  bad,
                                                                                                        "-o",  out,
                                                                                                        NULL};

        expect(right, 1, "bad.jsonl: no good record in it");
        expect(left, 1, "bad.jsonl: no good record in it");
        expect(merge, 1, "bad.jsonl: no record in it; expected a log");
        expect(dedup, 1, "bad.jsonl: no record in it; expected a log");
        expect(compact, 1, "bad.jsonl: no record in it; expected a log");
        assert_int_not_equal(access(out, F_OK), 0);
        expect(both, 0, "7 of ");
        assert_int_equal(unlink(out), 0);
    }
    {
        const char *const args[] = {"log", "compare", good, empty, NULL};

        expect(args, 1, "empty.jsonl: no good record in it");
    }
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

/* A log of records with ids, times and stamps of their own: id, ms, ts, status. */
struct plan {
    const char *id, *workload;
    double ms;
    int64_t ts_ms;
    enum record_status status;
};

static const char *make_planned(const char *name, const struct plan *plan, size_t n)
{
    const char *path = tune_at(dir, name);
    struct buf text;

    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < n; i++) {
        struct record r = sample_record(plan[i].id);

        free(r.workload);
        r.workload = strdup(plan[i].workload);
        r.time_ns = plan[i].ms * 1e6;
        r.ts_ms = plan[i].ts_ms;
        r.status = plan[i].status;
        assert_int_equal(record_print(&r, &text), ERR_OK);
        record_fini(&r);
    }
    assert_int_equal(file_replace(path, buf_text(&text), text.len, 0600, NULL), ERR_OK);
    buf_fini(&text);
    return path;
}

static void stat_counts_and_keeps_the_least_of_each(void **state)
{
    static const char w[] = "dense f32 m=64 n=2048 k=512";
    static const struct plan plan[] = {{"a", w, 3, 1700000060000, STATUS_OK},
                                       {"b", w, 2, 1700000000000, STATUS_OK},
                                       {"c", w, 4, 1700000120000, STATUS_OK},
                                       {"d", w, 0, 1700000090000, STATUS_WRONG},
                                       {"e", "dense f32 m=1 n=2 k=3", 9, 1700000030000, STATUS_OK}};
    const char *log = make_planned("stat.jsonl", plan, 5);
    const char *const args[] = {"log", "stat", log, NULL}, *const json[] = {"log", "stat", log, "--json", NULL};
    cJSON *o;
    const cJSON *works, *first;

    (void)state;
    expect(args, 0, "5 records, 0 lines that are none, from 2023-11-14T22:13:20Z to 2023-11-14T22:15:20Z\n");
    assert_non_null(
        strstr(buf_text(&said), "           4           3 ok           2 ms  dense f32 m=64 n=2048 k=512\n"));
    assert_non_null(strstr(buf_text(&said), "           1           0 ok                 wrong\n"));
    expect(json, 0, "\"records\":5");
    o = cJSON_Parse(buf_text(&said));
    assert_non_null(o);
    works = cJSON_GetObjectItem(o, "workload");
    assert_int_equal(cJSON_GetArraySize(works), 2);
    first = cJSON_GetArrayItem(works, 0);
    assert_true(cJSON_GetObjectItem(first, "n")->valuedouble == 4);
    assert_true(cJSON_GetObjectItem(first, "n_ok")->valuedouble == 3);
    assert_true(cJSON_GetObjectItem(first, "best_ns")->valuedouble == 2e6);
    assert_true(cJSON_GetObjectItem(o, "first_ts")->valuedouble == 1700000000000.0);
    assert_true(cJSON_GetObjectItem(o, "last_ts")->valuedouble == 1700000120000.0);
    cJSON_Delete(o);
}

/* More rows than the first table of counts has room for. */
static void stat_counts_many_workloads(void **state)
{
    char works[40][40];
    struct plan plan[80];
    cJSON *o;

    (void)state;
    for (int i = 0; i < 80; i++) {
        snprintf(works[i % 40], 40, "dense f32 m=%d n=2 k=3", i % 40 + 1);
        plan[i] = (struct plan){"t", works[i % 40], 1 + i, 1700000000000 + i, STATUS_OK};
    }
    {
        const char *const args[] = {"log", "stat", make_planned("many.jsonl", plan, 80), "--json", NULL};

        expect(args, 0, "\"records\":80");
    }
    o = cJSON_Parse(buf_text(&said));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "workload")), 40);
    for (int i = 0; i < 40; i++) {
        const cJSON *c = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "workload"), i);

        assert_string_equal(cJSON_GetObjectItem(c, "name")->valuestring, works[i]);
        assert_true(cJSON_GetObjectItem(c, "n")->valuedouble == 2);
        assert_true(cJSON_GetObjectItem(c, "best_ns")->valuedouble == (1 + i) * 1e6);
    }
    cJSON_Delete(o);
}

static void check_doubts_what_cannot_be(void **state)
{
    static const char w[] = "dense f32 m=64 n=2048 k=512";
    static const struct plan plan[] = {{"a", w, 1, 1700000000000, STATUS_OK},
                                       {"b", w, 0, 1700000000000, STATUS_COMPILE}, /* a failure has no time */
                                       {"c", w, 0, 1700000000000, STATUS_OK},
                                       {"d", "kernel anything at=all", 1, 1700000000000, STATUS_OK},
                                       {"e", "densest f32", 1, 1700000000000, STATUS_OK},
                                       {"a", w, 1, 1700000000000, STATUS_OK},
                                       {"a", w, 2, 1700000000000, STATUS_OK}};
    const char *const args[] = {"log", "check", make_planned("doubts.jsonl", plan, 7), NULL};

    (void)state;
    expect(args, 0, "7 lines, 0 bad, 4 doubtful\n");
    assert_non_null(strstr(buf_text(&said), "doubts.jsonl:3: doubt: ok without a time\n"));
    assert_non_null(strstr(buf_text(&said), "doubts.jsonl:5: doubt: "));
    assert_non_null(strstr(buf_text(&said), "doubts.jsonl:6: doubt: the same as line 1\n"));
    assert_non_null(strstr(buf_text(&said), "doubts.jsonl:7: doubt: another line of line "));
}

/* More would fill the screen; programs get all. */
static void check_tells_the_first_of_equal_doubts_and_counts_all(void **state)
{
    struct plan plan[50];
    char ids[50][8];
    const char *log;

    (void)state;
    for (int i = 0; i < 50; i++) {
        snprintf(ids[i], sizeof ids[i], "t%d", i);
        plan[i] = (struct plan){ids[i], i < 25 ? "densest f32" : "dense f32 m=64 n=2048 k=512", i < 49 ? 1 : 0,
                                1700000000000, STATUS_OK};
    }
    log = make_planned("many-doubts.jsonl", plan, 50);
    {
        const char *const args[] = {"log", "check", log, NULL}, *const json[] = {"log", "check", log, "--json", NULL};

        expect(args, 0, "50 lines, 0 bad, 26 doubtful\n");
        assert_non_null(strstr(buf_text(&said), ":20: doubt: "));
        assert_null(strstr(buf_text(&said), ":21: doubt: "));
        assert_non_null(strstr(buf_text(&said), ":50: doubt: ok without a time\n"));
        assert_non_null(strstr(buf_text(&said), ": 5 more like these were not told; --json tells all\n"));
        expect(json, 0, "\"line\":25,\"kind\":\"doubt\"");
    }
}

/* Of two lines of a trial, merge keeps both, dedup the later one; both say so. */
static void other_lines_of_a_trial_are_told(void **state)
{
    static const char w[] = "dense f32 m=64 n=2048 k=512";
    static const struct plan plan[] = {{"a", w, 1, 1700000000000, STATUS_OK}, {"a", w, 2, 1700000000000, STATUS_OK}};
    const char *log = make_planned("twice.jsonl", plan, 2), *out = tune_at(dir, "twice.out");
    const char *const merge[] = {"log", "merge", log, "-o", out, NULL}, *const dedup[] = {"log", "dedup", log,
                                                                                          "-o",  out,     NULL};

    (void)state;
    expect(merge, 0, "; both stay\n");
    assert_non_null(strstr(buf_text(&said), "2 of 2 lines of 1 file; 0 stood there before, "));
    assert_int_equal(n_lines_of(out), 2);
    expect(dedup, 0, "; the later one stays\n");
    assert_int_equal(n_lines_of(out), 1);
    assert_non_null(strstr(buf_text(&said), "1 of 2 lines of 1 file"));
}

/* CLBlast's files hold what was timed by kernels like theirs: nothing of this log, then one record of two. */
static size_t n_of(const char *text, const char *words)
{
    size_t n = 0;

    for (; (text = strstr(text, words)) != NULL; text++)
        n++;
    return n;
}

static void a_plot_has_a_dot_a_trial_and_a_panel_a_workload(void **state)
{
    const char *a = make_log("a.jsonl", 0, 10, 5, ""), *b = make_log("b.jsonl", 20, 4, 5, "{\"torn"),
               *svg = tune_at(dir, "p.svg");
    const char *const shown[] = {"log", "plot", a, b, "-o", "-", NULL}, *const made[] = {"log", "plot", a,
                                                                                         "-o",  svg,    NULL};

    (void)state;
    expect(shown, 0, "<svg xmlns=");
    assert_non_null(strstr(buf_text(&said), "b.jsonl:5: the file ends within this line"));
    assert_int_equal(n_of(buf_text(&said), "<circle"), 14);
    assert_int_equal(n_of(buf_text(&said), "class=\"b\""), 1); /* one workload, one key */
    expect(made, 0, "");
    assert_string_equal(buf_text(&said), "");
    buf_clear(&said);
    assert_int_equal(file_read(svg, &said, NULL), ERR_OK);
    assert_int_equal(n_of(buf_text(&said), "<circle"), 10);
    assert_non_null(strstr(buf_text(&said), ">5 ms</text>")); /* the least of 5 + i % 7 */
}

static void what_a_format_cannot_hold_is_counted(void **state)
{
    static const char w[] = "dense f32 m=64 n=2048 k=512";
    static const struct plan plan[] = {{"a", w, 1, 1700000000000, STATUS_OK}, {"b", w, 0, 1700000000000, STATUS_LOST}};
    const char *log = make_planned("some.jsonl", plan, 2), *out = tune_at(dir, "some.json");
    const char *const clblast[] = {"log", "convert", log, "--to", "clblast", "-o", out, NULL}, *const t4[] = {
                                                                                                   "log", "convert",
                                                                                                   log,   "--to",
                                                                                                   "t4",  "-o",
                                                                                                   out,   NULL};

    (void)state;
    expect(clblast, 1, "not one record that format clblast can hold; nothing was written");
    assert_int_not_equal(access(out, F_OK), 0);
    expect(t4, 0, "2 records as t4\n");
    {
        const char *const back[] = {"log", "convert", out, "-o", tune_at(dir, "some.back"), NULL};

        expect(back, 0, "2 records as tune\n");
    }
}

/* ---- for people's eyes and for other programs ---- */

static char *text_of(const char *path)
{
    struct buf text;

    buf_init(&text, 1 << 24);
    assert_int_equal(file_read(path, &text, NULL), ERR_OK);
    return buf_take(&text);
}

static void csv_has_a_row_a_record_and_a_column_a_knob(void **state)
{
    const char *log = make_log("csv.jsonl", 1, 3, 2, ""), *out = tune_at(dir, "out.csv");
    char *text, *row;

    (void)state;
    expect((const char *const[]){"log", "csv", log, "-o", out, NULL}, 0, "out.csv: 3 rows");
    text = text_of(out);
    assert_int_equal(strncmp(text, "id,job,purpose,workload,", 24), 0);
    assert_int_equal(n_lines_of(out), 4);
    row = strstr(text, "\nt2,");
    assert_non_null(row);
    *strchr(row + 1, '\n') = '\0';
    assert_non_null(strstr(row, ",ok,"));
    assert_non_null(strstr(row, ",4000000,")); /* (2 + 2 % 7) ms */
    free(text);
    expect((const char *const[]){"log", "csv", log, NULL}, 1, "where to?");
}

static void csv_quotes_what_has_commas_quotes_and_line_ends(void **state)
{
    struct record r = sample_record("t");
    const char *log = tune_at(dir, "quoted.jsonl"), *out = tune_at(dir, "quoted.csv");
    struct buf line;
    char *text;

    (void)state;
    r.status = STATUS_COMPILE;
    free(r.why);
    r.why = strdup("a \"b\",\nc");
    buf_init(&line, 1 << 20);
    assert_int_equal(record_print(&r, &line), ERR_OK);
    assert_int_equal(file_replace(log, buf_text(&line), line.len, 0600, NULL), ERR_OK);
    expect((const char *const[]){"log", "csv", log, "-o", out, NULL}, 0, "1 rows");
    text = text_of(out);
    assert_non_null(strstr(text, ",compile,\"a \"\"b\"\",\nc\","));
    free(text);
    buf_fini(&line);
    record_fini(&r);
}

/* All of it in one file, and nothing that a record says is markup. */
static void a_report_is_one_file_in_which_words_stay_words(void **state)
{
    struct record r = sample_record("t");
    const char *log = tune_at(dir, "hostile.jsonl"), *out = tune_at(dir, "report.html");
    struct buf line;
    char *text;

    (void)state;
    free(r.why);
    r.why = strdup("</script><script>alert(1)</script><!--");
    r.status = STATUS_CRASH;
    buf_init(&line, 1 << 20);
    assert_int_equal(record_print(&r, &line), ERR_OK);
    assert_int_equal(file_replace(log, buf_text(&line), line.len, 0600, NULL), ERR_OK);
    expect((const char *const[]){"report", log, "-o", out, "--title", "<b>&", NULL}, 0, "report.html: 1 records");
    text = text_of(out);
    assert_non_null(strstr(text, "<title>&lt;b>&amp;</title>"));
    assert_null(strstr(text, "<script>alert"));
    assert_non_null(strstr(text, "\\u003c/script>\\u003cscript>alert(1)"));
    assert_null(strstr(text, "src="));
    assert_null(strstr(text, "href=\"/page"));
    free(text);
    buf_fini(&line);
    record_fini(&r);
    expect((const char *const[]){"report", tune_at(dir, "nothing.jsonl"), "-o", out, NULL}, 1, "nothing.jsonl");
}

static void stat_draws_on_request(void **state)
{
    const char *log = make_log("plot.jsonl", 1, 3, 2, "");

    (void)state;
    expect((const char *const[]){"log", "stat", log, "--plot", NULL}, 0, "trial 1 to 3\n");
    expect((const char *const[]){"log", "stat", log, NULL}, 0, "records");
    assert_null(strstr(buf_text(&said), "trial 1 to"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_a_row_a_record_and_a_column_a_knob),
        cmocka_unit_test(csv_quotes_what_has_commas_quotes_and_line_ends),
        cmocka_unit_test(a_report_is_one_file_in_which_words_stay_words),
        cmocka_unit_test(stat_draws_on_request),
        cmocka_unit_test(every_verb_has_help_with_an_example),
        cmocka_unit_test(bad_input_gets_one_clear_line_and_exit_1),
        cmocka_unit_test(a_span_is_of_records_that_have_a_time),
        cmocka_unit_test(merging_tells_what_it_left_out),
        cmocka_unit_test(check_names_bad_lines_and_its_exit_code_says_so),
        cmocka_unit_test(a_file_without_a_record_is_no_log),
        cmocka_unit_test(compare_calls_ties_ties),
        cmocka_unit_test(stat_and_best_and_compact_agree),
        cmocka_unit_test(other_tuners_files_are_read_by_every_verb),
        cmocka_unit_test(stat_counts_and_keeps_the_least_of_each),
        cmocka_unit_test(stat_counts_many_workloads),
        cmocka_unit_test(check_doubts_what_cannot_be),
        cmocka_unit_test(check_tells_the_first_of_equal_doubts_and_counts_all),
        cmocka_unit_test(other_lines_of_a_trial_are_told),
        cmocka_unit_test(a_plot_has_a_dot_a_trial_and_a_panel_a_workload),
        cmocka_unit_test(what_a_format_cannot_hold_is_counted),
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
