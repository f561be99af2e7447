/* SPDX-License-Identifier: MIT */
#include "tuner/measure.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MAX_TRIALS 4096
#define FILE_MAX_BYTES ((size_t)256 << 20)

struct waiting {
    bool here[MAX_TRIALS];
    size_t n, n_left;
    enum err (*each)(int64_t n, const struct record *r, const char *line, void *arg, struct why *why);
    void *arg;
};

static enum err take(struct waiting *w, int64_t n, const char *line, struct why *why)
{
    struct record r;
    enum err e;

    if (n < 0 || (size_t)n >= w->n || w->here[n])
        return ERR_OK;
    assert(w->n_left > 0);
    record_init(&r);
    e = record_parse(line, strlen(line), &r, why);
    if (!e)
        e = w->each(n, &r, line, w->arg, why);
    record_fini(&r);
    w->here[n] = true;
    w->n_left--;
    return e;
}

/* What the store had already. */
static enum err take_added(struct waiting *w, const cJSON *list, struct why *why)
{
    const cJSON *entry;
    enum err e = ERR_OK;

    cJSON_ArrayForEach(entry, list)
    {
        struct trial_added a;

        if (!e)
            e = trial_added_read(entry, &a, why);
        if (!e && a.record)
            e = take(w, a.n, a.record, why);
    }
    return e;
}

static enum err renew(const struct measure_options *o, int64_t *last_ns, struct why *why)
{
    struct job_renew_args args = {.job = o->job_id, .token = o->token};

    if (clock_read_ns(o->clock) - *last_ns < INT64_C(1000000000))
        return ERR_OK;
    *last_ns = clock_read_ns(o->clock);
    args.progress = cJSON_CreateObject();
    return client_job_renew(o->client, &args, NULL, NULL, why);
}

static enum err take_entry(const struct record_entry *r, void *waiting, struct why *why)
{
    return take(waiting, r->n, r->record, why);
}

static enum err wait_all(const struct measure_options *o, struct waiting *w, struct why *why)
{
    int64_t after = 0, renewed_ns = clock_read_ns(o->clock);
    enum err e = ERR_OK;
    int n;

    while (!e && w->n_left > 0) {
        e = client_records(o->client, o->job_id, 400, &after, take_entry, w, &n, why);
        if (!e && o->interrupted && o->interrupted())
            e = why_set(why, ERR_CANCELLED, "interrupted");
        if (!e && o->check)
            e = o->check(o->arg, why);
        if (!e)
            e = renew(o, &renewed_ns, why);
    }
    return e;
}

enum err measure_trials(const struct measure_options *o, struct trial_batch *b,
                        enum err (*each)(int64_t n, const struct record *r, const char *line, void *arg,
                                         struct why *why),
                        void *arg, struct why *why)
{
    struct waiting w = {.n = b->n, .n_left = b->n, .each = each, .arg = arg};
    struct trial_add_result added;
    cJSON *tree = NULL;
    enum err e;

    if (b->n > MAX_TRIALS)
        return why_set(why, ERR_LIMIT, "more than %d configs at once", MAX_TRIALS);
    e = trial_batch_send(b, o->client, o->job_id, o->token, &added, &tree, why);
    if (!e)
        e = take_added(&w, added.trials, why);
    cJSON_Delete(tree);
    return e ? e : wait_all(o, &w, why);
}

/* Whether `name` stays in its folder or below: a stranger's program reads no other file of the person who tries it. */
static bool stays_below(const char *name)
{
    const char *up = name;

    if (name[0] == '/')
        return false;
    while ((up = strstr(up, "..")) != NULL) {
        if ((up == name || up[-1] == '/') && (up[2] == '/' || up[2] == '\0'))
            return false;
        up += 2;
    }
    return true;
}

/* The file `name` beside `path`, into the blobs. */
static enum err put_file(const char *path, const char *name, struct blobs *blobs, struct sha256 *hash, struct why *why)
{
    const char *slash = strrchr(path, '/');
    const int n_dir = slash ? (int)(slash - path + 1) : 0;
    char full[4096];
    struct buf bytes;
    enum err e;

    if (!stays_below(name))
        return why_set(why, ERR_INPUT, "%s: '%s' is not beside it: expected a file in the program's folder or below",
                       path, name);
    if (snprintf(full, sizeof full, "%.*s%s", n_dir, path, name) >= (int)sizeof full)
        return why_set(why, ERR_LIMIT, "%s: the path is too long", name);
    buf_init(&bytes, FILE_MAX_BYTES);
    e = file_read(full, &bytes, why);
    if (!e)
        e = blobs_put(blobs, buf_text(&bytes), bytes.len, hash);
    buf_fini(&bytes);
    return e;
}

/* Where an object says {"<name>_file": "f"}, it says {"<name>": sha256 of f} afterwards. */
static enum err resolve(cJSON *o, const char *path, struct blobs *blobs, struct why *why)
{
    static const struct {
        const char *file, *hash;
    } names[] = {{"source_file", "sha256"},
                 {"blob_file", "sha256"},
                 {"values_file", "values"},
                 {"indices_file", "indices"},
                 {"scale_file", "scale"}};
    enum err e = ERR_OK;

    for (size_t i = 0; i < sizeof names / sizeof names[0] && !e; i++) {
        const cJSON *file = cJSON_GetObjectItemCaseSensitive(o, names[i].file);
        struct sha256 hash;

        if (!file)
            continue;
        if (!cJSON_IsString(file))
            return why_set(why, ERR_INPUT, "%s: \"%s\": expected a file name", path, names[i].file);
        e = put_file(path, file->valuestring, blobs, &hash, why);
        if (e)
            break;
        cJSON_DeleteItemFromObjectCaseSensitive(o, names[i].file);
        cJSON_DeleteItemFromObjectCaseSensitive(o, names[i].hash);
        if (!cJSON_AddStringToObject(o, names[i].hash, hash.hex))
            e = ERR_NOMEM;
    }
    for (cJSON *child = o->child; child && !e; child = child->next)
        if (cJSON_IsObject(child) || cJSON_IsArray(child))
            e = resolve(child, path, blobs, why);
    return e;
}

enum err program_load(const char *path, struct program *out, struct blobs *blobs, struct why *why)
{
    struct buf text, resolved;
    cJSON *o = NULL;
    enum err e;

    buf_init(&text, PROGRAM_MAX_BYTES);
    buf_init(&resolved, PROGRAM_MAX_BYTES);
    e = file_read(path, &text, why);
    if (!e && (e = json_parse(buf_text(&text), text.len, &o, why)))
        why_prefix(why, e, "%s", path);
    if (!e)
        e = resolve(o, path, blobs, why);
    if (!e)
        e = json_print(o, &resolved);
    if (!e && (e = program_from_json(buf_text(&resolved), resolved.len, out, why)))
        why_prefix(why, e, "%s", path);
    cJSON_Delete(o);
    buf_fini(&text);
    buf_fini(&resolved);
    return e;
}
