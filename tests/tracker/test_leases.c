/* SPDX-License-Identifier: MIT */
/* Leases of trials: granted, renewed, run out, given back, answered - once. */
#include "tests/tracker/rig.h"

#include "logs/record.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int start(void **state)
{
    struct rig *r = calloc(1, sizeof *r);

    rig_init(r);
    rig_start(r);
    rig_agent(r, "a", "n");
    rig_agent(r, "b", "n");
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

static const struct agent *agent(const struct rig *r, const char *id)
{
    return table_get_text(&r->t->agents, id);
}

/* Names t<id> with a token in "lost" or "cancelled" of a renewal, or in neither. */
static const char *renewed(struct rig *r, const char *by, int id, int token)
{
    cJSON *result = rig_must(r, "trial_renew", "{'agent':'%s','trials':[{'trial':'t%d','token':%d}]}", by, id, token);
    const char *what = count_in(result, "lost") ? "lost" : count_in(result, "cancelled") ? "cancelled" : "kept";

    assert_int_equal(number_in(result, "deadline_ms"), RIG_LEASE_MS);
    assert_int_equal(count_in(result, "lost") + count_in(result, "cancelled"), strcmp(what, "kept") != 0);
    cJSON_Delete(result);
    return what;
}

static int released(struct rig *r, int id, int token, bool counted)
{
    cJSON *result = rig_must(r, "trial_release", "{'trials':[{'trial':'t%d','token':%d}],'counted':%s}", id, token,
                             counted ? "true" : "false");
    const int n = (int)number_in(result, "released");

    cJSON_Delete(result);
    return n;
}

#define RESULT(id, envelope) "{'trial':'" id "','token':1,'envelope':{" envelope "},'record':'%s'}"

static bool answer(struct rig *r, int id, int token, const char *status)
{
    cJSON *result = rig_must(r, "trial_result",
                             "{'trial':'t%d','token':%d,'envelope':{'status':'%s','time_ns':100},'record':'of %d'}", id,
                             token, status, token);
    const bool accepted = number_in(result, "accepted");

    cJSON_Delete(result);
    return accepted;
}

static void expect_counts(struct rig *r, int64_t job, int open, int leased, int done, int lost)
{
    cJSON *status = rig_job(r, job);
    const cJSON *n = object_in(status, "trials");

    assert_int_equal(number_in(n, "open"), open);
    assert_int_equal(number_in(n, "leased"), leased);
    assert_int_equal(number_in(n, "done"), done);
    assert_int_equal(number_in(n, "lost"), lost);
    cJSON_Delete(status);
}

static void take_row(const struct trial_row *row, void *arg)
{
    struct trial_row *out = arg;
    static char agent_of[65];

    snprintf(agent_of, sizeof agent_of, "%s", row->agent);
    *out = *row;
    out->agent = agent_of;
}

static struct trial_row row_of(struct rig *r, int64_t id)
{
    struct trial_row row = {0};

    assert_int_equal(r->options.ops->trial_get(r->options.store, id, 0, 0, take_row, &row), ERR_OK);
    return row;
}

static int64_t attempts_in_store(struct rig *r, int64_t id)
{
    return row_of(r, id).attempts;
}

/* Lets the i-th trial's attempts be used up but for the last n. */
static void use_up(struct rig *r, int id, int n_left)
{
    for (int i = 1; i <= MAX_ATTEMPTS - n_left; i++) {
        cJSON_Delete(rig_lease(r, "a", 1, 1));
        assert_int_equal(released(r, id, i, true), 1);
    }
}

/* ---- grants ---- */

static void a_grant_says_all_that_a_device_needs(void **state)
{
    struct rig *r = *state;
    const int64_t job = rig_submit(r, "cpu");
    const cJSON *t;
    cJSON *lease;

    rig_do(r, "trial_add",
           "{'job':'j%d','token':1,'trials':[{'n':7,'key':'cpu','fingerprint':'%s','program':'%s','anchor':'%s',"
           "'purpose':'final','protocol':'rounds-9','body':{'seed':42}}]}",
           (int)job, hash_of(-1), hash_of(1), hash_of(2));
    lease = rig_lease(r, "a", 1, 1);
    t = item_in(lease, "trials", 0);
    assert_string_equal(text_in(t, "trial"), "t1");
    assert_int_equal(number_in(t, "token"), 1);
    assert_string_equal(text_in(t, "job"), "j1");
    assert_int_equal(number_in(t, "n"), 7);
    assert_string_equal(text_in(t, "program"), hash_of(1));
    assert_string_equal(text_in(t, "anchor"), hash_of(2));
    assert_string_equal(text_in(t, "purpose"), "final");
    assert_string_equal(text_in(t, "protocol"), "rounds-9");
    assert_int_equal(number_in(t, "attempt"), 1);
    assert_int_equal(number_in(object_in(t, "body"), "seed"), 42);
    assert_int_equal(number_in(lease, "deadline_ms"), RIG_LEASE_MS);
    assert_int_equal(number_in(lease, "drain"), 0);
    assert_int_equal(row_of(r, 1).state, TRIAL_LEASED);
    assert_string_equal(row_of(r, 1).agent, "a");
    assert_int_equal(agent(r, "a")->n_leased, 1);
    assert_int_equal(r->t->stats.grants, 1);
    cJSON_Delete(lease);
}

static void a_lease_takes_trials_in_their_order_and_no_more_than_asked(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_add(r, rig_submit(r, "cpu"), 0, 5, 10);
    lease = rig_lease(r, "a", 3, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(number_in(item_in(lease, "trials", i), "n"), i);
    cJSON_Delete(lease);
    expect_counts(r, 1, 2, 3, 0, 0);
    lease = rig_lease(r, "b", 64, 2);
    assert_int_equal(number_in(item_in(lease, "trials", 0), "n"), 3);
    cJSON_Delete(lease);
    cJSON_Delete(rig_lease(r, "b", 64, 0));
}

static void a_lease_ends_where_its_bodies_grow_large(void **state)
{
    struct rig *r = *state;
    const int64_t job = rig_submit(r, "cpu");
    char *big = calloc(1, 60001);

    memset(big, 'x', 60000);
    for (int i = 0; i < 20; i++)
        rig_do(r, "trial_add", "{'job':'j%d','token':1,'trials':[{'n':%d,'program':'%s','body':{'x':'%s'}}]}", (int)job,
               i, hash_of(i), big);
    cJSON_Delete(rig_lease(r, "a", 64, 18)); /* the 18th passes 1 MiB */
    free(big);
}

static void a_trial_is_leased_only_where_its_fingerprint_fits(void **state)
{
    struct rig *r = *state;
    const int64_t job = rig_submit(r, "cpu");

    rig_do(r, "trial_add", "{'job':'j%d','token':1,'trials':[{'n':0,'fingerprint':'%s','program':'%s','body':{}}]}",
           (int)job, hash_of(-2), hash_of(1));
    cJSON_Delete(rig_lease(r, "a", 4, 0));
    rig_add(r, job, 1, 1, 20); /* behind it, for any device */
    cJSON_Delete(rig_lease(r, "a", 4, 1));
    rig_do(r, "agent_register", "{'agent':'c','nonce':'n','key':'cpu','mix':true,'fingerprint':'%s'}", hash_of(-2));
    cJSON_Delete(rig_lease(r, "c", 1, 1));
    expect_counts(r, job, 0, 2, 0, 0);
}

/* What a key of its own proves is the agent's name: it works for what it registered as, whatever it asks for. */
static void an_agent_gets_no_trials_of_another_device(void **state)
{
    struct rig *r = *state;
    const int64_t job = rig_submit(r, "cpu");
    cJSON *result;

    rig_add(r, rig_submit(r, "other"), 0, 1, 10);
    rig_do(r, "trial_add", "{'job':'j%d','token':1,'trials':[{'n':0,'fingerprint':'%s','program':'%s','body':{}}]}",
           (int)job, hash_of(-2), hash_of(1));
    result = rig_must(r, "trial_lease", "{'agent':'a','key':'other'}");
    assert_int_equal(count_in(result, "trials"), 0);
    cJSON_Delete(result);
    result = rig_must(r, "trial_lease", "{'agent':'a','fingerprint':'%s'}", hash_of(-2));
    assert_int_equal(count_in(result, "trials"), 0);
    cJSON_Delete(result);
}

/* ---- deadlines ---- */

static void a_lease_that_is_not_renewed_goes_to_another_agent(void **state)
{
    struct rig *r = *state;
    struct errand *poll;

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    rig_pass(r, RIG_LEASE_MS - 10000);
    poll = rig_send(r, "trial_lease", "{'agent':'b','wait_ms':20000}");
    rig_pass(r, 10000);
    assert_false(poll->left);
    rig_pass(r, HALL_TICK_MS);
    assert_true(poll->left);
    assert_int_equal(number_in(item_in(errand_result(poll), "trials", 0), "token"), 2);
    assert_int_equal(number_in(item_in(errand_result(poll), "trials", 0), "attempt"), 2);
    assert_string_equal(renewed(r, "a", 1, 1), "lost");
    assert_int_equal(agent(r, "a")->n_leased, 0);
    assert_int_equal(agent(r, "b")->n_leased, 1);
    assert_int_equal(r->t->stats.expired, 1);
    errand_free(poll);
}

static void a_lease_lives_a_full_period_from_each_renewal(void **state)
{
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 2, 10);
    cJSON_Delete(rig_lease(r, "a", 2, 2));
    for (int i = 0; i < 4; i++) {
        rig_pass(r, RIG_LEASE_MS - 100);
        assert_string_equal(renewed(r, "a", 1, 1), "kept");
        if (i == 0) /* the other one is not renewed any more */
            assert_string_equal(renewed(r, "a", 2, 1), "kept");
    }
    assert_int_equal(r->t->stats.expired, 1);
    expect_counts(r, 1, 1, 1, 0, 0);
}

static void a_renewal_is_only_for_who_has_the_lease(void **state)
{
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 2, 10);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    assert_string_equal(renewed(r, "a", 1, 0), "lost");
    assert_string_equal(renewed(r, "a", 1, 2), "lost");
    assert_string_equal(renewed(r, "b", 1, 1), "lost");
    assert_string_equal(renewed(r, "a", 2, 0), "lost"); /* open */
    assert_string_equal(renewed(r, "a", 99, 1), "lost");
    assert_string_equal(renewed(r, "a", 1, 1), "kept");
    rig_do(r, "job_cancel", "{'job':'j1'}");
    assert_string_equal(renewed(r, "a", 1, 1), "cancelled");
    assert_int_equal(agent(r, "a")->n_leased, 0);
}

