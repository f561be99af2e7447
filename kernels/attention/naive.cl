/* SPDX-License-Identifier: MIT */
/* naive.cl - attention, see attention.clh. One query a work-item, its products made twice: the baseline. Sums over keys are
 * made of sums of 256. No knobs. Launch: local (WG, 1, 1); groups (ceil(BATCH * HEADS * Q / WG), 1, 1). */
#include "attention/attention.clh"
#ifndef WG
#define WG 64
#endif
#define TOGETHER 256

DEVICE float product_of(GLOBAL const ELEM *RESTRICT a, GLOBAL const ELEM *RESTRICT b)
{
    float sum = 0.0f;

    for (int i = 0; i < D; i++)
        sum = FFMA1(LOAD1(a + i), LOAD1(b + i), sum);
    return sum;
}

KERNEL WG_SIZE(WG, 1, 1) attention_naive(ATTENTION_PARAMS)
{
    const long row = (long)GRP(0) * WG + LID(0);
    const int b = (int)(row / (HEADS * Q)), h = (int)(row / Q % HEADS), i = (int)(row % Q);
    float top = LEAST_LOGIT, sum = 0.0f, all[DV], part[DV];
    GLOBAL const ELEM *query = q + Q_AT(b, h, i);

    if (row >= (long)BATCH * HEADS * Q)
        return;
    const int n = KEYS_SEEN(b, i);
    for (int j = 0; j < n; j++)
        top = FMAX1(top, LOGIT(product_of(query, k + K_AT(b, h / GROUP, j)), b, h, i, j));
    for (int c = 0; c < DV; c++)
        all[c] = 0.0f;
    for (int from = 0; from < n; from += TOGETHER) {
        float powers = 0.0f;

        for (int c = 0; c < DV; c++)
            part[c] = 0.0f;
        for (int j = from; j < from + TOGETHER && j < n; j++) {
            const float p = power1(LOGIT(product_of(query, k + K_AT(b, h / GROUP, j)), b, h, i, j) - top);
            GLOBAL const ELEM *value = v + V_AT(b, h / GROUP, j);

            powers += p;
            for (int c = 0; c < DV; c++)
                part[c] = FFMA1(p, LOAD1(value + c), part[c]);
        }
        sum += powers;
        for (int c = 0; c < DV; c++)
            all[c] += part[c];
    }
    for (int c = 0; c < DV; c++)
        STORE1(y + Y_AT(b, h, i) + c, PART_OF(all[c], sum));
}
