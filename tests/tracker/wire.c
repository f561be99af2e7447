/* SPDX-License-Identifier: MIT */
#include "tests/tracker/wire.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct line {
    struct wire *wire;
};

static enum err wire_open(void *arg, const char *url, struct line **out, struct why *why)
{
    struct line *l = calloc(1, sizeof *l);

    (void)url;
    (void)why;
    l->wire = arg;
    l->wire->n_open++;
    *out = l;
    return ERR_OK;
}

static void note(struct wire *w, const void *bytes, size_t n, int64_t timeout_ms)
{
    struct message m;

    assert_true(w->n < MAX_SEEN);
    assert_int_equal(message_decode(bytes, n, &m, NULL), ERR_OK);
    w->seen[w->n] = m.json;
    m.json = NULL;
    w->n_bytes[w->n] = 0;
    for (size_t i = 0; i < m.n_blobs; i++)
        w->n_bytes[w->n] += m.blobs[i].n_bytes;
    w->timeout_ms[w->n] = timeout_ms;
    w->at_ns[w->n++] = w->r->now_ns;
    message_fini(&m);
}

static enum err deliver(struct buf *bytes, struct letter *reply)
{
    struct buf *own = malloc(sizeof *own);

    *own = *bytes;
    *reply = (struct letter){.bytes = own->data, .n_bytes = own->len, .own = own};
    return ERR_OK;
}

/* The tracker's reply as bytes. */
static void execute(struct wire *w, const void *bytes, size_t n, struct buf *out)
{
    struct errand *e = errand_new(bytes, n);
    struct caller *left = NULL;

    assert_true(hall_begin(&w->r->hall) && hall_enter(&w->r->hall, &e->caller) &&
                hall_end(&w->r->hall, NULL, 0, &left, NULL));
    assert_ptr_equal(left, e);
    *out = e->caller.reply;
    e->left = true;
    errand_free(e);
}

static void change(struct wire *w, struct buf *reply)
{
    struct blobs set;
    struct message m;
    cJSON *changed;

    blobs_init(&set, 1000);
    if (w->attach)
        blobs_put(&set, w->attach, strlen(w->attach), NULL);
    assert_int_equal(message_decode(reply->data, reply->len, &m, NULL), ERR_OK);
    changed = w->alter(m.json);
    buf_clear(reply);
    if (changed)
        assert_int_equal(message_encode(changed, &set, NULL, "", reply), ERR_OK);
    else
        buf_puts(reply, "HTTP/1.1 400 Bad Request\r\n\r\n");
    if (changed != m.json)
        cJSON_Delete(changed);
    message_fini(&m);
    blobs_fini(&set);
}

static enum err busy(struct letter *reply)
{
    cJSON *json = cJSON_Parse("{\"ok\":false,\"id\":\"\",\"err\":\"busy\",\"why\":\"the tracker is busy\"}");
    struct buf b;

    buf_init(&b, 1000);
    assert_int_equal(message_encode(json, NULL, NULL, "", &b), ERR_OK);
    cJSON_Delete(json);
    return deliver(&b, reply);
}

static enum err wire_exchange(struct line *l, const void *bytes, size_t n, int64_t timeout_ms, struct letter *reply)
{
    struct wire *w = l->wire;
    const enum how how = w->plan[w->n];
    struct buf out;

    note(w, bytes, n, timeout_ms);
    if (how == BUSY)
        return busy(reply);
    if (how == NO_WAY || how == TIMEOUT) {
        rig_sleep(w->r, how == NO_WAY ? 1000 : timeout_ms);
        return how == NO_WAY ? ERR_UNREACHABLE : ERR_TIMEOUT;
    }
    execute(w, bytes, n, &out);
    if (how == ALTERED)
        change(w, &out);
    if (how == FORGED)
        out.data[out.len - 1] ^= 1;
    if (how == NO_REPLY) {
        buf_fini(&out);
        return ERR_UNREACHABLE;
    }
    return deliver(&out, reply);
}

static void wire_discard(struct letter *reply)
{
    if (reply->own)
        buf_fini(reply->own);
    free(reply->own);
    *reply = (struct letter){.own = NULL};
}

static void wire_abort(struct line *l)
{
    (void)l;
    fail_msg("no call is under way that could be aborted");
}

static void wire_close(struct line *l)
{
    l->wire->n_open--;
    free(l);
}

const struct transport_ops transport_wire = {"wire",     wire_open,  wire_exchange, wire_discard,
                                             wire_abort, wire_close, NULL};
