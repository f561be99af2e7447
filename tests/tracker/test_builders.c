/* SPDX-License-Identifier: MIT */
/* Who may build what, and what comes of builders that fail, fall silent or are drained. */
#include "tests/tracker/build_peers.h"

#include <setjmp.h>
#include <stdarg.h>
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

static const struct agent *agent(const struct rig *rig, const char *id)
{
    return table_get_text(&rig->t->agents, id);
}

static void a_builder_gets_what_it_can_build_and_no_more_than_it_asked_for(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run1", "k1", "sm_1", false);
    runner(rig, "run2", "k2", "sm_2", false);
    builder(rig, "make", "n", "sm_1");
    submit(rig, "k1", job);
    for (int i = 0; i < 5; i++)
        add(rig, job, i < 3 ? "k1" : "k2", i, 10 + i, 0);
    r = rig_must(rig, "build_lease", "{'agent':'make','max':2}");
    assert_int_equal(count_in(r, "builds"), 2);
    assert_int_equal(number_in(r, "deadline_ms"), RIG_LEASE_MS);
    assert_string_equal(text_in(item_in(r, "builds", 0), "trial"), "t1");
    assert_int_equal(number_in(item_in(r, "builds", 0), "attempt"), 1);
    cJSON_Delete(r);
    r = rig_must(rig, "build_lease", "{'agent':'make'}"); /* one when nothing is said */
    assert_int_equal(count_in(r, "builds"), 1);
    cJSON_Delete(r);
    cJSON_Delete(builds_of(rig, "make", 0));
    assert_int_equal(agent(rig, "make")->n_leased, 3);
    assert_true(answer(rig, hash_of(10), "sm_1", "ok", "x"));
    assert_true(answer(rig, hash_of(11), "sm_1", "crash", "x"));
    assert_int_equal(agent(rig, "make")->n_leased, 1);
    assert_int_equal(agent(rig, "make")->done, 2);
    assert_int_equal(agent(rig, "make")->failed, 1);
    assert_int_equal(rig->t->stats.builds, 2);
    assert_int_equal(rig->t->stats.builds_failed, 1);
    assert_false(answer(rig, hash_of(10), "sm_1", "ok", "again"));
    assert_int_equal(rig->t->stats.duplicates, 1);
}

static void a_program_is_built_for_each_architecture_that_wants_it(void **state)
{
    struct rig *rig = *state;
    char job[24];

    runner(rig, "run1", "k", "sm_1", false);
    runner(rig, "run2", "k", "sm_other", false);
    builder(rig, "make", "n", "sm_1");
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0);
    cJSON_Delete(builds_of(rig, "make", 2));
    assert_true(answer(rig, hash_of(10), "sm_other", "ok", "of the other"));
    expect_nothing(rig, "run1");
    cJSON_Delete(trials_of(rig, "run2", 1));
}

static void only_devices_that_may_run_a_trial_want_it_built(void **state)
{
    struct rig *rig = *state;
    char job[24];

    rig_do(rig, "agent_register", "{'agent':'run','nonce':'n','key':'k','fingerprint':'%s','arch':'sm_1'}",
           hash_of(-9));
    builder(rig, "make", "n", "sm_1");
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0); /* for fingerprint -1 */
    cJSON_Delete(builds_of(rig, "make", 0));
    rig_do(rig, "trial_add", "{'job':'%s','token':1,'trials':[{'n':1,'program':'%s','body':{}}]}", job, hash_of(11));
    cJSON_Delete(builds_of(rig, "make", 1)); /* for any device */
}

static void a_key_remembers_the_last_four_kinds_of_its_devices(void **state)
{
    struct rig *rig = *state;
    const struct slug *s;
    char arch[16];

    for (int i = 0; i < MAX_WANTS + 1; i++) {
        snprintf(arch, sizeof arch, "sm_%d", i);
        runner(rig, "run", "k", arch, false);
        runner(rig, "run", "k", arch, false); /* the same once more */
    }
    s = table_get_text(&rig->t->slugs, "k");
    assert_int_equal(s->n_wants, MAX_WANTS);
    for (int i = 0; i < MAX_WANTS; i++)
        assert_string_not_equal(s->wants[i].arch->name, "sm_0");
}

