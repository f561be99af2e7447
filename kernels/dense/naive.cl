/* naive.cl - y[m,n] = sum over k of x[m,k] * w[n,k], f32, row-major. One output a work-item: the baseline. No knobs.
 * Launch: local (64, 1, 1); groups (ceil(M*N / 64), 1, 1). */
#ifndef M
#define M 4
#define N 8
#define K 16
#endif

KERNEL WG_SIZE(64, 1, 1) dense_naive(GLOBAL const float *RESTRICT x, GLOBAL const float *RESTRICT w,
                                     GLOBAL float *RESTRICT y)
{
    const int i = GRP(0) * 64 + LID(0);
    const int m = i / N, n = i % N;
    float sum = 0.0f;

    if (i >= M * N)
        return;
    for (int k = 0; k < K; k++)
        sum += x[m * K + k] * w[n * K + k];
    y[i] = sum;
}
