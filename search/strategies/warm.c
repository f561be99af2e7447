/* SPDX-License-Identifier: MIT */
/* warm.c - the best of other devices first; then, in turns, what a transfer of their records hopes most of, and what
 * the inner strategy proposes. Proposals whose results are out count as measured with their expected values, so that a
 * batch is diverse. */
#include "search/strategies/warm.h"

#include "core/err.h"
#include "core/vec.h"
#include "search/learn/transfer_recorded.h"
#include "search/strategies/history.h"
#include "search/strategies/start.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LISTED 20000 /* candidates: all open configs of a space up to so many, */
#define DRAWS 4000       /* else so many draws, */
#define BEST_EACH 64     /* the best of each source, */
#define PARENTS 4        /* and all that differ in one knob from the best that were told */
#define FIRST 3          /* proposals that follow the sources alone, at the most */
#define PATIENCE 12      /* evaluations without a better one that halve the turns of records */
#define OWN_START 4      /* own proposals that the inner strategy hears of before it hears of those from records */
#define BORNE_OUT 0.8    /* belief from which on it hears of everything */
#define MAX_TOLD 128     /* measurements from which on the inner strategy knows best */

struct candidates {
    struct config *configs;
    double *knobs;
    float *columns;
    size_t n, cap;
};

struct strategy {
    const struct strategy_ops *inner_ops;
    struct strategy *inner;
    struct transfer *transfer; /* borrowed */
    struct ground ground;
    struct history history;
    struct rng rng;
    struct candidates candidates;
    struct awaited {
        struct config config;
        bool is_inner; /* the inner strategy's own */
    } * awaited;
    size_t n_awaited, cap_awaited;
    struct outcome *held; /* results of records' proposals that the inner strategy does not know yet: poor ones would
                             take the place of its start */
    size_t n_held, cap_held, n_own; /* n_own: results of its own */
    size_t n_follow;                /* proposals that follow the sources alone */
    size_t n_first; /* configs of options->first that the inner strategy proposes before anything else */
    size_t n_proposed;
    double credit; /* of turns for records */
    double best;
    size_t n_stale; /* evaluations since it got better */
};

static void fini(struct strategy *s)
{
    if (!s)
        return;
    if (s->inner)
        s->inner_ops->fini(s->inner);
    ground_fini(&s->ground);
    history_fini(&s->history);
    free(s->candidates.configs);
    free(s->candidates.knobs);
    free(s->candidates.columns);
    free(s->awaited);
    free(s->held);
    free(s);
}

static enum err reserve(struct strategy *s, size_t n)
{
    struct candidates *all = &s->candidates;
    const size_t n_knobs = space_n_knobs(s->ground.space), width = transfer_n_columns(s->transfer);
    size_t cap_configs = all->cap, cap_knobs = cap_configs;
    enum err e = VEC_ROOM(all->configs, cap_configs, n, VEC_ANY);

    if (!e)
        e = vec_room(&all->knobs, &cap_knobs, n, VEC_ANY, n_knobs * sizeof(*all->knobs));
    return e ? e : vec_room(&all->columns, &all->cap, n, VEC_ANY, width * sizeof(*all->columns));
}

/* Adds a config without its columns. */
static enum err add(struct strategy *s, const struct config *c)
{
    struct candidates *all = &s->candidates;
    const enum err e = reserve(s, all->n + 1);

    if (e)
        return e;
    assert(all->n < all->cap);
    all->configs[all->n] = *c;
    transfer_knobs_of(s->ground.space, c, all->knobs + all->n * space_n_knobs(s->ground.space));
    all->n++;
    return ERR_OK;
}

/* Columns of candidates from number `from` on. */
static enum err add_columns(struct strategy *s, size_t from)
{
    struct candidates *all = &s->candidates;

    return transfer_columns(s->transfer, all->knobs + from * space_n_knobs(s->ground.space), all->n - from,
                            all->columns + from * transfer_n_columns(s->transfer));
}

/* The place of a knob's value; of those it does not have, the nearest number's. SIZE_MAX for a word it does not have.
 */
static size_t place_of(const struct space *space, size_t i_knob, double x, bool *is_exact)
{
    size_t nearest = SIZE_MAX;
    double least = INFINITY;

    for (size_t i = 0; i < space_n_values(space, i_knob); i++) {
        const struct value v = space_knob_value(space, i_knob, i);
        const double apart = fabs((v.text ? transfer_word(v.text) : v.number) - x);

        if (apart < least && !(v.text && apart > 0)) {
            least = apart;
            nearest = i;
        }
    }
    *is_exact = *is_exact && (isnan(x) || !(least > 0));
    return nearest;
}

/* The target's config of a source's row; knobs that it lacks are as in some valid config. False: it has none like it,
 * or none is left. */
