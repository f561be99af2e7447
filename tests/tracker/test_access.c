/* SPDX-License-Identifier: MIT */
/* Who may do what: every request of the protocol by every role, held against the table of docs/security.md; names and
 * jobs that are others'; keys that were taken back. */
#include "core/file.h"
#include "tests/tracker/visitor.h"
#include "tracker/access.h"
#include "tracker/revoked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CLIENT_NONCE "00112233445566778899aabbccddeeff"

static const struct key key = {.bytes = {1, 2, 3, 4, 5}};
static const char good_hello[] = "{\"nonce\":\"" CLIENT_NONCE "\",\"versions\":[1]}";

static int start(void **state)
{
    struct rig *r = calloc(1, sizeof *r);

    rig_init(r);
    r->options.key = &key;
    r->options.entropy = NULL; /* a rig's tokens count by one */
    rig_start(r);
    *state = r;
    return 0;
}

/* ---- the table of docs/security.md ---- */

static const char *const cells[] = {"-", "yes", "own", "lease"};
enum cell { NO, YES, OWN, LEASE, N_CELLS };

struct rights {
    enum cell of[N_CALLS][N_KEY_ROLES];
    bool has[N_CALLS];
};

/* The role of the i-th column behind the first. */
static const enum key_role columns[] = {KEY_AGENT, KEY_BUILDER, KEY_USER, KEY_TUNER, KEY_ADMIN};
#define N_COLUMNS (sizeof columns / sizeof *columns)

static enum cell read_cell(const char *text, size_t n)
{
    for (int i = 0; i < N_CELLS; i++)
        if (strlen(cells[i]) == n && memcmp(cells[i], text, n) == 0)
            return (enum cell)i;
    fail_msg("'%.*s': expected one of - yes own lease", (int)n, text);
    return NO;
}

/* A row "| `a`, `b` | yes | - | .. |"; what stands between backticks has these rights. */
static void read_row(char *row, struct rights *out)
{
    char *rest = strchr(row + 1, '|');
    enum cell of[N_COLUMNS];

    assert_non_null(rest);
    *rest = '\0';
    for (size_t i = 0; i < N_COLUMNS; i++) {
        char *cell = rest + 1 + strspn(rest + 1, " ");

        rest = strchr(cell, '|');
        assert_non_null(rest);
        of[i] = read_cell(cell, strcspn(cell, " |"));
    }
    for (char *at = strchr(row, '`'), *end; at; at = strchr(end + 1, '`')) {
        enum call_name name;

        end = strchr(at + 1, '`');
        assert_non_null(end);
        *end = '\0';
        name = call_find(at + 1);
        if (name == N_CALLS || out->has[name])
            fail_msg("%s is no request, or has two rows", at + 1);
        out->has[name] = true;
        for (size_t i = 0; i < N_COLUMNS; i++)
            out->of[name][columns[i]] = of[i];
    }
}

static void read_rights(struct rights *out)
{
    static const char head[] = "| request | agent | builder | user | tuner | admin |\n|---|---|---|---|---|---|\n";
    struct buf page;
    char *row, *rest = NULL;

    *out = (struct rights){.has = {false}};
    buf_init(&page, 1 << 20);
    assert_int_equal(file_read(TUNE_DOCS_DIR "/security.md", &page, NULL), ERR_OK);
    row = strstr(page.data, head);
    assert_non_null(row);
    for (row = strtok_r(row + strlen(head), "\n", &rest); row && *row == '|'; row = strtok_r(NULL, "\n", &rest))
        read_row(row, out);
    for (int i = 0; i < N_CALLS; i++)
        if (!out->has[i])
            fail_msg("%s has no row in docs/security.md", call_table[i].name);
    buf_fini(&page);
}

/* ---- requests with the least that they need ---- */

/* Who is named in it. */
struct about {
    const char *agent, *job;
};

static cJSON *least_args(const struct call_shape *shape, const struct about *a);

