/* SPDX-License-Identifier: MIT */
/* rows.cl - rows brought to one size, see norm.clh. A group of work-items takes one row: its mean, the sum of squared differences,
 * and what is made of each number; the row stays in the first cache between.
 * Knobs: VEC; WG work-items, a power of two.
 * Launch: local (WG, 1, 1); groups (M, 1, 1). */
#include "norm/norm.clh"
#ifndef WG
#define WG 1
#endif
#include "glue/reduce.clh"

#define VECTORS (N / VEC)
#define PLUS(a, b) ((a) + (b))
#define SQUARES(v) VMUL((v), (v))
#define SQUARE(v) ((v) * (v))
#define EACH_OF_THE_REST for (int i = VECTORS * VEC + LID(0); i < N; i += WG)

/* The sum over the row of what `each` makes of vectors, `each1` of the rest. */
#define SUM_OF_ROW(out, array, each, each1)                                                                            \
    {                                                                                                                  \
        VT alls = VSET(0.0f), overs = VSET(0.0f);                                                                      \
                                                                                                                       \
        for (int first = LID(0); first < VECTORS; first += PART * WG) {                                                \
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

KERNEL WG_SIZE(WG, 1, 1) norm_rows(NORM_PARAMS)
{
#if WG > 1
    LOCAL_ARRAY float all_squares[WG];
#if CENTRES
    LOCAL_ARRAY float all_sums[WG];
#endif
#endif
    GLOBAL const ELEM *RESTRICT from = x + (long)GRP(0) * N;
    GLOBAL ELEM *RESTRICT to = y + (long)GRP(0) * N;
    float mean = 0.0f, squares = 0.0f, factor;

#if CENTRES
    SUM_OF_ROW(mean, all_sums, SAME, SAME)
    mean = quotient(mean, (float)N);
#endif
    SUM_OF_ROW(squares, all_squares, OFF, OFF1)
    factor = FACTOR_OF(squares);
    for (int i = LID(0) * VEC; i < VECTORS * VEC; i += WG * VEC)
        VSTORE(VFMA(VMUL(VSUB(VLOAD(from + i), VSET(mean)), VSET(factor)), VLOAD(w + i), BIASES(i)), to + i);
    EACH_OF_THE_REST STORE1(to + i, (LOAD1(from + i) - mean) * factor * LOAD1(w + i) + BIAS1(i));
}
