/* SPDX-License-Identifier: MIT */
#include "libtune/choice.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/hash.h"
#include "kernels/cost.h"
#include "libtune/choice_near.h"
#include "logs/log.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RECORDS ((size_t)1 << 30)

/* Entries of one operator and dtype: a list in the log's order. */
struct kind {
    struct choice_entry *first, *last;
};

struct choices {
    struct best_set *best; /* whose records the entries lend */
    struct choice_entry *entries;
    size_t n;
    const struct choice_entry **heads; /* by hash of the workload's text */
    size_t n_heads;                    /* a power of two */
    struct kind *kinds;
    size_t n_kinds;
    struct choices_notes notes;
};

static const struct choice_entry **head_of(const struct choices *c, const char *text)
{
    assert(c->n_heads && (c->n_heads & (c->n_heads - 1)) == 0);
    return &c->heads[crc32c(text, strlen(text)) & (c->n_heads - 1)];
}

/* A kind without entries when there is none yet. */
static struct kind *kind_of(const struct choices *c, const struct workload *w)
{
    struct kind *k = c->kinds;

    while (k->first && (k->first->workload.op != w->op || k->first->workload.dtype != w->dtype))
        k++;
    return k;
}

/* Can this record answer? Knobs of a template's earlier version may mean something else; version 0 is a record of
 * another tuner, which knows none. */
static bool read_entry(const struct record *r, struct choice_entry *out)
{
    out->t = r->template_id[0] ? template_find(r->template_id) : NULL;
    return out->t && r->knobs && (r->template_version == out->t->version || r->template_version == 0) &&
           workload_parse(r->workload, &out->workload, NULL) == ERR_OK && template_computes(out->t, out->workload.op);
}

static void link_entry(struct choices *c, struct choice_entry *e, const char *text)
{
    const struct choice_entry **head = head_of(c, text);
    struct kind *k = kind_of(c, &e->workload);

    assert((!k->first) == (!k->last));
    e->next = *head;
    *head = e;
    if (k->first)
        k->last->next_of_kind = e;
    else
        k->first = e;
    k->last = e;
}

static enum err add_entry(struct choices *c, const struct record *r)
{
    struct choice_entry *e = &c->entries[c->n];
    struct buf text; /* in a log by hand the keys may stand in another order */
    enum err failed;

    assert(c->n < best_n(c->best)); /* an entry a record at most */
    if (!read_entry(r, e)) {
        c->notes.n_left_out++;
        return ERR_OK;
    }
    e->record = r;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    failed = workload_text(&e->workload, &text);
    if (!failed) {
        c->n++;
        link_entry(c, e, buf_text(&text));
    }
    buf_fini(&text);
    return failed;
}

static enum err check_one_device(const struct best_set *best, struct why *why)
{
    const struct record *a = best_at(best, 0);

    for (size_t i = 0; i < best_n(best); i++) {
        const struct record *b = best_at(best, i);

        if (!a || !b)
            return why_set(why, ERR_NOMEM, "out of memory");
        if (!best_same_device(a, b))
            return why_set(why, ERR_INPUT,
                           "the log has records of several devices, %s (%.12s) and %s (%.12s); choose one by its key "
                           "or fingerprint",
                           a->key, a->fingerprint.hex, b->key, b->fingerprint.hex);
    }
    return ERR_OK;
}

static bool make_room(struct choices *c, size_t n)
{
    for (c->n_heads = 16; c->n_heads < 2 * n;)
        c->n_heads *= 2;
    c->heads = calloc(c->n_heads, sizeof *c->heads);
    c->entries = calloc(n + 1, sizeof *c->entries);
    c->kinds = calloc(n + 1, sizeof *c->kinds);
    return c->heads && c->entries && c->kinds;
}

/* Takes `best`, also when it fails. */
static enum err index_records(struct best_set *best, struct choices **out, struct why *why)
{
    struct choices *c = calloc(1, sizeof *c);
    const size_t n = best_n(best);
    enum err e = check_one_device(best, why);

    if (!c) {
        best_free(best);
        return why_set(why, ERR_NOMEM, "out of memory");
    }
    c->best = best;
    if (!e && (n > MAX_RECORDS || !make_room(c, n)))
        e = why_set(why, ERR_NOMEM, "out of memory");
    for (size_t i = 0; !e && i < n; i++) {
        const struct record *r = best_at(best, i);

        e = r ? add_entry(c, r) : why_set(why, ERR_NOMEM, "out of memory");
    }
    if (e) {
        choices_close(c);
        return e;
    }
    c->notes.n_records = c->n;
    *out = c;
    return ERR_OK;
}

