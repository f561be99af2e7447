/* SPDX-License-Identifier: MIT */
/* hash.h - SHA-256 and HMAC-SHA-256 (over mbedTLS), CRC-32C, hex. */
#ifndef TUNE_CORE_HASH_H
#define TUNE_CORE_HASH_H

#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_HEX 64 /* characters, without the NUL */

/* A SHA-256 as lower-case hex text with its NUL: the name of a blob, a program, a fingerprint. */
struct sha256 {
    char hex[SHA256_HEX + 1];
};

struct sha256 sha256_of(const void *bytes, size_t n);

/* The same of bytes that come piece by piece: NULL where memory is short; sha256_end takes it, NULL `out` drops it. */
struct sha256_sum;
struct sha256_sum *sha256_begin(void);
void sha256_add(struct sha256_sum *s, const void *bytes, size_t n);
void sha256_end(struct sha256_sum *s, struct sha256 *out);

/* Of a whole file, read in pieces; and its size. ERR_NOT_FOUND, ERR_IO. */
enum err sha256_of_file(const char *path, struct sha256 *out, int64_t *n_bytes, struct why *why);

/* True when `text` is exactly 64 lower-case hex digits. */
bool sha256_is_hex(const char *text);

/* HMAC-SHA-256 (RFC 2104) of two pieces one after the other; `b` may be NULL with n_b 0. */
void hmac_sha256(const void *key, size_t n_key, const void *a, size_t n_a, const void *b, size_t n_b,
                 uint8_t out[SHA256_BYTES]);

/* Compares in a time that does not depend on the content. */
bool bytes_equal_ct(const void *a, const void *b, size_t n);

/* CRC-32C (Castagnoli), as in iSCSI: crc32c("123456789") == 0xe3069283. */
uint32_t crc32c(const void *bytes, size_t n);

/* Lower-case hex of `n` bytes into `out[2*n+1]`. */
void hex_encode(const void *bytes, size_t n, char *out);

/* Exactly 2*n hex digits into n bytes; ERR_INPUT otherwise. */
enum err hex_decode(const char *text, void *out, size_t n);

#endif
