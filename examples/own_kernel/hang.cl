/* SPDX-License-Identifier: MIT */
/* hang.cl - never ends: the run limit has to end it. */
__kernel void saxpy(__global const float *x, __global const float *y, __global volatile float *z, float a, int n)
{
    int i = get_global_id(0);
    while (z[i] != 12345.0f)
        z[i] = 0.0f;
}
