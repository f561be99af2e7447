/* SPDX-License-Identifier: MIT */
/* rows.cl - softmax of M rows of N, see softmax.clh. WG work-items take one row: its largest value, the sum of the
 * powers, the powers once more or as they were kept in y, times the sum's inverse.
 * Knobs: VEC; WG work-items, a power of two; ROWS of a group; KEEP 1: powers are kept in y between (f32).
 * Launch: local (WG, ROWS, 1); groups (ceil(M / ROWS), 1, 1). */
#include "softmax/softmax.clh"
#ifndef WG
#define WG 1
#define ROWS 1
#define KEEP 0
#endif
#include "glue/reduce.clh"
#include "glue/short_rows.clh"

#define VECTORS (N / VEC)
#define PLUS(a, b) ((a) + (b))
#define EACH_VECTOR for (int i = FIRST * VEC; i < VECTORS * VEC; i += WG * VEC)
#define EACH_OF_THE_REST for (int i = VECTORS * VEC + FIRST; i < N; i += WG)

KERNEL WG_SIZE(WG, ROWS, 1) softmax_rows(SOFTMAX_PARAMS)
{
#if WG > 1
    LOCAL_ARRAY SUM tops_of_rows[ROWS * WG];
    LOCAL_ARRAY float sums_of_rows[ROWS * WG];
    LOCAL SUM *all_tops = tops_of_rows + LINE * WG;
    LOCAL float *all_sums = sums_of_rows + LINE * WG;
#endif
    const long row = ROW;
    GLOBAL const IN *RESTRICT from = x + WITHIN(row) * N;
    GLOBAL RESULT *RESTRICT to = y + WITHIN(row) * N;
    SUM top = IN_LOAD1(from);
    VT tops = VSET(top);
    FVT sums = FVSET(0.0f), overs = FVSET(0.0f);
    float sum = 0.0f, scaled;

    EACH_VECTOR tops = VMAX(tops, IN_VLOAD(from + i));
    EACH_OF_THE_REST top = MAX1(top, IN_LOAD1(from + i));
    ACROSS_LANES(SUM, PRIVATE_VSTORE, tops, MAX1, top)
    ACROSS_GROUP(all_tops, top, MAX1)
    for (int first = FIRST * VEC; first < VECTORS * VEC; first += PART * WG * VEC) {
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
