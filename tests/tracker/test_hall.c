/* SPDX-License-Identifier: MIT */
/* The core loop without sockets: turns, long polls and who gets a reply, on a clock that the test turns. */
#include "tests/tracker/faulty_store.h"
#include "tests/tracker/life.h"
#include "tests/tracker/rig.h"

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

/* Bytes of a request with an id of the test's choice. */
static void bytes_of(struct rig *r, const char *id, const char *op, const char *args, struct buf *out)
{
    cJSON *request = rig_request(r, op, cJSON_Parse(args));

    if (id)
        cJSON_ReplaceItemInObject(request, "id", cJSON_CreateString(id));
    rig_encode(r, request, NULL, out);
}

/* Args with ' for ". */
static struct errand *errand_of(struct rig *r, const char *op, const char *args)
{
    char text[200];
    struct errand *e;
    struct buf bytes;

    snprintf(text, sizeof text, "%s", args);
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    bytes_of(r, NULL, op, text, &bytes);
    e = errand_new(bytes.data, bytes.len);
    buf_fini(&bytes);
    return e;
}

static struct caller caller_of(const struct buf *bytes, uint32_t line)
{
    return (struct caller){.bytes = bytes->data, .n_bytes = bytes->len, .line = line};
}

static int count(const struct caller *left)
{
    int n = 0;

    for (; left; left = left->next)
        n++;
    return n;
}

/* ---- facts ---- */

static void replies_leave_with_the_end_of_their_turn(void **state)
{
    static const char id[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct rig *r = *state;
    struct caller a, b, *left = NULL;
    struct buf first, second;
    struct message m;

    bytes_of(r, id, "status", "{}", &first);
    bytes_of(r, NULL, "job_list", "{}", &second);
    a = caller_of(&first, 1);
    b = caller_of(&second, 2);
    assert_true(hall_begin(&r->hall));
    assert_true(hall_enter(&r->hall, &a));
    assert_true(hall_enter(&r->hall, &b));
    assert_true(hall_end(&r->hall, NULL, 0, &left, NULL));
    assert_int_equal(count(left), 2);
    assert_int_equal(message_decode(a.reply.data, a.reply.len, &m, NULL), ERR_OK);
    assert_string_equal(text_in(m.json, "id"), id);
    message_fini(&m);
    assert_true(hall_begin(&r->hall)); /* nobody leaves twice */
    assert_true(hall_end(&r->hall, NULL, 0, &left, NULL));
    assert_null(left);
    buf_fini(&a.reply);
    buf_fini(&b.reply);
    buf_fini(&first);
    buf_fini(&second);
}

static void a_poll_leaves_in_the_turn_that_brings_what_it_waits_for(void **state)
{
    struct rig *r = *state;
    struct errand *poll;
    int64_t job;

    rig_agent(r, "a", "n");
    poll = rig_send(r, "trial_lease", "{'agent':'a','max':2,'wait_ms':20000}");
    rig_pass(r, 1000);
    assert_false(poll->left);
    job = rig_submit(r, "cpu");
    assert_false(poll->left); /* a job is no trial */
    rig_add(r, job, 0, 1, 10);
    assert_true(poll->left);
    assert_int_equal(count_in(errand_result(poll), "trials"), 1);
    errand_free(poll);
}

static void each_poll_is_woken_by_its_own_kind_of_news(void **state)
{
    struct rig *r = *state;
    struct errand *trials, *records, *jobs, *builds;
    int64_t job;
    cJSON *lease;

    rig_agent(r, "a", "n");
    rig_do(r, "agent_register",
           "{'agent':'run','nonce':'n','key':'gpu','fingerprint':'%s','arch':'sm_61','builds':false}", hash_of(-2));
    rig_do(r, "builder_register", "{'agent':'make','nonce':'n','arches':['sm_61']}");
    job = rig_submit(r, "cpu");
    trials = rig_send(r, "trial_lease", "{'agent':'a','wait_ms':20000}");
    records = rig_send(r, "record_wait", "{'job':'j1','after':0,'wait_ms':20000}");
    jobs = rig_send(r, "job_lease", "{'wait_ms':20000}");
    builds = rig_send(r, "build_lease", "{'agent':'make','wait_ms':20000}");
    assert_int_equal(r->hall.n_parked, 4);
    rig_do(r, "job_submit", "{'body':'b','key':'gpu'}"); /* j2, which nobody leased */
    assert_true(jobs->left);
    assert_string_equal(text_in(errand_result(jobs), "job"), "j2");
    assert_int_equal(r->hall.n_parked, 3);
    rig_do(r, "trial_add", "{'job':'j2','token':1,'trials':[{'n':0,'program':'%s','body':{}}]}", hash_of(1));
    assert_true(builds->left);
    assert_int_equal(count_in(errand_result(builds), "builds"), 1);
    assert_false(trials->left);
    rig_add(r, job, 0, 1, 10);
    assert_true(trials->left);
    assert_false(records->left);
    lease = cJSON_Duplicate(errand_result(trials), true);
    assert_true(rig_answer(r, lease, 0, "ok", 1));
    assert_true(records->left);
    assert_int_equal(count_in(errand_result(records), "records"), 1);
    cJSON_Delete(lease);
    errand_free(trials);
    errand_free(records);
    errand_free(jobs);
    errand_free(builds);
}

static void a_poll_at_its_end_is_answered_with_nothing(void **state)
{
    struct rig *r = *state;
    struct errand *poll;

    rig_agent(r, "a", "n");
    poll = rig_send(r, "trial_lease", "{'agent':'a','wait_ms':2000}");
    rig_pass(r, 1950);
    assert_false(poll->left);
    rig_pass(r, 50);
    assert_true(poll->left);
    assert_int_equal(count_in(errand_result(poll), "trials"), 0);
    errand_free(poll);
}

/* So that many idle agents' polls are one burst. */
static void long_polls_that_began_apart_end_together(void **state)
{
    struct rig *r = *state;
    struct errand *polls[3];
    char name[8];

    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "a%d", i);
        rig_agent(r, name, "n");
    }
    rig_pass(r, 500 - (int)(tracker_now_ns(r->hall.tracker) / 1000000 % 500));
    for (int i = 0; i < 3; i++) {
        rig_pass(r, 100);
        snprintf(name, sizeof name, "a%d", i);
        polls[i] = rig_send(r, "trial_lease", "{'agent':'%s','wait_ms':20000}", name);
    }
    rig_pass(r, 19650);
    for (int i = 0; i < 3; i++)
        assert_false(polls[i]->left);
    rig_pass(r, 50);
    for (int i = 0; i < 3; i++) {
        assert_true(polls[i]->left);
        errand_free(polls[i]);
    }
}

