/* SPDX-License-Identifier: MIT */
/* Sessions: hello, who may speak, no message twice; and the table of answered requests. */
#include "tests/tracker/visitor.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct key key = {.bytes = {1, 2, 3, 4, 5}}, other_key = {.bytes = {1, 2, 3, 4, 6}};

static int start_with(void **state, const struct key *k)
{
    struct rig *r = calloc(1, sizeof *r);

    rig_init(r);
    r->options.key = k;
    rig_start(r);
    *state = r;
    return 0;
}

static int start(void **state)
{
    return start_with(state, NULL);
}

static int start_with_key(void **state)
{
    return start_with(state, &key);
}

static int stop(void **state)
{
    rig_stop(*state);
    free(*state);
    return 0;
}

/* ---- shorthands ---- */

#define CLIENT_NONCE "00112233445566778899aabbccddeeff"

static const char good_hello[] = "{\"nonce\":\"" CLIENT_NONCE "\",\"versions\":[1]}";

/* A status request with that counter. */
static cJSON *counted(struct rig *r, int64_t ctr)
{
    cJSON *request = rig_request(r, "status", cJSON_CreateObject());

    cJSON_ReplaceItemInObject(request, "ctr", cJSON_CreateNumber((double)ctr));
    return request;
}

/* ---- hello ---- */

static void a_hello_brings_a_session(void **state)
{
    struct rig *r = *state;
    cJSON *reply = rig_tell(r, rig_hello_with(r, good_hello), NULL, "", NULL), *again;
    const cJSON *result = object_in(reply, "result");

    assert_int_equal(strlen(text_in(result, "session")), REQUEST_ID_HEX);
    assert_int_equal(strlen(text_in(result, "nonce")), REQUEST_ID_HEX);
    assert_int_equal(number_in(result, "version"), 1);
    assert_string_equal(text_in(result, "boot"), r->t->boot);
    assert_memory_equal(text_in(result, "server"), "tune-tracker ", 13);
    again = rig_tell(r, rig_hello_with(r, good_hello), NULL, "", NULL);
    assert_string_not_equal(text_in(object_in(again, "result"), "session"), text_in(result, "session"));
    assert_string_not_equal(text_in(object_in(again, "result"), "nonce"), text_in(result, "nonce"));
    assert_int_equal(r->t->sessions.n, 3);
    cJSON_Delete(reply);
    cJSON_Delete(again);
}

static void a_hello_needs_a_common_version_and_a_nonce(void **state)
{
    static const struct {
        const char *args, *err, *words;
    } bad[] = {
        {"{\"nonce\":\"" CLIENT_NONCE "\"}", "input", "versions"},
        {"{\"nonce\":\"" CLIENT_NONCE "\",\"versions\":[]}", "protocol", "this tracker speaks version 1"},
        {"{\"nonce\":\"" CLIENT_NONCE "\",\"versions\":[2,0,\"1\"]}", "protocol", "no common version"},
        {"{\"versions\":[1]}", "input", "nonce"},
        {"{\"nonce\":\"00112233445566778899aabbccddeef\",\"versions\":[1]}", "input",
         "call hello: member nonce: expected 32 hex digits; found 31 bytes"},
        {"{\"nonce\":\"00112233445566778899aabbccddeefff\",\"versions\":[1]}", "input", "expected 32 hex digits"},
        {"{\"nonce\":\"00112233445566778899aabbccddeefG\",\"versions\":[1]}", "input", "expected 32 hex digits"},
        {"{\"nonce\":\"" CLIENT_NONCE "\",\"versions\":[1],\"role\":7}", "input", "role"},
    };
    struct rig *r = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        rig_told(r, rig_hello_with(r, bad[i].args), NULL, "", bad[i].err, bad[i].words);
    assert_int_equal(r->t->sessions.n, 1);
    rig_told(r, rig_hello_with(r, "{\"nonce\":\"" CLIENT_NONCE "\",\"versions\":[2,1]}"), NULL, "", NULL, NULL);
}

