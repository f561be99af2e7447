/* SPDX-License-Identifier: MIT */
/* Builds go to builders and runs to runners: the states of docs/protocol.md. */
#include "tests/tracker/build_peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sqlite3.h>
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

static void a_trial_is_built_before_it_is_run(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k1", "sm_1", false);
    builder(rig, "make", "n", "sm_1");
    submit(rig, "k1", job);
    add(rig, job, "k1", 0, 10, 11);
    expect_nothing(rig, "run");
    r = builds_of(rig, "make", 2);
    assert_string_equal(text_in(item_in(r, "builds", 0), "program"), hash_of(11)); /* the anchor's first */
    assert_string_equal(text_in(item_in(r, "builds", 1), "program"), hash_of(10));
    assert_string_equal(text_in(item_in(r, "builds", 1), "arch"), "sm_1");
    assert_int_equal(number_in(cJSON_GetObjectItem(item_in(r, "builds", 1), "body"), "seed"), 0);
    cJSON_Delete(r);
    cJSON_Delete(builds_of(rig, "make", 0)); /* both are leased */
    assert_true(answer(rig, hash_of(10), "sm_1", "ok", "code"));
    expect_nothing(rig, "run");
    assert_true(answer(rig, hash_of(11), "sm_1", "ok", "code of the anchor"));
    assert_false(answer(rig, hash_of(11), "sm_1", "ok", "again"));
    r = trials_of(rig, "run", 1);
    assert_string_equal(words_of(r, "program"), "code");
    assert_string_equal(words_of(r, "anchor"), "code of the anchor");
    cJSON_Delete(r);
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
}

/* Also over a start, and for another job and key: a build belongs to nobody. */
static void an_equal_build_is_answered_from_the_store(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    for (int i = 0; i < 2; i++) {
        runner(rig, "run", i ? "k2" : "k1", "sm_1", false);
        builder(rig, "make", "n", "sm_1");
        submit(rig, i ? "k2" : "k1", job);
        add(rig, job, i ? "k2" : "k1", 0, 10, 11);
        r = builds_of(rig, "make", i ? 0 : 2);
        cJSON_Delete(r);
        if (i == 0) {
            assert_true(answer(rig, hash_of(10), "sm_1", "ok", "code"));
            assert_true(answer(rig, hash_of(11), "sm_1", "ok", "of the anchor"));
        }
        r = trials_of(rig, "run", 1);
        assert_string_equal(words_of(r, "program"), "code");
        assert_string_equal(words_of(r, "anchor"), "of the anchor");
        cJSON_Delete(r);
        rig_crash(rig);
    }
}

static void a_failed_build_goes_to_the_runner_and_is_tried_again_for_later_trials(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k2", "sm_2", true);
    builder(rig, "make", "n", "sm_2");
    submit(rig, "k2", job);
    add(rig, job, "k2", 0, 20, 0);
    cJSON_Delete(builds_of(rig, "make", 1));
    assert_true(answer(rig, hash_of(20), "sm_2", "compile", "error: no such thing"));
    r = trials_of(rig, "run", 1);
    assert_string_equal(words_of(r, "program"), "error: no such thing");
    cJSON_Delete(r);
    add(rig, job, "k2", 1, 20, 0);
    expect_nothing(rig, "run");
    cJSON_Delete(builds_of(rig, "make", 1));
    assert_true(answer(rig, hash_of(20), "sm_2", "ok", "now it does"));
    r = trials_of(rig, "run", 1);
    assert_string_equal(words_of(r, "program"), "now it does");
    cJSON_Delete(r);
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
}

static void without_a_builder_a_device_that_builds_for_itself_goes_on(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k3", "sm_3", true);
    submit(rig, "k3", job);
    add(rig, job, "k3", 0, 30, 0);
    r = trials_of(rig, "run", 1);
    assert_null(cJSON_GetObjectItem(item_in(r, "trials", 0), "built"));
    cJSON_Delete(r);
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
}

