/* SPDX-License-Identifier: MIT */
/* transport_many.c - a tracker with several addresses, "tcp://a:9477,tcp://b:9477": of those one at a time is spoken to
 * (docs/scale.md), and the next one is when it does not answer. A line of nng's for each. */
#include "tracker/transport.h"

#include "tracker/protocol.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ADDRESSES 8
#define DEFAULT_PORT ":9477"

struct line {
    struct line *lines[MAX_ADDRESSES]; /* of transport_nng */
    int n;
    atomic_int current;
};

static void many_close(struct line *l)
{
    for (int i = 0; l && i < l->n; i++)
        transport_nng.close(l->lines[i]);
    free(l);
}

/* "farm:9477" and "farm" are as good as "tcp://farm:9477", behind an address with TLS as one with it. */
static enum err open_one(struct line *l, void *arg, const char *scheme, const char *address, size_t n, struct why *why)
{
    char url[300];
    const char *host;

    if (l->n == MAX_ADDRESSES || n == 0 || n > 256)
        return why_set(why, ERR_INPUT,
                       "a tracker has at most %d addresses with ',' between them, of at most 256 characters",
                       MAX_ADDRESSES);
    snprintf(url, sizeof url - sizeof DEFAULT_PORT, "%.*s", (int)n, address);
    if (!strstr(url, "://"))
        snprintf(url, sizeof url - sizeof DEFAULT_PORT, "%s%.*s", scheme, (int)n, address);
    host = strstr(url, "://") + 3;
    if (!strchr(host, '/') && (!strrchr(host, ':') || (strrchr(host, ']') && !strchr(strrchr(host, ']'), ':'))))
        strcat(url, DEFAULT_PORT);
    return transport_nng.open(arg, url, &l->lines[l->n], why);
}

static enum err many_open(void *arg, const char *url, struct line **out, struct why *why)
{
    struct line *l = calloc(1, sizeof *l);
    const char *scheme = strncmp(url, "tls+tcp://", 10) == 0 ? "tls+tcp://" : "tcp://";
    enum err e = l ? ERR_OK : ERR_NOMEM;

    for (const char *p = url; !e && p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        e = open_one(l, arg, scheme, p, strcspn(p, ","), why);
        l->n += !e;
    }
    if (e) {
        many_close(l);
        return e;
    }
    *out = l;
    return ERR_OK;
}

static enum err many_exchange(struct line *l, const void *bytes, size_t n_bytes, int64_t timeout_ms,
                              struct letter *reply)
{
    int i = atomic_load(&l->current);
    enum err e;

    assert(i >= 0 && i < l->n && l->n <= MAX_ADDRESSES);
    e = transport_nng.exchange(l->lines[i], bytes, n_bytes, timeout_ms, reply);

    if (e == ERR_UNREACHABLE || e == ERR_TIMEOUT)
        atomic_compare_exchange_strong(&l->current, &i, (i + 1) % l->n); /* unless another thread went on already */
    return e;
}

static void many_discard(struct letter *reply)
{
    transport_nng.discard(reply);
}

static void many_abort(struct line *l)
{
    for (int i = 0; i < l->n; i++)
        transport_nng.abort(l->lines[i]);
}

const struct transport_ops transport_many = {
    .name = "many",
    .open = many_open,
    .exchange = many_exchange,
    .discard = many_discard,
    .abort = many_abort,
    .close = many_close,
};
