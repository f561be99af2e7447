/* SPDX-License-Identifier: MIT */
/* Jobs: submitted, leased to one tuner at a time, counted, ended, forgotten. */
#include "tests/tracker/rig.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define DAY_MS INT64_C(86400000)

static int start(void **state)
{
    struct rig *r = calloc(1, sizeof *r);

    rig_init(r);
    r->options.retention_days = 30;
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

static void expect_state(struct rig *r, int64_t job, const char *expected)
{
    cJSON *status = rig_job(r, job);

    assert_string_equal(text_in(status, "state"), expected);
    cJSON_Delete(status);
}

/* The job that a tuner gets, or 0. */
static int64_t leased(struct rig *r, int *token)
{
    cJSON *result = rig_must(r, "job_lease", "{}");
    const cJSON *job = cJSON_GetObjectItem(result, "job");
    const int64_t id = cJSON_IsString(job) ? strtoll(job->valuestring + 1, NULL, 10) : 0;

    if (id && token)
        *token = (int)number_in(result, "token");
    cJSON_Delete(result);
    return id;
}

/* n trials of job 1, leased by agent "a"; gives the lease. */
static cJSON *lease_all(struct rig *r, int n)
{
    rig_agent(r, "a", "n");
    rig_add(r, rig_submit(r, "cpu"), 0, n, 10);
    return rig_lease(r, "a", n, n);
}

/* ---- submitting ---- */

static void a_job_is_shown_as_it_was_submitted(void **state)
{
    struct rig *r = *state;
    cJSON *result, *status;

    result = rig_must(r, "job_submit",
                      "{'title':'a title','user':'me','key':'cpu','body':'the body','priority':2,'lease':true}");
    assert_string_equal(text_in(result, "job"), "j1");
    assert_int_equal(number_in(result, "token"), 1);
    assert_int_equal(number_in(result, "deadline_ms"), RIG_LEASE_MS);
    cJSON_Delete(result);
    for (int i = 0; i < 2; i++) {
        status = rig_job(r, 1);
        assert_string_equal(text_in(status, "job"), "j1");
        assert_string_equal(text_in(status, "title"), "a title");
        assert_string_equal(text_in(status, "user"), "me");
        assert_string_equal(text_in(status, "key"), "cpu");
        assert_string_equal(text_in(status, "body"), "the body");
        assert_string_equal(text_in(status, "state"), "running");
        assert_string_equal(text_in(status, "summary"), "");
        assert_int_equal(number_in(status, "created_ms"), INT64_C(1767225600000));
        assert_int_equal(number_in(status, "done_ms"), 0);
        assert_int_equal(number_in(status, "records"), 0);
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(status, "best")));
        assert_true(cJSON_IsNull(cJSON_GetObjectItem(status, "progress")));
        cJSON_Delete(status);
        assert_int_equal(((struct tracker_job *)table_get_i64(&r->t->jobs, 1))->priority, 2);
        rig_crash(r);
    }
}

/* The id of the request is kept with the job: a reply that was lost with the tracker is given again. */
/* The reply to a submission with that id. */
static cJSON *submit_as(struct rig *r, const char *id)
{
    cJSON *request = rig_request(r, "job_submit", cJSON_Parse("{\"body\":\"b\"}")), *reply;
    struct buf bytes;

    cJSON_ReplaceItemInObject(request, "id", cJSON_CreateString(id));
    rig_encode(r, request, NULL, &bytes);
    reply = rig_exchange(r, bytes.data, bytes.len);
    buf_fini(&bytes);
    return reply;
}

/* Also when the job is over by then. */
static void the_same_request_makes_one_job_also_over_a_start(void **state)
{
    static const char id[] = "abababababababababababababababab";
    struct rig *r = *state;
    cJSON *first = submit_as(r, id);

    for (int i = 0; i < 2; i++) {
        cJSON *again;

        rig_crash(r);
        again = submit_as(r, id);
        assert_true(cJSON_Compare(first, again, true));
        assert_int_equal(r->t->jobs.n, 1);
        cJSON_Delete(again);
        rig_do(r, "job_cancel", "{'job':'j1'}");
    }
    cJSON_Delete(first);
}

