/* SPDX-License-Identifier: MIT */
/* admin.c - counts for a person, and backups. */
#include "tracker/state.h"

#include <string.h>

enum err op_status(struct call *c)
{
    const struct tracker *t = c->t;
    const struct stats *s = &t->stats;
    char waits[256];
    enum err e = builds_waits(c->t, NULL, waits, sizeof waits);
    bool ok = true;

    json_add_text(c->result, "server", "tune-tracker " TUNE_VERSION, &ok);
    json_add_text(c->result, "boot", t->boot, &ok);
    json_add_i64(c->result, "started_ms", t->started_ms, &ok);
    json_add_i64(c->result, "now_ms", tracker_wall_ms(t), &ok);
    json_add_i64(c->result, "jobs", (int64_t)t->jobs.n, &ok);
    json_add_i64(c->result, "trials_live", (int64_t)t->trials.n, &ok);
    json_add_i64(c->result, "agents", (int64_t)t->agents.n, &ok);
    json_add_i64(c->result, "sessions", (int64_t)t->sessions.n, &ok);
    json_add_i64(c->result, "requests", s->requests, &ok);
    json_add_i64(c->result, "refused", s->refused, &ok);
    json_add_i64(c->result, "grants", s->grants, &ok);
    json_add_i64(c->result, "results", s->results, &ok);
    json_add_i64(c->result, "duplicates", s->duplicates, &ok);
    json_add_i64(c->result, "expired", s->expired, &ok);
    json_add_i64(c->result, "lost", s->lost, &ok);
    json_add_i64(c->result, "answered_from_store", s->answered_from_store, &ok);
    json_add_i64(c->result, "commits", s->commits, &ok);
    json_add_i64(c->result, "lease_ms", t->o.lease_ms, &ok);
    json_add_i64(c->result, "builds", s->builds, &ok);
    json_add_i64(c->result, "builds_failed", s->builds_failed, &ok);
    if (waits[0])
        json_add_text(c->result, "waits", waits, &ok);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}

enum err op_backup(struct call *c)
{
    const char *path;
    int64_t n_bytes;
    bool ok = true;
    enum err e = json_get_text(c->args, "path", &path, &c->why);

    if (e)
        return e;
    if (!c->t->o.allow_backup)
        return why_set(&c->why, ERR_AUTH, "this tracker makes no backups on request: start it with --allow-backup");
    if (path[0] != '/')
        return why_set(&c->why, ERR_INPUT, "'path' must begin with / (it is a path of the tracker's host)");
    e = c->t->o.ops->backup(c->t->o.where, path, &n_bytes, &c->why);
    if (!e)
        json_add_i64(c->result, "bytes", n_bytes, &ok);
    return e ? e : ok ? ERR_OK : ERR_NOMEM;
}
