/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/tuner/shell.h"

#include <sys/stat.h>

static char dir[256];

static void every_subcommand_has_help_with_an_example(void **state)
{
    static const char *const overview[] = {"--help", NULL};
    char names[TUNE_MAX_NAMES][32], line[64];
    struct buf said;
    size_t n;

    (void)state;
    buf_init(&said, 1 << 20);
    assert_int_equal(tune_run(dir, overview, &said), 0);
    n = tune_names(buf_text(&said), names);
    assert_in_range(n, 15, TUNE_MAX_NAMES - 1);
    for (size_t i = 0; i < n; i++) {
        const char *const args[] = {names[i], "--help", NULL};

        assert_int_equal(tune_run(dir, args, &said), 0);
        snprintf(line, sizeof line, "\nexample:\n  tune %.40s ", names[i]);
        if (!strstr(buf_text(&said), line))
            fail_msg("tune %s --help: no example of it in: %s", names[i], buf_text(&said));
    }
    buf_fini(&said);
}

static size_t n_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void bad_input_gets_one_clear_line_and_exit_1(void **state)
{
    static const char *const cases[][6] = {
        {"frobnicate", NULL},
        {"run", NULL},
        {"run", "nonsense f32 n=1", NULL},
        {"run", "conv2d f32 n=1 c=0 h=8 w=8 k=8 r=3 s=3", NULL},
        {"run", "conv2d f32 n=1 c=8 h=8 w=8 k=8 r=3", NULL},
        {"run", "conv2d f32 n=1 c=8 h=2 w=2 k=8 r=5 s=5", NULL},
        {"run", "dense f32 m=99999999999999999999 n=1 k=1", NULL},
        {"run", "dense f32 m=1 n=1 k=1 q=1", NULL},
        {"run", "dense f32 m=1 n=1 k=1", "--strategy", "luck", NULL},
        {"run", "dense f32 m=1 n=1 k=1", "--trials", "0", NULL},
        {"run", "dense f32 m=1 n=1 k=1", "--patience", "0", NULL},
        {"run", "dense f32 m=1 n=1 k=1", "--target", "fast", NULL},
        {"run", "dense f32 m=1 n=1 k=1", "--target", "500", NULL},
        {"run", "dense f32 m=1 n=1 k=1", "--min-gain", "0.01", NULL},
        {"submit", "dense f32 m=1 n=1 k=1", "--min-gain", "200%", NULL},
        {"run", "dense f32 m=1 n=1 k=1", "--trails", "5", NULL},
        {"run", "dense f32 m=1 n=1 k=1", "--trials", "5,6", NULL},
        {"run", "dense f32 m=1 n=1 k=1", "dense f32 n=1 k=1 m=1", NULL},
        {"submit", "dense f32 m=1 n=1 k=1", "--device", "opencl", NULL},
        {"run", "--network", "alexnot", NULL},
        {"run", "--network", "vgg-16", "--dtype", "i4", NULL},
        {"run", "--network", "vgg-16", "--layout", "nhwc", NULL},
        {"run", "dense f32 m=1 n=1 k=1", "--dtype", "i8", NULL},
        {"run", "--device", "replay:/nonexistent.json", NULL},
        {"measure", NULL},
        {"attach", NULL},
        {"best", NULL},
        {"best", "/nonexistent.jsonl", NULL},
        {"log", NULL},
        {"keygen", NULL},
        {"ladder", NULL},
        {"ladder", "dense f32 m=1 n=1 k=1", NULL},
        {"ladder", "rnn", "cell=lstm pass=bwd_data i=4 h=4 b=4 t=2", NULL},
        {"replay", NULL},
        {"replay", "--space", "/nonexistent.json", NULL},
        {"replay", "--space", "/nonexistent.json", "--strategy", "luck", NULL},
        {"replay", "--space", "/nonexistent.json", "--model", "luck", NULL},
    };
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int code = tune_run(dir, cases[i], &said);

        if (code != 1 || n_lines(buf_text(&said)) != 1)
            fail_msg("%s %s: exit %d, said: %s", cases[i][0], cases[i][1] ? cases[i][1] : "", code, buf_text(&said));
        assert_int_equal(strncmp(buf_text(&said), "tune: ", 6), 0);
    }
    buf_fini(&said);
}

static void keygen_writes_a_private_file_once(void **state)
{
    char path[300];
    const char *const args[] = {"keygen", path, NULL};
    struct buf said, key;
    struct stat s;

    (void)state;
    buf_init(&said, 1 << 20);
    buf_init(&key, 4096);
    snprintf(path, sizeof path, "%s/farm.key", dir);
    assert_int_equal(tune_run(dir, args, &said), 0);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    assert_int_equal(file_read(path, &key, NULL), ERR_OK);
    assert_int_equal(key.len, 65);
    assert_int_equal(tune_run(dir, args, &said), 1);
    buf_fini(&key);
    buf_fini(&said);
}

/* It gives up after several seconds: started first, looked at last. */
static pid_t waiting;

static int start_waiting(void **state)
{
    static const char *const args[] = {"list", "--tracker", "tcp://127.0.0.1:1", NULL};

    (void)state;
    waiting = tune_start(tune_at(dir, "waited"), args);
    return waiting > 0 ? 0 : -1;
}

static void an_unreachable_tracker_is_exit_3(void **state)
{
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    assert_int_equal(tool_said(waiting, tune_at(dir, "waited"), &said), 3);
    assert_int_equal(n_lines(buf_text(&said)), 1);
    buf_fini(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_subcommand_has_help_with_an_example),
        cmocka_unit_test(bad_input_gets_one_clear_line_and_exit_1), cmocka_unit_test(keygen_writes_a_private_file_once),
        cmocka_unit_test(an_unreachable_tracker_is_exit_3), /* the last one */
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, start_waiting, NULL);
    dir_remove(dir);
    return failed;
}
