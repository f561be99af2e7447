/* SPDX-License-Identifier: MIT */
#include "tracker/carrier.h"

#include "core/buf.h"
#include "core/err.h"
#include "logs/hub/hub.h"
#include "tracker/protocol.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_BYTES_S 16384

enum state { IDLE, AT_WORK, DONE, ENDING };

struct carrier {
    struct hub *hub;
    struct hub_url folder;
    struct load load;
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock; /* of: */
    pthread_cond_t changed;
    enum state state;
};

/* What a store says it has kept is not believed before it has given it back. */
static enum err put(struct hub *h, const struct hub_url *u, const struct buf *bytes, struct why *why)
{
    struct hub_object o;
    struct buf back;
    enum err e = hub_put(h, u, buf_text(bytes), bytes->len, HUB_ANY, why);

    buf_init(&back, BLOB_MAX_BYTES);
    if (!e)
        e = hub_get(h, u, &back, &o, why);
    if (!e && (back.len != bytes->len || memcmp(buf_text(&back), buf_text(bytes), back.len) != 0))
        e = why_set(why, ERR_INPUT, "%s: the store gives other bytes back than it got", u->text);
    buf_fini(&back);
    return e;
}

/* Of a folder that does not have the probe either nothing is known: another bucket, another prefix, one that is gone.
 */
static enum err look_for_probe(struct hub *h, const struct hub_url *folder, struct why *why)
{
    struct hub_object o;
    struct hub_url u;
    struct buf bytes;
    enum err e = hub_url_below(folder, CARRIER_PROBE, &u, why);

    buf_init(&bytes, BLOB_MAX_BYTES);
    if (!e)
        e = hub_get(h, &u, &bytes, &o, why);
    buf_fini(&bytes);
    return e == ERR_NOT_FOUND ? ERR_UNREACHABLE : e;
}

static enum err get(struct hub *h, const struct hub_url *folder, const struct hub_url *u, struct load *l,
                    struct why *why)
{
    struct hub_object o;
    struct why probe = {""};
    enum err e = hub_get(h, u, &l->bytes, &o, why),
             known = e == ERR_NOT_FOUND ? look_for_probe(h, folder, &probe) : ERR_OK;

    if (known) {
        *why = probe;
        return known;
    }
    if (e == ERR_INPUT) /* as of a redirection: nothing was seen of the blob */
        return ERR_UNREACHABLE;
    if (e == ERR_LIMIT || (!e && strcmp(sha256_of(buf_text(&l->bytes), l->bytes.len).hex, l->name) != 0))
        e = why_set(why, ERR_INPUT, "%s: the store has another content there than the name says", u->text);
    return e;
}

static enum err carry(struct carrier *c)
{
    struct load *l = &c->load;
    char path[sizeof l->part + sizeof l->name];
    struct hub_url u;
    enum err e;

    snprintf(path, sizeof path, "%s%s", l->part, l->name);
    e = hub_url_below(&c->folder, path, &u, &l->why);
    if (e)
        return e;
    return l->what == CARRY_PUT   ? put(c->hub, &u, &l->bytes, &l->why)
           : l->what == CARRY_GET ? get(c->hub, &c->folder, &u, l, &l->why)
                                  : hub_delete(c->hub, &u, &l->why);
}

static void *work(void *arg)
{
    struct carrier *c = arg;

    pthread_mutex_lock(&c->lock);
    while (c->state != ENDING) {
        if (c->state != AT_WORK) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        pthread_mutex_unlock(&c->lock);
        c->load.e = carry(c);
        pthread_mutex_lock(&c->lock);
        c->state = c->state == ENDING ? ENDING : DONE;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

enum err carrier_open(const char *url, double stall_s, struct carrier **out, struct why *why)
{
    const struct hub_options o = {
        .connect_s = stall_s, .stall_s = stall_s, .n_tries = 1, .least_bytes_s = LEAST_BYTES_S};
    struct carrier *c = calloc(1, sizeof *c);
    enum err e;

    if (!c)
        return why_set(why, ERR_NOMEM, "out of memory");
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    buf_init(&c->load.bytes, BLOB_MAX_BYTES);
    e = hub_url_parse(url, &c->folder, why);
    if (!e && !c->folder.s3)
        e = why_set(why, ERR_INPUT, "%s: expected s3://BUCKET/PREFIX", url);
    if (!e)
        e = hub_open(&o, &c->hub, why);
    c->runs = !e && pthread_create(&c->thread, NULL, work, c) == 0;
    if (!e && !c->runs)
        e = why_set(why, ERR_NOMEM, "cannot start a thread");
    if (e) {
        carrier_close(c);
        return e;
    }
    *out = c;
    return ERR_OK;
}

void carrier_close(struct carrier *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->state = ENDING;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    if (c->runs)
        pthread_join(c->thread, NULL);
    hub_close(c->hub);
    buf_fini(&c->load.bytes);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

struct load *carrier_load(struct carrier *c, bool *done)
{
    enum state state;

    pthread_mutex_lock(&c->lock);
    state = c->state;
    pthread_mutex_unlock(&c->lock);
    *done = state == DONE;
    return state == AT_WORK ? NULL : &c->load;
}

void carrier_go(struct carrier *c)
{
    pthread_mutex_lock(&c->lock);
    assert(c->state == IDLE && c->load.name[0]);
    c->state = AT_WORK;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void carrier_again(struct carrier *c)
{
    pthread_mutex_lock(&c->lock);
    assert(c->state == DONE);
    c->state = IDLE;
    pthread_mutex_unlock(&c->lock);
}

void carrier_clear(struct carrier *c)
{
    pthread_mutex_lock(&c->lock);
    assert(c->state == IDLE || c->state == DONE);
    c->state = IDLE;
    pthread_mutex_unlock(&c->lock);
    buf_fini(&c->load.bytes);
    c->load = (struct load){.name = ""};
    buf_init(&c->load.bytes, BLOB_MAX_BYTES);
}
