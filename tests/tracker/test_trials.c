/* SPDX-License-Identifier: MIT */
/* Trials of a job: added once, answered from the store where they were measured before; and the stream of their
 * records. */
#include "tests/tracker/rig.h"

#include <inttypes.h>
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

static cJSON *records(struct rig *r, int64_t job, int after, int max)
{
    return rig_must(r, "record_wait", "{'job':'j%" PRId64 "','after':%d,'max':%d}", job, after, max);
}

/* n trials of job 1, leased by agent "a"; gives the lease. */
static cJSON *lease_all(struct rig *r, int n)
{
    rig_agent(r, "a", "n");
    rig_add(r, rig_submit(r, "cpu"), 0, n, 10);
    return rig_lease(r, "a", n, n);
}

/* ---- trials ---- */

static void a_trial_added_twice_is_one(void **state)
{
    struct rig *r = *state;
    cJSON *first, *again;

    rig_submit(r, "cpu");
    first = rig_must(r, "trial_add", "{'job':'j1','token':1,'trials':[{'n':3,'program':'%s','body':{}}]}", hash_of(1));
    again = rig_must(r, "trial_add", "{'job':'j1','token':1,'trials':[{'n':3,'program':'%s','body':{}}]}", hash_of(2));
    assert_true(cJSON_Compare(first, again, true));
    assert_string_equal(text_in(item_in(first, "trials", 0), "trial"), "t1");
    assert_string_equal(text_in(item_in(first, "trials", 0), "state"), "open");
    assert_int_equal(number_in(item_in(first, "trials", 0), "n"), 3);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(item_in(first, "trials", 0), "record")));
    assert_int_equal(r->t->trials.n, 1);
    rig_agent(r, "a", "n");
    cJSON_Delete(again);
    again = rig_lease(r, "a", 1, 1);
    assert_string_equal(text_in(item_in(again, "trials", 0), "program"), hash_of(1));
    rig_answer(r, again, 0, "ok", 1);
    cJSON_Delete(again);
    again = rig_must(r, "trial_add", "{'job':'j1','token':1,'trials':[{'n':3,'program':'%s','body':{}}]}", hash_of(1));
    assert_string_equal(text_in(item_in(again, "trials", 0), "state"), "done");
    assert_string_equal(text_in(item_in(again, "trials", 0), "record"), "line of t1");
    cJSON_Delete(first);
    cJSON_Delete(again);
}

static cJSON *add_search(struct rig *r, int n, const char *fingerprint, const char *more)
{
    return rig_must(r, "trial_add",
                    "{'job':'j2','token':1,'trials':[{'n':%d,'fingerprint':'%s','program':'%s','protocol':'rounds-1',"
                    "'body':{}%s}]}",
                    n, fingerprint, hash_of(10), more);
}

static void expect_first_is(cJSON *result, const char *state)
{
    assert_string_equal(text_in(item_in(result, "trials", 0), "state"), state);
    cJSON_Delete(result);
}

static void what_was_measured_before_is_answered_from_the_store(void **state)
{
    struct rig *r = *state;
    cJSON *lease = lease_all(r, 1), *result;

    rig_answer(r, lease, 0, "ok", 1);
    cJSON_Delete(lease);
    rig_submit(r, "cpu");
    result = add_search(r, 0, hash_of(-1), "");
    assert_string_equal(text_in(item_in(result, "trials", 0), "record"), "line of t1");
    expect_first_is(result, "done");
    expect_first_is(add_search(r, 1, "", ""), "open");          /* any device */
    expect_first_is(add_search(r, 2, hash_of(-2), ""), "open"); /* another one */
    expect_first_is(add_search(r, 3, hash_of(-1), ",'purpose':'final'"), "open");
    result = rig_must(r, "trial_add",
                      "{'job':'j2','token':1,'trials':[{'n':4,'fingerprint':'%s','program':'%s','body':{}}]}",
                      hash_of(-1), hash_of(10));
    expect_first_is(result, "open"); /* timed by other rules */
    assert_int_equal(r->t->stats.answered_from_store, 1);
    for (int i = 0; i < 2; i++) {
        result = rig_job(r, 2);
        assert_int_equal(number_in(object_in(result, "trials"), "done"), 1);
        assert_int_equal(number_in(object_in(result, "trials"), "open"), 4);
        assert_int_equal(number_in(result, "records"), 1);
        assert_int_equal(number_in(object_in(result, "best"), "time_ns"), 1000);
        cJSON_Delete(result);
        result = rig_must(r, "record_wait", "{'job':'j2'}");
        assert_string_equal(text_in(item_in(result, "records", 0), "record"), "line of t1");
        assert_int_equal(number_in(item_in(result, "records", 0), "n"), 0);
        assert_int_equal(number_in(item_in(result, "records", 0), "seq"), 1);
        cJSON_Delete(result);
        rig_crash(r);
    }
    result = add_search(r, 0, hash_of(-1), "");
    assert_string_equal(text_in(item_in(result, "trials", 0), "record"), "line of t1");
    cJSON_Delete(result);
}

