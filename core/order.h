/* SPDX-License-Identifier: MIT */
/* order.h - comparison for qsort. */
#ifndef TUNE_CORE_ORDER_H
#define TUNE_CORE_ORDER_H

/* Of two double, none of them NAN: ascending. */
static inline int order_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

#endif
