/* SPDX-License-Identifier: MIT */
/* Blobs by content: whole, in chunks, and what is none. */
#include "tests/tracker/rig.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- shorthands ---- */

static const char text[] = "0123456789"; /* the blob of most tests */
#define N_TEXT 10

static const char *name_of(const char *bytes, size_t n)
{
    static struct sha256 name;

    name = sha256_of(bytes, n);
    return name.hex;
}

/* Puts n bytes as the chunk at `offset` of the blob `hex`; fails unless it ends with this error. Gives "stored". */
static bool put_chunk(struct rig *r, const char *hex, int64_t offset, int64_t total, const char *bytes, size_t n,
                      const char *err)
{
    cJSON *args = cJSON_CreateObject(), *reply;
    struct blobs one;
    bool stored = false;

    cJSON_AddStringToObject(args, "sha256", hex);
    cJSON_AddNumberToObject(args, "offset", (double)offset);
    cJSON_AddNumberToObject(args, "total", (double)total);
    blobs_init(&one, MESSAGE_ATTACH_BYTES);
    assert_int_equal(blobs_put(&one, bytes, n, NULL), ERR_OK);
    reply = rig_ask(r, "blob_put", args, &one);
    if (err)
        assert_string_equal(text_in(reply, "err"), err);
    else
        stored = number_in(object_in(reply, "result"), "stored");
    cJSON_Delete(reply);
    blobs_fini(&one);
    return stored;
}

static bool is_missing(struct rig *r, const char *hex)
{
    cJSON *result = rig_must(r, "blob_have", "{'sha256':['%s']}", hex);
    const bool missing = count_in(result, "missing") == 1;

    cJSON_Delete(result);
    return missing;
}

/* Gets a part of a blob; fails unless these are its bytes and the whole has `total`. */
static void expect_part(struct rig *r, const char *hex, const char *range, const char *bytes, size_t n, int64_t total)
{
    cJSON *result = rig_must(r, "blob_get", "{'sha256':'%s'%s}", hex, range);

    assert_int_equal(number_in(result, "total"), total);
    assert_int_equal(r->received.n, 1);
    assert_int_equal(r->received.items[0].n_bytes, n);
    assert_memory_equal(r->received.items[0].data, bytes, n);
    cJSON_Delete(result);
}

/* ---- facts ---- */

static void whole_blobs_are_put_many_at_once(void **state)
{
    struct rig *r = *state;
    struct blobs set;
    cJSON *reply, *result;

    blobs_init(&set, 1000);
    blobs_put(&set, "one", 3, NULL);
    blobs_put(&set, "two", 3, NULL);
    blobs_put(&set, "", 0, NULL);
    reply = rig_ask(r, "blob_put", cJSON_CreateObject(), &set);
    assert_int_equal(number_in(object_in(reply, "result"), "stored"), 1);
    cJSON_Delete(reply);
    result = rig_must(r, "blob_have", "{'sha256':['%s','%s','%s','%s']}", set.items[0].name.hex, hash_of(1),
                      set.items[1].name.hex, set.items[2].name.hex);
    assert_int_equal(count_in(result, "missing"), 1);
    assert_string_equal(item_in(result, "missing", 0)->valuestring, hash_of(1));
    cJSON_Delete(result);
    rig_crash(r);
    expect_part(r, set.items[1].name.hex, "", "two", 3, 3);
    expect_part(r, set.items[2].name.hex, "", "", 0, 0);
    blobs_fini(&set);
}

static void chunks_come_in_any_order_and_more_than_once(void **state)
{
    struct rig *r = *state;
    const char *hex = name_of(text, N_TEXT);

    assert_false(put_chunk(r, hex, 7, N_TEXT, text + 7, 3, NULL));
    assert_false(put_chunk(r, hex, 0, N_TEXT, text, 4, NULL));
    assert_false(put_chunk(r, hex, 0, N_TEXT, text, 4, NULL));
    assert_true(is_missing(r, hex));
    rig_crash(r); /* pieces are kept too */
    assert_true(put_chunk(r, hex, 4, N_TEXT, text + 4, 3, NULL));
    assert_false(is_missing(r, hex));
    expect_part(r, hex, "", text, N_TEXT, N_TEXT);
    assert_true(put_chunk(r, hex, 0, N_TEXT, text, N_TEXT, NULL)); /* whole, once more */
}

