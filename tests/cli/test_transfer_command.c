/* SPDX-License-Identifier: MIT */
/* tune model train --source and predict, as people run them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/cli/shell.h"

#include <math.h>

#define HEADER "tile,order,time_ms,status\n"
#define N_TILES 8

static char dir[256];

static const char *at(const char *name)
{
    return tune_at(dir, name);
}

static void put(const char *name, const char *text)
{
    assert_int_equal(file_replace(at(name), text, strlen(text), 0600, NULL), ERR_OK);
}

/* Tiles 1..128 in two orders, fastest at `best` and "row"; the largest tile fails. */
static void put_table(const char *name, const char *header, double best)
{
    static const char *const orders[] = {"row", "column"};
    struct buf text;

    buf_init(&text, 1 << 16);
    buf_puts(&text, header);
    for (int i = 0; i < 2 * N_TILES; i++) {
        const double tile = 1 << i / 2;

        if (i / 2 == N_TILES - 1)
            buf_printf(&text, "%g,%s,,runtime\n", tile, orders[i % 2]);
        else
            buf_printf(&text, "%g,%s,%g,ok\n", tile, orders[i % 2], 1 + fabs(log2(tile / best)) + 0.5 * (i % 2));
    }
    put(name, buf_text(&text));
    buf_fini(&text);
}

static int train(struct buf *said, const char *in, const char *source, const char *other)
{
    const char *const args[] = {"model", "train", "--in", at(in), "--source", at(source), "--out", at("m.json"), NULL};
    const char *const twice[] = {"model",    "train",      "--in",     at(in),
                                 "--source", at(source),   "--source", at(other ? other : ""),
                                 "--out",    at("m.json"), NULL};

    return tune_run(dir, other ? twice : args, said);
}

/* The line of the least score of a table, from 0. */
static int best_line(struct buf *said, const char *in)
{
    const char *const args[] = {"model", "predict", "--model",   at("m.json"), "--in",
                                at(in),  "--out",   at("p.txt"), NULL};
    double least = INFINITY;
    struct buf text;
    int best = -1, i = 0;

    if (tune_run(dir, args, said) != 0)
        fail_msg("%s", buf_text(said));
    buf_init(&text, 1 << 16);
    assert_int_equal(file_read(at("p.txt"), &text, NULL), ERR_OK);
    for (const char *p = buf_text(&text); *p; p = strchr(p, '\n') + 1, i++) {
        const double x = strtod(p, NULL);

        best = x < least ? i : best;
        least = fmin(x, least);
    }
    buf_fini(&text);
    assert_int_equal(i, 2 * N_TILES);
    return best;
}

static void fails_with(struct buf *said, const char *in, const char *source, const char *words)
{
    assert_int_equal(train(said, in, source, NULL), 1);
    if (!strstr(buf_text(said), words) || strchr(buf_text(said), '\n') != buf_text(said) + said->len - 1)
        fail_msg("\"%s\" is no line with \"%s\"", buf_text(said), words);
}

static void a_table_without_rows_is_ranked_as_its_source(void **state)
{
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    put_table("s.csv", HEADER, 8);
    put_table("t.csv", HEADER, 8);
    put("none.csv", HEADER);
    if (train(&said, "none.csv", "s.csv", NULL) != 0)
        fail_msg("%s", buf_text(&said));
    assert_int_equal(best_line(&said, "t.csv"), 6); /* tile 8, row */
    buf_fini(&said);
}

static void measurements_correct_a_source_that_differs(void **state)
{
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    put_table("s.csv", HEADER, 2);
    put_table("t.csv", HEADER, 32);
    if (train(&said, "t.csv", "s.csv", NULL) != 0)
        fail_msg("%s", buf_text(&said));
    assert_int_equal(best_line(&said, "t.csv") / 2, 5);
    buf_fini(&said);
}

static void more_sources_than_one_can_be_given(void **state)
{
    struct buf said, text;

    (void)state;
    buf_init(&said, 1 << 20);
    buf_init(&text, 1 << 20);
    put_table("s.csv", HEADER, 8);
    put_table("r.csv", HEADER, 4);
    put("none.csv", HEADER);
    if (train(&said, "none.csv", "s.csv", "r.csv") != 0)
        fail_msg("%s", buf_text(&said));
    assert_int_equal(file_read(at("m.json"), &text, NULL), ERR_OK);
    assert_non_null(strstr(buf_text(&text), "s.csv"));
    assert_non_null(strstr(buf_text(&text), "r.csv"));
    buf_fini(&text);
    buf_fini(&said);
}

static void bad_sources_get_one_line(void **state)
{
    struct buf said;

    (void)state;
    buf_init(&said, 1 << 20);
    put_table("t.csv", HEADER, 8);
    put("none.csv", HEADER);
    put_table("foreign.csv", "width,sort,time_ms,status\n", 8);
    fails_with(&said, "t.csv", "foreign.csv", "foreign.csv: no knob in common");
    put("failed.csv", HEADER "4,row,,compile\n");
    fails_with(&said, "t.csv", "failed.csv", "failed.csv: no row that ran");
    put("cut.csv", HEADER "4,row,1.5,ok\n8,ro");
    fails_with(&said, "t.csv", "cut.csv", "cut.csv:3");
    put("names.csv", "time_ms,status\n");
    fails_with(&said, "names.csv", "t.csv", "names.csv:1: no column of a knob");
    put("untimed.csv", "tile,order\n");
    fails_with(&said, "untimed.csv", "t.csv", "untimed.csv:1: no column time_ms");
    buf_fini(&said);
}

static void a_cut_model_file_gets_one_line(void **state)
{
    struct buf said, text;

    (void)state;
    buf_init(&said, 1 << 20);
    buf_init(&text, 1 << 20);
    put_table("t.csv", HEADER, 8);
    assert_int_equal(train(&said, "t.csv", "t.csv", NULL), 0);
    assert_int_equal(file_read(at("m.json"), &text, NULL), ERR_OK);
    for (size_t n = 40; n < text.len - 2; n += text.len / 7) {
        const char *const args[] = {"model", "predict",   "--model", at("cut.json"), "--in", at("t.csv"),
                                    "--out", at("p.txt"), NULL};

        assert_int_equal(file_replace(at("cut.json"), buf_text(&text), n, 0600, NULL), ERR_OK);
        assert_int_equal(tune_run(dir, args, &said), 1);
        assert_non_null(strstr(buf_text(&said), "cut.json"));
    }
    buf_fini(&text);
    buf_fini(&said);
}

static int make_dir(void **state)
{
    (void)state;
    return dir_temporary("tune-transfer", dir, sizeof dir, NULL) == ERR_OK ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    dir_remove(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_without_rows_is_ranked_as_its_source),
        cmocka_unit_test(measurements_correct_a_source_that_differs),
        cmocka_unit_test(more_sources_than_one_can_be_given),
        cmocka_unit_test(bad_sources_get_one_line),
        cmocka_unit_test(a_cut_model_file_gets_one_line),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