static void a_build_given_back_is_not_counted(void **state)
{
    struct rig *rig = *state;
    struct errand *poll;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k", "sm_1", false);
    builder(rig, "make1", "n", "sm_1");
    builder(rig, "make2", "n", "sm_1");
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0);
    cJSON_Delete(builds_of(rig, "make1", 1));
    poll = rig_send(rig, "build_lease", "{'agent':'make2','wait_ms':9000}");
    r = rig_must(rig, "build_release", "{'agent':'make2','builds':[{'program':'%s','arch':'sm_1'}]}", hash_of(10));
    assert_int_equal(number_in(r, "released"), 0); /* it is not make2's */
    cJSON_Delete(r);
    r = rig_must(rig, "build_release",
                 "{'agent':'make1','builds':[{'program':'%s','arch':'sm_1'},{'program':'%s','arch':'sm_none'}]}",
                 hash_of(10), hash_of(10));
    assert_int_equal(number_in(r, "released"), 1);
    cJSON_Delete(r);
    assert_true(poll->left);
    assert_int_equal(number_in(item_in(errand_result(poll), "builds", 0), "attempt"), 1);
    errand_free(poll);
    rig_do(rig, "agent_bye", "{'agent':'make2'}");
    r = builds_of(rig, "make1", 1);
    assert_int_equal(number_in(item_in(r, "builds", 0), "attempt"), 1);
    cJSON_Delete(r);
}

static void attempts_at_a_build_are_kept_over_a_start(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    submit(rig, "k", job);
    for (int i = 1; i <= MAX_ATTEMPTS; i++) {
        runner(rig, "run", "k", "sm_1", false);
        builder(rig, "make", "n", "sm_1");
        if (i == 1)
            add(rig, job, "k", 0, 10, 0);
        r = builds_of(rig, "make", 1);
        assert_int_equal(number_in(item_in(r, "builds", 0), "attempt"), i);
        cJSON_Delete(r);
        rig_pass(rig, RIG_LEASE_MS + HALL_TICK_MS);
        if (i < MAX_ATTEMPTS)
            rig_crash(rig);
    }
    r = rig_job(rig, 1);
    assert_int_equal(number_in(object_in(r, "trials"), "lost"), 1);
    cJSON_Delete(r);
}

static void a_build_given_up_goes_to_the_devices_that_can_build(void **state)
{
    struct rig *rig = *state;
    struct errand *poll;
    char job[24], nonce[16];

    runner(rig, "run", "k", "sm_1", true);
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0);
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        snprintf(nonce, sizeof nonce, "n%d", i);
        builder(rig, "make", nonce, "sm_1");
        cJSON_Delete(builds_of(rig, "make", 1));
    }
    poll = rig_send(rig, "trial_lease", "{'agent':'run','wait_ms':9000}");
    assert_false(poll->left);
    builder(rig, "make", "last", "sm_1");
    assert_true(poll->left);
    assert_null(cJSON_GetObjectItem(item_in(errand_result(poll), "trials", 0), "built"));
    errand_free(poll);
}