static bool config_of(const struct strategy *s, struct rng *rng, const double *row, struct config *out, bool *is_exact)
{
    const struct space *space = s->ground.space;

    *is_exact = true;
    if (ground_sample(&s->ground, rng, out))
        return false;
    for (size_t j = 0; j < space_n_knobs(space); j++) {
        const size_t place = place_of(space, j, row[j], is_exact);

        if (place != SIZE_MAX)
            out->choice[j] = (uint16_t)place;
    }
    return ground_is_open(&s->ground, out);
}

/* Adds the best configs of a source where not all are candidates anyway. Counts those that the target has exactly: a
 * source of another kernel has few. */
static enum err add_best_of(struct strategy *s, size_t i_source, size_t *n_exact, size_t *n_all)
{
    const bool has_all = s->candidates.n > 0;
    double *rows = malloc(BEST_EACH * space_n_knobs(s->ground.space) * sizeof(*rows));
    const size_t n = rows ? transfer_best_of(s->transfer, i_source, BEST_EACH, rows) : 0;
    enum err e = rows ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < n; i++) {
        bool is_exact;
        struct config c;
        const bool is_open = config_of(s, &s->rng, rows + i * space_n_knobs(s->ground.space), &c, &is_exact);

        *n_exact += is_open && is_exact;
        if (is_open && !has_all)
            e = add(s, &c);
    }
    *n_all += n;
    free(rows);
    return e;
}

static enum err add_all(struct strategy *s)
{
    enum err e = ERR_OK;

    for (size_t i = 0; e == ERR_OK && i < s->ground.n_valid; i++) {
        struct config c;

        e = space_at(s->ground.space, s->ground.valid[i], &c);
        if (e == ERR_OK)
            e = add(s, &c);
    }
    return e;
}

static enum err add_draws(struct strategy *s)
{
    enum err e = ERR_OK;

    for (size_t i = 0; e == ERR_OK && i < DRAWS; i++) {
        struct config c;

        if (ground_sample(&s->ground, &s->rng, &c))
            break;
        e = add(s, &c);
    }
    return e;
}

/* Candidates to begin with, and how many proposals follow the sources alone: the fewer, the less of what the sources
 * hold best is a config of the target at all. */
static enum err list(struct strategy *s)
{
    const bool all = s->ground.is_listed && s->ground.n_valid <= MAX_LISTED;
    size_t n_exact = 0, n = 0;
    enum err e = all ? add_all(s) : ERR_OK;

    for (size_t k = 0; e == ERR_OK && k < transfer_n_sources(s->transfer); k++)
        e = add_best_of(s, k, &n_exact, &n);
    assert(n_exact <= n);
    s->n_follow = n ? (FIRST * n_exact + n / 2) / n : 0;
    if (e == ERR_OK && !all)
        e = add_draws(s);
    return e ? e : add_columns(s, 0);
}

static enum err init(struct strategy **out, const struct space *space, const struct strategy_options *options)
{
    struct strategy *s = calloc(1, sizeof(*s));
    enum err e = s ? ground_init(&s->ground, space) : ERR_NOMEM;

    if (e) {
        free(s);
        return e;
    }
    history_init(&s->history);
    rng_init(&s->rng, options->seed);
    s->transfer = options->history;
    s->inner_ops = options->inner ? options->inner : strategy_table[0];
    s->n_first = options->n_first;
    s->best = INFINITY;
    e = s->inner_ops->init(&s->inner, space, options);
    if (e == ERR_OK)
        e = list(s);
    if (e == ERR_OK)
        e = transfer_space(s->transfer, s->candidates.knobs, s->candidates.n);
    if (e == ERR_OK)
        e = transfer_tell(s->transfer, NULL, NULL, NULL, 0);
    if (e)
        fini(s);
    else
        *out = s;
    return e;
}

static enum err await(struct strategy *s, const struct config *c, bool is_inner)
{
    const enum err e = VEC_ROOM(s->awaited, s->cap_awaited, s->n_awaited + 1, VEC_ANY);

    if (e == ERR_OK)
        s->awaited[s->n_awaited++] = (struct awaited){*c, is_inner};
    return e;
}

static enum err give(struct strategy *s, const struct config *c, const char *by, bool is_inner, struct proposal *out,
                     size_t *n_out)
{
    enum err e = await(s, c, is_inner);

    if (e == ERR_OK)
        e = propose(&s->ground, c, by, out, n_out);
    if (e == ERR_OK)
        s->n_proposed++;
    return e;
}

/* Expected ln times of configs, from what was learned last. */
static enum err expect(const struct strategy *s, const double *knobs, const float *columns, size_t n, double *values)
{
    struct transfer_score *scores = malloc(n * sizeof(*scores) + 1);
    const enum err e = scores ? transfer_predict(s->transfer, knobs, columns, n, scores) : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < n; i++)
        values[i] = (isfinite(s->best) ? s->best : 0) + fmax(scores[i].mean, 0);
    free(scores);
    return e;
}

