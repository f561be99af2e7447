/* SPDX-License-Identifier: MIT */
/* workload.h - an operator with all its sizes: one line of text, the same everywhere.
 * `operator dtype key=value ...`, keys in the operator's order, defaults left out. */
#ifndef TUNE_KERNELS_WORKLOAD_H
#define TUNE_KERNELS_WORKLOAD_H

#include "core/buf.h"
#include "core/err.h"
#include "runtime/dtype.h"

#include <stdbool.h>
#include <stdint.h>

#define WORKLOAD_MAX_KEYS 24
#define WORKLOAD_MAX_TEXT 1024
#define WORKLOAD_MAX_PARTS 6  /* of a key's value */
#define WORKLOAD_MAX_WORD 192 /* bytes of a text key's value, with the 0 at its end */

struct operator_desc;

struct workload {
    const struct operator_desc *op;
    enum dtype dtype;
    /* One entry per key of the operator: plain numbers in v[0]; a pair (stride, dilation) in v[0..1]; pad in v[0..3] =
     * top left bottom right; a word (layout, acc, epilogue) as its position in the key's list in v[0]; a fraction in
     * millionths in v[0]; a hash in v[0..3]; sizes in v[0..5], 0 behind the last. */
    struct {
        int64_t v[WORKLOAD_MAX_PARTS];
    } key[WORKLOAD_MAX_KEYS];
    char text[WORKLOAD_MAX_WORD]; /* of the key of kind text; an operator has one at the most */
};

/* ERR_INPUT names the key and what was expected (unknown operator: the operators there are; a missing key; c=0; a
 * window larger than the padded input; more than 64 bits; the same key twice). */
enum err workload_parse(const char *text, struct workload *out, struct why *why);

/* The canonical text: parse(text(w)) == w, and equal workloads have equal text. */
enum err workload_text(const struct workload *w, struct buf *out);

/* Does the workload's operator have this key? */
bool workload_has(const struct workload *w, const char *key);

/* The values that a key of an operator takes, in words: "1 to 4096", "lstm, gru", "0.000001 to 0.999999". */
struct operator_key;
void workload_key_range(const struct operator_key *key, struct buf *out);

/* How many sizes a key of that kind has: 0 when it was left out. */
int workload_n_sizes(const struct workload *w, const char *key);

/* The 64 hex digits of a hash key's parts. */
void workload_hash_text(const int64_t v[4], char hex[65]);

/* Value of an integer key by name, or of one part of a pair or pad (`i_part`); asserts that the operator has it. */
int64_t workload_get(const struct workload *w, const char *key);
int64_t workload_part(const struct workload *w, const char *key, int i_part);

/* Whole numbers of a byte, i8 or u8, with sums in i32; the type of their weights: i8 for both, of others the same. */
bool dtype_is_bytes(enum dtype t);
enum dtype dtype_of_weights(enum dtype t);

#endif
