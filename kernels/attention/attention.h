/* SPDX-License-Identifier: MIT */
/* attention.h - this operator, its shape, its templates. Formulas and contract: docs/operators.md. */
#ifndef TUNE_KERNELS_ATTENTION_ATTENTION_H
#define TUNE_KERNELS_ATTENTION_ATTENTION_H

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/expect.h"
#include "kernels/operator.h"
#include "kernels/template.h"

#include <stdbool.h>
#include <stdint.h>

struct attention_shape {
    int64_t b, heads, group; /* `group` heads of queries share one of keys and values */
    int64_t q, k, d, dv;     /* queries, keys, head sizes of q and k, of v and y */
    int64_t past;            /* causal: query i sees keys 0 .. i + past */
    bool causal, lengths;
    bool rows_first; /* [b][q][heads][d] in place of [b][heads][q][d] */
    bool mask, mask_b, mask_h, mask_q;
    double scale;
};

struct attention_shape attention_shape_of(const struct workload *w);

/* Keys that query i sees, but for those beyond a length. */
int64_t attention_seen(const struct attention_shape *s, int64_t i);

/* Pairs of a query and a key that it sees, of one head. */
double attention_pairs(const struct attention_shape *s);

/* Integers whose products, scaled, are at least 128 apart where they differ (beyond that powers of e are 0 in f32):
 * what the exact pass multiplies q (*of_q) and k (*of_k) by. */
void attention_exact_steps(const struct workload *w, double *of_q, double *of_k);

/* Expected outputs from the definition (ref.c), in double; changes fills by e->mode. */
enum err attention_reference(const struct workload *w, enum exact_data data, struct expected *e);

/* template->numerics: a class of its own. */
void attention_numerics(const struct workload *w, const struct space *s, const struct config *c,
                        struct numerics *inout);

/* Defines of attention.clh for the module added last. */
void attention_define(struct build *b);

/* A launch of the module added last over all tensors, and behind them `more` (ended by -1; NULL = none). */
void attention_launch(struct build *b, const char *kernel, const int64_t grid[3], const int64_t block[3],
                      const int *more);

extern const struct operator_desc operator_attention;
extern const struct template attention_packed, attention_tiled, attention_naive;

#endif
