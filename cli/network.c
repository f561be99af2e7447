/* SPDX-License-Identifier: MIT */
/* network.c - --network: a network by its name, or one of a person's own out of a file. */
#include "cli/cmd.h"
#include "core/file.h"
#include "kernels/graph.h"

#include <stdio.h>
#include <string.h>

static bool ends(const char *path, const char *ending)
{
    const size_t n = strlen(path), n_ending = strlen(ending);

    return n > n_ending && strcmp(path + n - n_ending, ending) == 0;
}

static bool is_built_in(const char *name)
{
    for (const char *const *p = network_names(); *p; p++)
        if (strcmp(*p, name) == 0)
            return true;
    return false;
}

const char *cmd_network_name(const struct cli *c, char *out, size_t n)
{
    const char *network = cli_text(c, "network"), *slash = network ? strrchr(network, '/') : NULL;
    const char *base = slash ? slash + 1 : network;
    const bool is_file = network && (ends(network, ".graph") || ends(network, ".net") || ends(network, ".onnx"));

    if (!network)
        return NULL;
    snprintf(out, n, "%.*s", (int)(is_file ? strrchr(base, '.') - base : (long)strlen(base)), base);
    return out;
}

/* A graph's text made known, and the list of its layers. */
static enum err add_graph(const char *key, const char *name, const struct buf *text, struct why *why)
{
    const struct graph *g;
    struct buf list;
    enum err e = graph_add(key, name, buf_text(text), text->len, why);

    buf_init(&list, GRAPH_MAX_BYTES);
    if (!e)
        e = graph_find(key, &g, why);
    if (!e)
        e = network_list(g, &list, why);
    if (!e && list.len) /* else there is something to do with --whole only */
        e = network_add(key, buf_text(&list), list.len, why);
    buf_fini(&list);
    return e;
}

static bool is_model(const struct cli *c)
{
    const char *path = cli_text(c, "network");

    return path && ends(path, ".onnx");
}

enum err cmd_range(const struct cli *c, struct graph_range **out, struct why *why)
{
    *out = NULL;
    return is_model(c) ? cmd_import_range(c, cli_text(c, "network"), out, why) : ERR_OK;
}

enum err cmd_network(const struct cli *c, struct why *why)
{
    const char *path = cli_text(c, "network"), *dim;
    const struct network *found;
    char name[64];
    struct buf text;
    enum err e;

    if (cmd_has(c, "dim") && cli_texts(c, "dim", &dim, 1) && !is_model(c))
        return why_set(why, ERR_INPUT, "--dim %.60s: only the dimensions of a --network that is an .onnx file are open",
                       dim);
    if (!path || is_built_in(path))
        return ERR_OK;
    cmd_network_name(c, name, sizeof name);
    buf_init(&text, GRAPH_MAX_BYTES);
    if (is_model(c))
        e = cmd_import_graph(c, path, &text, why);
    else if (ends(path, ".graph") || ends(path, ".net"))
        e = file_read(path, &text, why);
    else
        e = network_find(path, &found, why);
    if (!e) {
        e = ends(path, ".net") ? network_add(path, buf_text(&text), text.len, why) : add_graph(path, name, &text, why);
        if (e)
            why_prefix(why, e, "%.300s", path);
    }
    buf_fini(&text);
    return e;
}
