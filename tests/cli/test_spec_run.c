/* SPDX-License-Identifier: MIT */
/* A person's own kernel from a job file to a best log: checked against its reference, searched, timed, resumed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "logs/log.h"
#include "tests/cli/shell.h"
#include "tests/kernels/spec/job.h"

static char dir[256];

struct seen {
    int n, n_search, n_final, n_ok, n_unchecked;
    int by_status[N_STATUSES];
    int n_unexpected;
    bool (*is_wrong)(const cJSON *knobs);
    char why[300];
};

static double knob(const cJSON *knobs, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(knobs, name)->valuedouble;
}

static bool count(const struct record *r, const char *line, size_t n, void *arg)
{
    struct seen *s = arg;

    (void)line;
    (void)n;
    s->n++;
    s->n_search += strcmp(r->purpose, "search") == 0;
    s->n_final += strcmp(r->purpose, "final") == 0;
    s->n_unchecked += strcmp(r->verified, "not checked") == 0;
    s->by_status[r->status]++;
    if (r->status != STATUS_OK)
        snprintf(s->why, sizeof s->why, "%s", r->why ? r->why : "");
    if (s->is_wrong)
        s->n_unexpected += r->status != (s->is_wrong(r->knobs) ? STATUS_WRONG : STATUS_OK);
    return strncmp(r->workload, "kernel ", 7) == 0;
}

static struct seen read_log(const char *name, bool (*is_wrong)(const cJSON *))
{
    struct seen s = {.is_wrong = is_wrong};

    log_scan(tune_at(dir, name), count, NULL, &s, NULL);
    return s;
}

/* The code of `tune run --kernel-spec`; said is a text of the caller. */
static int run(const char *job, const char *trials, const char *log, struct buf *said)
{
    const char *const args[] = {
        "run", "--kernel-spec", job,    "--trials",      trials, "--repeat", "2", "--min-repeat-ms",
        "0.5", "--strategy",    "grid", "--run-timeout", "2",    "-o",       log, NULL};

    return tune_run(dir, args, said);
}

/* The code of a run of the sample job changed by `pairs`, with a log of that name. Initialises `said`. */
static int run_changed(const char *const *pairs, const char *trials, const char *name, struct buf *said)
{
    char path[512], log[600];

    buf_init(said, 1 << 20);
    job_write(dir, pairs, path);
    snprintf(log, sizeof log, "%s/%s", dir, name);
    return run(path, trials, log, said);
}

/* The same where it is a whole run; what its log says. */
static struct seen run_job(const char *const *pairs, const char *trials, const char *name,
                           bool (*is_wrong)(const cJSON *), struct buf *said)
{
    if (run_changed(pairs, trials, name, said) != 0)
        fail_msg("said: %s", buf_text(said));
    return read_log(name, is_wrong);
}

static void an_own_kernel_is_searched_and_resumed(void **state)
{
    static const char *const pairs[] = {"range(0, 4)", "range(1, 3)", "[1, 2, 4]", "[1, 2]", NULL};
    char path[512], log[600];
    struct seen first, second;
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    job_write(dir, pairs, path);
    snprintf(log, sizeof log, "%s/own.jsonl", dir);
    if (run(path, "20", log, &said) != 0)
        fail_msg("said: %s", buf_text(&said));
    first = read_log("own.jsonl", NULL);
    assert_int_equal(first.n_search, 3); /* of 2 x 2 all but GROUP=4 PER=2, which the condition forbids */
    assert_true(first.n_final >= 1);
    assert_int_equal(first.by_status[STATUS_OK], first.n);
    assert_int_equal(first.n_unchecked, 0);
    assert_int_equal(access(tune_at(dir, "own.best.jsonl"), R_OK), 0);
    assert_non_null(strstr(buf_text(&said), "kernel scale problem_size=1000"));
    assert_null(strstr(buf_text(&said), "not checked"));
    assert_int_equal(run(path, "20", log, &said), 0);
    second = read_log("own.jsonl", NULL);
    assert_int_equal(second.n, first.n);
    buf_fini(&said);
}

static void conditions_that_leave_no_config_are_told_at_once(void **state)
{
    static const char *const pairs[] = {"GROUP * PER <= max(GROUP)", "GROUP * PER > 1000", NULL};
    char path[512];
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    job_write(dir, pairs, path);
    for (int dry = 0; dry < 2; dry++) {
        const char *const args[] = {
            "run", "--kernel-spec", path, "--quiet", "-o", tune_at(dir, "none.jsonl"), dry ? "--dry-run" : NULL, NULL};

        if (tune_run(dir, args, &said) != 2 || !strstr(buf_text(&said), "leave none of the 12 configs"))
            fail_msg("said: %s", buf_text(&said));
    }
    buf_fini(&said);
}

