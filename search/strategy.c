/* SPDX-License-Identifier: MIT */
#include "search/strategy.h"

#include "core/buf.h"

#include <string.h>

/* Each a file of strategies/; auto and model share one. */
extern const struct strategy_ops auto_ops, model_strategy_ops, random_ops, grid_ops, genetic_ops, annealing_ops,
    diffevo_ops, pso_ops, ils_ops, exec_ops;

const struct strategy_ops *const strategy_table[] = {
    &auto_ops,
    &model_strategy_ops,
    &random_ops,
    &grid_ops,
    &genetic_ops,
    &annealing_ops,
    &diffevo_ops,
    &pso_ops,
    &ils_ops,
    /* the next one here */
    NULL,
};

/* What Kernel Tuner calls those that come closest. */
static const struct {
    const char *theirs, *ours;
} aliases[] = {{"bayes_opt", "model"},      {"brute_force", "grid"},
               {"random_sample", "random"}, {"genetic_algorithm", "genetic"},
               {"diff_evo", "diffevo"},     {"simulated_annealing", "annealing"},
               {"greedy_ils", "ils"}};

#define N_ALIASES (sizeof aliases / sizeof *aliases)

const struct strategy_ops *strategy_find(const char *name)
{
    for (size_t i = 0; i < N_ALIASES; i++)
        if (strcmp(aliases[i].theirs, name) == 0)
            name = aliases[i].ours;
    for (size_t i = 0; strategy_table[i]; i++)
        if (strcmp(strategy_table[i]->name, name) == 0)
            return strategy_table[i];
    return strcmp(name, exec_ops.name) == 0 || strategy_command(name) ? &exec_ops : NULL;
}

const char *strategy_command(const char *name)
{
    return strncmp(name, "exec:", 5) == 0 && name[5] ? name + 5 : NULL;
}

const char *strategy_name_at(size_t i)
{
    const size_t n = sizeof strategy_table / sizeof *strategy_table - 1;

    return i < n ? strategy_table[i]->name : i < n + N_ALIASES ? aliases[i - n].theirs : NULL;
}

enum err strategy_named(const char *name, const struct strategy_ops **out, struct why *why)
{
    const struct strategy_ops *found = strategy_find(name);
    struct buf list;

    if (found) {
        *out = found;
        return ERR_OK;
    }
    buf_init(&list, 1024);
    for (size_t i = 0; strategy_table[i]; i++)
        buf_printf(&list, "%s, ", strategy_table[i]->name);
    buf_puts(&list, "exec:COMMAND");
    why_set(why, ERR_INPUT, "no strategy \"%.60s\": expected one of %s", name, buf_text(&list));
    buf_fini(&list);
    return ERR_INPUT;
}

enum err strategy_why(const struct strategy_ops *ops, const struct strategy *s, enum err e, struct why *why)
{
    const char *words = s && ops->words ? ops->words(s) : "";

    return why_set(why, e, "strategy %s: %s", ops->name, *words ? words : err_words(e));
}
