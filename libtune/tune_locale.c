/* SPDX-License-Identifier: MIT */
#include "libtune/tune_parts.h"

static locale_t points;

static void make_points(void)
{
    points = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* never freed: a part of the C library */
}

locale_t tune_use_points(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_points);
    return uselocale(points);
}