static void no_poll_waits_longer_than_the_longest(void **state)
{
    struct rig *r = *state;
    struct errand *poll = rig_send(r, "job_lease", "{'wait_ms':9999999}");

    rig_pass(r, MAX_WAIT_MS - 50);
    assert_false(poll->left);
    rig_pass(r, 50);
    assert_true(poll->left);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(errand_result(poll), "job")));
    errand_free(poll);
}

static void a_call_that_waits_for_nothing_is_answered_at_once(void **state)
{
    struct rig *r = *state;
    cJSON *result = rig_must(r, "job_lease", "{}");

    assert_true(cJSON_IsNull(cJSON_GetObjectItem(result, "job")));
    cJSON_Delete(result);
}

static void who_waits_longest_for_a_key_is_served_first(void **state)
{
    static const int order[] = {2, 0, 3, 1};
    struct rig *r = *state;
    struct errand *polls[4];
    char name[8];
    int64_t job;

    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "a%d", order[i]);
        rig_agent(r, name, "n");
        polls[i] = rig_send(r, "trial_lease", "{'agent':'%s','max':1,'wait_ms':20000}", name);
    }
    job = rig_submit(r, "cpu");
    for (int n = 0; n < 4; n++) {
        rig_add(r, job, n, 1, 10 + n);
        for (int i = 0; i < 4; i++)
            assert_int_equal(polls[i]->left, i <= n);
        assert_int_equal(r->hall.n_parked, 3 - n);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(count_in(errand_result(polls[i]), "trials"), 1);
        errand_free(polls[i]);
    }
}

