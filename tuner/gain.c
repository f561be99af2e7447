/* SPDX-License-Identifier: MIT */
#include "tuner/gain.h"

#include <assert.h>
#include <math.h>

#define MIN_SEEN 4
#define WINDOW 4      /* the last 1 - 1/WINDOW of the trials say how often the best improves */
#define PRIOR 1.0     /* records, and units of ln n, known before the first trial */
#define SHRINK 0.5    /* of the drops by each record */
#define LAST_DROPS 3u /* whose sizes count */

static void remember(struct gain *g, double drop)
{
    g->records[g->n_records++ % GAIN_RECORDS] = (struct gain_record){g->n, drop};
}

void gain_add(struct gain *g, double value)
{
    if (!isnan(value)) {
        size_t at = g->n_top;

        if (g->n_top > 0 && value < g->top[0])
            remember(g, g->top[0] - value);
        while (at > 0 && g->top[at - 1] > value)
            at--;
        g->n_top += g->n_top <= GAIN_TOP;
        assert(g->n_top <= GAIN_TOP + 1 && at <= g->n_top);
        for (size_t i = g->n_top - 1; i > at; i--)
            g->top[i] = g->top[i - 1];
        if (at < g->n_top)
            g->top[at] = value;
    }
    g->n++;
}

/* Mean distance of the smallest values from the next one: of an exponential tail, the size of the next record. */
static double mean_excess(const struct gain *g)
{
    const size_t n = g->n_top - 1;
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += g->top[n] - g->top[i];
    return n > 0 ? sum / (double)n : 0;
}

double gain_expected(const struct gain *g, double ahead, double n_more)
{
    const size_t from = g->n / WINDOW > 0 ? g->n / WINDOW : 1,
                 kept = g->n_records < GAIN_RECORDS ? g->n_records : GAIN_RECORDS;
    double n_recent = 0, drops = 0, n_drops = 0, rate, size, first, last;

    if (g->n < MIN_SEEN || g->n_top == 0)
        return (double)NAN;
    for (size_t i = 0; i < kept; i++) {
        const struct gain_record *r = &g->records[(g->n_records - 1 - i) % GAIN_RECORDS];

        if (r->at < from)
            break;
        n_recent++;
        if (i < LAST_DROPS) {
            drops += r->drop;
            n_drops++;
        }
    }
    rate = (PRIOR + n_recent) / (PRIOR + log((double)g->n / (double)from));
    size = (mean_excess(g) + drops) / (1 + n_drops) / -log(SHRINK);
    first = rate * log(((double)g->n + ahead) / (double)g->n);
    last = rate * log(((double)g->n + ahead + n_more) / (double)g->n);
    return size * (pow(SHRINK, first) - pow(SHRINK, last));
}