static void ids_of_jobs_and_trials_go_on_over_a_start(void **state)
{
    struct rig *r = *state;

    rig_add(r, rig_submit(r, "cpu"), 0, 2, 10);
    rig_submit(r, "cpu");
    rig_crash(r);
    assert_int_equal(rig_submit(r, "cpu"), 3);
    rig_add(r, 3, 0, 1, 20);
    assert_non_null(table_get_i64(&r->t->trials, 3));
}

static void a_bad_job_is_refused_with_what_is_wrong(void **state)
{
    struct rig *r = *state;
    char *big = calloc(1, CALL_BODY_BYTES + 2);

    memset(big, 'x', CALL_BODY_BYTES + 1);
    rig_refused(r, ERR_INPUT, "body", "job_submit", "{}");
    rig_refused(r, ERR_INPUT, "title", "job_submit", "{'title':1,'body':'b'}");
    rig_refused(r, ERR_LIMIT,
                "call job_submit: member title: expected a string of at most 1024 bytes; found 1025 bytes",
                "job_submit", "{'title':'%.1025s','body':'b'}", big);
    rig_refused(r, ERR_LIMIT, "member user: expected a string of at most 128 bytes; found 129 bytes", "job_submit",
                "{'user':'%.129s','body':'b'}", big);
    rig_refused(r, ERR_LIMIT, "member body: expected a string of at most 1048576 bytes; found 1048577 bytes",
                "job_submit", "{'body':'%s'}", big);
    rig_refused(r, ERR_INPUT, "member key: expected at most 64 of letters", "job_submit", "{'key':'<k>','body':'b'}");
    rig_refused(r, ERR_INPUT, "priority", "job_submit", "{'priority':4,'body':'b'}");
    rig_refused(r, ERR_INPUT, "priority", "job_submit", "{'priority':-4,'body':'b'}");
    assert_int_equal(r->t->jobs.n, 0);
    big[CALL_BODY_BYTES] = '\0';
    rig_do(r, "job_submit", "{'title':'%.1024s','user':'%.128s','body':'%s','priority':-3}", big, big, big);
    free(big);
}

static void names_of_jobs_and_trials_have_one_form(void **state)
{
    static const char *const bad[] = {"", "j", "j0", "j-1", "j1x", "jx", "1", "t1", "J1", "j1 ", "j11111111111111111"};
    int64_t id = 5;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(call_id_parse(bad[i], 'j', &id), ERR_INPUT);
    assert_int_equal(call_id_parse("j1", 'j', &id), ERR_OK);
    assert_int_equal(id, 1);
    assert_int_equal(call_id_parse("t907", 't', &id), ERR_OK);
    assert_int_equal(id, 907);
    assert_int_equal(call_id_parse("j123456789012345", 'j', &id), ERR_OK);
    assert_int_equal(id, INT64_C(123456789012345));
}

/* ---- leases of jobs ---- */

static void a_job_without_a_tuner_is_leased_by_priority_and_age(void **state)
{
    static const int priorities[] = {0, 1, 0, 1, -1};
    static const int64_t expected[] = {2, 4, 1, 3, 5};
    struct rig *r = *state;
    int token = 0;

    for (int i = 0; i < 5; i++)
        rig_do(r, "job_submit", "{'body':'b','priority':%d}", priorities[i]);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(leased(r, &token), expected[i]);
        assert_int_equal(token, 1);
    }
    assert_int_equal(leased(r, NULL), 0);
}

static void a_lease_of_a_job_brings_all_that_was_submitted(void **state)
{
    struct rig *r = *state;
    cJSON *result;

    rig_do(r, "job_submit", "{'title':'t','user':'u','key':'cpu','body':'long body'}");
    result = rig_must(r, "job_lease", "{}");
    assert_string_equal(text_in(result, "title"), "t");
    assert_string_equal(text_in(result, "user"), "u");
    assert_string_equal(text_in(result, "key"), "cpu");
    assert_string_equal(text_in(result, "body"), "long body");
    assert_string_equal(text_in(result, "summary"), "");
    assert_int_equal(number_in(result, "deadline_ms"), RIG_LEASE_MS);
    cJSON_Delete(result);
}

