/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/clock.h"
#include "core/file.h"
#include "logs/log.h"
#include "tests/cli/shell.h"

#include <dirent.h>

#define WORKLOAD "dense f32 m=8 n=32 k=16"

static char dir[256], log_file[300], best_file[300];

struct counts {
    int n, n_search, n_final, n_naive, n_twice;
    struct sha256 programs[256];
};

static bool count(const struct record *r, const char *line, size_t n, void *arg)
{
    struct counts *c = arg;
    const bool search = strcmp(r->purpose, "search") == 0;

    (void)line;
    (void)n;
    if (search)
        for (int i = 0; i < c->n_search; i++)
            c->n_twice += strcmp(c->programs[i].hex, r->program.hex) == 0;
    if (search)
        c->programs[c->n_search++] = r->program;
    c->n++;
    c->n_final += strcmp(r->purpose, "final") == 0;
    c->n_naive += strstr(r->template_id, "naive") != NULL;
    return c->n < 250;
}

static struct counts read_log(void)
{
    struct counts c = {.n = 0};

    log_scan(log_file, count, NULL, &c, NULL);
    return c;
}

static int run(const char *trials, struct buf *said)
{
    const char *const args[] = {"run", WORKLOAD, "--trials", trials, "--strategy", "random", "--min-repeat-ms",
                                "0.5", "-o",     log_file,   NULL};

    return tune_run(dir, args, said);
}

/* The whole way, once: interrupted, resumed, done; and again with nothing left to do. */
static void a_run_is_interrupted_resumed_and_finished(void **state)
{
    const char *const args[] = {"run", WORKLOAD, "--trials", "200", "--strategy", "random", "--min-repeat-ms",
                                "0.5", "-o",     log_file,   NULL};
    char path[300];
    struct buf said;
    struct counts first, second, third;
    int64_t asked_ns;
    pid_t pid;

    (void)state;
    buf_init(&said, 1 << 20);
    snprintf(path, sizeof path, "%s/interrupted", dir);
    pid = tune_start(path, args);
    for (int i = 0; i < 600 && read_log().n < 2; i++)
        clock_sleep_ms(100);
    asked_ns = clock_now_ns();
    proc_kill(pid, SIGINT, false);
    assert_int_equal(tune_end(pid, 20000), 4);
    print_message("Ctrl-C to the end: %.1f s\n", (double)(clock_now_ns() - asked_ns) / 1e9);
    first = read_log();
    assert_true(first.n >= 2);
    {
        char trials[16];

        snprintf(trials, sizeof trials, "%d", first.n_search - first.n_naive + 2);
        assert_int_equal(run(trials, &said), 0);
        second = read_log();
        assert_int_equal(second.n_search - second.n_naive, first.n_search - first.n_naive + 2);
        assert_int_equal(second.n_twice, 0);
        assert_int_equal(second.n_naive, 1);
        assert_true(second.n_final >= 1);
        assert_int_equal(access(best_file, R_OK), 0);
        assert_non_null(strstr(buf_text(&said), "best:"));
        assert_int_equal(run(trials, &said), 0);
        third = read_log();
        assert_int_equal(third.n, second.n);
    }
    buf_fini(&said);
}

struct places {
    int n[2], n_searched[2], i_naive[2], i_last_search[2];
};

static const char *const two[] = {"dense f32 m=8 n=16 k=16", "dense f32 m=4 n=32 k=8"};

static bool place(const struct record *r, const char *line, size_t n, void *arg)
{
    struct places *p = arg;
    const int w = strcmp(r->workload, two[1]) == 0;

    (void)line;
    (void)n;
    p->n[w]++;
    if (strstr(r->template_id, "naive"))
        p->i_naive[w] = p->n[w];
    else if (strcmp(r->purpose, "search") == 0) {
        p->n_searched[w]++;
        p->i_last_search[w] = p->n[w];
    }
    return true;
}

static bool is_final(const struct record *r, const char *line, size_t n, void *arg)
{
    int *n_final = arg;

    (void)line;
    (void)n;
    *n_final += strcmp(r->purpose, "final") == 0;
    return true;
}

/* Best against runners-up: what it says depends on times, but it must know its own log, and what it holds for the best
 * must not be beaten by its records. */
