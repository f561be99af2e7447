/* SPDX-License-Identifier: MIT */
/* What listeners are told of a farm that changes, and what an agent's history keeps. */
#include "tests/tracker/rig.h"

#include "tracker/events.h"
#include "tracker/vitals.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* One listener's ear: what the last look told. */
struct ear {
    struct told told;
    struct buf out;
};

static void open_ear(struct ear *e, struct rig *r)
{
    *e = (struct ear){.told = {.next_job = 0}};
    buf_init(&e->out, 1 << 20);
    e->told.out = &e->out;
    assert_int_equal(events_look(r->t, &e->told), ERR_OK);
    assert_int_equal(e->out.len, 0); /* the first look tells nothing */
}

static void close_ear(struct ear *e)
{
    told_fini(&e->told);
    buf_fini(&e->out);
}

/* The data of the only event of that name in a new look (cJSON_Delete); NULL when there was none. */
static cJSON *heard(struct ear *e, struct rig *r, const char *event)
{
    char head[64];
    const char *at;
    cJSON *data;

    buf_clear(&e->out);
    assert_int_equal(events_look(r->t, &e->told), ERR_OK);
    snprintf(head, sizeof head, "event: %s\ndata: ", event);
    at = strstr(buf_text(&e->out), head);
    if (!at)
        return NULL;
    assert_null(strstr(at + 1, head));
    at += strlen(head);
    assert_int_equal(strncmp(strchr(at, '\n'), "\n\n", 2), 0);
    data = cJSON_ParseWithLength(at, strcspn(at, "\n"));
    assert_non_null(data);
    return data;
}

static void expect_silence(struct ear *e, struct rig *r)
{
    buf_clear(&e->out);
    assert_int_equal(events_look(r->t, &e->told), ERR_OK);
    assert_string_equal(buf_text(&e->out), "");
}

/* ---- jobs ---- */

static void a_job_is_told_of_when_it_comes_changes_and_ends(void **state)
{
    struct rig *r = *state;
    struct ear e;
    cJSON *job, *lease;
    int64_t id;

    rig_agent(r, "a", "n");
    rig_do(r, "job_submit", "{'body':'before'}");
    open_ear(&e, r);
    id = rig_submit(r, "cpu");
    job = heard(&e, r, "job");
    assert_string_equal(text_in(job, "job"), "j2");
    assert_string_equal(text_in(job, "state"), "running");
    assert_null(cJSON_GetObjectItem(job, "body"));
    cJSON_Delete(job);
    expect_silence(&e, r);
    rig_add(r, id, 0, 3, 1);
    lease = rig_lease(r, "a", 2, 2);
    rig_answer(r, lease, 0, "ok", 5);
    cJSON_Delete(lease);
    job = heard(&e, r, "job");
    assert_int_equal(number_in(object_in(job, "trials"), "open"), 1);
    assert_int_equal(number_in(object_in(job, "trials"), "leased"), 1);
    assert_int_equal(number_in(object_in(job, "trials"), "done"), 1);
    assert_int_equal(number_in(job, "records"), 1);
    cJSON_Delete(job);
    rig_do(r, "job_renew", "{'job':'j2','token':1,'progress':{'done':1,'total':9}}");
    job = heard(&e, r, "job");
    assert_int_equal(number_in(object_in(job, "progress"), "total"), 9);
    cJSON_Delete(job);
    rig_do(r, "job_done", "{'job':'j2','token':1,'state':'failed'}");
    job = heard(&e, r, "job");
    assert_string_equal(text_in(job, "state"), "failed");
    cJSON_Delete(job);
    cJSON_Delete(heard(&e, r, "device"));
    expect_silence(&e, r);
    close_ear(&e);
}

static void a_job_that_came_and_went_between_two_looks_is_told_of(void **state)
{
    struct rig *r = *state;
    struct ear e;
    cJSON *job;

    open_ear(&e, r);
    rig_do(r, "job_submit", "{'body':'b'}");
    rig_do(r, "job_cancel", "{'job':'j1'}");
    job = heard(&e, r, "job");
    assert_string_equal(text_in(job, "state"), "cancelled");
    cJSON_Delete(job);
    expect_silence(&e, r);
    close_ear(&e);
}

static void a_title_cannot_make_events_of_its_own(void **state)
{
    static const char title[] = "a\n\nevent: device\ndata: {}\n\n<script>";
    struct rig *r = *state;
    cJSON *args = cJSON_CreateObject(), *job;
    struct ear e;

    open_ear(&e, r);
    cJSON_AddStringToObject(args, "title", title);
    cJSON_AddStringToObject(args, "body", "b");
    cJSON_Delete(rig_ask(r, "job_submit", args, NULL));
    job = heard(&e, r, "job");
    assert_string_equal(text_in(job, "title"), title);
    cJSON_Delete(job);
    assert_null(strstr(buf_text(&e.out), "\nevent: device"));
    close_ear(&e);
}

/* ---- devices ---- */