static void a_job_whose_tuner_fell_silent_goes_to_another(void **state)
{
    struct rig *r = *state;
    int token;

    rig_submit(r, "cpu");
    rig_pass(r, RIG_LEASE_MS - 100);
    rig_do(r, "job_renew", "{'job':'j1','token':1}");
    rig_pass(r, RIG_LEASE_MS);
    assert_int_equal(leased(r, NULL), 0);
    rig_pass(r, HALL_TICK_MS);
    expect_state(r, 1, "open");
    assert_int_equal(leased(r, &token), 1);
    assert_int_equal(token, 2);
    rig_refused(r, ERR_STALE, "another tuner has job j1 now", "job_renew", "{'job':'j1','token':1}");
    rig_refused(r, ERR_STALE, "another tuner has job j1 now", "job_done", "{'job':'j1','token':1}");
    rig_refused(r, ERR_STALE, "another tuner has job j1 now", "job_release", "{'job':'j1','token':1}");
    rig_refused(r, ERR_STALE, "another tuner has job j1 now", "trial_add", "{'job':'j1','token':1,'trials':[]}");
    rig_do(r, "job_renew", "{'job':'j1','token':2}");
}

static void a_lapsed_lease_that_nobody_took_lives_on_with_its_renewal(void **state)
{
    struct rig *r = *state;

    rig_submit(r, "cpu");
    rig_pass(r, RIG_LEASE_MS + HALL_TICK_MS);
    rig_do(r, "job_renew", "{'job':'j1','token':1}");
    expect_state(r, 1, "running");
    assert_int_equal(leased(r, NULL), 0);
    rig_crash(r);
    expect_state(r, 1, "running");
}

static void a_job_has_a_period_of_grace_after_a_start(void **state)
{
    struct rig *r = *state;

    rig_submit(r, "cpu");
    rig_pass(r, RIG_LEASE_MS - 100);
    rig_crash(r);
    rig_pass(r, RIG_LEASE_MS - 100);
    expect_state(r, 1, "running");
    rig_pass(r, 200);
    expect_state(r, 1, "open");
}

static void a_lease_taken_by_a_tuner_has_a_period_too(void **state)
{
    struct rig *r = *state;

    rig_do(r, "job_submit", "{'body':'b'}");
    rig_pass(r, 3 * RIG_LEASE_MS);
    assert_int_equal(leased(r, NULL), 1);
    rig_pass(r, RIG_LEASE_MS);
    expect_state(r, 1, "running");
}

static void a_released_job_goes_to_the_tuner_that_waits(void **state)
{
    struct rig *r = *state;
    struct errand *poll;

    rig_submit(r, "cpu");
    poll = rig_send(r, "job_lease", "{'wait_ms':20000}");
    assert_false(poll->left);
    rig_do(r, "job_release", "{'job':'j1','token':1}");
    assert_true(poll->left);
    assert_int_equal(number_in(errand_result(poll), "token"), 2);
    rig_crash(r);
    expect_state(r, 1, "running");
    errand_free(poll);
}

static void a_waiting_tuner_gets_the_job_of_a_silent_one(void **state)
{
    struct rig *r = *state;
    struct errand *poll;

    rig_submit(r, "cpu");
    rig_pass(r, RIG_LEASE_MS - 1000);
    poll = rig_send(r, "job_lease", "{'wait_ms':20000}");
    rig_pass(r, 1000 + HALL_TICK_MS);
    assert_true(poll->left);
    assert_string_equal(text_in(errand_result(poll), "job"), "j1");
    errand_free(poll);
}

static void progress_is_shown_as_it_was_told(void **state)
{
    struct rig *r = *state;
    cJSON *status;

    rig_submit(r, "cpu");
    rig_do(r, "job_renew", "{'job':'j1','token':1,'progress':{'done':3}}");
    rig_do(r, "job_renew", "{'job':'j1','token':1,'progress':{'done':4}}");
    rig_do(r, "job_renew", "{'job':'j1','token':1}");
    rig_do(r, "job_renew", "{'job':'j1','token':1,'progress':5}"); /* no object */
    status = rig_job(r, 1);
    assert_int_equal(number_in(object_in(status, "progress"), "done"), 4);
    cJSON_Delete(status);
}

