/* SPDX-License-Identifier: MIT */
#include "kernels/epilogue.h"

#include "core/err.h"
#include "kernels/expect.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *const epilogue_words[] = {"none",
                                      "bias",
                                      "relu",
                                      "bias_relu",
                                      "add",
                                      "bias_add",
                                      "add_relu",
                                      "bias_add_relu",
                                      "requant",
                                      "bias_requant",
                                      "relu_requant",
                                      "bias_relu_requant",
                                      "add_requant",
                                      "bias_add_requant",
                                      "add_relu_requant",
                                      "bias_add_relu_requant",
                                      "requant_add",
                                      "bias_requant_add",
                                      "requant_add_relu",
                                      "bias_requant_add_relu",
                                      "relu6",
                                      "bias_relu6",
                                      "add_relu6",
                                      "bias_add_relu6",
                                      "hard_swish",
                                      "bias_hard_swish",
                                      "add_hard_swish",
                                      "bias_add_hard_swish",
                                      "swish",
                                      "bias_swish",
                                      "add_swish",
                                      "bias_add_swish",
                                      "hard_sigmoid",
                                      "bias_hard_sigmoid",
                                      "add_hard_sigmoid",
                                      "bias_add_hard_sigmoid",
                                      "sigmoid",
                                      "bias_sigmoid",
                                      "add_sigmoid",
                                      "bias_add_sigmoid",
                                      NULL};

/* The first words stand at their bits (JOIN without REQUANT); those behind them are four sets of each of these. */
#define N_SETS 20
#define OTHERS (EPILOGUE_RELU6 | EPILOGUE_CURVES)
static const unsigned others[] = {EPILOGUE_RELU6, EPILOGUE_HARD_SWISH, EPILOGUE_SWISH, EPILOGUE_HARD_SIGMOID,
                                  EPILOGUE_SIGMOID};
#define N_OTHERS ((int)(sizeof others / sizeof others[0]))

const char *epilogue_word(unsigned bits)
{
    for (int i = 0; i < N_OTHERS; i++)
        if (bits & others[i]) {
            assert(!(bits & ~(others[i] | EPILOGUE_BIAS | EPILOGUE_ADD)));
            return epilogue_words[N_SETS + 4 * i + (int)((bits & EPILOGUE_BIAS) + (bits & EPILOGUE_ADD) / 2)];
        }
    assert(!(bits & EPILOGUE_JOIN) || (bits & EPILOGUE_REQUANT));
    bits = bits & EPILOGUE_JOIN ? bits & ~(unsigned)EPILOGUE_REQUANT : bits;
    assert(bits < N_SETS);
    return epilogue_words[bits];
}

unsigned epilogue_bits(int64_t word)
{
    assert(word >= 0 && word < N_SETS + 4 * N_OTHERS);
    if (word < N_SETS)
        return (unsigned)word | (word & EPILOGUE_JOIN ? EPILOGUE_REQUANT : 0);
    word -= N_SETS;
    return others[word / 4] | (word & 1 ? EPILOGUE_BIAS : 0) | (word & 2 ? EPILOGUE_ADD : 0);
}

unsigned epilogue_of(const struct workload *w)
{
    return epilogue_bits(workload_get(w, "epilogue"));
}

static enum dtype sums_dtype(const struct workload *w)
{
    return dtype_is_bytes(w->dtype) ? DTYPE_I32 : w->dtype;
}

enum dtype epilogue_output_dtype(const struct workload *w)
{
    return epilogue_of(w) & EPILOGUE_REQUANT ? w->dtype : sums_dtype(w);
}

enum err epilogue_check(const struct workload *w, struct why *why)
{
    if ((epilogue_of(w) & EPILOGUE_REQUANT) && !dtype_is_bytes(w->dtype))
        return why_set(why, ERR_INPUT, "epilogue=%s requantises int8 sums; expected dtype i8 or u8, not %s",
                       epilogue_word(epilogue_of(w)), dtype_name(w->dtype));
    if ((epilogue_of(w) & OTHERS) && dtype_is_bytes(w->dtype))
        return why_set(why, ERR_INPUT, "epilogue=%s: %s; expected floats", epilogue_word(epilogue_of(w)),
                       epilogue_of(w) & EPILOGUE_RELU6 ? "6 is no number of int8 sums" : "a curve of int8 sums");
    return ERR_OK;
}

/* So far out that e^-v is nothing beside 1, and v e^-v no float; of f32 also where the weights are sparse (multiples of
 * 2^-6) or x is in halves. */
double epilogue_unit(const struct workload *w)
{
    const bool curves = workload_has(w, "epilogue") && (epilogue_of(w) & EPILOGUE_CURVES);

    return !curves ? 1 : w->dtype == DTYPE_F32 ? 0x1p16 : 128;
}

/* Whole numbers of the exact pass as multiples of the unit. */
static void in_units(const struct workload *w, struct tensor *t)
{
    const double unit = epilogue_unit(w);

    if (unit > 1)
        t->exact.step = unit;
}

static struct tensor list_of(const char *name, enum dtype t, int64_t n, const char *layout)
{
    return (struct tensor){
        .name = name, .role = ROLE_WEIGHT, .dtype = t, .n_dims = 1, .shape = {n}, .n_elems = n, .layout = layout};
}

static struct tensor residual_of(const struct workload *w, const struct tensor *y)
{
    struct tensor t = *y;

