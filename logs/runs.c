/* SPDX-License-Identifier: MIT */
#include "logs/runs.h"

#include "core/err.h"
#include "logs/seen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one scale for all runs ---- */

/* A program on the scale: its ln time, and by how many ratios it hangs on the program that its component began with. */
struct node {
    double ln;
    size_t component; /* from 1 */
    int n_ratios;
};

struct scale {
    struct seen index; /* of programs: the place in nodes + 1 */
    struct node *nodes;
    size_t n, n_components;
};

/* A run's place on the scale. */
struct placed {
    const struct run *run;
    const struct record *start; /* its earliest */
    struct chain chain;
    double shift;       /* of its own ln times */
    struct node origin; /* of its first anchor; ln is not set */
    const struct record *winner;
    struct node node; /* the winner's */
};

static const struct node *scale_find(const struct scale *s, const struct sha256 *program)
{
    const struct seen_entry *found =
        program->hex[0] ? seen_find(&s->index, seen_hash(&s->index, program->hex, SHA256_HEX)) : NULL;

    return found ? &s->nodes[found->place - 1] : NULL;
}

/* The earliest run that knows a program tells where it stands. */
static enum err scale_add(struct scale *s, const struct sha256 *program, struct node node)
{
    struct seen_entry *entry;

    if (!program->hex[0])
        return ERR_OK;
    entry = seen_only(&s->index, seen_hash(&s->index, program->hex, SHA256_HEX));
    if (!entry)
        return ERR_NOMEM;
    if (entry->place)
        return ERR_OK;
    s->nodes[s->n++] = node;
    entry->place = s->n;
    return ERR_OK;
}

/* By an anchor that earlier runs know; else, by time alone, by the first program of both that was timed without one. */
static void find_shift(struct scale *s, struct placed *p)
{
    const struct record *tie = NULL;

    for (int e = 0; e < RUN_EPOCHS; e++) {
        const struct record *link = p->chain.links[e];
        const struct node *known = link ? scale_find(s, &link->anchor.hash) : NULL;

        if (!known)
            continue;
        p->shift = known->ln - p->chain.ln_t0 - link->anchor.bridge;
        p->origin = (struct node){.component = known->component, .n_ratios = known->n_ratios};
        return;
    }
    for (size_t i = 0; i < p->run->n; i++) {
        const struct record *r = &p->run->records[i];

        if (!record_has_ratio(r) && scale_find(s, &r->program) && (!tie || record_by_clock(r, tie) < 0))
            tie = r;
    }
    p->shift = tie ? scale_find(s, &tie->program)->ln - log(tie->time_ns) : 0;
    p->origin = (struct node){.component = ++s->n_components};
}

static struct node node_of(struct scale *s, const struct placed *p, const struct record *r)
{
    struct node node = p->origin;
    const struct node *known = scale_find(s, &r->program);

    if (chain_has(&p->chain, r))
        node.n_ratios += 1 + (int)r->anchor.epoch;
    else
        node = known ? *known : (struct node){.component = ++s->n_components};
    node.ln = chain_ln_time(&p->chain, r) + p->shift;
    return node;
}

static enum err place(struct scale *s, struct placed *p)
{
    enum err e = ERR_OK;

    find_shift(s, p);
    for (int i = 0; i < RUN_EPOCHS && !e; i++) {
        const struct record *link = p->chain.links[i];
        const struct node node = {.ln = link ? p->chain.ln_t0 + link->anchor.bridge + p->shift : 0,
                                  .component = p->origin.component,
                                  .n_ratios = p->origin.n_ratios + i};

        e = link ? scale_add(s, &link->anchor.hash, node) : ERR_OK;
    }
    for (size_t i = 0; i < p->run->n && !e; i++)
        if (!run_supersedes(p->run, &p->run->records[i]))
            e = scale_add(s, &p->run->records[i].program, node_of(s, p, &p->run->records[i]));
    p->node = node_of(s, p, p->winner);
    return e;
}