/* ---- the end ---- */

static void a_job_ends_as_its_tuner_says(void **state)
{
    static const char *const states[] = {"done", "failed", "cancelled"};
    struct rig *r = *state;

    for (int i = 0; i < 3; i++) {
        cJSON *status;
        const int64_t job = rig_submit(r, "cpu");

        rig_pass(r, 1000);
        rig_do(r, "job_done", "{'job':'j%" PRId64 "','token':1,'state':'%s','summary':{'i':%d}}", job, states[i], i);
        status = rig_job(r, job);
        assert_string_equal(text_in(status, "state"), states[i]);
        assert_int_equal(number_in(status, "done_ms"), r->wall_ms);
        assert_int_equal(text_in(status, "summary")[5] - '0', i);
        cJSON_Delete(status);
    }
    rig_submit(r, "cpu");
    rig_refused(r, ERR_INPUT,
                "call job_done: member state: expected one of done failed cancelled; found 4 bytes, 'open'", "job_done",
                "{'job':'j4','token':1,'state':'open'}");
    expect_state(r, 4, "running");
    rig_do(r, "job_done", "{'job':'j4','token':1}");
    expect_state(r, 4, "done");
    rig_crash(r);
    expect_state(r, 2, "failed");
    expect_state(r, 4, "done");
}

static void the_first_end_of_a_job_is_the_one_that_counts(void **state)
{
    struct rig *r = *state;
    cJSON *result;

    rig_submit(r, "cpu");
    rig_do(r, "job_cancel", "{'job':'j1'}");
    rig_do(r, "job_done", "{'job':'j1','token':1,'summary':{}}"); /* the tuner learned it too late */
    expect_state(r, 1, "cancelled");
    result = rig_must(r, "job_cancel", "{'job':'j1'}");
    assert_string_equal(text_in(result, "state"), "cancelled");
    cJSON_Delete(result);
    rig_submit(r, "cpu");
    rig_do(r, "job_done", "{'job':'j2','token':1}");
    result = rig_must(r, "job_cancel", "{'job':'j2'}");
    assert_string_equal(text_in(result, "state"), "done");
    cJSON_Delete(result);
}

static void a_cancelled_job_gives_up_its_trials_and_tells_its_tuner(void **state)
{
    struct rig *r = *state;
    struct errand *poll;
    cJSON *result;

    cJSON_Delete(lease_all(r, 2));
    rig_add(r, 1, 2, 3, 20);
    rig_add(r, rig_submit(r, "cpu"), 0, 2, 30);
    poll = rig_send(r, "record_wait", "{'job':'j1','after':0,'wait_ms':20000}");
    rig_do(r, "job_cancel", "{'job':'j1'}");
    assert_true(poll->left);
    assert_string_equal(text_in(errand_result(poll), "state"), "cancelled");
    errand_free(poll);
    result = rig_must(r, "job_renew", "{'job':'j1','token':1}");
    assert_int_equal(number_in(result, "cancel"), 1);
    cJSON_Delete(result);
    result = rig_must(r, "job_renew", "{'job':'j2','token':1}");
    assert_int_equal(number_in(result, "cancel"), 0);
    cJSON_Delete(result);
    rig_refused(r, ERR_CANCELLED, "job j1 has ended", "trial_add", "{'job':'j1','token':1,'trials':[]}");
    assert_int_equal(r->t->trials.n, 2);
    rig_crash(r);
    assert_int_equal(r->t->trials.n, 2);
    assert_int_equal(leased(r, NULL), 0); /* an ended job is nobody's */
}

/* ---- lists ---- */

