/* SPDX-License-Identifier: MIT */
/* A journal gives back what it was told, up to where it was torn. */
#include "core/buf.h"
#include "core/file.h"
#include "tracker/journal.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef"

static const char *const texts[] = {"first ?", "second ?"};
static char dir[256];

static int set_up(void **state)
{
    (void)state;
    return dir_temporary("tune-journal", dir, sizeof dir, NULL) != ERR_OK;
}

static int tear_down(void **state)
{
    (void)state;
    dir_remove(dir);
    return 0;
}

static struct journal *opened(int64_t serial)
{
    struct journal *j = NULL;

    assert_int_equal(journal_open(dir, ID, texts, 2, serial, &j, NULL), ERR_OK);
    return j;
}

/* An entry of one statement with one number. */
static void tell(struct journal *j, int which, int64_t number)
{
    journal_statement(j, which);
    journal_i64(j, 1, number);
    assert_true(journal_told(j));
    assert_int_equal(journal_write(j, NULL), ERR_OK);
    assert_false(journal_told(j));
}

/* "first ? 1=7; " for each statement. */
static enum err print(void *arg, int which, const char *text, const struct journal_value *v, int n)
{
    struct buf *out = arg;

    assert_string_equal(text, texts[which]);
    buf_printf(out, "%s", text);
    for (int i = 0; i < n; i++) {
        buf_printf(out, " %d=", v[i].i);
        if (v[i].type == 'i')
            buf_printf(out, "%lld", (long long)v[i].i64);
        else if (v[i].type == 'r')
            buf_printf(out, "%a", v[i].real);
        else
            buf_printf(out, "%c%zu'%.*s'", v[i].type, v[i].n_bytes, (int)v[i].n_bytes, (const char *)v[i].bytes);
    }
    return buf_puts(out, "; ");
}

/* All that is there from a serial on; lends it until the next. *serial moves. */
static const char *rest(int64_t *serial)
{
    static char text[65536];
    struct journal_tail *t = NULL;
    struct buf out;

    buf_init(&out, sizeof text - 1);
    assert_int_equal(journal_tail_open(dir, ID, *serial, &t, NULL), ERR_OK);
    if (t)
        assert_int_equal(journal_tail_read(t, serial, print, &out), ERR_OK);
    snprintf(text, sizeof text, "%s", buf_text(&out));
    journal_tail_close(t);
    buf_fini(&out);
    return text;
}

static void what_was_told_is_read_in_order(void **state)
{
    struct journal *j = opened(5);
    int64_t serial = 5;

    (void)state;
    assert_string_equal(rest(&serial), "");
    journal_statement(j, 1);
    journal_text(j, 3, "it's");
    journal_real(j, 1, -0x1.8p-3);
    journal_i64(j, 2, INT64_MIN);
    journal_blob(j, 4, "a;b", 3);
    journal_blob(j, 5, NULL, 0);
    journal_statement(j, 0);
    assert_int_equal(journal_write(j, NULL), ERR_OK);
    tell(j, 0, 7);
    journal_statement(j, 1); /* told, and never an entry */
    journal_drop(j);
    assert_int_equal(journal_serial(j), 7);
    assert_string_equal(rest(&serial),
                        "second ? 3=t4'it's' 1=-0x1.8p-3 2=-9223372036854775808 4=b3'a;b' 5=b0''; first ?; "
                        "first ? 1=7; ");
    assert_int_equal(serial, 7);
    serial = 6;
    assert_string_equal(rest(&serial), "first ? 1=7; ");
    assert_int_equal(journal_flush(j, journal_serial(j), NULL), ERR_OK);
    journal_close(j, false);
}

static void write_file(int i, const struct buf *b, size_t n)
{
    char path[300];

    snprintf(path, sizeof path, "%s/journal.%d", dir, i);
    unlink(path);
    assert_int_equal(file_append(path, b->data, n, false, NULL), ERR_OK);
}

static void read_file(int i, struct buf *b)
{
    char path[300];

    snprintf(path, sizeof path, "%s/journal.%d", dir, i);
    buf_init(b, 65536);
    assert_int_equal(file_read(path, b, NULL), ERR_OK);
}

