/* SPDX-License-Identifier: MIT */
/* matmul.cl - C[M,N] = A[M,K] * B[K,N], row-major f32. A work-item computes WPT_Y rows of one vector of WPT_X columns;
 * with STAGE a work-group reads its rows of A through local memory.
 * Knobs (-D): BX BY work-items of a group in x and y; WPT_X columns (1, 2, 4, 8: a vector), WPT_Y rows of a work-item;
 * UNROLL of the loop over K; STAGE 0 or 1.
 * Launch: local (BX, BY); global (N / WPT_X, M / WPT_Y). N % (BX * WPT_X) == 0, M % (BY * WPT_Y) == 0, K % UNROLL == 0. */
#ifndef BX
#define BX 8
#define BY 8
#define WPT_X 4
#define WPT_Y 4
#define UNROLL 4
#define STAGE 0
#endif

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#if WPT_X == 1
#define VEC float
#define LOAD(p) (*(p))
#define STORE(v, p) (*(p) = (v))
#else
#define VEC JOIN(float, WPT_X)
#define LOAD(p) JOIN(vload, WPT_X)(0, p)
#define STORE(v, p) JOIN(vstore, WPT_X)(v, 0, p)
#endif

__kernel __attribute__((reqd_work_group_size(BX, BY, 1))) void matmul(__global const float *a, __global const float *b,
                                                                       __global float *c, int m, int n, int k)
{
    const int x = (int)get_global_id(0) * WPT_X, y = (int)get_global_id(1) * WPT_Y;
    VEC sum[WPT_Y];
#if STAGE
    __local float rows[BY * WPT_Y][UNROLL];
    const int item = (int)get_local_id(1) * BX + (int)get_local_id(0);
    const int y0 = (int)get_group_id(1) * BY * WPT_Y;
#endif

    for (int r = 0; r < WPT_Y; r++)
        sum[r] = 0;
    for (int at = 0; at < k; at += UNROLL) {
#if STAGE
        for (int i = item; i < BY * WPT_Y * UNROLL; i += BX * BY)
            rows[i / UNROLL][i % UNROLL] = a[(y0 + i / UNROLL) * k + at + i % UNROLL];
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        for (int u = 0; u < UNROLL; u++) {
            const VEC v = LOAD(b + (at + u) * n + x);

            for (int r = 0; r < WPT_Y; r++) {
#if STAGE
                sum[r] += rows[get_local_id(1) * WPT_Y + r][u] * v;
#else
                sum[r] += a[(y + r) * k + at + u] * v;
#endif
            }
        }
#if STAGE
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    for (int r = 0; r < WPT_Y; r++)
        STORE(sum[r], c + (y + r) * n + x);
}