/* Its key has devices of another architecture too, or of another fingerprint that cannot run it anyway. */
static void a_trial_is_lost_only_when_no_device_could_run_it(void **state)
{
    struct rig *rig = *state;
    char job[24], nonce[16];
    cJSON *r;

    runner(rig, "run1", "k", "sm_1", false);
    runner(rig, "run2", "k", "sm_2", false);
    rig_do(rig, "agent_register",
           "{'agent':'run3','nonce':'n','key':'k','fingerprint':'%s','arch':'sm_3','builds':false,'mix':true}",
           hash_of(-3));
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0); /* for fingerprint -1: run1 or run2 */
    rig_do(rig, "trial_add",
           "{'job':'%s','token':1,'trials':[{'n':1,'fingerprint':'%s','program':'%s','body':{}},"
           "{'n':2,'fingerprint':'%s','program':'%s','body':{}}]}",
           job, hash_of(-3), hash_of(20), hash_of(-3), hash_of(21));
    for (int i = 0; i <= MAX_ATTEMPTS; i++) {
        snprintf(nonce, sizeof nonce, "n%d", i);
        builder(rig, "make", nonce, "sm_1");
        cJSON_Delete(builds_of(rig, "make", i < MAX_ATTEMPTS));
        rig_do(rig, "builder_register", "{'agent':'other','nonce':'%s','arches':['sm_3']}", nonce);
        cJSON_Delete(rig_must(rig, "build_lease", "{'agent':'other'}"));
    }
    r = rig_job(rig, 1);
    assert_int_equal(number_in(object_in(r, "trials"), "lost"), 1);
    assert_int_equal(number_in(object_in(r, "trials"), "open"), 2);
    cJSON_Delete(r);
    r = rig_must(rig, "record_wait", "{'job':'%s','after':0}", job);
    assert_int_equal(number_in(item_in(r, "records", 0), "n"), 1);
    cJSON_Delete(r);
}

/* What was answered before stays the answer of the trials there were, whatever becomes of a later try. */
static void a_failure_of_before_survives_a_later_try_that_ends(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k", "sm_1", false);
    builder(rig, "make", "n", "sm_1");
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0);
    cJSON_Delete(builds_of(rig, "make", 1));
    assert_true(answer(rig, hash_of(10), "sm_1", "compile", "error 1"));
    assert_false(answer(rig, hash_of(10), "sm_1", "ok", "of nobody that was asked"));
    add(rig, job, "k", 1, 10, 0);
    cJSON_Delete(builds_of(rig, "make", 1));
    builder(rig, "make", "n2", "sm_1"); /* it died over it */
    rig_crash(rig);
    runner(rig, "run", "k", "sm_1", false);
    builder(rig, "make", "n2", "sm_1");
    r = trials_of(rig, "run", 1);
    assert_int_equal(number_in(item_in(r, "trials", 0), "n"), 0);
    assert_string_equal(words_of(r, "program"), "error 1");
    cJSON_Delete(r);
}

static void a_renewal_takes_on_what_nobody_has(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k", "sm_1", false);
    builder(rig, "make1", "n", "sm_1");
    builder(rig, "make2", "n", "sm_1");
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0);
    cJSON_Delete(builds_of(rig, "make1", 1));
    rig_pass(rig, RIG_LEASE_MS + HALL_TICK_MS);
    r = rig_must(rig, "build_renew", "{'agent':'make1','builds':[{'program':'%s','arch':'sm_1'}]}", hash_of(10));
    assert_int_equal(count_in(r, "lost"), 0);
    assert_int_equal(number_in(r, "deadline_ms"), RIG_LEASE_MS);
    cJSON_Delete(r);
    assert_int_equal(agent(rig, "make1")->n_leased, 1);
    r = rig_must(rig, "build_renew",
                 "{'agent':'make2','builds':[{'program':'%s','arch':'sm_1'},{'program':'%s','arch':'sm_none'}]}",
                 hash_of(10), hash_of(10));
    assert_int_equal(count_in(r, "lost"), 2);
    assert_string_equal(text_in(item_in(r, "lost", 0), "program"), hash_of(10));
    cJSON_Delete(r);
    assert_true(answer(rig, hash_of(10), "sm_1", "ok", "x"));
    r = rig_must(rig, "build_renew", "{'agent':'make1','builds':[{'program':'%s','arch':'sm_1'}]}", hash_of(10));
    assert_int_equal(count_in(r, "lost"), 1); /* it is answered */
    cJSON_Delete(r);
}

