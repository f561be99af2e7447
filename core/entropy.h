/* SPDX-License-Identifier: MIT */
/* entropy.h - unpredictable bytes as a passed-in thing, so that tests can repeat them. */
#ifndef TUNE_CORE_ENTROPY_H
#define TUNE_CORE_ENTROPY_H

#include "core/err.h"

#include <stddef.h>

struct entropy {
    enum err (*fill)(void *arg, void *out, size_t n); /* all of `out`; ERR_IO */
    void *arg;
};

/* Bytes of a source, or, where `e` is NULL, of the operating system's generator (getrandom). ERR_IO when there are
 * none.
 */
enum err entropy_fill(const struct entropy *e, void *out, size_t n);

/* The same as lower-case hex: n_hex digits (even, at most 128) and a NUL. ERR_IO. */
enum err entropy_hex(const struct entropy *e, char *out, size_t n_hex);

#endif
