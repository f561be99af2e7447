/* SPDX-License-Identifier: MIT */
/* saxpy.cl - z[i] = a * x[i] + y[i]; a work-item computes PER consecutive elements.
 * Launch: local (64), groups ceil(n / (64 * PER)). */
#ifndef PER
#define PER 4
#endif
__kernel void saxpy(__global const float *x, __global const float *y, __global float *z, float a, int n)
{
    int first = get_global_id(0) * PER;
#pragma unroll
    for (int i = 0; i < PER; i++)
        if (first + i < n)
            z[first + i] = a * x[first + i] + y[first + i];
}
