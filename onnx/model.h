/* SPDX-License-Identifier: MIT */
/* model.h - a model while it is imported: its values, the layers made so far, and what operators need of both. */
#ifndef TUNE_ONNX_MODEL_H
#define TUNE_ONNX_MODEL_H

#include "core/err.h"
#include "kernels/graph.h"
#include "onnx/import.h"
#include "onnx/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONNX_MAX_REPEATED (1 << 18) /* numbers that a smaller constant becomes */

enum onnx_kind {
    ONNX_UNMADE,   /* no node has made it yet */
    ONNX_NOT_HERE, /* an unsupported node would make it */
    ONNX_CONSTANT,
    ONNX_ACTIVATION
};

struct onnx_view;

/* What DequantizeLinear made a constant of; zero NULL: 0. */
struct onnx_dequantised {
    const struct onnx_value *x, *scale, *zero;
    int axis;
    int64_t block;
};

/* Weights of 2, 4 or 8 bits, each block of a row of k with a scale and a zero point (onnx/nbits.c). */
struct onnx_blocks;

struct onnx_value {
    const char *name;
    enum onnx_kind kind;
    struct graph_shape shape;
    size_t n_readers; /* nodes, and one for the model's output */
    bool is_output;
    bool is_float; /* else whole numbers or truth values, computed as floats */
    /* a constant: `v` where it was computed, else the tensor's elements, else what was dequantised */
    struct onnx_tensor tensor;
    double *v;
    const struct onnx_blocks *blocks;           /* it is unpacked where it is read; NULL: no */
    bool is_uniform;                            /* every element is v[0] */
    const struct onnx_dequantised *dequantised; /* it was whole numbers; NULL: no */
    /* an activation: the elements of a layer's output, in their order whatever the shape, or a view of them */
    int i_layer;
    bool sole;                    /* who reads it is the only reader of that layer's output */
    const struct onnx_view *view; /* NULL: none */
    const struct onnx_view *seen; /* of one that was copied: the view that it was, NULL: none; of that layer */
    int i_seen;
    const Onnx__NodeProto *maker; /* NULL: no node */
    enum onnx_role role;          /* of that node */
    int i_row;                    /* 1 + the row that counts it; 0: none */
};

/* What a layer made of QuantizeLinear or DequantizeLinear does with one scale and zero point. */
struct onnx_quant {
    bool quantises;
    float scale;
    int zero, lo, hi; /* numbers from lo to hi; of DequantizeLinear both are 0 */
};

/* A tensor of weights that is written as it is here. */
struct onnx_named {
    const char *name;
    int64_t n;
    double *v;
};

/* A line of the graph to be, and its weights; a constant's are those of the layers that read it. */
struct onnx_layer {
    struct graph_node node;
    const struct onnx_value *w; /* a constant, read when it is written; NULL: of n_w ones */
    bool w_transposed;          /* of a dense layer: [k][n] */
    int64_t w_first, w_columns; /* of a dense layer: of w's n those from `first` on; 0, 0: all */
    double *factor, *bias;      /* [n_bias] of each channel: w times factor; NULL: no weights */
    int64_t n_w, n_bias;
    float *scale; /* of layers of bytes, whose weights and bias are whole numbers: tensors `scale` and `zero` */
    int32_t *zero;
    int64_t n_scales;
    int n_zeros;
    double minus;                   /* is taken off each weight */
    const struct onnx_named *named; /* of recurrent layers: w, r, bias, n_w numbers in all; NULL: none */
    int i_moved;                    /* 1 + the layer whose elements this one alone reads, and moves; 0: it computes */
    const struct onnx_quant *quant; /* NULL: it is neither of the two; else nothing is computed in it besides */
    bool live;                      /* the output depends on it */
    bool is_missing;                /* it stands for a node that nothing computes */
};

/* Element i of a layer's weights. */
double onnx_weight_at(const struct onnx_layer *l, int64_t i);

struct onnx_import {
    struct onnx_file file;
    struct onnx_value *values, **by_name;
    size_t n_values;
    struct onnx_layer *layers;
    size_t n_layers, cap_layers;
    struct onnx_row *rows;
    size_t n_rows, cap_rows;
    int i_row;                         /* 1 + that of the node read last; 0: it is not counted */
    const struct onnx_origin *origins; /* [nodes] (expand.h); NULL, until they are ordered: all are their own */
    int64_t opset;
    const struct onnx_options *options; /* while it is read */
    int outputs[GRAPH_MAX_OUTPUTS];     /* layers */
    size_t n_outputs;
    const struct onnx_quantised *quantised; /* what quantise.c has made bytes; NULL: nothing */
    size_t n_quantised;
    bool is_whole;   /* all outputs are computed */
    char words[256]; /* why the node at hand, or an output, is not supported */
    enum err failed; /* no memory */
};

