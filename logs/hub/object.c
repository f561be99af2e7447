/* SPDX-License-Identifier: MIT */
/* object.c - objects of a hub: fetched, stored, removed. */
#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"
#include "logs/hub/request.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a file to go on with; if_range: the ETag under which its beginning came, "" = begin anew. */
static enum err open_part(const char *path, const char *etag_path, FILE **out, char if_range[HUB_MAX_ETAG],
                          struct why *why)
{
    struct buf etag;

    if_range[0] = '\0';
    buf_init(&etag, HUB_MAX_ETAG - 1);
    if (access(path, R_OK) == 0 && !file_read(etag_path, &etag, NULL) && etag.len && *buf_text(&etag) == '"')
        strcpy(if_range, buf_text(&etag));
    buf_fini(&etag);
    *out = fopen(path, *if_range ? "r+e" : "we");
    if (!*out)
        return why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
    return fseeko(*out, 0, SEEK_END) == 0 ? ERR_OK : why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
}

/* A part that the server says is whole already, or longer than the object, gives 416: fetched anew. */
static enum err fetch(struct hub *h, const struct hub_url *u, FILE *to, int64_t max_bytes, const char *if_range,
                      struct hub_reply *r, struct why *why)
{
    struct hub_request q = {
        .url = u, .method = "GET", .to_file = to, .max_bytes = max_bytes, .from = ftello(to), .if_range = if_range};
    enum err e = hub_send(h, &q, r, why);

    if (e && r->status == 416) {
        rewind(to);
        if (ftruncate(fileno(to), 0) != 0)
            return why_set(why, ERR_IO, "%s: %s", u->text, strerror(errno));
        q.from = 0;
        e = hub_send(h, &q, r, why);
    }
    return e;
}

static enum err check_sum(const char *path, const struct hub_url *u, const struct hub_object *o, struct why *why)
{
    struct sha256 got;
    int64_t n;
    enum err e;

    if (!sha256_is_hex(o->sha256))
        return ERR_OK;
    e = sha256_of_file(path, &got, &n, why);
    if (!e && strcmp(got.hex, o->sha256) != 0) {
        (void)unlink(path);
        e = why_set(why, ERR_IO, "%s: what came has SHA-256 %.12s.., its pusher said %.12s..", u->text, got.hex,
                    o->sha256);
    }
    return e;
}

enum err hub_get_file(struct hub *h, const struct hub_url *u, const char *path, int64_t max_bytes,
                      struct hub_object *out, struct why *why)
{
    char etag_path[PATH_MAX], if_range[HUB_MAX_ETAG];
    struct hub_reply r;
    FILE *to;
    enum err e;

    if (snprintf(etag_path, sizeof etag_path, "%s.etag", path) >= (int)sizeof etag_path)
        return why_set(why, ERR_LIMIT, "%s: the path is too long", path);
    e = open_part(path, etag_path, &to, if_range, why);
    if (e)
        return e;
    if (!*if_range) { /* the ETag must be known before the first byte is lost */
        struct hub_object o;

        e = hub_head(h, u, &o, NULL);
        if (!e && o.exists && *o.etag == '"') {
            strcpy(if_range, o.etag);
            (void)file_replace(etag_path, o.etag, strlen(o.etag), 0600, NULL);
        }
    }
    e = fetch(h, u, to, max_bytes, *if_range ? if_range : NULL, &r, why);
    if (fclose(to) != 0 && !e)
        e = why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
    if (e == ERR_NOT_FOUND)
        (void)unlink(path);
    if (!e)
        e = check_sum(path, u, &r.object, why);
    if (!e || e == ERR_NOT_FOUND)
        (void)unlink(etag_path);
    if (!e)
        *out = r.object;
    return e;
}

enum err hub_get(struct hub *h, const struct hub_url *u, struct buf *to, struct hub_object *out, struct why *why)
{
    struct hub_reply r;
    const enum err e = hub_send(h, &(struct hub_request){.url = u, .method = "GET", .to = to}, &r, why);

