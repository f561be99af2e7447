/* SPDX-License-Identifier: MIT */
/* naive.cl - y = chain(a, b, c, d), see functions.clh. One element a work-item: the baseline. No knobs (VEC is 1).
 * Launch: local (WG, 1, 1); groups (ceil(ROWS*INNER / WG), 1, 1). */
#include "eltwise/functions.clh"

#ifndef WG
#define WG 64
#endif

KERNEL WG_SIZE(WG, 1, 1) eltwise_naive(TENSORS)
{
    const long i = (long)GRP(0) * WG + LID(0), row = i / INNER, column = i % INNER;

#define ONE(x, X) VSET(LOAD1(x + (ROW_OF(X, row) + column * STEP(X, 5))))
    if (i < (long)ROWS * INNER) {
        SUM lanes_[VEC];

        PRIVATE_VSTORE(chain_lanes(LIST(ONE)), lanes_);
        STORE1(y + i, lanes_[0]);
    }
}
