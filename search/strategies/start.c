/* SPDX-License-Identifier: MIT */
#include "search/strategies/start.h"

#include "core/err.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum err start_init(struct start *s, const struct strategy_options *options)
{
    *s = (struct start){0};
    if (options->n_first == 0)
        return ERR_OK;
    s->configs = malloc(options->n_first * sizeof(*s->configs));
    if (!s->configs)
        return ERR_NOMEM;
    memcpy(s->configs, options->first, options->n_first * sizeof(*s->configs));
    s->n = options->n_first;
    return ERR_OK;
}

void start_fini(struct start *s)
{
    free(s->configs);
    *s = (struct start){0};
}

enum err start_ask(struct start *s, struct ground *ground, size_t n, struct proposal *out, size_t *n_out)
{
    enum err e = ERR_OK;

    for (; e == ERR_OK && *n_out < n && s->i_next < s->n; s->i_next++)
        if (ground_is_open(ground, &s->configs[s->i_next]))
            e = propose(ground, &s->configs[s->i_next], "init", out, n_out);
    return e;
}

enum err propose(struct ground *ground, const struct config *c, const char *by, struct proposal *out, size_t *n_out)
{
    assert(ground_is_open(ground, c)); /* valid, and proposed once */

    const enum err e = ground_take(ground, space_index(ground->space, c));

    if (e == ERR_OK)
        out[(*n_out)++] = (struct proposal){*c, by};
    return e;
}