    if (!e)
        *out = r.object;
    return e;
}

enum err hub_head(struct hub *h, const struct hub_url *u, struct hub_object *out, struct why *why)
{
    struct hub_reply r;
    const enum err e = hub_send(h, &(struct hub_request){.url = u, .method = "HEAD"}, &r, why);

    if (e && e != ERR_NOT_FOUND)
        return e;
    *out = r.object;
    out->exists = !e;
    return ERR_OK;
}

/* ERR_EXISTS where there is something. Of two who make a folder in the same instant Apache tells one 403; asked once
 * more it says 405, that it is there (RFC 4918). */
static enum err make_one_folder(struct hub *h, const struct hub_url *u, struct hub_reply *r, struct why *why)
{
    const struct hub_request q = {.url = u, .method = "MKCOL"};
    enum err e = hub_send(h, &q, r, why);

    if (r->status == 403)
        e = hub_send(h, &q, r, why);
    return r->status == 405 ? ERR_EXISTS : e;
}

/* Every folder above `u` from the top, those that are there too; what is said of the last one. */
static enum err make_folders_above(struct hub *h, const struct hub_url *u, struct why *why)
{
    const char *path = strchr(strstr(u->text, "://") + 3, '/');
    enum err e = ERR_OK;

    while (path && (path = strchr(path + 1, '/')) && path[1]) {
        struct hub_url folder;
        struct hub_reply r;
        char text[HUB_MAX_URL];

        snprintf(text, sizeof text, "%.*s", (int)(path + 1 - u->text), u->text);
        e = hub_url_parse(text, &folder, why);
        if (!e)
            e = make_one_folder(h, &folder, &r, why);
    }
    return e == ERR_EXISTS ? ERR_OK : e;
}

/* A WebDAV server says 409 where the folder that something belongs into is missing (RFC 4918): that is made, and it is
 * sent again. */
static enum err put(struct hub *h, const struct hub_request *q, struct why *why)
{
    struct hub_reply r;
    enum err e = hub_send(h, q, &r, why);

    if (r.status != 409 || q->url->s3)
        return e;
    e = make_folders_above(h, q->url, why);
    if (!e)
        e = hub_send(h, q, &r, why);
    return e && r.status == 409
               ? why_set(why, ERR_IO, "%s: 409: expected a folder that is there: the server makes none", q->url->text)
               : e;
}

enum err hub_put_file(struct hub *h, const struct hub_url *u, const char *path, const char *etag, struct why *why)
{
    struct hub_request q = {.url = u, .method = "PUT", .body_path = path, .etag = etag};
    struct sha256 sum;
    enum err e = sha256_of_file(path, &sum, &q.n_body, why);

    q.body_sha256 = sum.hex;
    return e ? e : put(h, &q, why);
}

enum err hub_put(struct hub *h, const struct hub_url *u, const void *bytes, size_t n, const char *etag, struct why *why)
{
    const struct sha256 sum = sha256_of(bytes, n);
    const struct hub_request q = {
        .url = u, .method = "PUT", .body = bytes, .n_body = (int64_t)n, .body_sha256 = sum.hex, .etag = etag};

    return put(h, &q, why);
}

enum err hub_delete(struct hub *h, const struct hub_url *u, struct why *why)
{
    struct hub_reply r;
    const enum err e = hub_send(h, &(struct hub_request){.url = u, .method = "DELETE"}, &r, why);

    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err hub_make_folder(struct hub *h, const struct hub_url *u, struct why *why)
{
    struct hub_reply r;
    enum err e;

    if (u->s3)
        return why_set(why, ERR_UNSUPPORTED, "%s: S3 has no folders", u->text);
    e = make_one_folder(h, u, &r, why);
    if (r.status != 409)
        return e;
    e = make_folders_above(h, u, why);
    return e ? e : make_one_folder(h, u, &r, why);
}
