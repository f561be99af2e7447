/* SPDX-License-Identifier: MIT */
/* admin.c - counts for a person, and backups. */
#include "tracker/state.h"

#include "core/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum err op_status(struct call *c)
{
    const struct tracker *t = c->t;
    const struct stats *s = &t->stats;

    c->result.status = (struct status_result){.server = "tune-tracker " TUNE_VERSION,
                                              .boot = t->boot,
                                              .started_ms = t->started_ms,
                                              .now_ms = tracker_wall_ms(t),
                                              .jobs = (int64_t)t->jobs.n,
                                              .trials_live = (int64_t)t->trials.n,
                                              .agents = (int64_t)t->agents.n,
                                              .sessions = (int64_t)t->sessions.n,
                                              .requests = s->requests,
                                              .refused = s->refused,
                                              .grants = s->grants,
                                              .results = s->results,
                                              .duplicates = s->duplicates,
                                              .expired = s->expired,
                                              .lost = s->lost,
                                              .answered_from_store = s->answered_from_store,
                                              .commits = s->commits,
                                              .lease_ms = t->o.lease_ms,
                                              .builds = s->builds,
                                              .builds_failed = s->builds_failed};
    return call_keep_waits(c, NULL, &c->result.status.waits);
}

/* ---- backups: in a thread of their own, one at a time ---- */

/* Made by the first call; those that wait for it are woken by the tick that finds it ended. */
struct backup {
    const struct store_ops *ops;
    const char *where;
    char *path;
    pthread_t thread;
    atomic_bool ended; /* the three below are the thread's until then */
    int64_t n_bytes;
    enum err err;
    struct why why;
};

static void *make(void *arg)
{
    struct backup *b = arg;

    setpriority(PRIO_PROCESS, (id_t)gettid(), 19); /* on Linux of this thread alone: calls go first */
    b->err = b->ops->backup(b->where, b->path, &b->n_bytes, &b->why);
    atomic_store(&b->ended, true);
    return NULL;
}

static enum err begin(struct tracker *t, const char *path)
{
    struct backup *b = calloc(1, sizeof *b);

    if (!b)
        return ERR_NOMEM;
    *b = (struct backup){.ops = t->o.ops, .where = t->o.where, .path = strdup(path)};
    if (b->path && pthread_create(&b->thread, NULL, make, b) == 0) {
        t->backup = b;
        return ERR_OK;
    }
    free(b->path);
    free(b);
    return ERR_NOMEM;
}

void backup_fini(struct tracker *t)
{
    struct backup *b = t->backup;

    if (!b)
        return;
    pthread_join(b->thread, NULL);
    free(b->path);
    free(b);
    t->backup = NULL;
}

void backup_tick(struct tracker *t)
{
    if (t->backup && atomic_load(&t->backup->ended))
        wake(t, &t->backup_waiters);
}

/* What came of it, told once. */
static enum err finish(struct call *c)
{
    const struct backup *b = c->t->backup;
    const enum err e = b->err;

    c->why = b->why;
    c->result.backup = (struct backup_result){.bytes = b->n_bytes, .done = true};
    backup_fini(c->t);
    return e;
}

enum err op_backup(struct call *c)
{
    struct tracker *t = c->t;
    const char *path = c->args.backup.path;
    enum err e = ERR_OK;

    if (!t->o.allow_backup)
        return why_set(&c->why, ERR_AUTH, "this tracker makes no backups on request: start it with --allow-backup");
    if (t->backup && strcmp(t->backup->path, path) != 0) {
        if (!atomic_load(&t->backup->ended))
            return why_set(&c->why, ERR_BUSY, "a backup to %.100s is under way", t->backup->path);
        backup_fini(t); /* nobody asked how it went */
    }
    if (!t->backup)
        e = begin(t, path);
    if (e || atomic_load(&t->backup->ended))
        return e ? e : finish(c);
    c->park = c->last ? NULL : &t->backup_waiters;
    return ERR_OK;
}