static int by_start(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    const int clock = record_by_clock(x->start, y->start), job = clock ? clock : strcmp(x->run->job, y->run->job);

    return job ? job : (x->run->data_seed > y->run->data_seed) - (x->run->data_seed < y->run->data_seed);
}

static struct placed describe(const struct run *run)
{
    const struct run *j = run_counted(run);
    struct placed p = {.run = j, .start = &j->records[0], .chain = run_chain(j)};

    for (size_t i = 1; i < j->n; i++)
        if (record_by_clock(&j->records[i], p.start) < 0)
            p.start = &j->records[i];
    p.winner = run_winner(j, &p.chain);
    return p;
}

/* Those of *n runs that have records, in the order of time, with their winners; NULL without memory. */
static struct placed *sort_runs(const struct run *runs, size_t *n)
{
    struct placed *sorted = calloc(*n ? *n : 1, sizeof *sorted);
    size_t n_sorted = 0;

    for (size_t j = 0; sorted && j < *n; j++)
        if (runs[j].n)
            sorted[n_sorted++] = describe(&runs[j]);
    if (sorted)
        qsort(sorted, n_sorted, sizeof *sorted, by_start);
    *n = n_sorted;
    return sorted;
}

static enum err place_all(struct placed *sorted, size_t n)
{
    struct scale s = {.n = 0};
    size_t n_nodes = 0;
    enum err e = seen_init(&s.index);

    for (size_t j = 0; j < n; j++)
        n_nodes += sorted[j].run->n + RUN_EPOCHS;
    s.nodes = e ? NULL : calloc(n_nodes, sizeof *s.nodes);
    if (!e && !s.nodes)
        e = ERR_NOMEM;
    for (size_t j = 0; j < n && !e; j++)
        e = place(&s, &sorted[j]);
    free(s.nodes);
    seen_fini(&s.index);
    return e;
}

/* ---- what programs tell of the error ---- */

static bool is_one_kernel(const struct placed *x, const struct record *a, const struct placed *y,
                          const struct record *b)
{
    return record_is_one_program(a, b) && !run_supersedes(x->run, a) && !run_supersedes(y->run, b);
}

/* Each run beside the next. */
static void add_neighbours(const struct placed *sorted, size_t n, struct run_errors *errors)
{
    for (size_t j = 1; j < n; j++) {
        const struct placed *x = &sorted[j - 1], *y = &sorted[j];
        struct run_pair pair = {.n_time = 0};

        for (size_t i = 0; i < x->run->n; i++)
            for (size_t k = 0; k < y->run->n; k++)
                if (is_one_kernel(x, &x->run->records[i], y, &y->run->records[k]))
                    run_pair_add(&pair, &x->run->records[i], &y->run->records[k]);
        run_errors_add(errors, &pair);
    }
}

void runs_errors(const struct run *runs, size_t n, struct run_errors *errors)
{
    struct placed *sorted = sort_runs(runs, &n);

    if (sorted)
        add_neighbours(sorted, n, errors);
    free(sorted);
}

struct sided {
    const struct record *r;
    bool is_b;
};

static int by_program(const void *a, const void *b)
{
    const struct sided *x = a, *y = b;
    const int program = strcmp(x->r->program.hex, y->r->program.hex), clock = record_by_clock(x->r, y->r);

    return program ? program : clock ? clock : x->is_b - y->is_b;
}

static size_t list_records(const struct run *runs, size_t n_runs, bool is_b, struct sided *out)
{
    size_t n = 0;

    for (size_t j = 0; j < n_runs; j++)
        for (size_t i = 0; i < runs[j].n; i++)
            if (!run_supersedes(&runs[j], &runs[j].records[i]))
                out[n++] = (struct sided){.r = &runs[j].records[i], .is_b = is_b};
    return n;
}

static size_t count_records(const struct run *runs, size_t n_runs)
{
    size_t n = 0;

    for (size_t j = 0; j < n_runs; j++)
        n += runs[j].n;
    return n;
}

