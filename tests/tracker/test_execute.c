/* SPDX-License-Identifier: MIT */
/* From the bytes of a request to the bytes of its reply: what is no request, and replies that would be too large. */
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

/* A message around JSON text as it is. */
static void wrap(const char *json, struct buf *out)
{
    const size_t n = strlen(json);
    unsigned char head[MESSAGE_HEADER_BYTES] = {'T', 'U', 'N', '1', 1};

    for (int i = 0; i < 4; i++)
        head[8 + i] = (unsigned char)(n >> (8 * i));
    buf_init(out, MESSAGE_MAX_BYTES + 4096);
    buf_append(out, head, sizeof head);
    buf_append(out, json, n);
}

#define ID "\"id\":\"0123456789abcdef0123456789abcdef\""

static void what_is_no_request_is_told_why(void **state)
{
    static const struct {
        const char *json, *err, *words;
    } bad[] = {
        {"[]", "protocol", "a message must be a JSON object"},
        {"{", "protocol", ""},
        {"{}", "input", "id"},
        {"{\"id\":7}", "input", "id"},
        {"{\"id\":\"0123456789abcdef0123456789abcde\"}", "input", "'id' must have 32 hex digits"},
        {"{\"id\":\"0123456789abcdef0123456789abcdeff\"}", "input", "'id' must have 32 hex digits"},
        {"{" ID "}", "input", "op"},
        {"{" ID ",\"op\":\"nonsense\"}", "unsupported", "'nonsense' is no operation of this tracker"},
        {"{" ID ",\"op\":\"\"}", "unsupported", "'' is no operation"},
        {"{" ID ",\"op\":\"status\"}", "input", "session"},
        {"{" ID ",\"op\":\"status\",\"session\":\"x\"}", "input", "ctr"},
        {"{" ID ",\"op\":\"status\",\"blobs\":7}", "protocol", "'blobs' must be a list"},
    };
    struct rig *r = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct buf bytes;
        cJSON *reply;

        wrap(bad[i].json, &bytes);
        reply = rig_exchange(r, bytes.data, bytes.len);
        assert_int_equal(number_in(reply, "ok"), 0);
        if (strcmp(text_in(reply, "err"), bad[i].err) != 0 || !strstr(text_in(reply, "why"), bad[i].words))
            fail_msg("%s: %s \"%s\", expected %s \"%s\"", bad[i].json, text_in(reply, "err"), text_in(reply, "why"),
                     bad[i].err, bad[i].words);
        cJSON_Delete(reply);
        buf_fini(&bytes);
    }
    assert_int_equal(r->t->stats.refused, sizeof bad / sizeof *bad);
    assert_int_equal(r->t->answered.n, 0);
}

static void every_reply_carries_the_id_of_its_request(void **state)
{
    struct rig *r = *state;

    for (int good = 0; good < 2; good++) {
        cJSON *request = rig_request(r, good ? "status" : "job_status", cJSON_CreateObject()), *reply;
        char id[REQUEST_ID_HEX + 1];
        struct buf bytes;

        snprintf(id, sizeof id, "%s", text_in(request, "id"));
        rig_encode(r, request, NULL, &bytes);
        reply = rig_exchange(r, bytes.data, bytes.len);
        assert_int_equal(number_in(reply, "ok"), good);
        assert_string_equal(text_in(reply, "id"), id);
        assert_int_equal(cJSON_HasObjectItem(reply, "result"), good);
        cJSON_Delete(reply);
        buf_fini(&bytes);
    }
}

static void arguments_may_be_left_out_but_not_be_of_another_kind(void **state)
{
    struct rig *r = *state;
    cJSON *reply = rig_ask(r, "job_list", NULL, NULL);

    assert_int_equal(number_in(reply, "ok"), 1);
    cJSON_Delete(reply);
    reply = rig_ask(r, "job_status", cJSON_CreateString("j1"), NULL);
    assert_string_equal(text_in(reply, "err"), "input");
    cJSON_Delete(reply);
    rig_refused(r, ERR_INPUT, "wait_ms", "job_lease", "{'wait_ms':-1}");
    rig_refused(r, ERR_INPUT, "wait_ms", "job_lease", "{'wait_ms':'long'}");
}

