/* SPDX-License-Identifier: MIT */
#include "tracker/access.h"

#include "core/json.h"
#include "tracker/protocol.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    AGENT = 1 << KEY_AGENT,
    USER = 1 << KEY_USER,
    TUNER = 1 << KEY_TUNER,
    BUILDER = 1 << KEY_BUILDER,
    ADMIN = 1 << KEY_ADMIN,
    ALL = AGENT | USER | TUNER | BUILDER | ADMIN,
    DRIVERS = USER | TUNER | ADMIN
};

/* docs/security.md has this table for people. */
static const unsigned char roles[N_CALLS] = {
    [CALL_HELLO] = ALL,
    [CALL_STATUS] = ALL,
    [CALL_BLOB_HAVE] = ALL,
    [CALL_BLOB_PUT] = ALL,
    [CALL_BLOB_GET] = ALL,
    [CALL_JOB_SUBMIT] = USER | ADMIN,
    [CALL_JOB_LEASE] = TUNER | ADMIN,
    [CALL_JOB_RENEW] = DRIVERS,
    [CALL_JOB_DONE] = DRIVERS,
    [CALL_JOB_RELEASE] = DRIVERS,
    [CALL_JOB_CANCEL] = USER | ADMIN,
    [CALL_JOB_PAUSE] = USER | ADMIN,
    [CALL_JOB_LIST] = USER | ADMIN,
    [CALL_JOB_STATUS] = DRIVERS,
    [CALL_TRIAL_ADD] = DRIVERS,
    [CALL_RECORD_WAIT] = DRIVERS,
    [CALL_REQUEUE] = USER | ADMIN,
    [CALL_DEVICES] = DRIVERS,
    [CALL_AGENT_REGISTER] = AGENT | ADMIN,
    [CALL_AGENT_BEAT] = AGENT | BUILDER | ADMIN,
    [CALL_AGENT_BYE] = AGENT | BUILDER | ADMIN,
    [CALL_AGENT_MODE] = ADMIN,
    [CALL_TRIAL_LEASE] = AGENT | ADMIN,
    [CALL_TRIAL_RENEW] = AGENT | ADMIN,
    [CALL_TRIAL_RESULT] = AGENT | ADMIN,
    [CALL_TRIAL_RELEASE] = AGENT | ADMIN,
    [CALL_BUILDER_REGISTER] = BUILDER | ADMIN,
    [CALL_BUILD_LEASE] = BUILDER | ADMIN,
    [CALL_BUILD_RENEW] = BUILDER | ADMIN,
    [CALL_BUILD_RESULT] = BUILDER | ADMIN,
    [CALL_BUILD_RELEASE] = BUILDER | ADMIN,
    [CALL_BACKUP] = ADMIN,
};

bool access_allows(enum key_role role, enum call_name name)
{
    return role == KEY_FARM || (roles[name] & 1 << role);
}

static enum err refuse(struct call *c)
{
    char words[100] = "";

    for (int r = 1; r < N_KEY_ROLES; r++)
        if (access_allows((enum key_role)r, c->name))
            snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", *words ? ", " : "",
                     key_role_names[r]);
    return why_set(&c->why, ERR_AUTH, "%s is not for %s: expected a key of %s or the farm's own",
                   call_table[c->name].name, c->identity, words);
}

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

/* Agents and builders have one list of names: a builder is not to take an agent's place there. */
static enum err check_peer(struct call *c, const char *name, enum key_role role)
{
    const struct agent *there = table_get_text(&c->t->agents, name);
    const char *peer = member(c, "agent"), *state = there ? agent_state(c->t, there) : "gone";

    if (*peer && strcmp(peer, name) != 0)
        return why_set(&c->why, ERR_AUTH, "this key is %s %s's, not %.64s's", key_role_names[role], name, peer);
    if (strcmp(state, "gone") != 0 && strcmp(state, "lost") != 0 && there->is_builder != (role == KEY_BUILDER))
        return why_set(&c->why, ERR_AUTH, "%s is %s's name at present, this key is %s's", name,
                       there->is_builder ? "a builder" : "an agent", c->identity);
    return ERR_OK;
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
    const enum key_role role = key_role_of(c->identity);
    const char *colon = strchr(c->identity, ':');

    assert(role < N_KEY_ROLES);
    if (!access_allows(role, c->name))
        return refuse(c);
    if (role == KEY_AGENT || role == KEY_BUILDER)
        return check_peer(c, colon + 1, role);
    return role == KEY_USER ? check_user(c, colon + 1) : ERR_OK;
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
    text_plain(line, ""); /* words of peers */
    t->o.audit(line, t->o.audit_arg);
}
