/* SPDX-License-Identifier: MIT */
/* bundle.c - bundles pushed and pulled: files by their manifest's hashes, the manifest last. */
#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "core/json.h"
#include "logs/hub/request.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_MAX_BYTES ((size_t)64 << 20)
#define MAX_FILES 100000
/* A manifest as it stands, and its list of files. */
struct manifest {
    struct buf text;
    cJSON *root;
    const cJSON *files;
};

struct manifest_file {
    const char *path;
    const char *sha256;
    int64_t n_bytes;
};

static void manifest_fini(struct manifest *m)
{
    cJSON_Delete(m->root);
    buf_fini(&m->text);
}

/* A path may name something below the bundle only. */
static bool is_below(const char *path)
{
    if (!*path || *path == '/' || strchr(path, '\\') || strlen(path) > 1000)
        return false;
    for (const char *p = path; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (!*p || *p == '/' || strncmp(p, "../", 3) == 0 || strcmp(p, "..") == 0 || strncmp(p, "./", 2) == 0 ||
            strcmp(p, ".") == 0)
            return false;
    }
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return false;
    return true;
}

static enum err file_of(const cJSON *item, struct manifest_file *out, struct why *why)
{
    enum err e = json_get_text(item, "path", &out->path, why);

    if (!e)
        e = json_get_text(item, "sha256", &out->sha256, why);
    if (!e)
        e = json_get_i64(item, "bytes", 0, JSON_EXACT_MAX, &out->n_bytes, why);
    if (!e && (!is_below(out->path) || !sha256_is_hex(out->sha256)))
        e = why_set(why, ERR_INPUT, "a file of the manifest has a path that leaves the bundle, or no SHA-256");
    return e;
}

static enum err manifest_parse(struct manifest *m, const char *where, struct why *why)
{
    int64_t schema, rest = HUB_MAX_BYTES;
    struct manifest_file f;
    enum err e = json_parse(buf_text(&m->text), m->text.len, &m->root, why);

    if (!e)
        e = json_get_i64(m->root, "schema", 1, JSON_EXACT_MAX, &schema, why);
    if (!e && schema > HUB_MAX_SCHEMA)
        e = why_set(why, ERR_INPUT, "schema %lld is newer than this tune (it reads %d)", (long long)schema,
                    HUB_MAX_SCHEMA);
    if (!e)
        e = json_get_array(m->root, "files", &m->files, why);
    if (!e && cJSON_GetArraySize(m->files) > MAX_FILES)
        e = why_set(why, ERR_LIMIT, "over %d files", MAX_FILES);
    for (const cJSON *item = e ? NULL : m->files->child; item && !e; item = item->next) {
        e = file_of(item, &f, why);
        if (!e && f.n_bytes > rest)
            e = why_set(why, ERR_LIMIT, "files of over %lld bytes in all", (long long)HUB_MAX_BYTES);
        rest -= e ? 0 : f.n_bytes;
    }
    return e ? why_prefix(why, e, "%s", where) : ERR_OK;
}

static enum err manifest_read(const char *dir, struct manifest *m, struct why *why)
{
    char path[PATH_MAX];
    enum err e;

    buf_init(&m->text, MANIFEST_MAX_BYTES);
    m->root = NULL;
    if (snprintf(path, sizeof path, "%s/manifest.json", dir) >= (int)sizeof path)
        return why_set(why, ERR_LIMIT, "%s: the path is too long", dir);
    e = file_read(path, &m->text, why);
    if (e == ERR_NOT_FOUND)
        return why_set(why, e, "%s has no manifest.json: expected a bundle of `tune deploy`", dir);
    return e ? e : manifest_parse(m, path, why);
}

/* Is the file there and as the manifest says? */
static enum err check_file(const char *dir, const struct manifest_file *f, char path[PATH_MAX], struct why *why)
{
    struct sha256 sum;
    int64_t n;
    enum err e;

    if (snprintf(path, PATH_MAX, "%s/%s", dir, f->path) >= PATH_MAX)
        return why_set(why, ERR_LIMIT, "%s: the path is too long", f->path);
    e = sha256_of_file(path, &sum, &n, why);
    if (!e && (n != f->n_bytes || strcmp(sum.hex, f->sha256) != 0))
        e = why_set(why, ERR_INPUT,
                    "%s is not what its manifest says (%lld bytes, SHA-256 %.12s..; expected %lld, %.12s..)", path,
                    (long long)n, sum.hex, (long long)f->n_bytes, f->sha256);
    return e;
}

typedef enum err each_file(struct hub *h, const struct hub_url *u, const char *dir, const struct manifest_file *f,
                           int *n_done, struct why *why);

static enum err for_all(struct hub *h, const struct hub_url *u, const struct manifest *m, const char *dir,
                        each_file *each, int *n_done, struct why *why)
{
    struct manifest_file f;
    enum err e = ERR_OK;

    for (const cJSON *item = m->files->child; item && !e; item = item->next) {
        e = file_of(item, &f, why);
        if (!e)
            e = each(h, u, dir, &f, n_done, why);
    }
    return e;
}

static enum err check_one(struct hub *h, const struct hub_url *u, const char *dir, const struct manifest_file *f,
                          int *n_done, struct why *why)
{
    char path[PATH_MAX];

    (void)h;
    (void)u;
    (void)n_done;
    return check_file(dir, f, path, why);
}