static void recheck(const char *best, struct buf *said)
{
    char again[300];
    const char *const args[] = {"recheck", best, "-o", again, NULL}, *const compare[] = {"log", "compare", best, again,
                                                                                         NULL};
    int code;

    snprintf(again, sizeof again, "%s/again.jsonl", dir);
    code = tune_run(dir, args, said);
    if (code != 0 && code != 2)
        fail_msg("exit %d, said: %s", code, buf_text(said));
    assert_non_null(strstr(buf_text(said), "0 broken, 0 skipped"));
    assert_non_null(strstr(buf_text(said), code ? "no longer wins" : "2 still the best, 0 beaten"));
    assert_int_equal(tune_run(dir, compare, said), 0);
    if (code == 0 && !strstr(buf_text(said), "2 in both: B faster 0, slower 0"))
        fail_msg("said: %s", buf_text(said));
}

static void set_text(struct record *r, const char *workload)
{
    free(r->workload);
    r->workload = strdup(workload);
    assert_non_null(r->workload);
}

/* Records of a best log that say other times. */
static bool make_slower(const struct record *r, const char *line, size_t n, void *arg)
{
    struct buf *text = arg;
    struct record copy;

    (void)line;
    (void)n;
    assert_int_equal(record_copy(&copy, r), ERR_OK);
    copy.time_ns *= 100;
    assert_int_equal(record_print(&copy, text), ERR_OK);
    record_fini(&copy);
    return true;
}

/* Of the first record: what cannot be made again, each for another reason. */
static bool make_strange(const struct record *r, const char *line, size_t n, void *arg)
{
    struct buf *text = arg;

    (void)line;
    (void)n;
    for (int i = 0; i < 6; i++) {
        struct record copy;
        char workload[64];

        assert_int_equal(record_copy(&copy, r), ERR_OK);
        snprintf(workload, sizeof workload,
                 i == 4   ? "replay space=x"
                 : i == 5 ? "kernel x"
                          : "dense f32 m=%d n=16 k=16",
                 16 + i);
        set_text(&copy, workload);
        if (i == 0)
            copy.fingerprint.hex[0] = copy.fingerprint.hex[0] == '0' ? '1' : '0';
        else if (i == 1)
            strcpy(copy.template_id, "dense/nosuch");
        else if (i == 2)
            copy.template_version += 7;
        else if (i == 3)
            cJSON_AddStringToObject(copy.knobs, "nosuch", "x");
        assert_int_equal(record_print(&copy, text), ERR_OK);
        record_fini(&copy);
    }
    return false;
}

static void recheck_altered(const char *best,
                            bool (*alter)(const struct record *r, const char *line, size_t n, void *arg), int code,
                            const char *words, struct buf *said)
{
    struct buf text;
    char path[300];
    const char *const args[] = {"recheck", path, NULL};
    int got;

    snprintf(path, sizeof path, "%s/altered.jsonl", dir);
    buf_init(&text, 1 << 20);
    assert_int_equal(log_scan(best, alter, NULL, &text, NULL), ERR_OK);
    assert_int_equal(file_replace(path, buf_text(&text), text.len, 0600, NULL), ERR_OK);
    got = tune_run(dir, args, said);
    if (got != code || !strstr(buf_text(said), words))
        fail_msg("exit %d, expected %d and \"%s\"; said: %s", got, code, words, buf_text(said));
    buf_fini(&text);
}

static void recheck_says_what_it_skips(const char *best, struct buf *said)
{
    static const char *const reasons[] = {"measured on another device (key ",
                                          "has no template 'dense/nosuch'",
                                          "the record of version ",
                                          "its knobs are no config of dense/gemm_packed: ",
                                          "of a recorded space",
                                          "a kernel of somebody's own"};

    recheck_altered(best, make_strange, 2, "6 skipped, 0 drifted", said);
    assert_non_null(strstr(buf_text(said), "nothing was measured again"));
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (!strstr(buf_text(said), reasons[i]))
            fail_msg("expected '%s' in: %s", reasons[i], buf_text(said));
}

static void workloads_of_one_job_have_their_own_budgets(void **state)
{
    char log[300], best[300];
    const char *const args[] = {"run",      two[0],       two[1],     "--template", "dense/gemm_packed",
                                "--trials", "5,3",        "--repeat", "2",          "--min-repeat-ms",
                                "1",        "--strategy", "random",   "-o",         log,
                                NULL};
    struct places p = {.n = {0}};
    struct buf said;
    int n_final = 0;

    (void)state;
    buf_init(&said, 1 << 20);
    snprintf(log, sizeof log, "%s/two.jsonl", dir);
    snprintf(best, sizeof best, "%s/two.best.jsonl", dir);
    if (tune_run(dir, args, &said) != 0)
        fail_msg("said: %s", buf_text(&said));
    assert_int_equal(log_scan(log, place, NULL, &p, NULL), ERR_OK);
    assert_int_equal(p.n_searched[0], 5);
    assert_int_equal(p.n_searched[1], 3);
    for (int i = 0; i < 2; i++) /* the naive template holds nothing up */
        assert_true(p.i_naive[i] > p.i_last_search[i]);
    assert_non_null(strstr(buf_text(&said), two[0]));
    assert_non_null(strstr(buf_text(&said), two[1]));
    assert_int_equal(log_scan(best, is_final, NULL, &n_final, NULL), ERR_OK);
    assert_int_equal(n_final, 2);
    recheck(best, &said);
    recheck_altered(best, make_slower, 0, "2 still the best, 0 beaten, 0 broken, 0 skipped, 2 drifted", &said);
    recheck_says_what_it_skips(best, &said);
    buf_fini(&said);
}

