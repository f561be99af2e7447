/* SPDX-License-Identifier: MIT */
/* stream.cl - y = a + b, see add.clh, all types and layouts: one long array. A work-item adds RUN vectors of VEC elements, WG
 * vectors apart (with one work-item a group: neighbours).
 * Knobs: VEC; RUN; WG work-items. Launch: local (WG, 1, 1); groups (ceil(N / (WG*RUN*VEC)), 1, 1). */
#include "add/add.clh"
#ifndef WG
#define WG 1
#define RUN 8
#endif

#if DT == 2
#define SUMS(i)                                                                                                        \
    FVFMA(ELEM_FLOATS(b + (i)) - FVSET((float)ZERO_OF(1)), FVSET(scale[1]),                                            \
          (ELEM_FLOATS(a + (i)) - FVSET((float)ZERO_OF(0))) * FVSET(scale[0]))
#define STORE_SUMS(p, v) STORE_REQUANTISED((v), LEAST(ZERO_OF(2)), ZERO_OF(2), (p))
#else
#define SUMS(i) VADD(VLOAD_ALIGNED(a + (i)), VLOAD_ALIGNED(b + (i)))
#define STORE_SUMS(p, v) VSTORE_ALIGNED((v), (p))
#endif
#if RELU
#define POSITIVE(v) FVMAX((v), FVSET(0.0f))
#else
#define POSITIVE(v) (v)
#endif

KERNEL WG_SIZE(WG, 1, 1) add_stream(ADD_PARAMS)
{
    const long first = ((long)GRP(0) * (WG * RUN) + LID(0)) * VEC;

    for (int j = 0; j < RUN; j++) {
        const long i = first + (long)j * (WG * VEC);

        if (i + VEC <= N) {
            STORE_SUMS(y + i, POSITIVE(SUMS(i)));
        } else {
            for (int l = 0; l < VEC && i + l < N; l++)
                ADD1(i + l);
            return;
        }
    }
}
