/* SPDX-License-Identifier: MIT */
#include "logs/run.h"

#include "core/err.h"
#include "core/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_SEARCHES 8 /* against one anchor: a second measurement may throw the first out */
#define CLEARLY 0.94    /* of another's cost: beyond the error between two measurements of a run */
#define KEPT 64         /* in all: more than any run has finals, redos and anchors for */

/* How much a record's purpose counts against others of its run. */
static int rank(const struct record *r)
{
    return strcmp(r->purpose, "final") == 0 ? 2 : strcmp(r->purpose, "redo") == 0;
}

bool record_is_final(const struct record *r)
{
    return rank(r) == 2;
}

bool record_is_baseline(const struct record *r)
{
    return r->rounds == 1 && !r->censored && !r->anchor.hash.hex[0];
}

bool record_is_one_program(const struct record *a, const struct record *b)
{
    return a->program.hex[0] && strcmp(a->program.hex, b->program.hex) == 0;
}

int record_by_clock(const struct record *a, const struct record *b)
{
    return a->ts_ms != b->ts_ms ? (a->ts_ms < b->ts_ms ? -1 : 1) : strcmp(a->id, b->id);
}

bool record_has_ratio(const struct record *r)
{
    return isfinite(r->lnratio) && r->anchor.hash.hex[0] && r->anchor.epoch >= 0 && r->anchor.epoch < RUN_EPOCHS;
}

/* Is it compared with the other whatever the scale between anchors turns out to be? */
static bool is_of_class(const struct record *a, const struct record *b)
{
    if (rank(a) || rank(b) || record_has_ratio(a) != record_has_ratio(b))
        return false;
    return !record_has_ratio(a) ||
           (a->anchor.epoch == b->anchor.epoch && strcmp(a->anchor.hash.hex, b->anchor.hash.hex) == 0);
}

double record_cost_at(const struct record *r, double ln_time)
{
    const double cost = record_cost(r, ln_time);

    return isnan(cost) ? (double)INFINITY : cost;
}

static double cost_in_class(const struct record *r)
{
    return record_cost_at(r, record_has_ratio(r) ? r->anchor.bridge + r->lnratio : log(r->time_ns));
}

static bool is_cheaper_in_class(const struct record *a, const struct record *b)
{
    const double x = cost_in_class(a), y = cost_in_class(b);

    return x != y ? x < y : record_by_clock(a, b) < 0;
}

/* The same measurement come again. */
static struct record *find_equal(struct run *j, const struct record *r)
{
    for (size_t i = 0; i < j->n; i++)
        if (record_by_clock(&j->records[i], r) == 0 && rank(&j->records[i]) == rank(r) &&
            record_is_one_program(&j->records[i], r))
            return &j->records[i];
    return NULL;
}

/* What the run would part with for a newcomer; NULL while there is room for it. */
static struct record *find_victim(struct run *j, const struct record *r)
{
    struct record *worst = NULL, *longest = NULL;
    size_t n = 0;

    for (size_t i = 0; i < j->n; i++) {
        struct record *other = &j->records[i];

        if (!longest || rank(other) < rank(longest) ||
            (rank(other) == rank(longest) && other->time_ns > longest->time_ns))
            longest = other;
        if (!is_of_class(other, r))
            continue;
        n++;
        if (!worst || is_cheaper_in_class(worst, other))
            worst = other;
    }
    return n >= KEPT_SEARCHES ? worst : j->n >= KEPT ? longest : NULL;
}

static bool may_replace(const struct record *r, const struct record *victim)
{
    if (is_of_class(r, victim))
        return is_cheaper_in_class(r, victim);
    return rank(r) != rank(victim) ? rank(r) > rank(victim) : r->time_ns < victim->time_ns;
}

/* Room for one more record at the end; NULL without memory. */
static struct record *room(struct run *j)
{
    if (VEC_ROOM(j->records, j->cap, j->n + 1, VEC_ANY))
        return NULL;
    return &j->records[j->n];
}

static bool has_finals(const struct run *j)
{
    return j->n && record_is_final(&j->records[0]);
}

/* What was added so far becomes what was measured before the finals. */
static enum err set_apart(struct run *j)
{
    struct run *before = calloc(1, sizeof *before);

    if (!before)
        return ERR_NOMEM;
    before->records = j->records;
    before->n = j->n;
    before->cap = j->cap;
    before->data_seed = j->data_seed;
    memcpy(before->job, j->job, sizeof before->job);
    j->records = NULL;
    j->n = j->cap = 0;
    j->before = before;
    return ERR_OK;
}

enum err run_add(struct run *j, const struct record *r)
{
    struct record *to, copy;

