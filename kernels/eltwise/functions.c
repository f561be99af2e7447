/* SPDX-License-Identifier: MIT */
/* The functions of element-wise chains: definitions in double, and how far devices may be off. Errors of add to select
 * are those of IEEE 754; of quotients, roots, powers, logarithms, angles and areas those of OpenCL 1.2, table 7.4 (2.5,
 * 3, 16, 3 to 4, 4 to 5 units of 2^-23); of those that functions.clh computes itself, of its polynomials, doubled. */
#include "kernels/eltwise/expression.h"

#include <math.h>

#define FUNCTION(name, expression)                                                                                     \
    static double name(const double *x)                                                                                \
    {                                                                                                                  \
        return expression;                                                                                             \
    }

FUNCTION(neg, -x[0])
FUNCTION(absolute_of, fabs(x[0]))
FUNCTION(sign, (double)((x[0] > 0) - (x[0] < 0)))
FUNCTION(floor_of, floor(x[0]))
FUNCTION(ceil_of, ceil(x[0]))
FUNCTION(round_of, rint(x[0]))
FUNCTION(relu, fmax(x[0], 0))
FUNCTION(square_root, sqrt(x[0]))
FUNCTION(power_of_e, exp(x[0]))
FUNCTION(logarithm, log(x[0]))
FUNCTION(reciprocal, 1 / x[0])
FUNCTION(sigmoid, 1 / (1 + exp(-x[0])))
FUNCTION(hard_swish, x[0] * fmin(fmax(x[0] / 6 + 0.5, 0), 1))
FUNCTION(tangent, tanh(x[0]))
FUNCTION(sine, sin(x[0]))
FUNCTION(cosine, cos(x[0]))
FUNCTION(sine_over_cosine, tan(x[0]))
FUNCTION(arc_sine, asin(x[0]))
FUNCTION(arc_cosine, acos(x[0]))
FUNCTION(arc_tangent, atan(x[0]))
FUNCTION(hyperbolic_sine, sinh(x[0]))
FUNCTION(hyperbolic_cosine, cosh(x[0]))
FUNCTION(area_sine, asinh(x[0]))
FUNCTION(area_cosine, acosh(x[0]))
FUNCTION(area_tangent, atanh(x[0]))
FUNCTION(swish, x[0] / (1 + exp(-x[0])))
FUNCTION(softplus, fmax(x[0], 0) + log1p(exp(-fabs(x[0]))))
FUNCTION(softsign, x[0] / (1 + fabs(x[0])))
FUNCTION(error_function, erf(x[0]))
FUNCTION(gelu, 0.5 * x[0] * erfc(-x[0] * M_SQRT1_2))
FUNCTION(gelu_tanh, 0.5 * x[0] * (1 + tanh(sqrt(2 / M_PI) * (x[0] + 0.044715 * x[0] * x[0] * x[0]))))
FUNCTION(add, x[0] + x[1])
FUNCTION(sub, x[0] - x[1])
FUNCTION(mul, x[0] * x[1])
FUNCTION(quotient, x[0] / x[1])
FUNCTION(power, pow(x[0], x[1]))
FUNCTION(least, fmin(x[0], x[1]))
FUNCTION(largest, fmax(x[0], x[1]))
FUNCTION(is_less, (double)(x[0] < x[1]))
FUNCTION(is_equal, (double)(x[0] == x[1]))
FUNCTION(leaky_relu, x[0] < 0 ? x[0] * x[1] : x[0])
FUNCTION(elu, x[0] < 0 ? x[1] * expm1(x[0]) : x[0])
FUNCTION(clip, fmin(fmax(x[0], x[1]), x[2]))
FUNCTION(hard_sigmoid, fmin(fmax(x[0] * x[1] + x[2], 0), 1))
FUNCTION(where_not_0, x[0] != 0 ? x[1] : x[2])

FUNCTION(at_most_1, ((void)x, 1))
FUNCTION(of_sum, x[0] + x[1])
FUNCTION(of_leak, fmax(x[0], x[0] * x[1]))

