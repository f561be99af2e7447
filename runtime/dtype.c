/* SPDX-License-Identifier: MIT */
#include "runtime/dtype.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t n_bytes;
} dtypes[N_DTYPES] = {
#define X(number, NAME, name, bytes) [number] = {name, bytes},
    DTYPE_MAP(X)
#undef X
};

const char *dtype_name(enum dtype t)
{
    assert((unsigned)t < N_DTYPES);
    return dtypes[t].name;
}

size_t dtype_bytes(enum dtype t)
{
    assert((unsigned)t < N_DTYPES);
    return dtypes[t].n_bytes;
}

int dtype_by_name(const char *name)
{
    for (int i = 0; i < N_DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return i;
    return -1;
}

static uint32_t bits_of(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

float half_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 0x1fu, fraction = h & 0x3ffu;

    if (exponent == 0x1f)
        return float_of(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) { /* subnormal: fraction * 2^-24, exact in binary32 */
        const float magnitude = (float)fraction * 0x1p-24f;

        return float_of(sign | bits_of(magnitude));
    }
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

/* `u` shifted right by `n` (1..31), rounded to nearest, ties to even. */
static uint32_t shift_rounded(uint32_t u, unsigned n)
{
    const uint32_t kept = u >> n, lost = u & ((1u << n) - 1), half = 1u << (n - 1);

    return kept + (lost > half || (lost == half && (kept & 1)));
}

uint16_t half_from_float(float f)
{
    const uint32_t u = bits_of(f), sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
    uint32_t h;

    if (magnitude > 0x7f800000u) /* NaN stays NaN, quiet, top of its payload kept */
        h = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    else if (magnitude >= 0x47800000u) /* 65536 and more, infinity */
        h = 0x7c00u;
    else if (magnitude >= 0x38800000u) /* normal; rounding may carry up to infinity, as it should */
        h = shift_rounded(magnitude - (112u << 23), 13);
    else if (magnitude >= 0x33000000u) /* 2^-25 and more: subnormal */
        h = shift_rounded((magnitude & 0x7fffffu) | 0x800000u, 126u - (magnitude >> 23));
    else
        h = 0;
    return (uint16_t)(sign | h);
}

float bf16_to_float(uint16_t b)
{
    return float_of((uint32_t)b << 16);
}

uint16_t bf16_from_float(float f)
{
    const uint32_t u = bits_of(f);

    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)shift_rounded(u, 16);
}

double dtype_load(enum dtype t, const void *data, size_t i)
{
    float f;
    double d;
    uint16_t h;
    int32_t n;

    switch (t) {
    case DTYPE_F32:
        memcpy(&f, (const char *)data + 4 * i, sizeof f);
        return (double)f;
    case DTYPE_F16:
        memcpy(&h, (const char *)data + 2 * i, sizeof h);
        return (double)half_to_float(h);
    case DTYPE_BF16:
        memcpy(&h, (const char *)data + 2 * i, sizeof h);
        return (double)bf16_to_float(h);
    case DTYPE_I32:
        memcpy(&n, (const char *)data + 4 * i, sizeof n);
        return n;
    case DTYPE_F64:
        memcpy(&d, (const char *)data + 8 * i, sizeof d);
        return d;
    case DTYPE_I8:
        return ((const int8_t *)data)[i];
    case DTYPE_U8:
        return ((const uint8_t *)data)[i];
    default:
        return NAN;
    }
}

/* To the nearest integer (ties to even) of [lo, hi]; NaN becomes 0. */
static int64_t saturated(double v, double lo, double hi)
{
    if (isnan(v))
        return 0;
    return (int64_t)rint(v < lo ? lo : v > hi ? hi : v);
}

void dtype_store(enum dtype t, void *data, size_t i, double value)
{
    float f = (float)value;
    uint16_t h;
    int32_t n;

    switch (t) {
    case DTYPE_F32:
        memcpy((char *)data + 4 * i, &f, sizeof f);
        break;
    case DTYPE_F16:
        h = half_from_float(f);
        memcpy((char *)data + 2 * i, &h, sizeof h);
        break;
    case DTYPE_BF16:
        h = bf16_from_float(f);
        memcpy((char *)data + 2 * i, &h, sizeof h);
        break;
    case DTYPE_I32:
        n = (int32_t)saturated(value, INT32_MIN, INT32_MAX);
        memcpy((char *)data + 4 * i, &n, sizeof n);
        break;
    case DTYPE_F64:
        memcpy((char *)data + 8 * i, &value, sizeof value);
        break;
    case DTYPE_I8:
        ((int8_t *)data)[i] = (int8_t)saturated(value, INT8_MIN, INT8_MAX);
        break;
    case DTYPE_U8:
        ((uint8_t *)data)[i] = (uint8_t)saturated(value, 0, UINT8_MAX);
        break;
    default:
        break;
    }
}
