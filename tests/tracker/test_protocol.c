/* SPDX-License-Identifier: MIT */
#include "core/file.h"
#include "core/rng.h"
#include "tracker/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static const struct key key = {.bytes = {1, 2, 3, 4}};

/* A message with two blobs, one of them empty. */
static void make(struct buf *out, const struct key *k)
{
    cJSON *json = cJSON_CreateObject();
    struct blobs blobs;
    bool ok = true;

    json_add_text(json, "op", "status", &ok);
    json_add_i64(json, "ctr", 7, &ok);
    blobs_init(&blobs, 1000);
    blobs_put(&blobs, "kernel", 6, NULL);
    blobs_put(&blobs, "", 0, NULL);
    buf_init(out, MESSAGE_MAX_BYTES);
    assert_int_equal(message_encode(json, &blobs, k, "nonce", out), ERR_OK);
    blobs_fini(&blobs);
    cJSON_Delete(json);
}

/* Decodes from a heap copy of exactly n bytes, so that a sanitizer sees any byte too far. */
static enum err decode(const void *bytes, size_t n, struct message *m)
{
    void *copy = malloc(n ? n : 1);
    struct why why = {""};
    enum err e;

    memcpy(copy, bytes, n);
    e = message_decode(copy, n, m, &why);
    if (e && e != ERR_NOMEM)
        assert_true(why.text[0] != '\0');
    if (e || !m->n_blobs) {
        free(copy);
        return e;
    }
    for (size_t i = 0; i < m->n_blobs; i++)
        assert_string_equal(sha256_of(m->blobs[i].data, m->blobs[i].n_bytes).hex, m->blobs[i].name.hex);
    message_fini(m);
    free(copy);
    return ERR_OK;
}

static void a_message_comes_out_as_it_went_in(void **state)
{
    struct message m;
    struct buf b;

    (void)state;
    make(&b, NULL);
    assert_int_equal(message_decode(b.data, b.len, &m, NULL), ERR_OK);
    assert_int_equal(m.n_blobs, 2);
    assert_memory_equal(m.blobs[0].data, "kernel", 6);
    assert_int_equal(m.blobs[1].n_bytes, 0);
    assert_false(m.has_mac);
    message_fini(&m);
    buf_fini(&b);
}

static void every_truncation_is_refused(void **state)
{
    struct message m;
    struct buf b;

    (void)state;
    for (int with_key = 0; with_key < 2; with_key++) {
        make(&b, with_key ? &key : NULL);
        for (size_t n = 0; n < b.len; n++) {
            const enum err e = decode(b.data, n, &m);

            if (e == ERR_OK &&
                !(with_key && n == b.len - SHA256_BYTES)) /* without its MAC it is a message, but has_mac is false */
                fail_msg("%zu of %zu bytes were taken", n, b.len);
        }
        buf_fini(&b);
    }
}

static void a_changed_bit_is_refused_under_a_key(void **state)
{
    struct message m;
    struct buf b;

    (void)state;
    make(&b, &key);
    assert_true(message_mac_is_right(b.data, b.len, &key, "nonce"));
    assert_false(message_mac_is_right(b.data, b.len, &key, "other"));
    assert_false(message_mac_is_right(b.data, 20, &key, "nonce"));
    for (size_t i = 0; i < b.len; i++) {
        b.data[i] = (char)(b.data[i] ^ 1 << (i % 8));
        assert_false(message_mac_is_right(b.data, b.len, &key, "nonce"));
        decode(b.data, b.len, &m);
        b.data[i] = (char)(b.data[i] ^ 1 << (i % 8));
    }
    buf_fini(&b);
}

