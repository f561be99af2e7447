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

static int64_t machine_now_ns(void *arg)
{
    (void)arg;
    return clock_now_ns();
}

struct clock clock_monotonic(void)
{
    return (struct clock){machine_now_ns, 0};
}

void clock_sleep_ms(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (ms > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}
