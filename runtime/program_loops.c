/* SPDX-License-Identifier: MIT */
/* program_loops.c - launches that repeat: may they? */
#include "runtime/program_loops.h"

#include "core/err.h"

#include <assert.h>

#define MAX_BUMP ((int64_t)1 << 31)

bool program_arg_bumps(const struct program_arg *a)
{
    for (int i = 0; i < PROGRAM_MAX_NEST; i++)
        if (a->bump[i])
            return true;
    return false;
}

static bool holds(const struct program_loop *l, size_t i_launch)
{
    return (size_t)l->first <= i_launch && i_launch <= (size_t)l->last;
}

bool program_share_loop(const struct program *p, size_t i_launch, size_t i_other)
{
    for (size_t i = 0; i < p->n_loops; i++)
        if (holds(&p->loops[i], i_launch) && holds(&p->loops[i], i_other))
            return true;
    return false;
}

static enum err check_loop(const struct program *p, size_t i, struct why *why)
{
    const struct program_loop *l = &p->loops[i];
    int depth = 1;

    if (l->first < 0 || l->last < l->first || (size_t)l->last >= p->n_launches)
        return why_set(why, ERR_INPUT, "loop %zu: 'first' and 'last' name launches in their order", i);
    if (l->count < 1 || l->count > PROGRAM_MAX_RUNS)
        return why_set(why, ERR_INPUT, "loop %zu: 'count' is 1..%lld", i, (long long)PROGRAM_MAX_RUNS);
    for (int k = l->first; k < l->last; k++)
        if (p->launches[k].phase != p->launches[k + 1].phase)
            return why_set(why, ERR_INPUT, "loop %zu: its launches are of one phase", i);
    for (size_t j = 0; j < i; j++) {
        const struct program_loop *outer = &p->loops[j];

        if (outer->first > l->first || (outer->last >= l->first && outer->last < l->last))
            return why_set(why, ERR_INPUT,
                           "loops %zu and %zu: loops lie within one another or apart, by their first launch, the outer "
                           "one first",
                           j, i);
        depth += outer->last >= l->last;
    }
    if (depth > PROGRAM_MAX_NEST)
        return why_set(why, ERR_LIMIT, "loop %zu: more than %d loops within one another", i, PROGRAM_MAX_NEST);
    return ERR_OK;
}

static bool in_range(enum arg_kind kind, int64_t v)
{
    if (kind == ARG_I32)
        return v >= INT32_MIN && v <= INT32_MAX;
    if (kind == ARG_U32)
        return v >= 0 && v <= UINT32_MAX;
    return v >= -JSON_EXACT_MAX && v <= JSON_EXACT_MAX;
}

/* The smallest and the largest value, of all iterations, are within the type. */
static enum err check_bumps(const struct program_launch *l, const struct program_arg *a, const int64_t *counts,
                            int depth, struct why *why)
{
    int64_t least = a->integer, most = least;

    for (int i = 0; i < PROGRAM_MAX_NEST; i++) {
        if (a->bump[i] < -MAX_BUMP || a->bump[i] > MAX_BUMP)
            return why_set(why, ERR_INPUT, "launch '%s': a bump is within 2^31", l->id);
        if (a->bump[i] && i >= depth)
            return why_set(why, ERR_INPUT, "launch '%s': a bump for each loop around it, there are %d", l->id, depth);
        *(a->bump[i] < 0 ? &least : &most) += i < depth ? a->bump[i] * (counts[i] - 1) : 0;
    }
    if (!in_range(a->kind, least) || !in_range(a->kind, most))
        return why_set(why, ERR_INPUT, "launch '%s': an argument leaves its type's range", l->id);
    return ERR_OK;
}

static enum err check_repeats(const struct program *p, size_t i, int64_t *left_runs, struct why *why)
{
    const struct program_launch *l = &p->launches[i];
    int64_t counts[PROGRAM_MAX_NEST] = {0}, runs = 1;
    int depth = 0;
    enum err e = ERR_OK;

    for (size_t k = 0; k < p->n_loops; k++)
        if (holds(&p->loops[k], i)) {
            assert(depth < PROGRAM_MAX_NEST); /* check_loop has seen to it */
            counts[depth++] = p->loops[k].count;
            runs = runs > PROGRAM_MAX_RUNS ? runs : runs * p->loops[k].count;
        }
    *left_runs -= runs;
    if (*left_runs < 0)
        return why_set(why, ERR_LIMIT, "loops repeat launches more than %lld times", (long long)PROGRAM_MAX_RUNS);
    for (size_t a = 0; !e && a < l->n_args; a++) {
        if (program_arg_bumps(&l->args[a]) &&
            (l->op != LAUNCH_KERNEL || l->args[a].kind < ARG_I32 || l->args[a].kind > ARG_I64))
            return why_set(why, ERR_INPUT, "launch '%s': only whole numbers of kernels have bumps", l->id);
        e = program_arg_bumps(&l->args[a]) ? check_bumps(l, &l->args[a], counts, depth, why) : ERR_OK;
    }
    return e;
}

enum err program_check_loops(const struct program *p, struct why *why)
{
    int64_t left_runs = PROGRAM_MAX_RUNS;
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < p->n_loops; i++)
        e = check_loop(p, i, why);
    for (size_t i = 0; !e && i < p->n_launches; i++)
        e = check_repeats(p, i, &left_runs, why);
    return e;
}