static void an_unknown_session_is_asked_to_say_hello(void **state)
{
    struct rig *r = *state;
    cJSON *request = rig_request(r, "status", cJSON_CreateObject()), *reply;

    cJSON_ReplaceItemInObject(request, "session", cJSON_CreateString(CLIENT_NONCE));
    reply = rig_tell(r, request, NULL, "", "stale");
    assert_int_equal(number_in(reply, "hello"), 1);
    assert_string_equal(text_in(reply, "why"), "unknown session: say hello");
    cJSON_Delete(reply);
    request = rig_request(r, "status", cJSON_CreateObject());
    cJSON_DeleteItemFromObject(request, "session");
    reply = rig_tell(r, request, NULL, "", "input");
    assert_null(cJSON_GetObjectItem(reply, "hello"));
    cJSON_Delete(reply);
}

/* The session used longest ago goes; who speaks now and then stays. */
static void too_many_sessions_push_out_the_one_used_longest_ago(void **state)
{
    struct rig *r = *state;
    char silent[REQUEST_ID_HEX + 1];
    cJSON *reply = rig_tell(r, rig_hello_with(r, good_hello), NULL, "", NULL), *request;

    snprintf(silent, sizeof silent, "%s", text_in(object_in(reply, "result"), "session"));
    cJSON_Delete(reply);
    for (int i = 0; i < MAX_SESSIONS - 2; i++)
        cJSON_Delete(rig_tell(r, rig_hello_with(r, good_hello), NULL, "", NULL));
    assert_int_equal(r->t->sessions.n, MAX_SESSIONS);
    rig_do(r, "status", "{}"); /* the rig's own, the oldest of all */
    cJSON_Delete(rig_tell(r, rig_hello_with(r, good_hello), NULL, "", NULL));
    assert_int_equal(r->t->sessions.n, MAX_SESSIONS);
    rig_do(r, "status", "{}");
    request = rig_request(r, "status", cJSON_CreateObject());
    cJSON_ReplaceItemInObject(request, "session", cJSON_CreateString(silent));
    rig_told(r, request, NULL, "", "stale", "unknown session");
}

/* ---- keys ---- */

static void a_tracker_with_a_key_serves_only_those_who_know_it(void **state)
{
    struct rig *r = *state;

    rig_told(r, rig_hello_with(r, good_hello), &key, CLIENT_NONCE, NULL, NULL);
    rig_told(r, rig_hello_with(r, good_hello), &other_key, CLIENT_NONCE, "auth", "the key is not this tracker's");
    rig_told(r, rig_hello_with(r, good_hello), &key, "another nonce", "auth", "the key is not this tracker's");
    rig_told(r, rig_hello_with(r, good_hello), NULL, "", "auth", "this tracker wants a key: --key-file FILE");
    assert_int_equal(r->t->sessions.n, 2);
    rig_told(r, counted(r, 1000), &key, r->nonce, NULL, NULL);
    rig_told(r, counted(r, 1001), &other_key, r->nonce, "auth", "the key is not this tracker's");
    rig_told(r, counted(r, 1002), &key, CLIENT_NONCE, "auth",
             "the key is not this tracker's"); /* of the hello, not of the session */
    rig_told(r, counted(r, 1003), NULL, "", "auth", "this tracker wants a key");
    rig_told(r, counted(r, 1003), &key, r->nonce, NULL, NULL); /* what was refused has used no number up */
}

static void a_tracker_without_a_key_says_so_to_those_who_have_one(void **state)
{
    struct rig *r = *state;

    rig_told(r, rig_hello_with(r, good_hello), &key, CLIENT_NONCE, "auth", "this tracker uses no key: leave --key out");
    rig_told(r, counted(r, 1000), &key, r->nonce, "auth", "this tracker uses no key");
}