/* A poll waits with the key that its agent has when it is tried. */
static void a_poll_goes_with_its_agent_to_another_key(void **state)
{
    struct rig *r = *state;
    struct errand *poll;
    int64_t cpu, gpu;

    rig_agent(r, "a", "n");
    poll = rig_send(r, "trial_lease", "{'agent':'a','max':1,'wait_ms':20000}");
    rig_do(r, "agent_register", "{'agent':'a','nonce':'n','key':'gpu','fingerprint':'%s'}", hash_of(-1));
    cpu = rig_submit(r, "cpu");
    gpu = rig_submit(r, "gpu");
    rig_add(r, cpu, 0, 1, 10); /* it is tried, and is none of theirs any more */
    assert_false(poll->left);
    rig_add(r, gpu, 0, 1, 20);
    assert_true(poll->left);
    assert_string_equal(text_in(item_in(errand_result(poll), "trials", 0), "job"), "j2");
    errand_free(poll);
}

/* The one woken last has nothing left: it waits on, with its own end. */
static void a_poll_woken_in_vain_waits_on(void **state)
{
    struct rig *r = *state;
    struct errand *polls[2];

    rig_agent(r, "a", "n");
    rig_agent(r, "b", "n");
    polls[0] = rig_send(r, "trial_lease", "{'agent':'a','wait_ms':5000}");
    polls[1] = rig_send(r, "trial_lease", "{'agent':'b','wait_ms':5000}");
    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    assert_int_equal(polls[0]->left + polls[1]->left, 1);
    rig_pass(r, 5000);
    assert_int_equal(polls[0]->left + polls[1]->left, 2);
    assert_int_equal(count_in(errand_result(polls[0]), "trials") + count_in(errand_result(polls[1]), "trials"), 1);
    errand_free(polls[0]);
    errand_free(polls[1]);
}

/* Nor in the turn that brings both: that it went, and what it waited for. */
static void a_poll_whose_connection_went_is_granted_nothing(void **state)
{
    struct rig *r = *state;
    const uint32_t gone[] = {77, 5};
    struct caller a, adds, *left = NULL;
    struct buf bytes, news;
    char add[200];

    rig_agent(r, "a", "n");
    rig_submit(r, "cpu");
    bytes_of(r, NULL, "trial_lease", "{\"agent\":\"a\",\"wait_ms\":20000}", &bytes);
    snprintf(add, sizeof add, "{\"job\":\"j1\",\"token\":1,\"trials\":[{\"n\":0,\"program\":\"%s\",\"body\":{}}]}",
             hash_of(1));
    bytes_of(r, NULL, "trial_add", add, &news);
    a = caller_of(&bytes, 5);
    adds = caller_of(&news, 6);
    assert_true(hall_begin(&r->hall));
    assert_true(hall_enter(&r->hall, &a));
    assert_true(hall_end(&r->hall, gone, 1, &left, NULL));
    assert_null(left); /* another went */
    assert_true(hall_begin(&r->hall));
    assert_true(hall_enter(&r->hall, &adds));
    assert_true(hall_end(&r->hall, gone, 2, &left, NULL));
    assert_int_equal(count(left), 2);
    assert_int_equal(a.reply.len, 0);
    assert_int_equal(r->hall.n_parked, 0);
    assert_null(r->t->leased.first);
    assert_int_equal(r->t->stats.grants, 0);
    buf_fini(&adds.reply);
    buf_fini(&news);
    buf_fini(&bytes);
}

