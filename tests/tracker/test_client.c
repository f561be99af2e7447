/* SPDX-License-Identifier: MIT */
/* client.c against a real tracker in the test's own process, over a wire that fails as the test says. */
#include "tests/tracker/wire.h"

#include "core/file.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MS INT64_C(1000000)

/* ---- shorthands ---- */

static void sleep_ms(void *arg, int64_t ms)
{
    rig_sleep(arg, ms);
}

static int start(void **state)
{
    struct wire *w = calloc(1, sizeof *w);

    w->r = calloc(1, sizeof *w->r);
    rig_init(w->r);
    rig_start(w->r);
    w->clock = w->r->clock;
    w->clock.sleep_ms = sleep_ms;
    *state = w;
    return 0;
}

static int stop(void **state)
{
    struct wire *w = *state;

    assert_int_equal(w->n_open, 0);
    for (int i = 0; i < w->n; i++)
        cJSON_Delete(w->seen[i]);
    rig_stop(w->r);
    free(w->r);
    free(w);
    return 0;
}

static struct client_options options_of(struct wire *w)
{
    return (struct client_options){.url = "tcp://farm:1",
                                   .role = "work",
                                   .name = "me",
                                   .transport = &transport_wire,
                                   .transport_arg = w,
                                   .clock = &w->clock,
                                   .entropy = &w->r->entropy};
}

static struct client *open_client(struct wire *w)
{
    const struct client_options o = options_of(w);
    struct client *c = NULL;
    struct why why = {""};

    if (client_open(&o, &c, &why) != ERR_OK)
        fail_msg("%s", why.text);
    return c;
}

/* Opening ends with this error and these words. */
static void cannot_open(struct wire *w, enum err expected, const char *words)
{
    const struct client_options o = options_of(w);
    struct client *c = NULL;
    struct why why = {""};

    assert_int_equal(client_open(&o, &c, &why), expected);
    assert_null(c);
    if (!strstr(why.text, words))
        fail_msg("'%s', expected '%s'", why.text, words);
}

static enum err call(struct client *c, const char *op, const char *args, struct why *why)
{
    return client_call(c, op, cJSON_Parse(args), NULL, 0, NULL, NULL, why);
}

static void expect_call(struct client *c, enum err expected, const char *words)
{
    struct why why = {""};

    assert_int_equal(call(c, "job_list", "{}", &why), expected);
    if (!strstr(why.text, words))
        fail_msg("'%s', expected '%s'", why.text, words);
}

static const char *seen_text(const struct wire *w, int i, const char *name)
{
    assert_true(i < w->n);
    return text_in(w->seen[i], name);
}

/* ---- open ---- */

static void a_client_opens_with_a_hello_and_counts_its_calls(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);
    const cJSON *args = object_in(w->seen[0], "args");

    assert_string_equal(seen_text(w, 0, "op"), "hello");
    assert_string_equal(text_in(args, "role"), "work");
    assert_string_equal(text_in(args, "name"), "me");
    assert_int_equal(strlen(text_in(args, "nonce")), REQUEST_ID_HEX);
    assert_int_equal(item_in(args, "versions", 0)->valueint, PROTOCOL_VERSION);
    assert_int_equal(w->timeout_ms[0], 3300);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(call(c, "job_list", "{}", NULL), ERR_OK);
        assert_int_equal(number_in(w->seen[i], "ctr"), i);
        assert_int_equal(w->timeout_ms[i], 10000);
        assert_string_equal(seen_text(w, i, "session"), seen_text(w, 1, "session"));
    }
    assert_string_not_equal(seen_text(w, 1, "id"), seen_text(w, 2, "id"));
    assert_false(client_tracker_restarted(c));
    client_close(c);
    client_close(NULL);
}