static void after_a_start_every_lease_has_a_period_of_grace(void **state)
{
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 2, 10);
    cJSON_Delete(rig_lease(r, "a", 2, 2));
    rig_pass(r, RIG_LEASE_MS - 100);
    rig_crash(r);
    expect_counts(r, 1, 0, 2, 0, 0);
    rig_pass(r, RIG_LEASE_MS - 100);
    rig_agent(r, "a", "n");
    assert_string_equal(renewed(r, "a", 1, 1), "kept"); /* it is its again */
    assert_int_equal(agent(r, "a")->n_leased, 1);
    rig_pass(r, 200);
    expect_counts(r, 1, 1, 1, 0, 0); /* nobody came for the other one */
    assert_int_equal(attempts_in_store(r, 1), 0);
    assert_int_equal(attempts_in_store(r, 2), 1);
    assert_string_equal(row_of(r, 2).agent, "");
}

static void jumps_of_the_wall_clock_end_no_lease(void **state)
{
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    r->wall_ms += INT64_C(400) * 86400000;
    rig_pass(r, 1000);
    r->wall_ms -= INT64_C(4000) * 86400000;
    rig_pass(r, 1000);
    assert_int_equal(r->t->stats.expired, 0);
    assert_string_equal(renewed(r, "a", 1, 1), "kept");
}

