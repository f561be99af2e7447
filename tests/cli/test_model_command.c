/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/cli/shell.h"

#include <sys/stat.h>

static char dir[256];

static const char *at(const char *name)
{
    return tune_at(dir, name);
}

static void put(const char *name, const char *text)
{
    assert_int_equal(file_replace(at(name), text, strlen(text), 0600, NULL), ERR_OK);
}

/* 120 configs; the columns in an unusual order; every tenth one failed. */
static void put_table(const char *name, bool blind)
{
    static const char *const words[] = {"row", "column"};
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_puts(&text, blind ? "order,y,x\n" : "status,order,y,time_ms,x\n");
    for (int i = 0; i < 120; i++) {
        const int x = 16 << i % 4, y = 1 + i / 4 % 6, w = i % 2;

        if (blind)
            buf_printf(&text, "%s,%d,%d\n", words[w], y, x);
        else if (i % 10 == 9)
            buf_printf(&text, "compile,%s,%d,,%d\n", words[w], y, x);
        else
            buf_printf(&text, "ok,%s,%d,%g,%d\n", words[w], y, 1000.0 / (x * y) + w + i * 1e-3, x);
    }
    put(name, buf_text(&text));
    buf_fini(&text);
}

static size_t n_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static int run(struct buf *said, const char *const *args)
{
    return tune_run(dir, args, said);
}

static void train(struct buf *said, const char *in)
{
    const char *const args[] = {"model", "train", "--in", at(in), "--out", at("m.json"), NULL};

    if (run(said, args) != 0)
        fail_msg("%s", buf_text(said));
}

static void a_model_scores_a_table_without_times(void **state)
{
    struct buf said, scores;

    (void)state;
    buf_init(&said, 1 << 20);
    buf_init(&scores, 1 << 20);
    put_table("train.csv", false);
    put_table("blind.csv", true);
    train(&said, "train.csv");
    assert_string_equal(buf_text(&said), "");
    assert_int_equal(run(&said, (const char *const[]){"model", "predict", "--model", at("m.json"), "--in",
                                                      at("blind.csv"), "--out", at("p.txt"), NULL}),
                     0);
    assert_int_equal(file_read(at("p.txt"), &scores, NULL), ERR_OK);
    assert_int_equal(n_lines(buf_text(&scores)), 120);
    { /* x=16 y=1 is the slowest of its words, x=128 y=6 the fastest */
        double first = strtod(buf_text(&scores), NULL), v[120];
        char *p = scores.data;

        for (size_t i = 0; i < 120; i++)
            v[i] = strtod(p, &p);
        assert_true(v[22] < first);
    }
    buf_fini(&said);
    buf_fini(&scores);
}

static void training_twice_writes_the_same_file(void **state)
{
    struct buf said, a, b;

    (void)state;
    buf_init(&said, 1 << 20);
    buf_init(&a, 64 << 20);
    buf_init(&b, 64 << 20);
    put_table("train.csv", false);
    train(&said, "train.csv");
    file_read(at("m.json"), &a, NULL);
    train(&said, "train.csv");
    file_read(at("m.json"), &b, NULL);
    assert_string_equal(buf_text(&a), buf_text(&b));
    buf_fini(&said);
    buf_fini(&a);
    buf_fini(&b);
}

static void eval_prints_each_size_and_the_mean(void **state)
{
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    put_table("train.csv", false);
    assert_int_equal(run(&said, (const char *const[]){"model", "eval", at("train.csv"), "--sizes", "16,40,100000",
                                                      "--seeds", "2", NULL}),
                     0);
    assert_int_equal(n_lines(buf_text(&said)), 1 + 2 + 2);
    assert_non_null(strstr(buf_text(&said), "mean of 1"));
    buf_fini(&said);
}

