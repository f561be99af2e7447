/* SPDX-License-Identifier: MIT */
#include "logs/hub/request.h"

#include "core/buf.h"
#include "core/err.h"
#include "logs/hub/credentials.h"

#include <assert.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define TOLD 600 /* bytes of a refusal that are looked at */

struct hub {
    CURL *curl;
    struct hub_options options;
    struct credentials credentials;
};

/* One try. */
struct transfer {
    const struct hub_request *q;
    struct hub_reply *r;
    CURL *curl;
    FILE *body;    /* of a PUT from a file */
    size_t i_body; /* of a body in memory */
    time_t date, modified;
    char told[TOLD + 1];
    size_t n_told;
    enum err failed; /* of writing what came */
    const struct hub_options *options;
};

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

enum err hub_open(const struct hub_options *options, struct hub **out, struct why *why)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct hub *h = calloc(1, sizeof *h);
    enum err e;

    pthread_once(&once, start_curl);
    if (!h)
        return why_set(why, ERR_NOMEM, "out of memory");
    h->options = *options;
    h->options.connect_s = options->connect_s > 0 ? options->connect_s : 10;
    h->options.stall_s = options->stall_s > 0 ? options->stall_s : 30;
    h->options.n_tries = options->n_tries > 0 ? options->n_tries : 4;
    h->options.wait_s = options->wait_s > 0 ? options->wait_s : 60;
    e = credentials_read(&h->credentials, why);
    if (!e && !(h->curl = curl_easy_init()))
        e = why_set(why, ERR_NOMEM, "libcurl does not start");
    if (e) {
        hub_close(h);
        return e;
    }
    *out = h;
    return ERR_OK;
}

void hub_close(struct hub *h)
{
    if (!h)
        return;
    curl_easy_cleanup(h->curl);
    credentials_forget(&h->credentials);
    free(h);
}

double hub_wait_s(const struct hub *h)
{
    return h->options.wait_s;
}

/* ---- what comes ---- */

