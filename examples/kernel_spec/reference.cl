/* SPDX-License-Identifier: MIT */
/* reference.cl - C[M,N] = A[M,K] * B[K,N], row-major f32, one element a work-item, summed in double.
 * Launch: one work-item for each of N columns and M rows. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel void matmul_plain(__global const float *a, __global const float *b, __global float *c, int m, int n, int k)
{
    const int x = (int)get_global_id(0), y = (int)get_global_id(1);
    double sum = 0;

    if (x >= n || y >= m)
        return;
    for (int i = 0; i < k; i++)
        sum += (double)a[y * k + i] * b[i * n + x];
    c[y * n + x] = (float)sum;
}