/* The reply proves that the tracker knows the key; what it cannot know the nonce of goes unsigned. */
static void replies_are_signed_with_the_nonce_of_their_request(void **state)
{
    struct rig *r = *state;
    struct caller c, *left;
    struct buf bytes;

    for (int i = 0; i < 3; i++) {
        cJSON *request = i == 0 ? rig_hello_with(r, good_hello) : counted(r, 1000 + i);

        if (i == 2)
            cJSON_ReplaceItemInObject(request, "session", cJSON_CreateString("unknown"));
        buf_init(&bytes, 10000);
        assert_int_equal(message_encode(request, NULL, &key, i == 0 ? CLIENT_NONCE : r->nonce, &bytes), ERR_OK);
        cJSON_Delete(request);
        c = (struct caller){.bytes = bytes.data, .n_bytes = bytes.len};
        assert_true(hall_begin(&r->hall) && hall_enter(&r->hall, &c) && hall_end(&r->hall, NULL, 0, &left, NULL));
        assert_int_equal(message_mac_is_right(c.reply.data, c.reply.len, &key, i == 0 ? CLIENT_NONCE : r->nonce),
                         i < 2);
        buf_fini(&c.reply);
        buf_fini(&bytes);
    }
}

/* ---- no message twice ---- */

static void a_counter_is_taken_once_within_a_window_of_64(void **state)
{
    struct rig *r = *state;
    cJSON *reply;

    rig_told(r, counted(r, 100), NULL, "", NULL, NULL);
    rig_told(r, counted(r, 99), NULL, "", NULL, NULL); /* in another order */
    rig_told(r, counted(r, 37), NULL, "", NULL, NULL); /* the last one in the window */
    reply = rig_tell(r, counted(r, 36), NULL, "", "auth");
    assert_int_equal(number_in(reply, "hello"), 1);
    assert_string_equal(text_in(reply, "why"), "a message was seen before");
    cJSON_Delete(reply);
    for (int64_t seen = 37; seen <= 100; seen++) {
        const bool was = seen == 37 || seen == 99 || seen == 100;

        rig_told(r, counted(r, seen), NULL, "", was ? "auth" : NULL, "seen before");
        rig_told(r, counted(r, seen), NULL, "", "auth", "seen before");
    }
    rig_told(r, counted(r, 101), NULL, "", NULL, NULL);
    rig_told(r, counted(r, 38), NULL, "", "auth", "seen before"); /* the window moved, and still knows */
    rig_told(r, counted(r, 164), NULL, "", NULL, NULL);
    rig_told(r, counted(r, 101), NULL, "", "auth", "seen before");
    rig_told(r, counted(r, 102), NULL, "", NULL, NULL);
    rig_told(r, counted(r, 1000), NULL, "", NULL, NULL); /* far ahead: nothing before is known any more */
    rig_told(r, counted(r, 999), NULL, "", NULL, NULL);
    rig_told(r, counted(r, 936), NULL, "", "auth", "seen before");
    rig_told(r, counted(r, 0), NULL, "", "input", "ctr");
}

static void a_hello_begins_a_window_of_its_own(void **state)
{
    struct rig *r = *state;

    rig_told(r, counted(r, 1000), NULL, "", NULL, NULL);
    rig_hello(r);
    rig_told(r, counted(r, 1), NULL, "", NULL, NULL);
    rig_told(r, counted(r, 1), NULL, "", "auth", "seen before");
}

/* ---- answered requests ---- */

/* A request with an id of that number; the reply's text. */
static cJSON *with_id(struct rig *r, const char *op, const char *args, int id)
{
    cJSON *request = rig_request(r, op, cJSON_Parse(args));
    char text[REQUEST_ID_HEX + 1];

    snprintf(text, sizeof text, "ffff%028x", (unsigned)id);
    cJSON_ReplaceItemInObject(request, "id", cJSON_CreateString(text));
    return rig_tell(r, request, r->options.key, r->options.key ? r->nonce : "", NULL);
}

static const char an_agent[] = "{\"agent\":\"m\",\"nonce\":\"n\",\"arches\":[\"x\"]}";

static void a_repeated_request_is_answered_as_before_and_not_executed(void **state)
{
    struct rig *r = *state;
    cJSON *first, *again;

    first = with_id(r, "job_submit", "{\"body\":\"b\"}", 1);
    rig_do(r, "job_cancel", "{'job':'j1'}");
    rig_pass(r, ANSWERED_MS);
    again = with_id(r, "job_submit", "{\"body\":\"another\"}", 1);
    assert_true(cJSON_Compare(first, again, true));
    assert_int_equal(r->t->jobs.n, 1);
    assert_non_null(answered_find(r->t, text_in(first, "id"), CALL_JOB_SUBMIT, ""));
    rig_pass(r, HALL_TICK_MS);
    assert_null(answered_find(r->t, text_in(first, "id"), CALL_JOB_SUBMIT, ""));
    cJSON_Delete(first);
    cJSON_Delete(again);
}