static void a_failure_answers_nobody_else(void **state)
{
    struct rig *r = *state;
    cJSON *lease = lease_all(r, 1);

    rig_answer(r, lease, 0, "wrong", 1);
    cJSON_Delete(lease);
    rig_submit(r, "cpu");
    expect_first_is(add_search(r, 0, hash_of(-1), ""), "open");
}

static void a_bad_trial_is_refused_with_what_is_wrong(void **state)
{
    struct rig *r = *state;
    char *big = calloc(1, 65537);

    memset(big, 'x', 65536);
    rig_submit(r, "cpu");
#define TRIALS(text) "{'job':'j1','token':1,'trials':[{" text "}]}"
    rig_refused(r, ERR_INPUT, "trial_offer: member n: expected an integer, at least 0; it is missing", "trial_add",
                TRIALS("'program':'%s','body':{}"), hash_of(1));
    rig_refused(r, ERR_INPUT, "member n: expected an integer, at least 0; found -1", "trial_add",
                TRIALS("'n':-1,'program':'%s','body':{}"), hash_of(1));
    rig_refused(r, ERR_INPUT, "member program: expected a SHA-256 in hex", "trial_add",
                TRIALS("'n':0,'program':'','body':{}"));
    rig_refused(r, ERR_INPUT, "member anchor: expected a SHA-256 in hex or nothing", "trial_add",
                TRIALS("'n':0,'program':'%s','anchor':'x','body':{}"), hash_of(1));
    rig_refused(r, ERR_INPUT, "member fingerprint: expected a SHA-256 in hex or nothing", "trial_add",
                TRIALS("'n':0,'program':'%s','fingerprint':'x','body':{}"), hash_of(1));
    rig_refused(r, ERR_INPUT, "member key: expected 1 to 64", "trial_add",
                TRIALS("'n':0,'key':'a b','program':'%s','body':{}"), hash_of(1));
    rig_refused(r, ERR_LIMIT, "member purpose: expected a string of at most 15 bytes", "trial_add",
                TRIALS("'n':0,'purpose':'%.16s','program':'%s','body':{}"), big, hash_of(1));
    rig_refused(r, ERR_LIMIT, "member protocol: expected a string of at most 31 bytes", "trial_add",
                TRIALS("'n':0,'protocol':'%.32s','program':'%s','body':{}"), big, hash_of(1));
    rig_refused(r, ERR_INPUT, "member body: expected an object; it is missing", "trial_add",
                TRIALS("'n':0,'program':'%s'"), hash_of(1));
    rig_refused(r, ERR_LIMIT, "'body' of a trial over 65536 bytes", "trial_add",
                TRIALS("'n':0,'program':'%s','body':{'x':'%s'}"), hash_of(1), big);
    rig_refused(r, ERR_INPUT, "member trials: expected a list; it is missing", "trial_add", "{'job':'j1','token':1}");
    rig_refused(r, ERR_INPUT, "member token: expected an integer, at least 0; it is missing", "trial_add",
                "{'job':'j1','trials':[]}");
    assert_int_equal(r->t->trials.n, 0);
    rig_do(r, "trial_add", TRIALS("'n':0,'purpose':'%.15s','protocol':'%.31s','program':'%s','body':{'x':'%.65528s'}"),
           big, big, hash_of(1), big);
    free(big);
}

static void a_job_that_runs_too_far_ahead_is_told_to_wait(void **state)
{
    struct rig *r = *state;
    int n = 0;

    rig_submit(r, "cpu");
    rig_agent(r, "a", "n");
    while (n < MAX_OPEN_TRIALS) {
        struct buf list;

        buf_init(&list, 1 << 20);
        for (int i = 0; i < 1024; i++, n++)
            buf_printf(&list, "%s{'n':%d,'program':'%s','body':{}}", i ? "," : "", n, hash_of(n));
        rig_do(r, "trial_add", "{'job':'j1','token':1,'trials':[%s]}", buf_text(&list));
        buf_fini(&list);
    }
    cJSON_Delete(rig_lease(r, "a", 1, 1)); /* leased ones count too */
    rig_refused(r, ERR_BUSY, "the job has 4096 trials waiting already", "trial_add",
                "{'job':'j1','token':1,'trials':[{'n':%d,'program':'%s','body':{}}]}", n, hash_of(n));
    assert_int_equal(r->t->trials.n, MAX_OPEN_TRIALS);
    rig_do(r, "trial_result", "{'trial':'t1','token':1,'envelope':{'status':'ok'},'record':'x'}");
    rig_do(r, "trial_add", "{'job':'j1','token':1,'trials':[{'n':%d,'program':'%s','body':{}}]}", n, hash_of(n));
    rig_submit(r, "cpu");
    rig_add(r, 2, 0, 1, 0); /* another job is not concerned */
}

/* ---- records ---- */