static void a_tracker_that_does_not_answer_is_tried_three_times(void **state)
{
    struct wire *w = *state;
    const int64_t began_ns = w->r->now_ns;

    for (int i = 0; i < 3; i++)
        w->plan[i] = TIMEOUT;
    cannot_open(w, ERR_UNREACHABLE, "no tracker answers at tcp://farm:1 (tried 3 times in 10 s)");
    assert_int_equal(w->n, 3);
    assert_int_equal(w->r->now_ns - began_ns, 9900 * MS);
}

static void a_host_that_refuses_is_dialled_for_as_long(void **state)
{
    struct wire *w = *state;

    for (int i = 0; i < 12; i++) /* a second each: four fill one try */
        w->plan[i] = NO_WAY;
    cannot_open(w, ERR_UNREACHABLE, "no tracker answers");
    assert_int_equal(w->n, 12);
    w->plan[12] = NO_WAY;
    client_close(open_client(w)); /* the second dial found it */
    assert_int_equal(w->n, 14);
}

static cJSON *without_session(cJSON *reply)
{
    cJSON_DeleteItemFromObject(cJSON_GetObjectItem(reply, "result"), "session");
    return reply;
}

static cJSON *with_long_nonce(cJSON *reply)
{
    cJSON *result = cJSON_GetObjectItem(reply, "result");

    cJSON_ReplaceItemInObject(result, "nonce", cJSON_CreateString("0123456789abcdef0123456789abcdef0"));
    return reply;
}

static cJSON *with_long_boot(cJSON *reply)
{
    cJSON *result = cJSON_GetObjectItem(reply, "result");

    cJSON_ReplaceItemInObject(result, "boot", cJSON_CreateString("0123456789abcdef0123456789abcdef0"));
    return reply;
}

static cJSON *with_long_session(cJSON *reply)
{
    cJSON *result = cJSON_GetObjectItem(reply, "result");

    cJSON_ReplaceItemInObject(result, "session", cJSON_CreateString("0123456789abcdef0123456789abcdef0"));
    return reply;
}

static cJSON *of_no_tracker(cJSON *reply)
{
    (void)reply;
    return NULL;
}

static void a_hello_that_is_not_understood_is_an_error(void **state)
{
    static cJSON *(*const bad[])(cJSON *) = {without_session, with_long_nonce, with_long_boot, with_long_session};
    struct wire *w = *state;

    for (int i = 0; i < 4; i++) {
        w->plan[i] = ALTERED;
        w->alter = bad[i];
        cannot_open(w, ERR_PROTOCOL, "the tracker's answer to hello is not understood");
    }
    w->plan[4] = ALTERED;
    w->alter = of_no_tracker;
    cannot_open(w, ERR_PROTOCOL, "not a message of tune");
    assert_int_equal(w->n, 5); /* what is said is not tried again */
}

/* ---- repeats ---- */

static void a_call_is_repeated_with_its_id_until_it_is_answered(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);
    cJSON *result = NULL;

    w->plan[1] = NO_WAY;
    w->plan[2] = NO_REPLY;
    w->plan[3] = TIMEOUT;
    w->plan[4] = BUSY;
    assert_int_equal(client_call(c, "job_submit", cJSON_Parse("{\"body\":\"b\"}"), NULL, 0, &result, NULL, NULL),
                     ERR_OK);
    assert_string_equal(text_in(result, "job"), "j1");
    assert_int_equal(w->n, 6);
    for (int i = 2; i < 6; i++) {
        assert_string_equal(seen_text(w, i, "id"), seen_text(w, 1, "id"));
        assert_int_equal(number_in(w->seen[i], "ctr"), i);
    }
    assert_int_equal(w->r->t->jobs.n, 1);
    assert_int_equal(w->at_ns[2] - w->at_ns[1], 1050 * MS); /* refused, and a pause */
    assert_int_equal(w->at_ns[3] - w->at_ns[2], 50 * MS);
    assert_int_equal(w->at_ns[4] - w->at_ns[3], 10050 * MS);
    assert_int_equal(w->at_ns[5] - w->at_ns[4], 250 * MS); /* busy: longer */
    cJSON_Delete(result);
    client_close(c);
}