static void a_device_is_told_of_with_what_it_is_once(void **state)
{
    struct rig *r = *state;
    struct ear e;
    cJSON *d;

    open_ear(&e, r);
    rig_do(r, "agent_register", "{'agent':'a','nonce':'n','key':'cpu','fingerprint':'%s','device':{'name':'x'}}",
           hash_of(-1));
    d = heard(&e, r, "device");
    assert_string_equal(text_in(d, "agent"), "a");
    assert_string_equal(text_in(object_in(d, "device"), "name"), "x");
    assert_null(cJSON_GetObjectItem(d, "temperature")); /* it told none */
    cJSON_Delete(d);
    expect_silence(&e, r);
    rig_do(r, "agent_beat", "{'agent':'a','temperature':61.5,'canary_ns':700}");
    d = heard(&e, r, "device");
    assert_true(real_in(d, "temperature") == 61.5 && real_in(d, "canary_ns") == 700);
    assert_null(cJSON_GetObjectItem(d, "device"));
    cJSON_Delete(d);
    rig_do(r, "agent_mode", "{'agent':'a','mode':'drain'}");
    d = heard(&e, r, "device");
    assert_string_equal(text_in(d, "mode"), "drain");
    cJSON_Delete(d);
    rig_do(r, "builder_register", "{'agent':'m','nonce':'n','arches':['sm_61']}");
    d = heard(&e, r, "builder");
    assert_string_equal(text_in(d, "agent"), "m");
    cJSON_Delete(d);
    close_ear(&e);
}

/* The clock stands between the two looks: only the state tells them apart. */
static void work_and_a_closed_connection_show_at_once(void **state)
{
    const uint32_t line = 1; /* of all the rig's calls */
    struct rig *r = *state;
    struct ear e;
    cJSON *d, *lease;

    rig_agent(r, "a", "n");
    rig_add(r, rig_submit(r, "cpu"), 0, 1, 1);
    open_ear(&e, r);
    lease = rig_lease(r, "a", 1, 1);
    d = heard(&e, r, "device");
    assert_string_equal(text_in(d, "state"), "busy"); /* though its last word was idle */
    assert_int_equal(number_in(d, "leased"), 1);
    cJSON_Delete(d);
    agents_cut(r->t, &line, 1);
    rig_pass(r, 3000);
    expect_silence(&e, r); /* it may come back by another */
    rig_pass(r, 1);
    d = heard(&e, r, "device");
    assert_string_equal(text_in(d, "state"), "lost");
    cJSON_Delete(d);
    rig_answer(r, lease, 0, "ok", 5);
    rig_do(r, "agent_beat", "{'agent':'a','state':'busy'}");
    d = heard(&e, r, "device");
    assert_string_equal(text_in(d, "state"), "idle"); /* it has nothing left */
    cJSON_Delete(d);
    cJSON_Delete(lease);
    close_ear(&e);
}

static void a_connection_of_somebody_else_says_nothing(void **state)
{
    const uint32_t lines[] = {7, 8, 0};
    struct rig *r = *state;

    rig_agent(r, "a", "n");
    agents_cut(r->t, lines, 3);
    rig_pass(r, 10000);
    assert_string_equal(agent_state(r->t, table_get_text(&r->t->agents, "a")), "idle");
}

/* ---- history ---- */

static void add(struct vitals *h, int64_t ts_ms, uint32_t done)
{
    const struct vitals_point p = {.ts_ms = ts_ms, .temperature = NAN, .load = 0.5f, .canary_ns = 700, .done = done};

    vitals_add(h, &p);
}

static void a_history_keeps_what_was_told_and_what_was_not(void **state)
{
    struct vitals h = {0};
    cJSON *o;

    (void)state;
    add(&h, 1000, 1);
    add(&h, 1000 + VITALS_STEP_MS - 1, 2); /* too soon */
    add(&h, 1000 + VITALS_STEP_MS, 3);
    o = vitals_json(&h);
    assert_int_equal(count_in(o, "ts_ms"), 2);
    assert_int_equal(item_in(o, "done", 0)->valueint, 1);
    assert_int_equal(item_in(o, "done", 1)->valueint, 3);
    assert_true(cJSON_IsNull(item_in(o, "temperature", 0)));
    assert_true(item_in(o, "load", 1)->valuedouble == 0.5);
    assert_true(item_in(o, "canary_ns", 1)->valuedouble == 700);
    assert_int_equal(item_in(o, "failed", 1)->valueint, 0);
    cJSON_Delete(o);
    vitals_fini(&h);
}

/* A week of points: never more than there is room for, the first one and a recent one among them, evenly apart. */
static void a_long_history_has_its_points_further_apart(void **state)
{
    const int64_t week_ms = (int64_t)7 * 86400 * 1000;
    struct vitals h = {0};

    (void)state;
    for (int64_t t = 0; t <= week_ms; t += VITALS_STEP_MS)
        add(&h, t, 0);
    assert_in_range(h.n, VITALS_POINTS / 2, VITALS_POINTS);
    assert_int_equal(h.at[0].ts_ms, 0);
    for (int i = 1; i < h.n; i++)
        assert_int_equal(h.at[i].ts_ms - h.at[i - 1].ts_ms, h.step_ms);
    assert_true(h.at[h.n - 1].ts_ms > week_ms - h.step_ms);
    vitals_fini(&h);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
    const struct CMUnitTest tests[] = {
        FACT(a_job_is_told_of_when_it_comes_changes_and_ends),
        FACT(a_job_that_came_and_went_between_two_looks_is_told_of),
        FACT(a_title_cannot_make_events_of_its_own),
        FACT(a_device_is_told_of_with_what_it_is_once),
        FACT(work_and_a_closed_connection_show_at_once),
        FACT(a_connection_of_somebody_else_says_nothing),
        cmocka_unit_test(a_history_keeps_what_was_told_and_what_was_not),
        cmocka_unit_test(a_long_history_has_its_points_further_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
