/* SPDX-License-Identifier: MIT */
/* packed.cl - attention for CPUs, see attention.clh: softmax over blocks of keys as they come (Milakov, Gimelshein 2018; Dao et al.
 * 2022). A work-item takes TILES tiles of MR rows of one head of keys (a row: a query of one of its GROUP heads, heads inside).
 * Of each block of PANELS * NR keys (NR = NV * VEC) it packs the keys, k[d][NR] a panel, and then for each tile makes the
 * products in vector registers, their powers, and adds the weighted values to the sums, which are scaled anew where a row's
 * largest logit has grown. For few rows (PACK 0) keys stay where they are, and VEC products are made along d.
 * Knobs: VEC lanes; MR rows; NV vectors; KU unroll; TILES; PANELS; PACK; COPY 1: values are copied, too, as floats.
 * Launch: local (1, 1, 1); groups (BATCH * KV_HEADS * ceil(GROUP * Q / (MR*TILES)), 1, 1). */
#include "attention/attention.clh"
#ifndef MR
#define MR 4
#define NV 1
#define KU 1
#define TILES 1
#define PANELS 1
#define PACK 1
#define COPY 1
#endif
#include "gemm/micro.clh"

#define NR (NV * VEC)
#define KEYS (PANELS * NR) /* of a block */
#define ROWS (GROUP * Q)
#define ITEM_ROWS (MR * TILES)
#define ITEMS CEIL_DIV(ROWS, ITEM_ROWS)
#define SUMS (CEIL_DIV(DV, NR) * NR) /* of a row */
#define QUERY(row) ((row) / GROUP)
#define HEAD(head, row) ((head)*GROUP + (row) % GROUP)
#define PLUS(a, b) ((a) + (b))
/* One value out of the lanes of v, two by two. */
#define OUT_OF_LANES(v, take, out)                                                                                     \
    {                                                                                                                  \
        float lanes_[VEC];                                                                                             \
                                                                                                                       \
        UNROLL                                                                                                         \
        for (int s_ = 1; s_ < VEC; s_ *= 2)                                                                            \
            v = take(VEVEN(v, v), VODD(v, v));                                                                         \
        PRIVATE_VSTORE(v, lanes_);                                                                                     \
        out = lanes_[0];                                                                                               \
    }

/* Keys j0 .. j0 + NR - 1 into `to`, [D][NR]; of those that there are not the last again. Blocks of VEC x VEC are transposed in
 * registers: log2(VEC) times the two halves of the rows are interleaved. */
#define KEY(from, j) ((from) + (long)((j) < K ? (j) : K - 1) * K_STEP)
DEVICE void pack_keys(GLOBAL const ELEM *RESTRICT from, int j0, LOCAL float *RESTRICT to)
{
    for (int v = 0; v < NV; v++)
        for (int c = 0; c + VEC <= D; c += VEC) {
            VT row[VEC], next[VEC];

            UNROLL
            for (int i = 0; i < VEC; i++)
                row[i] = VLOAD(KEY(from, j0 + v * VEC + i) + c);
            UNROLL
            for (int s = 1; s < VEC; s *= 2) {
                UNROLL
                for (int i = 0; i < VEC / 2; i++) {
                    next[2 * i] = VZIP_LOW(row[i], row[i + VEC / 2]);
                    next[2 * i + 1] = VZIP_HIGH(row[i], row[i + VEC / 2]);
                }
                UNROLL
                for (int i = 0; i < VEC; i++)
                    row[i] = next[i];
            }
            UNROLL
            for (int i = 0; i < VEC; i++)
                LOCAL_VSTORE(row[i], to + (c + i) * NR + v * VEC);
        }
    for (int c = D / VEC * VEC; c < D; c++)
        for (int i = 0; i < NR; i++)
            to[c * NR + i] = LOAD1(KEY(from, j0 + i) + c);
}

