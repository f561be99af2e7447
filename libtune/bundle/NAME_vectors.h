/* SPDX-License-Identifier: MIT */
/* NAME_vectors.h - test vectors of a bundle: inputs by rule, expected outputs by value, for every layer. The values
 * come from a double-precision computation of the operator's definition, not from any kernel. For tests; a deployment
 * need not link it. */
#ifndef CAPS_VECTORS_H
#define CAPS_VECTORS_H

#include "NAME.h"

#ifdef __cplusplus
extern "C" {
#endif

enum NAME_vector_kind { CAPS_VECTOR_VALUE, CAPS_VECTOR_INT, CAPS_VECTOR_NORMAL };

/* Content of one tensor: a constant lo; integers uniform in [lo, hi], times step where that is not 0; or normal with
 * mean lo, standard deviation hi. */
struct NAME_vector_fill {
    const char *tensor;
    enum NAME_vector_kind kind;
    uint64_t seed;
    double lo, hi, step;
};

/* One check: with these inputs, these elements of `tensor` have these values within tolerance * scale. */
struct NAME_vector {
    const char *workload, *pass;
    const struct NAME_vector_fill *fills;
    int n_fills;
    const char *tensor;
    double tolerance; /* 0 = equal */
    size_t n;
    const uint64_t *indices;
    const double *values;
    const double *scale; /* NULL = 1 */
};

/* What a comparison found: the worst element, its place, both values. */
struct NAME_vector_result {
    size_t n_wrong;
    uint64_t i_worst;
    double got, wanted, worst; /* worst = |got - wanted| / scale */
};

/* All vectors of the bundle; their number goes to *n. */
const struct NAME_vector *NAME_vectors_all(size_t *n);

/* Writes the content of tensor `t` for this vector into `data` (t->n_bytes). CAPS_BAD_ARGUMENT when the vector does not
 * name the tensor or its dtype is not f32, f16, i8, u8 or i32. */
int NAME_vectors_fill(const struct NAME_vector *v, const struct NAME_tensor *t, void *data);

/* Compares `data`, the content of tensor `t` after a run. True (1) when every element is right. */
int NAME_vectors_check(const struct NAME_vector *v, const struct NAME_tensor *t, const void *data,
                       struct NAME_vector_result *out);

#ifdef __cplusplus
}
#endif

#endif
