/* SPDX-License-Identifier: MIT */
/* strided_copy.h - this operator and its templates. */
#ifndef TUNE_KERNELS_STRIDED_COPY_STRIDED_COPY_H
#define TUNE_KERNELS_STRIDED_COPY_STRIDED_COPY_H

#include "kernels/glue/glue.h"
#include "kernels/template.h"

#include <stdint.h>

#define STRIDED_COPY_RANK 6

enum strided_copy_mode { COPY_CONSTANT, COPY_EDGE, COPY_REFLECT, COPY_WRAP };

/* A dimension of y, 0 the innermost: `n` places of x `stride` elements apart, and what is put around them. */
struct strided_dim {
    int64_t n, stride, before, after;
};

struct strided_copy {
    int64_t n_x, at; /* elements of x; of them the one that place 0 of all dimensions has */
    struct strided_dim dim[STRIDED_COPY_RANK];
    enum strided_copy_mode mode;
};

struct strided_copy strided_copy_of(const struct workload *w);

/* Elements of y, and along one of its dimensions. */
int64_t strided_copy_elems(const struct strided_copy *s);
int64_t strided_copy_length(const struct strided_copy *s, int dim);

/* The module added last gets the defines of strided_copy/strided_copy.clh, and a launch over x and y. */
void strided_copy_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group);

extern const struct operator_desc operator_strided_copy;
extern const struct template strided_copy_tile, strided_copy_naive;

#endif