    if (record_is_final(r) && !has_finals(j) && set_apart(j))
        return ERR_NOMEM;
    if (has_finals(j) && !record_is_final(r))
        return run_add(j->before, r);
    to = find_equal(j, r);
    if (!to && (to = find_victim(j, r)) && !may_replace(r, to))
        return ERR_OK;
    if (!to)
        to = room(j);
    if (!to || record_copy(&copy, r))
        return ERR_NOMEM;
    if (to == j->records + j->n)
        j->n++;
    else
        record_fini(to);
    *to = copy;
    return ERR_OK;
}

void run_fini(struct run *j)
{
    while (j->n)
        record_fini(&j->records[--j->n]);
    free(j->records);
    if (j->before)
        run_fini(j->before);
    free(j->before);
}

bool run_supersedes(const struct run *j, const struct record *r)
{
    for (size_t i = 0; i < j->n; i++) {
        const struct record *other = &j->records[i];

        if (other != r && record_is_one_program(r, other) &&
            (rank(other) != rank(r) ? rank(other) > rank(r) : record_by_clock(other, r) > 0))
            return true;
    }
    return false;
}

/* The record of a program that was timed without an anchor, as the first anchors are. */
static const struct record *find_alone(const struct run *j, const struct sha256 *program)
{
    const struct record *alone = NULL;

    for (size_t i = 0; i < j->n; i++) {
        const struct record *r = &j->records[i];

        if (!record_has_ratio(r) && strcmp(r->program.hex, program->hex) == 0 &&
            (!alone || record_by_clock(r, alone) < 0))
            alone = r;
    }
    return alone;
}

struct chain run_chain(const struct run *j)
{
    struct chain c = {.ln_t0 = 0};

    for (size_t i = 0; i < j->n; i++) {
        const struct record *r = &j->records[i], **link;

        if (!record_has_ratio(r))
            continue;
        link = &c.links[r->anchor.epoch];
        if (!*link || record_by_clock(r, *link) < 0)
            *link = r;
    }
    for (size_t e = 0; e < RUN_EPOCHS; e++) {
        const struct record *r = c.links[e], *alone = r ? find_alone(j, &r->anchor.hash) : NULL;

        if (!r)
            continue;
        c.ln_t0 = (alone ? log(alone->time_ns) : log(r->time_ns) - r->lnratio) - r->anchor.bridge;
        break;
    }
    return c;
}

bool chain_has(const struct chain *c, const struct record *r)
{
    return record_has_ratio(r) && strcmp(c->links[r->anchor.epoch]->anchor.hash.hex, r->anchor.hash.hex) == 0;
}

double chain_ln_time(const struct chain *c, const struct record *r)
{
    return chain_has(c, r) ? c->ln_t0 + r->anchor.bridge + r->lnratio : log(r->time_ns);
}

static bool is_better_in_run(const struct chain *c, const struct record *a, const struct record *b)
{
    const double x = record_cost_at(a, chain_ln_time(c, a)), y = record_cost_at(b, chain_ln_time(c, b));

    return x != y ? x < y : record_by_clock(a, b) < 0;
}

const struct record *run_winner(const struct run *j, const struct chain *c)
{
    const struct record *best = NULL;

    for (size_t i = 0; i < j->n; i++)
        if (!run_supersedes(j, &j->records[i]) && (!best || is_better_in_run(c, &j->records[i], best)))
            best = &j->records[i];
    return best;
}

/* The least of what nothing supersedes but for baselines, and for one that has this program (NULL = any). */
static const struct record *least_before(const struct run *j, const struct chain *c, const struct record *program)
{
    const struct record *best = NULL;

    for (size_t i = 0; i < j->n; i++) {
        const struct record *r = &j->records[i];

        if (!run_supersedes(j, r) && !record_is_baseline(r) && (!program || record_is_one_program(r, program)) &&
            (!best || is_better_in_run(c, r, best)))
            best = r;
    }
    return best;
}

const struct run *run_counted(const struct run *j)
{
    const struct run *before = has_finals(j) ? j->before : NULL;
    const struct chain own = run_chain(j), chain = before ? run_chain(before) : own;
    const struct record *winner = run_winner(j, &own), *ahead = before ? least_before(before, &chain, NULL) : NULL,
                        *was;
    double ln_was;

    if (!ahead || !ahead->program.hex[0])
        return j;
    for (size_t i = 0; i < j->n; i++)
        if (record_is_one_program(&j->records[i], ahead))
            return j;
    was = least_before(before, &chain, winner);
    ln_was = was ? chain_ln_time(&chain, was) : chain_ln_time(&own, winner);
    return record_cost_at(ahead, chain_ln_time(&chain, ahead)) < record_cost_at(was ? was : winner, ln_was) * CLEARLY
               ? before
               : j;
}
