/* SPDX-License-Identifier: MIT */
#include "deploy/manifest.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "logs/hub/hub.h"

#include <assert.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(BUNDLE_SCHEMA <= HUB_MAX_SCHEMA, "what is deployed can be pushed");

/* The last member: a hash of the bytes before it. */
#define SEAL ",\"sha256\":\""
#define SEAL_BYTES (sizeof SEAL - 1 + SHA256_HEX + 3) /* and "}\n */

/* ---- writing ---- */

static void add_record(cJSON *entry, const struct deploy_layer *l, bool *ok)
{
    const struct record *r = &l->record;
    json_add_text(entry, "status", status_name(r->status), ok);
    json_add_text(entry, "purpose", r->purpose, ok);
    json_add_text(entry, "proposed_by", r->proposed_by, ok);
    json_add_text(entry, "key", r->key, ok);
    json_add_text(entry, "job", r->job, ok);
    json_add_text(entry, "record", r->id, ok);
    json_add_text(entry, "protocol", r->protocol, ok);
    json_add_real(entry, "time_ns", r->time_ns, ok);
    json_add_real(entry, "gflops", record_gflops(r), ok);
    json_add_real(entry, "se", r->se, ok);
    json_add_i64(entry, "ts", r->ts_ms, ok);
}

static void add_origin(cJSON *entry, const struct deploy_layer *l, bool *ok)
{
    json_add_text(entry, "choice", deploy_origin_name(l->origin), ok);
    if (l->origin == DEPLOY_FOREIGN) {
        json_add_text(entry, "note", "from another tuner's file: not measured by a farm of tune", ok);
    } else if (l->origin == DEPLOY_NEAREST) {
        json_add_text(entry, "note", "config of another workload: not measured for this one", ok);
        json_add_text(entry, "of", l->record.workload, ok);
        json_add_real(entry, "distance", l->distance, ok);
    } else if (l->origin == DEPLOY_DEFAULT) {
        json_add_text(entry, "note", "the template's default config: not measured", ok);
    }
}

static cJSON *names_of(const struct deploy_set *s, size_t i_layer)
{
    bool ok = true;
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; list && i < s->n_calls; i++) {
        if (s->calls[i].i_layer == i_layer) {
            cJSON *name = cJSON_CreateObject();
            json_add_text(name, "symbol", s->calls[i].symbol, &ok);
            json_add_text(name, "layer", s->calls[i].called, &ok);
            ok = name && cJSON_AddItemToArray(list, name) && ok;
        }
    }
    if (ok)
        return list;
    cJSON_Delete(list);
    return NULL;
}

static cJSON *layer(const struct deploy_set *s, size_t i)
{
    bool ok = true;
    const struct deploy_layer *l = &s->layers[i];
    cJSON *entry = cJSON_CreateObject();
    json_add_text(entry, "workload", l->workload, &ok);
    json_add_item(entry, "names", names_of(s, i), &ok);
    add_origin(entry, l, &ok);
    json_add_text(entry, "template", l->record.template_id, &ok);
    json_add_i64(entry, "template_version", l->record.template_version, &ok);
    json_add_item(entry, "knobs", cJSON_Duplicate(l->record.knobs, 1), &ok);
    json_add_text(entry, "program", l->record.program.hex, &ok);
    json_add_text(entry, "fingerprint", l->record.fingerprint.hex, &ok);
    json_add_item(entry, "device", cJSON_Duplicate(l->record.device, 1), &ok);
    json_add_real(entry, "flops", l->program.flops, &ok);
    if (l->origin != DEPLOY_DEFAULT)
        add_record(entry, l, &ok);
    if (ok)
        return entry;
    cJSON_Delete(entry);
    return NULL;
}

/* What was made ahead: of which text with which options, for what, in which file. */
static cJSON *binaries(const struct deploy_set *s, bool *ok)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; list && i < s->n_modules; i++) {
        const struct deploy_module *m = &s->modules[i];
        for (size_t j = 0; j < m->code.n && *ok; j++) {
            const struct exec_binary *b = &m->code.list[j];
            const struct sha256 hash = sha256_of(b->bytes, b->n_bytes);
            char path[SHA256_HEX + 32];
            cJSON *entry = cJSON_CreateObject();
            (void)snprintf(path, sizeof path, "kernels/%s.%s", hash.hex, deploy_code_ending(b));
            json_add_text(entry, "text", m->source->name.hex, ok);
            json_add_text(entry, "options", m->module->options, ok);
            json_add_text(entry, "target", b->target, ok);
            json_add_text(entry, "path", path, ok);
            *ok = entry && cJSON_AddItemToArray(list, entry) && *ok;
        }
    }
    return list;
}