/* ---- the way back ---- */

static void a_released_trial_is_the_next_one_again(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_add(r, rig_submit(r, "cpu"), 0, 3, 10);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    assert_int_equal(released(r, 1, 1, false), 1);
    assert_int_equal(attempts_in_store(r, 1), 0);
    assert_int_equal(row_of(r, 1).state, TRIAL_OPEN);
    lease = rig_lease(r, "b", 1, 1);
    assert_string_equal(text_in(item_in(lease, "trials", 0), "trial"), "t1");
    assert_int_equal(number_in(item_in(lease, "trials", 0), "attempt"), 1);
    cJSON_Delete(lease);
    assert_int_equal(released(r, 1, 2, true), 1);
    assert_int_equal(attempts_in_store(r, 1), 1);
    assert_int_equal(agent(r, "a")->n_leased + agent(r, "b")->n_leased, 0);
}

static void a_release_with_another_token_changes_nothing(void **state)
{
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    assert_int_equal(released(r, 1, 0, true), 0);
    assert_int_equal(released(r, 1, 2, true), 0);
    assert_int_equal(released(r, 5, 1, true), 0);
    expect_counts(r, 1, 0, 1, 0, 0);
    assert_int_equal(released(r, 1, 1, true), 1);
    assert_int_equal(released(r, 1, 1, true), 0); /* it is open now */
    expect_counts(r, 1, 1, 0, 0, 0);
}

