/* SPDX-License-Identifier: MIT */
#include "tracker/access.h"

#include "core/file.h"
#include "core/json.h"
#include "tracker/protocol.h"

#include <stdio.h>
#include <string.h>

enum role { AGENT = 1, USER = 2 };

/* What is not here is for the farm's own key alone: modes of agents, backups, driving other people's jobs. */
static const unsigned char roles[N_CALLS] = {
    [CALL_HELLO] = AGENT | USER,     [CALL_STATUS] = AGENT | USER,   [CALL_BLOB_HAVE] = AGENT | USER,
    [CALL_BLOB_PUT] = AGENT | USER,  [CALL_BLOB_GET] = AGENT | USER, [CALL_AGENT_REGISTER] = AGENT,
    [CALL_AGENT_BEAT] = AGENT,       [CALL_AGENT_BYE] = AGENT,       [CALL_TRIAL_LEASE] = AGENT,
    [CALL_TRIAL_RENEW] = AGENT,      [CALL_TRIAL_RESULT] = AGENT,    [CALL_TRIAL_RELEASE] = AGENT,
    [CALL_BUILDER_REGISTER] = AGENT, [CALL_BUILD_LEASE] = AGENT,     [CALL_BUILD_RENEW] = AGENT,
    [CALL_BUILD_RESULT] = AGENT,     [CALL_BUILD_RELEASE] = AGENT,   [CALL_DEVICES] = USER,
    [CALL_JOB_SUBMIT] = USER,        [CALL_JOB_RENEW] = USER,        [CALL_JOB_DONE] = USER,
    [CALL_JOB_RELEASE] = USER,       [CALL_JOB_CANCEL] = USER,       [CALL_JOB_PAUSE] = USER,
    [CALL_JOB_LIST] = USER,          [CALL_JOB_STATUS] = USER,       [CALL_TRIAL_ADD] = USER,
    [CALL_RECORD_WAIT] = USER,       [CALL_REQUEUE] = USER,
};

static bool only_looks(enum call_name name)
{
    return name == CALL_JOB_LIST || name == CALL_JOB_STATUS || name == CALL_RECORD_WAIT;
}

static const char *member(const struct call *c, const char *name)
{
    const char *text = "";

    json_get_text(cJSON_GetObjectItemCaseSensitive(c->message->json, "args"), name, &text, NULL);
    return text;
}

static enum err check_agent(struct call *c, const char *name)
{
    const char *agent = member(c, "agent");

    return *agent && strcmp(agent, name) != 0
               ? why_set(&c->why, ERR_AUTH, "this key is agent %s's, not %.64s's", name, agent)
               : ERR_OK;
}

static enum err check_user(struct call *c, const char *name)
{
    const char *job = member(c, "job");
    struct tracker_job *j;
    int64_t id = 0;

    if (c->name == CALL_JOB_SUBMIT)
        c->args.job_submit.user = name; /* whatever it says */
    if (c->name == CALL_REQUEUE && (!*job || *member(c, "trial")))
        return why_set(&c->why, ERR_AUTH, "a user requeues whole jobs");
    if (!*job || only_looks(c->name) || call_id_parse(job, 'j', &id) != ERR_OK)
        return ERR_OK;
    j = table_get_i64(&c->t->jobs, id);
    return j && strcmp(j->user, name) != 0
               ? why_set(&c->why, ERR_AUTH, "job %.24s is of user %s; this key is %s's", job, j->user, name)
               : ERR_OK;
}

enum err access_check(struct call *c)
{
    const char *colon = strchr(c->identity, ':');
    const bool is_agent = strncmp(c->identity, "agent:", 6) == 0;

    if (!colon)
        return ERR_OK;
    if (!(roles[c->name] & (is_agent ? AGENT : USER)))
        return why_set(&c->why, ERR_AUTH, "%s is not for %s", call_table[c->name].name, c->identity);
    return is_agent ? check_agent(c, colon + 1) : check_user(c, colon + 1);
}

bool access_is_revoked(const char *list, const char *identity)
{
    const size_t n = strlen(identity);

    for (const char *line = list; line && *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (n && strcspn(line, "\n") == n && memcmp(line, identity, n) == 0)
            return true;
    return false;
}

enum err access_read_revoked(const char *path, struct buf *out, struct why *why)
{
    enum err e = file_read(path, out, why);
    int i_line = 0;

    if (!e && strlen(buf_text(out)) != out->len) /* who stands behind it would be let in */
        return why_set(why, ERR_INPUT, "%.300s: a text is expected, and there is a zero byte in it", path);
    for (const char *line = e ? "" : buf_text(out), *end; *line; line = end + (*end == '\n')) {
        char identity[KEY_IDENTITY_BYTES];
        const size_t n = strcspn(line, "\n");

        end = line + n;
        i_line++;
        snprintf(identity, sizeof identity, "%.*s", (int)(n < sizeof identity ? n : sizeof identity), line);
        if (n && *line != '#' && (n >= sizeof identity || !key_identity_is_sane(identity)))
            return why_set(why, ERR_INPUT, "%.300s:%d: '%.40s': expected agent:NAME or user:NAME", path, i_line,
                           identity);
    }
    return e;
}

void access_audit(struct tracker *t, const char *call, const char *identity, const char *why)
{
    struct audit *a = &t->audit;
    const int64_t now = tracker_now_ns(t);
    char line[600];

    if (!t->o.audit)
        return;
    if (now - a->since_ns >= INT64_C(1000000000)) {
        if (a->n > AUDIT_A_SECOND) {
            snprintf(line, sizeof line, "refused: %lld more", (long long)a->n - AUDIT_A_SECOND);
            t->o.audit(line, t->o.audit_arg);
        }
        *a = (struct audit){.since_ns = now};
    }
    if (++a->n > AUDIT_A_SECOND)
        return;
    snprintf(line, sizeof line, "refused: %s by %s: %.400s", call, *identity ? identity : "whoever", why);
    for (char *p = line; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = '?'; /* words of peers */
    t->o.audit(line, t->o.audit_arg);
}