/* A tracker takes large messages only of whom it knows, and it may not know a new connection. */
static void a_large_call_without_an_answer_is_led_by_a_hello(void **state)
{
    static const char *const ops[] = {"hello", "job_submit", "hello", "hello", "job_submit"};
    static char body[40000];
    struct wire *w = *state;
    struct client *c = open_client(w);
    cJSON *args = cJSON_CreateObject(), *result = NULL;

    memset(body, 'b', sizeof body - 1);
    cJSON_AddStringToObject(args, "body", body);
    w->plan[1] = NO_REPLY;
    w->plan[2] = BUSY; /* the hello's turn comes later */
    assert_int_equal(client_call(c, "job_submit", args, NULL, 0, &result, NULL, NULL), ERR_OK);
    assert_string_equal(text_in(result, "job"), "j1");
    assert_int_equal(w->n, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(seen_text(w, i, "op"), ops[i]);
    assert_int_equal(w->at_ns[3] - w->at_ns[2], 250 * MS);
    cJSON_Delete(result);
    client_close(c);
}

struct patience {
    int64_t out_ms[8];
    int n, enough;
};

static bool waits(int64_t out_ms, const char *does, void *arg)
{
    struct patience *p = arg;

    assert_null(does);
    p->out_ms[p->n++] = out_ms;
    return p->n < p->enough;
}

static void who_waits_is_asked_how_long_it_may_take(void **state)
{
    struct patience p = {.enough = 3};
    struct wire *w = *state;
    struct client_options o = options_of(w);
    struct client *c = NULL;

    o.waiting = waits;
    o.arg = &p;
    assert_int_equal(client_open(&o, &c, NULL), ERR_OK);
    for (int i = 1; i < 10; i++)
        w->plan[i] = NO_WAY;
    expect_call(c, ERR_UNREACHABLE, "the tracker at tcp://farm:1 does not answer");
    assert_int_equal(p.n, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(p.out_ms[i], i * 1050);
    w->plan[w->n] = GOOD;
    expect_call(c, ERR_OK, "");
    client_close(c);
}

static bool hears(int64_t out_ms, const char *does, void *arg)
{
    (void)out_ms;
    snprintf(arg, 160, "%s", does ? does : "nothing");
    return true;
}

static void who_waits_is_told_what_keeps_the_tracker(void **state)
{
    struct wire *w = *state;
    struct client_options o = options_of(w);
    struct client *c = NULL;
    char heard[160] = "";

    o.waiting = hears;
    o.arg = heard;
    assert_int_equal(client_open(&o, &c, NULL), ERR_OK);
    w->plan[w->n] = NO_WAY;
    expect_call(c, ERR_OK, "");
    assert_string_equal(heard, "nothing");
    w->plan[w->n] = BUSY;
    expect_call(c, ERR_OK, "");
    assert_string_equal(heard, "says: the tracker is busy");
    client_close(c);
}

static void who_waits_may_give_up_before_the_first_answer(void **state)
{
    struct patience p = {.enough = 3};
    struct wire *w = *state;
    struct client_options o = options_of(w);
    struct client *c = NULL;

    o.waiting = waits;
    o.arg = &p;
    for (int i = 0; i < 9; i++)
        w->plan[i] = i == 1 ? TIMEOUT : NO_WAY;
    assert_int_equal(client_open(&o, &c, NULL), ERR_CANCELLED);
    assert_null(c);
    assert_int_equal(w->n, 3);
    assert_int_equal(p.out_ms[0], 1000);
    assert_int_equal(p.out_ms[1], 1000 + 3300);
    assert_int_equal(p.out_ms[2], 1000 + 3300 + 1000);
}

static void an_error_of_the_tracker_comes_with_its_words(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);
    struct why why = {""};

    assert_int_equal(call(c, "job_status", "{\"job\":\"j7\"}", &why), ERR_NOT_FOUND);
    assert_string_equal(why.text, "there is no job j7");
    assert_int_equal(call(c, "nonsense", "{}", &why), ERR_UNSUPPORTED);
    assert_int_equal(w->n, 3);
    client_close(c);
}

static cJSON *of_another(cJSON *reply)
{
    cJSON_ReplaceItemInObject(reply, "id", cJSON_CreateString("0123456789abcdef0123456789abcdef"));
    return reply;
}

static cJSON *without_ok(cJSON *reply)
{
    cJSON_DeleteItemFromObject(reply, "ok");
    return reply;
}

static cJSON *with_unknown_error(cJSON *reply)
{
    cJSON_ReplaceItemInObject(reply, "ok", cJSON_CreateFalse());
    cJSON_AddStringToObject(reply, "err", "no such error");
    cJSON_AddStringToObject(reply, "why", "words");
    return reply;
}

static cJSON *without_error(cJSON *reply)
{
    cJSON_ReplaceItemInObject(reply, "ok", cJSON_CreateFalse());
    return reply;
}

static void a_reply_that_is_none_is_an_error(void **state)
{
    static const struct {
        cJSON *(*alter)(cJSON *);
        const char *words;
    } bad[] = {
        {of_another, "the tracker's reply is for another request"},
        {without_ok, "the tracker's reply has no 'ok'"},
        {of_no_tracker, "not a message of tune"},
        {with_unknown_error, "words"},
        {without_error, ""},
    };
    struct wire *w = *state;
    struct client *c = open_client(w);

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        w->plan[w->n] = ALTERED;
        w->alter = bad[i].alter;
        expect_call(c, ERR_PROTOCOL, bad[i].words);
    }
    client_close(c);
}

