/* SPDX-License-Identifier: MIT */
/* What failed, counted and told: kinds of words, whose numbers do not matter, and the first of a compiler's in full. */
#include "tuner/failures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add(struct failures *f, enum record_status s, const char *stage, const char *words)
{
    struct record r;

    record_init(&r);
    r.status = s;
    snprintf(r.stage, sizeof r.stage, "%s", stage);
    r.why = words ? strdup(words) : NULL;
    failures_add(f, &r);
    record_fini(&r);
}

static void check_explained(const struct failures *f, const char *expected)
{
    struct buf text;

    buf_init(&text, 1 << 16);
    failures_explain(f, &text);
    assert_string_equal(buf_text(&text), expected);
    buf_fini(&text);
}

static void the_compilers_first_words_are_kept_in_full(void **state)
{
    struct failures f;

    (void)state;
    failures_init(&f);
    add(&f, STATUS_RUNTIME, "run", "no compiler's");
    add(&f, STATUS_COMPILE, "build", NULL);
    add(&f, STATUS_COMPILE, "build", "a.cl:1: error\nfirst line\nsecond line");
    add(&f, STATUS_COMPILE, "build", "b.cl:2: error\nothers");
    add(&f, STATUS_COMPILE, "build", "c.cl: another");
    assert_string_equal(f.first_log, "a.cl:1: error\nfirst line\nsecond line");
    assert_int_equal(f.by_status[STATUS_COMPILE], 4);
    failures_fini(&f);
    assert_null(f.first_log);
    failures_fini(&f);
    failures_fini(NULL);
}

/* Three kinds at the most, the most frequent first; the words of a kind are its first ones. */
static void kinds_are_told_by_how_often_they_were(void **state)
{
    struct failures f;

    (void)state;
    failures_init(&f);
    check_explained(&f, "");
    add(&f, STATUS_RUNTIME, "run", "once\nmore");
    for (int i = 0; i < 3; i++) {
        char words[64];

        snprintf(words, sizeof words, "of %d bytes, %d are left", 10 + i, 1 << (10 * i));
        add(&f, STATUS_LIMITS, "load", words);
    }
    add(&f, STATUS_WRONG, "verify", "y[3] is 4");
    add(&f, STATUS_WRONG, "verify", "y[17] is 40");
    add(&f, STATUS_WRONG, "verify", "y[3] is 4");
    add(&f, STATUS_WRONG, "verify", "y[3] is 4");
    add(&f, STATUS_RUNTIME, "run", "twice");
    add(&f, STATUS_RUNTIME, "run", "twice");
    add(&f, STATUS_OK, "", "all is well");
    check_explained(&f, "most frequent failures:\n     4 x wrong: y[3] is 4\n"
                        "     3 x limits: of 10 bytes, 1 are left\n     2 x runtime: twice\n");
    failures_fini(&f);
}

/* A limit of time that a build has, and one that a run has; a start has none. */
static void a_remedy_is_that_of_the_step_that_took_too_long(void **state)
{
    static const struct {
        enum record_status status;
        const char *stage, *words;
    } cases[] = {{STATUS_TIMEOUT, "build", "--build-timeout"},
                 {STATUS_TIMEOUT, "load", "--build-timeout"},
                 {STATUS_TIMEOUT, "run", "--run-timeout"},
                 {STATUS_TIMEOUT, "verify", "--run-timeout"},
                 {STATUS_TIMEOUT, "start", NULL},
                 {STATUS_COMPILE, "build", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct failures f;
        struct buf text;

        buf_init(&text, 1 << 16);
        failures_init(&f);
        add(&f, cases[i].status, cases[i].stage, "too long");
        failures_remedies(&f, &text);
        if (cases[i].words ? !strstr(buf_text(&text), cases[i].words) || strchr(buf_text(&text), '\n')[1]
                           : text.len > 0)
            fail_msg("%s: '%s'", cases[i].stage, buf_text(&text));
        failures_fini(&f);
        buf_fini(&text);
    }
}

static void a_line_counts_what_was_not_fine(void **state)
{
    struct failures f;
    struct buf text;

    (void)state;
    failures_init(&f);
    buf_init(&text, 1 << 16);
    add(&f, STATUS_OK, "", NULL);
    failures_line(&f, &text);
    assert_string_equal(buf_text(&text), "");
    add(&f, STATUS_COMPILE, "build", NULL);
    add(&f, STATUS_COMPILE, "build", NULL);
    add(&f, STATUS_WRONG, "verify", NULL);
    failures_line(&f, &text);
    assert_string_equal(buf_text(&text), "compile 2 wrong 1");
    buf_fini(&text);
    failures_fini(&f);
}

/* As many kinds as there is room for; those that come later are counted by their status alone. */
static void kinds_without_room_are_counted(void **state)
{
    struct failures f;

    (void)state;
    failures_init(&f);
    for (int i = 0; i < FAILURES_MAX_KINDS + 20; i++) {
        char words[256];

        memset(words, 'a', (size_t)i + 1);
        words[i + 1] = '\0';
        add(&f, STATUS_RUNTIME, "run", words);
    }
    assert_int_equal(f.n_kinds, FAILURES_MAX_KINDS);
    assert_int_equal(f.by_status[STATUS_RUNTIME], FAILURES_MAX_KINDS + 20);
    failures_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_compilers_first_words_are_kept_in_full),
        cmocka_unit_test(kinds_are_told_by_how_often_they_were),
        cmocka_unit_test(a_remedy_is_that_of_the_step_that_took_too_long),
        cmocka_unit_test(a_line_counts_what_was_not_fine),
        cmocka_unit_test(kinds_without_room_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
