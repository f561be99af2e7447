/* SPDX-License-Identifier: MIT */
/* Agents: registered, heard of, silent, gone, forgotten. */
#include "tests/tracker/rig.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SILENT_MS 90000
#define FORGOTTEN_MS 3600000

static int start(void **state)
{
    struct rig *r = calloc(1, sizeof *r);

    rig_init(r);
    rig_start(r);
    *state = r;
    return 0;
}

static int stop(void **state)
{
    rig_check_books(((struct rig *)*state)->t);
    rig_stop(*state);
    free(*state);
    return 0;
}

/* ---- shorthands ---- */

static void register_as(struct rig *r, const char *agent, const char *key, int fingerprint, const char *more)
{
    rig_do(r, "agent_register", "{'agent':'%s','nonce':'n','key':'%s','fingerprint':'%s'%s}", agent, key,
           hash_of(fingerprint), more);
}

/* An agent's entry in the list of devices or builders, as text; "" when it is not there. Lent until the next call. */
static const cJSON *entry(struct rig *r, const char *list, const char *agent)
{
    static cJSON *result;

    cJSON_Delete(result);
    result = rig_must(r, "devices", "{}");
    for (int i = 0; i < count_in(result, list); i++)
        if (strcmp(text_in(item_in(result, list, i), "agent"), agent) == 0)
            return item_in(result, list, i);
    cJSON_Delete(result);
    result = NULL;
    return NULL;
}

static const char *state_of(struct rig *r, const char *agent)
{
    const cJSON *e = entry(r, "devices", agent);

    return e ? text_in(e, "state") : "not there";
}

static void forget_entry(struct rig *r)
{
    entry(r, "devices", "nobody of this name");
}

/* ---- facts ---- */

static void a_device_is_shown_as_it_registered(void **state)
{
    struct rig *r = *state;
    const cJSON *e;
    cJSON *result;

    result = rig_must(r, "agent_register",
                      "{'agent':'a','nonce':'n','key':'cpu','fingerprint':'%s','version':'1.2','device':{'name':'x'},"
                      "'arch':'sm_61','builds':false,'capacity':30}",
                      hash_of(-1));
    assert_int_equal(number_in(result, "lease_ms"), RIG_LEASE_MS);
    assert_int_equal(number_in(result, "builds"), 1);
    cJSON_Delete(result);
    e = entry(r, "devices", "a");
    assert_string_equal(text_in(e, "key"), "cpu");
    assert_string_equal(text_in(e, "fingerprint"), hash_of(-1));
    assert_string_equal(text_in(e, "version"), "1.2");
    assert_string_equal(text_in(e, "state"), "idle");
    assert_string_equal(text_in(object_in(e, "device"), "name"), "x");
    assert_string_equal(text_in(e, "arch"), "sm_61");
    assert_int_equal(number_in(e, "builds"), 0);
    assert_int_equal(number_in(e, "capacity"), 30);
    assert_int_equal(number_in(e, "last_seen_ms"), r->wall_ms);
    assert_int_equal(number_in(e, "leased"), 0);
    assert_int_equal(number_in(e, "done"), 0);
    assert_int_equal(number_in(e, "failed"), 0);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(e, "current")));
    assert_null(cJSON_GetObjectItem(e, "arches"));
    assert_null(entry(r, "builders", "a"));
    register_as(r, "b", "cpu", -1, "");
    assert_null(cJSON_GetObjectItem(entry(r, "devices", "b"), "arch"));
    assert_null(cJSON_GetObjectItem(entry(r, "devices", "b"), "capacity"));
    forget_entry(r);
}

static void a_builder_is_shown_apart_from_devices(void **state)
{
    struct rig *r = *state;
    const cJSON *e;

    rig_do(r, "builder_register",
           "{'agent':'m','nonce':'n','arches':['sm_61','sm_75'],'compiler':'NVRTC 12','version':'3'}");
    assert_null(entry(r, "devices", "m"));
    e = entry(r, "builders", "m");
    assert_string_equal(text_in(e, "compiler"), "NVRTC 12");
    assert_string_equal(text_in(e, "version"), "3");
    assert_int_equal(count_in(e, "arches"), 2);
    assert_string_equal(item_in(e, "arches", 1)->valuestring, "sm_75");
    assert_null(cJSON_GetObjectItem(e, "key"));
    assert_null(cJSON_GetObjectItem(e, "device"));
    forget_entry(r);
}