static void a_long_poll_says_how_long_it_waits(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);
    cJSON *result = NULL;

    assert_int_equal(call(c, "job_submit", "{\"body\":\"b\"}", NULL), ERR_OK);
    assert_int_equal(client_call(c, "job_lease", NULL, NULL, 7000, &result, NULL, NULL), ERR_OK);
    assert_int_equal(number_in(object_in(w->seen[2], "args"), "wait_ms"), 7000);
    assert_int_equal(w->timeout_ms[2], 17000);
    cJSON_Delete(result);
    assert_int_equal(client_call(c, "job_list", cJSON_Parse("{\"wait_ms\":5}"), NULL, 7000, NULL, NULL, NULL), ERR_OK);
    assert_int_equal(number_in(object_in(w->seen[3], "args"), "wait_ms"), 5);
    assert_int_equal(call(c, "job_list", "{}", NULL), ERR_OK);
    assert_null(cJSON_GetObjectItem(object_in(w->seen[4], "args"), "wait_ms"));
    client_close(c);
}

/* ---- sessions ---- */

static void a_restart_is_noticed_once_and_the_call_goes_on(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);

    assert_int_equal(call(c, "job_submit", "{\"body\":\"b\"}", NULL), ERR_OK);
    rig_crash(w->r);
    assert_int_equal(call(c, "job_submit", "{\"body\":\"b\"}", NULL), ERR_OK);
    assert_string_equal(seen_text(w, 3, "op"), "hello"); /* its first try was told to say it */
    assert_string_equal(seen_text(w, 4, "id"), seen_text(w, 2, "id"));
    assert_string_not_equal(seen_text(w, 4, "session"), seen_text(w, 2, "session"));
    assert_int_equal(number_in(w->seen[4], "ctr"), 1);
    assert_int_equal(w->r->t->jobs.n, 2);
    assert_true(client_tracker_restarted(c));
    assert_false(client_tracker_restarted(c));
    client_close(c);
}

static void a_forgotten_session_is_no_restart(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);

    for (int i = 0; i < MAX_SESSIONS; i++)
        rig_hello(w->r); /* pushes out the client's */
    expect_call(c, ERR_OK, "");
    assert_string_equal(seen_text(w, 2, "op"), "hello");
    assert_false(client_tracker_restarted(c));
    client_close(c);
}