/* Whatever the last write left of itself, and whatever bit is wrong: the entries before it, and nothing else. */
static void a_torn_entry_ends_it(void **state)
{
    struct journal *j = opened(1);
    int64_t serial, n_first;
    struct buf b;

    (void)state;
    tell(j, 0, 1);
    n_first = journal_bytes(j);
    tell(j, 1, 2);
    journal_close(j, false);
    read_file(0, &b);
    for (size_t n = 0; n < b.len; n++) {
        write_file(0, &b, n);
        serial = 1;
        assert_string_equal(rest(&serial), (int64_t)n < n_first ? "" : "first ? 1=1; ");
    }
    for (size_t i = (size_t)n_first; i < b.len; i++) {
        b.data[i] ^= 4;
        write_file(0, &b, b.len);
        serial = 1;
        assert_string_equal(rest(&serial), "first ? 1=1; ");
        b.data[i] ^= 4;
    }
    buf_fini(&b);
}

static void is_refused(int64_t serial, const char *words)
{
    struct journal_tail *t = NULL;
    struct why why = {""};

    assert_int_equal(journal_tail_open(dir, ID, serial, &t, &why), ERR_STALE);
    assert_null(t);
    assert_non_null(strstr(why.text, words));
}

/* Entry 1 was durable when entry 2 was written, which says so wherever it is found; for a database that has entry 1 it
 * does not matter. */
static void what_was_durable_and_cannot_be_read_is_told(void **state)
{
    struct journal *j = opened(1);
    int64_t serial, n_first;
    struct buf b;

    (void)state;
    tell(j, 0, 1);
    n_first = journal_bytes(j);
    assert_int_equal(journal_flush(j, 2, NULL), ERR_OK);
    tell(j, 1, 2);
    journal_close(j, false);
    read_file(0, &b);
    for (int64_t i = 0; i < n_first; i++) {
        b.data[i] ^= 4;
        write_file(0, &b, b.len);
        is_refused(1, "damaged");
        serial = 2;
        rest(&serial);
        b.data[i] ^= 4;
    }
    write_file(0, &b, b.len);
    serial = 1;
    assert_string_equal(rest(&serial), "first ? 1=1; second ? 1=2; ");
    buf_fini(&b);
}

static void the_lost_end_of_the_file_before_is_told(void **state)
{
    struct journal *j = opened(1);
    int64_t serial = 1, n_first;
    struct buf b;

    (void)state;
    tell(j, 0, 1);
    n_first = journal_bytes(j);
    tell(j, 0, 2);
    journal_turn(j);
    tell(j, 0, 3);
    read_file(0, &b);
    write_file(0, &b, (size_t)n_first);
    assert_string_equal(rest(&serial), "first ? 1=1; "); /* 2 and 3 never were durable: a power cut may take either */
    write_file(0, &b, b.len);
    assert_int_equal(journal_flush(j, 4, NULL), ERR_OK);
    tell(j, 0, 4);
    write_file(0, &b, (size_t)n_first);
    is_refused(1, "damaged");
    journal_close(j, false);
    buf_fini(&b);
}

static void one_file_of_two_is_told(void **state)
{
    char path[300];
    struct journal *j = opened(1);
    int64_t serial = 1;

    (void)state;
    tell(j, 0, 1);
    snprintf(path, sizeof path, "%s/journal.1", dir);
    assert_int_equal(unlink(path), 0);
    is_refused(1, "missing");
    journal_close(j, false);
    j = opened(1);
    tell(j, 0, 1);
    assert_int_equal(truncate(path, 0), 0);
    snprintf(path, sizeof path, "%s/journal.0", dir);
    assert_int_equal(unlink(path), 0);
    assert_string_equal(rest(&serial), ""); /* as a journal that was done with may be left */
    journal_close(j, false);
}

static void two_files_take_turns(void **state)
{
    struct journal *j = opened(1);
    struct journal_tail *t = NULL;
    int64_t serial = 2;
    struct why why = {""};

    (void)state;
    tell(j, 0, 1);
    tell(j, 0, 2);
    journal_turn(j);
    assert_int_equal(journal_bytes(j), 0);
    assert_string_equal(rest(&serial), "first ? 1=2; ");
    tell(j, 1, 3);
    serial = 2;
    assert_string_equal(rest(&serial), "first ? 1=2; second ? 1=3; ");
    journal_turn(j); /* entries 1 and 2 go */
    tell(j, 0, 4);
    serial = 3;
    assert_string_equal(rest(&serial), "second ? 1=3; first ? 1=4; ");
    assert_int_equal(serial, 5);
    assert_int_equal(journal_tail_open(dir, ID, 2, &t, &why), ERR_STALE);
    assert_null(t);
    assert_non_null(strstr(why.text, "later"));
    journal_close(j, false);
}