enum err choices_of(const struct best_set *best, struct choices **out, struct why *why)
{
    struct best_set *copy = NULL;
    enum err e = best_new(&copy);

    for (size_t i = 0; !e && i < best_n(best); i++) {
        const struct record *r = best_at(best, i);

        e = r ? best_add(copy, r) : ERR_NOMEM;
    }
    if (!e)
        return index_records(copy, out, why);
    best_free(copy);
    return why_set(why, e, "%s", err_words(e));
}

void choices_close(struct choices *c)
{
    if (!c)
        return;
    best_free(c->best);
    free(c->entries);
    free(c->heads);
    free(c->kinds);
    free(c);
}

const struct choices_notes *choices_notes(const struct choices *c)
{
    return &c->notes;
}

#define MAX_SEEN 4 /* devices named when none is let through */

/* A log while it is read. */
struct reading {
    const struct choice_filter *filter; /* NULL = all */
    struct best_set *best;
    struct choices_notes notes;
    struct {
        char key[65];
        struct sha256 fingerprint;
    } seen[MAX_SEEN]; /* devices of records that the filter held back */
    size_t n_seen;
    enum err failed;
};

static bool begins_so(const struct record *r, const char *fingerprint)
{
    return strncmp(fingerprint, r->fingerprint.hex, strlen(fingerprint)) == 0;
}

static bool is_let_through(const struct choice_filter *f, const struct record *r)
{
    return !f || ((!f->key || strcmp(f->key, r->key) == 0) && (!f->fingerprint || begins_so(r, f->fingerprint) ||
                                                               (f->former && *f->former && begins_so(r, f->former))));
}

static void see(struct reading *g, const struct record *r)
{
    for (size_t i = 0; i < g->n_seen; i++)
        if (strcmp(g->seen[i].key, r->key) == 0 && strcmp(g->seen[i].fingerprint.hex, r->fingerprint.hex) == 0)
            return;
    assert(g->n_seen <= MAX_SEEN);
    if (g->n_seen == MAX_SEEN)
        return;
    snprintf(g->seen[g->n_seen].key, sizeof g->seen[0].key, "%s", r->key);
    g->seen[g->n_seen++].fingerprint = r->fingerprint;
}

static bool take(const struct record *r, const char *line, size_t n_line, void *arg)
{
    struct reading *g = arg;

    (void)line;
    (void)n_line;
    if (is_let_through(g->filter, r))
        g->failed = best_add(g->best, r);
    else
        see(g, r);
    return g->failed == ERR_OK;
}

static void note_bad_line(const char *path, int64_t i_line, const char *words, void *arg)
{
    struct reading *g = arg;

    if (g->notes.n_bad_lines++ == 0)
        snprintf(g->notes.bad_line, sizeof g->notes.bad_line, "%s:%lld: %s", path, (long long)i_line, words);
}

/* Nothing was let through: the words say what there is. */
static enum err nothing(const struct reading *g, const char *path, struct why *why)
{
    char seen[MAX_SEEN * 96] = "";
    size_t n = 0;

    for (size_t i = 0; i < g->n_seen; i++)
        n += (size_t)snprintf(seen + n, sizeof seen - n, "%s%s (%.12s)", i ? ", " : "", g->seen[i].key,
                              g->seen[i].fingerprint.hex);
    if (g->n_seen)
        return why_set(why, ERR_NOT_FOUND, "%s has no record of this device; it has those of %s", path, seen);
    return why_set(why, ERR_NOT_FOUND,
                   "%s has no record with status ok, verified in full%s%s; expected a log of `tune run -o`", path,
                   g->notes.n_bad_lines ? "; " : "", g->notes.bad_line);
}

static enum err read_log(const char *path, struct reading *g, struct why *why)
{
    enum err e = log_scan(path, take, note_bad_line, g, why);

    if (!e && g->failed)
        e = why_set(why, g->failed, "%s: %s", path, err_words(g->failed));
    return !e && best_n(g->best) == 0 ? nothing(g, path, why) : e;
}

