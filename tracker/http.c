/* SPDX-License-Identifier: MIT */
#include "tracker/http.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/hash.h"
#include "page/page.h"
#include "tracker/api.h"
#include "tracker/events.h"
#include "tracker/state.h"

#include <assert.h>
#include <nng/nng.h>
#include <nng/supplemental/http/http.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ANSWER_BYTES ((size_t)16 << 20) /* 16,384 agents have 7 figures of some 80 bytes each */
#define N_CLERKS 2                      /* threads that answer: nng's own carry the farm's messages */
#define MAX_WAITING 256                 /* requests */
#define PATH_BYTES 600
#define TOKEN_CHARS 32
#define MISDIRECTED 421
#define HTML "text/html; charset=utf-8"
#define TEXT "text/plain; charset=utf-8"

/* A request on its way to a clerk. */
struct request_of {
    nng_aio *aio;
    struct request_of *next;
};

struct http {
    struct server *server;
    struct events *events;
    nng_http_server *http;
    char host[65], name[256];    /* where it listens; of this machine */
    const char *known;           /* a further name, or NULL */
    char token[TOKEN_CHARS + 1]; /* "" = none is asked for */
    char url[128];
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct request_of *first, *last;
    int n;
};

/* One request under way, and its answer. */
struct exchange {
    struct http *http;
    nng_http_req *req;
    char path[PATH_BYTES], query[PATH_BYTES]; /* decoded; behind the ? as it came */
    int status;
    const char *type;
    char cookie[160], location[PATH_BYTES]; /* "" = none */
    struct buf text;
    bool taken; /* the connection is somebody else's now */
};

/* ---- who asks ---- */

static const char *header(const struct exchange *x, const char *name)
{
    const char *value = nng_http_req_get_header(x->req, name);

    return value ? value : "";
}

static bool is_address(const char *host)
{
    return host[0] == '[' || host[strspn(host, "0123456789.")] == '\0';
}

/* A page of a stranger that has its name point here is not to read ours: only names that are ours are answered. */
static bool is_our_host(const struct http *h, const char *header)
{
    char host[256];
    const char *colon = strrchr(header, ':');
    const size_t n = colon && strchr(colon, ']') == NULL ? (size_t)(colon - header) : strlen(header);

    if (n == 0 || n >= sizeof host)
        return false;
    text_copy(host, n + 1, header);
    return is_address(host) || strcasecmp(host, "localhost") == 0 || strcasecmp(host, h->host) == 0 ||
           strcasecmp(host, h->name) == 0 || (h->known && strcasecmp(host, h->known) == 0);
}

static bool is_token(const struct http *h, const char *text, char end)
{
    const size_t n = strcspn(text, end == ';' ? "; " : "&");

    return n == TOKEN_CHARS && bytes_equal_ct(text, h->token, n);
}

static bool has_token(const struct exchange *x)
{
    static const char bearer[] = "Bearer ", name[] = "tune-token=";
    const char *said = header(x, "Authorization");

    if (!x->http->token[0])
        return true;
    if (strncmp(said, bearer, sizeof bearer - 1) == 0 && is_token(x->http, said + sizeof bearer - 1, ';'))
        return true;
    for (said = header(x, "Cookie"); (said = strstr(said, name)) != NULL; said += sizeof name - 1)
        if (is_token(x->http, said + sizeof name - 1, ';'))
            return true;
    return false;
}

/* ---- answers ---- */

static void words(struct exchange *x, int code, const char *text)
{
    x->status = code;
    x->type = TEXT;
    buf_clear(&x->text);
    buf_puts(&x->text, text);
}

static void render(struct exchange *x, const char *type, enum err (*of)(struct tracker *t, struct buf *out))
{
    x->type = type;
    if (server_page(x->http->server, of, &x->text) != ERR_OK)
        words(x, NNG_HTTP_STATUS_SERVICE_UNAVAILABLE, "the tracker is busy\n");
}