static void without_a_builder_other_devices_wait_and_people_are_told(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k4", "sm_4", false);
    submit(rig, "k4", job);
    add(rig, job, "k4", 0, 40, 0);
    add(rig, job, "k4", 1, 41, 0);
    expect_nothing(rig, "run");
    r = rig_must(rig, "job_renew", "{'job':'%s','token':1}", job);
    assert_non_null(strstr(text_in(r, "waits"), "2 trials wait for a builder of sm_4"));
    cJSON_Delete(r);
    r = rig_must(rig, "job_status", "{'job':'%s'}", job);
    assert_non_null(strstr(text_in(r, "waits"), "builder of sm_4"));
    cJSON_Delete(r);
    r = rig_must(rig, "status", "{}");
    assert_non_null(strstr(text_in(r, "waits"), "builder of sm_4"));
    cJSON_Delete(r);
    builder(rig, "make", "n", "sm_4");
    r = rig_must(rig, "job_renew", "{'job':'%s','token':1}", job);
    assert_null(cJSON_GetObjectItem(r, "waits"));
    cJSON_Delete(r);
    cJSON_Delete(builds_of(rig, "make", 2));
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
}

/* An agent from before there were builders names no architecture. */
static void a_device_that_names_no_architecture_waits_for_nobody(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "old", "k5", "sm_5", false); /* it was of a newer version for a while */
    rig_do(rig, "agent_register", "{'agent':'old','nonce':'n','key':'k5','fingerprint':'%s','device':{}}", hash_of(-1));
    builder(rig, "make", "n", "sm_5");
    submit(rig, "k5", job);
    add(rig, job, "k5", 0, 50, 0);
    r = trials_of(rig, "old", 1);
    assert_null(cJSON_GetObjectItem(item_in(r, "trials", 0), "built"));
    cJSON_Delete(r);
    cJSON_Delete(builds_of(rig, "make", 0));
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
}

static void the_build_of_a_silent_builder_goes_to_another(void **state)
{
    struct rig *rig = *state;
    struct errand *poll;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k6", "sm_6", false);
    builder(rig, "make1", "n", "sm_6");
    submit(rig, "k6", job);
    add(rig, job, "k6", 0, 60, 0);
    cJSON_Delete(builds_of(rig, "make1", 1));
    builder(rig, "make2", "n", "sm_6");
    rig_pass(rig, RIG_LEASE_MS - 1000);
    poll = rig_send(rig, "build_lease", "{'agent':'make2','wait_ms':3000}");
    rig_pass(rig, 1000);
    assert_false(poll->left);
    rig_pass(rig, HALL_TICK_MS);
    assert_int_equal(number_in(item_in(errand_result(poll), "builds", 0), "attempt"), 2);
    errand_free(poll);
    r = rig_must(rig, "build_renew", "{'agent':'make1','builds':[{'program':'%s','arch':'sm_6'}]}", hash_of(60));
    assert_int_equal(count_in(r, "lost"), 1);
    cJSON_Delete(r);
    assert_true(answer(rig, hash_of(60), "sm_6", "ok", "late, and as good")); /* from make1 */
    assert_false(answer(rig, hash_of(60), "sm_6", "ok", "from make2"));
    r = trials_of(rig, "run", 1);
    assert_string_equal(words_of(r, "program"), "late, and as good");
    cJSON_Delete(r);
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
}

static void a_build_lease_lives_while_it_is_renewed(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k7", "sm_7", true);
    builder(rig, "make", "n", "sm_7");
    submit(rig, "k7", job);
    add(rig, job, "k7", 0, 70, 0);
    cJSON_Delete(builds_of(rig, "make", 1));
    for (int i = 0; i < 6; i++) {
        rig_pass(rig, RIG_LEASE_MS - 100);
        r = rig_must(rig, "build_renew", "{'agent':'make','builds':[{'program':'%s','arch':'sm_7'}]}", hash_of(70));
        assert_int_equal(count_in(r, "lost"), 0);
        cJSON_Delete(r);
    }
    expect_nothing(rig, "run");
    rig_do(rig, "agent_bye", "{'agent':'make'}");
    cJSON_Delete(trials_of(rig, "run", 1)); /* at once: nobody is left who would build it */
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
}