static long status_of(CURL *curl)
{
    long status = 0;

    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* A 200 to a request for the rest: the object is another one now, and comes whole. */
static enum err start_over(struct transfer *t)
{
    if (t->r->from_start || t->q->from == 0 || status_of(t->curl) != 200)
        return ERR_OK;
    t->r->from_start = true;
    rewind(t->q->to_file);
    return ftruncate(fileno(t->q->to_file), 0) == 0 ? ERR_OK : ERR_IO;
}

static size_t on_body(char *bytes, size_t one, size_t n, void *arg)
{
    struct transfer *t = arg;
    const long status = status_of(t->curl);

    n *= one;
    if (status < 200 || status >= 300) {
        const size_t room = TOLD - t->n_told, n_kept = n < room ? n : room;

        assert(t->n_told <= TOLD);
        memcpy(t->told + t->n_told, bytes, n_kept);
        t->n_told += n_kept;
        return n;
    }
    if (t->q->to_file) {
        t->failed = start_over(t);
        if (!t->failed && (int64_t)n > t->q->max_bytes - (int64_t)ftello(t->q->to_file))
            t->failed = ERR_LIMIT;
        if (!t->failed && fwrite(bytes, 1, n, t->q->to_file) != n)
            t->failed = ERR_IO;
    } else if (t->q->to) {
        t->failed = buf_append(t->q->to, bytes, n);
    }
    return t->failed ? 0 : n;
}

static bool header_is(const char *line, size_t n, const char *name, const char **value, size_t *n_value)
{
    const size_t n_name = strlen(name);

    if (n <= n_name || line[n_name] != ':' || strncasecmp(line, name, n_name) != 0)
        return false;
    *value = line + n_name + 1;
    n -= n_name + 1;
    while (n && (**value == ' ' || **value == '\t')) {
        ++*value;
        n--;
    }
    while (n && strchr(" \t\r\n", (*value)[n - 1]))
        n--;
    *n_value = n;
    return true;
}

static void keep(const char *value, size_t n, char *to, size_t n_to)
{
    if (n < n_to) {
        memcpy(to, value, n);
        to[n] = '\0';
    }
}

static time_t date_of(const char *value, size_t n)
{
    char text[64] = "";

    keep(value, n, text, sizeof text);
    return curl_getdate(text, NULL);
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
    struct transfer *t = arg;
    struct hub_object *o = &t->r->object;
    const char *value;
    size_t n_value;

    n *= one;
    if (n > 5 && strncmp(line, "HTTP/", 5) == 0) { /* of the next reply, after a redirection */
        *o = (struct hub_object){.n_bytes = -1, .age_s = -1};
        t->date = t->modified = -1;
        t->n_told = 0;
    } else if (header_is(line, n, "ETag", &value, &n_value)) {
        keep(value, n_value, o->etag, sizeof o->etag);
    } else if (header_is(line, n, "Content-Length", &value, &n_value)) {
        o->n_bytes = strtoll(value, NULL, 10);
    } else if (header_is(line, n, "x-amz-meta-sha256", &value, &n_value)) {
        keep(value, n_value, o->sha256, sizeof o->sha256);
    } else if (header_is(line, n, "Date", &value, &n_value)) {
        t->date = date_of(value, n_value);
    } else if (header_is(line, n, "Last-Modified", &value, &n_value)) {
        t->modified = date_of(value, n_value);
    }
    return n;
}

/* ---- what goes ---- */

static size_t on_read(char *to, size_t one, size_t n, void *arg)
{
    struct transfer *t = arg;
    const struct hub_request *q = t->q;
    size_t left;

    n *= one;
    if (t->body)
        return fread(to, 1, n, t->body);
    assert(t->i_body <= (size_t)q->n_body);
    left = (size_t)q->n_body - t->i_body;
    n = n < left ? n : left;
    memcpy(to, (const char *)q->body + t->i_body, n);
    t->i_body += n;
    return n;
}

static int on_seek(void *arg, curl_off_t at, int origin)
{
    struct transfer *t = arg;

    if (origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    t->i_body = (size_t)at;
    return !t->body || fseeko(t->body, at, SEEK_SET) == 0 ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static int on_progress(void *arg, curl_off_t n_down, curl_off_t down, curl_off_t n_up, curl_off_t up)
{
    struct transfer *t = arg;

    if (t->options->progress && (n_down || n_up))
        t->options->progress(n_up ? up : down, n_up ? n_up : n_down, t->options->arg);
    return 0;
}

static void add_header(struct curl_slist **list, const char *name, const char *value, bool *ok)
{
    struct buf line;
    struct curl_slist *longer = NULL;

    buf_init(&line, 16384);
    if (!buf_printf(&line, "%s: %s", name, value))
        longer = curl_slist_append(*list, buf_text(&line));
    if (longer)
        *list = longer;
    *ok = *ok && longer;
    if (line.data)
        explicit_bzero(line.data, line.cap);
    buf_fini(&line);
}

static struct curl_slist *headers(const struct hub *h, const struct hub_request *q, bool *ok)
{
    struct curl_slist *list = NULL;

    *ok = true;
    if (!q->url->s3) { /* no waiting for 100 Continue; libcurl 7.88 would sign it */
        list = curl_slist_append(NULL, "Expect:");
        *ok = list;
    }
    if (q->etag && *q->etag)
        add_header(&list, "If-Match", q->etag, ok);
    else if (q->etag)
        add_header(&list, "If-None-Match", "*", ok);
    if (q->from && q->if_range)
        add_header(&list, "If-Range", q->if_range, ok);
    for (size_t i = 0; i < sizeof q->headers / sizeof *q->headers && q->headers[i] && *ok; i++) {
        struct curl_slist *longer = curl_slist_append(list, q->headers[i]);

        *ok = longer;
        list = longer ? longer : list;
    }
    if (q->url->s3 && *h->credentials.access_key) {
        add_header(&list, "x-amz-content-sha256", q->body_sha256 ? q->body_sha256 : sha256_of("", 0).hex, ok);
        if (*h->credentials.session)
            add_header(&list, "x-amz-security-token", h->credentials.session, ok);
    }
    if (q->url->s3 && q->body_sha256 && strcmp(q->method, "PUT") == 0)
        add_header(&list, "x-amz-meta-sha256", q->body_sha256, ok);
    return list;
}

static void set_credentials(CURL *c, const struct hub *h, bool s3)
{
    const struct credentials *k = &h->credentials;
    char signer[128];

    if (s3 && *k->access_key) {
        snprintf(signer, sizeof signer, "aws:amz:%s:s3", k->region);
        curl_easy_setopt(c, CURLOPT_AWS_SIGV4, signer);
        curl_easy_setopt(c, CURLOPT_USERNAME, k->access_key);
        curl_easy_setopt(c, CURLOPT_PASSWORD, k->secret_key);
    } else if (!s3 && *k->token) {
        curl_easy_setopt(c, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        curl_easy_setopt(c, CURLOPT_XOAUTH2_BEARER, k->token);
    } else if (!s3 && *k->user) {
        curl_easy_setopt(c, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        curl_easy_setopt(c, CURLOPT_USERNAME, k->user);
        curl_easy_setopt(c, CURLOPT_PASSWORD, k->password);
    } else if (!s3 && *k->netrc) {
        curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
        curl_easy_setopt(c, CURLOPT_NETRC_FILE, k->netrc);
    }
}

/* Who asked for TLS is not sent on to a place without it. */
static void set_connection(CURL *c, const struct hub *h, const char *url)
{
    const char *ca = getenv("TUNE_HUB_CA");

    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, strncmp(url, "https:", 6) == 0 ? "https" : "http,https");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)(h->options.connect_s * 1e3));
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, h->options.least_bytes_s ? (long)h->options.least_bytes_s : 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)(h->options.stall_s < 1 ? 1 : h->options.stall_s));
    curl_easy_setopt(c, CURLOPT_USERAGENT, "tune/" TUNE_VERSION);
    if (ca && *ca)
        curl_easy_setopt(c, CURLOPT_CAINFO, ca);
}