const struct eltwise_function eltwise_functions[] = {
    {"neg", 1, EXACT_ALWAYS, DOMAIN_ALL, 0, 0, neg, NULL},
    {"abs", 1, EXACT_ALWAYS, DOMAIN_ALL, 0, 0, absolute_of, NULL},
    {"sign", 1, EXACT_STEPS, DOMAIN_ALL, 0, 0, sign, at_most_1},
    {"floor", 1, EXACT_STEPS, DOMAIN_ALL, 0, 0, floor_of, NULL},
    {"ceil", 1, EXACT_STEPS, DOMAIN_ALL, 0, 0, ceil_of, NULL},
    {"round", 1, EXACT_STEPS, DOMAIN_ALL, 0, 0, round_of, NULL},
    {"relu", 1, EXACT_ALWAYS, DOMAIN_ALL, 0, 0, relu, NULL},
    {"sqrt", 1, EXACT_NEVER, DOMAIN_POSITIVE, 6, 0, square_root, NULL},
    {"exp", 1, EXACT_NEVER, DOMAIN_ALL, 8, 0, power_of_e, NULL},
    {"log", 1, EXACT_NEVER, DOMAIN_POSITIVE, 8, 0, logarithm, NULL},
    {"reciprocal", 1, EXACT_NEVER, DOMAIN_POSITIVE, 6, 0, reciprocal, NULL},
    {"sigmoid", 1, EXACT_NEVER, DOMAIN_ALL, 12, 0, sigmoid, NULL},
    {"hard_swish", 1, EXACT_NEVER, DOMAIN_ALL, 8, 4, hard_swish, NULL},
    {"tanh", 1, EXACT_NEVER, DOMAIN_ALL, 16, 0, tangent, NULL},
    {"sin", 1, EXACT_NEVER, DOMAIN_ALL, 8, 0, sine, NULL},
    {"cos", 1, EXACT_NEVER, DOMAIN_ALL, 8, 0, cosine, NULL},
    {"tan", 1, EXACT_NEVER, DOMAIN_ALL, 10, 0, sine_over_cosine, NULL},
    {"asin", 1, EXACT_NEVER, DOMAIN_WITHIN_1, 8, 0, arc_sine, NULL},
    {"acos", 1, EXACT_NEVER, DOMAIN_WITHIN_1, 8, 0, arc_cosine, NULL},
    {"atan", 1, EXACT_NEVER, DOMAIN_ALL, 10, 0, arc_tangent, NULL},
    {"sinh", 1, EXACT_NEVER, DOMAIN_ALL, 8, 0, hyperbolic_sine, NULL},
    {"cosh", 1, EXACT_NEVER, DOMAIN_ALL, 8, 0, hyperbolic_cosine, NULL},
    {"asinh", 1, EXACT_NEVER, DOMAIN_ALL, 8, 0, area_sine, NULL},
    {"acosh", 1, EXACT_NEVER, DOMAIN_POSITIVE, 8, 0, area_cosine, NULL},
    {"atanh", 1, EXACT_NEVER, DOMAIN_WITHIN_1, 10, 0, area_tangent, NULL},
    {"swish", 1, EXACT_NEVER, DOMAIN_ALL, 14, 4e-29, swish, NULL},
    {"softplus", 1, EXACT_NEVER, DOMAIN_ALL, 12, 8, softplus, NULL},
    {"softsign", 1, EXACT_NEVER, DOMAIN_ALL, 10, 0, softsign, NULL},
    {"erf", 1, EXACT_NEVER, DOMAIN_ALL, 16, 8, error_function, NULL},
    {"gelu", 1, EXACT_NEVER, DOMAIN_ALL, 16, 16, gelu, NULL},
    {"gelu_tanh", 1, EXACT_NEVER, DOMAIN_ALL, 24, 16, gelu_tanh, NULL},
    {"add", 2, EXACT_ROUNDED, DOMAIN_ALL, 1, 0, add, of_sum},
    {"sub", 2, EXACT_ROUNDED, DOMAIN_ALL, 1, 0, sub, of_sum},
    {"mul", 2, EXACT_ROUNDED, DOMAIN_ALL, 1, 0, mul, mul},
    {"div", 2, EXACT_NEVER, DOMAIN_POSITIVE, 6, 0, quotient, NULL},
    {"pow", 2, EXACT_NEVER, DOMAIN_POSITIVE, 32, 0, power, NULL},
    {"min", 2, EXACT_ALWAYS, DOMAIN_ALL, 0, 0, least, NULL},
    {"max", 2, EXACT_ALWAYS, DOMAIN_ALL, 0, 0, largest, NULL},
    {"less", 2, EXACT_STEPS, DOMAIN_ALL, 0, 0, is_less, at_most_1},
    {"equal", 2, EXACT_STEPS, DOMAIN_ALL, 0, 0, is_equal, at_most_1},
    {"leaky_relu", 2, EXACT_ROUNDED, DOMAIN_ALL, 1, 0, leaky_relu, of_leak},
    {"elu", 2, EXACT_NEVER, DOMAIN_ALL, 16, 8, elu, NULL},
    {"clip", 3, EXACT_ALWAYS, DOMAIN_ALL, 0, 0, clip, NULL},
    {"hard_sigmoid", 3, EXACT_NEVER, DOMAIN_ALL, 4, 4, hard_sigmoid, NULL},
    {"where", 3, EXACT_STEPS, DOMAIN_ALL, 0, 0, where_not_0, NULL},
    {0},
};
