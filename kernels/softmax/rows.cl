/* SPDX-License-Identifier: MIT */
/* rows.cl - softmax of M rows of N, see softmax.clh. A group of work-items takes one row: its largest value, the sum of the
 * powers, the powers once more or as they were kept in y, times the sum's inverse.
 * Knobs: VEC; WG work-items, a power of two; KEEP 1: powers are kept in y between (f32).
 * Launch: local (WG, 1, 1); groups (M, 1, 1). */
#include "softmax/softmax.clh"
#ifndef WG
#define WG 1
#define KEEP 0
#endif
#include "glue/reduce.clh"

#define VECTORS (N / VEC)
#define PLUS(a, b) ((a) + (b))
#define EACH_VECTOR for (int i = LID(0) * VEC; i < VECTORS * VEC; i += WG * VEC)
#define EACH_OF_THE_REST for (int i = VECTORS * VEC + LID(0); i < N; i += WG)

KERNEL WG_SIZE(WG, 1, 1) softmax_rows(SOFTMAX_PARAMS)
{
#if WG > 1
    LOCAL_ARRAY SUM all_tops[WG];
    LOCAL_ARRAY float all_sums[WG];
#endif
    GLOBAL const IN *RESTRICT from = x + (long)GRP(0) * N;
    GLOBAL RESULT *RESTRICT to = y + (long)GRP(0) * N;
    SUM top = IN_LOAD1(from);
    VT tops = VSET(top);
    FVT sums = FVSET(0.0f), overs = FVSET(0.0f);
    float sum = 0.0f, scaled;

    EACH_VECTOR tops = VMAX(tops, IN_VLOAD(from + i));
    EACH_OF_THE_REST top = MAX1(top, IN_LOAD1(from + i));
    ACROSS_LANES(SUM, PRIVATE_VSTORE, tops, MAX1, top)
    ACROSS_GROUP(all_tops, top, MAX1)
    for (int first = LID(0) * VEC; first < VECTORS * VEC; first += PART * WG * VEC) {
        FVT part = FVSET(0.0f);

        for (int i = first; i < first + PART * WG * VEC && i < VECTORS * VEC; i += WG * VEC) {
            const FVT power = exps(BELOW(IN_VLOAD(from + i), top));

            part = part + power;
#if KEEP
            OUT_VSTORE(power, to + i);
#endif
        }
        add_parts(&sums, &overs, part);
    }
    EACH_OF_THE_REST sum += exp1(BELOW1(IN_LOAD1(from + i), top));
    ACROSS_LANES(float, PRIVATE_FVSTORE, sums, PLUS, sum)
    ACROSS_GROUP(all_sums, sum, PLUS)
    scaled = inverse(sum);
    EACH_VECTOR
#if KEEP
        OUT_VSTORE(OUT_VLOAD(to + i) * FVSET(scaled), to + i);
#else
        OUT_VSTORE(exps(BELOW(IN_VLOAD(from + i), top)) * FVSET(scaled), to + i);
#endif
    EACH_OF_THE_REST OUT_STORE1(to + i, exp1(BELOW1(IN_LOAD1(from + i), top)) * scaled);
}