static void an_agent_may_come_back_as_the_other_kind(void **state)
{
    struct rig *r = *state;

    rig_do(r, "builder_register", "{'agent':'m','nonce':'n','arches':['sm_61']}");
    register_as(r, "m", "cpu", -1, "");
    assert_null(entry(r, "builders", "m"));
    assert_non_null(entry(r, "devices", "m"));
    rig_refused(r, ERR_INPUT, "registered as a device, not as a builder", "build_lease", "{'agent':'m'}");
    rig_do(r, "builder_register", "{'agent':'m','nonce':'n','arches':['sm_61']}");
    assert_null(entry(r, "devices", "m"));
    rig_do(r, "build_lease", "{'agent':'m'}");
    forget_entry(r);
}

static void a_beat_says_what_an_agent_does(void **state)
{
    struct rig *r = *state;
    const cJSON *e;
    cJSON *result;

    register_as(r, "a", "cpu", -1, "");
    rig_pass(r, 1000);
    result = rig_must(r, "agent_beat",
                      "{'agent':'a','state':'cooling','current':{'trial':'t1'},'temperature':61.5,'load':0.5}");
    assert_int_equal(number_in(result, "drain"), 0);
    cJSON_Delete(result);
    e = entry(r, "devices", "a");
    assert_string_equal(text_in(e, "state"), "cooling");
    assert_string_equal(text_in(object_in(e, "current"), "trial"), "t1");
    assert_true(real_in(e, "temperature") == 61.5 && real_in(e, "load") == 0.5);
    assert_int_equal(number_in(e, "last_seen_ms"), r->wall_ms);
    rig_do(r, "agent_beat", "{'agent':'a'}");
    e = entry(r, "devices", "a");
    assert_string_equal(text_in(e, "state"), "cooling"); /* nothing new about it */
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(e, "current")));
    ((struct agent *)table_get_text(&r->t->agents, "a"))->drain = true;
    result = rig_must(r, "agent_beat", "{'agent':'a'}");
    assert_int_equal(number_in(result, "drain"), 1);
    cJSON_Delete(result);
    rig_refused(r, ERR_INPUT, "temperature", "agent_beat", "{'agent':'a','temperature':'hot'}");
    rig_refused(r, ERR_NOT_FOUND, "agent x is not registered", "agent_beat", "{'agent':'x'}");
    forget_entry(r);
}

/* An idle agent's polls tell it between beats, which are far apart; tries of a parked one do not tell it again. */
static void a_lease_says_how_its_agent_is(void **state)
{
    struct rig *r = *state;
    const cJSON *e;

    register_as(r, "a", "cpu", -1, "");
    rig_do(r, "trial_lease", "{'agent':'a','temperature':48.5,'load':0.25}");
    e = entry(r, "devices", "a");
    assert_true(real_in(e, "temperature") == 48.5 && real_in(e, "load") == 0.25);
    rig_do(r, "trial_lease", "{'agent':'a'}");
    e = entry(r, "devices", "a");
    assert_true(real_in(e, "temperature") == 48.5 && real_in(e, "load") == 0.25); /* an older agent tells nothing */
    assert_int_equal(((struct agent *)table_get_text(&r->t->agents, "a"))->history.n, 1);
    rig_refused(r, ERR_INPUT, "temperature", "trial_lease", "{'agent':'a','temperature':'hot'}");
    forget_entry(r);
}