/* A store that tells hashes need not get a file twice. */
static enum err send_one(struct hub *h, const struct hub_url *u, const char *dir, const struct manifest_file *f,
                         int *n_done, struct why *why)
{
    char path[PATH_MAX];
    struct hub_url to;
    struct hub_object o = {.exists = false};
    enum err e = check_file(dir, f, path, why);

    if (!e)
        e = hub_url_below(u, f->path, &to, why);
    if (!e && u->s3)
        e = hub_head(h, &to, &o, why);
    if (e || (o.exists && strcmp(o.sha256, f->sha256) == 0))
        return e;
    ++*n_done;
    return hub_put_file(h, &to, path, HUB_ANY, why);
}

/* The server's manifest: its bytes (empty = none), and its ETag. */
static enum err manifest_there(struct hub *h, const struct hub_url *u, struct buf *text, struct hub_object *o,
                               struct why *why)
{
    const enum err e = hub_get(h, u, text, o, why);

    if (e != ERR_NOT_FOUND)
        return e;
    buf_clear(text);
    *o = (struct hub_object){.exists = false};
    return ERR_OK;
}

static enum err push_new(struct hub *h, const struct hub_url *u, const struct hub_url *place, const struct manifest *m,
                         const char *dir, int *n_sent, struct why *why)
{
    enum err e = for_all(h, u, m, dir, send_one, n_sent, why);

    if (e)
        return e;
    ++*n_sent;
    e = hub_put(h, place, buf_text(&m->text), m->text.len, HUB_NEW, why);
    return e == ERR_STALE ? why_prefix(why, ERR_EXISTS, "another bundle was pushed there at the same time") : e;
}

enum err hub_push_bundle(struct hub *h, const struct hub_url *u, const char *dir, bool replace, int *n_sent,
                         struct why *why)
{
    struct manifest m;
    struct hub_url place;
    struct hub_object o = {.exists = false};
    struct buf theirs;
    enum err e = manifest_read(dir, &m, why);

    *n_sent = 0;
    buf_init(&theirs, MANIFEST_MAX_BYTES);
    if (!e)
        e = for_all(h, u, &m, dir, check_one, n_sent, why);
    if (!e)
        e = hub_url_below(u, "manifest.json", &place, why);
    if (!e)
        e = manifest_there(h, &place, &theirs, &o, why);
    if (!e && o.exists && theirs.len == m.text.len && memcmp(buf_text(&theirs), buf_text(&m.text), theirs.len) == 0)
        goto done;
    if (!e && o.exists && !replace)
        e = why_set(why, ERR_EXISTS, "%s holds another bundle; expected a new place, or --replace", u->text);
    if (!e && o.exists)
        e = hub_delete(h, &place, why);
    if (!e)
        e = push_new(h, u, &place, &m, dir, n_sent, why);
done:
    buf_fini(&theirs);
    manifest_fini(&m);
    return e;
}

static enum err make_parents(char *path, struct why *why)
{
    char *slash = strrchr(path, '/');
    enum err e;

    assert(slash); /* check_file has put a folder before it */
    *slash = '\0';
    e = dir_make(path, 0755, why);
    *slash = '/';
    return e;
}

static enum err fetch_one(struct hub *h, const struct hub_url *u, const char *dir, const struct manifest_file *f,
                          int *n_done, struct why *why)
{
    char path[PATH_MAX];
    struct hub_url from;
    struct hub_object o;
    enum err e;

    if (check_file(dir, f, path, NULL) == ERR_OK)
        return ERR_OK;
    e = make_parents(path, why);
    if (!e)
        e = hub_url_below(u, f->path, &from, why);
    if (!e)
        e = hub_get_file(h, &from, path, f->n_bytes, &o, why);
    if (!e && check_file(dir, f, path, why)) {
        (void)unlink(path);
        e = ERR_IO;
    }
    ++*n_done;
    return e;
}

static enum err pull_into(struct hub *h, const struct hub_url *u, const char *part, int *n_fetched, struct why *why)
{
    char path[PATH_MAX];
    struct manifest m = {.root = NULL};
    struct hub_url place;
    struct hub_object o;
    enum err e = hub_url_below(u, "manifest.json", &place, why);

    buf_init(&m.text, MANIFEST_MAX_BYTES);
    if (!e)
        e = hub_get(h, &place, &m.text, &o, why);
    if (!e)
        e = manifest_parse(&m, place.text, why);
    if (!e)
        e = dir_make(part, 0755, why);
    if (!e)
        e = for_all(h, u, &m, part, fetch_one, n_fetched, why);
    if (!e) {
        snprintf(path, sizeof path, "%s/manifest.json", part);
        e = file_replace(path, buf_text(&m.text), m.text.len, 0644, why);
    }
    manifest_fini(&m);
    return e;
}

enum err hub_pull_bundle(struct hub *h, const struct hub_url *u, const char *dir, int *n_fetched, struct why *why)
{
    char part[PATH_MAX - 32];
    enum err e;

    *n_fetched = 0;
    if (access(dir, F_OK) == 0)
        return why_set(why, ERR_EXISTS, "%s is there already; expected a new folder", dir);
    if (snprintf(part, sizeof part, "%s.part", dir) >= (int)sizeof part)
        return why_set(why, ERR_LIMIT, "%s: the path is too long", dir);
    e = pull_into(h, u, part, n_fetched, why);
    if (!e && rename(part, dir) != 0)
        e = why_set(why, ERR_IO, "%s: %s", dir, strerror(errno));
    return e;
}
