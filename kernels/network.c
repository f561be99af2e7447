/* SPDX-License-Identifier: MIT */
#include "kernels/network.h"

#include "core/buf.h"
#include "kernels/embedded.h"
#include "kernels/graph_lower.h"
#include "kernels/images.h"
#include "kernels/template.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NETWORKS 64
#define MAX_LAYERS 512

static struct network networks[MAX_NETWORKS];
static const char *names[MAX_NETWORKS + 1];
static size_t n_networks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Some device that refuses no template for its size: whether a layer can be tuned at all is asked, not how well. */
static struct device_desc any_device(void)
{
    return (struct device_desc){.api = "opencl",
                                .kind = DEVICE_CPU,
                                .units = 1,
                                .threads = 1,
                                .max_work_group = 1024,
                                .max_local = {1024, 1024, 1024},
                                .local_bytes = 1 << 16,
                                .constant_bytes = 1 << 16,
                                .global_bytes = INT64_C(1) << 40,
                                .max_alloc_bytes = INT64_C(1) << 40,
                                .vector_bits = 128};
}

static bool some_template_fits(const struct workload *w, struct why *why)
{
    const struct device_desc d = any_device();

    why_set(why, ERR_UNSUPPORTED, "no template computes it");
    for (const struct template *const *t = w->op->templates; *t; t++)
        if ((*t)->fit(w, &d, why) > FIT_BASELINE)
            return true;
    return false;
}

static char *copy(const char *text, size_t n)
{
    char *out = malloc(n + 1);

    if (out) {
        memcpy(out, text, n);
        out[n] = '\0';
    }
    return out;
}

static bool has_operator(const char *workload)
{
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(workload, " "), workload);
    return operator_find(name);
}

/* Takes the workload's text. What an operator cannot read is a mistake in the list; other operators, what is too large
 * and what no template computes are left out with words. */
static enum err take_workload(char *text, struct network_layer *out, struct why *why)
{
    struct workload w;
    struct buf words;
    const enum err e = workload_parse(text, &w, why);

    out->workload = text;
    if (e == ERR_INPUT && has_operator(text))
        return e;
    if (!e && some_template_fits(&w, why))
        return ERR_OK;
    buf_init(&words, 4096);
    buf_printf(&words, "%s (%s)", text, why->text);
    out->skipped = buf_take(&words);
    out->workload = NULL;
    free(text);
    return ERR_OK;
}

/* The text between two ends without the blanks around it. */
static char *copy_field(const char *from, const char *end)
{
    while (from < end && *from == ' ')
        from++;
    while (end > from && end[-1] == ' ')
        end--;
    return copy(from, (size_t)(end - from));
}

/* 1 to 999999, and nothing else; 0: none. */
static int count_of(const char *from, const char *end)
{
    int n = 0;

    while (from < end && *from == ' ')
        from++;
    while (from < end && *from >= '0' && *from <= '9' && n < 100000)
        n = 10 * n + (*from++ - '0');
    while (from < end && *from == ' ')
        from++;
    return from == end ? n : 0;
}

/* Its words go to terminals. */
static bool is_text(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f)
            return false;
    return true;
}

/* "name | count | workload" */
static enum err parse_line(const char *line, size_t n, struct network_layer *out, struct why *why)
{
    const char *bar = memchr(line, '|', n), *end = line + n;
    const char *second = bar ? memchr(bar + 1, '|', (size_t)(end - bar - 1)) : NULL;
    char *workload;

    why_set(why, ERR_INPUT, "expected 'name | count | workload'");
    if (!second || !is_text(line, n))
        return ERR_INPUT;
    out->count = count_of(bar + 1, second);
    out->name = copy_field(line, bar);
    workload = copy_field(second + 1, end);
    if (!out->name || !*out->name || !workload || out->count < 1) {
        free(workload);
        return ERR_INPUT;
    }
    return take_workload(workload, out, why);
}

/* Parses lines until one is none; its number, 0 when all are fine. */
static int parse_lines(const char *p, struct network_layer *layers, size_t *n, struct why *why)
{
    for (int number = 1; *p; number++) {
        const size_t len = strcspn(p, "\n");

        if (len && *p != '#') {
            if (*n == MAX_LAYERS)
                why_set(why, ERR_INPUT, "at most %d layers are possible", MAX_LAYERS);
            if (*n == MAX_LAYERS || parse_line(p, len, &layers[*n], why))
                return number;
            ++*n;
        }
        p += len + (p[len] == '\n');
    }
    return 0;
}

/* `n` of them, the last of which may be a part. */
static void free_layers(struct network_layer *layers, size_t n)
{
    for (size_t i = 0; layers && i < n && i < MAX_LAYERS; i++) {
        free((char *)layers[i].name);
        free((char *)layers[i].workload);
        free((char *)layers[i].skipped);
    }
    free(layers);
}

static enum err add(const char *name, size_t n_name, const char *text, struct why *why)
{
    struct network_layer *layers = calloc(MAX_LAYERS, sizeof *layers);
    char *kept = copy(name, n_name);
    size_t n = 0;
    struct why words = {""};
    int bad = 0;