static void a_part_is_given_as_asked_for(void **state)
{
    struct rig *r = *state;
    const char *hex = name_of(text, N_TEXT);

    put_chunk(r, hex, 0, N_TEXT, text, N_TEXT, NULL);
    expect_part(r, hex, ",'offset':3,'bytes':4", text + 3, 4, N_TEXT);
    expect_part(r, hex, ",'offset':8,'bytes':4", text + 8, 2, N_TEXT);
    expect_part(r, hex, ",'offset':10,'bytes':4", "", 0, N_TEXT);
    expect_part(r, hex, ",'offset':99", "", 0, N_TEXT);
    expect_part(r, hex, ",'bytes':0", "", 0, N_TEXT);
}

static void a_large_blob_comes_in_pieces_of_a_mebibyte(void **state)
{
    const size_t n = MESSAGE_CHUNK_BYTES + 5;
    struct rig *r = *state;
    char *bytes = malloc(n), hex[SHA256_HEX + 1];

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * 31 >> 5);
    snprintf(hex, sizeof hex, "%s", name_of(bytes, n));
    put_chunk(r, hex, 0, (int64_t)n, bytes, n, "input"); /* one chunk of more than that */
    assert_false(put_chunk(r, hex, 0, (int64_t)n, bytes, MESSAGE_CHUNK_BYTES, NULL));
    assert_true(put_chunk(r, hex, MESSAGE_CHUNK_BYTES, (int64_t)n, bytes + MESSAGE_CHUNK_BYTES, 5, NULL));
    expect_part(r, hex, "", bytes, MESSAGE_CHUNK_BYTES, (int64_t)n);
    expect_part(r, hex, ",'offset':1048576", bytes + MESSAGE_CHUNK_BYTES, 5, (int64_t)n);
    free(bytes);
}

static void a_blob_has_the_content_of_its_name_or_is_not_there(void **state)
{
    struct rig *r = *state;
    const char *hex = hash_of(5);

    put_chunk(r, hex, 0, N_TEXT, text, N_TEXT, "input");
    assert_false(put_chunk(r, hex, 0, N_TEXT, text, 5, NULL));
    put_chunk(r, hex, 5, N_TEXT, text + 5, 5, "input");
    assert_true(is_missing(r, hex));
    assert_false(put_chunk(r, hex, 0, N_TEXT, text, 5, NULL)); /* from the start: the pieces went */
}

/* Nobody's right pieces make another's wrong ones right. */
static void blobs_that_come_at_the_same_time_are_told_apart(void **state)
{
    struct rig *r = *state;
    char hex[SHA256_HEX + 1];

    snprintf(hex, sizeof hex, "%s", name_of(text, N_TEXT));
    assert_false(put_chunk(r, hex, 0, N_TEXT, "wrong", 5, NULL));
    assert_false(put_chunk(r, hash_of(6), 0, 99, text, 5, NULL));
    assert_false(put_chunk(r, hash_of(6), 5, 99, text + 5, N_TEXT - 5, NULL));
    put_chunk(r, hex, 5, N_TEXT, text + 5, N_TEXT - 5, "input");
    assert_true(is_missing(r, hex));
    assert_false(put_chunk(r, hex, 3, N_TEXT, "bad", 3, NULL));
    assert_false(put_chunk(r, hex, 0, N_TEXT, text, 3, NULL));
    assert_false(put_chunk(r, hash_of(7), 3, 99, text + 3, 3, NULL));
    put_chunk(r, hex, 6, N_TEXT, text + 6, N_TEXT - 6, "input");
    assert_true(is_missing(r, hex));
}

