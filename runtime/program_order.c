/* SPDX-License-Identifier: MIT */
#include "runtime/program_order.h"

#include "core/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static enum err check_pack(const struct program *p, const struct program_launch *l, struct why *why)
{
    for (size_t a = 0; a < l->n_args; a++) {
        const struct program_buffer *b = l->args[a].kind == ARG_BUFFER ? &p->buffers[l->args[a].i_buffer] : NULL;

        if (b && b->role != ROLE_WEIGHT && b->role != ROLE_PACKED && b->role != ROLE_SCRATCH)
            return why_set(why, ERR_INPUT,
                           "launch '%s': a pack launch takes weights, packed and scratch buffers, not '%s'", l->id,
                           b->id);
    }
    return ERR_OK;
}

/* Launches that queues and `after` tie together, directly or by way of others: each knows one of its group. */
static int find(int *of, int i)
{
    while (of[i] != i)
        i = of[i] = of[of[i]];
    return i;
}

static void tie(const struct program *p, int *of)
{
    for (int i = 0; i < (int)p->n_launches; i++)
        of[i] = i;
    for (int j = 0; j < (int)p->n_launches; j++) {
        const struct program_launch *m = &p->launches[j];

        for (int i = j; i-- > 0;)
            if (p->launches[i].phase == m->phase && p->launches[i].queue == m->queue) {
                of[find(of, j)] = find(of, i);
                break;
            }
        for (size_t a = 0; a < m->n_after; a++) {
            assert(m->after[a] >= 0 && (size_t)m->after[a] < p->n_launches);
            of[find(of, j)] = find(of, m->after[a]);
        }
    }
}

static bool is_written(const struct program_buffer *b, enum launch_phase phase)
{
    return b->role != ROLE_INPUT && b->role != ROLE_WEIGHT && (b->role != ROLE_PACKED || phase == PHASE_PACK);
}

/* A buffer that both name and one may write; NULL = none. */
static const struct program_buffer *shared(const struct program *p, const struct program_launch *l,
                                           const struct program_launch *m)
{
    for (size_t i = 0; i < l->n_args; i++)
        for (size_t j = 0; l->args[i].kind == ARG_BUFFER && j < m->n_args; j++)
            if (m->args[j].kind == ARG_BUFFER && m->args[j].i_buffer == l->args[i].i_buffer &&
                is_written(&p->buffers[l->args[i].i_buffer], l->phase))
                return &p->buffers[l->args[i].i_buffer];
    return NULL;
}

static bool is_same_kernel(const struct program_launch *l, const struct program_launch *m)
{
    return l->op == LAUNCH_KERNEL && m->op == LAUNCH_KERNEL && l->i_module == m->i_module &&
           strcmp(l->kernel, m->kernel) == 0;
}

static enum err check_pair(const struct program *p, int *of, int i, int j, struct why *why)
{
    const struct program_launch *l = &p->launches[i], *m = &p->launches[j];
    const struct program_buffer *both;

    if (l->phase != m->phase || find(of, i) == find(of, j) || is_same_kernel(l, m))
        return ERR_OK;
    both = shared(p, l, m);
    return both
               ? why_set(why, ERR_INPUT, "launches '%s' and '%s' are on two queues and share '%s': name one in 'after'",
                         l->id, m->id, both->id)
               : ERR_OK;
}

static bool has_queues(const struct program *p)
{
    for (size_t i = 0; i < p->n_launches; i++)
        if (p->launches[i].queue)
            return true;
    return false;
}

enum err program_check_order(const struct program *p, struct why *why)
{
    enum err e = ERR_OK;
    int *of;

    for (size_t i = 0; !e && i < p->n_launches; i++)
        if (p->launches[i].phase == PHASE_PACK)
            e = check_pack(p, &p->launches[i], why);
    if (e || !has_queues(p))
        return e;
    of = malloc(p->n_launches * sizeof *of);
    if (!of)
        return ERR_NOMEM;
    tie(p, of);
    for (int j = 0; !e && j < (int)p->n_launches; j++)
        for (int i = 0; !e && i < j; i++)
            e = check_pair(p, of, i, j, why);
    free(of);
    return e;
}