/* Its client came again by another connection: the older one is let go without a reply, the newer one is served. */
static void the_double_of_a_waiting_request_takes_its_place(void **state)
{
    static const char id[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", args[] = "{\"agent\":\"a\",\"wait_ms\":20000}";
    struct rig *r = *state;
    struct caller a, b, other, *left = NULL;
    struct buf first, second, third;

    rig_agent(r, "a", "n");
    bytes_of(r, NULL, "trial_lease", args, &third);
    bytes_of(r, id, "trial_lease", args, &first);
    bytes_of(r, id, "trial_lease", args, &second);
    other = caller_of(&third, 3);
    a = caller_of(&first, 1);
    b = caller_of(&second, 2);
    assert_true(hall_begin(&r->hall));
    assert_true(hall_enter(&r->hall, &other));
    assert_true(hall_enter(&r->hall, &a));
    assert_true(hall_end(&r->hall, NULL, 0, &left, NULL));
    assert_null(left);
    assert_true(hall_begin(&r->hall));
    assert_true(hall_enter(&r->hall, &b));
    assert_true(hall_end(&r->hall, NULL, 0, &left, NULL));
    assert_ptr_equal(left, &a);
    assert_null(left->next);
    assert_int_equal(a.reply.len, 0);
    assert_int_equal(r->hall.n_parked, 2);
    rig_sleep(r, 21000);
    assert_true(hall_begin(&r->hall));
    assert_true(hall_end(&r->hall, NULL, 0, &left, NULL));
    assert_int_equal(count(left), 2);
    assert_true(b.reply.len > 0);
    buf_fini(&other.reply);
    buf_fini(&b.reply);
    buf_fini(&first);
    buf_fini(&second);
    buf_fini(&third);
}

/* A repeat finds the answer given meanwhile, and so does the double that waited. */
static void a_grant_is_given_once_to_all_doubles(void **state)
{
    static const char id[] = "cccccccccccccccccccccccccccccccc", args[] = "{\"agent\":\"a\",\"wait_ms\":20000}";
    struct rig *r = *state;
    struct buf bytes;
    cJSON *first, *second;

    rig_agent(r, "a", "n");
    rig_add(r, rig_submit(r, "cpu"), 0, 2, 10);
    bytes_of(r, id, "trial_lease", args, &bytes);
    first = rig_exchange(r, bytes.data, bytes.len);
    buf_fini(&bytes);
    bytes_of(r, id, "trial_lease", args, &bytes);
    second = rig_exchange(r, bytes.data, bytes.len);
    assert_true(cJSON_Compare(first, second, true));
    assert_int_equal(r->t->stats.grants, 1);
    cJSON_Delete(first);
    cJSON_Delete(second);
    buf_fini(&bytes);
}

/* The newer one was served at once; the one that waits since before gets the same grant, not another. */
static void a_double_served_meanwhile_answers_the_one_that_waits(void **state)
{
    static const char id[] = "dddddddddddddddddddddddddddddddd", args[] = "{\"agent\":\"a\",\"wait_ms\":20000}";
    struct rig *r = *state;
    struct caller waits, adds, again, *left = NULL;
    struct buf first, second, third;
    char add[300];

    rig_agent(r, "a", "n");
    rig_submit(r, "cpu");
    snprintf(add, sizeof add,
             "{\"job\":\"j1\",\"token\":1,\"trials\":[{\"n\":0,\"program\":\"%s\",\"body\":{}},"
             "{\"n\":1,\"program\":\"%s\",\"body\":{}}]}",
             hash_of(1), hash_of(2));
    bytes_of(r, id, "trial_lease", args, &first);
    bytes_of(r, NULL, "trial_add", add, &second);
    bytes_of(r, id, "trial_lease", args, &third);
    waits = caller_of(&first, 1);
    adds = caller_of(&second, 2);
    again = caller_of(&third, 3);
    assert_true(hall_begin(&r->hall) && hall_enter(&r->hall, &waits));
    assert_true(hall_end(&r->hall, NULL, 0, &left, NULL));
    assert_null(left);
    assert_true(hall_begin(&r->hall) && hall_enter(&r->hall, &adds) && hall_enter(&r->hall, &again));
    assert_true(hall_end(&r->hall, NULL, 0, &left, NULL));
    assert_int_equal(count(left), 3);
    assert_int_equal(waits.reply.len, again.reply.len);
    assert_memory_equal(waits.reply.data, again.reply.data, again.reply.len);
    assert_int_equal(r->t->stats.grants, 1);
    buf_fini(&waits.reply);
    buf_fini(&adds.reply);
    buf_fini(&again.reply);
    buf_fini(&first);
    buf_fini(&second);
    buf_fini(&third);
}

#define MANY 5

static void one_poll_too_many_is_answered_at_once(void **state)
{
    struct rig *r = *state;
    struct errand *polls[MANY + 1];

    r->hall.max_parked = MANY;
    for (int i = 0; i <= MANY; i++) {
        polls[i] = rig_send(r, "job_lease", "{'wait_ms':20000}");
        assert_int_equal(polls[i]->left, i == MANY);
    }
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(errand_result(polls[MANY]), "job")));
    assert_int_equal(r->hall.n_parked, MANY);
    rig_do(r, "job_submit", "{'body':'b','key':'k'}");
    assert_int_equal(r->hall.n_parked, MANY - 1);
    rig_pass(r, 21000);
    for (int i = 0; i <= MANY; i++)
        errand_free(polls[i]);
}