static void a_release_counts_an_attempt_unless_told_otherwise(void **state)
{
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    rig_do(r, "trial_release", "{'trials':[{'trial':'t1','token':1}]}");
    assert_int_equal(attempts_in_store(r, 1), 1);
}

static void a_new_process_of_an_agent_gives_up_what_the_old_one_had(void **state)
{
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 3, 10);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    cJSON_Delete(rig_lease(r, "b", 1, 1));
    rig_agent(r, "a", "n"); /* the same process once more */
    expect_counts(r, 1, 1, 2, 0, 0);
    rig_agent(r, "a", "n2");
    expect_counts(r, 1, 2, 1, 0, 0);
    assert_int_equal(attempts_in_store(r, 1), 1);
    assert_int_equal(attempts_in_store(r, 2), 0);
    rig_refused(r, ERR_EXISTS, "another process registered as agent a", "trial_lease",
                "{'agent':'a','session_nonce':'n'}");
    rig_do(r, "trial_lease", "{'agent':'a','session_nonce':'n2'}");
}

static void an_agent_that_says_goodbye_gives_its_leases_back_uncounted(void **state)
{
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 2, 10);
    cJSON_Delete(rig_lease(r, "a", 2, 2));
    rig_do(r, "agent_bye", "{'agent':'a'}");
    expect_counts(r, 1, 2, 0, 0, 0);
    assert_int_equal(attempts_in_store(r, 1), 0);
    rig_refused(r, ERR_NOT_FOUND, "agent a is not registered", "trial_lease", "{'agent':'a'}");
}

/* It leaves because another has its name, and takes nothing from that one. */
static void the_goodbye_of_a_process_that_was_replaced_gives_nothing_back(void **state)
{
    struct rig *r = *state;

    rig_agent(r, "a", "first");
    rig_add(r, rig_submit(r, "cpu"), 0, 2, 0);
    rig_agent(r, "a", "second");
    cJSON_Delete(rig_lease(r, "a", 2, 2));
    rig_do(r, "agent_bye", "{'agent':'a','session_nonce':'first'}");
    expect_counts(r, 1, 0, 2, 0, 0);
    rig_do(r, "agent_bye", "{'agent':'a','session_nonce':'second'}");
    expect_counts(r, 1, 2, 0, 0, 0);
}

static void an_agent_that_is_drained_gets_nothing_and_does_not_wait(void **state)
{
    struct rig *r = *state;
    cJSON *result;

    rig_add(r, rig_submit(r, "cpu"), 0, 2, 10);
    ((struct agent *)table_get_text(&r->t->agents, "a"))->drain = true;
    result = rig_must(r, "trial_lease", "{'agent':'a','wait_ms':9000}");
    assert_int_equal(count_in(result, "trials"), 0);
    assert_int_equal(number_in(result, "drain"), 1);
    cJSON_Delete(result);
    result = rig_must(r, "trial_renew", "{'agent':'a','trials':[]}");
    assert_int_equal(number_in(result, "drain"), 1);
    cJSON_Delete(result);
}

