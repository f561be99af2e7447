/* dense.h - what the files of this operator share. */
#ifndef TUNE_KERNELS_DENSE_DENSE_H
#define TUNE_KERNELS_DENSE_DENSE_H

#include "kernels/expect.h"
#include "kernels/operator.h"
#include "kernels/template.h"

/* y[m,n] = sum over k of x[m,k] * w[n,k]. */
struct dense_shape {
    int64_t m, n, k;
};

struct dense_shape dense_shape_of(const struct workload *w);

/* f32 without an epilogue: what all templates of today compute. ERR_UNSUPPORTED with words. */
enum err dense_supported(const struct workload *w, struct why *why);

/* Defines M N K. */
enum err dense_define_shape(struct program_module *m, const struct dense_shape *s);

/* Expected outputs from the definition (ref.c), in double. */
enum err dense_reference(const struct workload *w, struct expected *e);

extern const struct operator operator_dense;
extern const struct template dense_naive, dense_gemm_packed, dense_gemm_direct;

#endif