static void deadlines_are_looked_at_a_few_times_a_lease(void **state)
{
    struct rig *r = *state;

    rig_agent(r, "a", "n");
    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    rig_pass(r, RIG_LEASE_MS);
    assert_non_null(r->t->leased.first); /* to the very end */
    rig_sleep(r, HALL_TICK_MS / 2);
    rig_turn(r);
    assert_null(r->t->leased.first);
}

/* Stopped between the begin of a turn and a request of it. */
static void who_is_heard_behind_a_pause_within_a_turn_was_not_heard_later(void **state)
{
    struct rig *r = *state;
    const struct agent *a;
    struct caller *left;
    struct errand *e;
    struct buf bytes;

    rig_agent(r, "a", "n");
    rig_encode(r, rig_request(r, "agent_beat", cJSON_Parse("{\"agent\":\"a\",\"state\":\"idle\"}")), NULL, &bytes);
    e = errand_new(bytes.data, bytes.len);
    assert_true(hall_begin(&r->hall));
    rig_sleep(r, 100000);
    assert_true(hall_enter(&r->hall, &e->caller));
    assert_true(hall_end(&r->hall, NULL, 0, &left, NULL));
    rig_take_replies(r, left);
    rig_pass(r, 50);
    a = table_get_text(&r->t->agents, "a");
    assert_true(a->seen_ns <= r->now_ns);
    errand_free(e);
    buf_fini(&bytes);
}

/* The same of what is leased there, which is a trial, a build or a job; a renewal then would end before it. */
static void what_is_leased_behind_a_pause_within_a_turn_is_so_no_longer_than_others(void **state)
{
    static const char *const leases[][2] = {
        {"trial_lease", "{'agent':'a','session_nonce':'n'}"}, {"build_lease", "{'agent':'make'}"}, {"job_lease", "{}"}};
    const int64_t longest_ns = RIG_LEASE_MS * INT64_C(1000000);
    struct rig *r = *state;
    struct caller *left;
    struct errand *e[3];
    const struct build *b;
    cJSON *result;
    size_t at = 0;

    rig_agent(r, "a", "n");
    rig_do(r, "builder_register", "{'agent':'make','nonce':'n','arches':['sm_61']}");
    rig_do(r, "agent_register", "{'agent':'run','nonce':'n','key':'gpu','fingerprint':'%s','arch':'sm_61'}",
           hash_of(-2));
    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    rig_add(r, rig_submit(r, "gpu"), 0, 1, 20);
    rig_do(r, "job_submit", "{'body':'b'}");
    for (int i = 0; i < 3; i++)
        e[i] = errand_of(r, leases[i][0], leases[i][1]);
    assert_true(hall_begin(&r->hall));
    rig_sleep(r, 100000);
    for (int i = 0; i < 3; i++)
        assert_true(hall_enter(&r->hall, &e[i]->caller));
    assert_true(hall_end(&r->hall, NULL, 0, &left, NULL));
    rig_take_replies(r, left);
    rig_sleep(r, 50);
    rig_turn(r);
    assert_in_range(r->t->leased.first->deadline_ns - r->now_ns, 1, longest_ns);
    b = table_next(&r->t->builds, &at);
    assert_true(b && b->agent);
    assert_in_range(b->deadline_ns - r->now_ns, 1, longest_ns);
    assert_string_equal(text_in(errand_result(e[2]), "job"), "j3");
    assert_in_range(((struct tracker_job *)table_get_i64(&r->t->jobs, 3))->deadline_ns - r->now_ns, 1, longest_ns);
    result = rig_must(r, "trial_renew", "{'agent':'a','trials':[{'trial':'t1','token':1}]}");
    assert_int_equal(count_in(result, "lost"), 0);
    cJSON_Delete(result);
    for (int i = 0; i < 3; i++)
        errand_free(e[i]);
}

