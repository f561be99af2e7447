/* SPDX-License-Identifier: MIT */
/* network_find.c - steps, plans and weights of a network by number and name. */
#include "exec/network_find.h"

#include "exec/common.h"

#include <string.h>

EXEC_API const struct exec_plan *exec_net_plan(const struct exec_network *n, int i_step)
{
    return n->plans[n->steps[i_step].i_plan];
}

EXEC_API int exec_net_layer(const struct exec_network *n, const char *layer)
{
    int i = n->n_steps - 1;
    while (i >= 0 && strcmp(n->steps[i].layer, layer) != 0)
        i--;
    return i;
}

/* Weight k of a plan; NULL: it has fewer. */
static const struct exec_buffer *exec_net_weight(const struct exec_plan *plan, int k)
{
    for (int i = 0; i < plan->n_buffers; i++)
        if (plan->buffers[i].role == EXEC_WEIGHT && k-- == 0)
            return &plan->buffers[i];
    return NULL;
}

EXEC_API int exec_net_weights(const struct exec_plan *plan)
{
    int n = 0;
    while (exec_net_weight(plan, n) != NULL)
        n++;
    return n;
}

EXEC_API enum exec_status exec_net_check(const struct exec_network *n, int *most, struct exec_words *words)
{
    *most = 0;
    for (int i = 0; i < n->n_steps; i++) {
        const struct exec_plan *plan = exec_net_plan(n, i);
        int n_tensors = 0;
        for (int b = 0; b < plan->n_buffers; b++)
            n_tensors += plan->buffers[b].role == EXEC_INPUT || plan->buffers[b].role == EXEC_OUTPUT;
        if (n_tensors != n->steps[i].n_values) {
            return exec_fail(words, EXEC_BAD_ARGUMENT, "step %s has %d tensors, its plan %d", n->steps[i].layer,
                             n->steps[i].n_values, n_tensors);
        }
        *most = n_tensors > *most ? n_tensors : *most;
    }
    return EXEC_OK;
}

/* The words on an unknown weight list those of the layer. */
static enum exec_status exec_net_no_weight(const struct exec_network *n, int i_step, const char *name,
                                           struct exec_words *words)
{
    const struct exec_plan *plan = exec_net_plan(n, i_step);
    const struct exec_buffer *b;
    char list[256] = "";
    for (int k = 0; (b = exec_net_weight(plan, k)) != NULL; k++) {
        strncat(list, k > 0 ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, b->id, sizeof list - strlen(list) - 1);
    }
    return exec_fail(words, EXEC_BAD_ARGUMENT, "layer %s of %s has no weight '%.60s'; it has: %s",
                     n->steps[i_step].layer, n->name, name, list[0] != '\0' ? list : "none");
}

EXEC_API enum exec_status exec_net_find(const struct exec_network *n, const char *layer, const char *name,
                                        size_t n_bytes, int *i_step, int *k, struct exec_words *words)
{
    const struct exec_buffer *b;
    *i_step = exec_net_layer(n, layer);
    *k = 0;
    if (*i_step < 0)
        return exec_fail(words, EXEC_BAD_ARGUMENT, "%s has no layer '%.60s'", n->name, layer);
    while ((b = exec_net_weight(exec_net_plan(n, *i_step), *k)) != NULL && strcmp(b->id, name) != 0)
        ++*k;
    if (!b)
        return exec_net_no_weight(n, *i_step, name, words);
    if (b->n_bytes != n_bytes) {
        return exec_fail(words, EXEC_BAD_ARGUMENT, "weight %s of layer %s: expected %zu bytes, not %zu", name, layer,
                         b->n_bytes, n_bytes);
    }
    return EXEC_OK;
}
