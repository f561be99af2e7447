/* SPDX-License-Identifier: MIT */
#include "logs/hub/lock.h"

#include "core/entropy.h"
#include "core/err.h"
#include "logs/hub/request.h"

#include <assert.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static enum err random_name(char out[33], struct why *why)
{
    unsigned char bytes[16];

    if (entropy_fill(NULL, bytes, sizeof bytes))
        return why_set(why, ERR_IO, "no random bytes on this host");
    hex_encode(bytes, sizeof bytes, out);
    return ERR_OK;
}

static enum err beside(const struct hub_url *u, const char *end, struct hub_url *out, struct why *why)
{
    char text[HUB_MAX_URL];

    if (snprintf(text, sizeof text, "%s%s", u->text, end) >= (int)sizeof text)
        return why_set(why, ERR_LIMIT, "%s: the URL is too long", u->text);
    return hub_url_parse(text, out, why);
}

/* Does the server make folders, and takes them away again? */
static bool makes_folders(struct hub *h, const struct hub_url *u, const char *name)
{
    struct hub_url folder;
    char end[64];

    snprintf(end, sizeof end, ".probe-%s/", name);
    return !u->s3 && !beside(u, end, &folder, NULL) && !hub_make_folder(h, &folder, NULL) &&
           !hub_delete(h, &folder, NULL);
}

enum err guard_find(struct hub *h, const struct hub_url *u, enum guard *out, struct why *why)
{
    struct hub_url probe;
    char name[33], end[64], etag[40];
    enum err e = random_name(name, why);

    if (!e && makes_folders(h, u, name)) {
        *out = GUARD_FOLDER;
        return ERR_OK;
    }
    snprintf(end, sizeof end, ".probe-%s", name);
    snprintf(etag, sizeof etag, "\"%s\"", name);
    e = e ? e : beside(u, end, &probe, why);
    if (e)
        return e;
    e = hub_put(h, &probe, "probe\n", 6, etag, why);
    if (e == ERR_STALE || e == ERR_NOT_FOUND) { /* S3 says 404 to If-Match of what is not there */
        *out = GUARD_ETAG;
        return ERR_OK;
    }
    *out = GUARD_NONE;
    if (e == ERR_UNSUPPORTED && u->s3) /* OpenStack Swift: "501 NotImplemented" to If-Match */
        return ERR_OK;
    return e ? e : hub_delete(h, &probe, why);
}

/* The age of whoever's token lies in the lock, by the server's clock; -1 = not told, there is none. */
static void oldest(const struct hub_entry *entry, void *arg)
{
    char *name = arg;

    if (!*name && strlen(entry->name) < 200)
        strcpy(name, entry->name);
}

static int64_t lock_age(struct hub *h, const struct hub_url *folder)
{
    char name[256] = "";
    struct hub_url token;
    struct hub_object o = {.age_s = -1};

    if (hub_list(h, folder, oldest, name, NULL) || !*name || hub_url_below(folder, name, &token, NULL) ||
        hub_head(h, &token, &o, NULL) || !o.exists)
        return -1;
    return o.age_s;
}

static enum err take_once(struct hub *h, struct hub_lock *l, struct why *why)
{
    enum err e = hub_make_folder(h, &l->folder, why);

    if (e)
        return e;
    e = hub_put(h, &l->token, "tune\n", 5, HUB_ANY, why);
    if (e)
        (void)hub_delete(h, &l->folder, NULL);
    return e;
}

enum err hub_lock_take(struct hub *h, const struct hub_url *u, struct hub_lock *out, struct why *why)
{
    const double until = now_s() + hub_wait_s(h);
    struct hub_lock l = {.held = true};
    char name[33];
    long pause_ms = 20;
    enum err e = random_name(name, why);

    e = e ? e : beside(u, ".lock/", &l.folder, why);
    e = e ? e : hub_url_below(&l.folder, name, &l.token, why);
    while (!e) {
        int64_t age;

        e = take_once(h, &l, why);
        if (e != ERR_EXISTS)
            break;
        age = now_s() > until || pause_ms >= 640 ? lock_age(h, &l.folder) : -1;
        if (age > LOCK_STALE_S)
            e = hub_delete(h, &l.folder, why);
        else if (now_s() > until)
            e = why_set(why, ERR_BUSY,
                        "%s: another push holds the lock %s (since %lld s); when it is dead the lock is taken away %d "
                        "s after it was made",
                        u->text, l.folder.text, (long long)age, LOCK_STALE_S);
        else
            e = ERR_OK;
        nanosleep(&(struct timespec){.tv_nsec = (pause_ms + name[0] % 16 * pause_ms / 16) % 1000 * 1000000}, NULL);
        pause_ms = pause_ms < 640 ? pause_ms * 2 : 640;
        if (!e)
            e = random_name(name, why);
    }
    assert(e || (l.held && l.token.text[0]));
    if (!e)
        *out = l;
    return e;
}

enum err hub_lock_check(struct hub *h, const struct hub_lock *l, struct why *why)
{
    struct hub_object o;
    const enum err e = hub_head(h, &l->token, &o, why);

    if (!e && (!o.exists || o.age_s > LOCK_STALE_S / 2))
        return why_set(why, ERR_STALE, "%s: the lock was lost: this push took too long", l->folder.text);
    return e;
}

void hub_lock_drop(struct hub *h, struct hub_lock *l)
{
    if (l->held)
        (void)hub_delete(h, &l->folder, NULL);
    l->held = false;
}
