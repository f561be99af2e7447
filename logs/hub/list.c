/* SPDX-License-Identifier: MIT */
/* list.c - what lies in a folder: S3's ListObjectsV2, WebDAV's PROPFIND (RFC 4918), nginx's index in JSON. */
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "logs/hub/request.h"

#include <assert.h>
#include <ctype.h>
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX_BYTES ((size_t)64 << 20)
#define LIST_MAX_PAGES 10000
#define FIELD 2100

/* The fields of an entry that both kinds of XML have under different names. */
enum field { NAME, SIZE, MODIFIED, NEXT, FOLDER, N_FIELDS };

struct dialect {
    const char *entry, *folder_entry; /* elements that are one entry each */
    const char *names[N_FIELDS];
};

static const struct dialect s3_dialect = {
    "Contents", "CommonPrefixes", {"Key", "Size", "LastModified", "NextContinuationToken", NULL}};
static const struct dialect dav_dialect = {
    "response", "response", {"href", "getcontentlength", "getlastmodified", NULL, "collection"}};

struct listing {
    const struct dialect *dialect;
    const struct hub_url *folder;
    void (*each)(const struct hub_entry *e, void *arg);
    void *arg;
    char fields[N_FIELDS][FIELD];
    size_t n[N_FIELDS];
    int at;     /* field being read, -1 = none */
    int n_deep; /* elements open */
};

static const char *plain_name(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

static int field_of(const struct dialect *d, const char *name)
{
    if (d == &s3_dialect && strcmp(name, "Prefix") == 0)
        return NAME;
    for (int i = 0; i < N_FIELDS; i++)
        if (d->names[i] && strcmp(d->names[i], name) == 0)
            return i;
    return -1;
}

static bool is_entry(const struct dialect *d, const char *name)
{
    return strcmp(name, d->entry) == 0 || strcmp(name, d->folder_entry) == 0;
}

static void forget(struct listing *l)
{
    for (int i = 0; i < N_FIELDS; i++)
        if (i != NEXT)
            l->n[i] = 0;
}

static void on_start(void *arg, const char *element, const char **attributes)
{
    struct listing *l = arg;
    const char *name = plain_name(element);
    const int field = field_of(l->dialect, name);

    (void)attributes;
    l->n_deep++;
    if (is_entry(l->dialect, name))
        forget(l);
    else if (field >= 0) {
        l->at = field;
        l->n[field] = 0;
        if (field == FOLDER)
            l->fields[FOLDER][l->n[FOLDER]++] = '1';
    }
}

static void on_text(void *arg, const char *text, int n)
{
    struct listing *l = arg;

    assert(l->at < N_FIELDS && l->n_deep > 0);
    for (int i = 0; l->at >= 0 && i < n && l->n[l->at] + 1 < FIELD; i++)
        l->fields[l->at][l->n[l->at]++] = text[i];
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? (tolower((unsigned char)c) - 'a') + 10
                                        : -1;
}

static void decode(char *text)
{
    char *to = text;

    for (const char *p = text; *p; p++)
        if (*p == '%' && hex_digit(p[1]) >= 0 && hex_digit(p[2]) >= 0) {
            *to++ = (char)(hex_digit(p[1]) * 16 + hex_digit(p[2]));
            p += 2;
        } else {
            *to++ = *p;
        }
    *to = '\0';
}

/* Control characters of a server's names must not reach a terminal. */
static void tame(char *text)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
}

/* The name below the folder: "" for the folder itself. */
static const char *below(const struct listing *l, char *name)
{
    const char *folder;
    size_t n;

    if (l->folder->s3) {
        n = strlen(l->folder->key);
        return strncmp(name, l->folder->key, n) == 0 ? name + n + (name[n] == '/' && n && name[n - 1] != '/') : name;
    }
    folder = strstr(name, "://");
    if (folder)
        name = strchr(folder + 3, '/') ? strchr(folder + 3, '/') : name + strlen(name);
    folder = strchr(strstr(l->folder->http, "://") + 3, '/');
    n = strlen(folder);
    if (n && folder[n - 1] == '/')
        n--;
    if (strncmp(name, folder, n) == 0)
        name += n + (name[n] == '/');
    decode(name);
    return name;
}