/* A new process knows nothing of what was said to the one before: it is not drained, builds nothing, is not warm. */
static void an_agent_that_starts_anew_begins_anew(void **state)
{
    struct rig *r = *state;
    struct agent *a;
    const cJSON *e;
    cJSON *result;

    rig_agent(r, "a", "first");
    rig_do(r, "agent_beat", "{'agent':'a','state':'cooling','temperature':61.5}");
    a = table_get_text(&r->t->agents, "a");
    a->drain = true;
    result = rig_must(r, "agent_beat", "{'agent':'a'}");
    assert_int_equal(number_in(result, "drain"), 1);
    cJSON_Delete(result);
    rig_agent(r, "a", "first"); /* the same process, whose line was cut, and another */
    rig_agent(r, "a", "second");
    assert_ptr_equal(table_get_text(&r->t->agents, "a"), a);
    result = rig_must(r, "agent_beat", "{'agent':'a'}");
    assert_int_equal(number_in(result, "drain"), 0);
    cJSON_Delete(result);
    e = entry(r, "devices", "a");
    assert_string_equal(text_in(e, "state"), "idle");
    assert_false(cJSON_IsNumber(cJSON_GetObjectItem(e, "temperature")));
    forget_entry(r);
}

static void a_silent_agent_is_shown_as_lost_until_it_is_heard_of(void **state)
{
    struct rig *r = *state;

    register_as(r, "a", "cpu", -1, "");
    rig_pass(r, SILENT_MS);
    assert_string_equal(state_of(r, "a"), "idle");
    rig_pass(r, 1);
    assert_string_equal(state_of(r, "a"), "lost");
    rig_do(r, "agent_beat", "{'agent':'a','state':'cooling'}");
    assert_string_equal(state_of(r, "a"), "cooling");
    forget_entry(r);
}

/* A parked poll that is tried again because of somebody else's news says nothing about its own client. */
static void a_poll_tried_again_is_no_sign_of_life(void **state)
{
    struct rig *r = *state;
    struct errand *poll;

    register_as(r, "a", "gpu", -1, "");
    rig_pass(r, 10000);
    poll = rig_send(r, "trial_lease", "{'agent':'a','wait_ms':20000}"); /* heard of now */
    rig_pass(r, 19000);
    rig_add(r, rig_submit(r, "cpu"), 0, 1, 1); /* wakes all polls for trials */
    rig_pass(r, 2000);
    assert_true(poll->left);
    errand_free(poll);
    rig_pass(r, SILENT_MS - 21000);
    assert_string_equal(state_of(r, "a"), "idle");
    rig_pass(r, 1);
    assert_string_equal(state_of(r, "a"), "lost");
    forget_entry(r);
}

static void one_key_holds_one_kind_of_device(void **state)
{
    struct rig *r = *state;
    char words[200];

    register_as(r, "a", "cpu", -1, "");
    register_as(r, "b", "cpu", -1, "");
    register_as(r, "c", "gpu", -2, "");
    snprintf(words, sizeof words, "conflict: key cpu holds devices of fingerprint %.12s.. (agent ", hash_of(-1));
    rig_refused(r, ERR_EXISTS, words, "agent_register", "{'agent':'d','nonce':'n','key':'cpu','fingerprint':'%s'}",
                hash_of(-2));
    assert_null(table_get_text(&r->t->agents, "d"));
    register_as(r, "d", "cpu", -2, ",'mix':true");
    rig_do(r, "agent_bye", "{'agent':'d'}");
    rig_do(r, "agent_bye", "{'agent':'b'}");
    register_as(r, "a", "cpu", -3, ""); /* its own device changed, and nobody else is left */
    rig_pass(r, SILENT_MS + 1);
    register_as(r, "e", "cpu", -4, ""); /* those who are silent hold nothing */
}

static void a_goodbye_takes_the_agent_from_the_list(void **state)
{
    struct rig *r = *state;

    register_as(r, "a", "cpu", -1, "");
    rig_do(r, "agent_bye", "{'agent':'a'}");
    assert_string_equal(state_of(r, "a"), "not there");
    rig_do(r, "agent_bye", "{'agent':'a'}"); /* said twice is said once */
    rig_do(r, "agent_bye", "{'agent':'never there'}");
    rig_refused(r, ERR_NOT_FOUND, "not registered", "agent_beat", "{'agent':'a'}");
    assert_string_equal(agent_state(r->t, table_get_text(&r->t->agents, "a")), "gone");
    register_as(r, "a", "cpu", -1, "");
    assert_string_equal(state_of(r, "a"), "idle");
    forget_entry(r);
}