/* Products of a query with VEC keys from j on: a sum along d a lane, whose parts are added two by two. */
DEVICE VT products_of(LOCAL const float *query, GLOBAL const ELEM *RESTRICT from, int j)
{
    VT parts[VEC];

    UNROLL
    for (int i = 0; i < VEC; i++)
        parts[i] = VSET(0.0f);
    for (int c = 0; c + VEC <= D; c += VEC) {
        const VT some = LOCAL_VLOAD(query + c);

        UNROLL
        for (int i = 0; i < VEC; i++)
            parts[i] = VFMA(some, VLOAD(KEY(from, j + i) + c), parts[i]);
    }
    UNROLL
    for (int n = VEC / 2; n > 0; n /= 2)
        UNROLL
        for (int i = 0; i < n; i++)
            parts[i] = VEVEN(parts[2 * i], parts[2 * i + 1]) + VODD(parts[2 * i], parts[2 * i + 1]);
#if D % VEC
    float rest[VEC];

    for (int i = 0; i < VEC; i++) {
        rest[i] = 0.0f;
        for (int c = D / VEC * VEC; c < D; c++)
            rest[i] = FMA1(query[c], LOAD1(KEY(from, j + i) + c), rest[i]);
    }
    parts[0] = parts[0] + PRIVATE_VLOAD(rest);
#endif
    return parts[0];
}

/* n numbers, and zeros up to `width`. */
DEVICE void copy_row(GLOBAL const ELEM *RESTRICT from, int n, int width, LOCAL float *RESTRICT to)
{
    int c = 0;

    for (; c + VEC <= n; c += VEC)
        LOCAL_VSTORE(VLOAD(from + c), to + c);
    for (; c < n; c++)
        to[c] = LOAD1(from + c);
    for (; c < width; c++)
        to[c] = 0.0f;
}

/* The first n products of a row become logits, those up to `width` -infinity; then all become powers. `top` and `total` of the
 * row so far go on; tells the factor of what was summed before. */
#if MASK
#define MASK_ROW , GLOBAL const ELEM *RESTRICT mask_row
#define EACH_MASK(j) VLOAD(mask_row + (j))
#define EACH_MASK1(j) LOAD1(mask_row + (j))
#else
#define MASK_ROW
#define EACH_MASK(j) VSET(0.0f)
#define EACH_MASK1(j) 0.0f
#endif
DEVICE float powers_of_row(LOCAL float *row, int n, int width, LOCAL float *top, LOCAL float *total MASK_ROW)
{
    const float before = *top;
    float most, sum, factor, rest = before;
    VT mosts = VSET(before), sums = VSET(0.0f);
    int j = 0;

    for (; j + VEC <= n; j += VEC) {
        const VT logit = VFMA(LOCAL_VLOAD(row + j), VSET(SCALE), EACH_MASK(j));

        LOCAL_VSTORE(logit, row + j);
        mosts = VMAX(mosts, logit);
    }
    for (; j < n; j++) {
        row[j] = FMA1(row[j], SCALE, EACH_MASK1(j));
        rest = FMAX1(rest, row[j]);
    }
    for (; j < width; j++)
        row[j] = -INFINITE;
    OUT_OF_LANES(mosts, VMAX, most)
    most = FMAX1(most, rest);
    for (j = 0; j < width; j += VEC) {
        const VT p = powers(LOCAL_VLOAD(row + j) - VSET(most));

        LOCAL_VSTORE(p, row + j);
        sums = sums + p;
    }
    OUT_OF_LANES(sums, PLUS, sum)
    factor = power1(before - most);
    *top = most;
    *total = FMA1(*total, factor, sum);
    return factor;
}

/* A row of y. */
DEVICE void store_row(LOCAL const float *sums, float total, GLOBAL ELEM *RESTRICT to)
{
    const float i = total > 0.0f ? inverse(total) : 0.0f;
    int c = 0;

    for (; c + VEC <= DV; c += VEC) {
        const VT v = LOCAL_VLOAD(sums + c), part = v * VSET(i);

        VSTORE(VFMA(VFMA(VSET(0.0f) - part, VSET(total), v), VSET(i), part), to + c);
    }
    for (; c < DV; c++)
        STORE1(to + c, PART_OF(sums[c], total));
}

#define EACH_ROW(r, n) for (int r = 0; r < (n); r++)
#define OF_TILE                                                                                                        \
    UNROLL                                                                                                             \
    for (int i = 0; i < MR; i++)                                                                                       \
        UNROLL                                                                                                         \
        for (int w = 0; w < NV; w++)

