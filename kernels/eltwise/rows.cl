/* SPDX-License-Identifier: MIT */
/* rows.cl - y = chain(a, b, c, d), see functions.clh, of ROWS rows of INNER elements. A work-item makes RUN vectors of
 * VEC elements of each of TALL rows; an input with one element a row is spread over the lanes.
 * Knobs: VEC; RUN; TALL; WG work-items. Launch: local (WG, 1, 1); groups (ceil(ceil(INNER / (RUN*VEC)) *
 * ceil(ROWS / TALL) / WG), 1, 1). */
#include "eltwise/functions.clh"

#ifndef WG
#define WG 1
#define RUN 8
#define TALL 1
#endif

#define COLUMNS CEIL_DIV(INNER, RUN *VEC)
#define PAIRS CEIL_DIV(ROWS, TALL)
#if INNER % VEC == 0
#define GET_VECTOR(p) VLOAD_ALIGNED(p)
#define PUT_VECTOR(v, p) VSTORE_ALIGNED((v), (p))
#else
#define GET_VECTOR(p) VLOAD(p)
#define PUT_VECTOR(v, p) VSTORE((v), (p))
#endif
#define PLACE(x, X) (x + (ROW_OF(X, row) + (long)at * STEP(X, 5)))
#define VECTOR(x, X) (STEP(X, 5) ? GET_VECTOR(PLACE(x, X)) : VSET(LOAD1(PLACE(x, X))))

/* Fewer than VEC elements at the end of a row. */
#define REST(x, X) rest_of(PLACE(x, X), STEP(X, 5), n)
DEVICE VT rest_of(GLOBAL const ELEM *p, int step, int n)
{
    SUM lanes_[VEC];

    for (int l = 0; l < VEC; l++)
        lanes_[l] = LOAD1(p + (l < n ? l * step : 0));
    return PRIVATE_VLOAD(lanes_);
}

DEVICE void put_rest(VT v, GLOBAL ELEM *p, int n)
{
    SUM lanes_[VEC];

    PRIVATE_VSTORE(v, lanes_);
    for (int l = 0; l < n; l++)
        STORE1(p + l, lanes_[l]);
}

KERNEL WG_SIZE(WG, 1, 1) eltwise_rows(TENSORS)
{
    const long item = (long)GRP(0) * WG + LID(0), first = item / COLUMNS * TALL;
    const int column = (int)(item % COLUMNS) * (RUN * VEC);

    for (long row = first; row < first + TALL && row < ROWS; row++)
        for (int j = 0; j < RUN; j++) {
            const int at = column + j * VEC, n = INNER - at;

            if (n >= VEC) {
                PUT_VECTOR(chain_lanes(LIST(VECTOR)), y + (row * INNER + at));
            } else {
                if (n > 0)
                    put_rest(chain_lanes(LIST(REST)), y + (row * INNER + at), n);
                break;
            }
        }
}