/* A stopped process, a machine asleep, a disk that took its time: the peers could not be heard. */
static void a_pause_of_the_tracker_ends_no_lease(void **state)
{
    struct rig *r = *state;
    cJSON *lease, *result;

    rig_agent(r, "a", "n");
    rig_do(r, "builder_register", "{'agent':'make','nonce':'n','arches':['sm_61']}");
    rig_do(r, "agent_register", "{'agent':'run','nonce':'n','key':'gpu','fingerprint':'%s','arch':'sm_61'}",
           hash_of(-2));
    rig_add(r, rig_submit(r, "cpu"), 0, 1, 10);
    rig_add(r, rig_submit(r, "gpu"), 0, 1, 20);
    lease = rig_lease(r, "a", 1, 1);
    cJSON_Delete(rig_must(r, "build_lease", "{'agent':'make'}"));
    rig_pass(r, RIG_LEASE_MS - 1000);
    rig_sleep(r, 4 * RIG_LEASE_MS);
    rig_turn(r);
    assert_int_equal(r->t->stats.expired, 0);
    assert_string_equal(agent_state(r->t, table_get_text(&r->t->agents, "make")), "idle");
    assert_true(arch_has_builder(r->t, table_get_text(&r->t->arches, "sm_61")));
    result = rig_must(r, "trial_renew", "{'agent':'a','trials':[{'trial':'t1','token':1}]}");
    assert_int_equal(count_in(result, "lost"), 0);
    cJSON_Delete(result);
    result = rig_must(r, "job_list", "{'state':'running'}");
    assert_int_equal(count_in(result, "jobs"), 2);
    cJSON_Delete(result);
    rig_pass(r, 950); /* who is silent still has what was left to him, no more */
    assert_int_equal(r->t->stats.expired, 0);
    rig_pass(r, 150);
    assert_int_equal(r->t->stats.expired, 1); /* the build */
    result = rig_must(r, "job_list", "{'state':'running'}");
    assert_int_equal(count_in(result, "jobs"), 0);
    cJSON_Delete(result);
    assert_true(rig_answer(r, lease, 0, "ok", 1));
    cJSON_Delete(lease);
}

/* ---- a store that fails ---- */

static void nobody_is_answered_after_the_store_failed_and_nothing_acknowledged_is_lost(void **state)
{
    struct life a;
    int64_t n_calls = 1, fail_at = 0, n_failed = 0;

    (void)state;
    while (fail_at < n_calls) {
        struct rig r;

        rig_init(&r);
        r.options.ops = &faulty_store;
        store_faults = (struct store_faults){0};
        rig_start(&r);
        store_faults = (struct store_faults){.fail_at = fail_at};
        memset(&a, 0, sizeof a);
        life_live(&a, &r);
        if (fail_at == 0) {
            n_calls = store_faults.n_calls;
            assert_false(a.failed);
            assert_int_equal(a.n_results, 2);
            assert_int_equal(a.n_builds, 4);
        }
        assert_int_equal(a.failed, fail_at > 0);
        n_failed += a.failed;
        r.options.ops = store_table[0];
        life_check(&a, &r);
        rig_stop(&r);
        fail_at++;
    }
    assert_int_equal(n_failed, n_calls - 1);
    assert_true(n_calls > 60);
}

