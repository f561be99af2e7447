/* SPDX-License-Identifier: MIT */
#include "libtune/tune_parts.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MISSED 16384
#define MAX_LIST_BYTES ((size_t)MAX_MISSED * 2 * WORKLOAD_MAX_TEXT)

static bool is_noted(const struct tune *t, const char *workload)
{
    for (size_t i = 0; i < t->n_missed; i++)
        if (strcmp(t->missed[i].workload, workload) == 0)
            return true;
    return false;
}

static char *words_instead(const struct choice *c)
{
    char words[WORKLOAD_MAX_TEXT + 64];

    assert(c->kind == CHOICE_DEFAULT || (c->kind == CHOICE_NEAREST && c->record));
    if (c->kind == CHOICE_DEFAULT)
        snprintf(words, sizeof words, "default of %s", c->t->id);
    else
        snprintf(words, sizeof words, "nearest %s, distance %.3g", c->record->workload, c->distance);
    return strdup(words);
}

static void add(struct tune *t, const char *workload, const struct choice *c)
{
    struct tune_missed m = {strdup(workload), words_instead(c), c->kind, c->distance};
    const bool is_full = (t->n_missed & (t->n_missed - 1)) == 0; /* room for 1, 2, 4 .. */
    struct tune_missed *grown = t->missed;

    assert(t->n_missed < MAX_MISSED);
    if (is_full)
        grown = realloc(t->missed, (t->n_missed ? 2 * t->n_missed : 1) * sizeof *grown);
    if (grown)
        t->missed = grown;
    if (grown && m.workload && m.instead) {
        grown[t->n_missed++] = m;
        return;
    }
    free(m.workload);
    free(m.instead);
}

void tune_note_missed(struct tune *t, const char *workload, const struct choice *c)
{
    if (c->kind == CHOICE_EXACT)
        return;
    pthread_mutex_lock(&t->noting);
    if (t->n_missed < MAX_MISSED && !is_noted(t, workload))
        add(t, workload, c);
    pthread_mutex_unlock(&t->noting);
}

void tune_forget_missed(struct tune *t)
{
    for (size_t i = 0; i < t->n_missed; i++) {
        free(t->missed[i].workload);
        free(t->missed[i].instead);
    }
    free(t->missed);
}

/* The device as the farm calls it, else by its own name. */
static const char *device_of(const struct tune *t)
{
    return t->log_key[0] ? t->log_key : t->device.name;
}

static void summarise(const struct tune *t, char *text, size_t n_bytes)
{
    size_t n_nearest = 0;
    double farthest = 0;
    char nearest[64] = "none";

    assert(t->n_missed > 0);
    for (size_t i = 0; i < t->n_missed; i++)
        if (t->missed[i].kind == CHOICE_NEAREST) {
            n_nearest++;
            farthest = fmax(farthest, t->missed[i].distance);
        }
    if (n_nearest)
        snprintf(nearest, sizeof nearest, "%zu (distance up to %.3g)", n_nearest, farthest);
    snprintf(text, n_bytes,
             "%zu workload%s without a record of %s: %s with the nearest record's config, %zu with a default; the "
             "first: %s",
             t->n_missed, t->n_missed == 1 ? "" : "s", device_of(t), nearest, t->n_missed - n_nearest,
             t->missed[0].workload);
}

size_t tune_missing(const struct tune *t, char *text, size_t n_bytes)
{
    struct tune *shared = (struct tune *)t;
    size_t n;

    if (text && n_bytes)
        text[0] = '\0';
    if (!t)
        return 0;
    pthread_mutex_lock(&shared->noting);
    n = t->n_missed;
    if (n && text && n_bytes)
        summarise(t, text, n_bytes);
    pthread_mutex_unlock(&shared->noting);
    return n;
}

/* A list of workloads as `tune submit --missing` and `tune deploy --workloads` read it. */
static enum err print_list(const struct tune *t, struct buf *out)
{
    buf_puts(out, "# Workloads without a record; `tune submit --missing` makes a job of them.\n");
    buf_printf(out, "# device: %s\n", t->device.name);
    if (t->log_key[0])
        buf_printf(out, "# key: %s\n", t->log_key);
    for (size_t i = 0; i < t->n_missed; i++)
        buf_printf(out, "%s # %s\n", t->missed[i].workload, t->missed[i].instead);
    return out->failed;
}

enum tune_status tune_missing_write(const struct tune *t, const char *path)
{
    struct tune *shared = (struct tune *)t;
    struct buf text;
    struct why why = {""};
    enum err e;

    if (!t || !path)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_missing_write: expected an open log and a file's name");
    buf_init(&text, MAX_LIST_BYTES);
    pthread_mutex_lock(&shared->noting);
    e = print_list(t, &text);
    pthread_mutex_unlock(&shared->noting);
    if (e) {
        buf_fini(&text);
        return tune_fail(TUNE_NO_MEMORY, "the list of missing workloads: out of memory");
    }
    e = file_replace(path, buf_text(&text), text.len, 0644, &why);
    buf_fini(&text);
    return e ? tune_fail(TUNE_CANNOT_WRITE, "%s", why.text) : TUNE_OK;
}