/* Somebody's wrong piece spoils an upload once; then it goes well. */
static void a_stray_chunk_is_forgotten_with_the_upload_it_spoilt(void **state)
{
    struct rig *r = *state;
    char hex[SHA256_HEX + 1];

    snprintf(hex, sizeof hex, "%s", name_of(text, N_TEXT));
    assert_false(put_chunk(r, hex, 3, N_TEXT, "stray", 5, NULL));
    put_chunk(r, hex, 0, N_TEXT, text, 6, "input");
    assert_false(put_chunk(r, hex, 0, N_TEXT, text, 6, NULL));
    assert_true(put_chunk(r, hex, 6, N_TEXT, text + 6, 4, NULL));
    expect_part(r, hex, "", text, N_TEXT, N_TEXT);
}

static void a_chunk_lies_inside_its_blob_and_a_blob_has_a_limit(void **state)
{
    struct rig *r = *state;
    const char *hex = name_of(text, N_TEXT);

    put_chunk(r, hex, 5, N_TEXT, text, 6, "input");
    put_chunk(r, hex, -1, N_TEXT, text, 1, "input");
    put_chunk(r, hex, 0, (int64_t)BLOB_MAX_BYTES + 1, text, 1, "input");
    put_chunk(r, hex, (int64_t)BLOB_MAX_BYTES + 1, (int64_t)BLOB_MAX_BYTES, text, 1, "input");
    assert_false(put_chunk(r, hex, 0, (int64_t)BLOB_MAX_BYTES, text, 1, NULL));
    put_chunk(r, "0123", 0, N_TEXT, text, 1, "input");
    rig_refused(r, ERR_INPUT, "expected one chunk of at most 1048576 bytes", "blob_put",
                "{'sha256':'%s','offset':0,'total':1}", hex); /* and none is there */
}

static void names_that_are_no_names_are_refused(void **state)
{
    struct rig *r = *state;
    struct buf names;

    buf_init(&names, 1 << 20);
    for (int i = 0; i < 1025; i++)
        buf_printf(&names, "%s'%s'", i ? "," : "", hash_of(i));
    rig_refused(r, ERR_INPUT, "call blob_get: member sha256: expected a SHA-256 in hex", "blob_get",
                "{'sha256':'../../etc/passwd'}");
    rig_refused(r, ERR_INPUT, "sha256", "blob_get", "{}");
    rig_refused(r, ERR_INPUT, "bytes", "blob_get", "{'sha256':'%s','bytes':1048577}", hash_of(1));
    rig_refused(r, ERR_INPUT, "offset", "blob_get", "{'sha256':'%s','offset':-1}", hash_of(1));
    rig_refused(r, ERR_NOT_FOUND, "put it first", "blob_get", "{'sha256':'%s'}", hash_of(1));
    rig_refused(r, ERR_INPUT, "member sha256: expected a list of 0 to 1024, each a SHA-256 in hex", "blob_have",
                "{'sha256':['x']}");
    rig_refused(r, ERR_INPUT, "member sha256: expected a list of 0 to 1024, each a SHA-256 in hex", "blob_have",
                "{'sha256':[1]}");
    rig_refused(r, ERR_LIMIT, "expected a list of 0 to 1024, each a SHA-256 in hex; found a list of 1025", "blob_have",
                "{'sha256':[%s]}", buf_text(&names));
    buf_fini(&names);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        FACT(whole_blobs_are_put_many_at_once),
        FACT(chunks_come_in_any_order_and_more_than_once),
        FACT(a_part_is_given_as_asked_for),
        FACT(a_large_blob_comes_in_pieces_of_a_mebibyte),
        FACT(a_blob_has_the_content_of_its_name_or_is_not_there),
        FACT(blobs_that_come_at_the_same_time_are_told_apart),
        FACT(a_stray_chunk_is_forgotten_with_the_upload_it_spoilt),
        FACT(a_chunk_lies_inside_its_blob_and_a_blob_has_a_limit),
        FACT(names_that_are_no_names_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