static void a_hello_that_is_lost_is_said_again(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);

    rig_crash(w->r);
    w->plan[2] = NO_WAY;
    w->plan[3] = TIMEOUT; /* the call itself, then */
    expect_call(c, ERR_OK, "");
    assert_string_equal(seen_text(w, 2, "op"), "hello");
    assert_string_equal(seen_text(w, 3, "op"), "job_list");
    client_close(c);
}

/* ---- keys ---- */

struct keyed {
    char dir[256], path[300];
    struct key key;
};

static void with_key(struct wire *w, struct keyed *k)
{
    struct why why = {""};

    assert_int_equal(dir_temporary("tune-key", k->dir, sizeof k->dir, &why), ERR_OK);
    snprintf(k->path, sizeof k->path, "%s/farm.key", k->dir);
    assert_int_equal(key_make(k->path, &why), ERR_OK);
    assert_int_equal(key_load(k->path, &k->key, &why), ERR_OK);
    w->r->options.key = &k->key;
    rig_crash(w->r);
}

static void a_blob_over_the_limit_is_not_sent(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);
    struct blob large = {.n_bytes = BLOB_MAX_BYTES + 1};
    const struct blobs set = {.items = &large, .n = 1};
    struct why why = {""};

    snprintf(large.name.hex, sizeof large.name.hex, "%s", hash_of(1));
    assert_int_equal(client_put_blobs(c, &set, &why), ERR_LIMIT);
    assert_string_equal(why.text, "a blob of 67108865 bytes: at most 67108864");
    assert_int_equal(w->n, 2); /* hello and the question */
    client_close(c);
}

static cJSON *as_it_is(cJSON *reply)
{
    return reply; /* encoded anew, without a MAC */
}

static cJSON *refusing_the_key(cJSON *reply)
{
    (void)reply;
    return cJSON_Parse("{\"ok\":false,\"id\":\"\",\"err\":\"auth\",\"why\":\"x\"}");
}

static void under_a_key_only_signed_replies_are_believed(void **state)
{
    struct wire *w = *state;
    struct client_options o = options_of(w);
    struct client *c = NULL;
    struct why why = {""};
    struct keyed k;

    with_key(w, &k);
    o.key_file = k.path;
    w->plan[0] = ALTERED;
    w->alter = as_it_is;
    assert_int_equal(client_open(&o, &c, &why), ERR_AUTH);
    assert_string_equal(why.text, "the tracker at tcp://farm:1 does not know this key");
    w->plan[1] = ALTERED;
    w->alter = refusing_the_key;
    assert_int_equal(client_open(&o, &c, &why), ERR_AUTH);
    assert_string_equal(why.text, "the tracker at tcp://farm:1 refuses this key");
    assert_int_equal(client_open(&o, &c, &why), ERR_OK);
    expect_call(c, ERR_OK, "");
    w->plan[w->n] = ALTERED;
    w->alter = as_it_is;
    expect_call(c, ERR_AUTH, "does not know this key");
    w->plan[w->n] = FORGED;
    expect_call(c, ERR_AUTH, "does not know this key");
    w->plan[w->n] = BUSY; /* this one is believed without */
    expect_call(c, ERR_OK, "");
    rig_crash(w->r);
    expect_call(c, ERR_OK, ""); /* and so is the wish for a hello */
    client_close(c);
    dir_remove(k.dir);
}

static void a_key_that_the_tracker_does_not_have_ends_at_once(void **state)
{
    struct wire *w = *state;
    struct client_options o = options_of(w);
    struct client *c = NULL;
    struct why why = {""};
    struct keyed k;

    with_key(w, &k);
    cannot_open(w, ERR_AUTH, "this tracker wants a key");
    w->r->options.key = NULL;
    rig_crash(w->r);
    o.key_file = k.path;
    assert_int_equal(client_open(&o, &c, &why), ERR_AUTH);
    o.key_file = "/nowhere/farm.key";
    assert_int_equal(client_open(&o, &c, &why), ERR_NOT_FOUND);
    assert_int_equal(w->n, 2);
    dir_remove(k.dir);
}

