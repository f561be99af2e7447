/* The calls of docs/protocol.md, one after the other, through client.c against the real program. */
#include "tests/tracker/farm.h"

#include "core/clock.h"
#include "core/hash.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_goes_from_tuner_to_agent_and_back),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
