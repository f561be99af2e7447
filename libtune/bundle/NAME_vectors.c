/* SPDX-License-Identifier: MIT */
/* NAME_vectors.c - makes the inputs of test vectors and compares outputs with them. */
#include "NAME_vectors.h"

#include <math.h>
#include <string.h>

/* splitmix64 of (seed, index). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t random_at(uint64_t seed, uint64_t index)
{
    return mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + (index + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* The high 64 bits of a * b, for b < 2^32. */
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t low = (a & UINT64_C(0xffffffff)) * b;
    return ((a >> 32) * b + (low >> 32)) >> 32;
}

static double integer_at(const struct NAME_vector_fill *f, uint64_t i)
{
    uint64_t span = (uint64_t)(f->hi - f->lo) + 1;
    return (f->lo + (double)multiply_high(random_at(f->seed, i), span)) * (f->step == 0.0 ? 1.0 : f->step);
}

/* Irwin-Hall: the sum of twelve 16-bit uniforms. */
static double normal_at(const struct NAME_vector_fill *f, uint64_t i)
{
    uint32_t sum = 0;
    for (uint64_t j = 0; j < 3; j++) {
        uint64_t r = random_at(f->seed, 3 * i + j);
        sum += (uint32_t)((r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) + (r >> 48));
    }
    volatile double scaled = f->hi * (((double)sum - 393210.0) / 65536.0); /* rounded before the addition: no fma */
    return f->lo + scaled;
}

static double value_at(const struct NAME_vector_fill *f, uint64_t i)
{
    if (f->kind == CAPS_VECTOR_INT)
        return integer_at(f, i);
    return f->kind == CAPS_VECTOR_NORMAL ? normal_at(f, i) : f->lo;
}

static int64_t n_elems(const struct NAME_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->n_dims; i++)
        n *= t->shape[i];
    return n;
}

/* IEEE binary16 <-> binary32. The magnitude's last bits are rounded to nearest even by adding them to a number whose
 * last place is that of the half. */
static uint16_t half_from_float(float value)
{
    uint32_t bits, sign;
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits >= 0x47800000u) /* 65536 and more, infinity, NaN */
        return (uint16_t)(sign | (bits > 0x7f800000u ? 0x7e00u : 0x7c00u));
    if (bits < 0x38800000u) { /* subnormal: in units of 2^-24 */
        float magnitude, shifted;
        uint32_t units;
        memcpy(&magnitude, &bits, sizeof magnitude);
        shifted = magnitude + 0.5f;
        memcpy(&units, &shifted, sizeof units);
        return (uint16_t)(sign | (units - 0x3f000000u));
    }
    bits += 0xfffu + (bits >> 13 & 1u);
    return (uint16_t)(sign | (bits - 0x38000000u) >> 13);
}

static double half_to_double(uint16_t half)
{
    int exponent = half >> 10 & 31;
    double mantissa = (double)(half & 1023);
    double magnitude = exponent == 31  ? (mantissa == 0.0 ? (double)INFINITY : (double)NAN)
                       : exponent == 0 ? ldexp(mantissa, -24)
                                       : ldexp(mantissa + 1024.0, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static int store(const char *dtype, void *data, int64_t i, double value)
{
    if (strcmp(dtype, "f32") == 0)
        ((float *)data)[i] = (float)value;
    else if (strcmp(dtype, "f16") == 0)
        ((uint16_t *)data)[i] = half_from_float((float)value);
    else if (strcmp(dtype, "i8") == 0)
        ((int8_t *)data)[i] = (int8_t)value;
    else if (strcmp(dtype, "u8") == 0)
        ((uint8_t *)data)[i] = (uint8_t)value;
    else if (strcmp(dtype, "i32") == 0)
        ((int32_t *)data)[i] = (int32_t)value;
    else
        return 0;
    return 1;
}

static double load(const char *dtype, const void *data, uint64_t i)
{
    if (strcmp(dtype, "f32") == 0)
        return (double)((const float *)data)[i];
    if (strcmp(dtype, "f16") == 0)
        return half_to_double(((const uint16_t *)data)[i]);
    if (strcmp(dtype, "i32") == 0)
        return (double)((const int32_t *)data)[i];
    if (strcmp(dtype, "i8") == 0)
        return (double)((const int8_t *)data)[i];
    return strcmp(dtype, "u8") == 0 ? (double)((const uint8_t *)data)[i] : (double)NAN;
}

int NAME_vectors_fill(const struct NAME_vector *v, const struct NAME_tensor *t, void *data)
{
    for (int i = 0; i < v->n_fills; i++) {
        if (strcmp(v->fills[i].tensor, t->name) != 0)
            continue;
        for (int64_t j = 0; j < n_elems(t); j++)
            if (!store(t->dtype, data, j, value_at(&v->fills[i], (uint64_t)j)))
                return CAPS_BAD_ARGUMENT;
        return CAPS_OK;
    }
    return CAPS_BAD_ARGUMENT;
}

int NAME_vectors_check(const struct NAME_vector *v, const struct NAME_tensor *t, const void *data,
                       struct NAME_vector_result *out)
{
    memset(out, 0, sizeof *out);
    out->worst = -1.0;
    for (size_t i = 0; i < v->n; i++) {
        double got = load(t->dtype, data, v->indices[i]);
        double scale = v->scale && v->scale[i] > 0.0 ? v->scale[i] : 1.0;
        double difference = fabs(got - v->values[i]) / scale;
        if (!(difference <= v->tolerance)) /* also for NAN */
            out->n_wrong++;
        if (!(difference <= out->worst)) {
            out->worst = difference;
            out->i_worst = v->indices[i];
            out->got = got;
            out->wanted = v->values[i];
        }
    }
    return out->n_wrong == 0;
}