static void set_method(CURL *c, const struct hub_request *q)
{
    char range[32];

    if (strcmp(q->method, "HEAD") == 0) {
        curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
    } else if (q->body_path || q->body) {
        curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, (curl_off_t)q->n_body);
    }
    if (strcmp(q->method, "GET") == 0) { /* S3's headers, its session's token among them, would go along to anybody */
        curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, (long)!q->url->s3);
        curl_easy_setopt(c, CURLOPT_MAXREDIRS, 5L);
    } else if (strcmp(q->method, "HEAD") != 0) {
        curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, q->method);
    }
    if (q->from) { /* no CURLOPT_RESUME_FROM: that makes a whole body (200) an error */
        snprintf(range, sizeof range, "%lld-", (long long)q->from);
        curl_easy_setopt(c, CURLOPT_RANGE, range);
    }
}

static void set_callbacks(CURL *c, struct transfer *t)
{
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(c, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(c, CURLOPT_READDATA, t);
    curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, on_seek);
    curl_easy_setopt(c, CURLOPT_SEEKDATA, t);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
}

/* ---- what it means ---- */

static enum err curl_failed(const struct transfer *t, CURLcode code, struct why *why)
{
    const char *url = t->q->url->text;
    long os = 0;

    if (t->failed)
        return why_set(why, t->failed, "%s: what came could not be kept: %s", url,
                       t->failed == ERR_LIMIT ? "it is larger than expected" : "writing failed");
    curl_easy_getinfo(t->curl, CURLINFO_OS_ERRNO, &os);
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        return why_set(why, ERR_UNREACHABLE, "%s: no connection%s%s", url, os ? ": " : "", os ? strerror((int)os) : "");
    case CURLE_COULDNT_RESOLVE_HOST:
        return why_set(why, ERR_UNREACHABLE, "%s: there is no such host", url);
    case CURLE_COULDNT_RESOLVE_PROXY:
        return why_set(why, ERR_UNREACHABLE, "%s: there is no such proxy (see the variables http_proxy, https_proxy)",
                       url);
    case CURLE_OPERATION_TIMEDOUT:
        return why_set(why, ERR_TIMEOUT, "%s: no answer, or no byte of it, in time", url);
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
        return why_set(why, ERR_IO, "%s: the server closed the connection %s", url,
                       code == CURLE_GOT_NOTHING ? "without an answer" : "before all was there");
    default:
        return why_set(why, ERR_IO, "%s: %s", url, curl_easy_strerror(code));
    }
}

