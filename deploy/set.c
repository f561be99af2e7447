/* SPDX-License-Identifier: MIT */
#include "deploy/set.h"

#include "core/err.h"
#include "core/vec.h"
#include "deploy/network.h"
#include "deploy/range.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LAYERS 65536

enum err deploy_set_init(struct deploy_set *s, const char *name, struct why *why)
{
    memset(s, 0, sizeof *s);
    enum err e = deploy_bundle_name(name, s->name, why);
    deploy_capitals(s->name, s->capitals);
    return e;
}

static void forget_modules(struct deploy_set *s)
{
    for (size_t i = 0; i < s->n_modules; i++)
        deploy_code_fini(&s->modules[i].code);
    free(s->modules);
    free(s->texts);
    s->modules = NULL;
    s->texts = NULL;
    s->n_modules = s->n_texts = 0;
}

void deploy_set_fini(struct deploy_set *s)
{
    for (size_t i = 0; i < s->n_layers; i++)
        deploy_layer_fini(&s->layers[i]);
    for (size_t i = 0; i < s->n_calls; i++)
        free(s->calls[i].called);
    free(s->layers);
    free(s->calls);
    forget_modules(s);
    deploy_range_free(s->range);
    deploy_network_free(s->network);
    memset(s, 0, sizeof *s);
}

static const struct deploy_layer *find(const struct deploy_set *s, const char *workload, size_t *i_found)
{
    for (size_t i = 0; i < s->n_layers; i++) {
        if (strcmp(s->layers[i].workload, workload) == 0) {
            *i_found = i;
            return &s->layers[i];
        }
    }
    return NULL;
}

const struct deploy_layer *deploy_set_find(const struct deploy_set *s, const char *workload)
{
    size_t i;
    return find(s, workload, &i);
}

enum err deploy_set_take(struct deploy_set *s, struct deploy_layer *l, struct why *why)
{
    const enum err e = VEC_ROOM(s->layers, s->cap_layers, s->n_layers + 1, MAX_LAYERS);
    if (e != ERR_OK) {
        deploy_layer_fini(l);
        return why_set(why, e, "%s", err_words(e));
    }
    s->layers[s->n_layers++] = *l;
    memset(l, 0, sizeof *l);
    return ERR_OK;
}

/* The first of base, base_2, base_3 ... that is free. */
static enum err choose_symbol(const struct deploy_set *s, const char *base, char out[DEPLOY_SYMBOL_BYTES])
{
    const char **others = calloc(s->n_calls + 1, sizeof *others);
    if (!others)
        return ERR_NOMEM;
    for (size_t i = 0; i < s->n_calls; i++)
        others[i] = s->calls[i].symbol;
    (void)snprintf(out, DEPLOY_SYMBOL_BYTES, "%s", base);
    for (size_t i = 2; !deploy_symbol_is_free(out, others, s->n_calls); i++)
        (void)snprintf(out, DEPLOY_SYMBOL_BYTES, "%.*s_%zu", DEPLOY_SYMBOL_BYTES - 24, base, i);
    free(others);
    return ERR_OK;
}

enum err deploy_set_call(struct deploy_set *s, const char *called, const char *workload, struct why *why)
{
    char base[DEPLOY_SYMBOL_BYTES];
    struct deploy_call c = {.called = NULL};
    if (!find(s, workload, &c.i_layer))
        return why_set(why, ERR_NOT_FOUND, "%s: no layer computes it", workload);
    enum err e = VEC_ROOM(s->calls, s->cap_calls, s->n_calls + 1, MAX_LAYERS);
    if (e != ERR_OK)
        return why_set(why, e, "%s", err_words(e));
    e = deploy_symbol(called[0] != '\0' ? called : workload, base, sizeof base);
    if (e != ERR_OK || base[0] == '\0') {
        return why_set(why, ERR_INPUT, "layer '%.200s': expected a name of 1 to %d characters", called,
                       DEPLOY_SYMBOL_BYTES - 1);
    }
    e = choose_symbol(s, base, c.symbol);
    c.called = e == ERR_OK ? strdup(called) : NULL;
    if (!c.called)
        return why_set(why, ERR_NOMEM, "out of memory");
    assert(s->n_calls < s->cap_calls && c.i_layer < s->n_layers);
    s->calls[s->n_calls++] = c;
    return ERR_OK;
}

bool deploy_set_is_cuda(const struct deploy_set *s)
{
    return s->n_layers > 0 && strcmp(s->layers[0].device.api, "cuda") == 0;
}

/* ---- what layers share ---- */

static const struct blob *source_of(const struct deploy_layer *l, size_t i)
{
    return blobs_get(&l->blobs, l->program.modules[i].source.hex);
}

static bool is_same(const struct deploy_module *a, const struct blob *source, const struct exec_module *m)
{
    return strcmp(a->source->name.hex, source->name.hex) == 0 && strcmp(a->module->options, m->options) == 0;
}

static size_t find_module(const struct deploy_set *s, const struct blob *source, const struct exec_module *m)
{
    size_t i = 0;
    while (i < s->n_modules && !is_same(&s->modules[i], source, m))
        i++;
    return i;
}

size_t deploy_set_module(const struct deploy_set *s, const struct deploy_layer *l, size_t i)
{
    const size_t i_module = find_module(s, source_of(l, i), l->plan->modules[i]);
    assert(i_module < s->n_modules); /* deploy_set_share has seen this layer */
    return i_module;
}

static size_t share_text(struct deploy_set *s, const struct blob *source)
{
    size_t i = 0;
    while (i < s->n_texts && strcmp(s->texts[i]->name.hex, source->name.hex) != 0)
        i++;
    if (i == s->n_texts)
        s->texts[s->n_texts++] = source;
    assert(s->n_texts <= s->n_modules + 1); /* of each module one at the most */
    return i;
}

enum err deploy_set_share(struct deploy_set *s, struct why *why)
{
    size_t n_most = 1;
    for (size_t i = 0; i < s->n_layers; i++)
        n_most += s->layers[i].program.n_modules;
    forget_modules(s);
    s->modules = calloc(n_most, sizeof *s->modules);
    s->texts = calloc(n_most, sizeof *s->texts);
    if (!s->modules || !s->texts)
        return why_set(why, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < s->n_layers; i++) {
        const struct deploy_layer *l = &s->layers[i];
        for (size_t j = 0; j < l->program.n_modules; j++) {
            const struct blob *source = source_of(l, j);
            const struct exec_module *m = l->plan->modules[j];
            assert(source && s->n_modules < n_most);
            if (find_module(s, source, m) == s->n_modules)
                s->modules[s->n_modules++] = (struct deploy_module){m, source, share_text(s, source), {.n = 0}};
        }
    }
    return ERR_OK;
}
