/* SPDX-License-Identifier: MIT */
/* The real program, by real sockets and time: what tests in one process (test_leases.c and its siblings) cannot see. */
#include "tests/tracker/farm.h"

#include "core/file.h"

#include "core/hash.h"

#include <setjmp.h>
#include <signal.h>
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

static int64_t first_token(void)
{
    struct farm f = {.more = {NULL}};
    struct client *c;
    char job[24];
    cJSON *r;
    int64_t token;

    farm_start(&f);
    c = farm_client(&f, "a1");
    register_agent(c, "a1", "n1");
    submit(c, 1, 0, job);
    r = lease(c, "a1", 1, 0);
    token = number_in(cJSON_GetArrayItem(cJSON_GetObjectItem(r, "trials"), 0), "token");
    cJSON_Delete(r);
    client_close(c);
    farm_stop(&f);
    return token;
}

/* Two trackers with equal stores are asked the same: who knows one's token does not know the other's. (Equal ones come
 * once in 2^28 runs.) */
static void tokens_of_leases_are_nobodys_guess(void **state)
{
    (void)state;
    assert_int_not_equal(first_token(), first_token());
}

static void a_lease_that_is_not_renewed_goes_to_another_agent(void **state)
{
    struct client *c = farm_client(*state, "both");
    char job[24];
    cJSON *first, *second, *r;
    enum err e = ERR_OK;

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
    farm_call(c, &e, 0, "trial_result", "{'trial':'%s','token':%d,'envelope':{'status':'ok'},'record':'late'}",
              text_in(item_in(first, "trials", 0), "trial"), (int)number_in(item_in(first, "trials", 0), "token"));
    assert_int_equal(e, ERR_STALE);
    assert_true(number_in(item_in(second, "trials", 0), "token") - number_in(item_in(first, "trials", 0), "token") > 1);
    assert_true(answer(c, item_in(second, "trials", 0), "ok"));
    cJSON_Delete(first);
    cJSON_Delete(second);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
}

/* Each longer than a lease: nobody could be heard, so nothing has run out. */
static void five_pauses_in_a_row_lose_nothing(void **state)
{
    struct farm f = {.more = {"--lease", "1"}};
    struct client *c;
    cJSON *held, *r;
    char job[24];

    (void)state;
    farm_start(&f);
    c = farm_client(&f, "both");
    register_agent(c, "a1", "n1");
    register_agent(c, "a2", "n2");
    submit(c, 3, 300, job);
    held = lease(c, "a1", 3, 0);
    assert_int_equal(count_in(held, "trials"), 3);
    for (int i = 0; i < 5; i++) {
        kill(f.pid, SIGSTOP);
        usleep(2200000); /* two leases, and over what the tracker takes for a pause */
        kill(f.pid, SIGCONT);
        r = lease(c, "a2", 3, 0);
        assert_int_equal(count_in(r, "trials"), 0);
        cJSON_Delete(r);
        for (int k = 0; k < 3; k++)
            farm_do(c, "trial_renew", "{'agent':'a1','trials':[{'trial':'%s','token':%d}]}",
                    text_in(item_in(held, "trials", k), "trial"), (int)number_in(item_in(held, "trials", k), "token"));
    }
    for (int k = 0; k < 3; k++)
        assert_true(answer(c, item_in(held, "trials", k), "ok"));
    r = farm_must(c, "job_status", "{'job':'%s'}", job);
    assert_int_equal(number_in(cJSON_GetObjectItem(r, "trials"), "done"), 3);
    assert_int_equal(number_in(cJSON_GetObjectItem(r, "trials"), "lost"), 0);
    cJSON_Delete(r);
    cJSON_Delete(held);
    farm_do(c, "job_done", "{'job':'%s','token':1}", job);
    client_close(c);
    farm_stop(&f);
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

static void opening_and_closing_many_clients_is_clean(void **state)
{
    for (int i = 0; i < 100; i++)
        client_close(farm_client(*state, "short"));
}

static struct client *client_of(const char *url)
{
    struct farm at = {.pid = 0};

    snprintf(at.url, sizeof at.url, "%.127s", url);
    return farm_client(&at, "test");
}

/* Its clients have both addresses, in either order, and go on with their calls. */
static void a_standby_serves_when_the_tracker_with_the_store_is_gone(void **state)
{
    char dir[256], store[300], urls[2][280];
    struct farm f[2] = {{.store = store, .standby = true}, {.store = store, .standby = true}};
    struct client *c[3];

    (void)state;
    assert_int_equal(dir_temporary("tune-standby", dir, sizeof dir, NULL), ERR_OK);
    snprintf(store, sizeof store, "%s/shared", dir);
    farm_start(&f[0]);
    c[0] = farm_client(&f[0], "test");
    farm_start(&f[1]);
    for (int i = 0; i < 2; i++) {
        snprintf(urls[i], sizeof urls[i], "%s,%s", f[i].url, f[!i].url);
        c[1 + i] = client_of(urls[i]);
        farm_do(c[1 + i], "job_submit", "{'body':'b'}");
    }
    farm_crash(&f[0]);
    for (int i = 0; i < 2; i++) {
        cJSON *result = farm_must(c[1 + i], "job_list", "{}");

        assert_int_equal(count_in(result, "jobs"), 2);
        cJSON_Delete(result);
        client_close(c[1 + i]);
    }
    client_close(c[0]);
    farm_stop(&f[0]);
    farm_stop(&f[1]);
    dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_standby_serves_when_the_tracker_with_the_store_is_gone),
        cmocka_unit_test(a_trial_goes_from_tuner_to_agent_and_back),
        cmocka_unit_test(tokens_of_leases_are_nobodys_guess),
        cmocka_unit_test(a_lease_that_is_not_renewed_goes_to_another_agent),
        cmocka_unit_test(five_pauses_in_a_row_lose_nothing),
        cmocka_unit_test(large_blobs_arrive_whole_and_wrong_ones_not_at_all),
        cmocka_unit_test(opening_and_closing_many_clients_is_clean),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