/* ---- blobs ---- */

static void make_bytes(unsigned char *out, size_t n, int salt)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)((i * 31 >> 5) + (size_t)salt);
}

static void what_is_missing_is_put_small_ones_together_and_large_ones_in_chunks(void **state)
{
    const size_t n = 2 * MESSAGE_CHUNK_BYTES + 17, half = MESSAGE_CHUNK_BYTES / 2 + 1;
    struct wire *w = *state;
    struct client *c = open_client(w);
    unsigned char *bytes = malloc(n);
    struct blobs out, in;
    struct sha256 large;

    blobs_init(&out, 4 * n);
    blobs_init(&in, 4 * n);
    make_bytes(bytes, n, 0);
    blobs_put(&out, "small", 5, NULL);
    blobs_put(&out, "", 0, NULL);
    blobs_put(&out, bytes, n, &large);
    blobs_put(&out, bytes, half, NULL);
    blobs_put(&out, bytes + 1, half, NULL);
    assert_int_equal(client_put_blobs(c, &out, NULL), ERR_OK);
    assert_string_equal(seen_text(w, 1, "op"), "blob_have");
    assert_int_equal(count_in(object_in(w->seen[1], "args"), "sha256"), 5);
    assert_int_equal(w->n, 7); /* three chunks, and two messages of small ones */
    assert_int_equal(w->n_bytes[2] + w->n_bytes[3] + w->n_bytes[4] + w->n_bytes[5] + w->n_bytes[6], out.sum_bytes);
    for (int i = 2; i < 7; i++) {
        assert_string_equal(seen_text(w, i, "op"), "blob_put");
        assert_true(w->n_bytes[i] <= MESSAGE_CHUNK_BYTES);
    }
    assert_int_equal(client_put_blobs(c, &out, NULL), ERR_OK);
    assert_int_equal(w->n, 8); /* all are there: only asked */
    for (size_t i = 0; i < out.n; i++) {
        assert_int_equal(client_get_blob(c, out.items[i].name.hex, &in, NULL), ERR_OK);
        assert_int_equal(blobs_get(&in, out.items[i].name.hex)->n_bytes, out.items[i].n_bytes);
    }
    assert_memory_equal(blobs_get(&in, large.hex)->data, bytes, n);
    assert_int_equal(w->n, 8 + 4 + 3);
    assert_int_equal(number_in(object_in(w->seen[11], "args"), "offset"), MESSAGE_CHUNK_BYTES);
    assert_int_equal(client_get_blob(c, large.hex, &in, NULL), ERR_OK);
    assert_int_equal(w->n, 15); /* it is in the set */
    assert_int_equal(client_get_blob(c, hash_of(3), &in, NULL), ERR_NOT_FOUND);
    blobs_fini(&out);
    blobs_fini(&in);
    free(bytes);
    client_close(c);
}

static void many_blobs_go_by_the_limits_of_a_message(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);
    struct blobs out;

    blobs_init(&out, 100000);
    for (int i = 0; i < 300; i++)
        blobs_put(&out, &i, sizeof i, NULL);
    assert_int_equal(client_put_blobs(c, &out, NULL), ERR_OK);
    assert_int_equal(w->n, 5);
    assert_int_equal(count_in(object_in(w->seen[1], "args"), "sha256"), 256);
    assert_int_equal(count_in(w->seen[2], "blobs"), 256);
    assert_int_equal(count_in(object_in(w->seen[3], "args"), "sha256"), 44);
    assert_int_equal(count_in(w->seen[4], "blobs"), 44);
    blobs_fini(&out);
    client_close(c);
}

