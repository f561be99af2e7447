/* Builds go to builders and runs to runners: the states of docs/protocol.md, against the real program. */
#include "tests/tracker/farm.h"

#include "core/clock.h"
#include "core/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define LEASE_MS 600

static int start(void **state)
{
    struct farm *f = calloc(1, sizeof *f);

    f->more[0] = "--lease";
    f->more[1] = "0.6";
    farm_start(f);
    *state = f;
    return 0;
}

static int stop(void **state)
{
    farm_stop(*state);
    free(*state);
    return 0;
}

/* ---- shorthands; every test has a key and an architecture of its own ---- */

static void runner(struct client *c, const char *agent, const char *key, const char *arch, bool builds)
{
    farm_do(c, "agent_register",
            "{'agent':'%s','nonce':'n','key':'%s','fingerprint':'%s','device':{'name':'x'},'arch':'%s','builds':%s}",
            agent, key, hash_of(-1), arch, builds ? "true" : "false");
}

static void builder(struct client *c, const char *agent, const char *nonce, const char *arch)
{
    farm_do(c, "builder_register",
            "{'agent':'%s','nonce':'%s','arches':['%s','sm_other'],'compiler':'NVRTC 12.9','version':'x'}", agent,
            nonce, arch);
}

static void submit(struct client *c, const char *key, char job[24])
{
    cJSON *r = farm_must(c, "job_submit", "{'title':'t','user':'u','key':'%s','body':'b','lease':true}", key);

    snprintf(job, 24, "%s", text_in(r, "job"));
    cJSON_Delete(r);
}

/* Adds trial n of a program; anchor 0 = none. */
static void add(struct client *c, const char *job, const char *key, int n, int program, int anchor)
{
    farm_do(c, "trial_add",
            "{'job':'%s','token':1,'trials':[{'n':%d,'key':'%s','fingerprint':'%s','program':'%s','anchor':'%s',"
            "'purpose':'search','protocol':'rounds-1','body':{'seed':%d}}]}",
            job, n, key, hash_of(-1), hash_of(program), anchor ? hash_of(anchor) : "", n);
}

static cJSON *lease_of(struct client *c, const char *op, const char *agent, int64_t wait_ms)
{
    enum err e;
    cJSON *r = farm_call(c, &e, wait_ms, op, "{'agent':'%s','max':4}", agent);

    assert_int_equal(e, ERR_OK);
    return r;
}

static cJSON *builds_of(struct client *c, const char *agent, int n_expected)
{
    cJSON *r = lease_of(c, "build_lease", agent, 0);

    assert_int_equal(count_in(r, "builds"), n_expected);
    return r;
}

static cJSON *trials_of(struct client *c, const char *agent, int n_expected)
{
    cJSON *r = lease_of(c, "trial_lease", agent, 0);

    assert_int_equal(count_in(r, "trials"), n_expected);
    return r;
}

