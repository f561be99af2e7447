/* conv2d.h - what the files of this operator share: sizes with the derived ones, and what the templates here support.
 */
#ifndef TUNE_KERNELS_CONV2D_CONV2D_H
#define TUNE_KERNELS_CONV2D_CONV2D_H

#include "kernels/expect.h"
#include "kernels/operator.h"
#include "kernels/template.h"

/* Sizes of a convolution: y[n,k,p,q] = sum x[n,c, p*stride_h + r*dil_h - top, q*stride_w + s*dil_w - left] w[k,c,r,s].
 */
struct conv_shape {
    int64_t n, c, h, w, k, r, s;
    int64_t stride_h, stride_w, dil_h, dil_w, top, left, bottom, right, groups;
    int64_t p, q; /* output rows and columns; < 1 when the window is larger than the padded input */
};

struct conv_shape conv_shape_of(const struct workload *w);

/* f32, nchw, one group, f32 accumulation, no epilogue: what all templates of today compute. ERR_UNSUPPORTED with words.
 */
enum err conv_supported(const struct workload *w, struct why *why);

/* Defines NB C H W K R S, strides SH SW, dilations DH DW, padding PT PL and the output's P Q. */
enum err conv_define_shape(struct program_module *m, const struct conv_shape *s);

/* Expected outputs from the definition (ref.c), in double. */
enum err conv_reference(const struct workload *w, struct expected *e);

extern const struct operator operator_conv2d;
extern const struct template conv2d_naive, conv2d_direct_tile, conv2d_spatial_pack, conv2d_im2col_gemm;

#endif