static void jobs_are_listed_newest_first_by_state(void **state)
{
    struct rig *r = *state;
    cJSON *result;

    rig_do(r, "job_submit", "{'body':'b'}");
    rig_submit(r, "cpu");
    rig_submit(r, "cpu");
    rig_do(r, "job_done", "{'job':'j3','token':1}");
    result = rig_must(r, "job_list", "{}");
    for (int i = 0; i < 3; i++)
        assert_int_equal(text_in(item_in(result, "jobs", i), "job")[1] - '0', 3 - i);
    assert_int_equal(count_in(result, "jobs"), 3);
    cJSON_Delete(result);
    result = rig_must(r, "job_list", "{'max':2}");
    assert_int_equal(count_in(result, "jobs"), 2);
    cJSON_Delete(result);
    for (int i = 0; i < 3; i++) {
        static const char *const states[] = {"open", "running", "done"};

        result = rig_must(r, "job_list", "{'state':'%s'}", states[i]);
        assert_int_equal(count_in(result, "jobs"), 1);
        assert_int_equal(text_in(item_in(result, "jobs", 0), "job")[1] - '0', i + 1);
        cJSON_Delete(result);
    }
    rig_refused(r, ERR_INPUT, "max", "job_list", "{'max':0}");
    rig_refused(r, ERR_INPUT, "max", "job_list", "{'max':1001}");
    rig_refused(r, ERR_INPUT, "call job_status: member job: expected a job, e.g. j12; found 1 bytes, 'x'", "job_status",
                "{'job':'x'}");
    rig_refused(r, ERR_NOT_FOUND, "there is no job j9", "job_status", "{'job':'j9'}");
    rig_refused(r, ERR_INPUT, "job", "job_status", "{}");
}

/* ---- retention ---- */

/* Days go by without turns: no lease is alive in these tests. */
static void pass_days(struct rig *r, int n)
{
    for (int i = 0; i < n; i++) {
        rig_sleep(r, DAY_MS);
        rig_turn(r);
        rig_pass(r, HALL_TICK_MS);
    }
}

static void old_jobs_are_forgotten_and_open_ones_never(void **state)
{
    struct rig *r = *state;

    rig_do(r, "job_submit", "{'body':'b','key':'cpu'}");
    rig_submit(r, "cpu");
    rig_add(r, 2, 0, 1, 10);
    rig_do(r, "job_done", "{'job':'j2','token':1}");
    pass_days(r, 20);
    rig_submit(r, "cpu");
    rig_do(r, "job_done", "{'job':'j3','token':1}");
    pass_days(r, 9);
    assert_int_equal(r->t->jobs.n, 3);
    pass_days(r, 2);
    assert_int_equal(r->t->jobs.n, 2);
    rig_refused(r, ERR_NOT_FOUND, "there is no job j2", "job_status", "{'job':'j2'}");
    assert_int_equal(r->t->requests.n, 2);
    expect_state(r, 1, "open");
    expect_state(r, 3, "done");
    rig_crash(r);
    assert_int_equal(r->t->jobs.n, 2);
    assert_int_equal(rig_submit(r, "cpu"), 4); /* and no id comes again */
}

/* Names of users cost nothing once their jobs are gone. */
static void a_user_is_forgotten_with_the_last_job(void **state)
{
    struct rig *r = *state;

    rig_do(r, "job_submit", "{'body':'b','key':'cpu','user':'ann','lease':true}");
    rig_do(r, "job_submit", "{'body':'b','key':'cpu','user':'bob','lease':true}");
    rig_do(r, "job_submit", "{'body':'b','key':'cpu','user':'bob'}");
    assert_int_equal(r->t->owners.n, 2);
    rig_do(r, "job_done", "{'job':'j1','token':1}");
    rig_do(r, "job_done", "{'job':'j2','token':1}");
    assert_int_equal(r->t->owners.n, 2); /* their ended jobs can still be asked for */
    pass_days(r, 31);
    assert_int_equal(r->t->jobs.n, 1);
    assert_int_equal(r->t->owners.n, 1);
    rig_crash(r);
    assert_int_equal(r->t->owners.n, 1);
}

static void put_blob(struct rig *r, const char *text)
{
    struct blobs set;
    cJSON *reply;

    blobs_init(&set, 1000);
    assert_int_equal(blobs_put(&set, text, strlen(text), NULL), ERR_OK);
    reply = rig_ask(r, "blob_put", cJSON_CreateObject(), &set);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "ok")));
    cJSON_Delete(reply);
    blobs_fini(&set);
}

static bool has_blob(struct rig *r, const char *text)
{
    int64_t total;

    return r->options.ops->blob_get(r->options.store, sha256_of(text, strlen(text)).hex, 0, 0, &total, NULL) == ERR_OK;
}