static void records_are_read_on_from_a_number(void **state)
{
    struct rig *r = *state;
    cJSON *lease = lease_all(r, 5), *result;

    for (int i = 0; i < 5; i++)
        rig_answer(r, lease, i, "ok", 1);
    cJSON_Delete(lease);
    result = records(r, 1, 0, 2);
    assert_int_equal(count_in(result, "records"), 2);
    assert_int_equal(number_in(result, "next"), 2);
    assert_string_equal(text_in(result, "state"), "running");
    assert_string_equal(text_in(item_in(result, "records", 1), "trial"), "t2");
    assert_string_equal(text_in(item_in(result, "records", 1), "record"), "line of t2");
    cJSON_Delete(result);
    result = records(r, 1, 2, 64);
    assert_int_equal(count_in(result, "records"), 3);
    assert_int_equal(number_in(item_in(result, "records", 0), "seq"), 3);
    assert_int_equal(number_in(result, "next"), 5);
    cJSON_Delete(result);
    result = records(r, 1, 5, 64);
    assert_int_equal(count_in(result, "records"), 0);
    assert_int_equal(number_in(result, "next"), 5);
    cJSON_Delete(result);
    rig_refused(r, ERR_INPUT, "after", "record_wait", "{'job':'j1','after':-1}");
    rig_refused(r, ERR_INPUT, "max", "record_wait", "{'job':'j1','max':0}");
    rig_refused(r, ERR_INPUT, "max", "record_wait", "{'job':'j1','max':1025}");
}

static void who_waits_for_records_is_woken_by_the_next(void **state)
{
    struct rig *r = *state;
    cJSON *lease = lease_all(r, 2);
    struct errand *poll;

    rig_answer(r, lease, 0, "ok", 1);
    poll = rig_send(r, "record_wait", "{'job':'j1','after':1,'wait_ms':20000}");
    assert_false(poll->left);
    rig_answer(r, lease, 1, "ok", 1);
    assert_true(poll->left);
    assert_int_equal(number_in(item_in(errand_result(poll), "records", 0), "seq"), 2);
    errand_free(poll);
    rig_do(r, "job_done", "{'job':'j1','token':1}");
    poll = rig_send(r, "record_wait", "{'job':'j1','after':2,'wait_ms':20000}");
    assert_true(poll->left); /* nothing will come of an ended job */
    errand_free(poll);
    cJSON_Delete(lease);
}

static void a_reply_has_no_more_lines_than_fit(void **state)
{
    struct rig *r = *state;
    char *line = calloc(1, CALL_RECORD_BYTES + 1);
    cJSON *result;

    cJSON_Delete(lease_all(r, 20));
    memset(line, 'x', CALL_RECORD_BYTES);
    for (int i = 1; i <= 20; i++)
        rig_do(r, "trial_result", "{'trial':'t%d','token':1,'envelope':{'status':'ok'},'record':'%s'}", i, line);
    result = records(r, 1, 0, 1024);
    assert_int_equal(count_in(result, "records"), 3); /* of 64 KiB and a little more each, in 256 KiB */
    assert_int_equal(number_in(result, "next"), 3);
    cJSON_Delete(result);
    free(line);
}

/* And was not verified in part alone. */
static void the_best_is_of_what_went_well(void **state)
{
    static const struct {
        const char *status;
        double time_ns, flops;
        const char *proof;
    } all[] = {{"ok", 100, 400, ""},  {"ok", 50, 100, "full"}, {"ok", 200, 1000, "full"},
               {"wrong", 1, 1e9, ""}, {"ok", 0, 5, ""},        {"ok", 10, 1000, "part"}};
    struct rig *r = *state;
    cJSON *status;

    cJSON_Delete(lease_all(r, 6));
    for (int i = 0; i < 6; i++)
        rig_do(r, "trial_result",
               "{'trial':'t%d','token':1,'envelope':{'status':'%s','time_ns':%g,'flops':%g},"
               "'record':'{\\'verified\\':\\'in %s\\'}'}",
               i + 1, all[i].status, all[i].time_ns, all[i].flops, all[i].proof);
    for (int i = 0; i < 2; i++) { /* kept by hand, and asked of the store */
        status = rig_job(r, 1);
        assert_true(real_in(object_in(status, "best"), "time_ns") == 50);
        assert_true(real_in(object_in(status, "best"), "gflops") == 5);
        assert_int_equal(number_in(status, "records"), 6);
        cJSON_Delete(status);
        rig_crash(r);
    }
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(a_trial_added_twice_is_one),
        FACT(what_was_measured_before_is_answered_from_the_store),
        FACT(a_failure_answers_nobody_else),
        FACT(a_bad_trial_is_refused_with_what_is_wrong),
        FACT(a_job_that_runs_too_far_ahead_is_told_to_wait),
        FACT(records_are_read_on_from_a_number),
        FACT(who_waits_for_records_is_woken_by_the_next),
        FACT(a_reply_has_no_more_lines_than_fit),
        FACT(the_best_is_of_what_went_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