/* The file that is filled anew still has its old entries behind the new ones. */
static void what_is_left_of_the_turn_before_is_not_read(void **state)
{
    struct journal *j = opened(1);
    int64_t serial;

    (void)state;
    for (int i = 1; i <= 5; i++)
        tell(j, 0, i);
    journal_turn(j);
    tell(j, 0, 6);
    journal_turn(j);
    tell(j, 0, 7);
    serial = 6;
    assert_string_equal(rest(&serial), "first ? 1=6; first ? 1=7; ");
    journal_close(j, false);
    j = opened(8); /* nor what an earlier journal had */
    tell(j, 1, 8);
    serial = 8;
    assert_string_equal(rest(&serial), "second ? 1=8; ");
    assert_int_equal(serial, 9);
    journal_close(j, true);
    assert_string_equal(rest(&serial), "");
}

/* Only a database that has what the mark stands for may go on behind it. */
static void a_mark_ends_it_for_a_database_without_it(void **state)
{
    struct journal *j = opened(1);
    int64_t serial = 1;

    (void)state;
    tell(j, 0, 1);
    journal_statement(j, 1); /* the database has it: it is not told */
    assert_int_equal(journal_mark(j, NULL), ERR_OK);
    tell(j, 0, 3);
    assert_string_equal(rest(&serial), "first ? 1=1; ");
    assert_int_equal(serial, 2);
    assert_string_equal(rest(&serial), "");
    serial = 3;
    assert_string_equal(rest(&serial), "first ? 1=3; ");
    journal_turn(j);
    tell(j, 0, 4);
    serial = 1;
    assert_string_equal(rest(&serial), "first ? 1=1; ");
    journal_close(j, false);
}

static void a_journal_of_another_database_is_none(void **state)
{
    struct journal *j = opened(1);
    struct journal_tail *t = NULL;

    (void)state;
    tell(j, 0, 1);
    assert_int_equal(journal_tail_open(dir, "another-database-of-32-characters", 1, &t, NULL), ERR_OK);
    assert_null(t);
    journal_close(j, false);
}

static void set_most_bytes(rlim_t n)
{
    struct rlimit l;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = n < l.rlim_max ? n : l.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

/* As on a full disk, which takes nothing of an entry, or a part of it. */
static void an_entry_that_cannot_be_written_is_told_and_is_none(void **state)
{
    struct journal *j = opened(1);
    int64_t serial = 1;

    (void)state;
    tell(j, 0, 1);
    signal(SIGXFSZ, SIG_IGN);
    for (int n_taken = 0; n_taken <= 20; n_taken += 20) {
        struct why why = {""};
        enum err e;

        journal_statement(j, 0);
        journal_i64(j, 1, 2);
        set_most_bytes((rlim_t)(journal_bytes(j) + n_taken));
        e = journal_write(j, &why);
        set_most_bytes(RLIM_INFINITY);
        assert_int_equal(e, ERR_IO);
        assert_non_null(strstr(why.text, "cannot be written: File too large"));
        assert_int_equal(journal_serial(j), 2);
    }
    signal(SIGXFSZ, SIG_DFL);
    assert_string_equal(rest(&serial), "first ? 1=1; ");
    journal_close(j, false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_was_told_is_read_in_order),
        TEST(a_torn_entry_ends_it),
        TEST(what_was_durable_and_cannot_be_read_is_told),
        TEST(the_lost_end_of_the_file_before_is_told),
        TEST(one_file_of_two_is_told),
        TEST(two_files_take_turns),
        TEST(what_is_left_of_the_turn_before_is_not_read),
        TEST(a_mark_ends_it_for_a_database_without_it),
        TEST(a_journal_of_another_database_is_none),
        TEST(an_entry_that_cannot_be_written_is_told_and_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
