/* SPDX-License-Identifier: MIT */
/* tiled.cl - attention for GPUs and Mali, see attention.clh: softmax over blocks of keys as they come (Dao et al. 2022; split as
 * in Flash-Decoding, 2023). A group of TX x TY work-items takes TY * MR rows of one head of keys (a row: a query of one of its
 * GROUP heads, heads inside) and a slice of the keys. Of each block of TX * NR keys a work-item makes MR x NR products, keys TX
 * apart; powers go through local memory, and it adds the values of its columns, TX apart, to MR x CEIL(DV / TX) sums.
 * Knobs: TX TY; MR NR; VEC numbers of d in one step; STAGE 1: queries, then keys and values of a block in local memory, 0: read
 * where they lie; SPLIT slices, whose sums go to part[SPLIT][BATCH * KV_HEADS * ROWS][DV + 2] and are put together.
 * Launch: local (TX, TY, 1); groups (BATCH * KV_HEADS * ceil(GROUP * Q / (TY*MR)) * SPLIT, 1, 1); the second kernel a
 * work-item for each element of y, in groups of 64. */
#include "attention/attention.clh"
#ifndef TX
#define TX 8
#define TY 8
#define MR 2
#define NR 2
#define STAGE 1
#define SPLIT 1
#endif

#define ROWS (GROUP * Q)
#define ITEM_ROWS (TY * MR)
#define ITEMS CEIL_DIV(ROWS, ITEM_ROWS)
#define KEYS (TX * NR)
#define STEPS CEIL_DIV(D, VEC)
#define D_ROW (STEPS * VEC + 4) /* of queries and keys in local memory */
#define W_ROW (KEYS + 4)        /* of powers */
#define COLUMNS CEIL_DIV(DV, TX)
#define QUERY(row) ((row) / GROUP)
#define HEAD(head, row) ((head)*GROUP + (row) % GROUP)
#define LAST_ROW(row) ((row) < ROWS ? (row) : ROWS - 1)
#define PART_ROW (DV + 2)
#define EACH(i, n) UNROLL for (int i = 0; i < (n); i++)

#if STAGE
/* A row of D numbers, zeros behind, by the group: `step` of them apart. */
#define BRING_ROWS(n, source, to)                                                                                      \
    for (int at = item; at < (n)*STEPS; at += TX * TY) {                                                               \
        const int r = at / STEPS, c = at % STEPS * VEC;                                                                \
        GLOBAL const ELEM *const from = (source);                                                                      \
                                                                                                                       \
        BRING(from, c, (to) + r * D_ROW + c);                                                                          \
    }
#if D % VEC == 0
#define BRING(from, c, to) LOCAL_VSTORE(VLOAD_ALIGNED((from) + (c)), (to))
#else
#define BRING(from, c, to)                                                                                             \
    for (int e = 0; e < VEC; e++)                                                                                      \
    (to)[e] = (c) + e < D ? LOAD1((from) + (c) + e) : 0.0f
#endif
#define A_STEP(i, c) LOCAL_VLOAD_ALIGNED(queries + (y0 + (i)) * D_ROW + (c))
#define B_STEP(j, c) LOCAL_VLOAD_ALIGNED(tile + (tx + (j)*TX) * D_ROW + (c))
#define VALUE(j, c) tile[(j)*DV + columns[c]]
#define TILE (KEYS * (D_ROW > DV ? D_ROW : CEIL_DIV(DV, 4) * 4))
#else
#if D % VEC == 0
#define D_VLOAD(p) VLOAD_ALIGNED(p)
#else
#define D_VLOAD(p) VLOAD(p)
#endif
#define A_STEP(i, c) D_VLOAD(query[i] + (c))
#define B_STEP(j, c) D_VLOAD(key[j] + (c))
#define VALUE(j, c) LOAD1(values + (long)(j)*V_STEP + columns[c])
#endif