static void a_call_takes_no_more_than_a_message_holds(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);
    unsigned char *bytes = calloc(1, MESSAGE_MAX_BYTES);
    struct why why = {""};
    struct blobs set;

    blobs_init(&set, MESSAGE_MAX_BYTES);
    blobs_put(&set, bytes, MESSAGE_MAX_BYTES, NULL);
    assert_int_equal(client_call(c, "blob_put", NULL, &set, 0, NULL, NULL, &why), ERR_LIMIT);
    assert_string_equal(why.text, "request over 4194304 bytes");
    assert_int_equal(w->n, 1); /* nothing was sent but the hello */
    blobs_fini(&set);
    free(bytes);
    client_close(c);
}

static cJSON *of_more_bytes(cJSON *reply)
{
    cJSON *result = cJSON_GetObjectItem(reply, "result");

    cJSON_DeleteItemFromObject(reply, "blobs");
    cJSON_ReplaceItemInObject(result, "total", cJSON_CreateNumber(99));
    return reply;
}

static void a_blob_that_arrives_wrong_is_not_taken(void **state)
{
    struct wire *w = *state;
    struct client *c = open_client(w);
    struct blobs out, in;
    struct why why = {""};
    struct sha256 name;

    blobs_init(&out, 1000);
    blobs_init(&in, 1000);
    blobs_put(&out, "content", 7, &name);
    assert_int_equal(client_put_blobs(c, &out, NULL), ERR_OK);
    w->plan[w->n] = ALTERED;
    w->alter = of_more_bytes;
    assert_int_equal(client_get_blob(c, name.hex, &in, &why), ERR_PROTOCOL);
    assert_string_equal(why.text, "the tracker sent 0 chunks, expected 1");
    w->plan[w->n] = ALTERED;
    w->attach = "";
    assert_int_equal(client_get_blob(c, name.hex, &in, &why), ERR_PROTOCOL);
    assert_string_equal(why.text, "the tracker sent an empty chunk");
    w->plan[w->n] = ALTERED;
    w->attach = "another";
    w->alter = as_it_is;
    assert_int_equal(client_get_blob(c, name.hex, &in, &why), ERR_PROTOCOL);
    assert_non_null(strstr(why.text, "arrived with another content"));
    assert_int_equal(in.n, 0);
    blobs_fini(&out);
    blobs_fini(&in);
    client_close(c);
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(a_client_opens_with_a_hello_and_counts_its_calls),
        FACT(a_tracker_that_does_not_answer_is_tried_three_times),
        FACT(a_host_that_refuses_is_dialled_for_as_long),
        FACT(a_hello_that_is_not_understood_is_an_error),
        FACT(a_call_is_repeated_with_its_id_until_it_is_answered),
        FACT(a_large_call_without_an_answer_is_led_by_a_hello),
        FACT(who_waits_is_asked_how_long_it_may_take),
        FACT(who_waits_is_told_what_keeps_the_tracker),
        FACT(who_waits_may_give_up_before_the_first_answer),
        FACT(an_error_of_the_tracker_comes_with_its_words),
        FACT(a_reply_that_is_none_is_an_error),
        FACT(a_long_poll_says_how_long_it_waits),
        FACT(a_restart_is_noticed_once_and_the_call_goes_on),
        FACT(a_forgotten_session_is_no_restart),
        FACT(a_hello_that_is_lost_is_said_again),
        FACT(under_a_key_only_signed_replies_are_believed),
        FACT(a_key_that_the_tracker_does_not_have_ends_at_once),
        FACT(what_is_missing_is_put_small_ones_together_and_large_ones_in_chunks),
        FACT(many_blobs_go_by_the_limits_of_a_message),
        FACT(a_call_takes_no_more_than_a_message_holds),
        FACT(a_blob_that_arrives_wrong_is_not_taken),
        FACT(a_blob_over_the_limit_is_not_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
