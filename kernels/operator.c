/* SPDX-License-Identifier: MIT */
#include "kernels/operator.h"

#include "core/err.h"
#include "kernels/add/add.h"
#include "kernels/attention/attention.h"
#include "kernels/batch_gemm/batch_gemm.h"
#include "kernels/concat/concat.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/deformable_conv2d/deformable_conv2d.h"
#include "kernels/dense/dense.h"
#include "kernels/dense4/dense4.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/eltwise/eltwise.h"
#include "kernels/gather/gather.h"
#include "kernels/norm/norm.h"
#include "kernels/pool2d/pool2d.h"
#include "kernels/quantize/quantize.h"
#include "kernels/reduce/reduce.h"
#include "kernels/resize2d/resize2d.h"
#include "kernels/rnn/rnn.h"
#include "kernels/softmax/softmax.h"
#include "kernels/sparse_conv2d/sparse.h"
#include "kernels/strided_copy/strided_copy.h"
#include "kernels/transform/transform.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const struct operator_desc *const operator_table[] = {
    &operator_batch_gemm,
    &operator_conv2d,
    &operator_dense,
    &operator_dense4,
    &operator_deformable_conv2d,
    &operator_depthwise_conv2d,
    &operator_rnn,
    &operator_sparse_conv2d,
    &operator_pool2d,
    &operator_add,
    &operator_concat,
    &operator_softmax,
    &operator_strided_copy,
    &operator_transform,
    &operator_eltwise,
    &operator_reduce,
    &operator_gather,
    &operator_resize2d,
    &operator_attention,
    &operator_norm,
    &operator_quantize,
    /* the next one here */
    NULL,
};

const struct operator_desc *operator_find(const char *name)
{
    for (size_t i = 0; operator_table[i]; i++)
        if (strcmp(operator_table[i]->name, name) == 0)
            return operator_table[i];
    return NULL;
}

enum err operator_add_tensors(const struct workload *w, struct program *p)
{
    struct tensor list[OPERATOR_MAX_TENSORS];
    const size_t n = w->op->tensors(w, list);

    assert(n > 0 && n <= OPERATOR_MAX_TENSORS);
    for (size_t i = 0; i < n; i++) {
        struct program_buffer *b = program_add_buffer(p, list[i].name, list[i].role, list[i].dtype, list[i].n_elems);

        if (!b)
            return ERR_NOMEM;
        b->n_dims = list[i].n_dims;
        memcpy(b->shape, list[i].shape, sizeof b->shape);
        snprintf(b->layout, sizeof b->layout, "%s", list[i].layout);
        b->fill = list[i].random;
    }
    return ERR_OK;
}

double operator_bytes_min(const struct workload *w)
{
    struct tensor list[OPERATOR_MAX_TENSORS];
    const size_t n = w->op->tensors(w, list);
    double bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes += (double)list[i].n_elems * (double)dtype_bytes(list[i].dtype);
    return bytes;
}