static void five_builders_that_end_lose_the_trial_until_it_is_requeued(void **state)
{
    struct rig *rig = *state;
    char job[24], nonce[16];
    cJSON *r;

    runner(rig, "run", "k8", "sm_8", false);
    submit(rig, "k8", job);
    add(rig, job, "k8", 0, 80, 80); /* its own anchor: one build */
    for (int i = 0; i < 5; i++) {
        snprintf(nonce, sizeof nonce, "n%d", i);
        builder(rig, "make", nonce, "sm_8"); /* the process before is dead: its lease is void */
        cJSON_Delete(builds_of(rig, "make", 1));
    }
    builder(rig, "make", "last", "sm_8");
    cJSON_Delete(builds_of(rig, "make", 0));
    r = rig_must(rig, "record_wait", "{'job':'%s','after':0}", job);
    assert_int_equal(count_in(r, "records"), 1);
    assert_non_null(strstr(text_in(item_in(r, "records", 0), "record"), "five builders"));
    cJSON_Delete(r);
    r = rig_must(rig, "requeue", "{'job':'%s'}", job);
    assert_int_equal(number_in(r, "requeued"), 1);
    cJSON_Delete(r);
    cJSON_Delete(builds_of(rig, "make", 1));
    assert_true(answer(rig, hash_of(80), "sm_8", "ok", "at last"));
    cJSON_Delete(trials_of(rig, "run", 1));
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
}

/* A trial waits for the code of its anchor as for its own: asked for anew, both are built anew. */
static void a_requeued_trial_has_its_anchor_built_again(void **state)
{
    struct rig *rig = *state;
    char job[24], nonce[16];
    cJSON *r;

    runner(rig, "run", "ka", "sm_a", false);
    builder(rig, "make", "first", "sm_a");
    submit(rig, "ka", job);
    add(rig, job, "ka", 0, 180, 181);
    cJSON_Delete(builds_of(rig, "make", 2));
    assert_true(answer(rig, hash_of(180), "sm_a", "ok", "its own"));
    for (int i = 0; i < 4; i++) { /* the first process ends as these do */
        snprintf(nonce, sizeof nonce, "n%d", i);
        builder(rig, "make", nonce, "sm_a");
        r = builds_of(rig, "make", 1);
        assert_string_equal(text_in(item_in(r, "builds", 0), "program"), hash_of(181));
        cJSON_Delete(r);
    }
    builder(rig, "make", "last", "sm_a");
    cJSON_Delete(builds_of(rig, "make", 0));
    r = rig_must(rig, "requeue", "{'job':'%s'}", job);
    assert_int_equal(number_in(r, "requeued"), 1);
    cJSON_Delete(r);
    r = builds_of(rig, "make", 1);
    assert_string_equal(text_in(item_in(r, "builds", 0), "program"), hash_of(181));
    cJSON_Delete(r);
    assert_true(answer(rig, hash_of(181), "sm_a", "ok", "of the anchor"));
    r = trials_of(rig, "run", 1);
    assert_string_equal(words_of(r, "program"), "its own");
    assert_string_equal(words_of(r, "anchor"), "of the anchor");
    cJSON_Delete(r);
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
}

static void an_answer_survives_the_tracker(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k9", "sm_9", false);
    builder(rig, "make", "n", "sm_9");
    submit(rig, "k9", job);
    add(rig, job, "k9", 0, 90, 0);
    add(rig, job, "k9", 1, 91, 0);
    cJSON_Delete(builds_of(rig, "make", 2));
    assert_true(answer(rig, hash_of(90), "sm_9", "ok", "kept"));
    rig_crash(rig);
    builder(rig, "make", "n", "sm_9");
    runner(rig, "run", "k9", "sm_9", false);
    r = rig_must(rig, "build_renew", "{'agent':'make','builds':[{'program':'%s','arch':'sm_9'}]}", hash_of(91));
    assert_int_equal(count_in(r, "lost"), 0); /* it is still at it */
    cJSON_Delete(r);
    cJSON_Delete(builds_of(rig, "make", 0));
    r = trials_of(rig, "run", 1);
    assert_string_equal(words_of(r, "program"), "kept");
    cJSON_Delete(r);
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
}