static void give_file(struct exchange *x, const char *name)
{
    struct page_file file;

    if (!page_find(name, &file)) {
        words(x, NNG_HTTP_STATUS_NOT_FOUND, "there is no such page\n");
        return;
    }
    x->type = file.type;
    buf_puts(&x->text, file.text);
}

static int status_of(enum err e)
{
    switch (e) {
    case ERR_OK:
        return NNG_HTTP_STATUS_OK;
    case ERR_NOT_FOUND:
        return NNG_HTTP_STATUS_NOT_FOUND;
    case ERR_INPUT:
        return NNG_HTTP_STATUS_BAD_REQUEST;
    case ERR_LIMIT:
        return NNG_HTTP_STATUS_PAYLOAD_TOO_LARGE;
    case ERR_BUSY:
        return NNG_HTTP_STATUS_SERVICE_UNAVAILABLE;
    default:
        return NNG_HTTP_STATUS_INTERNAL_SERVER_ERROR;
    }
}

static void give_metrics(struct exchange *x, const char *name)
{
    (void)name;
    render(x, "text/plain; version=0.0.4; charset=utf-8", page_metrics);
}

static void give_health(struct exchange *x, const char *name)
{
    (void)name;
    words(x, NNG_HTTP_STATUS_OK, "ok\n");
}

static void give_page(struct exchange *x, const char *name)
{
    (void)name;
    give_file(x, "page.html");
}

static void give_api(struct exchange *x, const char *name)
{
    x->status = status_of(api_answer(x->http->server, name, x->query, &x->text, &x->type));
}

/* A fixed path, or all paths that begin with one which ends in /; `open`: for programs that know neither our name nor
 * the token. */
static const struct place {
    const char *path;
    bool open;
    void (*give)(struct exchange *x, const char *name);
} places[] = {
    {"/metrics", true, give_metrics}, {"/healthz", true, give_health}, {"/", false, give_page},
    {"/job/", false, give_page},      {"/compare/", false, give_page}, {"/device/", false, give_page},
    {"/page/", false, give_file},     {"/api/", false, give_api},
};

static const struct place *place_of(const char *path)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const size_t n = strlen(places[i].path);

        if (n > 1 && places[i].path[n - 1] == '/' ? strncmp(path, places[i].path, n) == 0 && path[n]
                                                  : strcmp(path, places[i].path) == 0)
            return &places[i];
    }
    return NULL;
}

/* The token of an address is kept as a cookie and leaves the address, so that it is not passed on with it. */
static bool takes_token(struct exchange *x)
{
    static const char name[] = "token=";

    if (!x->http->token[0] || strncmp(x->query, name, sizeof name - 1) != 0 ||
        !is_token(x->http, x->query + sizeof name - 1, '&'))
        return false;
    snprintf(x->cookie, sizeof x->cookie, "tune-token=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000",
             x->http->token);
    words(x, NNG_HTTP_STATUS_SEE_OTHER, "");
    text_copy(x->location, sizeof x->location, x->path);
    return true;
}

static void listen_to_events(struct exchange *x, nng_http_conn *conn);

static void answer(struct exchange *x, nng_http_conn *conn)
{
    const struct place *p = place_of(x->path);

    if (!p) {
        words(x, NNG_HTTP_STATUS_NOT_FOUND, "there is no such page\n");
    } else if (!p->open && !is_our_host(x->http, header(x, "Host"))) {
        words(x, MISDIRECTED, "this tracker is not known by that name: see --http-name\n");
    } else if (!p->open && !takes_token(x) && !has_token(x)) {
        words(x, NNG_HTTP_STATUS_UNAUTHORIZED,
              "this page asks for the farm's token: open the address that tune-tracker printed when it started, "
              "or send it as Authorization: Bearer TOKEN\n");
    } else if (!x->location[0] && strcmp(x->path, "/api/events") == 0) {
        listen_to_events(x, conn);
    } else if (!x->location[0]) {
        p->give(x, x->path + strlen(p->path));
    }
}

/* ---- heads ---- */

