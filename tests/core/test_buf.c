/* SPDX-License-Identifier: MIT */
/* Buffers, sets of blobs, and the list of errors. */
#include "core/blobs.h"
#include "core/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_buffer_is_text_behind_its_length(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_string_equal(buf_text(&b), "");
    assert_null(b.data);
    assert_int_equal(buf_puts(&b, "abc"), ERR_OK);
    assert_int_equal(buf_printf(&b, "-%d-%s", 7, "x"), ERR_OK);
    assert_int_equal(buf_append(&b, "\0y", 2), ERR_OK);
    assert_int_equal(b.len, 9);
    assert_memory_equal(b.data, "abc-7-x\0y", 10);
    buf_fini(&b);
    buf_fini(NULL);
}

static void a_buffer_never_passes_its_maximum(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4);
    assert_int_equal(buf_puts(&b, "abcd"), ERR_OK);
    assert_int_equal(buf_puts(&b, ""), ERR_OK);
    assert_int_equal(buf_puts(&b, "e"), ERR_LIMIT);
    assert_string_equal(buf_text(&b), "abcd");
    assert_int_equal(buf_append(&b, "", 0), ERR_LIMIT); /* failures stay */
    assert_null(buf_room(&b, 0));
    buf_clear(&b);
    assert_int_equal(buf_printf(&b, "%d", 12345), ERR_LIMIT);
    assert_int_equal(b.len, 0);
    buf_fini(&b);
    buf_init(&b, SIZE_MAX);
    assert_int_equal(buf_puts(&b, "x"), ERR_OK);
    assert_null(buf_room(&b, SIZE_MAX - 1));
    assert_int_equal(b.failed, ERR_LIMIT);
    buf_fini(&b);
}

static void taken_bytes_belong_to_the_taker(void **state)
{
    struct buf b;
    char *text;

    (void)state;
    buf_init(&b, 10000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_puts(&b, &"0123456789"[i % 10]), ERR_OK);
    text = buf_take(&b);
    assert_int_equal(strlen(text), 5500);
    assert_int_equal(b.len, 0);
    assert_null(buf_take(&b));
    free(text);
    buf_fini(&b);
}

