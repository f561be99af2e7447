/* SPDX-License-Identifier: MIT */
/* matmul.c - c[m][n] = a[m][k] * b[k][n], row-major f32, plain C: blocks of TI rows by TJ columns of c, for TK of the k
 * at a time; UNROLL of these k share a pass over a row of c. All sizes are multiples of their blocks. */
#include <string.h>

static void add_block(const float *restrict a, const float *restrict b, float *restrict c, int n, int k)
{
    for (int i = 0; i < TI; i++)
        for (int p = 0; p < TK; p += UNROLL)
            for (int j = 0; j < TJ; j++) {
                float sum = c[i * n + j];

                for (int u = 0; u < UNROLL; u++)
                    sum += a[i * k + p + u] * b[(p + u) * n + j];
                c[i * n + j] = sum;
            }
}

void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
#pragma omp parallel for
    for (int i = 0; i < m; i += TI) {
        memset(c + i * n, 0, (size_t)TI * (size_t)n * sizeof *c);
        for (int p = 0; p < k; p += TK)
            for (int j = 0; j < n; j += TJ)
                add_block(a + i * k + p, b + p * n + j, c + i * n + j, n, k);
    }
}