/* Its devices go on by themselves as soon as it has been silent for a lease's time, no sooner. */
static void a_silent_builder_is_not_waited_for(void **state)
{
    struct rig *rig = *state;
    struct errand *poll;
    char job[24];

    runner(rig, "run", "k", "sm_1", true);
    builder(rig, "make", "n", "sm_1");
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0);
    rig_pass(rig, RIG_LEASE_MS - 5000);
    rig_do(rig, "agent_beat", "{'agent':'make'}");
    rig_pass(rig, RIG_LEASE_MS - 5000);
    poll = rig_send(rig, "trial_lease", "{'agent':'run','wait_ms':20000}");
    rig_pass(rig, 5000);
    assert_false(poll->left);
    rig_pass(rig, HALL_TICK_MS);
    assert_true(poll->left);
    assert_int_equal(count_in(errand_result(poll), "trials"), 1);
    errand_free(poll);
}

static void another_builder_of_the_architecture_is_enough(void **state)
{
    struct rig *rig = *state;
    char job[24];

    runner(rig, "run", "k", "sm_1", true);
    builder(rig, "make1", "n", "sm_1");
    builder(rig, "make2", "n", "sm_1");
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0);
    rig_do(rig, "agent_bye", "{'agent':'make1'}");
    expect_nothing(rig, "run");
    rig_do(rig, "agent_bye", "{'agent':'make2'}");
    cJSON_Delete(trials_of(rig, "run", 1));
}

static void what_nobody_looks_at_leaves_the_memory_and_stays_in_the_store(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k", "sm_1", false);
    builder(rig, "make", "n", "sm_1");
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0);
    cJSON_Delete(builds_of(rig, "make", 1));
    assert_true(answer(rig, hash_of(10), "sm_1", "ok", "kept"));
    cJSON_Delete(trials_of(rig, "run", 1));
    rig_do(rig, "trial_result", "{'trial':'t1','token':1,'envelope':{'status':'wrong'},'record':'x'}");
    rig_pass(rig, 600000);
    assert_int_equal(rig->t->builds.n, 1);
    rig_pass(rig, 1000);
    assert_int_equal(rig->t->builds.n, 0);
    add(rig, job, "k", 1, 10, 0);
    r = trials_of(rig, "run", 1);
    assert_string_equal(words_of(r, "program"), "kept");
    cJSON_Delete(r);
}

static void a_drained_builder_gets_nothing_and_does_not_wait(void **state)
{
    struct rig *rig = *state;
    char job[24];
    cJSON *r;

    runner(rig, "run", "k", "sm_1", false);
    builder(rig, "make", "n", "sm_1");
    submit(rig, "k", job);
    add(rig, job, "k", 0, 10, 0);
    ((struct agent *)table_get_text(&rig->t->agents, "make"))->drain = true;
    r = rig_must(rig, "build_lease", "{'agent':'make','wait_ms':9000}");
    assert_int_equal(count_in(r, "builds"), 0);
    assert_int_equal(number_in(r, "drain"), 1);
    cJSON_Delete(r);
}

static void people_are_told_of_each_architecture_that_is_waited_for(void **state)
{
    struct rig *rig = *state;
    char job[24], other[24];
    cJSON *r;

    runner(rig, "run1", "k1", "sm_1", false);
    runner(rig, "run2", "k2", "sm_2", false);
    submit(rig, "k1", job);
    add(rig, job, "k1", 0, 10, 0);
    submit(rig, "k2", other);
    add(rig, other, "k2", 0, 20, 0);
    r = rig_must(rig, "job_renew", "{'job':'%s','token':1}", job);
    assert_string_equal(text_in(r, "waits"),
                        "1 trial waits for a builder of sm_1 (tune-agent --build-for sm_1 --no-device)");
    cJSON_Delete(r);
    r = rig_must(rig, "status", "{}");
    assert_non_null(strstr(text_in(r, "waits"), "1 trial waits for a builder of sm_"));
    assert_non_null(strstr(text_in(r, "waits"), "), 1 for others"));
    cJSON_Delete(r);
    runner(rig, "run3", "k1", "sm_1", true); /* one that can build for itself */
    r = rig_must(rig, "job_renew", "{'job':'%s','token':1}", job);
    assert_null(cJSON_GetObjectItem(r, "waits"));
    cJSON_Delete(r);
}