/* -1 for what is no size. */
static int64_t size_of(const char *text)
{
    const long long n = strtoll(text, NULL, 10);

    return n < 0 ? -1 : n;
}

static void tell(struct listing *l)
{
    char *name = l->fields[NAME];
    struct hub_entry e = {.modified = l->fields[MODIFIED], .n_bytes = -1};
    char shown[FIELD + 1];
    size_t n;

    for (int i = 0; i < N_FIELDS; i++) {
        assert(l->n[i] < FIELD);
        l->fields[i][l->n[i]] = '\0';
    }
    n = (size_t)snprintf(shown, sizeof shown - 1, "%s", below(l, name));
    if (!n)
        return;
    if (l->n[FOLDER] && shown[n - 1] != '/')
        strcpy(shown + n, "/");
    tame(shown);
    tame(l->fields[MODIFIED]);
    e.name = shown;
    if (l->n[SIZE])
        e.n_bytes = size_of(l->fields[SIZE]);
    l->each(&e, l->arg);
}

static void on_end(void *arg, const char *element)
{
    struct listing *l = arg;
    const char *name = plain_name(element);

    assert(l->n_deep > 0); /* the parser ends only what has begun */
    l->n_deep--;
    l->at = -1;
    if (is_entry(l->dialect, name)) {
        tell(l);
        forget(l);
    }
}

static enum err parse(struct listing *l, const struct buf *text, struct why *why)
{
    XML_Parser p = XML_ParserCreate(NULL);
    enum XML_Status s;

    if (!p)
        return why_set(why, ERR_NOMEM, "out of memory");
    l->at = -1;
    l->n_deep = 0;
    l->n[NEXT] = 0;
    forget(l);
    XML_SetUserData(p, l);
    XML_SetElementHandler(p, on_start, on_end);
    XML_SetCharacterDataHandler(p, on_text);
    s = XML_Parse(p, buf_text(text), (int)text->len, 1);
    XML_ParserFree(p);
    return s == XML_STATUS_OK ? ERR_OK : why_set(why, ERR_PROTOCOL, "%s: the server's list is no XML", l->folder->text);
}

static void append_encoded(struct buf *out, const char *text)
{
    for (const char *p = text; *p; p++)
        if (isalnum((unsigned char)*p) || strchr("-._~", *p))
            buf_append(out, p, 1);
        else
            buf_printf(out, "%%%02X", (unsigned char)*p);
}

/* Parameters in alphabetical order: that is how they are signed. */
static enum err s3_page(struct hub *h, struct listing *l, struct why *why)
{
    struct buf query, body;
    struct hub_reply r;
    enum err e;

    buf_init(&query, 4 * HUB_MAX_URL);
    buf_init(&body, LIST_MAX_BYTES);
    buf_puts(&query, "?");
    if (l->n[NEXT]) {
        l->fields[NEXT][l->n[NEXT]] = '\0';
        buf_puts(&query, "continuation-token=");
        append_encoded(&query, l->fields[NEXT]);
        buf_puts(&query, "&");
    }
    buf_puts(&query, "delimiter=%2F&list-type=2&prefix=");
    append_encoded(&query, l->folder->key);
    if (*l->folder->key && l->folder->key[strlen(l->folder->key) - 1] != '/')
        buf_puts(&query, "%2F");
    e = query.failed ? why_set(why, query.failed, "%s: the URL is too long", l->folder->text)
                     : hub_send(h,
                                &(struct hub_request){.url = l->folder,
                                                      .method = "GET",
                                                      .http = l->folder->origin,
                                                      .suffix = buf_text(&query),
                                                      .to = &body},
                                &r, why);
    if (!e)
        e = parse(l, &body, why);
    buf_fini(&query);
    buf_fini(&body);
    return e;
}

