/* SPDX-License-Identifier: MIT */
/* Records of a log become a table, with what the kernels take where it was told. */
#include "core/file.h"
#include "core/hash.h"
#include "tests/logs/sample.h"
#include "search/learn/records.h"
#include "cli/logtable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[256], path[300];

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(dir_temporary("tune-logtable", dir, sizeof dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/log.jsonl", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    dir_remove(dir);
    return 0;
}

/* Appends a record of that program; time 0 = it failed, resources NULL = not told. */
static void add(int program, const char *knobs, double time_ns, const char *resources)
{
    struct record r = sample_record("t1");

    cJSON_Delete(r.knobs);
    r.knobs = cJSON_Parse(knobs);
    r.resources = resources ? cJSON_Parse(resources) : NULL;
    r.program = sha256_of(&program, sizeof program);
    r.time_ns = time_ns;
    if (time_ns <= 0)
        r.status = STATUS_COMPILE;
    assert_int_equal(log_append(path, &r, NULL), ERR_OK);
    record_fini(&r);
}

static enum err table_of(struct buf *out, struct why *why)
{
    size_t n;

    buf_init(out, 1 << 20);
    return logtable_write(path, NULL, NULL, NULL, out, &n, why);
}

static void a_row_a_program_with_the_largest_figures_of_its_kernels(void **state)
{
    struct buf out;
    struct why why = {""};

    (void)state;
    unlink(path);
    add(1, "{\"tx\":4,\"order\":\"hwc\"}", 2e6, "[{\"registers\":40},{\"registers\":64,\"spill_bytes\":8}]");
    add(2, "{\"order\":\"chw\",\"tx\":8}", 0, NULL);
    add(1, "{\"tx\":4,\"order\":\"hwc\"}", 1e6, "[{\"registers\":40},{\"registers\":64,\"spill_bytes\":8}]");
    add(1, "{\"tx\":4,\"order\":\"hwc\"}", 0, NULL); /* a failure takes no time away */
    if (table_of(&out, &why))
        fail_msg("%s", why.text);
    assert_string_equal(buf_text(&out), "tx,order,registers,spill_bytes,time_ms,status\n"
                                        "4,hwc,64,8,1,ok\n"
                                        "8,chw,,,,compile\n");
    buf_fini(&out);
}

static void the_table_is_one_that_models_read(void **state)
{
    char csv[300], knobs[64], told[64];
    struct records r;
    struct columns c;
    struct buf out;
    struct why why = {""};
    float *late = NULL;
    size_t n = 0;

    (void)state;
    unlink(path);
    for (int i = 1; i <= 20; i++) {
        snprintf(knobs, sizeof knobs, "{\"tx\":%d,\"ty\":%d}", i, i % 3);
        snprintf(told, sizeof told, "[{\"registers\":%d}]", 20 + i);
        add(i, knobs, i == 7 ? 0 : 1e6 * i, i == 9 ? NULL : told);
    }
    assert_int_equal(table_of(&out, &why), ERR_OK);
    snprintf(csv, sizeof csv, "%s/table.csv", dir);
    assert_int_equal(file_replace(csv, out.data, out.len, 0600, NULL), ERR_OK);
    if (records_read_without(csv, (const char *const[]){"registers"}, 1, &r, &c, &why))
        fail_msg("%s", why.text);
    assert_int_equal(r.n, 20);
    assert_int_equal(r.n_knobs, 2);
    assert_int_equal(records_read_numbers(csv, (const char *const[]){"registers"}, 1, &late, &n, &why), ERR_OK);
    assert_true(late[0] == 21 && late[8] != late[8] && late[19] == 40);
    free(late);
    records_fini(&r);
    columns_fini(&c);
    buf_fini(&out);
}

/* The words of a knob, commas and marks in them, are those that the table's reader finds. */
static void words_come_back_as_they_were(void **state)
{
    char csv[300];
    struct records r;
    struct columns c;
    struct buf out;
    struct why why = {""};

    (void)state;
    unlink(path);
    add(1, "{\"la,yout\":\"n,h\"}", 1e6, NULL);
    add(2, "{\"la,yout\":\"a \\\"b\\\"\"}", 2e6, NULL);
    assert_int_equal(table_of(&out, &why), ERR_OK);
    assert_string_equal(buf_text(&out), "\"la,yout\",time_ms,status\n"
                                        "\"n,h\",1,ok\n"
                                        "\"a \"\"b\"\"\",2,ok\n");
    snprintf(csv, sizeof csv, "%s/table.csv", dir);
    assert_int_equal(file_replace(csv, out.data, out.len, 0600, NULL), ERR_OK);
    assert_int_equal(records_read(csv, &r, &c, &why), ERR_OK);
    assert_string_equal(c.names[0], "la,yout");
    assert_string_equal(c.words[0][0], "n,h");
    assert_string_equal(c.words[0][1], "a \"b\"");
    records_fini(&r);
    columns_fini(&c);
    buf_fini(&out);
    unlink(path);
    add(1, "{\"lay\\nout\":\"two\\nlines\"}", 1e6, NULL);
    assert_int_equal(table_of(&out, &why), ERR_OK);
    assert_string_equal(buf_text(&out), "lay out,time_ms,status\ntwo lines,1,ok\n");
    buf_fini(&out);
}

static void what_is_no_table_is_refused_in_words(void **state)
{
    struct buf out;
    struct why why = {""};

    (void)state;
    unlink(path);
    assert_int_equal(table_of(&out, &why), ERR_NOT_FOUND);
    buf_fini(&out);
    add(1, "{\"tx\":4}", 1e6, NULL);
    add(2, "{\"ty\":4}", 1e6, NULL);
    assert_int_equal(table_of(&out, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "knobs of other names"));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_a_program_with_the_largest_figures_of_its_kernels),
        cmocka_unit_test(the_table_is_one_that_models_read),
        cmocka_unit_test(words_come_back_as_they_were),
        cmocka_unit_test(what_is_no_table_is_refused_in_words),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