static cJSON *least_text(const struct call_member *m, const struct about *a)
{
    char word[32];

    if (strcmp(m->name, "agent") == 0)
        return cJSON_CreateString(a->agent);
    if (m->form == FORM_JOB)
        return cJSON_CreateString(a->job);
    if (m->one_of) {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(m->one_of, " "), m->one_of);
        return cJSON_CreateString(word);
    }
    return cJSON_CreateString(m->form == FORM_HASH    ? hash_of(1)
                              : m->form == FORM_NONCE ? CLIENT_NONCE
                              : m->form == FORM_ARCH  ? "sm_61"
                              : m->form == FORM_TRIAL ? "t1"
                              : m->form == FORM_PATH  ? "/nowhere"
                                                      : "x");
}

static cJSON *least_member(const struct call_member *m, const struct about *a)
{
    struct call_member one = *m;
    cJSON *list;

    switch (m->kind) {
    case KIND_TEXT:
        return least_text(m, a);
    case KIND_I64:
    case KIND_REAL:
        return cJSON_CreateNumber(m->min > 0 ? (double)m->min : 1);
    case KIND_BOOL:
        return cJSON_CreateBool(true);
    case KIND_OBJECT:
        return m->of ? least_args(m->of, a) : cJSON_CreateObject();
    case KIND_TEXTS:
        list = cJSON_CreateArray();
        one.name = "";
        cJSON_AddItemToArray(list, least_text(&one, a));
        return list;
    case KIND_LIST:
        return cJSON_CreateArray();
    case KIND_ANY:
        break;
    }
    return cJSON_CreateObject();
}

/* Those that are needed, and whose it is where that may be said. */
static cJSON *least_args(const struct call_shape *shape, const struct about *a)
{
    cJSON *o = cJSON_CreateObject();

    for (const struct call_member *m = shape->members(); m->name; m++)
        if (m->need == NEED_MUST || strcmp(m->name, "job") == 0)
            cJSON_AddItemToObject(o, m->name, least_member(m, a));
    return o;
}

static bool has_member(const struct call_shape *shape, const char *name)
{
    for (const struct call_member *m = shape->members(); m->name; m++)
        if (strcmp(m->name, name) == 0)
            return true;
    return false;
}

/* The reply's reason when it is err auth, else "". */
static void ask_words(struct rig *r, struct visitor *v, enum call_name name, const struct about *a, char words[300])
{
    cJSON *reply = visitor_ask(r, v, call_table[name].name, least_args(call_table[name].args, a));
    const cJSON *err = cJSON_GetObjectItemCaseSensitive(reply, "err");

    if (err && strcmp(err->valuestring, "input") == 0 && strstr(text_in(reply, "why"), "member"))
        fail_msg("the test's %s is none: %s", call_table[name].name, text_in(reply, "why"));
    snprintf(words, 300, "%s", err && strcmp(err->valuestring, "auth") == 0 ? text_in(reply, "why") : "");
    cJSON_Delete(reply);
}

/* ---- facts ---- */

static void try_call(struct rig *r, struct visitor *v, enum key_role role, enum call_name name, enum cell expected)
{
    char mine[32], words[300], refusal[120];
    const struct about own = {mine, "j1"}, others = {"another", "j2"};

    snprintf(mine, sizeof mine, "x-%s", key_role_names[role]);
    snprintf(refusal, sizeof refusal, "%s is not for %s:%s", call_table[name].name, key_role_names[role], mine);
    ask_words(r, v, name, &own, words);
    if ((strncmp(words, refusal, strlen(refusal)) == 0) != (expected == NO))
        fail_msg("%s by %s: docs/security.md says %s, the tracker '%s'", call_table[name].name, key_role_names[role],
                 cells[expected], words);
    if (expected != NO && (strstr(words, "this key is") || strstr(words, "is of user")))
        fail_msg("%s by %s about its own: %s", call_table[name].name, key_role_names[role], words);
    if (expected != OWN || name == CALL_JOB_SUBMIT)
        return;
    assert_true(has_member(call_table[name].args, role == KEY_USER ? "job" : "agent"));
    ask_words(r, v, name, &others, words);
    if (!strstr(words, role == KEY_USER ? "is of user somebody; this key is x-user's" : "this key is"))
        fail_msg("%s by %s about another's: '%s'", call_table[name].name, key_role_names[role], words);
}

