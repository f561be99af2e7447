/* SPDX-License-Identifier: MIT */
/* The dense forms: templates of conv2d over the weights with their zeros, what sparse kernels are compared with. */
#include "core/err.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/sparse_conv2d/sparse.h"

#include <assert.h>
#include <stdlib.h>

/* The weights as the buffer behind x, where the templates of conv2d expect them; no launch names a buffer yet. */
static void add_weights(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    struct program_buffer last;
    float *w = NULL;

    b->e = sparse_weights(b->w, &w, b->why);
    sparse_buffer(b, "w", DTYPE_F32, sparse_n_weights(&z), w);
    free(w);
    if (b->e)
        return;
    assert(b->p->n_buffers > 1 && b->p->n_launches == 0);
    last = b->p->buffers[b->p->n_buffers - 1];
    for (size_t i = b->p->n_buffers - 1; i > 1; i--)
        b->p->buffers[i] = b->p->buffers[i - 1];
    b->p->buffers[1] = last;
}

static enum fit baseline(enum fit of)
{
    return of == FIT_NONE ? FIT_NONE : FIT_BASELINE;
}

static enum fit direct_fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return baseline(conv2d_direct_tile.fit(w, d, why));
}

static enum fit gemm_fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return baseline(conv2d_im2col_gemm.fit(w, d, why));
}

static enum fit naive_fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return baseline(conv2d_naive.fit(w, d, why));
}

static enum err direct_space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return conv2d_direct_tile.space(w, d, s, why);
}

static enum err gemm_space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return conv2d_im2col_gemm.space(w, d, s, why);
}

static enum err naive_space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return conv2d_naive.space(w, d, s, why);
}

static enum err direct_fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                                struct config *out)
{
    return conv2d_direct_tile.fallback(w, d, s, out);
}

static enum err gemm_fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                              struct config *out)
{
    return conv2d_im2col_gemm.fallback(w, d, s, out);
}

static enum err naive_fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                               struct config *out)
{
    return conv2d_naive.fallback(w, d, s, out);
}

static void direct_program(struct build *b)
{
    add_weights(b);
    conv2d_direct_tile.program(b);
}

static void gemm_program(struct build *b)
{
    add_weights(b);
    conv2d_im2col_gemm.program(b);
}

static void naive_program(struct build *b)
{
    add_weights(b);
    conv2d_naive.program(b);
}

const struct template sparse_conv2d_dense_direct = {
    .id = "sparse_conv2d/dense_direct",
    .version = 1,
    .summary = "conv2d/direct_tile over the weights with their zeros: a baseline",
    .fit = direct_fit,
    .space = direct_space,
    .fallback = direct_fallback,
    .program = direct_program,
};

const struct template sparse_conv2d_dense_gemm = {
    .id = "sparse_conv2d/dense_gemm",
    .version = 1,
    .summary = "conv2d/im2col_gemm over the weights with their zeros: a baseline",
    .fit = gemm_fit,
    .space = gemm_space,
    .fallback = gemm_fallback,
    .program = gemm_program,
};

const struct template sparse_conv2d_naive = {
    .id = "sparse_conv2d/naive",
    .version = 1,
    .summary = "one output a work-item, from the definition, zeros too: the baseline",
    .fit = naive_fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = naive_program,
};
