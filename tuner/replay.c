/* SPDX-License-Identifier: MIT */
#include "tuner/replay.h"

#include "core/buf.h"
#include "core/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

/* Processor time: the machine may be busy with other things. */
static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* A space says that a config is valid which nobody recorded. */
static enum err not_recorded(const struct recorded *recorded, const struct config *c, struct why *why)
{
    struct buf text;

    buf_init(&text, 1000);
    if (space_config_text(recorded_space(recorded), c, &text))
        buf_clear(&text);
    why_set(why, ERR_NOT_FOUND, "no row is recorded for the valid config '%.400s': is the .csv.gz cut short?",
            buf_text(&text));
    buf_fini(&text);
    return ERR_NOT_FOUND;
}

/* Looks n proposals up; their rows go behind out->rows[out->n]. */
static enum err look_up(const struct recorded *recorded, const struct proposal *proposals, size_t n,
                        struct outcome *outcomes, struct replay_run *out, struct why *why)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t i_row = recorded_find(recorded, &proposals[i].config);
        const struct recorded_row *row = i_row < 0 ? NULL : recorded_row(recorded, (size_t)i_row);

        if (!row)
            return not_recorded(recorded, &proposals[i].config, why);
        out->rows[out->n++] = (size_t)i_row;
        outcomes[i] =
            (struct outcome){.config = proposals[i].config, .value = log(row->time_ms), .cost_s = row->cost_ms * 1e-3};
    }
    return ERR_OK;
}

/* One round; *n_out = 0: nothing is left to propose. */
static enum err round_of(const struct recorded *recorded, const struct replay_options *o, struct strategy *s,
                         struct replay_run *run, size_t *n_out, struct why *why)
{
    struct proposal proposals[REPLAY_MAX_BATCH];
    struct outcome outcomes[REPLAY_MAX_BATCH];
    const size_t left = o->strategy.budget - run->n;
    double start_ms = cpu_ms();
    enum err e;

    do
        e = o->ops->ask(s, left < o->batch ? left : o->batch, proposals, n_out);
    while (e == ERR_BUSY && *n_out == 0);
    run->overhead_ms += cpu_ms() - start_ms;
    if (e && e != ERR_BUSY)
        return strategy_why(o->ops, s, e, why);
    assert(*n_out <= left && *n_out <= o->batch && o->batch <= REPLAY_MAX_BATCH); /* the arrays end there */
    e = look_up(recorded, proposals, *n_out, outcomes, run, why);
    if (e)
        return e;
    start_ms = cpu_ms();
    e = o->ops->tell(s, outcomes, *n_out);
    run->overhead_ms += cpu_ms() - start_ms;
    return e ? why_set(why, e, "%s: %s", o->ops->name, err_words(e)) : ERR_OK;
}

enum err replay(const struct recorded *recorded, const struct replay_options *o, struct replay_run *out,
                struct why *why)
{
    struct replay_run run = {.rows = malloc(o->strategy.budget * sizeof(*run.rows))};
    const double start_ms = cpu_ms();
    struct strategy *s = NULL;
    size_t n_out = 1;
    enum err e = run.rows ? o->ops->init(&s, recorded_space(recorded), &o->strategy) : ERR_NOMEM;

    run.overhead_ms = cpu_ms() - start_ms;
    if (e)
        why_set(why, e, "%s: %s", o->ops->name, err_words(e));
    while (e == ERR_OK && run.n < o->strategy.budget && n_out > 0)
        e = round_of(recorded, o, s, &run, &n_out, why);
    if (s)
        o->ops->fini(s);
    if (e)
        replay_run_fini(&run);
    else
        *out = run;
    return e;
}

void replay_run_fini(struct replay_run *r)
{
    if (r)
        free(r->rows);
}