static void agents_not_heard_of_for_an_hour_are_forgotten(void **state)
{
    struct rig *r = *state;

    register_as(r, "a", "cpu", -1, "");
    register_as(r, "b", "cpu", -1, "");
    rig_pass(r, FORGOTTEN_MS / 2);
    rig_do(r, "agent_beat", "{'agent':'b'}");
    rig_pass(r, FORGOTTEN_MS / 2);
    assert_string_equal(state_of(r, "a"), "lost");
    rig_pass(r, 1000 + 2 * HALL_TICK_MS); /* all are looked at every second */
    assert_string_equal(state_of(r, "a"), "not there");
    assert_string_equal(state_of(r, "b"), "lost");
    assert_int_equal(r->t->agents.n, 1);
    forget_entry(r);
}

static void an_agent_with_a_living_lease_is_not_forgotten(void **state)
{
    struct rig *r = *state;

    register_as(r, "a", "cpu", -1, "");
    rig_add(r, rig_submit(r, "cpu"), 0, 1, 1);
    r->t->o.lease_ms = FORGOTTEN_MS + 60000;
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    rig_pass(r, FORGOTTEN_MS + 1000);
    assert_string_equal(state_of(r, "a"), "lost");
    rig_pass(r, 60000);
    assert_string_equal(state_of(r, "a"), "not there"); /* its lease ran out */
    forget_entry(r);
}

static void a_start_forgets_agents(void **state)
{
    struct rig *r = *state;

    register_as(r, "a", "cpu", -1, "");
    rig_crash(r);
    rig_refused(r, ERR_NOT_FOUND, "agent a is not registered", "trial_lease", "{'agent':'a'}");
}

static void too_many_agents_are_refused(void **state)
{
    struct rig *r = *state;
    char name[16];

    for (int i = 0; i < MAX_AGENTS; i++) {
        snprintf(name, sizeof name, "a%d", i);
        rig_do(r, "builder_register", "{'agent':'%s','nonce':'n','arches':['x']}", name);
    }
    rig_refused(r, ERR_LIMIT, "over 16384 agents", "builder_register", "{'agent':'z','nonce':'n','arches':['x']}");
    rig_do(r, "builder_register", "{'agent':'a7','nonce':'m','arches':['x']}"); /* one of those there are */
}

static void a_bad_registration_is_refused_with_what_is_wrong(void **state)
{
    struct rig *r = *state;

#define AGENT(text) "{'nonce':'n'," text "}"
    rig_refused(r, ERR_INPUT, "member agent: expected 1 to 64", "agent_register", AGENT("'key':'k','fingerprint':'%s'"),
                hash_of(1));
    rig_refused(r, ERR_INPUT, "member key: expected 1 to 64", "agent_register", AGENT("'agent':'a','fingerprint':'%s'"),
                hash_of(1));
    rig_refused(r, ERR_INPUT, "member fingerprint: expected a SHA-256 in hex; it is missing", "agent_register",
                AGENT("'agent':'a','key':'k'"));
    rig_refused(r, ERR_INPUT, "member nonce: expected a string; it is missing", "agent_register",
                "{'agent':'a','key':'k','fingerprint':'%s'}", hash_of(1));
    rig_refused(r, ERR_INPUT, "expected 1 to 64 of letters, digits and . _ : @ + -; found", "agent_register",
                AGENT("'agent':'<a>','key':'k','fingerprint':'%s'"), hash_of(1));
    rig_refused(r, ERR_INPUT, "expected 1 to 64 of letters, digits and . _ : @ + -; found", "agent_register",
                AGENT("'agent':'a','key':'','fingerprint':'%s'"), hash_of(1));
    rig_refused(r, ERR_INPUT, "member fingerprint: expected a SHA-256 in hex", "agent_register",
                AGENT("'agent':'a','key':'k','fingerprint':''"));
    rig_refused(r, ERR_INPUT,
                "member arch: expected an architecture, 1 to 16 of a-z, 0-9 and _, e.g. sm_61; found 5 bytes, 'SM 61'",
                "agent_register", AGENT("'agent':'a','key':'k','fingerprint':'%s','arch':'SM 61'"), hash_of(1));
    rig_refused(r, ERR_INPUT, "expected an architecture", "agent_register",
                AGENT("'agent':'a','key':'k','fingerprint':'%s','arch':'%s'"), hash_of(1), "abcdefghijklmnopq");
    rig_refused(r, ERR_INPUT,
                "member arches: expected a list of 1 to 16, each an architecture, 1 to 16 of a-z, 0-9 and _, e.g. "
                "sm_61; found a list of 0",
                "builder_register", AGENT("'agent':'a','arches':[]"));
    rig_refused(
        r, ERR_LIMIT,
        "expected a list of 1 to 16, each an architecture, 1 to 16 of a-z, 0-9 and _, e.g. sm_61; found a list of 17",
        "builder_register", AGENT("'agent':'a','arches':[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"));
    rig_refused(r, ERR_INPUT, "member arches: expected a list of 1 to 16, each an architecture", "builder_register",
                AGENT("'agent':'a','arches':[61]"));
    rig_refused(r, ERR_INPUT, "member agent: expected 1 to 64", "builder_register",
                AGENT("'agent':'a b','arches':['x']"));
    assert_int_equal(r->t->agents.n, 0);
    rig_do(r, "agent_register", AGENT("'agent':'a','key':'k','fingerprint':'%s','arch':'abcdefghijklmnop'"),
           hash_of(1));
}

