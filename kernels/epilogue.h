/* SPDX-License-Identifier: MIT */
/* epilogue.h - what may follow the sums of a convolution or a matrix product in the same kernel: an attribute of the
 * workload. In this order: bias, addition of a residual tensor, ReLU or ReLU6, requantisation to int8.
 * docs/operators.md. */
#ifndef TUNE_KERNELS_EPILOGUE_H
#define TUNE_KERNELS_EPILOGUE_H

#include "kernels/operator.h"

/* RELU6: what is below 0 is 0, what is above 6 is 6; never with RELU or REQUANT. */
enum { EPILOGUE_BIAS = 1, EPILOGUE_RELU = 2, EPILOGUE_ADD = 4, EPILOGUE_REQUANT = 8, EPILOGUE_RELU6 = 16 };

extern const char *const epilogue_words[]; /* for the operator's key "epilogue"; NULL-ended */

/* The word of a set of bits, one of epilogue_words. */
const char *epilogue_word(unsigned bits);

/* The bits of a word by its position in epilogue_words. */
unsigned epilogue_bits(int64_t word);

/* The bits of a workload whose operator has the key "epilogue". */
unsigned epilogue_of(const struct workload *w);

/* The output's type: i8 after requantisation, else that of the sums (i32 for i8). */
enum dtype epilogue_output_dtype(const struct workload *w);

/* requant needs dtype i8: ERR_INPUT. */
enum err epilogue_check(const struct workload *w, struct why *why);

/* Appends "bias"[k] (f32, f16, i32 for i8), "residual" (shaped as `y`, of the type of the sums) and "scale"[k] (f32) as
 * far as the workload has them; the new number of tensors. `terms`: products of one sum, for the size of the scale. */
size_t epilogue_tensors(const struct workload *w, int64_t k, double terms, const struct tensor *y, struct tensor *out,
                        size_t n);

/* What the kernel must write for a sum (before conversion to the output's type): f32 arithmetic where requantising,
 * (int8) round to nearest even of (float)v * scale, saturated. Parts that the bits do not name are ignored. */
double epilogue_apply(unsigned bits, double sum, double bias, double residual, double scale);

/* Linear in the sums: projections can be computed by linearity. */
bool epilogue_is_linear(unsigned bits);

#endif
