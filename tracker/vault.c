/* SPDX-License-Identifier: MIT */
#include "tracker/vault.h"

#include "core/buf.h"
#include "core/err.h"
#include "tracker/carrier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS ((int64_t)86400000)
#define LOOK_MS 60000 /* for something to send, when there was nothing */
#define PAUSE_MS 1000
#define MAX_FETCH_PAUSE_MS 30000
#define MAX_SEND_PAUSE_MS 600000
#define N_LOST 64
#define LOST_WORDS 200

/* A way to the S3 store, or from it. */
struct way {
    struct carrier *carrier;
    int64_t not_before_ns, pause_ms, max_pause_ms;
};

/* One that the S3 store does not have as it was. */
struct lost {
    char name[SHA256_HEX + 1];
    int64_t not_before_ns; /* then it is looked at again */
    char words[LOST_WORDS];
};

struct vault {
    struct vault_options o;
    struct way out, back;
    int64_t n_skipped; /* of those that could be sent, for they failed */
    struct lost lost[N_LOST];
    int i_lost;
    char url[];
};

/* ---- open ---- */

enum err vault_open(const struct vault_options *o, struct vault **out, struct why *why)
{
    struct vault *v = calloc(1, sizeof *v + strlen(o->url) + 1);
    struct load *probe;
    bool done;
    enum err e;

    if (!v)
        return why_set(why, ERR_NOMEM, "out of memory");
    v->o = *o;
    v->o.pause_ms = o->pause_ms ? o->pause_ms : PAUSE_MS;
    strcpy(v->url, o->url);
    v->out.max_pause_ms = MAX_SEND_PAUSE_MS;
    v->back.max_pause_ms = MAX_FETCH_PAUSE_MS;
    e = carrier_open(o->url, o->stall_s, &v->out.carrier, why);
    if (!e)
        e = carrier_open(o->url, o->stall_s, &v->back.carrier, why);
    if (e) {
        vault_close(v);
        return e;
    }
    probe = carrier_load(v->out.carrier, &done);
    strcpy(probe->name, CARRIER_PROBE); /* so that what is wrong is told now */
    if (buf_puts(&probe->bytes, "of a tracker\n") == ERR_OK)
        carrier_go(v->out.carrier);
    *out = v;
    return ERR_OK;
}

void vault_close(struct vault *v)
{
    if (!v)
        return;
    carrier_close(v->out.carrier);
    carrier_close(v->back.carrier);
    free(v);
}

/* ---- what fails ---- */

static void tell(struct tracker *t, const char *what, const struct load *l)
{
    char line[900];

    snprintf(line, sizeof line, "%s %.12s: %.700s", what, l->name, l->why.text);
    text_plain(line, "");
    if (t->o.audit)
        t->o.audit(line, t->o.audit_arg);
    t->stats.blobs_failed++;
}

static void pause_way(const struct tracker *t, struct way *w)
{
    const int64_t next_ms = w->pause_ms ? 2 * w->pause_ms : t->o.vault->o.pause_ms;

    w->pause_ms = next_ms < w->max_pause_ms ? next_ms : w->max_pause_ms;
    w->not_before_ns = tracker_now_ns(t) + w->pause_ms * 1000000;
}

static struct lost *lost_of(struct vault *v, const char *hex)
{
    for (int i = 0; i < N_LOST; i++)
        if (strcmp(v->lost[i].name, hex) == 0)
            return &v->lost[i];
    return NULL;
}

/* The S3 store has it, or has it again. */
static void note_there(struct vault *v, const char *hex)
{
    struct lost *x = lost_of(v, hex);

    if (x)
        x->name[0] = '\0';
}

static void note_lost(const struct tracker *t, const struct load *l)
{
    struct vault *v = t->o.vault;
    struct lost *x = lost_of(v, l->name);

    if (!x) {
        x = &v->lost[v->i_lost];
        v->i_lost = (v->i_lost + 1) % N_LOST;
    }
    strcpy(x->name, l->name);
    x->not_before_ns = tracker_now_ns(t) + (int64_t)MAX_FETCH_PAUSE_MS * 1000000;
    text_copy(x->words, sizeof x->words, l->why.text);
}

/* ---- back ---- */

enum err vault_look(struct tracker *t, const char *hex)
{
    int64_t total;
    const enum err e = t->o.ops->blob_get(t->o.store, hex, 0, 0, &total, NULL);

    if (e != ERR_UNREACHABLE)
        return e;
    return t->o.vault && !lost_of(t->o.vault, hex) ? ERR_OK : ERR_NOT_FOUND;
}

static void name_load(const struct tracker *t, struct load *l, enum carrying what, const char *hex)
{
    l->what = what;
    snprintf(l->name, sizeof l->name, "%s", hex);
    if (t->o.n_parts > 1)
        snprintf(l->part, sizeof l->part, "part%d/", (int)t->o.part);
}

enum err vault_fetch(struct tracker *t, const char *hex, struct why *why)
{
    struct vault *v = t->o.vault;
    const struct lost *lost = v ? lost_of(v, hex) : NULL;
    const int64_t now = tracker_now_ns(t);
    struct load *l;
    bool done;