static enum err seal(struct buf *text, struct why *why)
{
    if (text->failed != ERR_OK || text->len == 0)
        return why_set(why, text->failed, "manifest: %s", err_words(text->failed));
    assert(text->data[text->len - 1] == '}');
    text->data[--text->len] = '\0'; /* its closing brace */
    const struct sha256 hash = sha256_of(text->data, text->len);
    buf_printf(text, SEAL "%s\"}\n", hash.hex);
    return text->failed == ERR_OK ? ERR_OK : why_set(why, text->failed, "manifest: %s", err_words(text->failed));
}

enum err deploy_manifest_text(const struct deploy_set *s, const cJSON *files, struct buf *out, struct why *why)
{
    bool ok = true;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_CreateArray();
    json_add_i64(root, "schema", BUNDLE_SCHEMA, &ok);
    json_add_text(root, "tune", TUNE_VERSION, &ok);
    json_add_text(root, "name", s->name, &ok);
    for (size_t i = 0; i < s->n_layers && ok; i++) {
        cJSON *entry = layer(s, i);
        ok = entry && cJSON_AddItemToArray(list, entry);
    }
    json_add_item(root, "layers", list, &ok);
    json_add_item(root, "binaries", binaries(s, &ok), &ok);
    json_add_item(root, "files", cJSON_Duplicate(files, 1), &ok);
    enum err e = ok ? json_print(root, out) : why_set(why, ERR_NOMEM, "out of memory");
    cJSON_Delete(root);
    return e == ERR_OK ? seal(out, why) : e;
}

/* ---- checking ---- */

static enum err read_text(const char *dir, struct buf *out, struct why *why)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/" BUNDLE_MANIFEST, dir) >= (int)sizeof path)
        return why_set(why, ERR_LIMIT, "%.200s: the path is too long", dir);
    enum err e = file_read(path, out, why);
    return e == ERR_NOT_FOUND
               ? why_set(why, e, "%s has no " BUNDLE_MANIFEST ": not a whole bundle of `tune deploy`", dir)
               : e;
}

static enum err check_seal(const char *dir, const struct buf *text, struct why *why)
{
    const char *at = text->len > SEAL_BYTES ? text->data + text->len - SEAL_BYTES : "";
    if (strncmp(at, SEAL, sizeof SEAL - 1) != 0 || strcmp(at + SEAL_BYTES - 3, "\"}\n") != 0) {
        return why_set(why, ERR_INPUT, "%s/" BUNDLE_MANIFEST ": cut short or damaged: it does not end with its sha256",
                       dir);
    }
    const struct sha256 hash = sha256_of(text->data, (size_t)(at - text->data));
    if (strncmp(hash.hex, at + sizeof SEAL - 1, SHA256_HEX) != 0) {
        return why_set(why, ERR_INPUT, "%s/" BUNDLE_MANIFEST ": damaged: its sha256 is %.12s, it says %.12s", dir,
                       hash.hex, at + sizeof SEAL - 1);
    }
    return ERR_OK;
}

/* A file's name must stay inside the bundle. */
static bool is_inside(const char *path)
{
    if (path[0] == '\0' || path[0] == '/')
        return false;
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return false;
    }
    return true;
}

