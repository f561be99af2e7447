/* SPDX-License-Identifier: MIT */
#include "agent/timing.h"
#include "core/clock.h"
#include "tests/bench/ops/bench.h"
#include "tests/bench/ops/peak.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CALLS 512
#define PEAK_MS 5

/* max |y - y of the first| / max |y of the first|, NaN counting as infinite. */
static double difference(const float *y, const float *first, int64_t n)
{
    double most = 0, scale = 0;

    for (int64_t i = 0; i < n; i++) {
        const double d = fabs((double)y[i] - (double)first[i]);

        most = isnan(d) ? INFINITY : fmax(most, d);
        scale = fmax(scale, fabs((double)first[i]));
    }
    return scale > 0 ? most / scale : INFINITY;
}

enum err bench_compare(struct bench *b, struct why *why)
{
    const int64_t n = b->task.n_y > 0 ? b->task.n_y : 1;
    float *first = malloc((size_t)n * sizeof *first), *y = malloc((size_t)n * sizeof *y);
    bool any = false;
    enum err e = first && y ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; !e && i < b->n; i++) {
        struct contender *c = &b->contenders[i];

        c->difference = -1;
        if (!c->output)
            continue;
        e = c->output(c, any ? y : first, why);
        if (!e)
            c->difference = any ? difference(y, first, n) : 0;
        any = true;
    }
    free(first);
    free(y);
    return e;
}

bool contender_right(const struct bench *b, const struct contender *c)
{
    const double limits[] = {
        [DTYPE_F32] = 1e-4, [DTYPE_F16] = 3e-2, [DTYPE_I8] = 0, [DTYPE_U8] = 0, [DTYPE_BF16] = 3e-2};

    return c->difference <= limits[b->task.workload.dtype];
}

/* Median of the calls of one slot, one untimed call before. */
static enum err calls(struct contender *c, int64_t least_ns, double *ns, struct why *why)
{
    double each[MAX_CALLS];
    enum err e = c->run(c, why);
    const int64_t start_ns = clock_now_ns();
    int n = 0;

    while (!e && n < MAX_CALLS && (n == 0 || clock_now_ns() - start_ns < least_ns)) {
        const int64_t call_ns = clock_now_ns();

        e = c->run(c, why);
        each[n++] = (double)(clock_now_ns() - call_ns);
    }
    if (!e)
        *ns = timing_median(each, n);
    return e;
}

enum err contender_device_slot(struct contender *c, enum err (*call)(struct contender *c, double *ns, struct why *why),
                               int64_t least_ns, double *ns, struct why *why)
{
    double each[MAX_CALLS];
    enum err e = call(c, ns, why);
    const int64_t start_ns = clock_now_ns();
    int n = 0;

    while (!e && n < MAX_CALLS && (n == 0 || clock_now_ns() - start_ns < least_ns))
        e = call(c, &each[n++], why);
    if (!e)
        *ns = timing_median(each, n);
    return e;
}

static enum err slot(struct bench *b, struct contender *c, struct why *why)
{
    const int i = c->n_rounds;
    int64_t start_ns;
    enum err e;

    c->peak[i] = b->on_host ? peak_flops(PEAK_MS) : 0;
    c->read_rate[i] = b->on_host && b->reads ? peak_read() : 0;
    start_ns = clock_now_ns();
    e = c->slot ? c->slot(c, b->slot_ns, &c->ns[i], why) : calls(c, b->slot_ns, &c->ns[i], why);
    c->spent_ns += (double)(clock_now_ns() - start_ns);
    if (!e)
        c->n_rounds++;
    return e;
}

static void leave(struct bench *b, struct contender *c, const struct why *why)
{
    printf("left: %s: %s\n", c->name, why->text);
    c->spent_ns = b->patience_ns + 1;
    if (!c->n_rounds)
        c->difference = INFINITY;
}

void bench_run(struct bench *b)
{
    struct why why = {""};

    for (int i = 0; i < b->rounds; i++)
        for (size_t j = 0; j < b->n; j++) {
            struct contender *c = &b->contenders[j];

            if (c->spent_ns <= b->patience_ns && slot(b, c, &why))
                leave(b, c, &why);
        }
}

static double median_of(const double *values, int n)
{
    double copy[MAX_ROUNDS];

    memcpy(copy, values, (size_t)n * sizeof *copy);
    return timing_median(copy, n);
}

double contender_ns(const struct contender *c)
{
    return median_of(c->ns, c->n_rounds);
}

double contender_of_peak(const struct bench *b, const struct contender *c)
{
    double shares[MAX_ROUNDS];

    for (int i = 0; i < c->n_rounds; i++)
        shares[i] = c->peak[i] > 0 ? b->task.flops / c->ns[i] / c->peak[i] : 0;
    return timing_median(shares, c->n_rounds);
}

double contender_of_read(const struct bench *b, const struct contender *c)
{
    double shares[MAX_ROUNDS];

    for (int i = 0; i < c->n_rounds; i++)
        shares[i] = c->read_rate[i] > 0 ? b->task.bytes_min / c->ns[i] / c->read_rate[i] : 0;
    return timing_median(shares, c->n_rounds);
}

double contender_speed(const struct contender *c, const struct contender *other)
{
    double ratios[MAX_ROUNDS];
    int n = 0;

    for (; other && n < c->n_rounds && n < other->n_rounds; n++)
        ratios[n] = other->ns[n] / c->ns[n];
    return n ? timing_median(ratios, n) : 0;
}

const struct contender *bench_best(const struct bench *b, enum contender_class class, bool ours)
{
    const struct contender *best = NULL;

    for (size_t i = 0; i < b->n; i++) {
        const struct contender *c = &b->contenders[i];

        if (c->class == class && c->ours == ours && c->n_rounds && contender_right(b, c) &&
            (!best || contender_ns(c) < contender_ns(best)))
            best = c;
    }
    return best;
}
