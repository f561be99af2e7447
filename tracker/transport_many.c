/* SPDX-License-Identifier: MIT */
/* transport_many.c - a tracker with several addresses, "tcp://a:9477,tcp://b:9477": of those one at a time is spoken to
 * (docs/scale.md), and the next one is when it does not answer, or has another part of the farm. A line of nng's for
 * each. */
#include "tracker/transport.h"

#include "tracker/address.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    struct line *lines[ADDRESSES_MOST]; /* of transport_nng */
    int n;
    atomic_int current;
};

static void many_close(struct line *l)
{
    for (int i = 0; l && i < l->n; i++)
        transport_nng.close(l->lines[i]);
    free(l);
}

static enum err open_one(struct line *l, void *arg, const char *address, size_t n, struct why *why)
{
    char url[ADDRESS_BYTES];

    assert(n < sizeof url && l->n < ADDRESSES_MOST);
    snprintf(url, sizeof url, "%.*s", (int)n, address);
    return transport_nng.open(arg, url, &l->lines[l->n], why);
}

static enum err many_open(void *arg, const char *url, struct line **out, struct why *why)
{
    char all[ADDRESSES_BYTES];
    struct line *l = calloc(1, sizeof *l);
    enum err e = l ? address_complete(url, false, all, why) : ERR_NOMEM;

    for (const char *p = all; !e && p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        e = open_one(l, arg, p, strcspn(p, ","), why);
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

    assert(i >= 0 && i < l->n && l->n <= ADDRESSES_MOST);
    e = transport_nng.exchange(l->lines[i], bytes, n_bytes, timeout_ms, reply);

    if (e == ERR_UNREACHABLE || e == ERR_TIMEOUT)
        atomic_compare_exchange_strong(&l->current, &i, (i + 1) % l->n); /* unless another thread went on already */
    return e;
}

static void many_turn(struct line *l)
{
    int i = atomic_load(&l->current);

    atomic_compare_exchange_strong(&l->current, &i, (i + 1) % l->n);
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
    .turn = many_turn,
};