/* ---- lost ---- */

static void five_leases_that_run_out_lose_the_trial(void **state)
{
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        cJSON *lease = rig_lease(r, "a", 1, 1);

        assert_int_equal(number_in(item_in(lease, "trials", 0), "attempt"), i + 1);
        expect_counts(r, 1, 0, 1, 0, 0);
        rig_pass(r, RIG_LEASE_MS + HALL_TICK_MS);
        cJSON_Delete(lease);
    }
    expect_counts(r, 1, 0, 0, 0, 1);
    cJSON_Delete(rig_lease(r, "a", 1, 0));
    assert_int_equal(row_of(r, 1).state, TRIAL_LOST);
    assert_int_equal(row_of(r, 1).attempts, MAX_ATTEMPTS);
    assert_int_equal(r->t->stats.lost, 1);
    assert_int_equal(agent(r, "a")->n_leased, 0);
}

/* The line is the log's own format, so that the job's log is whole. */
static void a_lost_trial_has_a_line_of_its_own(void **state)
{
    struct rig *r = *state;
    struct why why = {""};
    struct record rec;
    const char *line;
    cJSON *result;

    rig_do(r, "job_submit", "{'title':'t','key':'cpu','body':'b','lease':true}");
    rig_do(r, "trial_add",
           "{'job':'j1','token':1,'trials':[{'n':3,'fingerprint':'%s','program':'%s','purpose':'final','protocol':"
           "'rounds-1','body':{}}]}",
           hash_of(-1), hash_of(10));
    use_up(r, 1, 0);
    result = rig_must(r, "record_wait", "{'job':'j1','after':0}");
    assert_int_equal(number_in(item_in(result, "records", 0), "n"), 3);
    assert_string_equal(text_in(item_in(result, "records", 0), "trial"), "t1");
    line = text_in(item_in(result, "records", 0), "record");
    record_init(&rec);
    if (record_parse(line, strlen(line), &rec, &why) != ERR_OK)
        fail_msg("%s: %s", why.text, line);
    assert_int_equal(rec.status, STATUS_LOST);
    assert_string_equal(rec.program.hex, hash_of(10));
    assert_string_equal(rec.fingerprint.hex, hash_of(-1));
    assert_non_null(strstr(line, "\"id\":\"t1\",\"job\":\"j1\",\"purpose\":\"final\""));
    assert_non_null(strstr(line, "\"why\":\"agents took this trial five times and none answered"));
    assert_non_null(strstr(line, "\"protocol\":\"rounds-1\",\"key\":\"cpu\",\"ts\":17672256"));
    record_fini(&rec);
    cJSON_Delete(result);
}

/* The last one's words are in the record, whatever bytes they are. */
static void who_gives_a_trial_back_says_why(void **state)
{
    struct rig *r = *state;
    cJSON *result;
    const char *line;

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 0);
    for (int i = 1; i <= 5; i++) {
        cJSON_Delete(rig_lease(r, "a", 1, 1));
        rig_do(r, "trial_release", "{'trials':[{'trial':'t1','token':%d}],'why':'b%d: no room\xff\x1b on its disk'}", i,
               i);
    }
    result = rig_must(r, "record_wait", "{'job':'j1','after':0}");
    line = text_in(item_in(result, "records", 0), "record");
    if (!strstr(line, "none answered; the last said: b5: no room?  on its disk; `tune requeue` tries it again"))
        fail_msg("%s", line);
    cJSON_Delete(result);
}

