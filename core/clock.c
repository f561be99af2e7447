/* SPDX-License-Identifier: MIT */
#include "core/clock.h"

#include <errno.h>
#include <time.h>

int64_t clock_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_wall_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void clock_sleep_ms(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (ms > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

int64_t clock_read_ns(const struct clock *c)
{
    return c ? c->now_ns(c->arg) : clock_now_ns();
}

int64_t clock_read_wall_ms(const struct clock *c)
{
    return c ? c->wall_ms(c->arg) : clock_wall_ms();
}

void clock_wait_ms(const struct clock *c, int64_t ms)
{
    if (c)
        c->sleep_ms(c->arg, ms);
    else
        clock_sleep_ms(ms);
}
