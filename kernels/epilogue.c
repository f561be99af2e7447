/* SPDX-License-Identifier: MIT */
#include "kernels/epilogue.h"

#include "kernels/expect.h"

#include <assert.h>
#include <math.h>

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
                                      "relu6",
                                      "bias_relu6",
                                      "add_relu6",
                                      "bias_add_relu6",
                                      NULL};

#define N_SETS 16 /* the first words stand at their bits; those behind them are sets with RELU6 */

const char *epilogue_word(unsigned bits)
{
    if (bits & EPILOGUE_RELU6) {
        assert(!(bits & (EPILOGUE_RELU | EPILOGUE_REQUANT)));
        return epilogue_words[N_SETS + (bits & EPILOGUE_BIAS) + (bits & EPILOGUE_ADD) / 2];
    }
    assert(bits < N_SETS);
    return epilogue_words[bits];
}

unsigned epilogue_bits(int64_t word)
{
    assert(word >= 0 && word < N_SETS + 4);
    if (word < N_SETS)
        return (unsigned)word;
    return EPILOGUE_RELU6 | (word & 1 ? EPILOGUE_BIAS : 0) | (word & 2 ? EPILOGUE_ADD : 0);
}

unsigned epilogue_of(const struct workload *w)
{
    return epilogue_bits(workload_get(w, "epilogue"));
}

static enum dtype sums_dtype(const struct workload *w)
{
    return w->dtype == DTYPE_I8 ? DTYPE_I32 : w->dtype;
}

enum dtype epilogue_output_dtype(const struct workload *w)
{
    return epilogue_of(w) & EPILOGUE_REQUANT ? DTYPE_I8 : sums_dtype(w);
}

enum err epilogue_check(const struct workload *w, struct why *why)
{
    if ((epilogue_of(w) & EPILOGUE_REQUANT) && w->dtype != DTYPE_I8)
        return why_set(why, ERR_INPUT, "epilogue=%s requantises int8 sums; expected dtype i8, not %s",
                       epilogue_word(epilogue_of(w)), dtype_name(w->dtype));
    if ((epilogue_of(w) & EPILOGUE_RELU6) && w->dtype == DTYPE_I8)
        return why_set(why, ERR_INPUT, "epilogue=%s: 6 is no number of int8 sums; expected floats",
                       epilogue_word(epilogue_of(w)));
    return ERR_OK;
}

static struct tensor per_channel(const char *name, enum dtype t, int64_t k)
{
    return (struct tensor){
        .name = name, .role = ROLE_WEIGHT, .dtype = t, .n_dims = 1, .shape = {k}, .n_elems = k, .layout = "k"};
}

size_t epilogue_tensors(const struct workload *w, int64_t k, double terms, const struct tensor *y, struct tensor *out,
                        size_t n)
{
    const unsigned bits = epilogue_of(w);
    /* int8 products have a standard deviation of about 5461, so most requantised values lie in +-64. */
    const double typical = 64 / (5461 * sqrt(terms));

    if (bits & EPILOGUE_BIAS) {
        out[n] = per_channel("bias", sums_dtype(w), k);
        tensor_fills(&out[n++], SEED_BIAS, w->dtype == DTYPE_I8 ? 4096 : 3, 1);
    }
    if (bits & EPILOGUE_ADD) {
        out[n] = *y;
        out[n].name = "residual";
        out[n].role = ROLE_INPUT;
        out[n].dtype = sums_dtype(w);
        tensor_fills(&out[n++], SEED_RESIDUAL, w->dtype == DTYPE_I8 ? 4096 : 3, 1);
    }
    if (bits & EPILOGUE_REQUANT) {
        out[n] = per_channel("scale", DTYPE_F32, k);
        out[n].exact = out[n].random =
            (struct program_fill){.kind = FILL_NORMAL, .seed = SEED_SCALE, .lo = typical, .hi = typical / 8};
        n++;
    }
    assert(n <= OPERATOR_MAX_TENSORS);
    return n;
}

static double requantise(double v, double scale)
{
    const float scaled = (float)v * (float)scale;
    const float rounded = rintf(scaled);

    return rounded < -128 ? -128 : rounded > 127 ? 127 : (double)rounded;
}

double epilogue_apply(unsigned bits, double sum, double bias, double residual, double scale)
{
    if (bits & EPILOGUE_BIAS)
        sum += bias;
    if (bits & EPILOGUE_ADD)
        sum += residual;
    if ((bits & (EPILOGUE_RELU | EPILOGUE_RELU6)) && sum < 0)
        sum = 0;
    if ((bits & EPILOGUE_RELU6) && sum > 6)
        sum = 6;
    return bits & EPILOGUE_REQUANT ? requantise(sum, scale) : sum;
}

bool epilogue_is_linear(unsigned bits)
{
    return !(bits & (EPILOGUE_RELU | EPILOGUE_RELU6 | EPILOGUE_REQUANT));
}
