/* SPDX-License-Identifier: MIT */
#include "tuner/stop.h"

#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *stop_name(enum stop_reason reason)
{
    static const char *const names[] = {
        [STOP_NONE] = "",         [STOP_TRIALS] = "trials", [STOP_TIME] = "time",          [STOP_PATIENCE] = "patience",
        [STOP_TARGET] = "target", [STOP_GAIN] = "min-gain", [STOP_EXHAUSTED] = "exhausted"};

    assert(reason < sizeof names / sizeof *names);
    return names[reason];
}

static bool target_reached(const struct job *j, const struct task *t)
{
    const struct record *best = t->i_best >= 0 ? &t->all[t->i_best].record : NULL;

    if (!best)
        return false;
    return (j->target_gflops > 0 && record_gflops(best) >= j->target_gflops) ||
           (j->target_ns > 0 && best->time_ns > 0 && best->time_ns <= j->target_ns);
}

/* Share of the time that the next trials are expected to take away; NAN = not known. */
static double expected_share(const struct task *t)
{
    return 1 - exp(-task_gain(t, 0, GAIN_AHEAD));
}

enum stop_reason stop_reason_of(const struct job *j, const struct task *t, int64_t n_left, bool time_is_up)
{
    if (target_reached(j, t))
        return STOP_TARGET;
    if (n_left <= 0)
        return STOP_TRIALS;
    if (t->exhausted)
        return STOP_EXHAUSTED;
    if (time_is_up)
        return STOP_TIME;
    if (j->early_stopping > 0 && t->since_better >= j->early_stopping)
        return STOP_PATIENCE;
    if (j->min_gain > 0 && t->gain.n >= STOP_MIN_SEEN && expected_share(t) < j->min_gain)
        return STOP_GAIN;
    return STOP_NONE;
}

static void reason_words(const struct job *j, const struct task *t, struct buf *out)
{
    switch (t->stop) {
    case STOP_TARGET:
        if (j->target_ns > 0)
            buf_printf(out, "the target of %.6g ms is reached", j->target_ns / 1e6);
        else
            buf_printf(out, "the target of %.6g GFLOPS is reached", j->target_gflops);
        break;
    case STOP_TRIALS:
        buf_puts(out, job_shares_budget(j) ? "the trials of the network are spent" : "its trials are spent");
        break;
    case STOP_EXHAUSTED:
        buf_puts(out, "no config is left");
        break;
    case STOP_TIME:
        buf_printf(out, "%.6g s are over", j->time_s);
        break;
    case STOP_PATIENCE:
        buf_printf(out, "no better one in %lld trials", (long long)t->since_better);
        break;
    case STOP_GAIN:
    case STOP_NONE:
        break;
    }
}

void stop_words(const struct job *j, const struct task *t, struct buf *out)
{
    const double share = expected_share(t);

    if (t->stop == STOP_NONE)
        return;
    buf_puts(out, "stopped: ");
    reason_words(j, t, out);
    if (t->stop == STOP_EXHAUSTED || (isnan(share) && t->stop != STOP_GAIN))
        return;
    buf_printf(out, "%sexpected gain of the next %d trials %.*f %%", t->stop == STOP_GAIN ? "" : "; ", GAIN_AHEAD,
               share < 0.001 ? 2
               : share < 0.1 ? 1
                             : 0,
               100 * share);
    if (t->stop == STOP_GAIN)
        buf_printf(out, " < %.6g %%", 100 * j->min_gain);
}

struct unit {
    const char *name;
    double gflops, ns; /* one of them; the other is 0 */
};

static const struct unit units[] = {{"GFLOPS", 1, 0}, {"TFLOPS", 1e3, 0}, {"MFLOPS", 1e-3, 0}, {"ns", 0, 1},
                                    {"us", 0, 1e3},   {"ms", 0, 1e6},     {"s", 0, 1e9}};

enum err stop_parse_target(const char *text, double *gflops, double *time_ns, struct why *why)
{
    char *end;
    const double v = strtod(text, &end);

    end += strspn(end, " ");
    for (size_t i = 0; end > text && isfinite(v) && v > 0 && i < sizeof(units) / sizeof(*units); i++)
        if (strcasecmp(end, units[i].name) == 0) {
            *gflops = v * units[i].gflops;
            *time_ns = v * units[i].ns;
            return ERR_OK;
        }
    return why_set(why, ERR_INPUT, "--target %.60s: expected a rate such as 500GFLOPS or a time such as 1.2ms", text);
}

enum err stop_parse_gain(const char *text, double *share, struct why *why)
{
    char *end;
    const double v = strtod(text, &end);

    if (end > text && end[strspn(end, " ")] == '%' && !end[strspn(end, " ") + 1] && v > 0 && v < 100) {
        *share = v / 100;
        return ERR_OK;
    }
    return why_set(why, ERR_INPUT, "--min-gain %.60s: expected a percentage above 0 and below 100, such as 1%%", text);
}