enum err choices_open(const char *path, const struct choice_filter *filter, struct choices **out, struct why *why)
{
    struct reading g = {.filter = filter};
    struct choices *c = NULL;
    enum err e = best_new(&g.best);

    if (e)
        return why_set(why, e, "out of memory");
    e = read_log(path, &g, why);
    if (e) {
        best_free(g.best);
        return e;
    }
    e = index_records(g.best, &c, why);
    if (e)
        return why_prefix(why, e, "%s", path);
    c->notes.n_bad_lines = g.notes.n_bad_lines;
    memcpy(c->notes.bad_line, g.notes.bad_line, sizeof c->notes.bad_line);
    *out = c;
    return ERR_OK;
}

const struct record *choices_first(const struct choices *c)
{
    return c->n ? c->entries[0].record : NULL;
}

enum err choices_device(const struct choices *c, struct device_desc *out, struct why *why)
{
    const struct record *r = choices_first(c);

    if (!r)
        return why_set(why, ERR_INPUT, "no record tells of a device");
    if (device_desc_from_json(r->device, out, why))
        return why_prefix(why, ERR_INPUT, "%s: the record does not describe its device", r->workload);
    return ERR_OK;
}

/* The record of this very workload, where its config can be used on `d`. */
static bool make_exact(const struct choices *c, const char *text, const struct workload *w, const struct device_desc *d,
                       struct choice *out)
{
    for (const struct choice_entry *e = *head_of(c, text); e; e = e->next) {
        struct space *s = NULL;
        struct config config;

        if (choice_distance(&e->workload, w) > 0 || template_space(e->t, w, d, &s, NULL))
            continue;
        if (choice_config(e->record, s, &config) == ERR_OK) {
            *out = (struct choice){CHOICE_EXACT, e->record, 0, e->record->time_ns, e->t, s, config};
            return true;
        }
        space_free(s);
    }
    return false;
}

/* The default of one template; ERR_NOT_FOUND and others where it has none here. */
static enum err make_fallback(const struct template *t, const struct workload *w, const struct device_desc *d,
                              struct choice *out, struct why *why)
{
    struct space *s = NULL;
    struct config config = {{0}};
    enum err e = template_space(t, w, d, &s, why);

    if (!e)
        e = t->fallback(w, d, s, &config);
    if (e) {
        space_free(s);
        return e;
    }
    *out = (struct choice){CHOICE_DEFAULT, NULL, INFINITY, NAN, t, s, config};
    return ERR_OK;
}

enum err choice_default(const struct workload *w, const struct device_desc *d, struct choice *out, struct why *why)
{
    const struct template *list[OPERATOR_MAX_TEMPLATES];
    const size_t n = templates_in_order(w, d, list);
    struct why last = {""};

    for (size_t i = 0; i < n; i++)
        if (template_fit(list[i], w, d, &last) != FIT_NONE && make_fallback(list[i], w, d, out, &last) == ERR_OK)
            return ERR_OK;
    return why_set(why, ERR_NOT_FOUND, "no template computes %s %s on %s%s%s", w->op->name, dtype_name(w->dtype),
                   d->name, last.text[0] ? ": " : "", last.text);
}

enum err choice_make(const struct choices *c, const struct workload *w, const struct device_desc *d, struct choice *out,
                     struct why *why)
{
    struct buf text;
    enum err e;
    bool found;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    e = workload_text(w, &text);
    found = !e && make_exact(c, buf_text(&text), w, d, out);
    buf_fini(&text);
    if (e || found)
        return e ? why_set(why, e, "a workload's text: %s", err_words(e)) : ERR_OK;
    e = choice_nearest(kind_of(c, w)->first, w, d, out, why);
    return e == ERR_NOT_FOUND ? choice_default(w, d, out, why) : e;
}

void choice_fini(struct choice *c)
{
    if (!c)
        return;
    space_free(c->space);
    c->space = NULL;
}

enum err choice_program(const struct choice *c, const struct workload *w, const struct device_desc *d,
                        struct program *out, struct blobs *blobs, struct why *why)
{
    assert(c->t && c->space);
    return template_program(c->t, w, d, c->space, &c->config, out, blobs, why);
}

enum err choice_kernels(const struct choice *c, const struct workload *w, const struct device_desc *d,
                        struct program *out, struct blobs *blobs, struct why *why)
{
    assert(c->t && c->space);
    return template_kernels(c->t, w, d, c->space, &c->config, out, blobs, why);
}