/* The farm's own key is tried by all other tests. */
static void every_request_is_for_the_roles_that_the_document_names(void **state)
{
    struct rig *r = *state;
    struct rights rights;
    struct visitor v;
    char identity[40];

    read_rights(&rights);
    rig_do(r, "job_submit", "{'body':'b','user':'x-user'}");
    rig_do(r, "job_submit", "{'body':'b','user':'somebody'}");
    for (size_t i = 0; i < N_COLUMNS; i++) {
        const enum key_role role = columns[i];

        snprintf(identity, sizeof identity, "%s:x-%s", key_role_names[role], key_role_names[role]);
        assert_int_equal(rights.of[CALL_HELLO][role], YES);
        visit(r, &v, identity, (char)('1' + i));
        for (int name = 0; name < N_CALLS; name++) {
            assert_int_equal(access_allows(role, (enum call_name)name), rights.of[name][role] != NO);
            if (name != CALL_HELLO)
                try_call(r, &v, role, (enum call_name)name, rights.of[name][role]);
        }
    }
}

static void every_identity_has_a_role(void **state)
{
    static const char *const none[] = {"root:x", "agent", "agent:", "agents:x", "age:x", ":x", "user:a b", "Admin:x"};

    (void)state;
    assert_int_equal(key_role_of(""), KEY_FARM);
    assert_false(key_identity_is_sane(""));
    for (size_t i = 0; i < N_COLUMNS; i++) {
        char identity[KEY_IDENTITY_BYTES + 1];

        snprintf(identity, sizeof identity, "%s:%064d", key_role_names[columns[i]], 0);
        assert_int_equal(key_role_of(identity), columns[i]);
        assert_true(key_identity_is_sane(identity));
        assert_true(strlen(identity) < KEY_IDENTITY_BYTES);
        strcat(identity, "0");
        assert_int_equal(key_role_of(identity), N_KEY_ROLES);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (key_role_of(none[i]) != N_KEY_ROLES || key_identity_is_sane(none[i]))
            fail_msg("'%s' is an identity", none[i]);
}

#define AGENT(id) "{\"agent\":\"" id "\",\"nonce\":\"n\",\"key\":\"cpu\",\"fingerprint\":\"%s\"}"

static void an_agents_key_is_that_agents(void **state)
{
    struct rig *r = *state;
    char mine[300], others[300];
    struct visitor v;

    snprintf(mine, sizeof mine, AGENT("a1"), hash_of(-1));
    snprintf(others, sizeof others, AGENT("a2"), hash_of(-1));
    visit(r, &v, "agent:a1", '1');
    visitor_tries(r, &v, "agent_register", mine, NULL, NULL);
    visitor_tries(r, &v, "agent_register", others, "auth", "this key is agent a1's, not a2's");
    visitor_tries(r, &v, "agent_bye", "{\"agent\":\"a2\"}", "auth", "not a2's");
    visitor_tries(r, &v, "trial_lease", "{\"agent\":\"a1\"}", NULL, NULL);
    visitor_tries(r, &v, "job_submit", "{\"body\":\"b\"}", "auth", "job_submit is not for agent:a1");
    visitor_tries(r, &v, "job_cancel", "{\"job\":\"j1\"}", "auth", "job_cancel is not for agent:a1");
    visitor_tries(r, &v, "agent_mode", "{\"agent\":\"a1\",\"mode\":\"drain\"}", "auth",
                  "agent_mode is not for agent:a1");
}

static void a_users_jobs_are_that_users(void **state)
{
    struct rig *r = *state;
    struct visitor alice, bob;
    cJSON *job;

    visit(r, &alice, "user:alice", '2');
    visit(r, &bob, "user:bob", '3');
    visitor_tries(r, &alice, "job_submit", "{\"body\":\"b\",\"user\":\"bob\"}", NULL, NULL);
    job = rig_job(r, 1);
    assert_string_equal(text_in(job, "user"), "alice"); /* whatever she says */
    cJSON_Delete(job);
    visitor_tries(r, &bob, "job_status", "{\"job\":\"j1\"}", NULL, NULL);
    visitor_tries(r, &bob, "job_cancel", "{\"job\":\"j1\"}", "auth", "job j1 is of user alice; this key is bob's");
    visitor_tries(r, &bob, "job_done", "{\"job\":\"j1\",\"token\":1}", "auth", "job j1 is of user alice");
    visitor_tries(r, &bob, "requeue", "{\"trial\":\"t1\"}", "auth", "a user requeues whole jobs");
    visitor_tries(r, &bob, "job_submit", "{\"body\":\"b\"}", NULL, NULL);
    visitor_tries(r, &bob, "requeue", "{\"job\":\"j2\",\"trial\":\"t1\"}", "auth", "a user requeues whole jobs");
    visitor_tries(r, &bob, "agent_bye", "{\"agent\":\"a1\"}", "auth", "agent_bye is not for user:bob");
    visitor_tries(r, &bob, "backup", "{\"path\":\"/x\"}", "auth", "backup is not for user:bob");
    visitor_tries(r, &alice, "job_cancel", "{\"job\":\"j1\"}", NULL, NULL);
    rig_do(r, "job_submit", "{'body':'b','user':'bob'}"); /* the farm's own key: for anybody */
    rig_do(r, "job_cancel", "{'job':'j3'}");
}

/* His request under a number that was heard on the line. */
static cJSON *ask_as(struct rig *r, struct visitor *v, const char *op, const char *args, const char *id,
                     const char *err)
{
    cJSON *request = rig_request(r, op, cJSON_Parse(args));

    cJSON_ReplaceItemInObject(request, "id", cJSON_CreateString(id));
    cJSON_ReplaceItemInObject(request, "session", cJSON_CreateString(v->session));
    cJSON_ReplaceItemInObject(request, "ctr", cJSON_CreateNumber((double)++v->ctr));
    return rig_tell(r, request, &v->key, v->nonce, err);
}

/* What was answered holds tokens of leases. */
static void nobody_is_answered_as_another_was(void **state)
{
    static const char id[] = "aaaabbbbccccddddeeeeffff00001111", submits[] = "{\"body\":\"b\",\"lease\":true}";
    struct rig *r = *state;
    struct visitor alice, bob, box;
    cJSON *first, *reply;

    visit(r, &alice, "user:alice", '2');
    visit(r, &bob, "user:bob", '3');
    visit(r, &box, "agent:box", '4');
    first = ask_as(r, &alice, "job_submit", submits, id, NULL);
    cJSON_Delete(ask_as(r, &bob, "job_submit", submits, id, "auth"));
    cJSON_Delete(ask_as(r, &box, "job_submit", submits, id, "auth"));
    cJSON_Delete(ask_as(r, &box, "agent_bye", "{\"agent\":\"box\"}", id, NULL));
    cJSON_Delete(ask_as(r, &alice, "job_cancel", "{\"job\":\"j7\"}", id, "not_found"));
    reply = ask_as(r, &alice, "job_submit", submits, id, NULL);
    assert_true(cJSON_Compare(first, reply, true)); /* she is, whatever others asked under it */
    cJSON_Delete(reply);
    rig_pass(r, ANSWERED_MS + HALL_TICK_MS); /* of jobs it is known for longer */
    reply = ask_as(r, &bob, "job_submit", submits, id, "auth");
    assert_non_null(strstr(text_in(reply, "why"), "a request of this id made a job of user alice"));
    cJSON_Delete(reply);
    reply = ask_as(r, &alice, "job_submit", submits, id, NULL);
    assert_string_equal(text_in(object_in(reply, "result"), "job"), "j1");
    cJSON_Delete(reply);
    cJSON_Delete(first);
}

static void an_identity_is_proved(void **state)
{
    struct rig *r = *state;
    struct key bobs;

    key_derive(&key, "user:bob", &bobs);
    rig_told(r, rig_hello_with(r, "{\"nonce\":\"" CLIENT_NONCE "\",\"versions\":[1],\"identity\":\"user:alice\"}"),
             &bobs, CLIENT_NONCE, "auth", "the key is not this tracker's");
    rig_told(r, rig_hello_with(r, good_hello), &bobs, CLIENT_NONCE, "auth", "the key is not this tracker's");
    rig_told(r, rig_hello_with(r, "{\"nonce\":\"" CLIENT_NONCE "\",\"versions\":[1],\"identity\":\"root:x\"}"), &key,
             CLIENT_NONCE, "auth", "'root:x' is no identity");
    assert_memory_not_equal(bobs.bytes, key.bytes, sizeof key.bytes);
}

/* A lease of a job is proved by its token: none is guessed, and a job that nobody leased has none. */
static void a_tuner_drives_what_it_leased_and_nothing_else(void **state)
{
    struct rig *r = *state;
    struct visitor one, two;
    char text[200];
    cJSON *reply;
    int64_t token;

    visit(r, &one, "tuner:one", '1');
    visit(r, &two, "tuner:two", '2');
    rig_do(r, "job_submit", "{'body':'b','user':'alice'}");
    rig_do(r, "job_submit", "{'body':'b','user':'alice'}");
    reply = visitor_ask(r, &one, "job_lease", cJSON_CreateObject());
    assert_string_equal(text_in(object_in(reply, "result"), "job"), "j1");
    token = number_in(object_in(reply, "result"), "token");
    cJSON_Delete(reply);
    for (int guess = 0; guess < 100; guess++) {
        snprintf(text, sizeof text, "{\"job\":\"j1\",\"token\":%d,\"state\":\"failed\"}", guess);
        visitor_tries(r, &two, "job_done", text, "stale", "another tuner has job j1");
    }
    visitor_tries(r, &two, "job_done", "{\"job\":\"j2\",\"token\":0,\"state\":\"failed\"}", "stale", "another tuner");
    visitor_tries(r, &two, "trial_add", "{\"job\":\"j2\",\"token\":0,\"trials\":[]}", "stale", "another tuner");
    snprintf(text, sizeof text, "{\"job\":\"j1\",\"token\":%lld,\"state\":\"done\"}", (long long)token);
    visitor_tries(r, &one, "job_renew", text, NULL, NULL);
    visitor_tries(r, &one, "job_done", text, NULL, NULL);
}

/* Agents and builders are in one list. */
static void a_builder_takes_no_agents_place_nor_an_agent_a_builders(void **state)
{
    struct rig *r = *state;
    struct visitor agent, builder;
    char mine[300];

    snprintf(mine, sizeof mine, AGENT("a1"), hash_of(-1));
    visit(r, &agent, "agent:a1", '1');
    visit(r, &builder, "builder:a1", '2');
    visitor_tries(r, &agent, "agent_register", mine, NULL, NULL);
    visitor_tries(r, &builder, "builder_register", "{\"agent\":\"a1\",\"nonce\":\"n\",\"arches\":[\"sm_61\"]}", "auth",
                  "a1 is an agent's name at present, this key is builder:a1's");
    visitor_tries(r, &builder, "agent_bye", "{\"agent\":\"a1\"}", "auth", "a1 is an agent's name");
    visitor_tries(r, &agent, "agent_bye", "{\"agent\":\"a1\"}", NULL, NULL);
    visitor_tries(r, &builder, "builder_register", "{\"agent\":\"a1\",\"nonce\":\"n\",\"arches\":[\"sm_61\"]}", NULL,
                  NULL);
    visitor_tries(r, &agent, "agent_register", mine, "auth", "a1 is a builder's name at present");
}

/* ---- keys that were taken back ---- */

static const char a_list[] = "# gone\n\nagent:bob\nuser:bob\n";

static void a_key_that_was_taken_back_is_worth_nothing(void **state)
{
    struct rig *r = *state;
    struct visitor bobby;
    struct key bobs;

    r->t->o.revoked = a_list;
    key_derive(&key, "user:bob", &bobs);
    rig_told(r, rig_hello_with(r, "{\"nonce\":\"" CLIENT_NONCE "\",\"versions\":[1],\"identity\":\"user:bob\"}"), &bobs,
             CLIENT_NONCE, "auth", "the key of user:bob was taken back");
    visit(r, &bobby, "user:bobby", '4');
    visitor_tries(r, &bobby, "job_submit", "{\"body\":\"b\"}", NULL, NULL);
    rig_do(r, "status", "{}"); /* the farm's own */
}

static void sessions_of_a_key_that_is_taken_back_end(void **state)
{
    struct rig *r = *state;
    struct visitor bob, again, bobby, agent;

    visit(r, &bob, "user:bob", '1');
    visit(r, &again, "user:bob", '2');
    visit(r, &bobby, "user:bobby", '3');
    visit(r, &agent, "agent:bob", '4');
    visitor_tries(r, &bob, "status", "{}", NULL, NULL);
    assert_int_equal(sessions_revoke(r->t, a_list), 3);
    visitor_tries(r, &bob, "status", "{}", "stale", "unknown session: say hello");
    visitor_tries(r, &again, "status", "{}", "stale", "unknown session: say hello");
    visitor_tries(r, &agent, "status", "{}", "stale", "unknown session: say hello");
    visitor_tries(r, &bobby, "status", "{}", NULL, NULL);
    rig_do(r, "status", "{}");
    assert_int_equal(sessions_revoke(r->t, NULL), 0);
    visit(r, &bob, "user:bob", '5'); /* given back */
}

/* A poll that waited when the key was taken back is given nothing of what comes then. */
static void a_poll_of_a_key_that_is_taken_back_gets_nothing(void **state)
{
    struct rig *r = *state;
    struct visitor tuner;
    struct errand *e;
    cJSON *leased;

    visit(r, &tuner, "tuner:bob", '1');
    e = visitor_send(r, &tuner, "job_lease", cJSON_Parse("{\"wait_ms\":20000}"));
    assert_false(e->left);
    assert_int_equal(sessions_revoke(r->t, "tuner:bob"), 1);
    rig_do(r, "job_submit", "{'body':'b'}");
    rig_turn(r);
    assert_true(e->left);
    assert_string_equal(text_in(e->json, "err"), "auth");
    assert_non_null(strstr(text_in(e->json, "why"), "the key of tuner:bob was taken back"));
    errand_free(e);
    leased = rig_must(r, "job_lease", "{}");
    assert_string_equal(text_in(leased, "job"), "j1");
    cJSON_Delete(leased);
}

/* Two looks, for it is read when it stands still. */
static enum err look_again(struct revoked *list, struct buf *old, bool *changed, struct why *why)
{
    assert_int_equal(revoked_again(list, false, old, changed, why), ERR_OK);
    assert_false(*changed);
    return revoked_again(list, false, old, changed, why);
}

/* Who writes it in place makes it empty first: those in it are not to be let in until it is whole. */
static void a_list_that_is_half_written_is_not_read(void **state)
{
    char path[300];
    struct revoked list;
    struct buf old;
    struct why why = {""};
    bool changed;

    snprintf(path, sizeof path, "%s/revoked", ((const struct rig *)*state)->dir);
    assert_int_equal(file_replace(path, "user:eve\n", 9, 0600, &why), ERR_OK);
    assert_int_equal(revoked_open(&list, path, &why), ERR_OK);
    buf_init(&old, REVOKED_BYTES);
    for (size_t n = 0; n <= 18; n += 6) { /* its size is another at each look */
        assert_int_equal(file_replace(path, "user:eve\nuser:bob\n", n, 0600, &why), ERR_OK);
        assert_int_equal(revoked_again(&list, false, &old, &changed, &why), ERR_OK);
        assert_string_equal(buf_text(&list.list), "user:eve\n");
    }
    assert_int_equal(revoked_again(&list, false, &old, &changed, &why), ERR_OK);
    assert_true(changed);
    assert_string_equal(buf_text(&list.list), "user:eve\nuser:bob\n");
    buf_fini(&old);
    revoked_close(&list);
}

/* With number, size and time as before it is not looked into, unless somebody wants it. */
static void a_list_is_read_when_it_has_changed_or_must_be(void **state)
{
    char path[300];
    struct revoked list;
    struct buf old;
    struct why why = {""};
    bool changed;

    snprintf(path, sizeof path, "%s/revoked", ((const struct rig *)*state)->dir);
    assert_int_equal(revoked_open(&list, path, &why), ERR_NOT_FOUND);
    assert_int_equal(file_replace(path, "user:eve\n", 9, 0600, &why), ERR_OK);
    buf_init(&old, REVOKED_BYTES);
    assert_int_equal(look_again(&list, &old, &changed, &why), ERR_OK);
    assert_true(changed);
    assert_string_equal(buf_text(&list.list), "user:eve\n");
    assert_int_equal(revoked_again(&list, false, &old, &changed, &why), ERR_OK);
    assert_false(changed);
    assert_int_equal(revoked_again(&list, true, &old, &changed, &why), ERR_OK);
    assert_true(changed);
    assert_string_equal(buf_text(&old), "user:eve\n");
    assert_int_equal(file_replace(path, "user:eve\nbob\n", 13, 0600, &why), ERR_OK);
    assert_int_equal(look_again(&list, &old, &changed, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "revoked:2: 'bob': expected ROLE:NAME, e.g. user:alice"));
    assert_false(changed);
    assert_string_equal(buf_text(&list.list), "user:eve\n");
    assert_int_equal(revoked_again(&list, false, &old, &changed, &why), ERR_OK); /* told once */
    assert_false(changed);
    buf_fini(&old);
    revoked_close(&list);
    assert_int_equal(revoked_open(&list, NULL, &why), ERR_OK);
    assert_int_equal(revoked_again(&list, true, &old, &changed, &why), ERR_OK);
    assert_false(changed);
}

static void only_whole_lines_are_in_a_list(void **state)
{
    (void)state;
    assert_true(revoked_has("user:a", "user:a"));
    assert_true(revoked_has("user:ab\nuser:a\n", "user:a"));
    assert_false(revoked_has("user:ab\nxuser:a\nuser:a b\n", "user:a"));
    assert_false(revoked_has("\n\n", ""));
    assert_false(revoked_has(NULL, "user:a"));
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, rig_teardown)
    const struct CMUnitTest tests[] = {
        FACT(every_request_is_for_the_roles_that_the_document_names),
        FACT(every_identity_has_a_role),
        FACT(an_agents_key_is_that_agents),
        FACT(a_users_jobs_are_that_users),
        FACT(nobody_is_answered_as_another_was),
        FACT(an_identity_is_proved),
        FACT(a_tuner_drives_what_it_leased_and_nothing_else),
        FACT(a_builder_takes_no_agents_place_nor_an_agent_a_builders),
        FACT(a_key_that_was_taken_back_is_worth_nothing),
        FACT(sessions_of_a_key_that_is_taken_back_end),
        FACT(a_poll_of_a_key_that_is_taken_back_gets_nothing),
        FACT(a_list_is_read_when_it_has_changed_or_must_be),
        FACT(a_list_that_is_half_written_is_not_read),
        FACT(only_whole_lines_are_in_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