static void a_refusal_is_remembered_too_and_what_changes_nothing_is_not(void **state)
{
    struct rig *r = *state;

    rig_refused(r, ERR_NOT_FOUND, "j7", "job_cancel", "{'job':'j7'}");
    assert_int_equal(r->t->answered.n, 1);
    rig_do(r, "status", "{}");
    rig_do(r, "job_list", "{}");
    rig_refused(r, ERR_NOT_FOUND, "j7", "job_status", "{'job':'j7'}");
    assert_int_equal(r->t->answered.n, 1);
}

static void the_oldest_answers_go_when_there_are_too_many(void **state)
{
    struct rig *r = *state;

    for (int i = 0; i < ANSWERED_MAX; i++)
        cJSON_Delete(with_id(r, "builder_register", an_agent, i));
    assert_int_equal(r->t->answered.n, ANSWERED_MAX);
    assert_non_null(answered_find(r->t, "ffff0000000000000000000000000000", CALL_BUILDER_REGISTER, ""));
    cJSON_Delete(with_id(r, "builder_register", an_agent, ANSWERED_MAX));
    assert_int_equal(r->t->answered.n, ANSWERED_MAX);
    assert_null(answered_find(r->t, "ffff0000000000000000000000000000", CALL_BUILDER_REGISTER, ""));
    assert_non_null(answered_find(r->t, "ffff0000000000000000000000000001", CALL_BUILDER_REGISTER, ""));
}

static void the_oldest_answers_go_when_they_are_too_large(void **state)
{
    struct rig *r = *state;
    const size_t n = (size_t)3 << 20;
    char *reply = calloc(1, n + 1), id[REQUEST_ID_HEX + 1];

    for (int i = 0; i < 5; i++) {
        snprintf(id, sizeof id, "%032d", i);
        answered_add(r->t, id, CALL_HELLO, "", reply, n);
        assert_int_equal(r->t->answered.n, i + 1);
    }
    answered_add(r->t, "f0000000000000000000000000000000", CALL_HELLO, "", reply,
                 (size_t)1 << 20); /* 16 MiB to the byte */
    assert_int_equal(r->t->answered.n, 6);
    answered_add(r->t, "f0000000000000000000000000000001", CALL_HELLO, "", reply, 1);
    assert_int_equal(r->t->answered.n, 6);
    assert_null(answered_find(r->t, "00000000000000000000000000000000", CALL_HELLO, ""));
    assert_non_null(answered_find(r->t, "00000000000000000000000000000001", CALL_HELLO, ""));
    assert_int_equal(r->t->answered_bytes, ((size_t)13 << 20) + 1);
    rig_pass(r, ANSWERED_MS + HALL_TICK_MS);
    assert_int_equal(r->t->answered.n, 0);
    assert_int_equal(r->t->answered_bytes, 0);
    answered_add(r->t, "f0000000000000000000000000000002", CALL_HELLO, "", reply, 1);
    assert_non_null(answered_find(r->t, "f0000000000000000000000000000002", CALL_HELLO, ""));
    free(reply);
}

/* Under a key, a repeat is signed anew for the session that asks now. */
static void a_repeat_by_another_session_is_signed_for_it(void **state)
{
    struct rig *r = *state;
    cJSON *first = with_id(r, "job_submit", "{\"body\":\"b\"}", 1), *again;

    rig_hello(r);
    again = with_id(r, "job_submit", "{\"body\":\"b\"}", 1);
    assert_true(cJSON_Compare(first, again, true));
    cJSON_Delete(first);
    cJSON_Delete(again);
}

/* ---- identities ---- */

