/* SPDX-License-Identifier: MIT */
/* epilogue.h - what may follow the sums of a convolution or a matrix product in the same kernel: an attribute of the
 * workload. In this order: bias, addition of a residual tensor, ReLU or another activation, requantisation to bytes; or
 * bias, requantisation, addition of a residual tensor of bytes with both rescaled, ReLU. docs/operators.md. */
#ifndef TUNE_KERNELS_EPILOGUE_H
#define TUNE_KERNELS_EPILOGUE_H

#include "core/err.h"
#include "kernels/operator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* JOIN: what was requantised is added to a residual, and ReLU follows that; never without REQUANT. RELU6: what is below
 * 0 is 0, what is above 6 is 6. It and those behind it (EPILOGUE_CURVES) stand in ReLU's place, one of them, and never
 * with REQUANT. */
enum {
    EPILOGUE_BIAS = 1,
    EPILOGUE_RELU = 2,
    EPILOGUE_ADD = 4,
    EPILOGUE_REQUANT = 8,
    EPILOGUE_JOIN = 16,
    EPILOGUE_RELU6 = 32,
    EPILOGUE_HARD_SWISH = 64,    /* v * hard_sigmoid(v) */
    EPILOGUE_SWISH = 128,        /* v * sigmoid(v) */
    EPILOGUE_HARD_SIGMOID = 256, /* min(max(v / 6 + 1/2, 0), 1) */
    EPILOGUE_SIGMOID = 512,      /* 1 / (1 + e^-v) */
    EPILOGUE_CURVES = EPILOGUE_HARD_SWISH | EPILOGUE_SWISH | EPILOGUE_HARD_SIGMOID | EPILOGUE_SIGMOID
};

/* Sums of the exact pass are multiples of it where a curve follows: each is straight there, to the last bit. */
double epilogue_unit(const struct workload *w);

extern const char *const epilogue_words[]; /* for the operator's key "epilogue"; NULL-ended */

/* The word of a set of bits, one of epilogue_words. */
const char *epilogue_word(unsigned bits);

/* The bits of a word by its position in epilogue_words. */
unsigned epilogue_bits(int64_t word);

/* The bits of a workload whose operator has the key "epilogue". */
unsigned epilogue_of(const struct workload *w);

/* The output's type: the inputs' after requantisation, else that of the sums (i32 for i8 and u8). */
enum dtype epilogue_output_dtype(const struct workload *w);

/* requant needs dtype i8 or u8, what stands in ReLU's place floats: ERR_INPUT. */
enum err epilogue_check(const struct workload *w, struct why *why);

/* The tensors of the exact pass are multiples of epilogue_unit: gives that of weights and what is added. Appends
 * "bias"[k] (f32, f16, i32 for bytes), "residual" (shaped as `y`, of the type of the sums, of a join that of y),
 * "scale"[k] (f32, positive), "sum_scale"[2] (f32, of a join: that of what was requantised, of the residual) and "zero"
 * (i32, of u8: zero points of x, of what is requantised, of the residual, of the sum, as far as there are such) as far
 * as the workload has them; the new number of tensors. `terms`: products of one sum, for the size of the scale.
 */
size_t epilogue_tensors(const struct workload *w, int64_t k, double terms, const struct tensor *y, struct tensor *out,
                        size_t n);

/* What belongs to one sum; zero: NULL where bytes are signed, else the tensor of that name. */
struct epilogue_values {
    double bias, residual, scale;
    const float *sum_scale, *zero;
};

/* What the kernel must write for a sum (before conversion to the output's type): f32 arithmetic where requantising,
 * round to nearest even of (float)v * scale, to which the zero point is added, saturated; where joining the same of
 * fma(r, sum_scale[1], q * sum_scale[0]), q and r without their zero points. Parts that the bits do not name are
 * ignored. */
double epilogue_apply(unsigned bits, double sum, const struct epilogue_values *v);

/* The tensor "zero" of u8 alone: n zero points, from 0 to 255. */
struct tensor zero_points(int64_t n);

/* Sums and products of bytes that lie near halves, where every rounding shows: 0.5 and the last place of a float above.
 */
#define SCALE_NEAR_HALF (0.5 + 0x1p-24)

/* What the size of an output adds to the scale of its tolerance: 1 behind a sigmoid, which is round 1/2 where all terms
 * are near 0, else 0. */
double epilogue_scale(unsigned bits);

/* The scale where v, of this scale, is surely cut off by a ReLU or ReLU6: what comes out then is the bound itself, bit
 * for bit. Else `scale`. */
double epilogue_settled(unsigned bits, double v, double scale);

/* Linear in the sums: projections can be computed by linearity. */
bool epilogue_is_linear(unsigned bits);

#endif