/* The code of S3's words, "AccessDenied"; "" when there is none. */
static const char *s3_code(struct transfer *t)
{
    char *begin, *end;

    assert(t->n_told <= TOLD);
    t->told[t->n_told] = '\0';
    begin = strstr(t->told, "<Code>");
    end = begin ? strstr(begin, "</Code>") : NULL;
    if (!end || end - begin > 100)
        return "";
    *end = '\0';
    for (char *p = begin; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = '?';
    return begin + strlen("<Code>");
}

#define ELSEWHERE "the server says that it is elsewhere (another region's endpoint?); expected the URL of that place"

static const struct {
    long status;
    enum err e;
    const char *words;
} meanings[] = {
    {301, ERR_INPUT, ELSEWHERE},
    {302, ERR_INPUT, ELSEWHERE},
    {307, ERR_INPUT, ELSEWHERE},
    {308, ERR_INPUT, ELSEWHERE},
    {401, ERR_AUTH, "the server wants credentials, or other ones (docs/hub.md: how they are given)"},
    {403, ERR_AUTH, "the server does not allow it with these credentials"},
    {404, ERR_NOT_FOUND, "there is nothing there"},
    {405, ERR_UNSUPPORTED, "the server does not do this (is it a WebDAV server, with writing allowed?)"},
    {409, ERR_STALE, "the server sees a conflict (another pusher, or a folder that is missing)"},
    {410, ERR_NOT_FOUND, "there is nothing there any more"},
    {412, ERR_STALE, "it was changed by another pusher"},
    {413, ERR_LIMIT, "the server does not take so many bytes"},
    {501, ERR_UNSUPPORTED, "the server does not know this request"},
    {507, ERR_IO, "the server has no room left"},
};

static enum err status_failed(struct transfer *t, struct why *why)
{
    const long status = t->r->status;
    const char *code = s3_code(t), *url = t->q->url->text;

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].status == status)
            return why_set(why, meanings[i].e, "%s: %ld%s%s: %s", url, status, *code ? " " : "", code,
                           meanings[i].words);
    return why_set(why, ERR_IO, "%s: the server answered %ld%s%s to %s", url, status, *code ? " " : "", code,
                   t->q->method);
}

static bool may_pass(enum err e, long status)
{
    return e && (e == ERR_UNREACHABLE || e == ERR_TIMEOUT || status == 429 || status == 500 || status == 502 ||
                 status == 503 || status == 504 || (e == ERR_IO && status == 0));
}

static enum err open_body(struct transfer *t, struct why *why)
{
    if (!t->q->body_path)
        return ERR_OK;
    t->body = fopen(t->q->body_path, "re");
    return t->body ? ERR_OK : why_set(why, ERR_IO, "%s cannot be read", t->q->body_path);
}

static enum err try_once(struct hub *h, const struct hub_request *q, struct hub_reply *r, struct why *why)
{
    struct transfer t = {.q = q, .r = r, .curl = h->curl, .date = -1, .modified = -1, .options = &h->options};
    struct buf url;
    struct curl_slist *list;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    bool ok;
    enum err e = open_body(&t, why);

    if (e)
        return e;
    memset(r, 0, sizeof *r);
    buf_init(&url, 4 * HUB_MAX_URL);
    buf_printf(&url, "%s%s", q->http ? q->http : q->url->http, q->suffix ? q->suffix : "");
    curl_easy_reset(h->curl);
    set_connection(h->curl, h, buf_text(&url));
    set_credentials(h->curl, h, q->url->s3);
    set_method(h->curl, q);
    set_callbacks(h->curl, &t);
    list = headers(h, q, &ok);
    curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(h->curl, CURLOPT_URL, buf_text(&url));
    if (ok && !url.failed)
        code = curl_easy_perform(h->curl);
    r->status = code == CURLE_OK ? status_of(h->curl) : 0;
    if (t.date != -1 && t.modified != -1)
        r->object.age_s = t.date - t.modified;
    if (code != CURLE_OK)
        e = curl_failed(&t, code, why);
    else if (r->status < 200 || r->status >= 300)
        e = status_failed(&t, why);
    r->object.exists = !e;
    curl_slist_free_all(list);
    buf_fini(&url);
    if (t.body)
        fclose(t.body);
    return e;
}

/* A file goes on where the last try ended; memory starts anew. */
static void prepare_again(struct hub_request *q, const struct hub_reply *r)
{
    if (q->to)
        buf_clear(q->to);
    if (q->to_file) {
        const off_t at = ftello(q->to_file);

        q->from = q->if_range && at > 0 && !r->from_start ? at : 0;
        if (!q->from) {
            rewind(q->to_file);
            (void)!ftruncate(fileno(q->to_file), 0);
        }
    }
}

enum err hub_send(struct hub *h, const struct hub_request *request, struct hub_reply *r, struct why *why)
{
    struct hub_request q = *request;
    double pause_s = 0.2;
    enum err e;

    for (int i = 0;; i++) {
        e = try_once(h, &q, r, why);
        if (i + 1 >= h->options.n_tries || !may_pass(e, r->status))
            return e;
        nanosleep(
            &(struct timespec){.tv_sec = (time_t)pause_s, .tv_nsec = (long)((pause_s - (double)(time_t)pause_s) * 1e9)},
            NULL);
        pause_s *= 3;
        prepare_again(&q, r);
    }
}
