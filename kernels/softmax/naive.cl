/* SPDX-License-Identifier: MIT */
/* naive.cl - softmax of M rows of N, see softmax.clh. One row a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(M / WG), 1, 1). */
#include "softmax/softmax.clh"

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) softmax_naive(SOFTMAX_PARAMS)
{
    const int row = GRP(0) * WG + LID(0);
    GLOBAL const IN *from = x + (long)row * N;
    GLOBAL RESULT *to = y + (long)row * N;
    SUM top;
    float sum = 0.0f, over = 0.0f;

    if (row >= M)
        return;
    top = IN_LOAD1(from);
    for (int n = 1; n < N; n++)
        top = MAX1(top, IN_LOAD1(from + n));
    for (int n = 0; n < N; n += PART) {
        float part = 0.0f;

        for (int i = n; i < n + PART && i < N; i++)
            part += exp1(BELOW1(IN_LOAD1(from + i), top));
        add_part(&sum, &over, part);
    }
    for (int n = 0; n < N; n++)
        OUT_STORE1(to + n, exp1(BELOW1(IN_LOAD1(from + n), top)) * inverse(sum));
}
