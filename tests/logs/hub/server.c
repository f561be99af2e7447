/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_HEAD 16384
#define ROOM ((SERVER_MAX_OBJECTS + 1) * 600) /* for a list of all objects */

struct server_object *server_find(struct server *s, const char *path)
{
    for (size_t i = 0; i < s->n_objects; i++)
        if (strcmp(s->objects[i].path, path) == 0)
            return &s->objects[i];
    return NULL;
}

void server_put(struct server *s, const char *path, const void *bytes, size_t n)
{
    struct server_object *o = server_find(s, path);

    if (!o) {
        if (s->n_objects == SERVER_MAX_OBJECTS)
            abort();
        o = &s->objects[s->n_objects++];
        *o = (struct server_object){.n = 0};
        snprintf(o->path, sizeof o->path, "%s", path);
    }
    free(o->bytes);
    o->bytes = malloc(n + 1);
    if (!o->bytes)
        abort();
    if (n)
        memcpy(o->bytes, bytes, n);
    o->bytes[n] = '\0';
    o->n = n;
    o->version = ++s->last_version;
    o->sha256[0] = '\0';
}

static bool is_below(const char *path, const char *folder)
{
    const size_t n = strlen(folder);

    return n && folder[n - 1] == '/' && strncmp(path, folder, n) == 0;
}

void server_delete(struct server *s, const char *path)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n_objects; i++) {
        if (strcmp(s->objects[i].path, path) == 0 || is_below(s->objects[i].path, path))
            free(s->objects[i].bytes);
        else
            s->objects[kept++] = s->objects[i];
    }
    s->n_objects = kept;
}

/* ---- one connection ---- */

struct talk {
    struct server *s;
    struct server_request r;
    int fd;
    char head[MAX_HEAD];
    char *body;
    size_t n_body;
    char sha256[65];
};

static void send_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        const ssize_t done = send(fd, bytes, n, MSG_NOSIGNAL);

        if (done <= 0)
            return;
        bytes += done;
        n -= (size_t)done;
    }
}

static void send_slowly(int fd, const char *bytes, size_t n)
{
    const struct timespec nap = {0, 20000000};

    for (size_t i = 0; i < n && send(fd, bytes + i, 1, MSG_NOSIGNAL) == 1; i++)
        nanosleep(&nap, NULL);
}