static void forget_blobs(const struct rig *rig)
{
    char path[300];
    sqlite3 *db;

    snprintf(path, sizeof path, "%s/tracker.sqlite", rig->dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM blobs", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Retention takes blobs that nobody asked for. */
static void an_answer_whose_code_is_gone_is_built_again(void **state)
{
    struct rig *rig = *state;
    struct blobs set;
    struct sha256 name;
    char job[24];

    blobs_init(&set, 1000);
    assert_int_equal(blobs_put(&set, "code", 4, &name), ERR_OK);
    cJSON_Delete(rig_ask(rig, "blob_put", cJSON_CreateObject(), &set));
    runner(rig, "run", "k13", "sm_13", false);
    builder(rig, "make", "n", "sm_13");
    submit(rig, "k13", job);
    add(rig, job, "k13", 0, 130, 0);
    cJSON_Delete(builds_of(rig, "make", 1));
    rig_do(rig, "build_result", "{'program':'%s','arch':'sm_13','status':'ok','blobs':['%s'],'body':{}}", hash_of(130),
           name.hex);
    forget_blobs(rig);
    rig_crash(rig);
    runner(rig, "run", "k13", "sm_13", false);
    expect_nothing(rig, "run");
    builder(rig, "make", "n", "sm_13");
    cJSON_Delete(builds_of(rig, "make", 1));
    rig_do(rig, "job_done", "{'job':'%s','token':1}", job);
    blobs_fini(&set);
}

static void jobs_are_built_for_in_turn(void **state)
{
    struct rig *rig = *state;
    char first[24], second[24];
    cJSON *r;
    int of_second = 0;

    runner(rig, "run", "k10", "sm_10", false);
    builder(rig, "make", "n", "sm_10");
    submit(rig, "k10", first);
    submit(rig, "k10", second);
    for (int i = 0; i < 8; i++)
        add(rig, first, "k10", i, 1000 + i, 0);
    for (int i = 0; i < 8; i++)
        add(rig, second, "k10", i, 1100 + i, 0);
    r = builds_of(rig, "make", 4);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 8; k++)
            of_second += strcmp(text_in(item_in(r, "builds", i), "program"), hash_of(1100 + k)) == 0;
    assert_int_equal(of_second, 2);
    cJSON_Delete(r);
    rig_do(rig, "job_done", "{'job':'%s','token':1}", first);
    rig_do(rig, "job_done", "{'job':'%s','token':1}", second);
}

static void priority_counts_in_the_turns_of_builders(void **state)
{
    struct rig *rig = *state;
    cJSON *r;
    int of_first = 0;

    runner(rig, "run", "k", "sm_1", false);
    builder(rig, "make", "n", "sm_1");
    for (int j = 1; j <= 2; j++) {
        char job[24];

        rig_do(rig, "job_submit", "{'key':'k','body':'b','lease':true,'priority':%d}", j == 1 ? 1 : 0);
        snprintf(job, sizeof job, "j%d", j);
        for (int i = 0; i < 12; i++)
            add(rig, job, "k", i, 1000 * j + i, 0);
    }
    r = rig_must(rig, "build_lease", "{'agent':'make','max':9}");
    for (int i = 0; i < 9; i++)
        for (int k = 0; k < 12; k++)
            of_first += strcmp(text_in(item_in(r, "builds", i), "program"), hash_of(1000 + k)) == 0;
    assert_int_equal(of_first, 6);
    cJSON_Delete(r);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(a_trial_is_built_before_it_is_run),
        FACT(an_equal_build_is_answered_from_the_store),
        FACT(a_failed_build_goes_to_the_runner_and_is_tried_again_for_later_trials),
        FACT(without_a_builder_a_device_that_builds_for_itself_goes_on),
        FACT(without_a_builder_other_devices_wait_and_people_are_told),
        FACT(a_device_that_names_no_architecture_waits_for_nobody),
        FACT(the_build_of_a_silent_builder_goes_to_another),
        FACT(a_build_lease_lives_while_it_is_renewed),
        FACT(five_builders_that_end_lose_the_trial_until_it_is_requeued),
        FACT(a_requeued_trial_has_its_anchor_built_again),
        FACT(an_answer_survives_the_tracker),
        FACT(an_answer_whose_code_is_gone_is_built_again),
        FACT(jobs_are_built_for_in_turn),
        FACT(priority_counts_in_the_turns_of_builders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