/* A tuner puts what its job needs shortly before or while it runs; it may wait for a device for months. */
static void blobs_stay_while_a_job_is_open_that_may_need_them(void **state)
{
    struct rig *r = *state;

    put_blob(r, "long ago");
    pass_days(r, 10);
    put_blob(r, "of the job");
    rig_submit(r, "cpu");
    pass_days(r, 1);
    put_blob(r, "of a trial");
    pass_days(r, 80);
    assert_false(has_blob(r, "long ago"));
    assert_true(has_blob(r, "of the job"));
    assert_true(has_blob(r, "of a trial")); /* this look is a use */
    rig_do(r, "job_done", "{'job':'j1','token':1}");
    pass_days(r, 32);
    assert_false(has_blob(r, "of the job"));
}

static void a_tracker_told_to_keep_all_does(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    rig_start(&r);
    rig_submit(&r, "cpu");
    rig_do(&r, "job_done", "{'job':'j1','token':1}");
    pass_days(&r, 400);
    assert_int_equal(r.t->jobs.n, 1);
    rig_stop(&r);
}

/* ---- counts ---- */

static void status_tells_what_happened(void **state)
{
    struct rig *r = *state;
    cJSON *lease = lease_all(r, 3), *result;

    rig_answer(r, lease, 0, "ok", 1);
    rig_answer(r, lease, 0, "ok", 1);
    rig_refused(r, ERR_INPUT, "job", "job_status", "{}");
    result = rig_must(r, "status", "{}");
    assert_memory_equal(text_in(result, "server"), "tune-tracker ", 13);
    assert_string_equal(text_in(result, "boot"), r->t->boot);
    assert_int_equal(number_in(result, "started_ms"), INT64_C(1767225600000));
    assert_int_equal(number_in(result, "now_ms"), r->wall_ms);
    assert_int_equal(number_in(result, "jobs"), 1);
    assert_int_equal(number_in(result, "trials_live"), 2);
    assert_int_equal(number_in(result, "agents"), 1);
    assert_int_equal(number_in(result, "sessions"), 1);
    assert_int_equal(number_in(result, "requests"), r->n_ids);
    assert_int_equal(number_in(result, "refused"), 1);
    assert_int_equal(number_in(result, "grants"), 3);
    assert_int_equal(number_in(result, "results"), 1);
    assert_int_equal(number_in(result, "duplicates"), 1);
    assert_int_equal(number_in(result, "expired"), 0);
    assert_int_equal(number_in(result, "lost"), 0);
    assert_int_equal(number_in(result, "answered_from_store"), 0);
    assert_int_equal(number_in(result, "commits"), r->n_ids - 1);
    assert_int_equal(number_in(result, "lease_ms"), RIG_LEASE_MS);
    assert_int_equal(number_in(result, "builds"), 0);
    assert_int_equal(number_in(result, "builds_failed"), 0);
    assert_null(cJSON_GetObjectItem(result, "waits"));
    cJSON_Delete(result);
    cJSON_Delete(lease);
}

/* ---- pages ---- */

/* By number, newest first, over jobs of other states and gaps; and three hundred fat ones, in replies that fit. */
static void jobs_come_in_pages(void **state)
{
    enum { N = 300 };
    struct rig *r = *state;
    char *words = calloc(1, 15001);
    int64_t before = 0, last = N + 1;
    int n = 0, n_pages = 0;

    memset(words, 'x', 15000);
    for (int i = 1; i <= N; i++) {
        rig_submit(r, "cpu");
        rig_do(r, "job_renew", "{'job':'j%d','token':1,'progress':{'words':'%s'}}", i, words);
    }
    rig_do(r, "job_cancel", "{'job':'j7'}");
    do {
        cJSON *page = rig_must(r, "job_list", "{'state':'running','max':1000,'before':%" PRId64 "}", before);

        for (int i = 0; i < count_in(page, "jobs"); i++, n++) {
            const int64_t id = strtoll(text_in(item_in(page, "jobs", i), "job") + 1, NULL, 10);

            assert_true(id < last && id != 7);
            last = id;
        }
        before = number_in(page, "next");
        n_pages++;
        cJSON_Delete(page);
    } while (before && n_pages < N);
    assert_int_equal(n, N - 1);
    assert_in_range(n_pages, 4, 6); /* 4.7 MB */
    free(words);
}