/* Tells the transfer all measurements, and of awaited configs what it expects of them. */
static enum err learn(struct strategy *s)
{
    const size_t n_told = s->history.n, n = n_told + s->n_awaited, n_knobs = space_n_knobs(s->ground.space);
    const size_t width = transfer_n_columns(s->transfer);
    double *knobs = malloc(n * n_knobs * sizeof(*knobs) + 1), *values = malloc(n * sizeof(*values) + 1);
    float *columns = malloc(n * width * sizeof(*columns) + 1);
    enum err e = knobs && values && columns ? ERR_OK : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < n; i++)
        transfer_knobs_of(s->ground.space, i < n_told ? &s->history.items[i].config : &s->awaited[i - n_told].config,
                          knobs + i * n_knobs);
    for (size_t i = 0; e == ERR_OK && i < n_told; i++)
        values[i] = s->history.items[i].value;
    if (e == ERR_OK)
        e = transfer_columns(s->transfer, knobs, n, columns);
    if (e == ERR_OK)
        e = transfer_tell(s->transfer, knobs, columns, values, n_told);
    if (e == ERR_OK && s->n_awaited) {
        e = expect(s, knobs + n_told * n_knobs, columns + n_told * width, s->n_awaited, values + n_told);
        if (e == ERR_OK)
            e = transfer_tell(s->transfer, knobs, columns, values, n);
    }
    free(knobs);
    free(values);
    free(columns);
    return e;
}

/* The open candidate that most is hoped of. ERR_NOT_FOUND when none is open. */
static enum err hope(const struct strategy *s, struct config *out)
{
    const struct candidates *all = &s->candidates;
    struct transfer_score *scores = malloc(all->n * sizeof(*scores) + 1);
    enum err e = scores ? transfer_predict(s->transfer, all->knobs, all->columns, all->n, scores) : ERR_NOMEM;
    size_t best = all->n;

    for (size_t i = 0; e == ERR_OK && i < all->n; i++) {
        if ((best == all->n || scores[i].hope < scores[best].hope) && ground_is_open(&s->ground, &all->configs[i]))
            best = i;
    }
    if (e == ERR_OK && best == all->n)
        e = ERR_NOT_FOUND;
    if (e == ERR_OK)
        *out = all->configs[best];
    free(scores);
    return e;
}

/* Of the sources' first picks the first that is open. */
static enum err follow(const struct strategy *s, struct config *out)
{
    const struct candidates *all = &s->candidates;
    const size_t n_most = 1 + s->ground.n_taken;
    size_t *picks = malloc(n_most * sizeof(*picks)), n = 0;
    enum err e = picks ? transfer_first(s->transfer, all->columns, all->n, picks, n_most, &n) : ERR_NOMEM;

    for (size_t i = 0; e == ERR_OK && i < n; i++) {
        assert(picks[i] < all->n);
        if (ground_is_open(&s->ground, &all->configs[picks[i]])) {
            *out = all->configs[picks[i]];
            free(picks);
            return ERR_OK;
        }
    }
    free(picks);
    return e ? e : ERR_NOT_FOUND;
}

static enum err ask_records(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    const size_t end = *n_out + n;
    enum err e = ERR_OK;

    while (e == ERR_OK && *n_out < end) {
        struct config c;

        if (s->history.n_ok == 0 || s->n_proposed < s->n_follow + s->n_first) {
            e = follow(s, &c);
        } else {
            e = learn(s);
            if (e == ERR_OK)
                e = hope(s, &c);
        }
        if (e == ERR_OK)
            e = give(s, &c, "history", false, out, n_out);
    }
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* Proposals of the inner strategy that are new. */
static enum err ask_inner(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    const size_t end = *n_out + n;
    enum err e = ERR_OK;

    while (e == ERR_OK && *n_out < end) {
        const size_t n_wanted = end - *n_out;
        struct proposal *got = malloc(n_wanted * sizeof(*got));
        size_t n_got = 0;

        e = got ? s->inner_ops->ask(s->inner, n_wanted, got, &n_got) : ERR_NOMEM;
        for (size_t i = 0; e == ERR_OK && i < n_got; i++) {
            if (!ground_is_taken(&s->ground, space_index(s->ground.space, &got[i].config)))
                e = give(s, &got[i].config, got[i].by, true, out, n_out);
        }
        free(got);
        if (e == ERR_OK && n_got == 0)
            break;
    }
    return e;
}

/* The share of turns that records get now. */
static double share(const struct strategy *s)
{
    if (s->history.n >= MAX_TOLD || transfer_n_sources(s->transfer) == 0)
        return 0;
    if (s->history.n_ok == 0)
        return 0.5;
    assert(transfer_belief(s->transfer) >= 0 && transfer_belief(s->transfer) <= 1);
    return transfer_belief(s->transfer) / (1 + (double)s->n_stale / PATIENCE);
}

/* How many of the next n proposals are for records. */
static size_t n_turns(struct strategy *s, size_t n)
{
    size_t turns = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t at = s->n_proposed + i;

        if (at < s->n_first)
            continue;
        if (at < s->n_first + s->n_follow) {
            turns++;
            continue;
        }
        s->credit += share(s);
        if (s->credit >= 1 - 1e-9) {
            s->credit -= 1;
            turns++;
        }
    }
    assert(turns <= n && s->credit < 1);
    return turns;
}