static void bad_tables_get_one_clear_line(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "column names"},
        {"x,time_ms,status\n", "no rows"},
        {"x,status\n1,ok\n2,ok\n", "no column time_ms"},
        {"x,time_ms\n1,2\n2,3\n", "no column status"},
        {"time_ms,status\n1,ok\n2,ok\n", "no column of a knob"},
        {"x,x,time_ms,status\n1,1,1,ok\n2,2,2,ok\n", "two columns are called"},
        {"x,time_ms,status\n1,1,ok\n2,2\n", ":3:"},
        {"x,time_ms,status\n1,1,ok\nnan,2,ok\n", ":3: column x"},
        {"x,time_ms,status\n1,1,ok\n,2,ok\n", ":3: column x"},
        {"x,time_ms,status\n1,1,ok\nred,2,ok\n", ":3: column x"},
        {"x,time_ms,status\nred,1,ok\n2,2,ok\n", ":3: column x"},
        {"x,time_ms,status\n1,1,ok\n2,nan,ok\n", ":3: column time_ms"},
        {"x,time_ms,status\n1,1,ok\n2,,ok\n", ":3: column time_ms"},
        {"x,time_ms,status\n1,1,ok\n2,-3,ok\n", ":3: column time_ms"},
        {"x,time_ms,status\n1,1,ok\n2,0,ok\n", ":3: column time_ms"},
        {"x,time_ms,status\n1,1,ok\n2,inf,ok\n", ":3: column time_ms"},
        {"x,time_ms,status\n1,1,ok\n2,1e-320,ok\n", ":3: column time_ms"},
        {"x,time_ms,status\n1,1,ok\n2,1e308,ok\n", ":3: column time_ms"},
        {"\"x\",time_ms,\"status\n1,1,ok\n2,2,ok\n", ":1: a quotation mark"},
        {"x;time_ms;status\n1;1;ok\n2;2;ok\n", "x;time_ms;status is the first of 1"},
        {",x,time_ms,status\n0,1,1,ok\n1,2,2,ok\n", ":1: column 1 has no name"},
        {"x,time_ms,status\n1,1,ok\n", "1 of 1 rows"},
        {"x,time_ms,status\n1,,compile\n2,,wrong\n", "0 of 2 rows"},
        {"x,time_ms,status\n1,4,ok\n2,4,ok\n", "all times are 4"},
        {"x,time_ms,status\n7,4,ok\n7,5,ok\n", "no column takes two values"},
    };
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code;

        put("bad.csv", cases[i].text);
        code = run(&said, (const char *const[]){"model", "train", "--in", at("bad.csv"), "--out", at("no.json"), NULL});
        if (code != 1 || n_lines(buf_text(&said)) != 1 || !strstr(buf_text(&said), cases[i].words) ||
            !strstr(buf_text(&said), "bad.csv"))
            fail_msg("case %zu: exit %d, said: %s", i, code, buf_text(&said));
        assert_int_not_equal(access(at("no.json"), F_OK), 0);
    }
    buf_fini(&said);
}

static void bad_models_get_one_clear_line(void **state)
{
    struct buf said, model;

    (void)state;
    buf_init(&said, 1 << 20);
    buf_init(&model, 64 << 20);
    put_table("train.csv", false);
    put_table("blind.csv", true);
    put("other.csv", "order,z\nrow,1\n");
    train(&said, "train.csv");
    file_read(at("m.json"), &model, NULL);
    for (size_t i = 0; i < 5; i++) {
        static const char *const words[] = {"cut.json", "cut.json", "no cost model", "version 99", "no column y"};
        const char *const in = i == 4 ? "other.csv" : "blind.csv";
        int code;

        if (i < 2)
            model.data[i == 0 ? model.len / 2 : 0] = '\0';
        put("cut.json", i == 2   ? "{\"format\":\"song\"}"
                        : i == 3 ? "{\"format\":\"tune cost model\",\"version\":99}"
                                 : buf_text(&model));
        code = run(&said, (const char *const[]){"model", "predict", "--model", i == 4 ? at("m.json") : at("cut.json"),
                                                "--in", at(in), "--out", at("p2.txt"), NULL});
        if (code != 1 || n_lines(buf_text(&said)) != 1 || !strstr(buf_text(&said), words[i]))
            fail_msg("case %zu: exit %d, said: %s", i, code, buf_text(&said));
    }
    buf_fini(&said);
    buf_fini(&model);
}

static void a_model_keeps_its_space(void **state)
{
    static const char *const other = "{\"params\":[{\"name\":\"x\",\"values\":[16,32]}],\"restrictions\":[]}";
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    put_table("train.csv", false);
    put_table("blind.csv", true);
    put("s.json", "{\"params\":[{\"name\":\"x\",\"values\":[16,32,64,128]},{\"name\":\"y\",\"values\":[1,2,3,4,5,6]}],"
                  "\"restrictions\":[\"x * y <= 1024\"],\"launch\":{\"local\":[\"x\",\"y\"]}}");
    put("other.json", other);
    assert_int_equal(run(&said, (const char *const[]){"model", "train", "--in", at("train.csv"), "--space",
                                                      at("s.json"), "--out", at("ms.json"), NULL}),
                     0);
    for (size_t i = 0; i < 3; i++) {
        const char *const space = i == 0 ? "s.json" : i == 1 ? "other.json" : "none.json";
        const int code =
            run(&said, (const char *const[]){"model", "predict", "--model", at("ms.json"), "--in", at("blind.csv"),
                                             "--space", at(space), "--out", at("p.txt"), NULL});

        if (code != (i > 0) || n_lines(buf_text(&said)) != (i > 0))
            fail_msg("%s: exit %d, said: %s", space, code, buf_text(&said));
    }
    assert_int_equal(run(&said, (const char *const[]){"model", "predict", "--model", at("ms.json"), "--in",
                                                      at("blind.csv"), "--out", at("p.txt"), NULL}),
                     0);
    buf_fini(&said);
}

/* Registers alone tell the time; they are known of what was built. */
static void put_late_table(const char *name, bool built)
{
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_puts(&text, built ? "x,regs,time_ms,status\n" : "x\n");
    for (int i = 0; i < 80; i++) {
        if (built)
            buf_printf(&text, "%d,%d,%d,ok\n", i % 8, 16 * (1 + i * 7 % 10), 10 * (1 + i * 7 % 10));
        else
            buf_printf(&text, "%d\n", i % 8);
    }
    put(name, buf_text(&text));
    buf_fini(&text);
}

