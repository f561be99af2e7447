#include "kernels/network.h"

#include "core/buf.h"
#include "kernels/embedded.h"
#include "kernels/workload.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NETWORKS 32
#define MAX_LAYERS 512

static struct network networks[MAX_NETWORKS];
static const char *names[MAX_NETWORKS + 1];
static enum err parse_error; /* of the built-in texts: only lack of memory, as the tests parse them all */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* "conv1_1 2 conv2d f32 ...", or "... skip conv2d f32 ..." for what cannot be tuned yet; cuts `line` into its parts. */
static enum err parse_line(char *line, struct network_layer *out)
{
    char *count = strchr(line, ' '), *rest = count ? strchr(count + 1, ' ') : NULL;

    if (!rest)
        return ERR_INPUT;
    *count++ = '\0';
    *rest++ = '\0';
    *out = (struct network_layer){.name = line, .count = atoi(count)};
    if (strncmp(rest, "skip ", 5) == 0)
        out->skipped = rest + 5;
    else
        out->workload = rest;
    return out->count > 0 ? ERR_OK : ERR_INPUT;
}

/* Replaces the text of a workload by its canonical form, the identity everywhere else. */
static enum err make_canonical(struct network_layer *layer)
{
    struct workload w;
    struct buf text;
    enum err e = workload_parse(layer->workload, &w, NULL);

    if (e)
        return e;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = workload_text(&w, &text);
    layer->workload = buf_take(&text);
    return e;
}

static enum err parse_network(const char *text, struct network *out)
{
    struct network_layer *layers = calloc(MAX_LAYERS, sizeof *layers);
    char *copy = strdup(text), *at = copy, *line;
    enum err e = layers && copy ? ERR_OK : ERR_NOMEM;

    out->layers = layers;
    while (!e && (line = strsep(&at, "\n"))) {
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (out->n_layers == MAX_LAYERS)
            return ERR_LIMIT;
        e = parse_line(line, &layers[out->n_layers]);
        if (!e && layers[out->n_layers].workload)
            e = make_canonical(&layers[out->n_layers]);
        out->n_layers += !e;
    }
    return e;
}

static void parse_all(void)
{
    for (size_t i = 0; embedded_networks[i].name && i < MAX_NETWORKS; i++) {
        const char *name = embedded_networks[i].name;
        enum err e = parse_network(embedded_networks[i].text, &networks[i]);

        names[i] = strndup(name, strlen(name) - strlen(".net"));
        networks[i].name = names[i];
        if (e || !names[i])
            parse_error = e ? e : ERR_NOMEM;
    }
}

enum err network_find(const char *name, const struct network **out, struct why *why)
{
    struct buf known;
    enum err e;

    pthread_once(&once, parse_all);
    if (parse_error)
        return why_set(why, parse_error, "built-in networks: %s", err_words(parse_error));
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) {
            *out = &networks[i];
            return ERR_OK;
        }
    buf_init(&known, 1024);
    for (size_t i = 0; names[i]; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", names[i]);
    e = why_set(why, ERR_NOT_FOUND, "unknown network \"%s\"; expected one of %s", name, buf_text(&known));
    buf_fini(&known);
    return e;
}

const char *const *network_names(void)
{
    pthread_once(&once, parse_all);
    return names;
}
