/* SPDX-License-Identifier: MIT */
/* preamble_curves.h - activations that are curves where preamble_store.h has ReLU, one of HARD_SWISH SWISH HARD_SIGMOID
 * SIGMOID; pasted behind it for workloads that have one, so that the texts of all others stay as they are. Computed in
 * floats; above 89 and below -89 straight to the last bit. */
#undef RELU1
#undef VRELU_IF
#ifdef TUNE_CUDA
#define CURVE_FMA(a, b, c) fmaf((a), (b), (c))
#define CURVE_BOUND(v, lo, hi) fminf(fmaxf((v), (lo)), (hi))
#define CURVE_POWER1(t) __uint_as_float((__float_as_uint(t) << 23) + 0x3f800000u)
#else
#define CURVE_FMA(a, b, c) fma((a), (b), (c))
#define CURVE_BOUND(v, lo, hi) min(max((v), (lo)), (hi)) /* PoCL's clamp looks for NaN */
#define CURVE_POWER1(t) as_float((as_uint(t) << 23) + 0x3f800000u)
#endif
#define CURVE_HARD(v, T) CURVE_BOUND(CURVE_FMA((v), (T)(1.0f / 6), (T)0.5f), (T)0.0f, (T)1.0f)
/* 1 + e^-v within 2e-7 of it, infinite from 89 on and 1 where v is as far above 0: 2^n, n the whole number in the
 * lowest bits of `whole`, times 2^f by a polynomial, for f within 1/2. */
#define CURVE_GATE(name, T, POWER)                                                                                     \
    DEVICE T name(T v)                                                                                                 \
    {                                                                                                                  \
        const T t = CURVE_BOUND(v * (T)(-1.44269504f), (T)(-126.0f), (T)128.0f);                                       \
        const T whole = t + (T)12582912.0f, f = t - (whole - (T)12582912.0f);                                          \
        T p = CURVE_FMA(f, (T)1.32764713e-3f, (T)9.67554096e-3f);                                                      \
                                                                                                                       \
        p = CURVE_FMA(f, p, (T)5.55071309e-2f);                                                                        \
        p = CURVE_FMA(f, p, (T)0.240221202f);                                                                          \
        p = CURVE_FMA(f, p, (T)0.693146944f);                                                                          \
        p = CURVE_FMA(f, p, (T)1.0f);                                                                                  \
        return CURVE_FMA(p, POWER(whole), (T)1.0f);                                                                    \
    }
#if defined(SWISH) || defined(SIGMOID)
CURVE_GATE(gate1, float, CURVE_POWER1)
#endif
#ifdef HARD_SWISH
#define CURVE1(v, T) ((v)*CURVE_HARD(v, T))
#elif defined(SWISH)
#define CURVE1(v, T) ((v) / gate1(v))
#elif defined(HARD_SIGMOID)
#define CURVE1(v, T) CURVE_HARD(v, T)
#else
#define CURVE1(v, T) ((T)1.0f / gate1(v))
#endif
DEVICE float curve1(float v)
{
    return CURVE1(v, float);
}
#define RELU1(v) ((SUM)curve1((float)(v)))
#if VEC == 1
#define VRELU_IF(v) RELU1(v)
#elif defined(TUNE_CUDA)
LANES_OF(curves, RELU1(x))
#define VRELU_IF(v) curves(v)
#else
#define CURVE_LANES CAT(float, VEC)
#if defined(SWISH) || defined(SIGMOID)
#define CURVE_POWERS(t) CAT(as_float, VEC)((CAT(as_uint, VEC)(t) << 23) + 0x3f800000u)
CURVE_GATE(gates, CURVE_LANES, CURVE_POWERS)
#define gate1 gates
#endif
DEVICE CURVE_LANES curves(CURVE_LANES v)
{
    return CURVE1(v, CURVE_LANES);
}
#undef gate1
#ifdef SUM_HALF
#define VRELU_IF(v) CAT(convert_half, VEC)(curves(CAT(convert_float, VEC)(v)))
#else
#define VRELU_IF(v) curves(v)
#endif
#endif