static enum err ask(struct strategy *s, size_t n, struct proposal *out, size_t *n_out)
{
    const size_t turns = n_turns(s, n), ahead = s->n_proposed < s->n_first ? s->n_first - s->n_proposed : 0;
    enum err e;

    *n_out = 0;
    e = ask_inner(s, ahead < n ? ahead : n, out, n_out);
    if (e == ERR_OK)
        e = ask_records(s, turns, out, n_out);
    if (e == ERR_OK)
        e = ask_inner(s, n - *n_out, out, n_out);
    if (e == ERR_OK && *n_out < n)
        e = ask_records(s, n - *n_out, out, n_out);
    return e;
}

/* Forgets a config that was awaited. False when it is a proposal of records, which the inner strategy did not make. */
static bool unawait(struct strategy *s, const struct config *c)
{
    for (size_t i = 0; i < s->n_awaited; i++) {
        if (space_config_equal(s->ground.space, &s->awaited[i].config, c)) {
            const bool is_inner = s->awaited[i].is_inner;

            s->awaited[i] = s->awaited[--s->n_awaited];
            s->n_own += is_inner;
            assert(s->n_own <= s->n_proposed);
            return is_inner;
        }
    }
    return true;
}

static enum err hold(struct strategy *s, const struct outcome *o)
{
    const enum err e = VEC_ROOM(s->held, s->cap_held, s->n_held + 1, VEC_ANY);

    if (e == ERR_OK)
        s->held[s->n_held++] = *o;
    return e;
}

/* True once measurements speak for the sources. */
static bool is_borne_out(const struct strategy *s)
{
    return s->history.n > FIRST && transfer_belief(s->transfer) > BORNE_OUT;
}

/* Tells the inner strategy a result, or keeps it until it has made its own start. */
static enum err tell_inner(struct strategy *s, const struct outcome *o)
{
    enum err e = unawait(s, &o->config) ? s->inner_ops->tell(s->inner, o, 1) : hold(s, o);

    if (e == ERR_OK && s->n_held && (s->n_own >= OWN_START || is_borne_out(s))) {
        e = s->inner_ops->tell(s->inner, s->held, s->n_held);
        s->n_held = 0;
    }
    return e;
}

struct adding {
    struct strategy *s;
    enum err e;
};

static bool add_neighbour(const struct config *c, void *arg)
{
    struct adding *a = arg;

    if (ground_is_open(&a->s->ground, c))
        a->e = add(a->s, c);
    return a->e == ERR_OK && a->s->candidates.n < MAX_LISTED;
}

/* Where not all configs are candidates: those around the best. */
static enum err widen(struct strategy *s)
{
    size_t best[PARENTS], n = history_top(&s->history, PARENTS, best);
    const size_t from = s->candidates.n;
    struct adding a = {s, ERR_OK};

    if (s->ground.is_listed && s->ground.n_valid <= MAX_LISTED)
        return ERR_OK;
    for (size_t i = 0; i < n && a.e == ERR_OK && s->candidates.n < MAX_LISTED; i++)
        space_neighbours(s->ground.space, &s->history.items[best[i]].config, add_neighbour, &a);
    return a.e ? a.e : add_columns(s, from);
}

static enum err tell(struct strategy *s, const struct outcome *outcomes, size_t n)
{
    bool better = false;
    enum err e = history_tell(&s->history, &s->ground, outcomes, n);

    if (e)
        return e;
    for (size_t i = 0; i < n; i++) {
        e = tell_inner(s, &outcomes[i]);
        if (e)
            return e;
        if (outcomes[i].value < s->best) {
            s->best = outcomes[i].value;
            better = true;
            s->n_stale = 0;
        } else {
            s->n_stale++;
        }
    }
    return better ? widen(s) : ERR_OK;
}

const struct strategy_ops warm_ops = {
    .name = "warm",
    .summary = "records of other devices and another strategy, in turns",
    .init = init,
    .ask = ask,
    .tell = tell,
    .fini = fini,
};