/* A parked request keeps its tree: one that may wait has to be small. */
static void a_request_that_may_wait_has_8_kibibytes(void **state)
{
    struct rig *r = *state;

    rig_refused(r, ERR_LIMIT, "a request that waits may have 8192 bytes", "job_lease", "{'x':'%8192s'}", "");
    rig_do(r, "job_lease", "{'x':'%8000s'}", "");
    rig_do(r, "job_list", "{'x':'%9000s'}", "");
}

static void a_reply_that_would_be_too_large_says_so(void **state)
{
    struct rig *r = *state;
    char *text = calloc(1, 600001);
    cJSON *args = cJSON_CreateObject(), *reply;

    memset(text, 1, 600000); /* each six bytes in JSON */
    cJSON_AddStringToObject(args, "body", text);
    cJSON_AddTrueToObject(args, "lease");
    cJSON_Delete(rig_ask(r, "job_submit", args, NULL));
    text[150000] = '\0';
    args = cJSON_Parse("{\"job\":\"j1\",\"token\":1,\"summary\":{}}");
    cJSON_AddStringToObject(cJSON_GetObjectItem(args, "summary"), "text", text);
    cJSON_Delete(rig_ask(r, "job_done", args, NULL));
    reply = rig_ask(r, "job_status", cJSON_Parse("{\"job\":\"j1\"}"), NULL);
    assert_int_equal(number_in(reply, "ok"), 0);
    assert_string_equal(text_in(reply, "err"), "limit");
    assert_string_equal(text_in(reply, "why"), "the reply would have over 4194304 bytes: ask for less");
    assert_int_equal(strlen(text_in(reply, "id")), REQUEST_ID_HEX);
    cJSON_Delete(reply);
    free(text);
}

static void a_request_over_the_limit_of_a_message_is_refused(void **state)
{
    struct rig *r = *state;
    char *bytes = calloc(1, MESSAGE_MAX_BYTES + 1);
    cJSON *reply;

    memcpy(bytes, "TUN1\1\0\0\0", 8);
    reply = rig_exchange(r, bytes, MESSAGE_MAX_BYTES + 1);
    assert_string_equal(text_in(reply, "err"), "limit");
    cJSON_Delete(reply);
    free(bytes);
}

/* The reply to a request of the same id, on a counter of its own. */
static bool asked_with_id(struct rig *r, const char *id, const char *op, const char *args, char err[16])
{
    cJSON *request = rig_request(r, op, cJSON_Parse(args)), *reply;
    struct buf bytes;
    bool ok;

    cJSON_ReplaceItemInObject(request, "id", cJSON_CreateString(id));
    rig_encode(r, request, NULL, &bytes);
    reply = rig_exchange(r, bytes.data, bytes.len);
    ok = number_in(reply, "ok") == 1;
    snprintf(err, 16, "%s", ok ? "" : text_in(reply, "err"));
    cJSON_Delete(reply);
    buf_fini(&bytes);
    return ok;
}

static void fill_the_job(struct rig *r)
{
    for (int n = 0; n < MAX_OPEN_TRIALS;) {
        struct buf list;

        buf_init(&list, 1 << 20);
        for (int i = 0; i < 1024; i++, n++)
            buf_printf(&list, "%s{'n':%d,'program':'%s','body':{}}", i ? "," : "", n, hash_of(n));
        rig_do(r, "trial_add", "{'job':'j1','token':1,'trials':[%s]}", buf_text(&list));
        buf_fini(&list);
    }
}

/* `busy` means: the same request again after a pause. So it is not what the request was answered: once there is room it
 * is served, and answered as it was then from there on. Every other refusal stays. */