/* An operator: turns a node into layers or values. Returns ONNX_UNSUPPORTED with onnx_refuse. */
typedef enum onnx_role onnx_op(struct onnx_import *m, const Onnx__NodeProto *node);

/* Inputs that are views are made dense before an operator runs that does not take them; of VIEWS what has something
 * around. */
enum onnx_takes { ONNX_TAKES_DENSE, ONNX_TAKES_VIEWS, ONNX_TAKES_ALL };

struct onnx_operator {
    const char *name;
    onnx_op *run;
    const char *attributes; /* that it knows, with blanks around each; a node with another one is not supported */
    enum onnx_takes takes;
};
extern const struct onnx_operator onnx_operators[]; /* ended by name == NULL */

/* The operators of attention.c, concat.c, quantised.c, eltwise.c, fold.c, move.c, layers.c, normalize.c, pick.c,
 * places.c, reduce.c, resize.c, transposed.c and windows.c. */
onnx_op onnx_eltwise, onnx_equal, onnx_is_inf, onnx_where, onnx_mod, onnx_prelu, onnx_gelu, onnx_normalization,
    onnx_log_softmax, onnx_lrn, onnx_group_normalization, onnx_lp_normalization, onnx_size_of, onnx_range, onnx_arg,
    onnx_hardmax, onnx_cum_sum, onnx_trilu, onnx_top_k, onnx_one_hot, onnx_eye_like, onnx_gather_elements,
    onnx_reverse_sequence, onnx_gather_nd, onnx_scatter_elements, onnx_scatter_nd;
onnx_op onnx_binary, onnx_cast, onnx_alpha, onnx_constant, onnx_constant_of_shape, onnx_shape_of, onnx_gather,
    onnx_concat, onnx_slice, onnx_expand, onnx_reshape, onnx_flatten, onnx_squeeze, onnx_unsqueeze, onnx_transpose,
    onnx_identity, onnx_dropout, onnx_split, onnx_tile, onnx_pad, onnx_depth_to_space, onnx_space_to_depth;
onnx_op onnx_choice, onnx_unpack_blocks, onnx_attention, onnx_multi_head_attention, onnx_rotary_embedding,
    onnx_group_query_part, onnx_group_query_rotary, onnx_group_query_attention;
onnx_op onnx_conv, onnx_gemm, onnx_matmul, onnx_batch_norm, onnx_activation, onnx_pool, onnx_global_pool, onnx_reduce,
    onnx_softmax, onnx_resize, onnx_conv_transpose, onnx_quantize, onnx_dequantize, onnx_recurrent;

/* Is a product of two activations the last one of an attention, which is found by the nodes before it? Then those have
 * become part of it, *role is that of the product, and the node's output is made. */
bool onnx_attention_ends(struct onnx_import *m, const Onnx__NodeProto *node, enum onnx_role *role);

/* The same of a quotient or product that ends a normalization of rows. */
bool onnx_norm_ends(struct onnx_import *m, const Onnx__NodeProto *node, enum onnx_role *role);

/* A normalization without a bias. */
bool onnx_is_rms(const struct onnx_layer *l);

/* Is a concatenation of two activations what rotary positions need of a tensor, its second half times -1 in front of
 * its first? Then the node's output is made, or m->failed is set. */
bool onnx_halves_exchanged(struct onnx_import *m, const Onnx__NodeProto *node, int axis);

/* The node's output: the numbers of x along all axes from `axis` on brought to one size, by a layer whose weights are
 * constants of as many, or NULL. False where they are no such constants. */
bool onnx_norm_rows(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x, int axis,
                    double epsilon, bool centres, const struct onnx_value *const weights[2], enum onnx_role *role);

/* Puts the nodes, whose values are listed, each behind those that it reads, in the file's order else; of a cycle one is
 * left in front. ERR_LIMIT: more memory than a model of this size may take. */
enum err onnx_order_nodes(struct onnx_import *m, struct why *why);

/* The node that made a value has become part of a later one: it counts as folded. */
void onnx_fold_maker(struct onnx_import *m, const struct onnx_value *v);

/* The element of a tensor of shape `of` that stands at element i of one that it is broadcast to. */
int64_t onnx_source_of(const struct graph_shape *of, const struct graph_shape *to, int64_t i);