    t.name = "residual";
    t.role = ROLE_INPUT;
    t.dtype = epilogue_of(w) & EPILOGUE_JOIN ? y->dtype : sums_dtype(w);
    if (dtype_is_bytes(t.dtype))
        byte_fills(&t, SEED_RESIDUAL);
    else
        tensor_fills(&t, SEED_RESIDUAL, dtype_is_bytes(w->dtype) ? 4096 : 3, 1);
    in_units(w, &t);
    return t;
}

struct tensor zero_points(int64_t n)
{
    struct tensor zero = list_of("zero", DTYPE_I32, n, "");

    tensor_fills(&zero, SEED_ZERO, 255, 1);
    zero.exact.lo = zero.random.lo = 0;
    return zero;
}

size_t epilogue_tensors(const struct workload *w, int64_t k, double terms, const struct tensor *y, struct tensor *out,
                        size_t n)
{
    const unsigned bits = epilogue_of(w);
    /* int8 products have a standard deviation of about 5461, so most requantised values lie in +-64. */
    const double typical = 64 / (5461 * sqrt(terms));

    assert(strcmp(out[0].name, "x") == 0);
    in_units(w, &out[1]);
    if (bits & EPILOGUE_BIAS) {
        out[n] = list_of("bias", sums_dtype(w), k, "k");
        tensor_fills(&out[n], SEED_BIAS, dtype_is_bytes(w->dtype) ? 4096 : 3, 1);
        in_units(w, &out[n++]);
    }
    if (bits & (EPILOGUE_ADD | EPILOGUE_JOIN))
        out[n++] = residual_of(w, y);
    if (bits & EPILOGUE_REQUANT) {
        out[n] = list_of("scale", DTYPE_F32, k, "k");
        out[n].exact = out[n].random =
            (struct program_fill){.kind = FILL_NORMAL, .seed = SEED_SCALE, .lo = typical, .hi = typical / 8};
        n++;
    }
    if (bits & EPILOGUE_JOIN) {
        out[n] = list_of("sum_scale", DTYPE_F32, 2, "");
        out[n].exact = (struct program_fill){.kind = FILL_VALUE, .lo = SCALE_NEAR_HALF};
        out[n++].random = (struct program_fill){.kind = FILL_NORMAL, .seed = SEED_SUM_SCALE, .lo = 0.75, .hi = 0.125};
    }
    if (w->dtype == DTYPE_U8)
        out[n++] = zero_points(bits & EPILOGUE_JOIN ? 4 : bits & EPILOGUE_REQUANT ? 2 : 1);
    assert(n <= OPERATOR_MAX_TENSORS);
    return n;
}

/* Zero point `i` of those that the workload has. */
static float zero_at(const struct epilogue_values *v, int i)
{
    return v->zero ? v->zero[i] : 0;
}

/* To the bytes of a zero point, and without it again. */
static float saturated(const struct epilogue_values *v, float scaled, float zero)
{
    const float least = v->zero ? 0 : -128, byte = rintf(scaled) + zero;

    return (byte < least ? least : byte > least + 255 ? least + 255 : byte) - zero;
}

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

static double hard_sigmoid(double v)
{
    return fmin(fmax(v / 6 + 0.5, 0), 1);
}

/* The activation in ReLU's place; 0 where that is less than any float. */
static double curved(unsigned bits, double v)
{
    const double y = bits & EPILOGUE_HARD_SWISH     ? v * hard_sigmoid(v)
                     : bits & EPILOGUE_SWISH        ? v * sigmoid(v)
                     : bits & EPILOGUE_HARD_SIGMOID ? hard_sigmoid(v)
                                                    : sigmoid(v);

    return fabs(y) < 0x1p-150 ? 0 : y;
}

double epilogue_apply(unsigned bits, double sum, const struct epilogue_values *v)
{
    const bool joins = bits & EPILOGUE_JOIN;
    float zero, byte;

    if (bits & EPILOGUE_BIAS)
        sum += v->bias;
    if (bits & EPILOGUE_ADD)
        sum += v->residual;
    if ((bits & (EPILOGUE_RELU | EPILOGUE_RELU6)) && !joins && sum < 0)
        sum = 0;
    if ((bits & EPILOGUE_RELU6) && sum > 6)
        sum = 6;
    if (bits & EPILOGUE_CURVES)
        sum = curved(bits, sum);
    if (!(bits & EPILOGUE_REQUANT))
        return sum;
    zero = zero_at(v, 1); /* the workload has it with bytes as outputs alone */
    byte = saturated(v, (float)sum * (float)v->scale, zero);
    if (!joins)
        return (double)(byte + zero);
    byte = fmaf((float)v->residual - zero_at(v, 2), v->sum_scale[1], byte * v->sum_scale[0]);
    if ((bits & EPILOGUE_RELU) && byte < 0)
        byte = 0;
    return (double)(saturated(v, byte, zero_at(v, 3)) + zero_at(v, 3));
}

double epilogue_scale(unsigned bits)
{
    return bits & (EPILOGUE_HARD_SIGMOID | EPILOGUE_SIGMOID) ? 1 : 0;
}

/* Beyond any class's limit. */
#define SURE 0x1p-5

double epilogue_settled(unsigned bits, double v, double scale)
{
    const bool below = (bits & (EPILOGUE_RELU | EPILOGUE_RELU6)) && v < -SURE * scale;
    const bool above = (bits & EPILOGUE_RELU6) && v > 6 + SURE * scale;

    return (below || above) && !(bits & EPILOGUE_REQUANT) ? 0x1p-100 : scale;
}

bool epilogue_is_linear(unsigned bits)
{
    return !(bits & (EPILOGUE_RELU | OTHERS | EPILOGUE_REQUANT));
}
