/* Builds go to builders and runs to runners: the states of docs/protocol.md. */
#include "tests/tracker/rig.h"

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

/* ---- shorthands; every test has a key and an architecture of its own ---- */

static void runner(struct rig *rig, const char *agent, const char *key, const char *arch, bool builds)
{
    rig_do(rig, "agent_register",
            "{'agent':'%s','nonce':'n','key':'%s','fingerprint':'%s','device':{'name':'x'},'arch':'%s','builds':%s}",
            agent, key, hash_of(-1), arch, builds ? "true" : "false");
}

static void builder(struct rig *rig, const char *agent, const char *nonce, const char *arch)
{
    rig_do(rig, "builder_register",
            "{'agent':'%s','nonce':'%s','arches':['%s','sm_other'],'compiler':'NVRTC 12.9','version':'x'}", agent,
            nonce, arch);
}

static void submit(struct rig *rig, const char *key, char job[24])
{
    cJSON *r = rig_must(rig, "job_submit", "{'title':'t','user':'u','key':'%s','body':'b','lease':true}", key);

    snprintf(job, 24, "%s", text_in(r, "job"));
    cJSON_Delete(r);
}

/* Adds trial n of a program; anchor 0 = none. */
static void add(struct rig *rig, const char *job, const char *key, int n, int program, int anchor)
{
    rig_do(rig, "trial_add",
            "{'job':'%s','token':1,'trials':[{'n':%d,'key':'%s','fingerprint':'%s','program':'%s','anchor':'%s',"
            "'purpose':'search','protocol':'rounds-1','body':{'seed':%d}}]}",
            job, n, key, hash_of(-1), hash_of(program), anchor ? hash_of(anchor) : "", n);
}

static cJSON *builds_of(struct rig *rig, const char *agent, int n_expected)
{
    cJSON *r = rig_must(rig, "build_lease", "{'agent':'%s','max':4}", agent);

    assert_int_equal(count_in(r, "builds"), n_expected);
    return r;
}

static cJSON *trials_of(struct rig *rig, const char *agent, int n_expected)
{
    cJSON *r = rig_must(rig, "trial_lease", "{'agent':'%s','max':4}", agent);

    assert_int_equal(count_in(r, "trials"), n_expected);
    return r;
}

static bool answer(struct rig *rig, const char *program, const char *arch, const char *status, const char *words)
{
    cJSON *r =
        rig_must(rig, "build_result", "{'program':'%s','arch':'%s','status':'%s','blobs':[],'body':{'words':'%s'}}",
                  program, arch, status, words);
    const bool accepted = number_in(r, "accepted");

    cJSON_Delete(r);
    return accepted;
}

/* The words of the answer for "program" or "anchor" that came with the first trial of a lease. */
static const char *words_of(const cJSON *trials, const char *part)
{
    const cJSON *built = cJSON_GetObjectItem(item_in(trials, "trials", 0), "built");

    assert_non_null(built);
    return text_in(cJSON_GetObjectItem(built, part), "words");
}

static void expect_nothing(struct rig *rig, const char *agent)
{
    cJSON_Delete(trials_of(rig, agent, 0));
}

/* ---- facts ---- */

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
    char job[24], nonce[8];
    cJSON *r;

    runner(rig, "run", "k8", "sm_8", false);
    submit(rig, "k8", job);
    add(rig, job, "k8", 0, 80, 0);
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

/* ---- who may build what, and what comes of it ---- */

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
    char arch[8];

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
    char job[24], nonce[8];

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
    char job[24], nonce[8];
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
    rig_refused(rig, ERR_INPUT, "64 hex digits each", "build_result", RESULT("ok", "7"), hash_of(110));
    rig_refused(rig, ERR_LIMIT, "over 64 blobs in one answer", "build_result", RESULT("ok", "%s"), hash_of(110),
                buf_text(&names));
    rig_refused(rig, ERR_INPUT, "'status' is 'wrong': expected ok, compile,", "build_result", RESULT("wrong", ""),
                hash_of(110));
    rig_refused(rig, ERR_INPUT, "'program' must be a SHA-256 in hex", "build_result", RESULT("ok", ""), "x");
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
        FACT(a_trial_is_built_before_it_is_run),
        FACT(an_equal_build_is_answered_from_the_store),
        FACT(a_failed_build_goes_to_the_runner_and_is_tried_again_for_later_trials),
        FACT(without_a_builder_a_device_that_builds_for_itself_goes_on),
        FACT(without_a_builder_other_devices_wait_and_people_are_told),
        FACT(a_device_that_names_no_architecture_waits_for_nobody),
        FACT(the_build_of_a_silent_builder_goes_to_another),
        FACT(a_build_lease_lives_while_it_is_renewed),
        FACT(five_builders_that_end_lose_the_trial_until_it_is_requeued),
        FACT(an_answer_survives_the_tracker),
        FACT(an_answer_whose_code_is_gone_is_built_again),
        FACT(jobs_are_built_for_in_turn),
        FACT(priority_counts_in_the_turns_of_builders),
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
