/* SPDX-License-Identifier: MIT */
/* rows.cl - rows brought to one size, see norm.clh. WG work-items take one row: its mean, the sum of squared differences,
 * and what is made of each number; the row stays in the first cache between.
 * Knobs: VEC; WG work-items, a power of two; ROWS of a group.
 * Launch: local (WG, ROWS, 1); groups (ceil(M / ROWS), 1, 1). */
#include "norm/norm.clh"
#ifndef WG
#define WG 1
#define ROWS 1
#endif
#include "glue/reduce.clh"
#include "glue/short_rows.clh"

#define VECTORS (N / VEC)
#define PLUS(a, b) ((a) + (b))
#define SQUARES(v) VMUL((v), (v))
#define SQUARE(v) ((v) * (v))
#define EACH_OF_THE_REST for (int i = VECTORS * VEC + FIRST; i < N; i += WG)

/* The sum over the row of what `each` makes of vectors, `each1` of the rest. */
#define SUM_OF_ROW(out, array, each, each1)                                                                            \
    {                                                                                                                  \
        VT alls = VSET(0.0f), overs = VSET(0.0f);                                                                      \
                                                                                                                       \
        for (int first = FIRST; first < VECTORS; first += PART * WG) {                                                \
            VT part = VSET(0.0f);                                                                                      \
                                                                                                                       \
            for (int i = first; i < first + PART * WG && i < VECTORS; i += WG)                                         \
                part = VADD(part, each(VLOAD(from + i * VEC)));                                                        \
            add_parts(&alls, &overs, part);                                                                            \
        }                                                                                                              \
        EACH_OF_THE_REST out += each1(LOAD1(from + i));                                                                \
        ACROSS_LANES(float, PRIVATE_VSTORE, alls, PLUS, out)                                                           \
        ACROSS_GROUP(array, out, PLUS)                                                                                 \
    }
#define SAME(v) (v)
#define OFF(v) SQUARES(VSUB((v), VSET(mean)))
#define OFF1(v) SQUARE((v)-mean)

KERNEL WG_SIZE(WG, ROWS, 1) norm_rows(NORM_PARAMS)
{
#if WG > 1
    LOCAL_ARRAY float squares_of_rows[ROWS * WG];
    LOCAL float *all_squares = squares_of_rows + LINE * WG;
#if CENTRES
    LOCAL_ARRAY float sums_of_rows[ROWS * WG];
    LOCAL float *all_sums = sums_of_rows + LINE * WG;
#endif
#endif
    const long row = ROW;
    GLOBAL const ELEM *RESTRICT from = x + WITHIN(row) * N;
    GLOBAL ELEM *RESTRICT to = y + WITHIN(row) * N;
    float mean = 0.0f, squares = 0.0f, factor;

#if CENTRES
    SUM_OF_ROW(mean, all_sums, SAME, SAME)
    mean /= (float)N;
#endif
    SUM_OF_ROW(squares, all_squares, OFF, OFF1)
    factor = FACTOR_OF(squares);
    for (int i = FIRST * VEC; i < VECTORS * VEC; i += WG * VEC)
        VSTORE(VFMA(VMUL(VSUB(VLOAD(from + i), VSET(mean)), VSET(factor)), VLOAD(w + i), BIASES(i)), to + i);
    EACH_OF_THE_REST STORE1(to + i, (LOAD1(from + i) - mean) * factor * LOAD1(w + i) + BIAS1(i));
}