/* A line of control characters takes six times its bytes in JSON. */
static void records_of_any_text_come_in_replies_that_fit(void **state)
{
    enum { N = 16 };
    struct rig *r = *state;
    struct tracker_job *j;
    char *line = calloc(1, 60001);
    int64_t after = 0;
    int n = 0;

    memset(line, 1, 60000);
    rig_submit(r, "cpu");
    rig_add(r, 1, 0, N, 0);
    j = table_get_i64(&r->t->jobs, 1);
    for (int i = 1; i <= N; i++) {
        struct record_row row = {.trial = i,
                                 .n = i,
                                 .line = line,
                                 .status = "compile",
                                 .key = "cpu",
                                 .fingerprint = "",
                                 .program = "",
                                 .purpose = "",
                                 .protocol = ""};

        assert_int_equal(job_record(r->t, j, &row), ERR_OK);
    }
    while (n < N) {
        cJSON *page = rig_must(r, "record_wait", "{'job':'j1','after':%" PRId64 ",'max':1024}", after);

        assert_true(count_in(page, "records") > 0);
        n += count_in(page, "records");
        after = number_in(page, "next");
        cJSON_Delete(page);
    }
    assert_int_equal(n, N);
    free(line);
}

/* ---- operators ---- */

static void a_paused_job_gets_no_device_and_no_tuner_until_it_is_resumed(void **state)
{
    struct rig *r = *state;
    struct errand *poll;

    rig_agent(r, "a", "n");
    rig_do(r, "job_submit", "{'body':'b','key':'cpu'}");
    rig_do(r, "job_pause", "{'job':'j1'}");
    expect_state(r, 1, "paused");
    rig_crash(r); /* it is kept */
    expect_state(r, 1, "paused");
    poll = rig_send(r, "job_lease", "{'wait_ms':20000}");
    assert_false(poll->left);
    rig_do(r, "job_pause", "{'job':'j1','paused':false}"); /* who waits for it has it at once */
    assert_string_equal(text_in(errand_result(poll), "job"), "j1");
    errand_free(poll);
    rig_add(r, 1, 0, 2, 0);
    rig_agent(r, "a", "n");
    rig_do(r, "job_pause", "{'job':'j1'}");
    poll = rig_send(r, "trial_lease", "{'agent':'a','max':4,'wait_ms':20000}");
    assert_false(poll->left);
    rig_do(r, "job_pause", "{'job':'j1','paused':false}");
    expect_state(r, 1, "running");
    assert_int_equal(count_in(errand_result(poll), "trials"), 2);
    errand_free(poll);
    rig_refused(r, ERR_NOT_FOUND, "there is no job j9", "job_pause", "{'job':'j9'}");
}

static int64_t position(struct rig *r, int64_t job)
{
    cJSON *status = rig_job(r, job);
    const int64_t n = number_in(status, "position");

    cJSON_Delete(status);
    return n;
}

/* Users take turns; among the jobs of one, priority and age. */
static void tuners_take_jobs_of_users_in_turn_and_status_tells_the_position(void **state)
{
    static const struct {
        const char *user;
        int priority;
    } jobs[] = {{"a", 0}, {"a", 3}, {"a", 0}, {"b", -3}};
    static const int64_t order[] = {2, 4, 1, 3};
    struct rig *r = *state;

    for (size_t i = 0; i < 4; i++)
        rig_do(r, "job_submit", "{'body':'b','user':'%s','priority':%d}", jobs[i].user, jobs[i].priority);
    assert_int_equal(position(r, 2), 1);
    assert_int_equal(position(r, 1), 2);
    assert_int_equal(position(r, 3), 3);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(position(r, order[i]), 1);
        assert_int_equal(leased(r, NULL), order[i]);
        assert_int_equal(position(r, order[i]), 0);
    }
}