/* What does not fit its place is cut or left out, and harms nobody. */
static void long_texts_of_an_agent_are_cut(void **state)
{
    struct rig *r = *state;
    char *big = calloc(1, 70001);
    const cJSON *e;

    memset(big, 'x', 70000);
    rig_do(r, "agent_register",
           "{'agent':'a','nonce':'n','key':'cpu','fingerprint':'%s','version':'%.100s','device':{'name':'%s'}}",
           hash_of(-1), big, big);
    rig_do(r, "agent_beat", "{'agent':'a','state':'%.40s','current':'%.5000s'}", big, big);
    e = entry(r, "devices", "a");
    assert_int_equal(strlen(text_in(e, "version")), 64);
    assert_int_equal(strlen(text_in(e, "state")), 32);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(e, "device")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(e, "current")));
    forget_entry(r);
    free(big);
}

/* ---- pages ---- */

/* Two hundred of 60 kB are 12 MB: each is told once, in replies that fit. */
static void devices_come_in_pages(void **state)
{
    enum { N = 200 };
    struct rig *r = *state;
    char *name = calloc(1, 60001);
    int seen[N] = {0}, n_pages = 0;
    int64_t after = 0;

    memset(name, 'x', 60000);
    for (int i = 0; i < N; i++) {
        char agent[16], more[61000];

        snprintf(agent, sizeof agent, "d%d", i);
        snprintf(more, sizeof more, ",'device':{'name':'%s'}", name);
        register_as(r, agent, i % 2 ? "odd" : "even", -1, more);
    }
    do {
        cJSON *page = rig_must(r, "devices", "{'after':%" PRId64 "}", after);

        for (int i = 0; i < count_in(page, "devices"); i++)
            seen[strtol(text_in(item_in(page, "devices", i), "agent") + 1, NULL, 10)]++;
        after = number_in(page, "next");
        n_pages++;
        cJSON_Delete(page);
    } while (after && n_pages < N);
    for (int i = 0; i < N; i++)
        assert_int_equal(seen[i], 1);
    assert_in_range(n_pages, 11, 13); /* of a mebibyte and one more device */
    free(name);
}

static void devices_of_one_key_are_told_alone(void **state)
{
    struct rig *r = *state;
    cJSON *page;

    register_as(r, "a", "cpu", -1, "");
    register_as(r, "b", "gpu", -1, "");
    page = rig_must(r, "devices", "{'key':'gpu'}");
    assert_int_equal(count_in(page, "devices"), 1);
    assert_string_equal(text_in(item_in(page, "devices", 0), "agent"), "b");
    assert_int_equal(number_in(page, "next"), 0);
    cJSON_Delete(page);
}

