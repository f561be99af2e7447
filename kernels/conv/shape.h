/* SPDX-License-Identifier: MIT */
/* shape.h - sizes that the operators of the convolution family share (conv2d, depthwise_conv2d, deformable_conv2d,
 * sparse_conv2d), their keys, checks, tensors and what a template may say of what it supports. */
#ifndef TUNE_KERNELS_CONV_SHAPE_H
#define TUNE_KERNELS_CONV_SHAPE_H

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/epilogue.h"
#include "kernels/images.h"
#include "kernels/operator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* y[n,k,p,q] = sum over c,r,s of x[n, c0(k) + c, p*stride_h + r*dil_h - top, q*stride_w + s*dil_w - left] * w[k,c,r,s];
 * c runs over the c / groups channels of k's group, which begin at c0(k) = k / (k_all / groups) * (c_all / groups). */
struct conv_shape {
    int64_t n, c, h, w, k, r, s;
    int64_t stride_h, stride_w, dil_h, dil_w, top, left, bottom, right, groups;
    int64_t p, q; /* output rows and columns; < 1 when the window is larger than the padded input */
    /* Channels stored together: 1 (nchw), or 4 8 16 (nchw4c ..: [n][c/4][h][w][4]), or all of them (nhwc). */
    int64_t x_lanes, y_lanes;
    int64_t layout; /* of images_layouts, where the channels allow */
};

/* Words of the key "acc". */
extern const char *const conv_accs[];

/* Entries of the operators' tables of keys, in their order: the input, k, the window and its steps, the rest. */
#define CONV_KEY(...)                                                                                                  \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
#define CONV_SIZE_KEY(name, help) CONV_KEY(name, KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, help)
#define CONV_STEP_KEY(name, help) CONV_KEY(name, KEY_PAIR, false, 1, 4096, 1, NULL, help)
#define CONV_WORD_KEY(name, words, help) CONV_KEY(name, KEY_WORD, false, 0, 0, 0, words, help)
#define CONV_INPUT_KEYS                                                                                                \
    CONV_SIZE_KEY("n", "batch"), CONV_SIZE_KEY("c", "input channels"), CONV_SIZE_KEY("h", "input rows"),               \
        CONV_SIZE_KEY("w", "input columns")
#define CONV_K_KEY CONV_SIZE_KEY("k", "output channels")
#define CONV_WINDOW_KEYS                                                                                               \
    CONV_KEY("r", KEY_INT, true, 1, 4096, 0, NULL, "window rows"),                                                     \
        CONV_KEY("s", KEY_INT, true, 1, 4096, 0, NULL, "window columns"),                                              \
        CONV_STEP_KEY("stride", "step of the window"),                                                                 \
        CONV_KEY("pad", KEY_PAD, false, 0, 4096, 0, NULL, "zeros around the input"),                                   \
        CONV_STEP_KEY("dilation", "distance between window elements")
#define CONV_GROUPS_KEY CONV_KEY("groups", KEY_INT, false, 1, IMAGES_MAX_SIZE, 1, NULL, "groups of channels")
#define CONV_LAYOUT_KEY CONV_WORD_KEY("layout", images_layouts, "layout of input and output")
#define CONV_ACC_KEY CONV_WORD_KEY("acc", conv_accs, "type of the sums")
#define CONV_EPILOGUE_KEY CONV_WORD_KEY("epilogue", epilogue_words, "what is applied to the sums")

/* A depthwise workload has k = c * mult and groups = c; one without a key k (pooling) has k = groups = c. Without a key
 * dilation: 1. */
struct conv_shape conv_shape_of(const struct workload *w);

/* Rows (or columns) of x that n outputs, `apart` rows from one to the next, see through a window. */
int64_t conv_reach(int64_t n, int64_t apart, int64_t window, int64_t dilation);

static inline struct images conv_output(const struct conv_shape *s)
{
    return (struct images){s->n, s->k, s->p, s->q, s->y_lanes};
}

double conv_terms(const struct conv_shape *s); /* products of one sum */
double conv_flops(const struct workload *w);

/* operator->flops_least: of its products those that do not fall on padding. */
double conv_flops_least(const struct workload *w);

/* Empty outputs, groups that do not divide, tensors over 2^31-1 elements, layouts that fit no tensor, epilogues:
 * ERR_INPUT, ERR_LIMIT with words that begin with the operator's name. */
enum err conv_check(const struct workload *w, struct why *why);

/* x, w, y (layouts as above; weights [k][c/groups][r][s]) and the epilogue's, with their fills. */
size_t conv_tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS]);

/* What a template can do beyond f32, nchw, one group, no epilogue. */
enum {
    CONV_F16 = 1,       /* storage in half; sums in float, or in half where sums_in_half() */
    CONV_I8 = 2,        /* int8 with int32 sums */
    CONV_GROUPS = 4,    /* groups > 1 */
    CONV_LAYOUTS = 8,   /* x and y in channel blocks */
    CONV_EPILOGUE = 16, /* all of kernels/epilogue.h */
    CONV_BF16 = 32,     /* storage in bfloat16, sums in float; on CUDA */
    CONV_NHWC = 128,    /* all channels of a pixel together, in x and y */
    CONV_U8 = 64        /* unsigned activations with zero points, weights int8, int32 sums */
};

/* ERR_UNSUPPORTED with words naming what this template (by its id) lacks for `w`. */
enum err conv_within(const char *template_id, unsigned caps, const struct workload *w, struct why *why);

/* ERR_UNSUPPORTED on a CUDA device, for a template of one work-item a group; `others` names templates for GPUs. */
enum err conv_not_cuda(const char *template_id, const char *others, const struct device_desc *d, struct why *why);

/* The type of SUM in kernels for `w`: f32, f16 where sums are made in half, i32 for i8. */
enum dtype conv_sums(const struct workload *w, const struct device_desc *d);

/* size_n size_c (of a group: size_cg) size_h size_w size_k (of a group: size_kg) size_r size_s size_p size_q stride_h
 * stride_w dil_h dil_w groups_n x_lanes y_lanes, elem_bytes and sum_elem_bytes of elements in memory and of sums, lanes
 * max_group max_x max_y max_z, max_grid (groups along y or z), max_local as constants. */
enum err conv_add_constants(const struct conv_shape *z, enum dtype elem, enum dtype sum, const struct device_desc *d,
                            struct space *s, struct why *why);

/* These constants of `w`, then the lists: knobs, quantities, constraints. */
enum err conv_space(const struct workload *w, const struct device_desc *d, const struct build_knob *knobs,
                    const char *const (*quantities)[2], const char *const *constraints, struct space *s,
                    struct why *why);

/* Groups of kernels that pack or unpack (PACK_RUN_OF in conv.clh): work-items, and the elements they do together.
 * Defines them for the module added last. A CPU has one work-item for every `row` elements, others one for each. */
struct conv_pack {
    int64_t group, run;
};
struct conv_pack conv_pack_define(struct build *b, int64_t row);

/* Packs the weights, argument 1, into `n` words by `kernel` of the module added last, PACK_ITEMS work-items a group and
 * a word each. Gives the buffer. */
int conv_pack_weights(struct build *b, const char *kernel, enum dtype word, int64_t n);

/* Defines of kernels/conv/conv.clh: NB C H W K R S, SH SW, DH DW, PT PL, P Q, GROUPS, XL YL. */
void conv_define_shape(struct build *b, const struct conv_shape *s);

#endif
