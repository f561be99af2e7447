/* SPDX-License-Identifier: MIT */
/* stream.cl - y = the channels of a, then those of b, see concat.clh, all types and layouts: one long array. A work-item moves RUN
 * vectors of VEC elements, WG vectors apart (with one work-item a group: neighbours); a vector that is of both goes one by one.
 * Knobs: VEC; RUN; WG work-items. Launch: local (WG, 1, 1); groups (ceil(N / (WG*RUN*VEC)), 1, 1). */
#include "concat/concat.clh"
#ifndef WG
#define WG 1
#define RUN 8
#endif

KERNEL WG_SIZE(WG, 1, 1) concat_stream(CONCAT_PARAMS)
{
    const long first = ((long)GRP(0) * (WG * RUN) + LID(0)) * VEC;

    for (int j = 0; j < RUN; j++) {
        const long i = first + (long)j * (WG * VEC);
        const int at = (int)(i % (A + B));

        if (i + VEC <= N && at + VEC <= A)
            RVSTORE(RVLOAD(FROM_A(i, at)), y + i);
        else if (i + VEC <= N && at >= A && at + VEC <= A + B)
            RVSTORE(RVLOAD(FROM_B(i, at)), y + i);
        else
            for (long k = i; k < i + VEC && k < N; k++)
                y[k] = k % (A + B) < A ? *FROM_A(k, k % (A + B)) : *FROM_B(k, k % (A + B));
    }
}