static void what_is_wrong_is_refused(void **state)
{
    struct rig *rig = *state;
    struct buf names;

    runner(rig, "run", "k", "sm_1", false);
    builder(rig, "make", "n", "sm_1");
    buf_init(&names, 100000);
    for (int i = 0; i < 65; i++)
        buf_printf(&names, "%s'%s'", i ? "," : "", hash_of(i));
    rig_refused(rig, ERR_INPUT, "registered as a device", "build_lease", "{'agent':'run'}");
    rig_refused(rig, ERR_EXISTS, "another process registered as agent make", "build_lease",
                "{'agent':'make','session_nonce':'other'}");
    rig_refused(rig, ERR_NOT_FOUND, "agent nobody is not registered", "build_lease", "{'agent':'nobody'}");
    rig_refused(rig, ERR_INPUT, "max", "build_lease", "{'agent':'make','max':65}");
#define RESULT(status, blobs) "{'program':'%s','arch':'sm_1','status':'" status "','blobs':[" blobs "],'body':{}}"
    rig_refused(rig, ERR_NOT_FOUND, "put it before the answer that names it", "build_result", RESULT("ok", "'%s'"),
                hash_of(110), hash_of(12345));
    rig_refused(rig, ERR_INPUT, "member blobs: expected a list of 0 to 64, each a SHA-256 in hex", "build_result",
                RESULT("ok", "7"), hash_of(110));
    rig_refused(rig, ERR_LIMIT, "expected a list of 0 to 64, each a SHA-256 in hex; found a list of 65", "build_result",
                RESULT("ok", "%s"), hash_of(110), buf_text(&names));
    rig_refused(rig, ERR_INPUT, "member status: expected one of ok compile", "build_result", RESULT("wrong", ""),
                hash_of(110));
    rig_refused(rig, ERR_INPUT, "member program: expected a SHA-256 in hex", "build_result", RESULT("ok", ""), "x");
    rig_refused(rig, ERR_NOT_FOUND, "nobody asked for code for 'sm_none'", "build_result",
                "{'program':'%s','arch':'sm_none','status':'ok','blobs':[],'body':{}}", hash_of(110));
    rig_refused(rig, ERR_LIMIT, "'body' of an answer over 65536 bytes", "build_result",
                "{'program':'%s','arch':'sm_1','status':'ok','blobs':[],'body':{'x':'%65536s'}}", hash_of(110), "");
    assert_int_equal(rig->t->stats.builds, 0);
    buf_fini(&names);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(a_builder_gets_what_it_can_build_and_no_more_than_it_asked_for),
        FACT(a_program_is_built_for_each_architecture_that_wants_it),
        FACT(only_devices_that_may_run_a_trial_want_it_built),
        FACT(a_key_remembers_the_last_four_kinds_of_its_devices),
        FACT(a_build_given_back_is_not_counted),
        FACT(attempts_at_a_build_are_kept_over_a_start),
        FACT(a_build_given_up_goes_to_the_devices_that_can_build),
        FACT(a_trial_is_lost_only_when_no_device_could_run_it),
        FACT(a_failure_of_before_survives_a_later_try_that_ends),
        FACT(a_renewal_takes_on_what_nobody_has),
        FACT(a_silent_builder_is_not_waited_for),
        FACT(another_builder_of_the_architecture_is_enough),
        FACT(what_nobody_looks_at_leaves_the_memory_and_stays_in_the_store),
        FACT(a_drained_builder_gets_nothing_and_does_not_wait),
        FACT(people_are_told_of_each_architecture_that_is_waited_for),
        FACT(what_is_wrong_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