static void a_refused_run_leaves_no_log(void **state)
{
    char path[300];
    const char *const args[] = {"run", WORKLOAD, "--device", "opencl:99.99", "-o", path, NULL};
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    snprintf(path, sizeof path, "%s/refused.jsonl", dir);
    assert_int_equal(tune_run(dir, args, &said), 1);
    assert_int_not_equal(access(path, F_OK), 0);
    buf_fini(&said);
}

static size_t n_entries(const char *path)
{
    DIR *folder = opendir(path);
    size_t n = 0;

    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n - 2; /* . and .. */
}

/* Before anything was measured: no file is left, and none is named. */
static void a_run_interrupted_at_once_names_no_log(void **state)
{
    char path[300], said_path[300];
    const char *const args[] = {"run", WORKLOAD, "--trials", "200", "-o", path, NULL};
    struct buf said;
    pid_t pid;

    (void)state;
    buf_init(&said, 1 << 20);
    snprintf(path, sizeof path, "%s/none.jsonl", dir);
    snprintf(said_path, sizeof said_path, "%s/none", dir);
    pid = tune_start(said_path, args);
    for (int i = 0; i < 600 && access(path, F_OK); i++)
        clock_sleep_ms(10);
    proc_kill(pid, SIGINT, false);
    assert_int_equal(tune_end(pid, 20000), 4);
    assert_int_equal(file_read(said_path, &said, NULL), ERR_OK);
    if (access(path, F_OK) == 0)
        print_message("something was measured before the signal came\n");
    else if (strstr(buf_text(&said), "none.jsonl") || strstr(buf_text(&said), "best.jsonl"))
        fail_msg("said: %s", buf_text(&said));
    buf_fini(&said);
}

static void a_second_interrupt_ends_at_once_and_leaves_no_files(void **state)
{
    char path[300], temporary[300], said[300];
    const char *const args[] = {"run", WORKLOAD, "--trials", "200", "-o", path, NULL};
    pid_t pid;

    (void)state;
    snprintf(path, sizeof path, "%s/twice.jsonl", dir);
    snprintf(said, sizeof said, "%s/twice", dir);
    snprintf(temporary, sizeof temporary, "%s/temporary", dir);
    assert_int_equal(dir_make(temporary, 0700, NULL), ERR_OK);
    setenv("TMPDIR", temporary, 1);
    pid = tune_start(said, args);
    unsetenv("TMPDIR");
    for (int i = 0; i < 600 && access(path, F_OK); i++)
        clock_sleep_ms(100);
    for (int i = 0; i < 600 && n_entries(temporary) == 0; i++)
        clock_sleep_ms(10);
    assert_int_equal(n_entries(temporary), 1); /* of the private farm */
    clock_sleep_ms(1000);
    proc_kill(pid, SIGINT, false);
    proc_kill(pid, SIGTERM, false); /* two of one kind at once would be one */
    assert_int_equal(tune_end(pid, 5000), 4);
    assert_int_equal(n_entries(temporary), 0);
}

/* A process of that name whose parent is that one; 0 = there is none. */
static pid_t child_of(pid_t parent, const char *name)
{
    DIR *proc = opendir("/proc");
    const struct dirent *e;
    pid_t found = 0;

    while (proc && !found && (e = readdir(proc))) {
        char path[300], text[64] = "", wanted[64];
        int pid = atoi(e->d_name), of = 0;
        FILE *f;

        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        snprintf(wanted, sizeof wanted, "(%s)", name);
        f = pid > 0 ? fopen(path, "r") : NULL;
        if (f && fscanf(f, "%*d %63s %*c %d", text, &of) == 2 && of == parent && strcmp(text, wanted) == 0)
            found = pid;
        if (f)
            fclose(f);
    }
    if (proc)
        closedir(proc);
    return found;
}