/* ---- operators ---- */

static void expect_waits(struct rig *r, int64_t job, const char *words)
{
    cJSON *status = rig_job(r, job);
    const cJSON *waits = cJSON_GetObjectItem(status, "waits");

    if (words ? !waits || !strstr(waits->valuestring, words) : waits != NULL)
        fail_msg("job %d waits: %s", (int)job, waits ? waits->valuestring : "nothing");
    cJSON_Delete(status);
}

static void a_drained_agent_gets_nothing_until_it_is_undrained(void **state)
{
    struct rig *r = *state;
    struct errand *poll;

    rig_agent(r, "a", "n");
    rig_add(r, rig_submit(r, "cpu"), 0, 4, 0);
    expect_waits(r, 1, NULL);
    rig_do(r, "agent_mode", "{'agent':'a','mode':'drain'}");
    expect_waits(r, 1, "every device of key cpu is drained or reserved");
    cJSON_Delete(rig_lease(r, "a", 2, 0));
    assert_string_equal(text_in(entry(r, "devices", "a"), "mode"), "drain");
    rig_agent(r, "a", "another process");
    cJSON_Delete(rig_lease(r, "a", 2, 0));
    rig_crash(r);
    rig_agent(r, "a", "n");
    poll = rig_send(r, "trial_lease", "{'agent':'a','max':2,'wait_ms':20000}");
    assert_false(poll->left);
    rig_do(r, "agent_mode", "{'agent':'a','mode':'serve'}"); /* and then at once */
    assert_int_equal(count_in(errand_result(poll), "trials"), 2);
    errand_free(poll);
    assert_null(cJSON_GetObjectItem(entry(r, "devices", "a"), "mode"));
    rig_refused(r, ERR_NOT_FOUND, "there is no agent nobody", "agent_mode", "{'agent':'nobody','mode':'serve'}");
}

static void a_reserved_agent_serves_its_user_alone(void **state)
{
    struct rig *r = *state;
    cJSON *lease,
        *result = rig_must(r, "agent_mode", "{'agent':'a','mode':'reserve','user':'ann'}"); /* before it is there */

    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(result, "absent")));
    cJSON_Delete(result);
    rig_agent(r, "a", "n");
    rig_do(r, "job_submit", "{'body':'b','key':'cpu','lease':true,'user':'bob'}");
    rig_add(r, 1, 0, 2, 0);
    cJSON_Delete(rig_lease(r, "a", 2, 0));
    expect_waits(r, 1, "reserved for another user");
    rig_do(r, "job_submit", "{'body':'b','key':'cpu','lease':true,'user':'ann'}");
    rig_add(r, 2, 0, 2, 100);
    expect_waits(r, 2, NULL);
    lease = rig_lease(r, "a", 4, 2);
    assert_string_equal(text_in(item_in(lease, "trials", 0), "job"), "j2");
    cJSON_Delete(lease);
    assert_string_equal(text_in(entry(r, "devices", "a"), "reserved"), "ann");
}

static void a_job_for_a_board_that_is_off_says_so(void **state)
{
    struct rig *r = *state;

    rig_submit(r, "cpu");
    expect_waits(r, 1, "no device of key cpu is there");
    rig_agent(r, "a", "n");
    expect_waits(r, 1, NULL);
    rig_do(r, "agent_bye", "{'agent':'a'}");
    expect_waits(r, 1, "no device of key cpu is there");
}

static void a_job_of_any_key_says_for_which_of_its_trials_no_device_is_there(void **state)
{
    struct rig *r = *state;

    rig_do(r, "job_submit", "{'body':'b','lease':true}");
    expect_waits(r, 1, NULL);
    rig_do(r, "trial_add", "{'job':'j1','token':1,'trials':[{'n':0,'key':'cpu','program':'%s','body':{}}]}",
           hash_of(1));
    expect_waits(r, 1, "no device of key cpu is there");
    rig_agent(r, "a", "n");
    expect_waits(r, 1, NULL);
    rig_do(r, "trial_add", "{'job':'j1','token':1,'trials':[{'n':1,'key':'gpu','program':'%s','body':{}}]}",
           hash_of(2));
    expect_waits(r, 1, "no device of key gpu is there");
    cJSON_Delete(rig_lease(r, "a", 2, 1));
    rig_do(r, "agent_bye", "{'agent':'a'}");
    register_as(r, "b", "gpu", -1, "");
    expect_waits(r, 1, "no device of key cpu is there");
}