static enum err list_s3(struct hub *h, struct listing *l, struct why *why)
{
    enum err e = ERR_OK;

    l->dialect = &s3_dialect;
    for (int i = 0; i < LIST_MAX_PAGES && !e; i++) {
        e = s3_page(h, l, why);
        if (!l->n[NEXT])
            break;
    }
    return e;
}

static enum err list_dav(struct hub *h, struct listing *l, struct why *why)
{
    static const char wanted[] = "<?xml version=\"1.0\"?><D:propfind xmlns:D=\"DAV:\"><D:prop><D:resourcetype/>"
                                 "<D:getcontentlength/><D:getlastmodified/></D:prop></D:propfind>";
    struct buf body;
    struct hub_reply r;
    enum err e;

    buf_init(&body, LIST_MAX_BYTES);
    l->dialect = &dav_dialect;
    e = hub_send(h,
                 &(struct hub_request){.url = l->folder,
                                       .method = "PROPFIND",
                                       .suffix = "",
                                       .headers = {"Depth: 1", "Content-Type: application/xml"},
                                       .body = wanted,
                                       .n_body = sizeof wanted - 1,
                                       .to = &body},
                 &r, why);
    if (!e && r.status != 207)
        e = why_set(why, ERR_UNSUPPORTED, "%s: the server does not list folders", l->folder->text);
    if (!e)
        e = parse(l, &body, why);
    buf_fini(&body);
    return e;
}

static enum err list_json(struct hub *h, struct listing *l, struct why *why)
{
    struct buf body;
    struct hub_reply r;
    cJSON *root = NULL;
    const cJSON *item;
    enum err e;

    buf_init(&body, LIST_MAX_BYTES);
    e = hub_send(h, &(struct hub_request){.url = l->folder, .method = "GET", .to = &body}, &r, why);
    if (!e && (json_parse(buf_text(&body), body.len, &root, NULL) || !cJSON_IsArray(root)))
        e = why_set(why, ERR_UNSUPPORTED,
                    "%s: the server does not list folders; expected WebDAV's PROPFIND or an index in JSON (nginx: "
                    "autoindex_format json)",
                    l->folder->text);
    for (item = e ? NULL : root->child; item; item = item->next) {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name")),
                   *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "type")),
                   *modified = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "mtime"));
        const cJSON *size = cJSON_GetObjectItemCaseSensitive(item, "size");
        char shown[FIELD];
        struct hub_entry entry = {.name = shown, .modified = modified ? modified : "", .n_bytes = -1};

        if (!name)
            continue;
        snprintf(shown, sizeof shown, "%s%s", name, type && strcmp(type, "directory") == 0 ? "/" : "");
        tame(shown);
        if (cJSON_IsNumber(size) && size->valuedouble >= 0 && size->valuedouble < 9e18)
            entry.n_bytes = (int64_t)size->valuedouble;
        l->each(&entry, l->arg);
    }
    cJSON_Delete(root);
    buf_fini(&body);
    return e;
}

enum err hub_list(struct hub *h, const struct hub_url *folder, void (*each)(const struct hub_entry *e, void *arg),
                  void *arg, struct why *why)
{
    struct listing *l = calloc(1, sizeof *l);
    enum err e;

    if (!l)
        return why_set(why, ERR_NOMEM, "out of memory");
    l->folder = folder;
    l->each = each;
    l->arg = arg;
    if (folder->s3) {
        e = list_s3(h, l, why);
    } else {
        e = list_dav(h, l, why);
        if (e == ERR_UNSUPPORTED || e == ERR_AUTH || e == ERR_IO) /* 405, 501; some say 403 or 400 */
            e = list_json(h, l, why);
    }
    free(l);
    return e;
}