static const char *const heads[][2] = {
    {"Cache-Control", "no-store"},
    {"Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
                                "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
};

static void listen_to_events(struct exchange *x, nng_http_conn *conn)
{
    struct buf head;

    if (strcmp(nng_http_req_get_method(x->req), "GET") != 0) {
        words(x, NNG_HTTP_STATUS_METHOD_NOT_ALLOWED, "only GET\n");
        return;
    }
    buf_init(&head, 4096);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        buf_printf(&head, "%s: %s\r\n", heads[i][0], heads[i][1]);
    if (nng_http_hijack(conn) == 0) {
        x->taken = true;
        if (events_listen(x->http->events, conn, buf_text(&head)) != ERR_OK)
            nng_http_conn_close(conn); /* too many listen: a browser comes again */
        nng_http_req_free(x->req);
    }
    buf_fini(&head);
}

static nng_http_res *reply_of(const struct exchange *x)
{
    nng_http_res *res;

    if (nng_http_res_alloc(&res) != 0)
        return NULL;
    nng_http_res_set_status(res, (uint16_t)x->status);
    nng_http_res_set_header(res, "Content-Type", x->type);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        nng_http_res_set_header(res, heads[i][0], heads[i][1]);
    if (x->cookie[0])
        nng_http_res_set_header(res, "Set-Cookie", x->cookie);
    if (x->location[0])
        nng_http_res_set_header(res, "Location", x->location);
    nng_http_res_copy_data(res, buf_text(&x->text), x->text.len);
    return res;
}

/* ---- clerks ---- */

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Splits an address and decodes %xx of its path; one that is too long, or has control characters, is "". */
static void read_address(struct exchange *x, const char *uri)
{
    const size_t n = strcspn(uri, "?#");
    size_t n_path = 0;

    if (strlen(uri) >= PATH_BYTES)
        return;
    text_copy(x->query, sizeof x->query, uri[n] == '?' ? uri + n + 1 : "");
    for (size_t i = 0; i < n; i++) {
        char c = uri[i];

        if (c == '%' && i + 2 < n && digit(uri[i + 1]) >= 0 && digit(uri[i + 2]) >= 0) {
            c = (char)(digit(uri[i + 1]) << 4 | digit(uri[i + 2]));
            i += 2;
        }
        if ((unsigned char)c < ' ' || c == 127) {
            n_path = 0;
            break;
        }
        x->path[n_path++] = c;
    }
    assert(n_path < PATH_BYTES);
    x->path[n_path] = '\0';
}

static void serve_one(struct http *h, nng_aio *aio)
{
    struct exchange x = {.http = h, .req = nng_aio_get_input(aio, 0), .status = NNG_HTTP_STATUS_OK, .type = TEXT};
    nng_http_res *res = NULL;

    buf_init(&x.text, ANSWER_BYTES);
    read_address(&x, nng_http_req_get_uri(x.req));
    answer(&x, nng_aio_get_input(aio, 2));
    if (x.text.failed)
        words(&x, NNG_HTTP_STATUS_INTERNAL_SERVER_ERROR, "too large\n");
    if (!x.taken)
        res = reply_of(&x);
    nng_aio_set_output(aio, 0, res);
    nng_aio_finish(aio, x.taken || res ? 0 : NNG_ENOMEM);
    buf_fini(&x.text);
}

static void *serve_all(void *arg)
{
    struct http *h = arg;

    for (;;) {
        struct request_of *r;

        pthread_mutex_lock(&h->lock);
        while (!h->first)
            pthread_cond_wait(&h->work, &h->lock);
        r = h->first;
        h->first = r->next;
        h->n--;
        pthread_mutex_unlock(&h->lock);
        serve_one(h, r->aio);
        free(r);
    }
    return NULL;
}

/* On nng's threads. */
static void came(nng_aio *aio)
{
    struct http *h = nng_http_handler_get_data(nng_aio_get_input(aio, 1));
    struct request_of *r = calloc(1, sizeof *r);
    bool taken = false;

    pthread_mutex_lock(&h->lock);
    if (r && h->n < MAX_WAITING) {
        r->aio = aio;
        *(h->first ? &h->last->next : &h->first) = r;
        h->last = r;
        h->n++;
        taken = true;
        pthread_cond_signal(&h->work);
    }
    pthread_mutex_unlock(&h->lock);
    if (taken)
        return;
    free(r);
    nng_aio_finish(aio, NNG_EAGAIN);
}

/* ---- starting ---- */

static int add_handler(struct http *h)
{
    nng_http_handler *handler;
    int rv = nng_http_handler_alloc(&handler, "/", came);

    if (rv == 0)
        rv = nng_http_handler_collect_body(handler, true, 0); /* else a MiB is taken for what nobody reads */
    if (rv == 0)
        rv = nng_http_handler_set_tree(handler);
    if (rv == 0)
        rv = nng_http_handler_set_data(handler, h, NULL);
    if (rv == 0)
        rv = nng_http_server_add_handler(h->http, handler);
    return rv;
}

static int real_port(const struct http *h)
{
    nng_sockaddr a;
    uint16_t port;

    if (nng_http_server_get_addr(h->http, &a) != 0)
        return 0;
    port = a.s_family == NNG_AF_INET ? a.s_in.sa_port : a.s_family == NNG_AF_INET6 ? a.s_in6.sa_port : 0;
    return port >> 8 | (port & 0xff) << 8;
}

/* Who has the farm's key may look; the token tells as much and no more. */
static void make_token(struct http *h)
{
    static const char purpose[] = "tune page";
    const struct key *key = server_key(h->server);
    uint8_t mac[SHA256_BYTES];
    char hex[SHA256_HEX + 1];

    if (!key)
        return;
    hmac_sha256(key->bytes, sizeof key->bytes, purpose, sizeof purpose - 1, NULL, 0, mac);
    hex_encode(mac, sizeof mac, hex);
    text_copy(h->token, sizeof h->token, hex);
}

static enum err start_clerks(struct http *h, struct why *why)
{
    enum err e = events_start(h->server, &h->events);
    pthread_t thread;

    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->work, NULL);
    for (int i = 0; i < N_CLERKS && !e; i++)
        e = pthread_create(&thread, NULL, serve_all, h) != 0 ? ERR_NOMEM : ERR_OK;
    return e ? why_set(why, e, "cannot start a thread") : ERR_OK;
}