static bool has_bug(const cJSON *knobs)
{
    return (knob(knobs, "BUG") == 1 && knob(knobs, "GROUP") == 4) ||
           (knob(knobs, "BUG") == 2 && knob(knobs, "PER") > 1);
}

static void variants_with_a_bug_are_wrong_and_no_others(void **state)
{
    static const char *const pairs[] = {"range(0, 4)", "range(1, 3)",   "[1, 2, 4]", "[1, 2]",
                                        "\"[0]\"",     "\"[0, 1, 2]\"", NULL};
    struct seen s;
    struct buf said;

    (void)state;
    s = run_job(pairs, "20", "bugs.jsonl", has_bug, &said);
    assert_int_equal(s.n_search, 9);
    assert_int_equal(s.by_status[STATUS_WRONG], 2); /* GROUP=4 PER=1 BUG=1, GROUP=2 PER=2 BUG=2 */
    assert_int_equal(s.n_unexpected, 0);
    assert_non_null(strstr(s.why, "pass reference: y["));
    buf_fini(&said);
}

static void a_kernel_that_hangs_times_out(void **state)
{
    static const char *const pairs[] = {
        "[2**i for i in range(0, 4)]", "[2]", "[1, 2, 4]", "[1]", "\"[0]\"", "\"[0, 3]\"", NULL};
    struct seen s;
    struct buf said;

    (void)state;
    s = run_job(pairs, "4", "hang.jsonl", NULL, &said);
    assert_int_equal(s.n_search, 2);
    assert_int_equal(s.by_status[STATUS_TIMEOUT], 1);
    buf_fini(&said);
}

static void without_a_reference_results_are_told_as_not_checked(void **state)
{
    static const char *const pairs[] = {"\"ReferenceKernel\"",
                                        "\"Misc\"",
                                        "[2**i for i in range(0, 4)]",
                                        "[2]",
                                        "[1, 2, 4]",
                                        "[1, 2]",
                                        "\"[0]\"",
                                        "\"[2]\"",
                                        "\"Default\": 0",
                                        "\"Default\": 2",
                                        NULL};
    struct seen s;
    struct buf said;

    (void)state;
    s = run_job(pairs, "4", "unchecked.jsonl", NULL, &said);
    assert_int_equal(s.by_status[STATUS_OK], s.n); /* the bug is there, and nothing tells */
    assert_int_equal(s.n_unchecked, s.n);
    assert_non_null(strstr(buf_text(&said), "results: not checked"));
    buf_fini(&said);
}

/* Nobody says what is right, but what lies outside of the arguments is wrong for everybody. */
static void without_a_reference_a_read_behind_an_argument_is_told(void **state)
{
    static const char *const pairs[] = {"\"ReferenceKernel\"",
                                        "\"Misc\"",
                                        "[2**i for i in range(0, 4)]",
                                        "[2]",
                                        "[1, 2, 4]",
                                        "[1]",
                                        "\"FillValue\": 8.0, \"Size\": \"n\"",
                                        "\"FillValue\": 8.0, \"Size\": \"n / 2\"",
                                        NULL};
    struct seen s;
    struct buf said;

    (void)state;
    assert_int_not_equal(run_changed(pairs, "1", "behind.jsonl", &said), 0);
    s = read_log("behind.jsonl", NULL);
    assert_int_equal(s.by_status[STATUS_CRASH], s.n);
    if (!strstr(s.why, "read behind the end of x"))
        fail_msg("%s", s.why);
    buf_fini(&said);
}