static void a_lost_trial_takes_no_result_until_it_is_requeued(void **state)
{
    struct rig *r = *state;
    cJSON *result;

    rig_add(r, rig_submit(r, "cpu"), 0, 2, 10);
    use_up(r, 1, 0);
    assert_false(answer(r, 1, 5, "ok"));
    assert_int_equal(r->t->stats.duplicates, 1);
    expect_counts(r, 1, 1, 0, 0, 1);
    result = rig_must(r, "requeue", "{'job':'j1'}");
    assert_int_equal(number_in(result, "requeued"), 1);
    cJSON_Delete(result);
    expect_counts(r, 1, 2, 0, 0, 0);
    assert_int_equal(attempts_in_store(r, 1), 0);
    result = rig_must(r, "requeue", "{'job':'j1'}");
    assert_int_equal(number_in(result, "requeued"), 0);
    cJSON_Delete(result);
    result = rig_lease(r, "a", 2, 2);
    cJSON_Delete(result);
    assert_true(answer(r, 1, 6, "ok"));
    result = rig_must(r, "record_wait", "{'job':'j1','after':0}");
    assert_int_equal(count_in(result, "records"), 1); /* the lost one went */
    assert_int_equal(number_in(item_in(result, "records", 0), "seq"), 2);
    cJSON_Delete(result);
}

static void one_lost_trial_can_be_requeued_by_its_name(void **state)
{
    struct rig *r = *state;
    cJSON *result;

    rig_add(r, rig_submit(r, "cpu"), 0, 2, 10);
    use_up(r, 1, 0);
    use_up(r, 2, 0);
    expect_counts(r, 1, 0, 0, 0, 2);
    result = rig_must(r, "requeue", "{'trial':'t2'}");
    assert_int_equal(number_in(result, "requeued"), 1);
    cJSON_Delete(result);
    expect_counts(r, 1, 1, 0, 0, 1);
    assert_int_equal(row_of(r, 1).state, TRIAL_LOST);
    rig_refused(r, ERR_INPUT, "call requeue: member trial: expected a trial, e.g. t345; found 1 bytes, 'x'", "requeue",
                "{'trial':'x'}");
    rig_refused(r, ERR_NOT_FOUND, "there is no job j77", "requeue", "{'job':'j77'}");
    rig_refused(r, ERR_NOT_FOUND, "there is no trial t99", "requeue", "{'trial':'t99'}");
}

/* Tokens go on behind a requeue and behind a start: nobody can hold the same one twice. */
static void tokens_only_grow(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    use_up(r, 1, 0);
    rig_do(r, "requeue", "{'job':'j1'}");
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    rig_crash(r);
    rig_agent(r, "b", "n");
    assert_int_equal(released(r, 1, 6, false), 1);
    lease = rig_lease(r, "b", 1, 1);
    assert_int_equal(number_in(item_in(lease, "trials", 0), "token"), 7);
    cJSON_Delete(lease);
}

/* ---- results ---- */

static void a_result_ends_its_trial_and_is_counted(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_add(r, rig_submit(r, "cpu"), 0, 3, 10);
    lease = rig_lease(r, "a", 3, 3);
    assert_true(rig_answer(r, lease, 0, "ok", 5));
    assert_true(rig_answer(r, lease, 1, "wrong", 5));
    expect_counts(r, 1, 0, 1, 2, 0);
    assert_int_equal(row_of(r, 1).state, TRIAL_DONE);
    assert_string_equal(row_of(r, 1).agent, "a");
    assert_int_equal(agent(r, "a")->done, 2);
    assert_int_equal(agent(r, "a")->failed, 1);
    assert_int_equal(agent(r, "a")->n_leased, 1);
    assert_int_equal(r->t->stats.results, 2);
    cJSON_Delete(lease);
}

static void a_result_told_twice_is_taken_once(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    lease = rig_lease(r, "a", 1, 1);
    assert_true(rig_answer(r, lease, 0, "ok", 5));
    assert_false(rig_answer(r, lease, 0, "ok", 5));
    rig_crash(r); /* the store knows it too */
    assert_false(rig_answer(r, lease, 0, "wrong", 5));
    expect_counts(r, 1, 0, 0, 1, 0);
    cJSON_Delete(lease);
}