static int listen_on(struct http *h)
{
    nng_url *url = NULL;
    int rv = nng_url_parse(&url, h->url);

    if (rv == 0)
        rv = nng_http_server_hold(&h->http, url);
    if (rv == 0)
        rv = add_handler(h);
    if (rv == 0)
        rv = nng_http_server_start(h->http);
    nng_url_free(url);
    return rv;
}

enum err http_start(struct server *s, const char *where, const char *name, struct http **out, struct why *why)
{
    struct http *h = calloc(1, sizeof *h);
    const char *colon = strrchr(where, ':');
    enum err e;
    int rv;

    if (!h)
        return ERR_NOMEM;
    if (!colon || strlen(where) > 64) {
        free(h);
        return why_set(why, ERR_INPUT, "--http %.64s: expected an address and a port, e.g. 127.0.0.1:9478", where);
    }
    h->server = s;
    h->known = name;
    make_token(h);
    text_copy(h->host, (size_t)(colon - where) + 1, where);
    gethostname(h->name, sizeof h->name - 1);
    snprintf(h->url, sizeof h->url, "http://%s", where);
    e = start_clerks(h, why);
    if (e)
        return e; /* threads have it */
    rv = listen_on(h);
    if (rv != 0)
        return why_set(why, ERR_IO, "--http %.64s: %s", where, nng_strerror(rv));
    snprintf(h->url, sizeof h->url, "http://%s:%d%s%s", h->host, real_port(h), h->token[0] ? "/?token=" : "", h->token);
    server_expect_page(s, real_port(h));
    *out = h;
    return ERR_OK;
}

const char *http_url(const struct http *h)
{
    return h->url;
}
