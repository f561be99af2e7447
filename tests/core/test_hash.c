/* SPDX-License-Identifier: MIT */
/* Hashes against published vectors. */
#include "core/hash.h"

#include "core/entropy.h"

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
    b[15] ^= 1;
    assert_false(bytes_equal_ct(a, b, sizeof a));
    assert_true(bytes_equal_ct(a, b, 15));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_vectors_of_fips_180), cmocka_unit_test(hmac_gives_the_vectors_of_rfc_4231),
        cmocka_unit_test(crc32c_gives_the_vectors_of_rfc_3720), cmocka_unit_test(hex_is_strict),
        cmocka_unit_test(comparing_in_constant_time_compares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
