/* SPDX-License-Identifier: MIT */
/* expression.h - the text of an element-wise chain, "mul(a,sigmoid(a))", as a list of calls: functions of inputs a to
 * d, of decimal numbers and of one another. */
#ifndef TUNE_KERNELS_ELTWISE_EXPRESSION_H
#define TUNE_KERNELS_ELTWISE_EXPRESSION_H

#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELTWISE_MAX_INPUTS 4
#define ELTWISE_MAX_TEXT 191 /* characters of an expression in a workload */
#define ELTWISE_MAX_NODES 96 /* as many as fit into a text key */
#define ELTWISE_NUMBER_BYTES 24

/* What of a function is exact in f32. ALWAYS: results are arguments, or whole numbers that no rounding moves. STEPS:
 * the same, but a rounded argument may fall on the other side of a step. ROUNDED: one rounding, exact on whole numbers
 * while they are below 2^24. NEVER: the rest. */
enum eltwise_exact { EXACT_ALWAYS, EXACT_STEPS, EXACT_ROUNDED, EXACT_NEVER };

/* Where inputs are drawn from: anywhere; above 0, round 2: roots, logarithms, quotients; between -1 and 1. */
enum eltwise_domain { DOMAIN_ALL, DOMAIN_POSITIVE, DOMAIN_WITHIN_1 };

struct eltwise_function {
    const char *name; /* f_NAME in functions.clh */
    int n_args;
    enum eltwise_exact exact;
    enum eltwise_domain domain;
    double relative, absolute;        /* error of a device's result, in units of 2^-24 of |result| and of 1 */
    double (*of)(const double *x);    /* the definition */
    double (*bound)(const double *x); /* the largest |result| for arguments up to these; NULL: the largest argument's */
};

extern const struct eltwise_function eltwise_functions[]; /* ended by name == NULL */

/* One input, number or call. */
struct eltwise_node {
    int input;    /* 0 .. 3, else -1 */
    int function; /* of eltwise_functions; -1: input or number */
    int args[3];  /* earlier nodes */
    float number;
};

struct eltwise {
    struct eltwise_node nodes[ELTWISE_MAX_NODES]; /* equal ones are one; the last one is the result */
    int n_nodes, n_inputs;
};

/* Reads an expression. ERR_INPUT, naming the place and what was expected: unknown function, wrong number of arguments,
 * an input left out (c without b), a number not in its shortest form. ERR_LIMIT: calls nested more than 32 deep. */
enum err eltwise_parse(const char *text, struct eltwise *out, struct why *why);

/* The result of inputs a to d, in double. */
double eltwise_value(const struct eltwise *chain, const double *inputs);

/* A number as expressions have it: a whole number below 10^9 without a point, else the shortest text that is read as
 * the same float. Finite. */
void eltwise_number(float v, char out[ELTWISE_NUMBER_BYTES]);

/* By name; NULL when there is none. */
const struct eltwise_function *eltwise_find(const char *name, size_t n);

#endif