static enum err check_file(const char *dir, const cJSON *entry, struct why *why)
{
    const char *name = NULL, *expected = NULL;
    char path[PATH_MAX];
    int64_t n = 0, n_found = 0;
    struct sha256 hash;
    enum err e = json_get_text(entry, "path", &name, why);
    e = e == ERR_OK ? json_get_text(entry, "sha256", &expected, why) : e;
    e = e == ERR_OK ? json_get_i64(entry, "bytes", 0, JSON_EXACT_MAX, &n, why) : e;
    if (e != ERR_OK)
        return why_prefix(why, e, "%s/" BUNDLE_MANIFEST, dir);
    if (!is_inside(name) || snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return why_set(why, ERR_INPUT, "%s/" BUNDLE_MANIFEST ": '%.200s' is no file of a bundle", dir, name);
    e = sha256_of_file(path, &hash, &n_found, why);
    if (e != ERR_OK)
        return e == ERR_NOT_FOUND ? why_set(why, e, "%s is missing", path) : e;
    if (n_found != n) {
        return why_set(why, ERR_INPUT, "%s has %lld bytes, " BUNDLE_MANIFEST " says %lld", path, (long long)n_found,
                       (long long)n);
    }
    return strcmp(hash.hex, expected) == 0
               ? ERR_OK
               : why_set(why, ERR_INPUT, "%s: its sha256 is %.12s, " BUNDLE_MANIFEST " says %.12s", path, hash.hex,
                         expected);
}

static enum err check_schema(const char *dir, const cJSON *root, struct why *why)
{
    int64_t schema = 0;
    enum err e = json_get_i64(root, "schema", 1, JSON_EXACT_MAX, &schema, why);
    if (e != ERR_OK)
        return why_prefix(why, e, "%s/" BUNDLE_MANIFEST, dir);
    if (schema != BUNDLE_SCHEMA) {
        return why_set(why, ERR_UNSUPPORTED, "%s/" BUNDLE_MANIFEST ": schema %lld; this tune knows %d: %s", dir,
                       (long long)schema, BUNDLE_SCHEMA, schema > BUNDLE_SCHEMA ? "use a newer one" : "deploy again");
    }
    return ERR_OK;
}

static enum err check_files(const char *dir, const cJSON *root, size_t *n_files, struct why *why)
{
    const cJSON *files = NULL, *entry;
    size_t n = 0;
    enum err e = json_get_array(root, "files", &files, why);
    if (e != ERR_OK)
        return why_prefix(why, e, "%s/" BUNDLE_MANIFEST, dir);
    cJSON_ArrayForEach(entry, files)
    {
        e = check_file(dir, entry, why);
        if (e != ERR_OK)
            return e;
        n++;
    }
    *n_files = n;
    return n > 0 ? ERR_OK : why_set(why, ERR_INPUT, "%s/" BUNDLE_MANIFEST ": lists no files", dir);
}

enum err deploy_check(const char *dir, size_t *n_files, struct why *why)
{
    struct buf text;
    cJSON *root = NULL;
    buf_init(&text, BUNDLE_MANIFEST_BYTES);
    enum err e = read_text(dir, &text, why);
    if (e == ERR_OK) {
        e = json_parse(buf_text(&text), text.len, &root, why);
        e = e == ERR_OK ? check_schema(dir, root, why) : why_prefix(why, e, "%s/" BUNDLE_MANIFEST, dir);
    }
    e = e == ERR_OK ? check_seal(dir, &text, why) : e;
    e = e == ERR_OK ? check_files(dir, root, n_files, why) : e;
    cJSON_Delete(root);
    buf_fini(&text);
    return e;
}

/* Is the file `name` listed, or, when it is a folder, any file in it? */
static bool is_listed(const cJSON *files, const char *name, bool is_folder)
{
    const size_t n = strlen(name);
    const cJSON *entry;
    cJSON_ArrayForEach(entry, files)
    {
        const char *path = NULL;
        if (json_get_text(entry, "path", &path, NULL) == ERR_OK && strncmp(path, name, n) == 0 &&
            path[n] == (is_folder ? '/' : '\0'))
            return true;
    }
    return !is_folder && strcmp(name, BUNDLE_MANIFEST) == 0;
}

/* Looks at everything in `dir`/`inside`: false and words at the first thing that the manifest does not list. */
static bool has_no_strangers(const char *dir, const char *inside, const cJSON *files, struct why *why)
{
    char path[PATH_MAX], name[PATH_MAX];
    const struct dirent *entry;
    struct stat st;
    bool all = true;
    DIR *d = (size_t)snprintf(path, sizeof path, "%s/%s", dir, inside) < sizeof path ? opendir(path) : NULL;
    while (d && all && (entry = readdir(d)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        const bool fits = (size_t)snprintf(name, sizeof name, "%s%s%s", inside, inside[0] != '\0' ? "/" : "",
                                           entry->d_name) < sizeof name &&
                          (size_t)snprintf(path, sizeof path, "%s/%s", dir, name) < sizeof path;
        const bool is_folder = fits && lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
        all = fits && is_listed(files, name, is_folder);
        if (!all) {
            why_set(why, ERR_EXISTS,
                    "%s/%s is no file of the bundle there and would be lost: remove it, or give another folder", dir,
                    fits ? name : entry->d_name);
        } else if (is_folder) {
            all = has_no_strangers(dir, name, files, why);
        }
    }
    if (d)
        closedir(d);
    else
        why_set(why, ERR_IO, "%s/%s cannot be looked through", dir, inside);
    return d && all;
}

bool deploy_is_bundle(const char *dir, struct why *why)
{
    struct buf text;
    cJSON *root = NULL;
    const char *version;
    int64_t schema;
    buf_init(&text, BUNDLE_MANIFEST_BYTES);
    bool is = read_text(dir, &text, NULL) == ERR_OK && json_parse(buf_text(&text), text.len, &root, NULL) == ERR_OK &&
              json_get_i64(root, "schema", 1, JSON_EXACT_MAX, &schema, NULL) == ERR_OK &&
              json_get_text(root, "tune", &version, NULL) == ERR_OK;
    is = is && has_no_strangers(dir, "", cJSON_GetObjectItemCaseSensitive(root, "files"), why);
    cJSON_Delete(root);
    buf_fini(&text);
    return is;
}