    if (!v)
        return why_set(why, ERR_NOT_FOUND,
                       "blob %.12s.. lies in an S3 store, and this tracker was started without it (--blobs)", hex);
    if (lost && now < lost->not_before_ns)
        return why_set(why, ERR_NOT_FOUND, "blob %.12s.. cannot be had: %s", hex, lost->words);
    l = carrier_load(v->back.carrier, &done);
    if (l && !done && now >= v->back.not_before_ns) {
        name_load(t, l, CARRY_GET, hex);
        carrier_go(v->back.carrier);
    }
    return why_set(why, ERR_BUSY, "blob %.12s.. comes from the S3 store", hex);
}

static enum err end_fetch(struct tracker *t)
{
    struct way *w = &t->o.vault->back;
    bool done;
    struct load *l = carrier_load(w->carrier, &done);
    enum err e = ERR_OK;

    if (!l || !done)
        return ERR_OK;
    if (!l->e) {
        e = t->o.ops->blob_back(t->o.store, l->name, buf_text(&l->bytes), l->bytes.len);
        t->stats.blobs_fetched++;
        w->pause_ms = 0;
        note_there(t->o.vault, l->name);
    } else {
        tell(t, "the S3 store does not give blob", l);
        if (l->e == ERR_NOT_FOUND || l->e == ERR_INPUT)
            note_lost(t, l);
        else
            pause_way(t, w);
    }
    carrier_clear(w->carrier);
    return e;
}

/* ---- out ---- */

/* A blob leaves the store when the S3 store has it, and with the same commit. */
static enum err end_sending(struct tracker *t, const struct load *l)
{
    static const char *const failed[] = {
        [CARRY_PUT] = "the S3 store does not take blob", [CARRY_DELETE] = "the S3 store does not forget blob"};
    struct vault *v = t->o.vault;
    const bool is_blob = l->what == CARRY_PUT && strcmp(l->name, CARRIER_PROBE) != 0;
    enum err e = ERR_OK;

    if (l->e) {
        tell(t, failed[l->what], l);
        pause_way(t, &v->out);
        v->n_skipped += is_blob;
        if (l->what == CARRY_DELETE && l->e != ERR_AUTH) { /* nobody else knows of it any more */
            carrier_again(v->out.carrier);
            return ERR_OK;
        }
    } else {
        e = is_blob ? t->o.ops->blob_away(t->o.store, l->name) : ERR_OK;
        note_there(v, l->name);
        t->stats.blobs_sent += is_blob;
        v->out.pause_ms = v->n_skipped = 0;
    }
    carrier_clear(v->out.carrier);
    return e;
}

/* A piece of a blob with each tick, so that a large one keeps nobody waiting. */
static enum err gather(struct tracker *t, struct load *l)
{
    struct carrier *c = t->o.vault->out.carrier;
    int64_t total = 0;
    enum err e = l->what == CARRY_PUT ? t->o.ops->blob_peek(t->o.store, l->name, (int64_t)l->bytes.len,
                                                            MESSAGE_CHUNK_BYTES, &total, &l->bytes)
                                      : ERR_OK;

    if (l->bytes.failed) { /* memory is short: another time */
        pause_way(t, &t->o.vault->out);
        carrier_clear(c);
        return ERR_OK;
    }
    if (e == ERR_NOT_FOUND || e == ERR_UNREACHABLE) { /* forgotten here meanwhile, after an earlier stay there */
        carrier_clear(c);
        return ERR_OK;
    }
    if (!e && (int64_t)l->bytes.len >= total)
        carrier_go(c);
    return e;
}

/* What the store forgets is dropped there with one commit, and elsewhere behind it. */
static enum err choose(struct tracker *t, struct load *l)
{
    struct vault *v = t->o.vault;
    const int64_t wall_ms = tracker_wall_ms(t);
    char hex[SHA256_HEX + 1];
    enum err e = t->o.retention_days > 0
                     ? t->o.ops->blob_old(t->o.store, true, wall_ms - t->o.retention_days * DAY_MS, 0, hex)
                     : ERR_NOT_FOUND;

    if (!e) {
        name_load(t, l, CARRY_DELETE, hex);
        return t->o.ops->away_drop(t->o.store, hex);
    }
    if (e == ERR_NOT_FOUND)
        e = t->o.ops->blob_old(t->o.store, false, wall_ms - v->o.after_ms, v->n_skipped, hex);
    if (!e)
        name_load(t, l, CARRY_PUT, hex);
    if (e != ERR_NOT_FOUND)
        return e;
    if (!v->n_skipped)
        v->out.not_before_ns =
            tracker_now_ns(t) + (v->o.after_ms < LOOK_MS ? v->o.after_ms : LOOK_MS) * INT64_C(1000000);
    v->n_skipped = 0;
    return ERR_OK;
}

enum err vault_tick(struct tracker *t)
{
    struct vault *v = t->o.vault;
    struct load *l;
    bool done;
    enum err e = v ? end_fetch(t) : ERR_OK;

    if (e || !v || !(l = carrier_load(v->out.carrier, &done)))
        return e;
    if (done)
        return end_sending(t, l);
    if (tracker_now_ns(t) < v->out.not_before_ns)
        return ERR_OK;
    return l->name[0] ? gather(t, l) : choose(t, l);
}
