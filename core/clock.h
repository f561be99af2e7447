/* clock.h - time as a passed-in thing, so that tests can turn it. */
#ifndef TUNE_CORE_CLOCK_H
#define TUNE_CORE_CLOCK_H

#include <stdint.h>

/* Monotonic nanoseconds; `now_ns` never blocks and never goes back. */
struct clock {
    int64_t (*now_ns)(void *arg);
    void *arg;
};

/* The machine's monotonic clock. */
struct clock clock_monotonic(void);

/* Shorthands for the machine's clocks: monotonic ns, and wall milliseconds since 1970 UTC. */
int64_t clock_now_ns(void);
int64_t clock_wall_ms(void);

/* Sleeps for at least `ms`, through signals. */
void clock_sleep_ms(int64_t ms);

#endif