enum onnx_role onnx_refuse(struct onnx_import *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Input or output `i` of a node; NULL where it is left out. An input is made: a constant or an activation. */
struct onnx_value *onnx_in(const struct onnx_import *m, const Onnx__NodeProto *node, size_t i);
struct onnx_value *onnx_out(const struct onnx_import *m, const Onnx__NodeProto *node, size_t i);

/* Attributes; the last argument where there is none of that name. */
int64_t onnx_attribute_int(const Onnx__NodeProto *node, const char *name, int64_t otherwise);
double onnx_attribute_real(const Onnx__NodeProto *node, const char *name, double otherwise);
const Onnx__AttributeProto *onnx_attribute(const Onnx__NodeProto *node, const char *name);

/* Of Onnx__TensorProto__DataType: floats; whole numbers of 8 bits or more and truth values. */
bool onnx_is_float_type(int64_t t);
bool onnx_is_whole_type(int64_t t);

/* Element i of what was whole numbers. */
double onnx_dequantised_at(const struct onnx_dequantised *d, int64_t i);

/* A constant that DequantizeLinear made of 4 bits in blocks of rows, [k][n], becomes such weights, too. */
void onnx_join_blocks(struct onnx_import *m, struct onnx_value *v);

/* Element i of weights in blocks, [k][n]. */
double onnx_blocks_at(const struct onnx_blocks *b, int64_t i);

/* May weights [k][n] stay as they are, of 4 bits, for a product with so many rows? Then the layer is dense4, with these
 * words. */
bool onnx_keeps_blocks(const struct onnx_value *w, int64_t n_rows, char words[GRAPH_WORDS_BYTES]);

/* What a dense4 layer keeps of its weights: how many bytes, scales or zero points (0: all are 8), and the i-th. */
enum onnx_kept { ONNX_KEPT_SCALES, ONNX_KEPT_BYTES, ONNX_KEPT_ZEROS, N_ONNX_KEPT };
int64_t onnx_kept_blocks(const struct onnx_layer *l, enum onnx_kept what);
double onnx_kept_at(const struct onnx_layer *l, enum onnx_kept what, int64_t i);

/* Element i of a constant; as a whole number, false where it is none of at most 2^53. */
double onnx_at(const struct onnx_value *v, int64_t i);
bool onnx_int_at(const struct onnx_value *v, int64_t i, int64_t *out);

/* At most `most` whole numbers, of the attribute or else of the constant input; false: neither, too many, or no whole
 * numbers. *n = 0 where both are left out. */
bool onnx_ints(const struct onnx_import *m, const Onnx__NodeProto *node, const char *attribute, size_t i_input,
               int64_t *out, size_t most, size_t *n);

/* Sizes out of a constant vector; false where they are none. */
bool onnx_constant_shape(const struct onnx_value *v, struct graph_shape *out);

/* An attribute `axis` that names one of `rank` axes; false otherwise. */
bool onnx_axis(const Onnx__NodeProto *node, int64_t otherwise, int rank, int *out);

/* Makes a value a constant of zeros, to be written; NULL: over the limit on memory, m->failed is set. */
double *onnx_make_constant(struct onnx_import *m, struct onnx_value *out, const struct graph_shape *shape,
                           bool is_float);

/* A constant of zeros that a node needs, to be written in its `v`; NULL: m->failed is set. */
struct onnx_value *onnx_new_constant(struct onnx_import *m, const char *name, const struct graph_shape *shape,
                                     bool is_float);

/* Makes a value the output of a layer, or the elements of another value in another shape. */
void onnx_make_activation(struct onnx_value *out, int i_layer, const struct graph_shape *shape);
void onnx_make_view(struct onnx_value *out, const struct onnx_value *of, const struct graph_shape *shape);

/* A new layer that reads layer `x` (-1: none), named after the node; -1: m->failed is set. It has no weights and no
 * shape yet. */
int onnx_new_layer(struct onnx_import *m, const Onnx__NodeProto *node, enum graph_op op, int x);

/* Gives a layer weights: a constant of n_w elements, or NULL for ones; factors of 1, a bias of zeros. False: m->failed
 * is set. */
bool onnx_give_weights(struct onnx_import *m, struct onnx_layer *l, const struct onnx_value *w, int64_t n_w,
                       int64_t n_bias);

/* The layer that gives an activation's elements in a shape that has as many: that of the value itself, or one that
 * only reshapes it. -1: m->failed is set. */
int onnx_layer_as(struct onnx_import *m, const struct onnx_value *v, const struct graph_shape *shape);

/* A layer that is a constant of the model in a shape, for an operator that reads constants; -1: m->failed, or words: it
 * is too large. */
int onnx_constant_layer(struct onnx_import *m, const struct onnx_value *v, const struct graph_shape *shape);

/* A constant as an activation, for operators that read none: it is copied in each run. False: m->failed, or words. */
bool onnx_as_activation(struct onnx_import *m, const struct onnx_value *v, struct onnx_value *out);

/* The shape of what a layer gives, from its keys and inputs, and the node's output made of it. ONNX_UNSUPPORTED with
 * words where they do not fit, else `role`. */
enum onnx_role onnx_finish(struct onnx_import *m, const Onnx__NodeProto *node, int i_layer, enum onnx_role role);

bool onnx_is_activation(const struct onnx_value *v); /* NULL is none */

/* Could what follows be done in the kernel of the layer that gives `v`? */
bool onnx_is_open(const struct onnx_import *m, const struct onnx_value *v);

/* A constant of one number a channel, or left out. */
bool onnx_is_vector(const struct onnx_value *v, int64_t n);

/* A layer that multiplies each channel of images, which layer x gives, and adds to it, 1x1 depthwise; its weights are 1
 * and 0. -1: m->failed. */
int onnx_new_scale(struct onnx_import *m, const Onnx__NodeProto *node, int x);

/* Makes the output of a node that nothing computes a layer that only has its shape; false: the shape is not known. */
bool onnx_stand_in(struct onnx_import *m, const Onnx__NodeProto *node);

/* The node's output: places of an axis of x, rows of a table, by indices of any order; both are made dense. */
enum onnx_role onnx_gather_rows(struct onnx_import *m, const Onnx__NodeProto *node, struct onnx_value *x,
                                struct onnx_value *at, int axis);

/* Two leading dimensions of a tensor, `steps` of them along `time` (0 or 1), sequences along the other: the first
 * lengths[b] steps of sequence b turned round. The number of each run behind both that then stands there, a constant
 * where the lengths are; else the node's output is used. NULL: m->failed, or words. */
struct onnx_value *onnx_steps_turned(struct onnx_import *m, const Onnx__NodeProto *node,
                                     const struct onnx_value *lengths, int64_t steps, int time);

/* An element-wise layer of values, a, b .. in the text, and behind them a number. */
enum onnx_role onnx_eltwise_values(struct onnx_import *m, const Onnx__NodeProto *node, const char *text,
                                   const struct onnx_value *const *values, size_t n, double number);

/* The node's output, which is a product so far that gave `role`, times alpha, and with beta times the third input, of
 * any shape that is repeated to it. */
enum onnx_role onnx_add_third(struct onnx_import *m, const Onnx__NodeProto *node, enum onnx_role role, double alpha);

/* A reduction of one kind over axes, a bit each, which are kept as 1: the node's output. */
enum onnx_role onnx_reduce_axes(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                const char *kind, unsigned axes);

/* The node's output: x and a constant combined, op one of A S M D; the constant is aligned and repeated as ONNX does.
 */
enum onnx_role onnx_with_constant(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                  const struct onnx_value *constant, char op, bool constant_first);

/* The node's output: x times a constant of the sizes of axes from `axis` on, plus another; NULL: 1, 0. */
enum onnx_role onnx_scale_along(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                int axis, const struct onnx_value *factor, const struct onnx_value *term);

/* The node's output: an axis of x times a constant matrix w, [places][size of the axis]. */
enum onnx_role onnx_multiply_along(struct onnx_import *m, const Onnx__NodeProto *node, const struct onnx_value *x,
                                   int axis, const struct onnx_value *w);

/* A pool over all dimensions behind the channels, which are 3 or more in all: of any number as one row; `keeps`: those
 * dimensions, as 1. */
enum onnx_role onnx_pool_all(struct onnx_import *m, const Onnx__NodeProto *node, bool is_avg, bool keeps);

/* An element-wise layer of the node's first input and numbers, "clip(a,b,c)" of two. */
enum onnx_role onnx_eltwise_of(struct onnx_import *m, const Onnx__NodeProto *node, const char *text,
                               const double *numbers, size_t n);

/* Marks the layers that outputs depend on; all inputs are arguments of the network. */
void onnx_mark_live(struct onnx_import *m);

/* Layers between quantised values as layers of bytes (bytes.c), of those that are live; what nobody reads then is as it
 * was. m->failed: no memory. */
void onnx_join_bytes(struct onnx_import *m);

/* Elementwise Add, Sub, Mul, Div, Concat and Gather, where an input is no constant. */
onnx_op onnx_layer_binary, onnx_layer_concat, onnx_gather_layer;

#endif
