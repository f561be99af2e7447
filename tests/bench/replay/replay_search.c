/* replay_search - runs strategies on recorded spaces and prints one JSON line a run:
 * {"space","seed","traj":[row numbers in the order of evaluation],"method","overhead_ms"}.
 * What a farm would do: ask for a batch, measure all of it, tell. The values told are ln milliseconds; the overhead is
 * processor time. */
#include "core/cli.h"
#include "search_space/recorded.h"
#include "tuner/strategy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_BATCH 1024

/* Processor time of this process: the machine may be busy with other things. */
static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const struct cli_option options[] = {
    {.name = "strategy", .kind = CLI_TEXT, .argument = "NAME", .otherwise = "model", .help = "one of the table"},
    {.name = "model", .kind = CLI_TEXT, .argument = "NAME", .help = "cost model of the strategy"},
    {.name = "method", .kind = CLI_TEXT, .argument = "TEXT", .help = "label of the runs (default: the strategy)"},
    {.name = "seed", .kind = CLI_INT, .argument = "N", .otherwise = "0", .help = "first seed"},
    {.name = "seeds",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "1",
     .min = 1,
     .max = 10000,
     .help = "runs a space"},
    {.name = "budget",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "100",
     .min = 1,
     .max = 1e6,
     .help = "evaluations"},
    {.name = "batch",
     .kind = CLI_INT,
     .argument = "N",
     .otherwise = "8",
     .min = 1,
     .max = MAX_BATCH,
     .help = "asked for at a time"},
    {.name = NULL},
};

struct run {
    const struct strategy_ops *ops;
    const struct recorded *recorded;
    struct strategy *strategy;
    size_t budget, batch, n;
    int64_t overhead_ns;
};

/* One round: ask, look the answers up, tell. *n_out = 0: nothing is left. */
static enum err round_of(struct run *r, size_t *n_out)
{
    static struct proposal proposals[MAX_BATCH];
    static struct outcome outcomes[MAX_BATCH];
    const size_t left = r->budget - r->n;
    int64_t start_ns = cpu_ns();
    enum err e = r->ops->ask(r->strategy, left < r->batch ? left : r->batch, proposals, n_out);

    r->overhead_ns += cpu_ns() - start_ns;
    for (size_t i = 0; e == ERR_OK && i < *n_out; i++) {
        const int64_t i_row = recorded_find(r->recorded, &proposals[i].config);

        if (i_row < 0)
            return ERR_NOT_FOUND;
        printf("%s%lld", r->n++ ? "," : "", (long long)i_row);
        outcomes[i].config = proposals[i].config;
        outcomes[i].value = log(recorded_row(r->recorded, (size_t)i_row)->time_ms);
    }
    start_ns = cpu_ns();
    if (e == ERR_OK)
        e = r->ops->tell(r->strategy, outcomes, *n_out);
    r->overhead_ns += cpu_ns() - start_ns;
    return e;
}

static enum err run_seed(const struct cli *c, const struct strategy_ops *ops, const struct recorded *recorded,
                         uint64_t seed)
{
    struct run r = {ops, recorded, NULL, (size_t)cli_int(c, "budget"), (size_t)cli_int(c, "batch"), 0, 0};
    const struct strategy_options o = {.seed = seed, .budget = r.budget, .cost_model = cli_text(c, "model")};
    const char *method = cli_text(c, "method") ? cli_text(c, "method") : ops->name;
    size_t n_out = 1;
    enum err e = ops->init(&r.strategy, recorded_space(recorded), &o);

    if (e)
        return e;
    printf("{\"space\":\"%s\",\"seed\":%llu,\"method\":\"%s\",\"traj\":[", recorded_name(recorded),
           (unsigned long long)seed, method);
    while (e == ERR_OK && r.n < r.budget && n_out > 0)
        e = round_of(&r, &n_out);
    printf("],\"overhead_ms\":%.3f}\n", (double)r.overhead_ns * 1e-6);
    ops->fini(r.strategy);
    return e;
}

static enum err run_space(const struct cli *c, const struct strategy_ops *ops, const char *path, struct why *why)
{
    struct recorded *recorded = NULL;
    enum err e = recorded_open(path, &recorded, why);

    for (int64_t i = 0; e == ERR_OK && i < cli_int(c, "seeds"); i++) {
        e = run_seed(c, ops, recorded, (uint64_t)(cli_int(c, "seed") + i));
        if (e)
            why_set(why, e, "%s: %s", path, err_words(e));
    }
    recorded_close(recorded);
    return e;
}

int main(int argc, char **argv)
{
    struct cli c;
    struct why why = {""};
    const struct strategy_ops *ops = NULL;
    enum err e = cli_parse(&c, options, argc, argv, &why);

    if (e == ERR_OK && c.n_rest == 0)
        e = why_set(&why, ERR_INPUT, "no recorded space is named: give paths of .json files");
    if (e == ERR_OK && !(ops = strategy_find(cli_text(&c, "strategy"))))
        e = why_set(&why, ERR_INPUT, "no strategy is called %s", cli_text(&c, "strategy"));
    for (int i = 0; e == ERR_OK && i < c.n_rest; i++)
        e = run_space(&c, ops, c.rest[i], &why);
    if (e)
        fprintf(stderr, "bench_replay_search: %s\n", why.text[0] ? why.text : err_words(e));
    cli_fini(&c);
    return e ? 1 : 0;
}