    if (!layers || !kept || n_networks == MAX_NETWORKS)
        bad = -1;
    else
        bad = parse_lines(text, layers, &n, &words);
    if (bad || n == 0) {
        free(kept);
        free_layers(layers, n + (bad > 0));
        return bad < 0 ? why_set(why, ERR_LIMIT, "more than %d networks, or no memory", MAX_NETWORKS)
               : bad   ? why_set(why, ERR_INPUT, "line %d: %s", bad, words.text)
                       : why_set(why, ERR_INPUT, "expected lines of 'name | count | workload', there are none");
    }
    names[n_networks] = kept;
    networks[n_networks++] = (struct network){.name = kept, .layers = layers, .n_layers = n};
    return ERR_OK;
}

static void parse_all(void)
{
    for (const struct embedded *file = embedded_networks; file->name; file++)
        add(file->name, strcspn(file->name, "."), file->text, NULL); /* what does not parse a test finds */
}

enum err network_add(const char *name, const char *text, size_t n, struct why *why)
{
    char *lines = copy(text, n);
    enum err e;

    pthread_once(&once, parse_all);
    e = lines ? add(name, strlen(name), lines, why) : why_set(why, ERR_NOMEM, "out of memory");
    free(lines);
    return e;
}

/* A line for each workload, named after the first layer that has it; `workload`: [n_nodes], NULL of what is not listed.
 */
static void put_lines(const struct graph *g, char **workload, struct buf *out)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        int count = 1;

        if (!workload[i])
            continue;
        for (size_t k = i + 1; k < g->n_nodes; k++)
            if (workload[k] && strcmp(workload[i], workload[k]) == 0) {
                free(workload[k]);
                workload[k] = NULL;
                count++;
            }
        buf_printf(out, "%s | %d | %s\n", g->nodes[i].name, count, workload[i]);
    }
}

enum err network_list(const struct graph *g, struct buf *out, struct why *why)
{
    char **workload = calloc(g->n_nodes, sizeof *workload);

    if (!workload)
        return why_set(why, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < g->n_nodes; i++) {
        struct buf text;

        buf_init(&text, WORKLOAD_MAX_TEXT);
        if (graph_plain_workload(g, i, &text))
            workload[i] = buf_take(&text);
        buf_fini(&text);
    }
    put_lines(g, workload, out);
    for (size_t i = 0; i < g->n_nodes; i++)
        free(workload[i]);
    free(workload);
    return out->failed;
}

enum err network_find(const char *name, const struct network **out, struct why *why)
{
    struct buf list;

    pthread_once(&once, parse_all);
    for (size_t i = 0; i < n_networks; i++)
        if (strcmp(networks[i].name, name) == 0) {
            *out = &networks[i];
            return ERR_OK;
        }
    buf_init(&list, 4096);
    for (size_t i = 0; i < n_networks; i++)
        buf_printf(&list, " %s", networks[i].name);
    why_set(why, ERR_NOT_FOUND, "unknown network '%s'; there are:%s", name, buf_text(&list));
    buf_fini(&list);
    return ERR_NOT_FOUND;
}

const char *const *network_names(void)
{
    pthread_once(&once, parse_all);
    return names;
}

const char *network_name_at(size_t i)
{
    return network_names()[i];
}

static bool is_word(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static bool has_key(const struct operator_desc *op, const char *name)
{
    for (const struct operator_key *k = op->keys; k->name; k++)
        if (strcmp(k->name, name) == 0)
            return true;
    return false;
}

/* Parses "operator dtype rest[ layout=...]" and asks whether some template computes it. */
static bool parse_as(const char *text, const char *dtype, const char *layout, struct workload *out, struct why *why)
{
    char all[WORKLOAD_MAX_TEXT];
    const char *op_end = strchr(text, ' '), *rest = op_end ? strchr(op_end + 1, ' ') : NULL;

    if (!rest)
        return false;
    snprintf(all, sizeof all, "%.*s %s%s%s%s", (int)(op_end - text), text, dtype, rest, layout ? " layout=" : "",
             layout ? layout : "");
    return workload_parse(all, out, why) == ERR_OK && some_template_fits(out, why);
}

static const char *const dtypes[] = {"f32", "f16", "i8", "u8", NULL};

const char *network_dtype_at(size_t i)
{
    return dtypes[i];
}

const char *network_layout_at(size_t i)
{
    return images_layouts[i];
}

enum err network_layer_as(const struct network_layer *l, const char *dtype, const char *layout, struct buf *out,
                          struct why *note)
{
    struct workload listed, changed, blocked;
    struct why why = {""};
    enum err e = workload_parse(l->workload, &listed, note);

    if (!e && dtype && !is_word(dtype, dtypes))
        e = why_set(note, ERR_INPUT, "dtype '%.20s': expected f32, f16, i8 or u8", dtype);
    if (!e && layout && !is_word(layout, images_layouts))
        e = why_set(note, ERR_INPUT, "layout '%.20s': expected one of nchw, nchw4c, nchw8c, nchw16c, nhwc", layout);
    if (e)
        return e;
    why_set(note, ERR_OK, "%s", "");
    changed = listed;
    if (dtype && !parse_as(l->workload, dtype, NULL, &changed, &why)) {
        why_set(note, ERR_OK, "stays %s: %s is not computed in %s", dtype_name(listed.dtype), listed.op->name, dtype);
        changed = listed;
    }
    if (layout && has_key(changed.op, "layout")) {
        if (parse_as(l->workload, dtype_name(changed.dtype), layout, &blocked, &why))
            changed = blocked;
        else
            why_set(note, ERR_OK, "stays nchw: %s", why.text);
    }
    return workload_text(&changed, out);
}
