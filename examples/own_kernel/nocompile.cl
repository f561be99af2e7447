/* SPDX-License-Identifier: MIT */
/* nocompile.cl - names a type that there is not. */
__kernel void saxpy(__global const float *x, __global const float *y, __global float *z, float a, int n)
{
    matrix m = x[0];
    z[0] = a * m + y[0] + n;
}