static void equal_blobs_are_kept_once(void **state)
{
    struct blobs s, t;
    struct sha256 name;

    (void)state;
    blobs_init(&s, 10);
    blobs_init(&t, 3);
    assert_int_equal(blobs_put(&s, "abc", 3, &name), ERR_OK);
    assert_string_equal(name.hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(blobs_put(&s, "abc", 3, NULL), ERR_OK);
    assert_int_equal(s.n, 1);
    assert_int_equal(blobs_put(&s, "", 0, NULL), ERR_OK);
    assert_int_equal(blobs_put(&s, "12345678", 8, NULL), ERR_LIMIT);
    assert_int_equal(blobs_put(&s, "1234567", 7, NULL), ERR_OK);
    assert_int_equal(s.sum_bytes, 10);
    assert_string_equal((const char *)blobs_get(&s, name.hex)->data, "abc");
    assert_null(blobs_get(&s, "ba78"));
    assert_int_equal(blobs_merge(&t, &s), ERR_LIMIT);
    assert_non_null(blobs_get(&t, name.hex));
    blobs_fini(&s);
    blobs_fini(&t);
    blobs_fini(NULL);
}

static void errors_have_words_and_names_both_ways(void **state)
{
    (void)state;
#define X(number, NAME, words)                                                                                         \
    assert_int_equal(ERR_##NAME, number);                                                                              \
    assert_int_equal(err_by_name(err_name(ERR_##NAME)), ERR_##NAME);                                                   \
    assert_string_equal(err_words(ERR_##NAME), words);
    ERR_MAP(X)
#undef X
    assert_string_equal(err_name(ERR_NOT_FOUND), "not_found");
    assert_int_equal(err_by_name("no such"), ERR_PROTOCOL);
    assert_int_equal(err_by_name(NULL), ERR_PROTOCOL);
    assert_string_equal(err_words((enum err)999), "unknown error");
}

static void words_of_failures_are_cut_not_overrun(void **state)
{
    struct why why;
    char big[3000];

    (void)state;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    assert_int_equal(why_set(NULL, ERR_IO, "x"), ERR_IO);
    why_set(&why, ERR_IO, "%s", "inner");
    assert_int_equal(why_prefix(&why, ERR_IO, "outer %d", 3), ERR_IO);
    assert_string_equal(why.text, "outer 3: inner");
    why_prefix(&why, ERR_IO, "%s", big);
    assert_int_equal(strlen(why.text), sizeof why.text - 1);
    why_set(&why, ERR_IO, "%s", big);
    why_prefix(&why, ERR_IO, "outer");
    assert_int_equal(strlen(why.text), sizeof why.text - 1);
    big[sizeof why.text - 2] = '\0';
    why_prefix(&why, ERR_IO, "%s", big);
    assert_int_equal(strlen(why.text), sizeof why.text - 1);
}

static void a_cleared_buffer_takes_again_what_fits(void **state)
{
    struct buf b;
    char *memory;

    (void)state;
    buf_init(&b, 4);
    assert_int_equal(buf_puts(&b, "abcde"), ERR_LIMIT);
    buf_clear(&b);
    assert_int_equal(b.failed, ERR_OK);
    assert_int_equal(buf_puts(&b, "wxyz"), ERR_OK);
    memory = b.data;
    buf_clear(&b);
    assert_string_equal(buf_text(&b), "");
    assert_int_equal(buf_puts(&b, "1"), ERR_OK);
    assert_ptr_equal(b.data, memory);
    buf_fini(&b);
}

static void a_taken_or_finished_buffer_keeps_its_maximum(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4);
    assert_int_equal(buf_puts(&b, "ab"), ERR_OK);
    free(buf_take(&b));
    assert_int_equal(buf_puts(&b, "abcde"), ERR_LIMIT);
    buf_clear(&b);
    assert_int_equal(buf_puts(&b, "abcd"), ERR_OK);
    buf_fini(&b);
    assert_int_equal(b.len, 0);
    assert_null(b.data);
    assert_int_equal(buf_puts(&b, "abcd"), ERR_OK);
    assert_int_equal(buf_puts(&b, "e"), ERR_LIMIT);
    buf_fini(&b);
}

/* Around the sizes at which memory grows: room for the NUL too. */
static void every_length_is_ended_and_whole(void **state)
{
    (void)state;
    for (size_t n = 250; n <= 520; n++) {
        struct buf b, f;
        char *text = calloc(n + 1, 1), *room;

        assert_non_null(text);
        for (size_t i = 0; i < n; i++)
            text[i] = (char)('a' + i % 26);
        buf_init(&b, n);
        buf_init(&f, n);
        room = buf_room(&b, n);
        assert_non_null(room);
        assert_true(b.len == 0 && b.cap > n);
        memcpy(room, text, n);
        b.len = n;
        assert_int_equal(buf_append(&b, NULL, 0), ERR_OK);
        assert_string_equal(buf_text(&b), text);
        assert_int_equal(buf_printf(&f, "%s", text), ERR_OK);
        assert_string_equal(buf_text(&f), text);
        assert_int_equal(buf_printf(&f, "%c", 'x'), ERR_LIMIT);
        assert_int_equal(f.len, n);
        buf_fini(&b);
        buf_fini(&f);
        free(text);
    }
}

static void many_blobs_are_found_and_merged(void **state)
{
    struct blobs s, t;
    struct sha256 names[40];

    (void)state;
    blobs_init(&s, 1000);
    blobs_init(&t, 1000);
    for (int i = 0; i < 40; i++) {
        const unsigned char bytes[3] = {(unsigned char)i, 0, 'x'};

        assert_int_equal(blobs_put(&s, bytes, 3, &names[i]), ERR_OK);
    }
    assert_int_equal(blobs_put(&t, "other", 5, NULL), ERR_OK);
    assert_int_equal(blobs_put(&t, "\x07\0x", 3, NULL), ERR_OK);
    assert_int_equal(blobs_merge(&t, &s), ERR_OK);
    assert_int_equal(t.n, 41);
    assert_int_equal(t.sum_bytes, 5 + 40 * 3);
    for (int i = 0; i < 40; i++) {
        const struct blob *b = blobs_get(&t, names[i].hex);

        assert_non_null(b);
        assert_int_equal(b->n_bytes, 3);
        assert_true(b->data[0] == i && b->data[2] == 'x' && b->data[3] == 0);
        assert_ptr_not_equal(b->data, blobs_get(&s, names[i].hex)->data);
    }
    blobs_fini(&s);
    blobs_fini(&t);
}

static void a_full_set_still_knows_what_it_has(void **state)
{
    struct sha256 name = {""}, again = {""};
    struct blobs s;

    (void)state;
    blobs_init(&s, 3);
    assert_int_equal(blobs_put(&s, "abcd", 4, NULL), ERR_LIMIT);
    assert_int_equal(blobs_put(&s, "abc", 3, &name), ERR_OK);
    assert_int_equal(blobs_put(&s, "abc", 3, &again), ERR_OK);
    assert_string_equal(name.hex, again.hex);
    assert_int_equal(blobs_put_named(&s, "abc", 3, &name), ERR_OK);
    assert_int_equal(blobs_put(&s, "x", 1, NULL), ERR_LIMIT);
    assert_true(s.n == 1 && s.sum_bytes == 3);
    blobs_fini(&s);
    assert_true(s.n == 0 && s.sum_bytes == 0 && s.max_bytes == 3);
    assert_int_equal(blobs_put(&s, "xyz", 3, NULL), ERR_OK);
    blobs_fini(&s);
}

static void only_whole_names_of_errors_are_known(void **state)
{
    static const char *const no_names[] = {"", "o", "okay", "OK", "not_foun", "not_found ", "unknown error"};

    (void)state;
    for (size_t i = 0; i < sizeof no_names / sizeof no_names[0]; i++)
        assert_int_equal(err_by_name(no_names[i]), ERR_PROTOCOL);
    assert_string_equal(err_name(ERR_OK), "ok");
    assert_string_equal(err_name((enum err)999), "protocol");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_is_text_behind_its_length),
        cmocka_unit_test(a_buffer_never_passes_its_maximum),
        cmocka_unit_test(taken_bytes_belong_to_the_taker),
        cmocka_unit_test(equal_blobs_are_kept_once),
        cmocka_unit_test(errors_have_words_and_names_both_ways),
        cmocka_unit_test(words_of_failures_are_cut_not_overrun),
        cmocka_unit_test(a_cleared_buffer_takes_again_what_fits),
        cmocka_unit_test(a_taken_or_finished_buffer_keeps_its_maximum),
        cmocka_unit_test(every_length_is_ended_and_whole),
        cmocka_unit_test(many_blobs_are_found_and_merged),
        cmocka_unit_test(a_full_set_still_knows_what_it_has),
        cmocka_unit_test(only_whole_names_of_errors_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