static void an_agent_with_a_full_disk_serves_nobody_and_the_job_says_so(void **state)
{
    struct rig *r = *state;

    rig_agent(r, "a", "n");
    rig_add(r, rig_submit(r, "cpu"), 0, 1, 0);
    rig_do(r, "agent_beat", "{'agent':'a','state':'disk-full'}");
    expect_waits(r, 1, "key cpu: the disk of agent a is full");
    assert_string_equal(text_in(entry(r, "devices", "a"), "state"), "disk-full");
    rig_agent(r, "b", "n");
    expect_waits(r, 1, NULL);
    rig_do(r, "agent_bye", "{'agent':'b'}");
    expect_waits(r, 1, "key cpu: the disk of agent a is full");
    rig_do(r, "agent_beat", "{'agent':'a','state':'idle'}");
    expect_waits(r, 1, NULL);
}

/* Three agents and a builder in pieces of two: who is behind `after` comes next, and 0 ends it. */
static void devices_come_in_pieces(void **state)
{
    struct rig *r = *state;
    cJSON *first, *then, *all;

    register_as(r, "a", "cpu", -1, "");
    register_as(r, "b", "cpu", -1, "");
    rig_do(r, "builder_register", "{'agent':'m','nonce':'n','arches':['sm_61']}");
    register_as(r, "c", "cpu", -1, "");
    first = rig_must(r, "devices", "{'max':2}");
    assert_int_equal(count_in(first, "devices"), 2);
    assert_string_equal(text_in(item_in(first, "devices", 1), "agent"), "b");
    then = rig_must(r, "devices", "{'max':2,'after':%d}", (int)number_in(first, "next"));
    assert_int_equal(count_in(then, "devices"), 1);
    assert_int_equal(count_in(then, "builders"), 1);
    assert_string_equal(text_in(item_in(then, "devices", 0), "agent"), "c");
    assert_int_equal(number_in(then, "next"), 0);
    all = rig_must(r, "devices", "{'max':0}");
    assert_int_equal(count_in(all, "devices"), 3);
    cJSON_Delete(first);
    cJSON_Delete(then);
    cJSON_Delete(all);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(devices_come_in_pieces),
        FACT(a_device_is_shown_as_it_registered),
        FACT(a_builder_is_shown_apart_from_devices),
        FACT(an_agent_may_come_back_as_the_other_kind),
        FACT(a_beat_says_what_an_agent_does),
        FACT(a_lease_says_how_its_agent_is),
        FACT(an_agent_that_starts_anew_begins_anew),
        FACT(a_silent_agent_is_shown_as_lost_until_it_is_heard_of),
        FACT(a_poll_tried_again_is_no_sign_of_life),
        FACT(one_key_holds_one_kind_of_device),
        FACT(a_goodbye_takes_the_agent_from_the_list),
        FACT(agents_not_heard_of_for_an_hour_are_forgotten),
        FACT(an_agent_with_a_living_lease_is_not_forgotten),
        FACT(a_start_forgets_agents),
        FACT(too_many_agents_are_refused),
        FACT(a_bad_registration_is_refused_with_what_is_wrong),
        FACT(long_texts_of_an_agent_are_cut),
        FACT(a_drained_agent_gets_nothing_until_it_is_undrained),
        FACT(a_reserved_agent_serves_its_user_alone),
        FACT(a_job_for_a_board_that_is_off_says_so),
        FACT(a_job_of_any_key_says_for_which_of_its_trials_no_device_is_there),
        FACT(an_agent_with_a_full_disk_serves_nobody_and_the_job_says_so),
        FACT(devices_come_in_pages),
        FACT(devices_of_one_key_are_told_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
