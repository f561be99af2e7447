/* SPDX-License-Identifier: MIT */
/* wrong.cl - forgets y in the last element. */
__kernel void saxpy(__global const float *x, __global const float *y, __global float *z, float a, int n)
{
    int first = get_global_id(0) * PER;
    for (int i = first; i < first + PER && i < n; i++)
        z[i] = i == n - 1 ? a * x[i] : a * x[i] + y[i];
}
