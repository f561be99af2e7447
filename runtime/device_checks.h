/* SPDX-License-Identifier: MIT */
/* device_checks.h - what backends that run kernels have in common: limits known before anything is built, the bands
 * behind buffers, the log of a build. Included by the backends only. */
#ifndef TUNE_RUNTIME_DEVICE_CHECKS_H
#define TUNE_RUNTIME_DEVICE_CHECKS_H

#include "core/err.h"
#include "runtime/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before and behind each buffer stands a band that no kernel may write. What kernels may only read has other bytes
 * there than what they may write, so that a copied band shows too; both are NaN or far off, so that reading them shows
 * in the results. As wide as several rows of an image: what misses by a row or a tile does not fly over it. */
#define GUARD_BYTES ((size_t)128 << 10)

#define LOAD_LOG_BYTES ((size_t)16 << 10) /* of a report's log */

/* Bytes of a buffer without its bands. */
size_t buffer_bytes(const struct program_buffer *b);

/* The byte that the bands of a buffer hold under a poison. */
unsigned char guard_byte(const struct program_buffer *b, int poison);

/* ERR_WRONG, naming the buffer, when a band read back holds anything else; guard: [n], the band behind the buffer or
 * the one before it. */
enum err guard_check(const struct program_buffer *b, int poison, bool is_behind, const unsigned char *guard, size_t n,
                     struct why *why);

/* An API's name for people. */
const char *device_api_words(const char *api);

/* Does the device have all the program asks for: its API, extensions, group size, local memory (local_max: of a group,
 * at most)? ERR_LIMITS with both numbers. */
enum err check_needs(const struct device_desc *d, const struct program *p, int64_t local_max, struct why *why);

/* Do the buffers fit, one by one and together? ERR_LIMITS. */
enum err check_memory(const struct device_desc *d, const struct program *p, struct why *why);

/* Is a group of a launch within the device's sizes? ERR_LIMITS. */
enum err check_group(const struct device_desc *d, const struct program_launch *l, struct why *why);

/* Appends "[id]" and a compiler's words to the report's log; white space only adds nothing, what is over LOAD_LOG_BYTES
 * is cut. */
void report_add_log(struct load_report *report, const char *id, const char *text);

/* The line of a compiler's log that says most: the first with "error", else the first that is not empty. */
void log_first_words(const char *log, char *out, size_t n_out);

#endif
