/* SPDX-License-Identifier: MIT */
/* naive.cl - rows brought to one size, see norm.clh. One row a work-item: the baseline. No knobs.
 * Launch: local (WG, 1, 1); groups (ceil(M / WG), 1, 1). */
#include "norm/norm.clh"

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) norm_naive(NORM_PARAMS)
{
    const int row = GRP(0) * WG + LID(0);
    GLOBAL const ELEM *from = x + (long)row * N;
    GLOBAL ELEM *to = y + (long)row * N;
    float mean = 0.0f, squares = 0.0f, over = 0.0f, factor;

    if (row >= M)
        return;
#if CENTRES
    for (int n = 0; n < N; n += PART) {
        float part = 0.0f;

        for (int i = n; i < n + PART && i < N; i++)
            part += LOAD1(from + i);
        add_part(&mean, &over, part);
    }
    mean /= (float)N;
    over = 0.0f;
#endif
    for (int n = 0; n < N; n += PART) {
        float part = 0.0f;

        for (int i = n; i < n + PART && i < N; i++)
            part += (LOAD1(from + i) - mean) * (LOAD1(from + i) - mean);
        add_part(&squares, &over, part);
    }
    factor = FACTOR_OF(squares);
    for (int n = 0; n < N; n++)
        STORE1(to + n, (LOAD1(from + n) - mean) * factor * LOAD1(w + n) + BIAS1(n));
}
