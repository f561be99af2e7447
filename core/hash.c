/* SPDX-License-Identifier: MIT */
#include "core/hash.h"

#include <errno.h>
#include <mbedtls/md.h>
#include <mbedtls/sha256.h>
#include <mbedtls/version.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void digest(const void *bytes, size_t n, uint8_t out[SHA256_BYTES])
{
#if MBEDTLS_VERSION_MAJOR >= 3
    (void)mbedtls_sha256(bytes, n, out, 0);
#else
    (void)mbedtls_sha256_ret(bytes, n, out, 0);
#endif
}

struct sha256 sha256_of(const void *bytes, size_t n)
{
    uint8_t raw[SHA256_BYTES];
    struct sha256 h = {""};

    digest(n ? bytes : "", n, raw);
    hex_encode(raw, sizeof raw, h.hex);
    return h;
}

struct sha256_sum {
    mbedtls_md_context_t c;
};

struct sha256_sum *sha256_begin(void)
{
    struct sha256_sum *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    mbedtls_md_init(&s->c);
    if (mbedtls_md_setup(&s->c, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 0) == 0 && mbedtls_md_starts(&s->c) == 0)
        return s;
    sha256_end(s, NULL);
    return NULL;
}

void sha256_add(struct sha256_sum *s, const void *bytes, size_t n)
{
    mbedtls_md_update(&s->c, bytes, n);
}

void sha256_end(struct sha256_sum *s, struct sha256 *out)
{
    uint8_t raw[SHA256_BYTES];

    if (!s)
        return;
    if (out) {
        mbedtls_md_finish(&s->c, raw);
        hex_encode(raw, sizeof raw, out->hex);
    }
    mbedtls_md_free(&s->c);
    free(s);
}

/* Feeds all of an open file; false when reading fails. */
static bool feed(FILE *f, struct sha256_sum *s, int64_t *n_bytes)
{
    static _Thread_local unsigned char piece[65536];
    size_t n;

    *n_bytes = 0;
    while ((n = fread(piece, 1, sizeof piece, f)) > 0) {
        sha256_add(s, piece, n);
        *n_bytes += (int64_t)n;
    }
    return !ferror(f);
}

enum err sha256_of_file(const char *path, struct sha256 *out, int64_t *n_bytes, struct why *why)
{
    FILE *f = fopen(path, "re");
    struct sha256_sum *s;
    bool ok;

    if (!f)
        return why_set(why, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path, strerror(errno));
    s = sha256_begin();
    ok = s && feed(f, s, n_bytes);
    sha256_end(s, ok ? out : NULL);
    fclose(f);
    return ok ? ERR_OK : why_set(why, ERR_IO, "%s: reading failed", path);
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool sha256_is_hex(const char *text)
{
    size_t n = 0;

    if (!text)
        return false;
    for (; text[n]; n++)
        if (n == SHA256_HEX || nibble(text[n]) < 0)
            return false;
    return n == SHA256_HEX;
}

void hmac_sha256(const void *key, size_t n_key, const void *a, size_t n_a, const void *b, size_t n_b,
                 uint8_t out[SHA256_BYTES])
{
    mbedtls_md_context_t c;

    mbedtls_md_init(&c);
    memset(out, 0, SHA256_BYTES);
    if (mbedtls_md_setup(&c, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 1) == 0) {
        mbedtls_md_hmac_starts(&c, key, n_key);
        mbedtls_md_hmac_update(&c, a, n_a);
        if (n_b)
            mbedtls_md_hmac_update(&c, b, n_b);
        mbedtls_md_hmac_finish(&c, out);
    }
    mbedtls_md_free(&c);
}

bool bytes_equal_ct(const void *a, const void *b, size_t n)
{
    const volatile uint8_t *x = a, *y = b;
    uint8_t diff = 0;

    for (size_t i = 0; i < n; i++)
        diff |= (uint8_t)(x[i] ^ y[i]);
    return diff == 0;
}

/* crc_table[k][b]: the register after byte b and k bytes of zero, so that eight bytes are taken at a time. */
static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void make_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;

        for (int k = 0; k < 8; k++)
            c = (c >> 1) ^ (UINT32_C(0x82f63b78) & -(c & 1));
        crc_table[0][i] = c;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++)
            crc_table[k][i] = (crc_table[k - 1][i] >> 8) ^ crc_table[0][crc_table[k - 1][i] & 0xff];
}

static uint32_t crc_eight(uint32_t c, const uint8_t *p)
{
    return crc_table[7][(c ^ p[0]) & 0xff] ^ crc_table[6][((c >> 8) ^ p[1]) & 0xff] ^
           crc_table[5][((c >> 16) ^ p[2]) & 0xff] ^ crc_table[4][(c >> 24) ^ p[3]] ^ crc_table[3][p[4]] ^
           crc_table[2][p[5]] ^ crc_table[1][p[6]] ^ crc_table[0][p[7]];
}

uint32_t crc32c(const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    uint32_t c = UINT32_MAX;

    pthread_once(&crc_once, make_crc_table);
    for (; n >= 8; n -= 8, p += 8)
        c = crc_eight(c, p);
    for (size_t i = 0; i < n; i++)
        c = (c >> 8) ^ crc_table[0][(c ^ p[i]) & 0xff];
    return ~c;
}

void hex_encode(const void *bytes, size_t n, char *out)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = "0123456789abcdef"[p[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[p[i] & 15];
    }
    out[2 * n] = '\0';
}

enum err hex_decode(const char *text, void *out, size_t n)
{
    uint8_t *p = out;

    if (strlen(text) != 2 * n)
        return ERR_INPUT;
    for (size_t i = 0; i < 2 * n; i++)
        if (nibble(text[i]) < 0)
            return ERR_INPUT;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(nibble(text[2 * i]) << 4 | nibble(text[2 * i + 1]));
    return ERR_OK;
}
