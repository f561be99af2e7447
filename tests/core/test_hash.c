/* SPDX-License-Identifier: MIT */
/* Hashes against published vectors. */
#include "core/hash.h"

#include "core/entropy.h"
#include "core/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void sha256_gives_the_vectors_of_fips_180(void **state)
{
    static const struct {
        const char *text, *hex;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        assert_string_equal(sha256_of(vectors[i].text, strlen(vectors[i].text)).hex, vectors[i].hex);
    assert_string_equal(sha256_of(NULL, 0).hex, vectors[0].hex);
}

/* The whole message at once, and cut in two at every place. */
static void check_hmac(const void *key, size_t n_key, const char *message, const char *hex)
{
    const size_t n = strlen(message);
    uint8_t mac[SHA256_BYTES];
    char text[SHA256_HEX + 1];

    for (size_t cut = 0; cut <= n; cut++) {
        hmac_sha256(key, n_key, message, cut, message + cut, n - cut, mac);
        hex_encode(mac, sizeof mac, text);
        assert_string_equal(text, hex);
    }
    hmac_sha256(key, n_key, message, n, NULL, 0, mac);
    hex_encode(mac, sizeof mac, text);
    assert_string_equal(text, hex);
}

static void hmac_gives_the_vectors_of_rfc_4231(void **state)
{
    uint8_t key[131];

    (void)state;
    memset(key, 0x0b, 20);
    check_hmac(key, 20, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    check_hmac("Jefe", 4, "what do ya want for nothing?",
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    check_hmac(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First",
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void crc32c_gives_the_vectors_of_rfc_3720(void **state)
{
    uint8_t bytes[32];

    (void)state;
    assert_int_equal(crc32c("123456789", 9), 0xe3069283u);
    assert_int_equal(crc32c("", 0), 0);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(crc32c(bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc32c(bytes, 32), 0x62a8ab43u);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(crc32c(bytes, 32), 0x46dd794eu);
}

static void hex_is_strict(void **state)
{
    uint8_t bytes[2] = {9, 9};
    char text[5];

    (void)state;
    assert_int_equal(hex_decode("00ff", bytes, 2), ERR_OK);
    hex_encode(bytes, 2, text);
    assert_string_equal(text, "00ff");
    assert_int_equal(hex_decode("00f", bytes, 2), ERR_INPUT);
    assert_int_equal(hex_decode("00fg", bytes, 2), ERR_INPUT);
    assert_int_equal(hex_decode("00FF", bytes, 2), ERR_INPUT);
    assert_true(sha256_is_hex(sha256_of("x", 1).hex));
    assert_false(sha256_is_hex(sha256_of("x", 1).hex + 1));
    assert_false(sha256_is_hex("E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    assert_false(sha256_is_hex(NULL));
}

static void comparing_in_constant_time_compares(void **state)
{
    uint8_t a[16], b[16];

    (void)state;
    assert_int_equal(entropy_fill(NULL, a, sizeof a), ERR_OK);
    memcpy(b, a, sizeof b);
    assert_true(bytes_equal_ct(a, b, sizeof a));
    for (size_t i = 0; i < sizeof b; i++) {
        b[i] ^= (uint8_t)(1 << i % 8);
        assert_false(bytes_equal_ct(a, b, sizeof a));
        b[i] ^= (uint8_t)(1 << i % 8);
    }
    b[15] ^= 1;
    assert_true(bytes_equal_ct(a, b, 15));
}

/* FIPS 180's third vector, a million a: more than one piece of a file. */
static void a_file_is_hashed_and_measured_whole(void **state)
{
    static char million[1000000];
    char dir[256], path[300];
    struct sha256 sum = {""};
    struct why why = {""};
    int64_t n = -1;

    (void)state;
    memset(million, 'a', sizeof million);
    assert_int_equal(dir_temporary("hash", dir, sizeof dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/x", dir);
    assert_int_equal(sha256_of_file(path, &sum, &n, &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, path));
    assert_int_equal(file_replace(path, million, sizeof million, 0600, NULL), ERR_OK);
    assert_int_equal(sha256_of_file(path, &sum, &n, NULL), ERR_OK);
    assert_int_equal(n, sizeof million);
    assert_string_equal(sum.hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    assert_int_equal(file_replace(path, "", 0, 0600, NULL), ERR_OK);
    assert_int_equal(sha256_of_file(path, &sum, &n, NULL), ERR_OK);
    assert_int_equal(n, 0);
    assert_string_equal(sum.hex, sha256_of("", 0).hex);
    assert_int_equal(sha256_of_file(dir, &sum, &n, NULL), ERR_IO);
    dir_remove(dir);
}

/* By the definition: bit by bit, the polynomial turned round. */
static uint32_t crc_by_bits(const uint8_t *bytes, size_t n)
{
    uint32_t c = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        c ^= bytes[i];
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
    }
    return ~c;
}

static void crc32c_of_any_length_is_that_of_its_bits(void **state)
{
    uint8_t bytes[80];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + 200);
    for (size_t from = 0; from < 8; from++)
        for (size_t n = 0; from + n <= sizeof bytes; n++)
            assert_int_equal(crc32c(bytes + from, n), crc_by_bits(bytes + from, n));
}

static void hex_digits_stand_high_before_low(void **state)
{
    uint8_t bytes[8] = {0};
    char text[17];

    (void)state;
    assert_int_equal(hex_decode("0123456789abcdef", bytes, 8), ERR_OK);
    assert_memory_equal(bytes, "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
    hex_encode(bytes, 8, text);
    assert_string_equal(text, "0123456789abcdef");
    hex_encode("", 0, text);
    assert_string_equal(text, "");
    assert_int_equal(hex_decode("", bytes, 0), ERR_OK);
    assert_int_equal(hex_decode("012345", bytes, 2), ERR_INPUT);
    assert_int_equal(hex_decode("g0", bytes, 1), ERR_INPUT);
    assert_int_equal(hex_decode("/0", bytes, 1), ERR_INPUT); /* the bytes beside 0, 9, a and f */
    assert_int_equal(hex_decode(":0", bytes, 1), ERR_INPUT);
    assert_int_equal(hex_decode("`0", bytes, 1), ERR_INPUT);
    assert_memory_equal(bytes, "\x01\x23", 2); /* untouched by what was refused */
}

static void a_hash_s_name_has_64_digits(void **state)
{
    char text[SHA256_HEX + 2];

    (void)state;
    memset(text, '0', sizeof text);
    text[SHA256_HEX + 1] = '\0';
    assert_false(sha256_is_hex(text));
    text[SHA256_HEX] = '\0';
    assert_true(sha256_is_hex(text));
    text[SHA256_HEX - 1] = 'g';
    assert_false(sha256_is_hex(text));
    text[SHA256_HEX - 1] = '\0';
    assert_false(sha256_is_hex(text));
    assert_false(sha256_is_hex(""));
}

static enum err count_up(void *arg, void *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)out)[i] = (uint8_t)(0xa0 + i);
    *(size_t *)arg += n;
    return ERR_OK;
}

static enum err have_none(void *arg, void *out, size_t n)
{
    (void)arg;
    (void)out;
    (void)n;
    return ERR_IO;
}

static void entropy_comes_from_the_source_that_is_given(void **state)
{
    size_t n_asked = 0;
    const struct entropy counting = {count_up, &n_asked}, empty = {have_none, NULL};
    char text[129], other[129];
    uint8_t bytes[3];

    (void)state;
    assert_int_equal(entropy_hex(&counting, text, 8), ERR_OK);
    assert_string_equal(text, "a0a1a2a3");
    assert_int_equal(n_asked, 4);
    assert_int_equal(entropy_fill(&counting, bytes, 3), ERR_OK);
    assert_memory_equal(bytes, "\xa0\xa1\xa2", 3);
    assert_int_equal(entropy_fill(&empty, bytes, 3), ERR_IO);
    assert_int_equal(entropy_hex(&empty, text, 8), ERR_IO);
    assert_int_equal(entropy_hex(NULL, text, 128), ERR_OK);
    assert_int_equal(entropy_hex(NULL, other, 128), ERR_OK);
    assert_int_equal(strspn(text, "0123456789abcdef"), 128);
    assert_string_not_equal(text, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_vectors_of_fips_180),
        cmocka_unit_test(hmac_gives_the_vectors_of_rfc_4231),
        cmocka_unit_test(crc32c_gives_the_vectors_of_rfc_3720),
        cmocka_unit_test(hex_is_strict),
        cmocka_unit_test(comparing_in_constant_time_compares),
        cmocka_unit_test(a_file_is_hashed_and_measured_whole),
        cmocka_unit_test(crc32c_of_any_length_is_that_of_its_bits),
        cmocka_unit_test(hex_digits_stand_high_before_low),
        cmocka_unit_test(a_hash_s_name_has_64_digits),
        cmocka_unit_test(entropy_comes_from_the_source_that_is_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
