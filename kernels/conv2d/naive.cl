/* naive.cl - y[n,k,p,q] = sum over c,r,s of x[n,c,p*SH+r*DH-PT,q*SW+s*DW-PL] * w[k,c,r,s], f32, nchw and kcrs.
 * One output a work-item, straight from the definition: the baseline. No knobs.
 * Launch: local (64, 1, 1); groups (ceil(NB*K*P*Q / 64), 1, 1). */
#ifndef C
#define NB 1
#define C 3
#define H 8
#define W 8
#define K 4
#define R 3
#define S 3
#define SH 1
#define SW 1
#define DH 1
#define DW 1
#define PT 1
#define PL 1
#define P 8
#define Q 8
#endif

KERNEL WG_SIZE(64, 1, 1) conv2d_naive(GLOBAL const float *RESTRICT x, GLOBAL const float *RESTRICT w,
                                      GLOBAL float *RESTRICT y)
{
    const long i = (long)GRP(0) * 64 + LID(0);
    const int q = (int)(i % Q), p = (int)(i / Q % P), k = (int)(i / ((long)Q * P) % K), n = (int)(i / ((long)Q * P * K));
    float sum = 0.0f;

    if (i >= (long)NB * K * P * Q)
        return;
    for (int c = 0; c < C; c++)
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                const int row = p * SH + r * DH - PT, column = q * SW + s * DW - PL;

                if (row >= 0 && row < H && column >= 0 && column < W)
                    sum += x[((n * C + c) * H + row) * W + column] * w[((k * C + c) * R + r) * S + s];
            }
    y[i] = sum;
}
