/* SPDX-License-Identifier: MIT */
/* eltwise.h - this operator and its templates: y = a function of up to four tensors, element by element. */
#ifndef TUNE_KERNELS_ELTWISE_ELTWISE_H
#define TUNE_KERNELS_ELTWISE_ELTWISE_H

#include "core/err.h"
#include "kernels/build.h"
#include "kernels/eltwise/expression.h"
#include "kernels/expect.h"
#include "kernels/template.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELTWISE_DIMS WORKLOAD_MAX_PARTS

/* y[d0]..[d5], row-major, sizes of 1 in front; elements from one index of an input to the next, 0 where it has but one.
 */
struct eltwise_shape {
    int64_t y[ELTWISE_DIMS], stride[ELTWISE_MAX_INPUTS][ELTWISE_DIMS];
    int64_t rows, inner; /* all but the last dimension, the last one */
};

/* Of a workload that is right: its expression and shape. */
void eltwise_of(const struct workload *w, struct eltwise *chain, struct eltwise_shape *shape);

/* Is every result a whole number below 2^24 (f16: 2^11) where inputs are whole numbers up to `most`? */
bool eltwise_is_whole(const struct eltwise *chain, enum dtype t, double most);

/* Is every result rounded once at the most, so that all devices give the same? */
bool eltwise_is_rounded_once(const struct eltwise *chain);

/* Has it a result of at most one rounding for all numbers? Sums, products of two, the larger of two ... */
bool eltwise_takes_any(const struct workload *w);

/* Is nothing rounded? Of signs, steps, comparisons and the larger of two; so results need no room beside inputs. */
bool eltwise_only_compares(const struct workload *w);

/* The fill of input i_input (0: a) that is far from usual where the chain has a result of it: floats from 2^-30 to
 * 2^10, of powers with whole exponents whole numbers of either sign; of logarithms, roots, quotients and arcs the
 * widest of some ranges of exponents, up to 2^-120 to 2^120; `normal` where there is none. */
struct program_fill eltwise_wide_fill(const struct workload *w, int i_input, const struct program_fill *normal);

/* The fill of input i_input of numbers that somebody thinks of: 0, 1, those of the chain and what is next to them, up
 * to 1e35, or of inputs that differ in their last places, where these are sums, maxima, comparisons; `normal` where
 * that has no results. */
struct program_fill eltwise_special_fill(const struct workload *w, int i_input, const struct program_fill *normal);

/* operator->reference: interprets the expression in double; scales are bounds of the error, carried through it. */
enum err eltwise_reference(const struct workload *w, enum exact_data data, struct expected *e);

/* Adds a module of this file with the chain's function behind it, and the shape's defines. */
void eltwise_module(struct build *b, const char *name);

/* A launch of the module added last over all tensors. */
void eltwise_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group);

/* template->numerics. */
void eltwise_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout);

extern const struct operator_desc operator_eltwise;
extern const struct template eltwise_rows, eltwise_naive;

#endif