static void the_result_of_a_lapsed_lease_is_taken_while_the_trial_is_not_answered(void **state)
{
    struct rig *r = *state;
    cJSON *first, *second;

    rig_add(r, rig_submit(r, "cpu"), 0, 2, 10);
    first = rig_lease(r, "a", 2, 2);
    rig_pass(r, RIG_LEASE_MS + HALL_TICK_MS);
    assert_true(rig_answer(r, first, 1, "ok", 5)); /* nobody has it */
    second = rig_lease(r, "b", 2, 1);
    rig_refused(r, ERR_STALE, "trial t1 is not leased by that token", "trial_result", RESULT("t1", "'status':'ok'"),
                "late"); /* another has it */
    assert_true(rig_answer(r, second, 0, "ok", 5));
    expect_counts(r, 1, 0, 0, 2, 0);
    assert_int_equal(agent(r, "b")->n_leased, 0);
    cJSON_Delete(first);
    cJSON_Delete(second);
}

static void a_result_that_comes_after_a_start_keeps_the_name_of_its_agent(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    lease = rig_lease(r, "a", 1, 1);
    rig_crash(r);
    assert_true(rig_answer(r, lease, 0, "ok", 5));
    assert_string_equal(row_of(r, 1).agent, "a");
    cJSON_Delete(lease);
}

static void a_result_of_a_cancelled_trial_is_kept(void **state)
{
    struct rig *r = *state;
    cJSON *lease, *result;

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    lease = rig_lease(r, "a", 1, 1);
    rig_do(r, "job_cancel", "{'job':'j1'}");
    assert_true(rig_answer(r, lease, 0, "ok", 5));
    result = rig_must(r, "record_wait", "{'job':'j1','after':0}");
    assert_int_equal(count_in(result, "records"), 1);
    assert_string_equal(text_in(result, "state"), "cancelled");
    cJSON_Delete(result);
    cJSON_Delete(lease);
}

static void records_have_numbers_without_gaps_also_over_a_start(void **state)
{
    struct rig *r = *state;
    cJSON *lease, *result;

    rig_add(r, rig_submit(r, "cpu"), 0, 4, 10);
    lease = rig_lease(r, "a", 4, 4);
    for (int i = 3; i >= 0; i--) {
        assert_true(rig_answer(r, lease, i, "ok", 5));
        rig_crash(r);
    }
    result = rig_must(r, "record_wait", "{'job':'j1','after':0}");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(number_in(item_in(result, "records", i), "seq"), i + 1);
        assert_int_equal(number_in(item_in(result, "records", i), "n"), 3 - i);
    }
    cJSON_Delete(result);
    cJSON_Delete(lease);
}

static void a_bad_result_changes_nothing(void **state)
{
    static const char *const impossible[] = {"'time_ns':-5",     "'time_ns':1e308", "'time_ns':1e-300,'flops':1e18",
                                             "'flops':-1",       "'flops':1e308",   "'device_ms':-1e300",
                                             "'device_ms':1e308"};
    struct rig *r = *state;
    char *big = calloc(1, CALL_RECORD_BYTES + 2);

    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    memset(big, 'x', CALL_RECORD_BYTES + 1);
    rig_refused(r, ERR_NOT_FOUND, "there is no trial t9", "trial_result", RESULT("t9", "'status':'ok'"), "x");
    rig_refused(r, ERR_INPUT, "call trial_result: member trial: expected a trial, e.g. t345; found 2 bytes, 'j1'",
                "trial_result", RESULT("j1", "'status':'ok'"), "x");
    rig_refused(r, ERR_INPUT, "envelope: member status: expected one of ok compile", "trial_result",
                RESULT("t1", "'status':'fine'"), "x");
    rig_refused(r, ERR_INPUT, "status", "trial_result", RESULT("t1", ""), "x");
    rig_refused(r, ERR_LIMIT, "member record: expected a string of at most 65536 bytes; found 65537 bytes",
                "trial_result", RESULT("t1", "'status':'ok'"), big);
    rig_refused(r, ERR_INPUT, "of another program", "trial_result",
                "{'trial':'t1','token':1,'envelope':{'status':'ok','program':'%s'},'record':'x'}", hash_of(11));
    rig_refused(r, ERR_INPUT, "member fingerprint: expected a SHA-256 in hex or nothing", "trial_result",
                RESULT("t1", "'status':'ok','fingerprint':'f'"), "x");
    rig_refused(r, ERR_LIMIT, "member key: expected a string of at most 64 bytes; found 65 bytes", "trial_result",
                RESULT("t1", "'status':'ok','key':'%.65s'"), big, "x");
    rig_refused(r, ERR_INPUT, "time_ns", "trial_result", RESULT("t1", "'status':'ok','time_ns':'1'"), "x");
    rig_refused(r, ERR_INPUT, "token", "trial_result", "{'trial':'t1'}");
    rig_refused(r, ERR_INPUT, "trial t1 is of another fingerprint", "trial_result",
                "{'trial':'t1','token':1,'envelope':{'status':'ok','fingerprint':'%s'},'record':'x'}", hash_of(77));
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++)
        rig_refused(r, ERR_INPUT, "expected", "trial_result", RESULT("t1", "'status':'ok',%s"), impossible[i], "x");
    rig_refused(r, ERR_STALE, "trial t1 is not leased by that token", "trial_result",
                "{'trial':'t1','token':0,'envelope':{'status':'ok','time_ns':1,'flops':1e18},'record':'forged'}");
    rig_refused(r, ERR_STALE, "trial t1 is not leased by that token", "trial_result",
                "{'trial':'t1','token':2,'envelope':{'status':'ok'},'record':'forged'}");
    expect_counts(r, 1, 0, 1, 0, 0);
    big[CALL_RECORD_BYTES] = '\0';
    rig_do(r, "trial_result", RESULT("t1", "'status':'ok','key':'cpu'"), big);
    free(big);
}