static void bad_lengths_and_heads_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {
        {"", 0},
        {"GET / HTTP/1.1\r\n\r\n", 18},
        {"TUN1\1\0\0\0\377\377\377\377{}", 14},
        {"TUN1\2\0\0\0\2\0\0\0{}", 14},
        {"TUN1\1\0\0\0\2\0\0\0[]", 14},
        {"TUN1\1\0\0\0\2\0\0\0{}x", 15},
        {"TUN1\1\0\0\0\14\0\0\0{\"blobs\":{}}", 24},
        {"TUN1\1\0\0\0\15\0\0\0{\"blobs\":[1]}", 25},
        {"TUN1\1\0\0\0\0\0\0\0", 12},
    };
    struct message m;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (decode(bad[i].bytes, bad[i].n, &m) == ERR_OK)
            fail_msg("case %zu was taken", i);
}

static void a_message_over_four_mebibytes_is_refused_by_both_ends(void **state)
{
    char *zeros = calloc(1, MESSAGE_MAX_BYTES + 1);
    cJSON *json = cJSON_CreateObject();
    struct blobs blobs;
    struct message m;
    struct buf b;

    (void)state;
    buf_init(&b, 2 * MESSAGE_MAX_BYTES);
    blobs_init(&blobs, 2 * MESSAGE_MAX_BYTES);
    blobs_put(&blobs, zeros, MESSAGE_MAX_BYTES, NULL);
    assert_int_equal(message_encode(json, &blobs, NULL, "", &b), ERR_LIMIT);
    assert_int_equal(message_decode(zeros, MESSAGE_MAX_BYTES + 1, &m, NULL), ERR_LIMIT);
    cJSON_Delete(json);
    blobs_fini(&blobs);
    buf_fini(&b);
    free(zeros);
}

static void json_of_too_many_values_is_refused_before_it_is_parsed(void **state)
{
    const size_t n = 200000;
    unsigned char *bytes = malloc(12 + n);
    struct message m;

    (void)state;
    memcpy(bytes, "TUN1\1\0\0\0", 8);
    for (int i = 0; i < 4; i++)
        bytes[8 + i] = (unsigned char)(n >> (8 * i));
    memset(bytes + 12, ',', n);
    assert_int_equal(message_decode(bytes, 12 + n, &m, NULL), ERR_LIMIT);
    free(bytes);
}

static void a_key_file_is_made_once_and_read_by_its_owner_only(void **state)
{
    char dir[256], path[300];
    struct key a, b;
    struct why why = {""};

    (void)state;
    assert_int_equal(dir_temporary("tune-key", dir, sizeof dir, &why), ERR_OK);
    snprintf(path, sizeof path, "%s/farm.key", dir);
    assert_int_equal(key_load(path, &a, &why), ERR_NOT_FOUND);
    assert_int_equal(key_make(path, &why), ERR_OK);
    assert_int_equal(key_make(path, &why), ERR_EXISTS);
    assert_int_equal(key_load(path, &a, &why), ERR_OK);
    assert_int_equal(key_load(path, &b, &why), ERR_OK);
    assert_memory_equal(&a, &b, sizeof a);
    chmod(path, 0644);
    assert_int_equal(key_load(path, &a, &why), ERR_AUTH);
    chmod(path, 0600);
    assert_int_equal(file_replace(path, "short\n", 6, 0600, &why), ERR_OK);
    assert_int_equal(key_load(path, &a, &why), ERR_INPUT);
    dir_remove(dir);
}