/* Doubles, local memory, an output that is also read, and values expected from a rule of i. */
static void other_arguments_reach_the_kernel(void **state)
{
    static const char kernel[] =
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        "__kernel void scale(__global const double *x, __global double *y, double by, long n, __local double *part)\n"
        "{\n"
        "    const int i = (int)get_global_id(0);\n"
        "    part[get_local_id(0)] = i < n ? x[i] : 0;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (i < n)\n"
        "        y[i] += part[get_local_id(0)] * by * PER;\n"
        "}\n";
    static const char *const pairs[] = {
        "\"ReferenceKernel\"",
        "\"ReferenceArguments\": [{\"TargetName\": \"y\", \"FillType\": \"Generator\", \"DataSource\": \"1 + 0.5 * "
        "i\"}],"
        " \"Misc\"",
        "\"Name\": \"x\", \"Type\": \"float\"",
        "\"Name\": \"x\", \"Type\": \"double\"",
        "\"FillType\": \"Random\",\n       \"FillValue\": 8.0",
        "\"FillType\": \"Generator\", \"DataSource\": \"i\"",
        "\"Type\": \"float\", \"MemoryType\": \"Vector\", \"AccessType\": \"WriteOnly\", \"FillType\": \"Constant\",\n"
        "       \"FillValue\": 0.0",
        "\"Type\": \"double\", \"MemoryType\": \"Vector\", \"AccessType\": \"ReadWrite\", \"FillValue\": 1",
        "\"Type\": \"float\", \"MemoryType\": \"Scalar\", \"FillValue\": 3.0",
        "\"Type\": \"double\", \"MemoryType\": \"Scalar\", \"FillValue\": 0.5",
        "\"Type\": \"int32\", \"MemoryType\": \"Scalar\", \"FillValue\": \"ProblemSize[0]\"}",
        "\"Type\": \"int64\", \"MemoryType\": \"Scalar\", \"FillValue\": \"ProblemSize[0]\"},\n"
        "      {\"Name\": \"part\", \"Type\": \"double\", \"MemoryType\": \"Local\", \"Size\": \"GROUP\"}",
        "ProblemSize[0] / PER",
        "ProblemSize[0]",
        "[2**i for i in range(0, 4)]",
        "[4, 8]",
        "[1, 2, 4]",
        "[1, 2]",
        NULL};
    char path[512], log[600];
    struct seen s;
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    job_write(dir, pairs, path);
    assert_int_equal(file_replace(tune_at(dir, "scale.cl"), kernel, strlen(kernel), 0644, NULL), ERR_OK);
    snprintf(log, sizeof log, "%s/other.jsonl", dir);
    if (run(path, "4", log, &said) != 0)
        fail_msg("said: %s", buf_text(&said));
    s = read_log("other.jsonl", NULL);
    assert_int_equal(s.by_status[STATUS_WRONG], 1); /* GROUP=4 PER=2 */
    assert_true(s.by_status[STATUS_OK] >= 1);
    assert_int_equal(s.n_search, 3);
    buf_fini(&said);
}

static void the_example_runs(void **state)
{
    const char *examples = getenv("TUNE_EXAMPLES_DIR");
    char path[600], log[600];
    struct seen s;
    struct buf said;

    (void)state;
    if (!examples)
        skip();
    buf_init(&said, 1 << 20);
    snprintf(path, sizeof path, "%s/kernel_spec/matmul.json", examples);
    snprintf(log, sizeof log, "%s/example.jsonl", dir);
    if (run(path, "3", log, &said) != 0)
        fail_msg("said: %s", buf_text(&said));
    s = read_log("example.jsonl", NULL);
    assert_int_equal(s.n_search, 3);
    assert_int_equal(s.by_status[STATUS_WRONG], 0);
    assert_int_equal(s.n_unchecked, 0);
    buf_fini(&said);
}

static void bad_jobs_end_in_one_line(void **state)
{
    static const char *const pairs[] = {"\"LocalSize\": {\"X\": \"GROUP\"}", "\"LocalSize\": {\"X\": \"GROUPS\"}",
                                        NULL};
    struct buf said;

    (void)state;
    assert_int_equal(run_changed(pairs, "4", "bad.jsonl", &said), 1);
    assert_non_null(strstr(buf_text(&said), "KernelSpecification.LocalSize.X: 'GROUPS': unknown name 'GROUPS'"));
    assert_ptr_equal(strchr(buf_text(&said), '\n'), said.data + said.len - 1);
    assert_int_not_equal(access(tune_at(dir, "bad.jsonl"), F_OK), 0);
    buf_fini(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_own_kernel_is_searched_and_resumed),
        cmocka_unit_test(conditions_that_leave_no_config_are_told_at_once),
        cmocka_unit_test(variants_with_a_bug_are_wrong_and_no_others),
        cmocka_unit_test(a_kernel_that_hangs_times_out),
        cmocka_unit_test(without_a_reference_results_are_told_as_not_checked),
        cmocka_unit_test(without_a_reference_a_read_behind_an_argument_is_told),
        cmocka_unit_test(other_arguments_reach_the_kernel),
        cmocka_unit_test(the_example_runs),
        cmocka_unit_test(bad_jobs_end_in_one_line),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    if (!tune_has_device(dir)) {
        dir_remove(dir);
        puts("skipped: no OpenCL device here");
        return 77;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