static void read_scores(const char *name, double *scores, size_t n)
{
    struct buf text;
    char *next;

    buf_init(&text, 1 << 20);
    assert_int_equal(file_read(at(name), &text, NULL), ERR_OK);
    assert_int_equal(n_lines(buf_text(&text)), n);
    next = text.data;
    for (size_t i = 0; i < n; i++)
        scores[i] = strtod(next, &next);
    buf_fini(&text);
}

static void late_columns_rank_what_was_built(void **state)
{
    double built[80], unbuilt[80];
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    put_late_table("built.csv", true);
    put_late_table("unbuilt.csv", false);
    assert_int_equal(run(&said, (const char *const[]){"model", "train", "--in", at("built.csv"), "--late", "regs",
                                                      "--out", at("late.json"), NULL}),
                     0);
    assert_int_equal(run(&said, (const char *const[]){"model", "predict", "--model", at("late.json"), "--in",
                                                      at("built.csv"), "--out", at("built.txt"), NULL}),
                     0);
    assert_int_equal(run(&said, (const char *const[]){"model", "predict", "--model", at("late.json"), "--in",
                                                      at("unbuilt.csv"), "--out", at("unbuilt.txt"), NULL}),
                     0);
    read_scores("built.txt", built, 80);
    read_scores("unbuilt.txt", unbuilt, 80);
    assert_true(built[0] < built[7]);      /* 16 registers before 160, */
    assert_true(unbuilt[0] == unbuilt[8]); /* but for the same x all the same without them */
    assert_int_equal(run(&said, (const char *const[]){"model", "train", "--in", at("built.csv"), "--late", "spills",
                                                      "--out", at("late.json"), NULL}),
                     1);
    assert_non_null(strstr(buf_text(&said), "one of the late columns spills is not there"));
    buf_fini(&said);
}

/* A table of n rows with a late column, to whoever reads the pipe next; another pipe stands in its place then. */
static void feed(const char *pipe, int n)
{
    const int fd = open(pipe, O_WRONLY | O_CLOEXEC); /* waits for the reader */
    struct buf text;

    buf_init(&text, 1 << 20);
    buf_puts(&text, "x,regs,time_ms,status\n");
    for (int i = 0; i < n; i++)
        buf_printf(&text, "%d,%d,%d,ok\n", i, 10 + i % 3, 1 + i);
    assert_int_equal(write(fd, text.data, text.len), (ssize_t)text.len);
    unlink(pipe);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    close(fd);
    buf_fini(&text);
}

/* It is read once for its knobs, once for its late columns. */
static void a_table_that_changes_between_two_looks_is_refused(void **state)
{
    const char *pipe = at("changing.csv"), *said_at = at("late"), *out = at("no.json");
    const char *const args[] = {"model", "train", "--in", pipe, "--late", "regs", "--out", out, NULL};
    struct buf said;
    pid_t pid;

    (void)state;
    buf_init(&said, 1 << 20);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    pid = tune_start(said_at, args);
    feed(pipe, 40);
    feed(pipe, 30);
    assert_int_equal(tool_said(pid, said_at, &said), 1);
    assert_non_null(strstr(buf_text(&said), "changing.csv changed while it was read: 40 rows, then 30\n"));
    assert_int_not_equal(access(out, F_OK), 0);
    buf_fini(&said);
}

static void bad_arguments_get_one_clear_line(void **state)
{
    static const char *const cases[][8] = {
        {"model", NULL},
        {"model", "guess", NULL},
        {"model", "train", NULL},
        {"model", "train", "--in", "/dev/null/none.csv", "--out", "/tmp/x.json", NULL},
        {"model", "train", "stray", "--in", "/dev/null/none.csv", NULL},
        {"model", "predict", "--model", "/dev/null/none.json", "--in", "a", "--out", NULL},
        {"model", "predict", "--in", "a.csv", NULL},
        {"model", "eval", NULL},
        {"model", "eval", "/dev/null/none.csv", NULL},
        {"model", "eval", "a.csv", "--sizes", "64,", NULL},
        {"model", "eval", "a.csv", "--sizes", "-4", NULL},
    };
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int code = run(&said, cases[i]);
        const char *last = strrchr(buf_text(&said), '\n');

        if (code != 1 || !last || last[1] || strncmp(buf_text(&said), "tune: ", 6) != 0)
            fail_msg("case %zu: exit %d, said: %s", i, code, buf_text(&said));
    }
    buf_fini(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_scores_a_table_without_times),
        cmocka_unit_test(training_twice_writes_the_same_file),
        cmocka_unit_test(eval_prints_each_size_and_the_mean),
        cmocka_unit_test(bad_tables_get_one_clear_line),
        cmocka_unit_test(bad_models_get_one_clear_line),
        cmocka_unit_test(a_model_keeps_its_space),
        cmocka_unit_test(late_columns_rank_what_was_built),
        cmocka_unit_test(a_table_that_changes_between_two_looks_is_refused),
        cmocka_unit_test(bad_arguments_get_one_clear_line),
    };
    int failed;

    if (dir_temporary("tune-model-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