/* Equal each time, and no two alike. */
static void a_farms_key_makes_those_of_its_roles(void **state)
{
    static const char *const identities[] = {"agent:a1", "builder:a1", "user:a1", "user:a2", "tuner:a1", "admin:a1"};
    char dir[256], path[300];
    struct key farm, made[6], again;
    struct why why = {""};

    (void)state;
    assert_int_equal(dir_temporary("tune-key", dir, sizeof dir, &why), ERR_OK);
    snprintf(path, sizeof path, "%s/farm.key", dir);
    assert_int_equal(key_make(path, &why), ERR_OK);
    assert_int_equal(key_load(path, &farm, &why), ERR_OK);
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s/%d", dir, i);
        assert_int_equal(key_make_for(path, &farm, identities[i], &why), ERR_OK);
        assert_int_equal(key_load(path, &made[i], &why), ERR_OK);
        assert_string_equal(made[i].identity, identities[i]);
        key_derive(&farm, identities[i], &again);
        assert_memory_equal(again.bytes, made[i].bytes, sizeof again.bytes);
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(made[k].bytes, made[i].bytes, sizeof again.bytes);
    }
    snprintf(path, sizeof path, "%s/x", dir);
    assert_int_equal(key_make_for(path, &made[0], "user:a3", &why), ERR_INPUT);
    assert_int_equal(key_make_for(path, &farm, "user:", &why), ERR_INPUT);
    assert_int_equal(key_make_for(path, &farm, "root:a1", &why), ERR_INPUT);
    assert_int_equal(key_load(path, &again, &why), ERR_NOT_FOUND);
    dir_remove(dir);
}

/* As a file that only its owner may read, and of which no disk knows. */
static void a_key_is_lent_from_memory(void **state)
{
    char path[KEY_LENT_BYTES];
    struct key farm = {.bytes = {7}}, lent, same;
    struct why why = {""};

    (void)state;
    assert_int_equal(key_lend(&farm, "tuner:t", path, &why), ERR_OK);
    assert_memory_equal(path, "/proc/", 6);
    assert_int_equal(key_load(path, &lent, &why), ERR_OK);
    key_derive(&farm, "tuner:t", &same);
    assert_string_equal(lent.identity, "tuner:t");
    assert_memory_equal(lent.bytes, same.bytes, sizeof same.bytes);
    assert_int_equal(key_lend(&lent, "tuner:u", path, &why), ERR_INPUT);
    assert_int_equal(key_lend(&farm, "nobody", path, &why), ERR_INPUT);
}

/* A secret of two: any right of the group or of others, on its own, gives it away or lets it be changed. */
static void a_key_file_is_its_owners_alone(void **state)
{
    char dir[256], path[300];
    struct why why = {""};
    struct key own;

    (void)state;
    assert_int_equal(dir_temporary("tune-key", dir, sizeof dir, &why), ERR_OK);
    snprintf(path, sizeof path, "%s/farm.key", dir);
    assert_int_equal(key_make(path, &why), ERR_OK);
    for (int bit = 0; bit < 6; bit++) {
        assert_int_equal(chmod(path, 0600 | 1 << bit), 0);
        if (key_load(path, &own, &why) != ERR_AUTH)
            fail_msg("a key of mode 0%o is taken", 0600 | 1 << bit);
        assert_non_null(strstr(why.text, "expected mode 0600"));
    }
    for (int mode = 0400; mode <= 0700; mode += 0100) {
        assert_int_equal(chmod(path, (mode_t)mode), 0);
        assert_int_equal(key_load(path, &own, &why), ERR_OK);
    }
    dir_remove(dir);
}

static void names_have_no_markup_and_no_paths(void **state)
{
    (void)state;
    assert_true(name_is_sane("rk3399-mali"));
    assert_false(name_is_sane(""));
    assert_false(name_is_sane("a/b"));
    assert_false(name_is_sane("<b>"));
    assert_false(name_is_sane("01234567890123456789012345678901234567890123456789012345678901234"));
}

static void a_name_that_is_none_is_told_with_where_it_stands(void **state)
{
    struct why why = {""};

    (void)state;
    assert_int_equal(name_check("--key", "rk3399:gpu0+a@b_c.d-e", &why), ERR_OK);
    assert_string_equal(why.text, "");
    assert_int_equal(name_check("--key", "a b", &why), ERR_INPUT);
    assert_string_equal(why.text, "--key 'a b': expected 1 to 64 of letters, digits and . _ : @ + -");
    assert_true(name_is_sane("0123456789012345678901234567890123456789012345678901234567890123"));
}

