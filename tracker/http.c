/* SPDX-License-Identifier: MIT */
#include "tracker/http.h"

#include "core/buf.h"
#include "core/err.h"

#include <nng/nng.h>
#include <nng/supplemental/http/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES ((size_t)16 << 20) /* 16,384 agents have 7 figures of some 80 bytes each */

typedef enum err render_fn(struct tracker *t, struct buf *out);

struct http {
    nng_http_server *server;
    char url[128];
};

static enum err healthy(struct tracker *t, struct buf *out)
{
    (void)t;
    return buf_puts(out, "ok\n");
}

static const struct page_of {
    const char *path, *type;
    render_fn *render;
} pages[] = {
    {"/", "text/html; charset=utf-8", page_html},
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", page_metrics},
    {"/healthz", "text/plain; charset=utf-8", healthy},
};

static void fill(nng_http_res *res, struct server *s, const struct page_of *p)
{
    struct buf text;

    buf_init(&text, PAGE_BYTES);
    if (server_page(s, p->render, &text) != ERR_OK) {
        nng_http_res_set_status(res, NNG_HTTP_STATUS_SERVICE_UNAVAILABLE);
        buf_clear(&text);
    }
    nng_http_res_set_header(res, "Content-Type", p->type);
    nng_http_res_set_header(res, "Cache-Control", "no-store");
    nng_http_res_set_header(res, "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    nng_http_res_set_header(res, "X-Content-Type-Options", "nosniff");
    nng_http_res_copy_data(res, buf_text(&text), text.len);
    buf_fini(&text);
}

static void serve(nng_aio *aio)
{
    nng_http_handler *h = nng_aio_get_input(aio, 1);
    nng_http_req *req = nng_aio_get_input(aio, 0);
    struct server *s = nng_http_handler_get_data(h);
    const char *path = nng_http_req_get_uri(req);
    const size_t n = strcspn(path, "?");
    nng_http_res *res;
    int rv = nng_http_res_alloc(&res);

    for (size_t i = 0; rv == 0 && i < sizeof pages / sizeof *pages; i++)
        if (strlen(pages[i].path) == n && strncmp(path, pages[i].path, n) == 0) {
            fill(res, s, &pages[i]);
            nng_aio_set_output(aio, 0, res);
            nng_aio_finish(aio, 0);
            return;
        }
    if (rv == 0)
        nng_http_res_free(res);
    rv = nng_http_res_alloc_error(&res, NNG_HTTP_STATUS_NOT_FOUND);
    if (rv == 0)
        nng_aio_set_output(aio, 0, res);
    nng_aio_finish(aio, rv);
}

static int add_pages(struct http *h, struct server *s)
{
    int rv = 0;

    for (size_t i = 0; rv == 0 && i < sizeof pages / sizeof *pages; i++) {
        nng_http_handler *handler;

        rv = nng_http_handler_alloc(&handler, pages[i].path, serve);
        if (rv == 0)
            rv = nng_http_handler_set_data(handler, s, NULL);
        if (rv == 0)
            rv = nng_http_server_add_handler(h->server, handler);
    }
    return rv;
}

static int real_port(const struct http *h)
{
    nng_sockaddr a;

    if (nng_http_server_get_addr(h->server, &a) != 0)
        return 0;
    return a.s_family == NNG_AF_INET ? (a.s_in.sa_port >> 8 | (a.s_in.sa_port & 0xff) << 8) : 0;
}

enum err http_start(struct server *s, const char *where, struct http **out, struct why *why)
{
    struct http *h = calloc(1, sizeof *h);
    const char *colon = strrchr(where, ':');
    nng_url *url = NULL;
    int rv, port;

    if (!h)
        return ERR_NOMEM;
    if (!colon || strlen(where) > 64) {
        free(h);
        return why_set(why, ERR_INPUT, "--http %.64s: expected an address and a port, e.g. 127.0.0.1:9478", where);
    }
    snprintf(h->url, sizeof h->url, "http://%s", where);
    rv = nng_url_parse(&url, h->url);
    if (rv == 0)
        rv = nng_http_server_hold(&h->server, url);
    if (rv == 0)
        rv = add_pages(h, s);
    if (rv == 0)
        rv = nng_http_server_start(h->server);
    nng_url_free(url);
    if (rv != 0) {
        free(h);
        return why_set(why, ERR_IO, "--http %.64s: %s", where, nng_strerror(rv));
    }
    port = real_port(h);
    if (port)
        snprintf(h->url, sizeof h->url, "http://%.*s:%d", (int)(colon - where), where, port);
    *out = h;
    return ERR_OK;
}

const char *http_url(const struct http *h)
{
    return h->url;
}
