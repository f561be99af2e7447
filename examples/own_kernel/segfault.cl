/* SPDX-License-Identifier: MIT */
/* segfault.cl - writes far outside its buffer: on a CPU device the process dies. */
__kernel void saxpy(__global const float *x, __global const float *y, __global float *z, float a, int n)
{
    long far = ((long)n << 30) + get_global_id(0);
    z[far] = a * x[0] + y[0];
}
