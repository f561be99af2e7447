/* SPDX-License-Identifier: MIT */
/* gain_bench - the expected gain of the next 100 trials beside the one that came, on recorded spaces: means at some
 * numbers of trials, means by what was predicted, and what a stop at --min-gain saves and costs. */
#include "core/cli.h"
#include "tuner/gain.h"
#include "tuner/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_AT 6
#define N_BINS 8
#define LEAST 32 /* trials before a search may stop */

static const size_t at[N_AT] = {32, 64, 100, 150, 200, 300};
static const double bins[N_BINS + 1] = {0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 1};

static const struct cli_option options[] = {
    {.name = "strategy", .kind = CLI_TEXT, .argument = "NAME", .otherwise = "model", .help = "one of the table"},
    {.name = "seeds",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "6",
     .min = 1,
     .max = 1000,
     .help = "runs of each"},
    {.name = "batch",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "8",
     .min = 1,
     .max = 64,
     .help = "configs at once"},
    {.name = "budget",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "400",
     .min = 100,
     .max = 100000,
     .help = "trials"},
    {.name = "min-gain", .kind = CLI_REAL, .argument = "X", .otherwise = "0.01", .max = 1, .help = "share to stop at"},
    {.name = NULL},
};

/* Predicted and real gains, added up. */
struct sums {
    double predicted, real;
    size_t n;
};

struct tally {
    struct sums at[N_AT], bins[N_BINS];
    double n_trials, loss; /* of searches that stop by their expected gain; loss against the whole budget */
    size_t n_runs;
};

static void add(struct sums *s, double predicted, double real)
{
    s->predicted += predicted;
    s->real += real;
    s->n++;
}

static void compare(struct tally *t, size_t n, double predicted, double real)
{
    for (size_t i = 0; i < N_AT; i++)
        if (at[i] == n) {
            add(&t->at[i], predicted, real);
            for (size_t k = 0; k < N_BINS; k++)
                if (predicted >= bins[k] && predicted < bins[k + 1])
                    add(&t->bins[k], predicted, real);
        }
}

/* best[i]: ln time of the best after i + 1 trials, INFINITY = none ok yet. */
static void follow(struct tally *t, const double *values, const double *best, size_t n, double min_gain)
{
    struct gain g = {.n = 0};
    size_t n_stop = 0;

    for (size_t i = 0; i < n; i++) {
        double predicted;

        gain_add(&g, values[i]);
        predicted = 1 - exp(-gain_expected(&g, 0, GAIN_AHEAD));
        if (isnan(predicted))
            continue;
        if (i + GAIN_AHEAD < n)
            compare(t, i + 1, predicted, 1 - exp(best[i + GAIN_AHEAD] - best[i]));
        if (!n_stop && g.n >= LEAST && predicted < min_gain)
            n_stop = i + 1;
    }
    n_stop = n_stop ? n_stop : n;
    t->n_trials += (double)n_stop;
    t->loss += 1 - exp(best[n - 1] - best[n_stop - 1]);
    t->n_runs++;
}

static enum err run(struct tally *t, const struct recorded *r, const struct replay_options *o, double min_gain,
                    struct why *why)
{
    struct replay_run run = {.rows = NULL};
    const enum err e = replay(r, o, &run, why);
    double *values = calloc(2 * o->strategy.budget, sizeof *values), *best = values + o->strategy.budget;

    for (size_t i = 0; e == ERR_OK && values && i < run.n; i++) {
        values[i] = log(recorded_row(r, run.rows[i])->time_ms);
        best[i] = fmin(i > 0 ? best[i - 1] : INFINITY, values[i]);
    }
    if (e == ERR_OK && values && run.n > 0)
        follow(t, values, best, run.n, min_gain);
    free(values);
    replay_run_fini(&run);
    return values || e ? e : ERR_NOMEM;
}

static enum err run_all(struct tally *t, const struct cli *c, struct why *why)
{
    struct replay_options o = {.batch = (size_t)cli_int(c, "batch"),
                               .strategy = {.budget = (size_t)cli_int(c, "budget")}};
    enum err e = strategy_named(cli_text(c, "strategy"), &o.ops, why);

    if (e == ERR_OK && c->n_rest == 0)
        e = why_set(why, ERR_INPUT, "no recorded space: expected X.json");
    for (int i = 0; e == ERR_OK && i < c->n_rest; i++) {
        struct recorded *r = NULL;

        e = recorded_open(c->rest[i], &r, why);
        for (int64_t seed = 0; e == ERR_OK && seed < cli_int(c, "seeds"); seed++) {
            o.strategy.seed = (uint64_t)seed;
            e = run(t, r, &o, cli_real(c, "min-gain"), why);
        }
        recorded_close(r);
    }
    return e;
}

static void print(const struct tally *t, const struct cli *c)
{
    printf("%s, gain of the next %d trials in %%, predicted / real (cases)\n", cli_text(c, "strategy"), GAIN_AHEAD);
    for (size_t i = 0; i < N_AT; i++)
        if (t->at[i].n)
            printf("  after %3zu trials       %6.2f / %6.2f (%zu)\n", at[i],
                   100 * t->at[i].predicted / (double)t->at[i].n, 100 * t->at[i].real / (double)t->at[i].n, t->at[i].n);
    for (size_t i = 0; i < N_BINS; i++)
        if (t->bins[i].n)
            printf("  predicted %4.2f to %5.1f %6.2f / %6.2f (%zu)\n", 100 * bins[i], 100 * bins[i + 1],
                   100 * t->bins[i].predicted / (double)t->bins[i].n, 100 * t->bins[i].real / (double)t->bins[i].n,
                   t->bins[i].n);
    printf("  stop below %g %%: %.0f of %lld trials, %.2f %% slower than with all of them\n",
           100 * cli_real(c, "min-gain"), t->n_trials / (double)t->n_runs, (long long)cli_int(c, "budget"),
           100 * t->loss / (double)t->n_runs);
}

int main(int argc, char **argv)
{
    struct cli c;
    struct why why = {""};
    struct tally t = {.n_runs = 0};
    enum err e = cli_parse(&c, options, argc, argv, &why);

    if (e == ERR_OK && c.help) {
        fprintf(stderr, "bench_gain: see the options at the head of gain_bench.c\n");
        return 1;
    }
    if (e == ERR_OK)
        e = run_all(&t, &c, &why);
    if (e)
        fprintf(stderr, "bench_gain: %s\n", why.text[0] ? why.text : err_words(e));
    else
        print(&t, &c);
    cli_fini(&c);
    return e ? 1 : 0;
}
