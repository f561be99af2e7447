/* SPDX-License-Identifier: MIT */
/* task_init.c - making a task: its device, what it searches, its strategies. */
#include "tuner/task.h"

#include "search/learn/transfer.h"
#include "search/strategies/warm.h"

#include <assert.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static enum err start_strategy(struct arm *a, const struct job *j, size_t i_arm, int64_t budget, struct why *why)
{
    struct config first[1 + TASK_MAX_GIVEN];
    struct strategy_options options = {.seed = (uint64_t)j->seed + i_arm,
                                       .budget = (size_t)budget,
                                       .first = first,
                                       .history = a->history,
                                       .command = j->command};
    enum err e = strategy_named(j->strategy, &a->ops, why);

    if (a->has_fallback)
        first[options.n_first++] = a->fallback;
    for (size_t i = 0; i < a->n_given; i++)
        first[options.n_first++] = a->given[i];
    if (!e && strcmp(a->ops->name, "exec") == 0 && !j->command)
        e = why_set(why, ERR_UNSUPPORTED, "the job's searcher is a process beside the `tune run` that sent it");
    if (e)
        return e;
    if (a->history) {
        options.inner = a->ops;
        a->ops = &warm_ops;
    }
    e = a->ops->init(&a->strategy, a->space, &options);
    return e ? why_set(why, e, "strategy %s: %s", j->strategy, err_words(e)) : ERR_OK;
}

bool task_give(struct task *t, size_t i_arm, const struct config *c)
{
    struct arm *a = &t->arms[i_arm];
    bool known = a->has_fallback && space_config_equal(a->space, &a->fallback, c);

    for (size_t i = 0; i < a->n_given; i++)
        known = known || space_config_equal(a->space, &a->given[i], c);
    if (known || a->n_given == TASK_MAX_GIVEN || !space_is_valid(a->space, c, NULL))
        return false;
    a->given[a->n_given++] = *c;
    return true;
}

enum err task_warm(struct task *t, const struct job *j, size_t i_arm, struct transfer *history, struct why *why)
{
    struct arm *a = &t->arms[i_arm];

    assert(t->n_all == 0 && a->strategy && !a->baseline);
    a->ops->fini(a->strategy);
    a->strategy = NULL;
    transfer_free(a->history);
    a->history = history;
    return start_strategy(a, j, i_arm, t->budget, why);
}

struct arm *task_add_arm(struct task *t, const struct source_ops *source, const char *id, int version)
{
    struct arm *a = &t->arms[t->n_arms];

    if (t->n_arms == TASK_MAX_ARMS)
        return NULL;
    t->n_arms++;
    *a = (struct arm){.source = source, .version = version};
    snprintf(a->id, sizeof a->id, "%s", id);
    return a;
}

enum err task_set_text(struct task *t, const char *text, const char *name, int64_t count, struct why *why)
{
    t->text = strdup(text);
    t->name = strdup(name);
    t->count = count;
    return t->text && t->name ? ERR_OK : why_set(why, ERR_NOMEM, "%s", err_words(ERR_NOMEM));
}

const struct source_ops *source_of(const struct job *j)
{
    return j->replay[0] ? &source_recorded : j->spec ? &source_spec : &source_template;
}

enum err task_init(struct task *t, const struct job *j, size_t i_layer, const struct device_desc *device,
                   struct why *why)
{
    enum err e;

    *t = (struct task){.i_best = -1,
                       .i_crown = -1,
                       .device = *device,
                       .fingerprint = device_desc_fingerprint(device),
                       .former = device_desc_former(device),
                       .budget = job_trials(j, i_layer)};
    snprintf(t->objective, sizeof t->objective, "%s", j->objective);
    e = source_of(j)->open(t, j, i_layer, why);
    for (size_t i = 0; i < t->n_arms && !e; i++)
        e = t->arms[i].baseline ? ERR_OK : start_strategy(&t->arms[i], j, i, t->budget, why);
    if (e)
        task_fini(t);
    return e;
}

enum err task_program(const struct task *t, size_t i_arm, const struct config *c, struct program *out,
                      struct blobs *blobs, struct why *why)
{
    return t->arms[i_arm].source->program(t, &t->arms[i_arm], c, out, blobs, why);
}