/* Of several blobs in a message each has to be stored, not the last alone. */
static void blobs_are_acknowledged_when_all_of_them_are_stored(void **state)
{
    struct blobs two;
    bool has_failed = true;

    (void)state;
    blobs_init(&two, 100);
    assert_int_equal(blobs_put(&two, "one", 3, NULL) || blobs_put(&two, "other", 5, NULL), ERR_OK);
    for (int64_t i = 1; has_failed; i++) { /* the i-th call of the store from here on fails */
        struct rig r;
        cJSON *reply;

        rig_init(&r);
        r.options.ops = &faulty_store;
        store_faults = (struct store_faults){0};
        rig_start(&r);
        store_faults.fail_at = store_faults.n_calls + i;
        reply = rig_ask(&r, "blob_put", cJSON_CreateObject(), &two);
        has_failed = store_faults.n_calls >= store_faults.fail_at;
        assert_true((reply == NULL) == has_failed);
        assert_true(has_failed || i > 3); /* a commit, too */
        cJSON_Delete(reply);
        store_faults = (struct store_faults){0};
        r.options.ops = store_table[0];
        rig_stop(&r);
    }
    blobs_fini(&two);
}

static void a_store_that_cannot_be_read_is_told_when_the_tracker_starts(void **state)
{
    struct rig *r = *state;
    struct tracker_options o = r->options;
    struct tracker *t = NULL;
    struct why why = {""};

    o.ops = &faulty_store;
    for (int i = 1; i <= 3; i++) { /* jobs, trials, the next id */
        store_faults = (struct store_faults){.fail_at = i};
        assert_int_equal(tracker_new(&o, &t, &why), ERR_IO);
        assert_non_null(strstr(why.text, "cannot be loaded"));
    }
    store_faults = (struct store_faults){0};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(replies_leave_with_the_end_of_their_turn, start, stop),
        cmocka_unit_test_setup_teardown(a_poll_leaves_in_the_turn_that_brings_what_it_waits_for, start, stop),
        cmocka_unit_test_setup_teardown(each_poll_is_woken_by_its_own_kind_of_news, start, stop),
        cmocka_unit_test_setup_teardown(a_poll_at_its_end_is_answered_with_nothing, start, stop),
        cmocka_unit_test_setup_teardown(long_polls_that_began_apart_end_together, start, stop),
        cmocka_unit_test_setup_teardown(no_poll_waits_longer_than_the_longest, start, stop),
        cmocka_unit_test_setup_teardown(a_call_that_waits_for_nothing_is_answered_at_once, start, stop),
        cmocka_unit_test_setup_teardown(who_waits_longest_for_a_key_is_served_first, start, stop),
        cmocka_unit_test_setup_teardown(a_poll_goes_with_its_agent_to_another_key, start, stop),
        cmocka_unit_test_setup_teardown(a_poll_woken_in_vain_waits_on, start, stop),
        cmocka_unit_test_setup_teardown(a_poll_whose_connection_went_is_granted_nothing, start, stop),
        cmocka_unit_test_setup_teardown(the_double_of_a_waiting_request_takes_its_place, start, stop),
        cmocka_unit_test_setup_teardown(a_grant_is_given_once_to_all_doubles, start, stop),
        cmocka_unit_test_setup_teardown(a_double_served_meanwhile_answers_the_one_that_waits, start, stop),
        cmocka_unit_test_setup_teardown(one_poll_too_many_is_answered_at_once, start, stop),
        cmocka_unit_test_setup_teardown(deadlines_are_looked_at_a_few_times_a_lease, start, stop),
        cmocka_unit_test_setup_teardown(who_is_heard_behind_a_pause_within_a_turn_was_not_heard_later, start, stop),
        cmocka_unit_test_setup_teardown(what_is_leased_behind_a_pause_within_a_turn_is_so_no_longer_than_others, start,
                                        stop),
        cmocka_unit_test_setup_teardown(a_pause_of_the_tracker_ends_no_lease, start, stop),
        cmocka_unit_test(nobody_is_answered_after_the_store_failed_and_nothing_acknowledged_is_lost),
        cmocka_unit_test(blobs_are_acknowledged_when_all_of_them_are_stored),
        cmocka_unit_test_setup_teardown(a_store_that_cannot_be_read_is_told_when_the_tracker_starts, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