static void a_user_may_be_held_to_so_many_open_jobs(void **state)
{
    struct rig *r = *state;

    r->t->o.max_user_jobs = 2;
    for (int i = 0; i < 2; i++)
        rig_do(r, "job_submit", "{'body':'b','user':'a'}");
    rig_refused(r, ERR_LIMIT, "user a has 2 open jobs", "job_submit", "{'body':'b','user':'a'}");
    rig_do(r, "job_submit", "{'body':'b','user':'b'}");
    rig_do(r, "job_cancel", "{'job':'j1'}");
    rig_do(r, "job_submit", "{'body':'b','user':'a'}");
}

/* What a job came to is stored with it, also that a lost trial came back. */
static void sums_of_a_job_are_those_of_before_a_crash(void **state)
{
    static const char *const names[] = {"records"}, *const counts[] = {"done", "lost", "open"};
    struct rig *r = *state;
    cJSON *lease = lease_all(r, 3), *before, *after;

    rig_answer(r, lease, 0, "ok", 5);
    rig_answer(r, lease, 1, "compile", 5);
    cJSON_Delete(lease);
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        rig_pass(r, RIG_LEASE_MS + 2 * HALL_TICK_MS);
        cJSON_Delete(rig_lease(r, "a", 4, i < MAX_ATTEMPTS - 1));
    }
    for (int requeued = 0; requeued < 2; requeued++) {
        if (requeued)
            rig_do(r, "requeue", "{'job':'j1'}");
        before = rig_job(r, 1);
        assert_int_equal(number_in(object_in(before, "trials"), "lost"), !requeued);
        assert_int_equal(number_in(object_in(before, "trials"), "done"), 2);
        rig_crash(r);
        after = rig_job(r, 1);
        for (size_t i = 0; i < 1; i++)
            assert_int_equal(number_in(after, names[i]), number_in(before, names[i]));
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(number_in(object_in(after, "trials"), counts[i]),
                             number_in(object_in(before, "trials"), counts[i]));
        assert_true(cJSON_Compare(object_in(after, "best"), object_in(before, "best"), true));
        cJSON_Delete(before);
        cJSON_Delete(after);
        rig_agent(r, "a", "n");
    }
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(a_job_is_shown_as_it_was_submitted),
        FACT(the_same_request_makes_one_job_also_over_a_start),
        FACT(ids_of_jobs_and_trials_go_on_over_a_start),
        FACT(a_bad_job_is_refused_with_what_is_wrong),
        cmocka_unit_test(names_of_jobs_and_trials_have_one_form),
        FACT(a_job_without_a_tuner_is_leased_by_priority_and_age),
        FACT(a_lease_of_a_job_brings_all_that_was_submitted),
        FACT(a_job_whose_tuner_fell_silent_goes_to_another),
        FACT(a_lapsed_lease_that_nobody_took_lives_on_with_its_renewal),
        FACT(a_job_has_a_period_of_grace_after_a_start),
        FACT(a_lease_taken_by_a_tuner_has_a_period_too),
        FACT(a_released_job_goes_to_the_tuner_that_waits),
        FACT(a_waiting_tuner_gets_the_job_of_a_silent_one),
        FACT(progress_is_shown_as_it_was_told),
        FACT(a_job_ends_as_its_tuner_says),
        FACT(the_first_end_of_a_job_is_the_one_that_counts),
        FACT(a_cancelled_job_gives_up_its_trials_and_tells_its_tuner),
        FACT(jobs_are_listed_newest_first_by_state),
        FACT(old_jobs_are_forgotten_and_open_ones_never),
        FACT(a_user_is_forgotten_with_the_last_job),
        FACT(blobs_stay_while_a_job_is_open_that_may_need_them),
        cmocka_unit_test(a_tracker_told_to_keep_all_does),
        FACT(status_tells_what_happened),
        FACT(a_paused_job_gets_no_device_and_no_tuner_until_it_is_resumed),
        FACT(tuners_take_jobs_of_users_in_turn_and_status_tells_the_position),
        FACT(a_user_may_be_held_to_so_many_open_jobs),
        FACT(sums_of_a_job_are_those_of_before_a_crash),
        FACT(jobs_come_in_pages),
        FACT(records_of_any_text_come_in_replies_that_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
