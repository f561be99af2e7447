/* SPDX-License-Identifier: MIT */
/* clock.h - time as a passed-in thing, so that tests can turn it. */
#ifndef TUNE_CORE_CLOCK_H
#define TUNE_CORE_CLOCK_H

#include <stdint.h>

struct clock {
    int64_t (*now_ns)(void *arg);            /* monotonic nanoseconds; never blocks and never goes back */
    int64_t (*wall_ms)(void *arg);           /* milliseconds since 1970 UTC; may jump either way */
    void (*sleep_ms)(void *arg, int64_t ms); /* for at least `ms` */
    void *arg;
};

/* What a clock says, or, where `c` is NULL, what the machine's says. */
int64_t clock_read_ns(const struct clock *c);
int64_t clock_read_wall_ms(const struct clock *c);
void clock_wait_ms(const struct clock *c, int64_t ms);

/* The machine's, for what measures: monotonic ns, wall milliseconds since 1970 UTC, and sleep through signals. */
int64_t clock_now_ns(void);
int64_t clock_wall_ms(void);
void clock_sleep_ms(int64_t ms);

#endif