void runs_errors_across(const struct run *a, size_t n_a, const struct run *b, size_t n_b, struct run_errors *errors)
{
    struct sided *all = calloc(count_records(a, n_a) + count_records(b, n_b) + 1, sizeof *all);
    struct run_pair pair = {.n_time = 0};
    size_t n;

    if (!all)
        return;
    n = list_records(a, n_a, false, all);
    n += list_records(b, n_b, true, all + n);
    qsort(all, n, sizeof *all, by_program);
    for (size_t i = 1; i < n; i++)
        if (all[i].is_b != all[i - 1].is_b)
            run_pair_add(&pair, all[i - 1].r, all[i].r);
    run_errors_add(errors, &pair);
    free(all);
}

/* ---- the best of all runs ---- */

static const struct placed *find_least(const struct placed *sorted, size_t n)
{
    const struct placed *least = &sorted[0];
    bool is_one_objective = true;

    for (size_t j = 1; j < n; j++)
        is_one_objective = is_one_objective && strcmp(sorted[j].winner->objective, sorted[0].winner->objective) == 0;
    for (size_t j = 1; j < n; j++) {
        const struct placed *p = &sorted[j];

        if (is_one_objective ? record_cost_at(p->winner, p->node.ln) < record_cost_at(least->winner, least->node.ln)
                             : p->node.ln < least->node.ln)
            least = p;
    }
    return least;
}

static bool is_surely_worse(const struct placed *p, const struct placed *least, const struct run_error *e)
{
    struct comparison c = compare_records(p->winner, least->winner, e);

    if (c.by == COMPARE_TIME && !*p->winner->objective)
        c = compare_along(p->winner, least->winner, least->node.ln - p->node.ln,
                          p->node.component == least->node.component ? p->node.n_ratios + least->node.n_ratios : 0, e);
    return !comparison_ties(&c) && !(c.gain > 0);
}

/* The least; but who holds the place with a final keeps it until somebody is better beyond the error. */
static const struct placed *choose(const struct placed *sorted, size_t n)
{
    const struct placed *least = find_least(sorted, n);
    struct run_errors errors = {.n_time = 0};
    struct run_error e;

    add_neighbours(sorted, n, &errors);
    e = run_errors_of(&errors);
    for (size_t j = 0; j < n; j++)
        if (record_is_final(sorted[j].winner) && !is_surely_worse(&sorted[j], least, &e))
            return &sorted[j];
    return least;
}

static int by_time(const void *a, const void *b)
{
    const struct record *x = *(const struct record *const *)a, *y = *(const struct record *const *)b;

    return x->time_ns != y->time_ns ? (x->time_ns < y->time_ns ? -1 : 1) : record_by_clock(x, y);
}

static const struct record *record_like(const struct run *j, const struct record *winner)
{
    for (size_t i = 0; i < j->n; i++) {
        const struct record *r = &j->records[i];

        if (r == winner || (record_is_one_program(r, winner) && record_is_final(r) == record_is_final(winner) &&
                            !run_supersedes(j, r)))
            return r;
    }
    return NULL;
}

/* Of a program that several runs measured, the record of the run in the middle: neither the run that flattered it nor
 * one that was disturbed. */
static const struct record *in_the_middle(const struct run *runs, size_t n_runs, const struct record *winner)
{
    const struct record **same = calloc(n_runs, sizeof *same), *middle;
    size_t n = 0;

    if (!same)
        return NULL;
    for (size_t j = 0; j < n_runs; j++)
        if ((same[n] = record_like(run_counted(&runs[j]), winner)))
            n++;
    qsort(same, n, sizeof *same, by_time);
    middle = same[(n - 1) / 2];
    free(same);
    return middle;
}

const struct record *runs_best(const struct run *runs, size_t n)
{
    size_t n_sorted = n;
    struct placed *sorted = sort_runs(runs, &n_sorted);
    const struct record *best = NULL;

    if (sorted && n_sorted == 1)
        best = sorted->winner;
    else if (sorted && n_sorted && !place_all(sorted, n_sorted))
        best = in_the_middle(runs, n, choose(sorted, n_sorted)->winner);
    free(sorted);
    return best;
}