/* Nobody starts it again: waiting for it would be for ever. */
static void a_run_whose_own_tracker_is_killed_ends_with_words_and_its_records(void **state)
{
    char path[300], said_path[300];
    const char *const args[] = {"run", WORKLOAD, "--trials", "200", "-o", path, NULL};
    struct counts c = {.n = 0};
    struct buf said;
    pid_t pid, tracker;

    (void)state;
    buf_init(&said, 1 << 20);
    snprintf(path, sizeof path, "%s/orphan.jsonl", dir);
    snprintf(said_path, sizeof said_path, "%s/orphan", dir);
    pid = tune_start(said_path, args);
    for (int i = 0; i < 600 && c.n == 0; i++) {
        clock_sleep_ms(100);
        log_scan(path, count, NULL, &c, NULL);
    }
    tracker = child_of(pid, "tune-tracker");
    assert_true(tracker > 0);
    proc_kill(tracker, SIGKILL, false);
    assert_int_equal(tune_end(pid, 30000), 3);
    assert_int_equal(file_read(said_path, &said, NULL), ERR_OK);
    if (!strstr(buf_text(&said), "tune-tracker ended by signal 9 (Killed): ") ||
        !strstr(buf_text(&said), "orphan.jsonl"))
        fail_msg("said: %s", buf_text(&said));
    assert_true(c.n > 0);
    buf_fini(&said);
}

/* Every output of a product with ReLU is computed before anything is measured: half a minute here. */
static void computing_expected_values_is_told_and_interrupted(void **state)
{
    static const char words[] = "computing expected values of dense f32 m=4096 n=4096 k=4096 epilogue=relu (137 GFLOP)";
    char said_path[300], path[300];
    const char *const args[] = {"run", "dense f32 m=4096 n=4096 k=4096 epilogue=relu", "-o", path, NULL};
    struct buf said;
    int64_t asked_ns;
    pid_t pid;

    (void)state;
    buf_init(&said, 1 << 20);
    snprintf(path, sizeof path, "%s/long.jsonl", dir);
    snprintf(said_path, sizeof said_path, "%s/long", dir);
    pid = tune_start(said_path, args);
    for (int i = 0; i < 300 && !strstr(buf_text(&said), words); i++) {
        clock_sleep_ms(100);
        buf_clear(&said);
        file_read(said_path, &said, NULL);
    }
    asked_ns = clock_now_ns();
    proc_kill(pid, SIGINT, false);
    assert_int_equal(tune_end(pid, 10000), 4);
    print_message("Ctrl-C to the end: %.1f s\n", (double)(clock_now_ns() - asked_ns) / 1e9);
    if (!strstr(buf_text(&said), words))
        fail_msg("not told: %s", buf_text(&said));
    buf_fini(&said);
}

static void a_dry_run_measures_nothing(void **state)
{
    char path[300];
    const char *const args[] = {"run", WORKLOAD, "--dry-run", "-o", path, NULL};
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    snprintf(path, sizeof path, "%s/dry.jsonl", dir);
    assert_int_equal(tune_run(dir, args, &said), 0);
    assert_non_null(strstr(buf_text(&said), "valid"));
    assert_int_not_equal(access(path, F_OK), 0);
    buf_fini(&said);
}

/* The words name what computes it all the same. */
static void where_a_baseline_alone_computes_a_workload_it_is_named(void **state)
{
    static const char *const args[] = {"run", "conv2d u8 n=1 c=3 h=5 w=5 k=8 r=1 s=1 layout=nhwc", "--dry-run", NULL};
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    assert_int_equal(tune_run(dir, args, &said), 1);
    if (!strstr(buf_text(&said), " but the baseline, --template conv2d/naive; the last of the others: "))
        fail_msg("said: %s", buf_text(&said));
    buf_fini(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_interrupted_resumed_and_finished),
        cmocka_unit_test(workloads_of_one_job_have_their_own_budgets),
        cmocka_unit_test(a_refused_run_leaves_no_log),
        cmocka_unit_test(a_run_interrupted_at_once_names_no_log),
        cmocka_unit_test(a_second_interrupt_ends_at_once_and_leaves_no_files),
        cmocka_unit_test(a_run_whose_own_tracker_is_killed_ends_with_words_and_its_records),
        cmocka_unit_test(computing_expected_values_is_told_and_interrupted),
        cmocka_unit_test(a_dry_run_measures_nothing),
        cmocka_unit_test(where_a_baseline_alone_computes_a_workload_it_is_named),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    snprintf(log_file, sizeof log_file, "%s/x.jsonl", dir);
    snprintf(best_file, sizeof best_file, "%s/x.best.jsonl", dir);
    if (!tune_has_device(dir)) {
        dir_remove(dir);
        puts("skipped: no OpenCL device here");
        return 77;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