#ifdef TUNE_CUDA
DEVICE float lanes_sum(VT a)
{
    float sum = lane(a, 0);

    UNROLL for (int i = 1; i < VEC; i++) sum += lane(a, i);
    return sum;
}
#elif VEC == 1
#define lanes_sum(a) (a)
#elif VEC == 2
#define lanes_sum(a) ((a).s0 + (a).s1)
#elif VEC == 4
#define lanes_sum(a) (((a).s0 + (a).s1) + ((a).s2 + (a).s3))
#endif

#if SPLIT > 1
#define LAST_PARAM , GLOBAL float *RESTRICT part
#else
#define LAST_PARAM
#endif
KERNEL WG_SIZE(TX *TY, 1, 1) attention_tiled(ATTENTION_PARAMS LAST_PARAM)
{
#if STAGE
    LOCAL_ALIGNED float queries[ITEM_ROWS * D_ROW];
    LOCAL_ALIGNED float tile[TILE];
#endif
    LOCAL_ALIGNED float weights[ITEM_ROWS * W_ROW];
    LOCAL_ALIGNED float tops[ITEM_ROWS * TX];
    const int item = LID(0), tx = item % TX, y0 = item / TX * MR;
    const int slice = GRP(0) % SPLIT, group = GRP(0) / SPLIT;
    const int row0 = group % ITEMS * ITEM_ROWS, head = group / ITEMS % KV_HEADS, b = group / ITEMS / KV_HEADS;
    const int most = KEYS_SEEN(b, QUERY(LAST_ROW(row0 + ITEM_ROWS - 1))); /* the last row sees all that others see */
    const int n_slice = CEIL_DIV(CEIL_DIV(most, KEYS), SPLIT) * KEYS;
    const int end = n_slice * (slice + 1) < most ? n_slice * (slice + 1) : most;
    float sums[MR][COLUMNS], top[MR], total[MR];
    int columns[COLUMNS], seen[MR];
#if !STAGE
    GLOBAL const ELEM *query[MR], *key[NR];

    EACH(i, MR) query[i] = q + Q_AT(b, HEAD(head, LAST_ROW(row0 + y0 + i)), QUERY(LAST_ROW(row0 + y0 + i)));
#else
    POISON_LOCAL(queries, ITEM_ROWS * D_ROW, item, TX *TY);
    BRING_ROWS(ITEM_ROWS, q + Q_AT(b, HEAD(head, LAST_ROW(row0 + r)), QUERY(LAST_ROW(row0 + r))), queries)
#endif
    EACH(c, COLUMNS) columns[c] = tx + c * TX < DV ? tx + c * TX : 0;
    EACH(i, MR)
    {
        seen[i] = KEYS_SEEN(b, QUERY(LAST_ROW(row0 + y0 + i)));
        top[i] = LEAST_LOGIT;
        total[i] = 0.0f;
        EACH(c, COLUMNS) sums[i][c] = 0.0f;
    }
    for (int j0 = n_slice * slice; j0 < end; j0 += KEYS) {
        const int n_keys = end - j0 < KEYS ? end - j0 : KEYS;
        float logits[MR][NR];
        VT acc[MR][NR];

        EACH(i, MR) EACH(j, NR) acc[i][j] = VSET(0.0f);
#if STAGE
        BRING_ROWS(n_keys, k + K_AT(b, head, j0 + r), tile)
        BARRIER();
        for (int c = 0; c < STEPS * VEC; c += VEC)
#else
        EACH(j, NR) key[j] = k + K_AT(b, head, tx + j * TX < n_keys ? j0 + tx + j * TX : j0);
        for (int c = 0; c < D / VEC * VEC; c += VEC)
#endif
        {
            VT a[MR];

            EACH(i, MR) a[i] = A_STEP(i, c);
            EACH(j, NR)
            {
                const VT other = B_STEP(j, c);

                EACH(i, MR) acc[i][j] = VFMA(a[i], other, acc[i][j]);
            }
        }
        EACH(i, MR)
        {
            float largest = LEAST_LOGIT;

            EACH(j, NR)
            {
                const int at = j0 + tx + j * TX;
                float product = lanes_sum(acc[i][j]);

#if !STAGE && D % VEC
                for (int c = D / VEC * VEC; c < D; c++)
                    product = FMA1(LOAD1(query[i] + c), LOAD1(key[j] + c), product);
#endif
                logits[i][j] = at < seen[i] && at < end ? LOGIT(product, b, HEAD(head, LAST_ROW(row0 + y0 + i)),
                                                                QUERY(LAST_ROW(row0 + y0 + i)), at)
                                                        : -INFINITE;
                largest = FMAX1(largest, logits[i][j]);
            }
            tops[(y0 + i) * TX + tx] = largest;
        }
        BARRIER(); /* the largest are there, and the keys have been read */
#if STAGE
        for (int at = item; at < n_keys * DV; at += TX * TY)
            tile[at] = LOAD1(v + V_AT(b, head, j0 + at / DV) + at % DV);
#else
        GLOBAL const ELEM *const values = v + V_AT(b, head, j0);
#endif
        EACH(i, MR)
        {
            const float before = top[i];
            float factor;

            for (int x = 0; x < TX; x++)
                top[i] = FMAX1(top[i], tops[(y0 + i) * TX + x]);
            factor = power1(before - top[i]);
            total[i] *= factor;
            EACH(c, COLUMNS) sums[i][c] *= factor;
            EACH(j, NR)
            {
                const float p = power1(logits[i][j] - top[i]);

                total[i] += p;
                weights[(y0 + i) * W_ROW + tx + j * TX] = p;
            }
        }
        BARRIER(); /* powers and values are there */
        for (int j = 0; j < n_keys; j++) {
            float p[MR];

            EACH(i, MR) p[i] = weights[(y0 + i) * W_ROW + j];
            EACH(c, COLUMNS)
            {
                const float value = VALUE(j, c);

                EACH(i, MR) sums[i][c] = FMA1(p[i], value, sums[i][c]);
            }
        }
#if STAGE
        BARRIER(); /* all values have been read */
#endif
    }
    EACH(i, MR) tops[(y0 + i) * TX + tx] = total[i];
    BARRIER();
    EACH(i, MR)
    {
        const int row = row0 + y0 + i;

        total[i] = 0.0f;
        for (int x = 0; x < TX; x++)
            total[i] += tops[(y0 + i) * TX + x];
        if (row < ROWS) {
#if SPLIT > 1
            GLOBAL float *const to = part + (((long)slice * BATCH + b) * KV_HEADS + head) * ROWS * PART_ROW + (long)row * PART_ROW;

            if (tx == 0) {
                to[DV] = top[i];
                to[DV + 1] = total[i];
            }
            EACH(c, COLUMNS)
            if (tx + c * TX < DV)
                to[tx + c * TX] = sums[i][c];
#else
            GLOBAL ELEM *const to = y + Y_AT(b, HEAD(head, row), QUERY(row));

            EACH(c, COLUMNS)
            if (tx + c * TX < DV)
                STORE1(to + tx + c * TX, PART_OF(sums[i][c], total[i]));
#endif
        }
    }
}

#if SPLIT > 1
KERNEL WG_SIZE(64, 1, 1) attention_join(GLOBAL const float *RESTRICT part, GLOBAL ELEM *RESTRICT y)
{
    const long at = (long)GRP(0) * 64 + LID(0), all = (long)BATCH * KV_HEADS * ROWS, row = at / DV;
    const int c = (int)(at % DV), own = (int)(row % ROWS), head = (int)(row / ROWS % KV_HEADS);
    float top = LEAST_LOGIT, total = 0.0f, sum = 0.0f;

    if (row >= all)
        return;
    for (int s = 0; s < SPLIT; s++)
        top = FMAX1(top, part[(s * all + row) * PART_ROW + DV]);
    for (int s = 0; s < SPLIT; s++) {
        GLOBAL const float *const from = part + (s * all + row) * PART_ROW;
        const float factor = power1(from[DV] - top);

        total = FMA1(from[DV + 1], factor, total);
        sum = FMA1(from[c], factor, sum);
    }
    STORE1(y + Y_AT((int)(row / ROWS / KV_HEADS), HEAD(head, own), QUERY(own)) + c, PART_OF(sum, total));
}
#endif