static void a_hello_heard_again_brings_nothing_new(void **state)
{
    struct rig *r = *state;
    cJSON *first = rig_tell(r, rig_hello_with(r, good_hello), &key, CLIENT_NONCE, NULL), *again;
    const size_t n = r->t->sessions.n;

    for (int i = 0; i < 100; i++) {
        again = rig_tell(r, rig_hello_with(r, good_hello), &key, CLIENT_NONCE, NULL);
        assert_string_equal(text_in(object_in(again, "result"), "session"),
                            text_in(object_in(first, "result"), "session"));
        cJSON_Delete(again);
    }
    assert_int_equal(r->t->sessions.n, n);
    cJSON_Delete(first);
}

/* ---- strangers ---- */

static int n_lines;
static char last_line[700];

static void take_line(const char *line, void *arg)
{
    (void)arg;
    n_lines++;
    snprintf(last_line, sizeof last_line, "%s", line);
}

static void what_is_refused_is_told_to_the_log_and_not_for_ever(void **state)
{
    struct rig *r = *state;

    n_lines = 0;
    r->t->o.audit = take_line;
    rig_told(r, rig_hello_with(r, good_hello), &other_key, CLIENT_NONCE, "auth", "");
    assert_int_equal(n_lines, 1);
    assert_string_equal(last_line, "refused: a message by whoever: the key is not this tracker's");
    for (int i = 0; i < 100; i++)
        rig_told(r, rig_hello_with(r, good_hello), &other_key, CLIENT_NONCE, "auth", "");
    assert_int_equal(n_lines, 10);
    rig_pass(r, 1000);
    rig_told(r, rig_hello_with(r, good_hello), &other_key, CLIENT_NONCE, "auth", "");
    assert_int_equal(n_lines, 12);
}

/* What is no JSON at all is refused for its MAC or its session: nobody has read it. */
static void a_large_message_is_not_read_before_its_mac(void **state)
{
    struct rig *r = *state;
    struct buf b;
    cJSON *reply;

    for (int named = 0; named < 2; named++) {
        buf_init(&b, MESSAGE_MAX_BYTES);
        buf_append(&b, "TUN1\1\0\0\0", 8);
        buf_append(&b, "\0\0\1\0", 4); /* 64 KiB of it */
        if (named)
            buf_printf(&b, "{\"session\":\"%s\",", r->session);
        while (b.len < 12 + 65536)
            buf_puts(&b, "[");
        reply = rig_exchange(r, b.data, b.len);
        assert_string_equal(text_in(reply, "err"), "auth");
        assert_non_null(strstr(text_in(reply, "why"), named ? "the key is not" : "has to name its session in front"));
        cJSON_Delete(reply);
        buf_fini(&b);
    }
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
#define FACT_WITH_KEY(name) cmocka_unit_test_setup_teardown(name, start_with_key, stop)
    const struct CMUnitTest tests[] = {
        FACT(a_hello_brings_a_session),
        FACT(a_hello_needs_a_common_version_and_a_nonce),
        FACT(an_unknown_session_is_asked_to_say_hello),
        FACT(too_many_sessions_push_out_the_one_used_longest_ago),
        FACT_WITH_KEY(a_tracker_with_a_key_serves_only_those_who_know_it),
        FACT(a_tracker_without_a_key_says_so_to_those_who_have_one),
        FACT_WITH_KEY(replies_are_signed_with_the_nonce_of_their_request),
        FACT(a_counter_is_taken_once_within_a_window_of_64),
        FACT(a_hello_begins_a_window_of_its_own),
        FACT(a_repeated_request_is_answered_as_before_and_not_executed),
        FACT(a_refusal_is_remembered_too_and_what_changes_nothing_is_not),
        FACT(the_oldest_answers_go_when_there_are_too_many),
        FACT(the_oldest_answers_go_when_they_are_too_large),
        FACT_WITH_KEY(a_repeat_by_another_session_is_signed_for_it),
        FACT_WITH_KEY(a_hello_heard_again_brings_nothing_new),
        FACT_WITH_KEY(what_is_refused_is_told_to_the_log_and_not_for_ever),
        FACT_WITH_KEY(a_large_message_is_not_read_before_its_mac),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
