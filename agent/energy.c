/* SPDX-License-Identifier: MIT */
#include "agent/energy.h"

#include "core/err.h"

#include <assert.h>

#define WARM_NS 300000000LL     /* until power follows load */
#define SPAN_NS 1000000000LL    /* measured, at least */
#define TICK_MAX_NS 300000000LL /* counters are brought up to date several times a second */
#define SAMPLE_NS 10000000LL    /* between readings */
#define NAP_MS 5                /* of a device at rest */

struct energy {
    const struct device_ops *ops;
    struct device *device;
    struct loaded *loaded; /* NULL: the device rests */
    const struct clock *clock;
    struct why *why;
    int64_t n_runs, read_ns; /* runs or naps so far; when the sensors were read last */
    struct sense now;
};

static enum err run_once(struct energy *x)
{
    int64_t ns;

    x->n_runs++;
    if (!x->loaded) {
        clock_wait_ms(x->clock, NAP_MS);
        return ERR_OK;
    }
    return x->ops->run(x->loaded, PHASE_RUN, &ns, NULL, x->why);
}

static enum err read_sensors(struct energy *x)
{
    x->read_ns = clock_read_ns(x->clock);
    return x->ops->sense(x->device, &x->now);
}

/* Runs, reading the sensors now and then, until `until_ns` or, where `tick` is set, until the counter moves. `joules`
 * gets power integrated over the time between readings. */
static enum err run_until(struct energy *x, int64_t until_ns, bool tick, double *joules)
{
    const double counter = x->now.energy_j;
    enum err e = ERR_OK;

    while (!e && clock_read_ns(x->clock) < until_ns && !(tick && x->now.energy_j > counter)) {
        e = run_once(x);
        if (!e && clock_read_ns(x->clock) - x->read_ns >= SAMPLE_NS) {
            const double before_w = x->now.power_w;
            const int64_t before_ns = x->read_ns;

            e = read_sensors(x);
            *joules += 0.5e-9 * (before_w + x->now.power_w) * (double)(x->read_ns - before_ns);
        }
    }
    return e;
}

/* What a span of time took, between two ticks of the counter, else between two readings of power. */
struct span {
    double joules, seconds;
};

static enum err measure(struct energy *x, struct span *out)
{
    const bool counts = (x->now.known & SENSE_ENERGY) != 0;
    double joules = 0, from_j;
    int64_t from_ns;
    enum err e = run_until(x, clock_read_ns(x->clock) + WARM_NS, false, &joules);

    if (!e && counts)
        e = run_until(x, clock_read_ns(x->clock) + TICK_MAX_NS, true, &joules);
    if (!e)
        e = read_sensors(x);
    from_j = x->now.energy_j;
    from_ns = x->read_ns;
    x->n_runs = 0;
    joules = 0;
    if (!e)
        e = run_until(x, clock_read_ns(x->clock) + SPAN_NS, false, &joules);
    if (!e && counts)
        e = run_until(x, clock_read_ns(x->clock) + TICK_MAX_NS, true, &joules);
    assert(e || x->n_runs > 0);
    *out = (struct span){counts ? x->now.energy_j - from_j : joules, 1e-9 * (double)(x->read_ns - from_ns)};
    return e;
}

static enum err start(struct energy *x)
{
    if (!x->ops->sense || read_sensors(x) != ERR_OK || !(x->now.known & (SENSE_ENERGY | SENSE_POWER)))
        return why_set(x->why, ERR_UNSUPPORTED,
                       "the device tells neither energy nor power: only --objective time is possible on it");
    return ERR_OK;
}

enum err energy_at_rest(const struct device_ops *ops, struct device *d, const struct clock *clock, double *rest_w,
                        struct why *why)
{
    struct energy x = {.ops = ops, .device = d, .clock = clock, .why = why};
    struct span span;
    enum err e = start(&x);

    if (!e)
        e = measure(&x, &span);
    if (!e)
        *rest_w = span.seconds > 0 ? span.joules / span.seconds : 0;
    return e;
}

enum err energy_of_run(const struct device_ops *ops, struct device *d, struct loaded *l, double rest_w,
                       const struct clock *clock, double *energy_j, struct why *why)
{
    struct energy x = {.ops = ops, .device = d, .loaded = l, .clock = clock, .why = why};
    struct span span;
    enum err e = start(&x);

    assert(l);
    if (!e)
        e = measure(&x, &span);
    if (e)
        return e;
    if (!(span.joules > 0))
        return why_set(why, ERR_DEVICE, "the device's energy readings did not move within a second");
    if (!(span.joules > rest_w * span.seconds))
        return why_set(why, ERR_DEVICE, "its runs take no more power than the device at rest, %.4g W", rest_w);
    *energy_j = (span.joules - rest_w * span.seconds) / (double)x.n_runs;
    return ERR_OK;
}
