/* SPDX-License-Identifier: MIT */
#include "tests/libtune/reference.h"

int reference_value(unsigned seed, long long i)
{
    unsigned long long v = (unsigned long long)i * 0x9e3779b97f4a7c15u + seed * 0xbf58476d1ce4e5b9u;

    v ^= v >> 31;
    v *= 0x94d049bb133111ebu;
    return (int)((v >> 40) % 7) - 3;
}

double reference_dense(const long long size[3], long long i)
{
    const long long n = size[1], k = size[2], row = i / n, column = i % n;
    double sum = 0;

    for (long long j = 0; j < k; j++)
        sum += reference_value(1, row * k + j) * reference_value(2, column * k + j);
    return sum;
}

static int x_at(const struct reference_conv *a, long long n, long long c, long long h, long long w)
{
    if (h < 0 || h >= a->h || w < 0 || w >= a->w)
        return 0;
    return reference_value(1, ((n * a->c + c) * a->h + h) * a->w + w);
}

double reference_conv(const struct reference_conv *a, long long i)
{
    const long long q_n = (a->w + 2 * a->pad - a->s) / a->stride + 1, p_n = (a->h + 2 * a->pad - a->r) / a->stride + 1;
    const long long q = i % q_n, p = i / q_n % p_n, k = i / q_n / p_n % a->k, n = i / q_n / p_n / a->k;
    double sum = 0;

    for (long long c = 0; c < a->c; c++)
        for (long long r = 0; r < a->r; r++)
            for (long long s = 0; s < a->s; s++)
                sum += x_at(a, n, c, p * a->stride + r - a->pad, q * a->stride + s - a->pad) *
                       reference_value(2, ((k * a->c + c) * a->r + r) * a->s + s);
    if (!a->bias_relu)
        return sum;
    sum += reference_value(3, k);
    return sum > 0 ? sum : 0;
}
