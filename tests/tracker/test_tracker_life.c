/* The calls of docs/protocol.md, one after the other, through client.c against the real program. */
#include "tests/tracker/farm.h"

#include "core/clock.h"
#include "core/hash.h"
#include "logs/record.h"
#include "tracker/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static int start(void **state)
{
    struct farm *f = calloc(1, sizeof *f);

    f->more[0] = "--lease";
    f->more[1] = "0.4";
    f->more[2] = "--allow-backup";
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

static void register_agent(struct client *c, const char *agent, const char *nonce)
{
    farm_do(c, "agent_register", "{'agent':'%s','nonce':'%s','key':'cpu','fingerprint':'%s','device':{'name':'x'}}",
            agent, nonce, hash_of(-1));
}

/* Submits a job with a lease and adds trials 0..n-1, programs first..; gives the job's id. */
static void submit(struct client *c, int n, int first, char job[24])
{
    cJSON *r = farm_must(c, "job_submit", "{'title':'t','user':'u','key':'cpu','body':'b','lease':true}");

    snprintf(job, 24, "%s", text_in(r, "job"));
    assert_int_equal(number_in(r, "token"), 1);
    cJSON_Delete(r);
    for (int i = 0; i < n; i++)
        farm_do(c, "trial_add",
                "{'job':'%s','token':1,'trials':[{'n':%d,'key':'cpu','fingerprint':'%s','program':'%s',"
                "'purpose':'search','protocol':'rounds-1','body':{'seed':%d}}]}",
                job, i, hash_of(-1), hash_of(first + i), i);
}

static cJSON *lease(struct client *c, const char *agent, int max, int64_t wait_ms)
{
    enum err e;
    cJSON *r = farm_call(c, &e, wait_ms, "trial_lease", "{'agent':'%s','max':%d}", agent, max);

    assert_int_equal(e, ERR_OK);
    return r;
}

static bool answer(struct client *c, const cJSON *grant, const char *status)
{
    cJSON *r =
        farm_must(c, "trial_result",
                  "{'trial':'%s','token':%d,'envelope':{'key':'cpu','fingerprint':'%s','program':'%s','status':'%s',"
                  "'time_ns':1000,'flops':2000,'device_ms':5},'record':'line of %s'}",
                  text_in(grant, "trial"), (int)number_in(grant, "token"), hash_of(-1), text_in(grant, "program"),
                  status, text_in(grant, "trial"));
    const bool accepted = number_in(r, "accepted");

    cJSON_Delete(r);
    return accepted;
}

static void a_trial_goes_from_tuner_to_agent_and_back(void **state)
{
    struct client *c = farm_client(*state, "both");
    char job[24];
    cJSON *r;

    register_agent(c, "a1", "n1");
    submit(c, 3, 100, job);
    r = lease(c, "a1", 2, 0);
    assert_int_equal(count_in(r, "trials"), 2);
    assert_true(answer(c, item_in(r, "trials", 0), "ok"));
    assert_false(answer(c, item_in(r, "trials", 0), "ok"));
    assert_true(answer(c, item_in(r, "trials", 1), "wrong"));
    cJSON_Delete(r);
    r = farm_must(c, "record_wait", "{'job':'%s','after':0,'max':10}", job);
    assert_int_equal(count_in(r, "records"), 2);
    assert_int_equal(number_in(item_in(r, "records", 1), "n"), 1);
    assert_int_equal(number_in(r, "next"), 2);
    cJSON_Delete(r);
    farm_do(c, "job_done", "{'job':'%s','token':1,'state':'done','summary':{'x':1}}", job);
    r = farm_must(c, "job_status", "{'job':'%s'}", job);
    assert_string_equal(text_in(r, "state"), "done");
    assert_string_equal(text_in(r, "body"), "b");
    assert_int_equal(number_in(cJSON_GetObjectItem(r, "trials"), "done"), 2);
    cJSON_Delete(r);
    client_close(c);
}

static void a_lease_that_is_not_renewed_goes_to_another_agent(void **state)
{
    struct client *c = farm_client(*state, "both");
    char job[24];
    cJSON *first, *second, *r;

    register_agent(c, "a1", "n1");
    register_agent(c, "a2", "n2");
    submit(c, 1, 200, job);
    first = lease(c, "a1", 4, 0);
    assert_int_equal(count_in(first, "trials"), 1);
    second = lease(c, "a2", 4, 3000); /* parked until the lease of a1 runs out */
    assert_int_equal(count_in(second, "trials"), 1);
    assert_string_equal(text_in(item_in(second, "trials", 0), "trial"), text_in(item_in(first, "trials", 0), "trial"));
    assert_true(number_in(item_in(second, "trials", 0), "token") > number_in(item_in(first, "trials", 0), "token"));
    r = farm_must(c, "trial_renew", "{'agent':'a1','trials':[{'trial':'%s','token':%d}]}",
                  text_in(item_in(first, "trials", 0), "trial"), (int)number_in(item_in(first, "trials", 0), "token"));
    assert_int_equal(count_in(r, "lost"), 1);
    cJSON_Delete(r);
    assert_true(answer(c, item_in(first, "trials", 0), "ok")); /* late, but the trial is open still */
    assert_false(answer(c, item_in(second, "trials", 0), "ok"));
    cJSON_Delete(first);
    cJSON_Delete(second);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void a_lease_lives_while_it_is_renewed(void **state)
{
    struct client *c = farm_client(*state, "both");
    char job[24];
    cJSON *first, *r;

    register_agent(c, "a1", "n1");
    submit(c, 1, 300, job);
    first = lease(c, "a1", 1, 0);
    for (int i = 0; i < 8; i++) {
        clock_sleep_ms(100);
        r = farm_must(c, "trial_renew", "{'agent':'a1','trials':[{'trial':'%s','token':%d}]}",
                      text_in(item_in(first, "trials", 0), "trial"),
                      (int)number_in(item_in(first, "trials", 0), "token"));
        assert_int_equal(count_in(r, "lost"), 0);
        cJSON_Delete(r);
    }
    assert_true(answer(c, item_in(first, "trials", 0), "ok"));
    cJSON_Delete(first);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void after_five_attempts_a_trial_is_lost_until_it_is_requeued(void **state)
{
    struct client *c = farm_client(*state, "both");
    struct record rec;
    char job[24];
    const char *line;
    struct why why = {""};
    cJSON *r;

    register_agent(c, "a1", "n1");
    submit(c, 1, 400, job);
    for (int i = 0; i < 5; i++) {
        r = lease(c, "a1", 1, 0);
        assert_int_equal(count_in(r, "trials"), 1);
        farm_do(c, "trial_release", "{'trials':[{'trial':'%s','token':%d}],'counted':true}",
                text_in(item_in(r, "trials", 0), "trial"), (int)number_in(item_in(r, "trials", 0), "token"));
        cJSON_Delete(r);
    }
    r = farm_must(c, "record_wait", "{'job':'%s','after':0}", job);
    assert_int_equal(count_in(r, "records"), 1);
    line = text_in(item_in(r, "records", 0), "record");
    record_init(&rec);
    if (record_parse(line, strlen(line), &rec, &why) != ERR_OK)
        fail_msg("the tracker's own record is not one: %s: %s", why.text, line);
    assert_int_equal(rec.status, STATUS_LOST);
    record_fini(&rec);
    cJSON_Delete(r);
    r = farm_must(c, "requeue", "{'job':'%s'}", job);
    assert_int_equal(number_in(r, "requeued"), 1);
    cJSON_Delete(r);
    r = lease(c, "a1", 1, 0);
    assert_true(answer(c, item_in(r, "trials", 0), "ok"));
    cJSON_Delete(r);
    r = farm_must(c, "record_wait", "{'job':'%s','after':1}", job);
    assert_int_equal(number_in(item_in(r, "records", 0), "seq"), 2);
    cJSON_Delete(r);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void a_new_session_of_an_agent_voids_the_leases_of_the_old_one(void **state)
{
    struct client *c = farm_client(*state, "both");
    char job[24];
    cJSON *r;
    enum err e;

    register_agent(c, "a1", "n1");
    submit(c, 1, 500, job);
    cJSON_Delete(lease(c, "a1", 1, 0));
    register_agent(c, "a1", "n2");
    r = lease(c, "a1", 1, 0);
    assert_int_equal(count_in(r, "trials"), 1);
    assert_true(answer(c, item_in(r, "trials", 0), "ok"));
    cJSON_Delete(r);
    cJSON_Delete(farm_call(c, &e, 0, "trial_lease", "{'agent':'a1','session_nonce':'n1'}"));
    assert_int_equal(e, ERR_EXISTS);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

static void another_fingerprint_under_one_key_is_refused_unless_asked_for(void **state)
{
    struct client *c = farm_client(*state, "both");
    enum err e;

    register_agent(c, "a1", "n1");
    cJSON_Delete(
        farm_call(c, &e, 0, "agent_register", "{'agent':'b','nonce':'x','key':'cpu','fingerprint':'%s'}", hash_of(-2)));
    assert_int_equal(e, ERR_EXISTS);
    farm_do(c, "agent_register", "{'agent':'b','nonce':'x','key':'cpu','fingerprint':'%s','mix':true}", hash_of(-2));
    farm_do(c, "agent_bye", "{'agent':'b'}");
    client_close(c);
}

static void a_trial_measured_before_is_answered_from_the_store(void **state)
{
    struct client *c = farm_client(*state, "both");
    char job[24];
    cJSON *r;

    submit(c, 0, 0, job);
    r = farm_must(
        c, "trial_add",
        "{'job':'%s','token':1,'trials':[{'n':7,'key':'cpu','fingerprint':'%s','program':'%s','purpose':'search',"
        "'protocol':'rounds-1','body':{}},{'n':8,'key':'cpu','fingerprint':'%s','program':'%s','purpose':'final',"
        "'protocol':'rounds-1','body':{}}]}",
        job, hash_of(-1), hash_of(100), hash_of(-1), hash_of(100));
    assert_string_equal(text_in(item_in(r, "trials", 0), "state"), "done");
    assert_memory_equal(text_in(item_in(r, "trials", 0), "record"), "line of t", 9);
    assert_string_equal(text_in(item_in(r, "trials", 1), "state"), "open");
    cJSON_Delete(r);
    farm_do(c, "job_cancel", "{'job':'%s'}", job);
    r = farm_must(c, "job_renew", "{'job':'%s','token':1}", job);
    assert_true(number_in(r, "cancel"));
    cJSON_Delete(r);
    client_close(c);
}

static void a_job_whose_tuner_fell_silent_goes_to_another(void **state)
{
    struct client *c = farm_client(*state, "both");
    char job[24];
    enum err e;
    cJSON *r;

    submit(c, 1, 600, job);
    r = farm_call(c, &e, 3000, "job_lease", "{}");
    assert_string_equal(text_in(r, "job"), job);
    assert_int_equal(number_in(r, "token"), 2);
    assert_string_equal(text_in(r, "body"), "b");
    cJSON_Delete(r);
    cJSON_Delete(farm_call(c, &e, 0, "job_renew", "{'job':'%s','token':1}", job));
    assert_int_equal(e, ERR_STALE);
    farm_do(c, "job_done", "{'job':'%s','token':2,'state':'failed'}", job);
    client_close(c);
}

static void jobs_of_one_key_share_its_devices(void **state)
{
    struct client *c = farm_client(*state, "both");
    char long_job[24], short_job[24];
    int n_short = 0;
    cJSON *r;

    register_agent(c, "a1", "n1");
    submit(c, 20, 700, long_job);
    for (int i = 0; i < 4; i++) {
        r = lease(c, "a1", 1, 0);
        answer(c, item_in(r, "trials", 0), "ok");
        cJSON_Delete(r);
    }
    submit(c, 4, 800, short_job);
    for (int i = 0; i < 8; i++) {
        r = lease(c, "a1", 1, 0);
        n_short += strcmp(text_in(item_in(r, "trials", 0), "job"), short_job) == 0;
        answer(c, item_in(r, "trials", 0), "ok");
        cJSON_Delete(r);
    }
    if (n_short < 3 || n_short > 5)
        fail_msg("the second job had %d of 8 turns, expected 3 to 5", n_short);
    farm_do(c, "job_cancel", "{'job':'%s'}", long_job);
    farm_do(c, "job_cancel", "{'job':'%s'}", short_job);
    client_close(c);
}

static void large_blobs_arrive_whole_and_wrong_ones_not_at_all(void **state)
{
    const size_t n = ((size_t)5 << 20) / 2 + 17;
    struct client *c = farm_client(*state, "both");
    unsigned char *bytes = malloc(n);
    struct blobs out, in;
    struct sha256 name;

    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 31 >> 5);
    blobs_init(&out, 2 * n);
    blobs_init(&in, 2 * n);
    blobs_put(&out, "small", 5, NULL);
    blobs_put(&out, "", 0, NULL);
    blobs_put(&out, bytes, n, &name);
    assert_int_equal(client_put_blobs(c, &out, NULL), ERR_OK);
    assert_int_equal(client_put_blobs(c, &out, NULL), ERR_OK);
    for (size_t i = 0; i < out.n; i++)
        assert_int_equal(client_get_blob(c, out.items[i].name.hex, &in, NULL), ERR_OK);
    assert_memory_equal(blobs_get(&in, name.hex)->data, bytes, n);
    assert_int_equal(client_get_blob(c, hash_of(99999), &in, NULL), ERR_NOT_FOUND);
    free(bytes);
    blobs_fini(&out);
    blobs_fini(&in);
    client_close(c);
}

static void a_backup_is_a_store(void **state)
{
    struct farm *f = *state;
    struct client *c = farm_client(f, "both");
    cJSON *r = farm_must(c, "backup", "{'path':'%s/backup.sqlite'}", f->dir);

    assert_true(number_in(r, "bytes") > 4096);
    cJSON_Delete(r);
    client_close(c);
}

static void bad_arguments_get_one_clear_line(void **state)
{
    static const char *const bad[][2] = {
        {"nonsense", "{}"},
        {"job_submit", "{'title':1}"},
        {"job_status", "{'job':'x'}"},
        {"job_status", "{'job':'j99999'}"},
        {"trial_add", "{'job':'j1','token':99,'trials':[]}"},
        {"trial_lease", "{}"},
        {"trial_lease", "{'agent':'nobody'}"},
        {"trial_result", "{'trial':'t1','token':1}"},
        {"record_wait", "{'job':'j1','after':-1}"},
        {"blob_get", "{'sha256':'../../etc/passwd'}"},
        {"blob_put", "{'sha256':'00','offset':0,'total':1}"},
        {"agent_register", "{'agent':'<b>','nonce':'1','key':'k','fingerprint':''}"},
        {"backup", "{'path':'relative'}"},
    };
    struct client *c = farm_client(*state, "both");

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        enum err e;

        cJSON_Delete(farm_call(c, &e, 0, bad[i][0], "%s", bad[i][1]));
        if (e == ERR_OK)
            fail_msg("%s %s was taken", bad[i][0], bad[i][1]);
    }
    client_close(c);
}

static void opening_and_closing_many_clients_is_clean(void **state)
{
    for (int i = 0; i < 100; i++)
        client_close(farm_client(*state, "short"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_goes_from_tuner_to_agent_and_back),
        cmocka_unit_test(a_lease_that_is_not_renewed_goes_to_another_agent),
        cmocka_unit_test(a_lease_lives_while_it_is_renewed),
        cmocka_unit_test(after_five_attempts_a_trial_is_lost_until_it_is_requeued),
        cmocka_unit_test(a_new_session_of_an_agent_voids_the_leases_of_the_old_one),
        cmocka_unit_test(another_fingerprint_under_one_key_is_refused_unless_asked_for),
        cmocka_unit_test(a_trial_measured_before_is_answered_from_the_store),
        cmocka_unit_test(a_job_whose_tuner_fell_silent_goes_to_another),
        cmocka_unit_test(jobs_of_one_key_share_its_devices),
        cmocka_unit_test(large_blobs_arrive_whole_and_wrong_ones_not_at_all),
        cmocka_unit_test(a_backup_is_a_store),
        cmocka_unit_test(bad_arguments_get_one_clear_line),
        cmocka_unit_test(opening_and_closing_many_clients_is_clean),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
