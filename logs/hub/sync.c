/* SPDX-License-Identifier: MIT */
/* sync.c - logs pushed and pulled so that no line is lost. */
#include "core/entropy.h"
#include "core/err.h"
#include "core/file.h"
#include "logs/hub/lock.h"
#include "logs/hub/request.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_PATHS 4096
#define MAX_ROUNDS 200

struct push {
    struct hub *h;
    const struct hub_url *u;
    const char *paths[MAX_PATHS + 1]; /* [0]: what the server has */
    size_t n_paths;
    hub_merge *merge;
    enum guard guard;
    struct hub_lock lock;
    char theirs[PATH_MAX], merged[PATH_MAX]; /* in a temporary folder */
};

/* Fetches what is there (nothing: an empty file). */
static enum err fetch_theirs(struct push *p, struct hub_object *o, struct why *why)
{
    enum err e;

    (void)unlink(p->theirs);
    e = hub_get_file(p->h, p->u, p->theirs, HUB_MAX_BYTES, o, why);
    if (e != ERR_NOT_FOUND)
        return e;
    *o = (struct hub_object){.exists = false};
    return file_replace(p->theirs, "", 0, 0600, why);
}

/* The precondition under which our union may replace what was fetched. */
static enum err condition(const struct push *p, const struct hub_object *o, const char **etag, struct why *why)
{
    *etag = p->guard != GUARD_ETAG ? HUB_ANY : o->exists ? o->etag : HUB_NEW;
    if (p->guard == GUARD_ETAG && o->exists && *o->etag != '"')
        return why_set(why, ERR_UNSUPPORTED,
                       "%s: the server gives no strong ETag (a proxy that compresses?), so a push cannot be made safe",
                       p->u->text);
    return ERR_OK;
}

/* Fetch, merge, store. ERR_STALE: another pusher was faster. */
static enum err round_of(struct push *p, int64_t *n_new, struct why *why)
{
    struct hub_object o;
    const char *etag = NULL;
    enum err e = fetch_theirs(p, &o, why);

    assert(p->n_paths >= 2 && p->paths[0] == p->theirs && p->lock.held == (p->guard == GUARD_FOLDER));
    if (!e)
        e = p->merge(p->paths, p->n_paths, p->merged, n_new, why);
    if (!e)
        e = condition(p, &o, &etag, why);
    if (e || *n_new == 0)
        return e;
    if (p->lock.held)
        e = hub_lock_check(p->h, &p->lock, why);
    return e ? e : hub_put_file(p->h, p->u, p->merged, etag, why);
}

static void wait_a_while(int i_round)
{
    unsigned char r = 0;
    const long step_ms = 10L << (i_round < 6 ? i_round : 6);

    (void)entropy_fill(NULL, &r, 1);
    nanosleep(&(struct timespec){.tv_nsec = (step_ms + step_ms * r / 256) % 1000 * 1000000}, NULL);
}

static enum err push_rounds(struct push *p, int64_t *n_new, struct why *why)
{
    const time_t until = time(NULL) + (time_t)hub_wait_s(p->h);
    enum err e;

    for (int i = 0;; i++) {
        e = round_of(p, n_new, why);
        if (e != ERR_STALE || p->guard != GUARD_ETAG)
            return e;
        if (i >= MAX_ROUNDS || time(NULL) > until)
            return why_prefix(why, ERR_BUSY, "gave up after %d tries against other pushers", i + 1);
        wait_a_while(i);
    }
}

static enum err find_guard(struct push *p, bool alone, struct why *why)
{
    enum err e = guard_find(p->h, p->u, &p->guard, why);

    if (!e && p->guard == GUARD_NONE && !alone)
        e = why_set(why, ERR_UNSUPPORTED,
                    "%s: the server honours neither If-Match nor WebDAV's MKCOL, so two pushers could lose each "
                    "other's lines; push with --alone when nobody else pushes there",
                    p->u->text);
    if (!e && p->guard == GUARD_FOLDER)
        e = hub_lock_take(p->h, p->u, &p->lock, why);
    return e;
}

enum err hub_push_log(struct hub *h, const struct hub_url *u, const char *const *paths, size_t n, bool alone,
                      hub_merge *merge, int64_t *n_new, struct why *why)
{
    char dir[PATH_MAX - 16];
    struct push *p;
    enum err e;

    if (n == 0 || n > MAX_PATHS)
        return why_set(why, ERR_INPUT, "expected 1 to %d logs to push", MAX_PATHS);
    p = calloc(1, sizeof *p);
    if (!p)
        return why_set(why, ERR_NOMEM, "out of memory");
    p->h = h;
    p->u = u;
    p->merge = merge;
    p->n_paths = n + 1;
    p->paths[0] = p->theirs;
    memcpy(p->paths + 1, paths, n * sizeof *paths);
    e = dir_temporary("tune-hub", dir, sizeof dir, why);
    if (!e) {
        snprintf(p->theirs, sizeof p->theirs, "%s/theirs", dir);
        snprintf(p->merged, sizeof p->merged, "%s/merged", dir);
        e = find_guard(p, alone, why);
        if (!e)
            e = push_rounds(p, n_new, why);
        hub_lock_drop(h, &p->lock);
        dir_remove(dir);
    }
    free(p);
    return e;
}

enum err hub_pull_log(struct hub *h, const struct hub_url *u, const char *path, hub_merge *merge, int64_t *n_new,
                      struct why *why)
{
    char part[PATH_MAX], empty[PATH_MAX];
    const bool is_there = access(path, F_OK) == 0;
    struct hub_object o;
    enum err e;

    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part ||
        snprintf(empty, sizeof empty, "%s.none", path) >= (int)sizeof empty)
        return why_set(why, ERR_LIMIT, "%s: the path is too long", path);
    e = hub_get_file(h, u, part, HUB_MAX_BYTES, &o, why);
    if (!e && !is_there)
        e = file_replace(empty, "", 0, 0600, why);
    if (!e)
        e = merge((const char *const[]){is_there ? path : empty, part}, 2, path, n_new, why);
    if (!is_there)
        (void)unlink(empty);
    if (!e)
        (void)unlink(part);
    return e;
}
