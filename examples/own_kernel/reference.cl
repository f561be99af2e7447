/* SPDX-License-Identifier: MIT */
/* reference.cl - z[i] = a * x[i] + y[i], the definition: one work-item computes one element. */
__kernel void reference(__global const float *x, __global const float *y, __global float *z, float a, int n)
{
    int i = get_global_id(0);
    if (i < n)
        z[i] = a * x[i] + y[i];
}