/* A message of n empty-named blobs of one byte each. */
static enum err encode_blobs(int n, struct buf *out)
{
    cJSON *json = cJSON_CreateObject();
    struct blobs blobs;
    enum err e;

    blobs_init(&blobs, 10000);
    for (int i = 0; i < n; i++) {
        const unsigned char two[] = {(unsigned char)i, (unsigned char)(i >> 8)};

        blobs_put(&blobs, two, 2, NULL);
    }
    buf_init(out, MESSAGE_MAX_BYTES);
    e = message_encode(json, &blobs, NULL, "", out);
    blobs_fini(&blobs);
    cJSON_Delete(json);
    return e;
}

static void a_message_has_at_most_256_blobs(void **state)
{
    struct message m;
    struct why why = {""};
    struct buf b;

    (void)state;
    assert_int_equal(encode_blobs(MESSAGE_MAX_BLOBS, &b), ERR_OK);
    assert_int_equal(message_decode(b.data, b.len, &m, NULL), ERR_OK);
    assert_int_equal(m.n_blobs, MESSAGE_MAX_BLOBS);
    message_fini(&m);
    buf_fini(&b);
    assert_int_equal(encode_blobs(MESSAGE_MAX_BLOBS + 1, &b), ERR_LIMIT);
    buf_fini(&b);
    buf_init(&b, 10000);
    buf_append(&b, "TUN1\1\0\0\0\0\0\0\0", 12);
    buf_puts(&b, "{\"blobs\":[0");
    for (int i = 0; i < MESSAGE_MAX_BLOBS; i++)
        buf_puts(&b, ",0");
    buf_puts(&b, "]}");
    b.data[8] = (char)((b.len - 12) & 255);
    b.data[9] = (char)((b.len - 12) >> 8);
    assert_int_equal(message_decode(b.data, b.len, &m, &why), ERR_LIMIT);
    assert_string_equal(why.text, "257 blobs in a message: at most 256");
    buf_fini(&b);
}

/* A message is 4 MiB with all that belongs to it, to the byte. */
static void the_limit_of_a_message_counts_its_mac(void **state)
{
    const size_t n_around = 12 + 105; /* head, and the JSON around one blob of seven digits */
    unsigned char *zeros = calloc(1, MESSAGE_MAX_BYTES);
    struct message m;

    (void)state;
    for (int with_key = 0; with_key < 2; with_key++)
        for (size_t over = 0; over < 2; over++) {
            const size_t n = MESSAGE_MAX_BYTES - n_around - (with_key ? SHA256_BYTES : 0) + over;
            cJSON *json = cJSON_CreateObject();
            struct blobs blobs;
            struct buf b;
            enum err e;

            blobs_init(&blobs, MESSAGE_MAX_BYTES);
            blobs_put(&blobs, zeros, n, NULL);
            buf_init(&b, MESSAGE_MAX_BYTES + 64);
            e = message_encode(json, &blobs, with_key ? &key : NULL, "n", &b);
            assert_int_equal(b.len, MESSAGE_MAX_BYTES + over);
            assert_int_equal(e, over ? ERR_LIMIT : ERR_OK);
            if (!over) {
                assert_int_equal(message_decode(b.data, b.len, &m, NULL), ERR_OK);
                assert_int_equal(m.has_mac, with_key);
                message_fini(&m);
            }
            buf_fini(&b);
            blobs_fini(&blobs);
            cJSON_Delete(json);
        }
    free(zeros);
}

static void values_are_counted_up_to_65536(void **state)
{
    struct message m;

    (void)state;
    for (size_t n_more = 0; n_more < 2; n_more++) {
        const size_t n_values =
            MESSAGE_MAX_VALUES + n_more; /* the object, the list, and a comma each behind the first */
        struct buf b;

        buf_init(&b, 1 << 20);
        buf_append(&b, "TUN1\1\0\0\0\0\0\0\0", 12);
        buf_puts(&b, "{\"x\":[0");
        for (size_t i = 2; i < n_values; i++)
            buf_puts(&b, ",0");
        buf_puts(&b, "]}");
        for (int i = 0; i < 4; i++)
            b.data[8 + i] = (char)((b.len - 12) >> (8 * i) & 255);
        assert_int_equal(message_decode(b.data, b.len, &m, NULL), n_more ? ERR_LIMIT : ERR_OK);
        if (!n_more)
            message_fini(&m);
        buf_fini(&b);
    }
}