static bool answer(struct client *c, const char *program, const char *arch, const char *status, const char *words)
{
    cJSON *r =
        farm_must(c, "build_result", "{'program':'%s','arch':'%s','status':'%s','blobs':[],'body':{'words':'%s'}}",
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

static void expect_nothing(struct client *c, const char *agent)
{
    cJSON_Delete(trials_of(c, agent, 0));
}

/* ---- facts ---- */

static void a_trial_is_built_before_it_is_run(void **state)
{
    struct client *c = farm_client(*state, "all");
    char job[24];
    cJSON *r;

    runner(c, "run", "k1", "sm_1", false);
    builder(c, "make", "n", "sm_1");
    submit(c, "k1", job);
    add(c, job, "k1", 0, 10, 11);
    expect_nothing(c, "run");
    r = builds_of(c, "make", 2);
    assert_string_equal(text_in(item_in(r, "builds", 0), "program"), hash_of(11)); /* the anchor's first */
    assert_string_equal(text_in(item_in(r, "builds", 1), "program"), hash_of(10));
    assert_string_equal(text_in(item_in(r, "builds", 1), "arch"), "sm_1");
    assert_int_equal(number_in(cJSON_GetObjectItem(item_in(r, "builds", 1), "body"), "seed"), 0);
    cJSON_Delete(r);
    cJSON_Delete(builds_of(c, "make", 0)); /* both are leased */
    assert_true(answer(c, hash_of(10), "sm_1", "ok", "code"));
    expect_nothing(c, "run");
    assert_true(answer(c, hash_of(11), "sm_1", "ok", "code of the anchor"));
    assert_false(answer(c, hash_of(11), "sm_1", "ok", "again"));
    r = trials_of(c, "run", 1);
    assert_string_equal(words_of(r, "program"), "code");
    assert_string_equal(words_of(r, "anchor"), "code of the anchor");
    cJSON_Delete(r);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void an_equal_build_is_answered_from_the_store(void **state)
{
    struct client *c = farm_client(*state, "all");
    char job[24];
    cJSON *r;

    runner(c, "run", "k1", "sm_1", false);
    builder(c, "make", "n", "sm_1");
    submit(c, "k1", job);
    add(c, job, "k1", 0, 10, 11); /* as in the test before */
    cJSON_Delete(builds_of(c, "make", 0));
    r = trials_of(c, "run", 1);
    assert_string_equal(words_of(r, "program"), "code");
    cJSON_Delete(r);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void a_failed_build_goes_to_the_runner_and_is_tried_again_for_later_trials(void **state)
{
    struct client *c = farm_client(*state, "all");
    char job[24];
    cJSON *r;

    runner(c, "run", "k2", "sm_2", true);
    builder(c, "make", "n", "sm_2");
    submit(c, "k2", job);
    add(c, job, "k2", 0, 20, 0);
    cJSON_Delete(builds_of(c, "make", 1));
    assert_true(answer(c, hash_of(20), "sm_2", "compile", "error: no such thing"));
    r = trials_of(c, "run", 1);
    assert_string_equal(words_of(r, "program"), "error: no such thing");
    cJSON_Delete(r);
    add(c, job, "k2", 1, 20, 0);
    expect_nothing(c, "run");
    cJSON_Delete(builds_of(c, "make", 1));
    assert_true(answer(c, hash_of(20), "sm_2", "ok", "now it does"));
    r = trials_of(c, "run", 1);
    assert_string_equal(words_of(r, "program"), "now it does");
    cJSON_Delete(r);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void without_a_builder_a_device_that_builds_for_itself_goes_on(void **state)
{
    struct client *c = farm_client(*state, "all");
    char job[24];
    cJSON *r;

    runner(c, "run", "k3", "sm_3", true);
    submit(c, "k3", job);
    add(c, job, "k3", 0, 30, 0);
    r = trials_of(c, "run", 1);
    assert_null(cJSON_GetObjectItem(item_in(r, "trials", 0), "built"));
    cJSON_Delete(r);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void without_a_builder_other_devices_wait_and_people_are_told(void **state)
{
    struct client *c = farm_client(*state, "all");
    char job[24];
    cJSON *r;

    runner(c, "run", "k4", "sm_4", false);
    submit(c, "k4", job);
    add(c, job, "k4", 0, 40, 0);
    add(c, job, "k4", 1, 41, 0);
    expect_nothing(c, "run");
    r = farm_must(c, "job_renew", "{'job':'%s','token':1}", job);
    assert_non_null(strstr(text_in(r, "waits"), "2 trials wait for a builder of sm_4"));
    cJSON_Delete(r);
    r = farm_must(c, "job_status", "{'job':'%s'}", job);
    assert_non_null(strstr(text_in(r, "waits"), "builder of sm_4"));
    cJSON_Delete(r);
    r = farm_must(c, "status", "{}");
    assert_non_null(strstr(text_in(r, "waits"), "builder of sm_4"));
    cJSON_Delete(r);
    builder(c, "make", "n", "sm_4");
    r = farm_must(c, "job_renew", "{'job':'%s','token':1}", job);
    assert_null(cJSON_GetObjectItem(r, "waits"));
    cJSON_Delete(r);
    cJSON_Delete(builds_of(c, "make", 2));
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

/* An agent from before there were builders names no architecture. */
static void a_device_that_names_no_architecture_waits_for_nobody(void **state)
{
    struct client *c = farm_client(*state, "all");
    char job[24];
    cJSON *r;

    farm_do(c, "agent_register", "{'agent':'old','nonce':'n','key':'k5','fingerprint':'%s','device':{}}", hash_of(-1));
    builder(c, "make", "n", "sm_5");
    submit(c, "k5", job);
    add(c, job, "k5", 0, 50, 0);
    r = trials_of(c, "old", 1);
    assert_null(cJSON_GetObjectItem(item_in(r, "trials", 0), "built"));
    cJSON_Delete(r);
    cJSON_Delete(builds_of(c, "make", 0));
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void the_build_of_a_silent_builder_goes_to_another(void **state)
{
    struct client *c = farm_client(*state, "all");
    char job[24];
    cJSON *r;

    runner(c, "run", "k6", "sm_6", false);
    builder(c, "make1", "n", "sm_6");
    submit(c, "k6", job);
    add(c, job, "k6", 0, 60, 0);
    cJSON_Delete(builds_of(c, "make1", 1));
    builder(c, "make2", "n", "sm_6");
    r = lease_of(c, "build_lease", "make2", 3000); /* parked until the lease of make1 runs out */
    assert_int_equal(count_in(r, "builds"), 1);
    assert_int_equal(number_in(item_in(r, "builds", 0), "attempt"), 2);
    cJSON_Delete(r);
    r = farm_must(c, "build_renew", "{'agent':'make1','builds':[{'program':'%s','arch':'sm_6'}]}", hash_of(60));
    assert_int_equal(count_in(r, "lost"), 1);
    cJSON_Delete(r);
    assert_true(answer(c, hash_of(60), "sm_6", "ok", "late, and as good")); /* from make1 */
    assert_false(answer(c, hash_of(60), "sm_6", "ok", "from make2"));
    r = trials_of(c, "run", 1);
    assert_string_equal(words_of(r, "program"), "late, and as good");
    cJSON_Delete(r);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void a_build_lease_lives_while_it_is_renewed(void **state)
{
    struct client *c = farm_client(*state, "all");
    char job[24];
    cJSON *r;

    runner(c, "run", "k7", "sm_7", true);
    builder(c, "make", "n", "sm_7");
    submit(c, "k7", job);
    add(c, job, "k7", 0, 70, 0);
    cJSON_Delete(builds_of(c, "make", 1));
    for (int i = 0; i < 6; i++) {
        clock_sleep_ms(LEASE_MS / 3);
        r = farm_must(c, "build_renew", "{'agent':'make','builds':[{'program':'%s','arch':'sm_7'}]}", hash_of(70));
        assert_int_equal(count_in(r, "lost"), 0);
        cJSON_Delete(r);
    }
    expect_nothing(c, "run");
    farm_do(c, "agent_bye", "{'agent':'make'}");
    cJSON_Delete(trials_of(c, "run", 1)); /* at once: nobody is left who would build it */
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void five_builders_that_end_lose_the_trial_until_it_is_requeued(void **state)
{
    struct client *c = farm_client(*state, "all");
    char job[24], nonce[8];
    cJSON *r;

    runner(c, "run", "k8", "sm_8", false);
    submit(c, "k8", job);
    add(c, job, "k8", 0, 80, 0);
    for (int i = 0; i < 5; i++) {
        snprintf(nonce, sizeof nonce, "n%d", i);
        builder(c, "make", nonce, "sm_8"); /* the process before is dead: its lease is void */
        cJSON_Delete(builds_of(c, "make", 1));
    }
    builder(c, "make", "last", "sm_8");
    cJSON_Delete(builds_of(c, "make", 0));
    r = farm_must(c, "record_wait", "{'job':'%s','after':0}", job);
    assert_int_equal(count_in(r, "records"), 1);
    assert_non_null(strstr(text_in(item_in(r, "records", 0), "record"), "five builders"));
    cJSON_Delete(r);
    r = farm_must(c, "requeue", "{'job':'%s'}", job);
    assert_int_equal(number_in(r, "requeued"), 1);
    cJSON_Delete(r);
    cJSON_Delete(builds_of(c, "make", 1));
    assert_true(answer(c, hash_of(80), "sm_8", "ok", "at last"));
    cJSON_Delete(trials_of(c, "run", 1));
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void an_answer_survives_the_tracker(void **state)
{
    struct farm *f = *state;
    struct client *c = farm_client(f, "all");
    char job[24];
    cJSON *r;

    runner(c, "run", "k9", "sm_9", false);
    builder(c, "make", "n", "sm_9");
    submit(c, "k9", job);
    add(c, job, "k9", 0, 90, 0);
    add(c, job, "k9", 1, 91, 0);
    cJSON_Delete(builds_of(c, "make", 2));
    assert_true(answer(c, hash_of(90), "sm_9", "ok", "kept"));
    farm_crash(f);
    farm_restart(f);
    builder(c, "make", "n", "sm_9");
    runner(c, "run", "k9", "sm_9", false);
    r = farm_must(c, "build_renew", "{'agent':'make','builds':[{'program':'%s','arch':'sm_9'}]}", hash_of(91));
    assert_int_equal(count_in(r, "lost"), 0); /* it is still at it */
    cJSON_Delete(r);
    cJSON_Delete(builds_of(c, "make", 0));
    r = trials_of(c, "run", 1);
    assert_string_equal(words_of(r, "program"), "kept");
    cJSON_Delete(r);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void forget_blobs(const struct farm *f)
{
    char path[300];
    sqlite3 *db;

    snprintf(path, sizeof path, "%s/store/tracker.sqlite", f->dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM blobs", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Retention takes blobs that nobody asked for. */
static void an_answer_whose_code_is_gone_is_built_again(void **state)
{
    struct farm *f = *state;
    struct client *c = farm_client(f, "all");
    struct blobs set;
    struct sha256 name;
    char job[24];

    blobs_init(&set, 1000);
    assert_int_equal(blobs_put(&set, "code", 4, &name), ERR_OK);
    assert_int_equal(client_put_blobs(c, &set, NULL), ERR_OK);
    runner(c, "run", "k13", "sm_13", false);
    builder(c, "make", "n", "sm_13");
    submit(c, "k13", job);
    add(c, job, "k13", 0, 130, 0);
    cJSON_Delete(builds_of(c, "make", 1));
    farm_do(c, "build_result", "{'program':'%s','arch':'sm_13','status':'ok','blobs':['%s'],'body':{}}", hash_of(130),
            name.hex);
    farm_crash(f);
    forget_blobs(f);
    farm_restart(f);
    runner(c, "run", "k13", "sm_13", false);
    expect_nothing(c, "run");
    builder(c, "make", "n", "sm_13");
    cJSON_Delete(builds_of(c, "make", 1));
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    blobs_fini(&set);
    client_close(c);
}

static void jobs_are_built_for_in_turn(void **state)
{
    struct client *c = farm_client(*state, "all");
    char first[24], second[24];
    cJSON *r;
    int of_second = 0;

    runner(c, "run", "k10", "sm_10", false);
    builder(c, "make", "n", "sm_10");
    submit(c, "k10", first);
    submit(c, "k10", second);
    for (int i = 0; i < 8; i++)
        add(c, first, "k10", i, 1000 + i, 0);
    for (int i = 0; i < 8; i++)
        add(c, second, "k10", i, 1100 + i, 0);
    r = builds_of(c, "make", 4);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 8; k++)
            of_second += strcmp(text_in(item_in(r, "builds", i), "program"), hash_of(1100 + k)) == 0;
    assert_int_equal(of_second, 2);
    cJSON_Delete(r);
    farm_do(c, "job_done", "{'job':'%s','token':1}", first);
    farm_do(c, "job_done", "{'job':'%s','token':1}", second);
    client_close(c);
}

static void refused(struct client *c, enum err expected, const char *op, const char *args)
{
    enum err e;

    cJSON_Delete(farm_call(c, &e, 0, op, "%s", args));
    assert_int_equal(e, expected);
}

static void what_is_wrong_is_refused(void **state)
{
    struct client *c = farm_client(*state, "all");
    char text[600];

    runner(c, "run", "k11", "sm_11", false);
    builder(c, "make", "n", "sm_11");
    refused(c, ERR_INPUT, "builder_register", "{'agent':'x','nonce':'n','arches':[]}");
    refused(c, ERR_INPUT, "builder_register", "{'agent':'x','nonce':'n','arches':['SM 61']}");
    refused(c, ERR_INPUT, "builder_register", "{'agent':'x','nonce':'n','arches':[61]}");
    refused(c, ERR_INPUT, "build_lease", "{'agent':'run'}");
    refused(c, ERR_EXISTS, "build_lease", "{'agent':'make','session_nonce':'other'}");
    refused(c, ERR_NOT_FOUND, "build_lease", "{'agent':'nobody'}");
    snprintf(text, sizeof text, "{'program':'%s','arch':'sm_11','status':'ok','blobs':['%s'],'body':{}}", hash_of(110),
             hash_of(12345));
    refused(c, ERR_NOT_FOUND, "build_result", text); /* it names a blob that nobody put */
    snprintf(text, sizeof text, "{'program':'%s','arch':'sm_11','status':'fine','blobs':[],'body':{}}", hash_of(110));
    refused(c, ERR_INPUT, "build_result", text);
    snprintf(text, sizeof text, "{'program':'%s','arch':'sm_none','status':'ok','blobs':[],'body':{}}", hash_of(110));
    refused(c, ERR_NOT_FOUND, "build_result", text);
    client_close(c);
}

static void builders_are_listed_apart_from_devices(void **state)
{
    struct client *c = farm_client(*state, "all");
    cJSON *r;
    bool found = false;

    builder(c, "lister", "n", "sm_12");
    r = farm_must(c, "devices", "{}");
    for (int i = 0; i < count_in(r, "devices"); i++)
        assert_string_not_equal(text_in(item_in(r, "devices", i), "agent"), "lister");
    for (int i = 0; i < count_in(r, "builders"); i++)
        found |= strcmp(text_in(item_in(r, "builders", i), "agent"), "lister") == 0 &&
                 strcmp(text_in(item_in(r, "builders", i), "compiler"), "NVRTC 12.9") == 0 &&
                 count_in(item_in(r, "builders", i), "arches") == 2;
    assert_true(found);
    cJSON_Delete(r);
    client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_is_built_before_it_is_run),
        cmocka_unit_test(an_equal_build_is_answered_from_the_store),
        cmocka_unit_test(a_failed_build_goes_to_the_runner_and_is_tried_again_for_later_trials),
        cmocka_unit_test(without_a_builder_a_device_that_builds_for_itself_goes_on),
        cmocka_unit_test(without_a_builder_other_devices_wait_and_people_are_told),
        cmocka_unit_test(a_device_that_names_no_architecture_waits_for_nobody),
        cmocka_unit_test(the_build_of_a_silent_builder_goes_to_another),
        cmocka_unit_test(a_build_lease_lives_while_it_is_renewed),
        cmocka_unit_test(five_builders_that_end_lose_the_trial_until_it_is_requeued),
        cmocka_unit_test(an_answer_survives_the_tracker),
        cmocka_unit_test(an_answer_whose_code_is_gone_is_built_again),
        cmocka_unit_test(jobs_are_built_for_in_turn),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(builders_are_listed_apart_from_devices),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
