/* SPDX-License-Identifier: MIT */
/* stream.cl - see quantize.clh: one long array. A work-item makes RUN vectors of VEC elements, WG vectors apart (with one
 * work-item a group: neighbours).
 * Knobs: VEC; RUN; WG work-items. Launch: local (WG, 1, 1); groups (ceil(N / (WG*RUN*VEC)), 1, 1). */
#include "quantize/quantize.clh"
#ifndef WG
#define WG 1
#define RUN 8
#endif

/* v / scale as it is rounded to nearest, i its inverse: see quotient. */
DEVICE FVT quotients(FVT v, float scale, float i)
{
    const FVT q = v * FVSET(i);

    return FVFMA(OF_FINITE(q, FVFMA(q, FVSET(-scale), v)), FVSET(i), q);
}

KERNEL WG_SIZE(WG, 1, 1) quantize_stream(QUANTIZE_PARAMS)
{
    const long first = ((long)GRP(0) * (WG * RUN) + LID(0)) * VEC;
    const float by = scale[0];
    const int point = zero[0];
#if BACK
#define MOVE(i) FVSTORE((ELEM_FLOATS(x + (i)) - FVSET((float)point)) * FVSET(by), y + (i))
#elif DT == 2
    const float i_by = inverse(by);
#define MOVE(i) STORE_REQUANTISED(quotients(FVLOAD(x + (i)), by, i_by), LEAST(point), point, y + (i))
#else /* the file alone */
#define MOVE(i) QUANTIZE1(i)
#endif

    for (int j = 0; j < RUN; j++) {
        const long i = first + (long)j * (WG * VEC);

        if (i + VEC <= N) {
            MOVE(i);
        } else {
            for (int l = 0; l < VEC && i + l < N; l++)
                QUANTIZE1(i + l);
            return;
        }
    }
}