static void every_status_of_the_log_is_taken(void **state)
{
    static const char *const all[] = {"ok", "compile", "limits", "runtime", "wrong", "timeout", "crash", "lost"};
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 8, 10);
    cJSON_Delete(rig_lease(r, "a", 8, 8));
    for (int i = 0; i < 8; i++)
        assert_true(answer(r, i + 1, 1, all[i]));
    assert_int_equal(agent(r, "a")->failed, 7);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(a_grant_says_all_that_a_device_needs),
        FACT(a_lease_takes_trials_in_their_order_and_no_more_than_asked),
        FACT(a_lease_ends_where_its_bodies_grow_large),
        FACT(a_trial_is_leased_only_where_its_fingerprint_fits),
        FACT(an_agent_gets_no_trials_of_another_device),
        FACT(a_lease_that_is_not_renewed_goes_to_another_agent),
        FACT(a_lease_lives_a_full_period_from_each_renewal),
        FACT(a_renewal_is_only_for_who_has_the_lease),
        FACT(after_a_start_every_lease_has_a_period_of_grace),
        FACT(jumps_of_the_wall_clock_end_no_lease),
        FACT(a_released_trial_is_the_next_one_again),
        FACT(a_release_with_another_token_changes_nothing),
        FACT(a_release_counts_an_attempt_unless_told_otherwise),
        FACT(a_new_process_of_an_agent_gives_up_what_the_old_one_had),
        FACT(an_agent_that_says_goodbye_gives_its_leases_back_uncounted),
        FACT(the_goodbye_of_a_process_that_was_replaced_gives_nothing_back),
        FACT(an_agent_that_is_drained_gets_nothing_and_does_not_wait),
        FACT(five_leases_that_run_out_lose_the_trial),
        FACT(a_lost_trial_has_a_line_of_its_own),
        FACT(who_gives_a_trial_back_says_why),
        FACT(a_lost_trial_takes_no_result_until_it_is_requeued),
        FACT(one_lost_trial_can_be_requeued_by_its_name),
        FACT(tokens_only_grow),
        FACT(a_result_ends_its_trial_and_is_counted),
        FACT(a_result_told_twice_is_taken_once),
        FACT(the_result_of_a_lapsed_lease_is_taken_while_the_trial_is_not_answered),
        FACT(a_result_that_comes_after_a_start_keeps_the_name_of_its_agent),
        FACT(a_result_of_a_cancelled_trial_is_kept),
        FACT(records_have_numbers_without_gaps_also_over_a_start),
        FACT(a_bad_result_changes_nothing),
        FACT(every_status_of_the_log_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
