/* SPDX-License-Identifier: MIT */
/* admin.c - counts for a person, and backups. */
#include "tracker/state.h"

#include "core/err.h"

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

enum err op_backup(struct call *c)
{
    if (!c->t->o.allow_backup)
        return why_set(&c->why, ERR_AUTH, "this tracker makes no backups on request: start it with --allow-backup");
    return c->t->o.ops->backup(c->t->o.where, c->args.backup.path, &c->result.backup.bytes, &c->why);
}