static void who_was_told_busy_is_served_when_he_comes_again(void **state)
{
    static const char id[] = "00000000000000000000000000abcdef", other[] = "00000000000000000000000000abcdee";
    struct rig *r = *state;
    char err[16], args[256], nobody[256];

    rig_submit(r, "cpu");
    rig_agent(r, "a", "n");
    fill_the_job(r);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    snprintf(args, sizeof args, "{\"job\":\"j1\",\"token\":1,\"trials\":[{\"n\":%d,\"program\":\"%s\",\"body\":{}}]}",
             MAX_OPEN_TRIALS, hash_of(MAX_OPEN_TRIALS));
    snprintf(nobody, sizeof nobody, "{\"job\":\"j9\",\"token\":1,\"trials\":[]}");
    for (int i = 0; i < 2; i++) {
        assert_false(asked_with_id(r, id, "trial_add", args, err));
        assert_string_equal(err, "busy");
    }
    assert_false(asked_with_id(r, other, "trial_add", nobody, err));
    assert_string_equal(err, "not_found");
    rig_do(r, "trial_result", "{'trial':'t1','token':1,'envelope':{'status':'ok'},'record':'x'}");
    assert_true(asked_with_id(r, id, "trial_add", args, err));
    assert_int_equal(r->t->trials.n, MAX_OPEN_TRIALS);
    assert_true(asked_with_id(r, id, "trial_add", nobody, err)); /* by its id alone: what it was answered */
    assert_false(asked_with_id(r, other, "trial_add", args, err));
    assert_string_equal(err, "not_found");
}

static void operations_are_found_by_their_whole_names(void **state)
{
    (void)state;
    for (int i = 0; i < N_CALLS; i++)
        assert_int_equal(call_find(call_table[i].name), i);
    assert_int_equal(call_find("job"), N_CALLS);
    assert_int_equal(call_find("job_listx"), N_CALLS);
    assert_int_equal(call_find("Hello"), N_CALLS);
    assert_int_equal(call_find(""), N_CALLS);
}

/* What changes something is answered once; what waits is woken by what it waits for. docs/protocol.md. */
static void the_table_of_operations_is_that_of_the_protocol(void **state)
{
    static const struct {
        const char *name;
        bool writes;
        unsigned wake;
    } all[] = {
        {"hello", false, 0},
        {"blob_have", false, 0},
        {"blob_put", false, 0},
        {"blob_get", false, 0},
        {"job_submit", true, 0},
        {"job_lease", true, WAKE_JOBS},
        {"job_renew", false, 0},
        {"job_done", true, 0},
        {"job_release", true, 0},
        {"job_cancel", true, 0},
        {"job_pause", true, 0},
        {"job_list", false, 0},
        {"job_status", false, 0},
        {"trial_add", true, 0},
        {"trial_lease", true, WAKE_TRIALS},
        {"trial_renew", false, 0},
        {"trial_result", true, 0},
        {"trial_release", true, 0},
        {"record_wait", false, WAKE_RECORDS},
        {"requeue", true, 0},
        {"agent_register", true, 0},
        {"builder_register", true, 0},
        {"build_lease", true, WAKE_BUILDS},
        {"build_renew", false, 0},
        {"build_result", true, 0},
        {"build_release", true, 0},
        {"agent_beat", false, 0},
        {"agent_bye", true, 0},
        {"agent_mode", true, 0},
        {"devices", false, 0},
        {"status", false, 0},
        {"backup", true, WAKE_BACKUP},
    };

    (void)state;
    assert_int_equal(N_CALLS, sizeof all / sizeof *all);
    for (size_t i = 0; i < N_CALLS; i++) {
        assert_string_equal(call_table[i].name, all[i].name);
        assert_int_equal(op_table[i].writes, all[i].writes);
        assert_int_equal(op_table[i].wake, all[i].wake);
    }
}

static void texts_are_cut_to_their_place(void **state)
{
    char out[4];

    (void)state;
    text_copy(out, sizeof out, "abcdef");
    assert_string_equal(out, "abc");
    text_copy(out, sizeof out, "ab");
    assert_string_equal(out, "ab");
    text_copy(out, sizeof out, "");
    assert_string_equal(out, "");
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(what_is_no_request_is_told_why),
        FACT(every_reply_carries_the_id_of_its_request),
        FACT(arguments_may_be_left_out_but_not_be_of_another_kind),
        FACT(a_request_that_may_wait_has_8_kibibytes),
        FACT(a_reply_that_would_be_too_large_says_so),
        FACT(a_request_over_the_limit_of_a_message_is_refused),
        FACT(who_was_told_busy_is_served_when_he_comes_again),
        cmocka_unit_test(operations_are_found_by_their_whole_names),
        cmocka_unit_test(the_table_of_operations_is_that_of_the_protocol),
        cmocka_unit_test(texts_are_cut_to_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