KERNEL WG_SIZE(1, 1, 1) attention_packed(ATTENTION_PARAMS)
{
    LOCAL_ARRAY float queries[ITEM_ROWS * D], products[MR * KEYS], sums[ITEM_ROWS * SUMS];
    LOCAL_ARRAY float tops[ITEM_ROWS], totals[ITEM_ROWS];
#if PACK
    LOCAL_ARRAY float columns[KEYS * D];
#endif
#if COPY
    LOCAL_ARRAY float values[KEYS * SUMS];
#endif
    const int row0 = GRP(0) % ITEMS * ITEM_ROWS, head = GRP(0) / ITEMS % KV_HEADS, b = GRP(0) / ITEMS / KV_HEADS;
    const int n_rows = ROWS - row0 < ITEM_ROWS ? ROWS - row0 : ITEM_ROWS;
    const int most = KEYS_SEEN(b, QUERY(row0 + n_rows - 1)); /* the last row sees all that others see */
    GLOBAL const ELEM *const keys = k + K_AT(b, head, 0);

    EACH_ROW(r, CEIL_DIV(n_rows, MR) * MR)
    {
        const int row = row0 + r < ROWS ? row0 + r : ROWS - 1;

        copy_row(q + Q_AT(b, HEAD(head, row), QUERY(row)), D, D, queries + r * D);
        for (int c = 0; c < SUMS; c++)
            sums[r * SUMS + c] = 0.0f;
        tops[r] = LEAST_LOGIT;
        totals[r] = 0.0f;
    }
    for (int j0 = 0; j0 < most; j0 += KEYS) {
        const int n_keys = most - j0 < KEYS ? most - j0 : KEYS;
        GLOBAL const ELEM *const from = v + V_AT(b, head, j0);

#if PACK
        for (int p = 0; p * NR < n_keys; p++)
            pack_keys(keys, j0 + p * NR, columns + p * NR * D);
#endif
#if COPY
        EACH_ROW(j, n_keys) copy_row(from + (long)j * V_STEP, DV, SUMS, values + j * SUMS);
#endif
        for (int r0 = 0; r0 < n_rows; r0 += MR) {
            const int last = row0 + r0 + MR <= ROWS ? row0 + r0 + MR - 1 : ROWS - 1;
            const int seen = KEYS_SEEN(b, QUERY(last)) - j0, n = seen < n_keys ? seen : n_keys;
            float factors[MR];

            if (n <= 0)
                continue;
#define GEMM_A(i, c) queries[(r0 + (i)) * D + (c)]
#define GEMM_B(c, w) LOCAL_VLOAD(columns + (p * D + (c)) * NR + (w)*VEC)
#if !PACK
            EACH_ROW(i, MR)
            for (int j = 0; j < n; j += VEC)
                LOCAL_VSTORE(products_of(queries + (r0 + i) * D, keys, j0 + j), products + i * KEYS + j);
#else
            for (int p = 0; p * NR < n; p++) {
                VT acc[MR][NV];

                GEMM_ZERO(acc, MR)
                GEMM_RUN(acc, MR, D);
                OF_TILE LOCAL_VSTORE(acc[i][w], products + i * KEYS + p * NR + w * VEC);
            }
#endif
            EACH_ROW(i, MR)
            {
                const int row = row0 + r0 + i < ROWS ? row0 + r0 + i : ROWS - 1;
                const int own = KEYS_SEEN(b, QUERY(row)) - j0;

                factors[i] = powers_of_row(products + i * KEYS, own < 0 ? 0 : own < n ? own : n, CEIL_DIV(n, VEC) * VEC,
                                           tops + r0 + i, totals + r0 + i
#if MASK
                                           ,
                                           mask + MASK_AT(b, HEAD(head, row), QUERY(row)) + j0
#endif
                );
            }
#undef GEMM_A
#undef GEMM_B
#define GEMM_A(i, j) products[(i)*KEYS + (j)]
#if COPY
#define GEMM_B(j, w) LOCAL_VLOAD(values + (j)*SUMS + c + (w)*VEC)
#else
#define GEMM_B(j, w) VLOAD(from + (long)(j)*V_STEP + c + (w)*VEC)
#endif
            for (int c = 0; c < SUMS; c += NR) {
                VT acc[MR][NV];

                OF_TILE acc[i][w] = LOCAL_VLOAD(sums + (r0 + i) * SUMS + c + w * VEC) * VSET(factors[i]);
                GEMM_RUN(acc, MR, n);
                OF_TILE LOCAL_VSTORE(acc[i][w], sums + (r0 + i) * SUMS + c + w * VEC);
            }
#undef GEMM_A
#undef GEMM_B
        }
    }
    EACH_ROW(r, n_rows)
    store_row(sums + r * SUMS, totals[r], y + Y_AT(b, HEAD(head, row0 + r), QUERY(row0 + r)));
}
