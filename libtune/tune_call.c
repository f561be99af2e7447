/* SPDX-License-Identifier: MIT */
#include "libtune/tune_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* "x y": the tensors that a call takes. */
static void names_of(const struct tune_tensor *list, size_t n, char *out, size_t n_out)
{
    size_t at = 0;

    snprintf(out, n_out, "none");
    for (size_t i = 0; i < n && at < n_out - PROGRAM_ID_BYTES - 1; i++)
        at += (size_t)snprintf(out + at, n_out - at, "%s%s", i ? " " : "", list[i].name);
}

static enum tune_status check_call(const struct tune_plan *p, const struct tune_backend *backend, const void *buffers,
                                   size_t n, bool is_pack)
{
    char names[256];
    size_t n_wanted;

    if (!p)
        return tune_fail(TUNE_BAD_ARGUMENT, "expected a plan, not NULL");
    if (p->t->backend != backend)
        return tune_fail(TUNE_BAD_ARGUMENT, "%s: the plan is for %s, the call for %s", p->text, p->t->backend->api,
                         backend->api);
    n_wanted = is_pack ? p->n_weights : p->n_tensors;
    names_of(is_pack ? p->weights : p->tensors, n_wanted, names, sizeof names);
    if (n != n_wanted)
        return tune_fail(TUNE_BAD_ARGUMENT, "%s: %zu buffers given, expected %zu: %s", p->text, n, n_wanted, names);
    if (n && !buffers)
        return tune_fail(TUNE_BAD_ARGUMENT, "%s: expected buffers for %s, not NULL", p->text, names);
    return TUNE_OK;
}

static enum tune_status check_weights(const struct tune_plan *p, const struct tune_weights *w)
{
    char names[256];

    if (w && w->plan != p)
        return tune_fail(TUNE_NOT_PACKED, "%s: the weights were packed for another plan, %s", p->text, w->plan->text);
    if (w || !p->n_weights)
        return TUNE_OK;
    names_of(p->weights, p->n_weights, names, sizeof names);
    return tune_fail(TUNE_NOT_PACKED, "%s: executed without weights; pack %s first", p->text, names);
}

/* Under the lock. */
static enum tune_status pack(const struct tune_plan *p, void *queue, const void *weights, void **out)
{
    struct exec_words words = {""};

    return tune_fail_exec(p->t->backend->pack(p->op, queue, weights, &words, out), &words);
}

enum tune_status tune_pack(struct tune_plan *p, const struct tune_backend *backend, void *queue, const void *weights,
                           size_t n, struct tune_weights **out)
{
    enum tune_status s = check_call(p, backend, weights, n, true);
    struct tune_weights *w;

    if (s != TUNE_OK)
        return s;
    if (!out)
        return tune_fail(TUNE_BAD_ARGUMENT, "%s: expected where to give the packed weights to", p->text);
    w = calloc(1, sizeof *w);
    if (!w)
        return tune_fail(TUNE_NO_MEMORY, "out of memory");
    pthread_mutex_lock(&p->t->lock);
    s = pack(p, queue, weights, &w->packed);
    pthread_mutex_unlock(&p->t->lock);
    if (s != TUNE_OK) {
        free(w);
        return s;
    }
    assert(w->packed);
    atomic_fetch_add(&p->n_users, 1);
    w->plan = p;
    *out = w;
    return TUNE_OK;
}

void tune_weights_free(struct tune_weights *w)
{
    if (!w)
        return;
    assert(w->plan && w->packed);
    pthread_mutex_lock(&w->plan->t->lock);
    w->plan->t->backend->packed_free(w->packed);
    pthread_mutex_unlock(&w->plan->t->lock);
    tune_plan_release(w->plan);
    free(w);
}

/* Under the lock. A plan without weights has its nothing packed by its first run. */
static enum tune_status run(struct tune_plan *p, void *queue, const void *tensors, const struct tune_weights *w)
{
    struct exec_words words = {""};
    enum tune_status s = w || p->nothing_packed ? TUNE_OK : pack(p, queue, NULL, &p->nothing_packed);

    if (s != TUNE_OK)
        return s;
    assert(p->op && (w || p->nothing_packed));
    return tune_fail_exec(p->t->backend->run(p->op, queue, tensors, w ? w->packed : p->nothing_packed, &words), &words);
}

enum tune_status tune_execute(struct tune_plan *p, const struct tune_backend *backend, void *queue, const void *tensors,
                              size_t n, const struct tune_weights *weights)
{
    enum tune_status s = check_call(p, backend, tensors, n, false);

    if (s == TUNE_OK)
        s = check_weights(p, weights);
    if (s != TUNE_OK)
        return s;
    pthread_mutex_lock(&p->t->lock);
    s = run(p, queue, tensors, weights);
    pthread_mutex_unlock(&p->t->lock);
    return s;
}