static void a_key_file_has_64_hex_digits_with_or_without_a_newline(void **state)
{
    static const char digits[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    static const char *const bad[] = {"", "\n", "00",
                                      "x00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"};
    char dir[256], path[300], text[200];
    struct why why = {""};
    struct key k;

    (void)state;
    assert_int_equal(dir_temporary("tune-key", dir, sizeof dir, &why), ERR_OK);
    snprintf(path, sizeof path, "%s/k", dir);
    for (int newlines = 0; newlines < 3; newlines++) {
        memset(&k, 0xff, sizeof k);
        snprintf(text, sizeof text, "%s%.*s", digits, newlines, "\n\n");
        assert_int_equal(file_replace(path, text, strlen(text), 0600, &why), ERR_OK);
        assert_int_equal(key_load(path, &k, &why), newlines < 2 ? ERR_OK : ERR_INPUT);
        for (int i = 0; newlines < 2 && i < 32; i++)
            assert_int_equal(k.bytes[i], i);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(file_replace(path, bad[i], strlen(bad[i]), 0600, &why), ERR_OK);
        assert_int_equal(key_load(path, &k, &why), ERR_INPUT);
    }
    snprintf(text, sizeof text, "%s%s%s", digits, digits, digits);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, &why), ERR_OK);
    assert_int_equal(key_load(path, &k, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "expected 64 hex digits, as `tune keygen` writes them"));
    dir_remove(dir);
}

/* Encoding appends: what the buffer had before is neither part of the message nor of its MAC. */
static void a_message_is_appended_behind_what_there_is(void **state)
{
    cJSON *json = cJSON_CreateObject();
    struct message m;
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    buf_puts(&b, "before");
    assert_int_equal(message_encode(json, NULL, &key, "nonce", &b), ERR_OK);
    assert_memory_equal(b.data, "beforeTUN1\1\0\0\0\2\0\0\0{}", 20);
    assert_int_equal(b.len, 20 + SHA256_BYTES);
    assert_int_equal(message_decode(b.data + 6, b.len - 6, &m, NULL), ERR_OK);
    assert_true(m.has_mac);
    assert_true(message_mac_is_right(b.data + 6, b.len - 6, &key, "nonce"));
    message_fini(&m);
    message_fini(NULL);
    cJSON_Delete(json);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_comes_out_as_it_went_in),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(a_changed_bit_is_refused_under_a_key),
        cmocka_unit_test(bad_lengths_and_heads_are_refused),
        cmocka_unit_test(a_message_over_four_mebibytes_is_refused_by_both_ends),
        cmocka_unit_test(json_of_too_many_values_is_refused_before_it_is_parsed),
        cmocka_unit_test(a_key_file_is_made_once_and_read_by_its_owner_only),
        cmocka_unit_test(a_farms_key_makes_those_of_its_roles),
        cmocka_unit_test(a_key_is_lent_from_memory),
        cmocka_unit_test(a_key_file_is_its_owners_alone),
        cmocka_unit_test(names_have_no_markup_and_no_paths),
        cmocka_unit_test(a_name_that_is_none_is_told_with_where_it_stands),
        cmocka_unit_test(a_message_has_at_most_256_blobs),
        cmocka_unit_test(the_limit_of_a_message_counts_its_mac),
        cmocka_unit_test(values_are_counted_up_to_65536),
        cmocka_unit_test(a_key_file_has_64_hex_digits_with_or_without_a_newline),
        cmocka_unit_test(a_message_is_appended_behind_what_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