static void date_text(char out[64], time_t t)
{
    struct tm tm;

    gmtime_r(&t, &tm);
    strftime(out, 64, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

/* `o`: whose headers are told, or NULL; n_sent: bytes of the body that leave, the rest is cut off. */
static void reply(struct talk *t, int status, const struct server_object *o, const char *extra, const char *body,
                  size_t n, size_t n_sent)
{
    struct server *s = t->s;
    char head[2048], now[64], then[64];
    const time_t at = time(NULL);
    const size_t n_asked = strlen(s->asked);
    int k;

    date_text(now, at);
    date_text(then, at - s->age_s);
    k = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nConnection: close\r\nDate: %s\r\nContent-Length: %zu\r\n%s",
                 status, now, n, extra);
    if (o)
        k += snprintf(head + k, sizeof head - (size_t)k, "ETag: %s\"v%u\"\r\n", s->weak_etags ? "W/" : "", o->version);
    if (o && s->age_s >= 0)
        k += snprintf(head + k, sizeof head - (size_t)k, "Last-Modified: %s\r\n", then);
    if (o && o->sha256[0])
        k += snprintf(head + k, sizeof head - (size_t)k, "x-amz-meta-sha256: %s\r\n", o->sha256);
    k += snprintf(head + k, sizeof head - (size_t)k, "\r\n");
    snprintf(s->asked + n_asked, sizeof s->asked - n_asked, "%s %s %d\n", t->r.method, t->r.target, status);
    send_all(t->fd, head, (size_t)k);
    if (strcmp(t->r.method, "GET") == 0 && s->n_slow > 0) {
        s->n_slow--;
        send_slowly(t->fd, body, n_sent);
    } else if (strcmp(t->r.method, "HEAD") != 0) {
        send_all(t->fd, body, n_sent);
    }
}

static void say(struct talk *t, int status, const char *body)
{
    reply(t, status, NULL, "", body, strlen(body), strlen(body));
}

static void header_value(const char *head, const char *name, char *out, size_t n_out)
{
    const size_t n = strlen(name);

    out[0] = '\0';
    for (const char *p = strchr(head, '\n'); p && p[1]; p = strchr(p + 1, '\n'))
        if (strncasecmp(p + 1, name, n) == 0 && p[1 + n] == ':') {
            p += 2 + n;
            p += strspn(p, " ");
            snprintf(out, n_out, "%.*s", (int)strcspn(p, "\r\n"), p);
            return;
        }
}

/* All of a request; false when the peer is gone. */
static bool hear(struct talk *t)
{
    size_t n = 0, n_head;
    char length[32], *end = NULL;
    ssize_t some;

    while (!end && n < MAX_HEAD - 1 && (some = recv(t->fd, t->head + n, MAX_HEAD - 1 - n, 0)) > 0) {
        n += (size_t)some;
        t->head[n] = '\0';
        end = strstr(t->head, "\r\n\r\n");
    }
    if (!end || sscanf(t->head, "%15s %599s", t->r.method, t->r.target) != 2)
        return false;
    n_head = (size_t)(end + 4 - t->head);
    header_value(t->head, "Content-Length", length, sizeof length);
    header_value(t->head, "Range", t->r.range, sizeof t->r.range);
    header_value(t->head, "If-Range", t->r.if_range, sizeof t->r.if_range);
    header_value(t->head, "If-Match", t->r.if_match, sizeof t->r.if_match);
    header_value(t->head, "If-None-Match", t->r.if_none_match, sizeof t->r.if_none_match);
    header_value(t->head, "Authorization", t->r.authorization, sizeof t->r.authorization);
    header_value(t->head, "x-amz-meta-sha256", t->sha256, sizeof t->sha256);
    t->n_body = strtoul(length, NULL, 10);
    t->body = malloc(t->n_body + 1);
    if (!t->body)
        abort();
    memcpy(t->body, t->head + n_head, n - n_head);
    header_value(t->head, "Expect", length, sizeof length);
    if (length[0] && n == n_head)
        send_all(t->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    for (n -= n_head; n < t->n_body; n += (size_t)some)
        if ((some = recv(t->fd, t->body + n, t->n_body - n, 0)) <= 0)
            return false;
    return true;
}

static const char *etag_of(const struct server_object *o, char out[32])
{
    snprintf(out, 32, "\"v%u\"", o ? o->version : 0);
    return out;
}

static void do_get(struct talk *t)
{
    struct server *s = t->s;
    const struct server_object *o = server_find(s, t->r.target);
    char etag[32], extra[128] = "";
    size_t from = 0, n_sent;
    int status = 200;

    if (!o) {
        say(t, 404, "<Error><Code>NoSuchKey</Code></Error>");
        return;
    }
    if (t->r.range[0] && (!t->r.if_range[0] || strcmp(t->r.if_range, etag_of(o, etag)) == 0)) {
        from = strtoul(t->r.range + strlen("bytes="), NULL, 10);
        if (from >= o->n) {
            say(t, 416, "");
            return;
        }
        status = 206;
        snprintf(extra, sizeof extra, "Content-Range: bytes %zu-%zu/%zu\r\n", from, o->n - 1, o->n);
    }
    n_sent = o->n - from;
    if (s->n_cut > 0 && strcmp(t->r.method, "GET") == 0 && n_sent > s->cut_at) {
        s->n_cut--;
        n_sent = s->cut_at;
    }
    reply(t, status, o, extra, o->bytes + from, o->n - from, n_sent);
}

/* Is the folder that an object lies in missing, and does that matter here? */
static bool lacks_folder(struct talk *t)
{
    char folder[sizeof t->r.target];
    size_t n = strlen(t->r.target);

    n -= n > 1 && t->r.target[n - 1] == '/';
    while (n > 0 && t->r.target[n - 1] != '/')
        n--;
    snprintf(folder, sizeof folder, "%.*s", (int)n, t->r.target);
    return t->s->wants_folders && n > 1 && !server_find(t->s, folder);
}

static void do_put(struct talk *t)
{
    struct server *s = t->s;
    struct server_object *o = server_find(s, t->r.target);
    char etag[32];

    if (s->refuses_etags && t->r.if_match[0]) {
        say(t, 501, "<Error><Code>NotImplemented</Code></Error>");
        return;
    }
    if (s->knows_etags &&
        ((t->r.if_match[0] && (!o || strcmp(t->r.if_match, etag_of(o, etag)) != 0)) || (t->r.if_none_match[0] && o))) {
        say(t, 412, "");
        return;
    }
    if (lacks_folder(t)) {
        say(t, 409, "");
        return;
    }
    server_put(s, t->r.target, t->body, t->n_body);
    strcpy(server_find(s, t->r.target)->sha256, t->sha256);
    say(t, 201, "");
}

static void do_delete(struct talk *t)
{
    const size_t n = t->s->n_objects;

    server_delete(t->s, t->r.target);
    say(t, n == t->s->n_objects ? 404 : 204, "");
}

static void do_mkcol(struct talk *t)
{
    if (!t->s->is_dav || server_find(t->s, t->r.target)) {
        const bool at_once = t->s->n_at_once > 0;

        t->s->n_at_once -= at_once;
        say(t, at_once ? 403 : 405, "");
        return;
    }
    if (lacks_folder(t)) {
        say(t, 409, "");
        return;
    }
    server_put(t->s, t->r.target, "", 0);
    say(t, 201, "");
}

/* What lies right in a folder: its name, "" for the folder itself, or NULL. */
static const char *name_in(const char *path, const char *folder)
{
    const char *name = is_below(path, folder) ? path + strlen(folder) : NULL;

    return name && name[strcspn(name, "/")] && name[strcspn(name, "/") + 1] ? NULL : name;
}

static void do_propfind(struct talk *t)
{
    struct server *s = t->s;
    char *xml = calloc(1, ROOM);
    size_t n;

    if (!xml)
        abort();
    n = (size_t)snprintf(xml, ROOM, "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\">");
    for (size_t i = 0; i < s->n_objects; i++) {
        const struct server_object *o = &s->objects[i];
        const bool is_folder = o->path[strlen(o->path) - 1] == '/';

        if (!name_in(o->path, t->r.target))
            continue;
        n += (size_t)snprintf(xml + n, ROOM - n, "<D:response><D:href>%s</D:href><D:propstat><D:prop>%s", o->path,
                              is_folder ? "<D:resourcetype><D:collection/></D:resourcetype>" : "<D:resourcetype/>");
        if (!is_folder)
            n += (size_t)snprintf(xml + n, ROOM - n, "<D:getcontentlength>%zu</D:getcontentlength>", o->n);
        n += (size_t)snprintf(xml + n, ROOM - n,
                              "<D:getlastmodified>day %u</D:getlastmodified></D:prop></D:propstat></D:response>",
                              o->version);
    }
    strcpy(xml + n, "</D:multistatus>");
    say(t, s->is_dav ? 207 : 405, xml);
    free(xml);
}

static void do_index(struct talk *t)
{
    struct server *s = t->s;
    char *json = calloc(1, ROOM);
    size_t n;

    if (!json)
        abort();
    n = (size_t)snprintf(json, ROOM, "[");
    for (size_t i = 0; i < s->n_objects; i++) {
        const char *name = name_in(s->objects[i].path, t->r.target);
        const size_t n_name = name ? strcspn(name, "/") : 0;

        if (n_name)
            n += (size_t)snprintf(json + n, ROOM - n,
                                  "%s{\"name\":\"%.*s\",\"type\":\"%s\",\"mtime\":\"day %u\",\"size\":%zu}",
                                  n > 1 ? "," : "", (int)n_name, name, name[n_name] ? "directory" : "file",
                                  s->objects[i].version, s->objects[i].n);
    }
    snprintf(json + n, ROOM - n, "]");
    say(t, 200, json);
    free(json);
}

/* ListObjectsV2 of the bucket, an entry a page; the token is "n/" and the number of those before. */
static void do_s3_list(struct talk *t)
{
    struct server *s = t->s;
    const char *prefix = strstr(t->r.target, "prefix="), *token = strstr(t->r.target, "continuation-token=n%2F");
    const size_t skip = token ? strtoul(token + strlen("continuation-token=n%2F"), NULL, 10) : 0;
    char folder[300] = "", xml[2048], bucket[300];
    size_t n_before = 0, n = 0, bucket_n = strcspn(t->r.target, "?");
    bool more = false;

    snprintf(bucket, sizeof bucket, "%.*s/", (int)bucket_n, t->r.target);
    for (const char *p = prefix ? prefix + 7 : ""; *p; p++) {
        const bool is_slash = strncmp(p, "%2F", 3) == 0;

        folder[strlen(folder)] = is_slash ? '/' : *p;
        p += is_slash ? 2 : 0;
    }
    n += (size_t)snprintf(xml, sizeof xml, "<ListBucketResult><Name>b</Name><Prefix>%s</Prefix>", folder);
    for (size_t i = 0; i < s->n_objects; i++) {
        const char *key = s->objects[i].path + strlen(bucket), *name;

        if (strncmp(key, folder, strlen(folder)) != 0)
            continue;
        name = key + strlen(folder);
        if (n_before++ < skip)
            continue;
        if (n_before > skip + 1) {
            more = true;
            break;
        }
        if (name[strcspn(name, "/")])
            n += (size_t)snprintf(xml + n, sizeof xml - n, "<CommonPrefixes><Prefix>%s%.*s/</Prefix></CommonPrefixes>",
                                  folder, (int)strcspn(name, "/"), name);
        else
            n += (size_t)snprintf(
                xml + n, sizeof xml - n,
                "<Contents><Key>%s</Key><LastModified>day %u</LastModified><Size>%zu</Size></Contents>", key,
                s->objects[i].version, s->objects[i].n);
    }
    if (more)
        n +=
            (size_t)snprintf(xml + n, sizeof xml - n, "<NextContinuationToken>n/%zu</NextContinuationToken>", skip + 1);
    snprintf(xml + n, sizeof xml - n, "</ListBucketResult>");
    say(t, 200, xml);
}

static void answer(struct talk *t)
{
    struct server *s = t->s;
    const char *m = t->r.method;
    const size_t n = strlen(t->r.target);

    s->last = t->r;
    if (s->before)
        s->before(s, &t->r, s->arg);
    if (s->n_fail > 0) {
        s->n_fail--;
        say(t, s->status, "<Error><Code>AsTold</Code></Error>");
    } else if (strcmp(m, "GET") == 0 && s->elsewhere[0]) {
        char place[120];

        snprintf(place, sizeof place, "Location: %s\r\n", s->elsewhere);
        reply(t, 302, NULL, place, "", 0, 0);
    } else if (strcmp(m, "GET") == 0 && s->is_s3 && strstr(t->r.target, "list-type=2"))
        do_s3_list(t);
    else if (strcmp(m, "GET") == 0 && s->has_index && t->r.target[n - 1] == '/')
        do_index(t);
    else if (strcmp(m, "GET") == 0 || strcmp(m, "HEAD") == 0)
        do_get(t);
    else if (strcmp(m, "PUT") == 0)
        do_put(t);
    else if (strcmp(m, "DELETE") == 0)
        do_delete(t);
    else if (strcmp(m, "MKCOL") == 0)
        do_mkcol(t);
    else if (strcmp(m, "PROPFIND") == 0)
        do_propfind(t);
    else
        say(t, 501, "");
}

static void *serve(void *arg)
{
    struct server *s = arg;
    int fd;

    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        struct talk *t = calloc(1, sizeof *t);
        char rest[4096];

        if (!t)
            abort();
        t->s = s;
        t->fd = fd;
        if (hear(t))
            answer(t);
        shutdown(fd, SHUT_WR);
        while (recv(fd, rest, sizeof rest, 0) > 0) /* a reset would lose what was said */
            ;
        close(fd);
        free(t->body);
        free(t);
    }
    return NULL;
}

void server_start(struct server *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;

    *s = (struct server){.age_s = -1, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&at, n) != 0 || listen(s->fd, 64) != 0 ||
        getsockname(s->fd, (struct sockaddr *)&at, &n) != 0)
        abort();
    s->port = ntohs(at.sin_port);
    if (pthread_create(&s->thread, NULL, serve, s) != 0)
        abort();
}

void server_stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    for (size_t i = 0; i < s->n_objects; i++)
        free(s->objects[i].bytes);
    s->n_objects = 0;
}

void server_forget_environment(void)
{
    static const char *const names[] = {"http_proxy",       "HTTP_PROXY",          "all_proxy",
                                        "ALL_PROXY",        "AWS_ACCESS_KEY_ID",   "AWS_SECRET_ACCESS_KEY",
                                        "TUNE_HUB_TOKEN",   "TUNE_HUB_USER",       "TUNE_HUB_PASSWORD",
                                        "TUNE_HUB_NETRC",   "AWS_ENDPOINT_URL_S3", "AWS_SHARED_CREDENTIALS_FILE",
                                        "AWS_SESSION_TOKEN"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("HOME", "/nonexistent", 1);
}
