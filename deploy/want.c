/* SPDX-License-Identifier: MIT */
#include "deploy/want.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/vec.h"
#include "kernels/graph_lower.h"
#include "kernels/network.h"
#include "kernels/workload.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES (WORKLOAD_MAX_TEXT + 512)

void deploy_want_init(struct deploy_want *w)
{
    memset(w, 0, sizeof *w);
}

void deploy_want_fini(struct deploy_want *w)
{
    for (size_t i = 0; i < w->n; i++) {
        free(w->layers[i].called);
        free(w->layers[i].workload);
    }
    free(w->layers);
    free(w->skipped);
    memset(w, 0, sizeof *w);
}

static enum err append(struct deploy_want *w, const char *called, const char *workload)
{
    const enum err e = VEC_ROOM(w->layers, w->cap, w->n + 1, DEPLOY_WANT_LAYERS);
    if (e != ERR_OK)
        return e;
    struct deploy_wanted layer = {strdup(called), strdup(workload)};
    if (!layer.called || !layer.workload) {
        free(layer.called);
        free(layer.workload);
        return ERR_NOMEM;
    }
    assert(w->n < w->cap);
    w->layers[w->n++] = layer;
    return ERR_OK;
}

enum err deploy_want_add(struct deploy_want *w, const char *called, const char *workload, struct why *why)
{
    struct workload parsed;
    struct buf text;
    enum err e = workload_parse(workload, &parsed, why);
    if (e != ERR_OK)
        return e;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = workload_text(&parsed, &text);
    e = e == ERR_OK ? append(w, called, buf_text(&text)) : e;
    buf_fini(&text);
    return e == ERR_OK ? ERR_OK : why_set(why, e, "%.200s: %s", workload, err_words(e));
}

static enum err skip(struct deploy_want *w, const char *name)
{
    const size_t n = w->skipped ? strlen(w->skipped) : 0;
    const size_t room = strlen(name) + 3;
    char *grown = realloc(w->skipped, n + room);
    if (!grown)
        return ERR_NOMEM;
    w->skipped = grown;
    (void)snprintf(grown + n, room, "%s%s", n > 0 ? ", " : "", name);
    return ERR_OK;
}

/* The other layers of the network that have the workload of `l`, by the names that its graph tells. */
static enum err want_repeats(struct deploy_want *w, const struct graph *g, const struct network_layer *l,
                             const char *workload, struct why *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < g->n_nodes && e == ERR_OK; i++) {
        struct buf text;
        buf_init(&text, WORKLOAD_MAX_TEXT);
        if (strcmp(g->nodes[i].name, l->name) != 0 && graph_plain_workload(g, i, &text) &&
            strcmp(buf_text(&text), l->workload) == 0)
            e = deploy_want_add(w, g->nodes[i].name, workload, why);
        buf_fini(&text);
    }
    return e;
}

static enum err want_layer(struct deploy_want *w, const struct graph *g, const struct network_layer *l,
                           const char *dtype, const char *layout, struct why *why)
{
    struct buf text;
    if (!l->workload)
        return skip(w, l->name);
    buf_init(&text, WORKLOAD_MAX_TEXT);
    enum err e = network_layer_as(l, dtype, layout, &text, why);
    e = e == ERR_OK ? deploy_want_add(w, l->name, buf_text(&text), why) : e;
    if (e == ERR_OK && g)
        e = want_repeats(w, g, l, buf_text(&text), why);
    buf_fini(&text);
    return e;
}

enum err deploy_want_network(struct deploy_want *w, const char *name, const char *dtype, const char *layout,
                             struct why *why)
{
    const struct network *net = NULL;
    const struct graph *g = NULL;
    enum err e = network_find(name, &net, why);
    if (e == ERR_OK && graph_find(name, &g, NULL) != ERR_OK)
        g = NULL; /* only the first of equal layers has a name then */
    for (size_t i = 0; e == ERR_OK && i < net->n_layers; i++)
        e = want_layer(w, g, &net->layers[i], dtype, layout, why);
    return e;
}

/* ---- files ---- */

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    return text;
}

/* One line, cut in place: the first field of several is the name, the last one the workload. */
static enum err add_line(struct deploy_want *w, char *line, struct why *why)
{
    char *comment = strchr(line, '#');
    if (comment)
        *comment = '\0';
    char *first = strchr(line, '|'), *last = strrchr(line, '|');
    char *workload = trim(last ? last + 1 : line);
    if (first)
        *first = '\0';
    char *called = first ? trim(line) : "";
    if (workload[0] == '\0' && !first)
        return ERR_OK;
    if (workload[0] == '\0' || (first && called[0] == '\0'))
        return why_set(why, ERR_INPUT, "expected a workload, 'name | workload' or 'name | times | workload'");
    return deploy_want_add(w, called, workload, why);
}

enum err deploy_want_text(struct deploy_want *w, const char *path, const char *text, size_t n, struct why *why)
{
    const char *end = text + n;
    for (size_t i_line = 1; text < end; i_line++) {
        char line[LINE_BYTES];
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const size_t n_line = (size_t)((newline ? newline : end) - text);
        if (n_line >= sizeof line || memchr(text, '\0', n_line)) {
            return why_set(why, ERR_INPUT, "%s:%zu: expected a line of text of at most %d bytes", path, i_line,
                           LINE_BYTES - 1);
        }
        memcpy(line, text, n_line);
        line[n_line] = '\0';
        enum err e = add_line(w, line, why);
        if (e != ERR_OK)
            return why_prefix(why, e, "%s:%zu", path, i_line);
        text += n_line + (newline != NULL);
    }
    return ERR_OK;
}

enum err deploy_want_file(struct deploy_want *w, const char *path, struct why *why)
{
    struct buf text;
    buf_init(&text, DEPLOY_WANT_BYTES);
    enum err e = file_read(path, &text, why);
    e = e == ERR_OK ? deploy_want_text(w, path, buf_text(&text), text.len, why) : e;
    if (e == ERR_OK && w->n == 0)
        e = why_set(why, ERR_INPUT, "%s: expected at least one workload", path);
    buf_fini(&text);
    return e;
}
