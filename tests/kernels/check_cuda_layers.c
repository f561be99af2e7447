/* SPDX-License-Identifier: MIT */
/* Layers of networks, in all forms that a user may ask for. */
#include "tests/kernels/check_cuda.h"

#include "core/vec.h"
#include "kernels/network.h"

#include <stdlib.h>
#include <string.h>

struct texts {
    char **list;
    size_t n, cap;
};

static bool is_new(const struct texts *t, const char *text)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->list[i], text) == 0)
            return false;
    return true;
}

static enum err add(struct texts *t, const char *text)
{
    if (!is_new(t, text))
        return ERR_OK;
    if (VEC_ROOM(t->list, t->cap, t->n + 1, VEC_ANY))
        return ERR_NOMEM;
    t->list[t->n] = strdup(text);
    return t->list[t->n++] ? ERR_OK : ERR_NOMEM;
}

/* A layer as it is, of batch 1, and with 16 in its place ("n=1 " of convolutions, "m=1 " of matrices). */
static enum err add_batches(struct texts *t, const char *text)
{
    const char *at = strstr(text, strncmp(text, "dense ", 6) == 0 ? " m=1 " : " n=1 ");
    struct buf more;
    enum err e = add(t, text);

    if (e || !at)
        return e;
    buf_init(&more, WORKLOAD_MAX_TEXT);
    e = buf_printf(&more, "%.*s6%s", (int)(at + 4 - text), text, at + 4);
    if (!e)
        e = add(t, buf_text(&more));
    buf_fini(&more);
    return e;
}

static enum err add_forms(struct texts *t, const struct network_layer *l)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && network_dtype_at(i); i++)
        for (size_t k = 0; !e && network_layout_at(k); k++) {
            struct buf text;
            struct why note = {""};

            buf_init(&text, WORKLOAD_MAX_TEXT);
            e = network_layer_as(l, network_dtype_at(i), network_layout_at(k), &text, &note);
            if (!e)
                e = add_batches(t, buf_text(&text));
            buf_fini(&text);
        }
    return e;
}

/* Each template with a workload of its operator. */
static void hand_out(const char *text, void (*take)(const char *, const char *, void *), void *arg)
{
    struct workload w;

    if (workload_parse(text, &w, NULL))
        return;
    for (const struct template *const *t = w.op->templates; *t; t++)
        if (template_computes(*t, w.op))
            take((*t)->id, text, arg);
}

enum err check_layers(void (*take)(const char *template_id, const char *workload, void *arg), void *arg,
                      struct why *why)
{
    struct texts t = {.list = NULL};
    enum err e = ERR_OK;

    for (const char *const *name = network_names(); !e && *name; name++) {
        const struct network *net;

        e = network_find(*name, &net, why);
        for (size_t i = 0; !e && i < net->n_layers; i++)
            if (net->layers[i].workload)
                e = add_forms(&t, &net->layers[i]);
    }
    for (size_t i = 0; i < t.n; i++) {
        if (!e)
            hand_out(t.list[i], take, arg);
        free(t.list[i]);
    }
    free(t.list);
    return e;
}
