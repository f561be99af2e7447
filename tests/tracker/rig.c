/* SPDX-License-Identifier: MIT */
#include "tests/tracker/rig.h"

#include "core/file.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define LONG_MS 60000
#define STRIDE_MS 500 /* of long passes: shorter than what a tracker takes for its own pause */

/* ---- clock and randomness ---- */

static int64_t now(void *arg)
{
    return ((struct rig *)arg)->now_ns;
}

static int64_t wall(void *arg)
{
    return ((struct rig *)arg)->wall_ms;
}

static void never_sleeps(void *arg, int64_t ms)
{
    (void)arg;
    fail_msg("a tracker slept %lld ms", (long long)ms);
}

#define TOKEN_STEP_BYTES 4 /* tokens count by one here, that tests may name them */

static enum err fill(void *arg, void *out, size_t n)
{
    struct rig *r = arg;

    memset(out, 0, n);
    for (size_t i = 0; n != TOKEN_STEP_BYTES && i < n; i++)
        ((unsigned char *)out)[i] = (unsigned char)rng_next(&r->rng);
    return ERR_OK;
}

/* ---- life ---- */

void rig_init(struct rig *r)
{
    struct why why = {""};

    *r = (struct rig){.now_ns = 1000000000, .wall_ms = INT64_C(1767225600000)};
    r->clock = (struct clock){now, wall, never_sleeps, r};
    r->entropy = (struct entropy){fill, r};
    rng_init(&r->rng, 1);
    r->options = (struct tracker_options){
        .ops = store_table[0], .where = r->dir, .lease_ms = RIG_LEASE_MS, .clock = &r->clock, .entropy = &r->entropy};
    if (access("/dev/shm", W_OK) == 0 && !getenv("TMPDIR"))
        setenv("TMPDIR", "/dev/shm", 1); /* nothing here is about disks */
    if (dir_temporary("tune-rig", r->dir, sizeof r->dir, &why) != ERR_OK)
        fail_msg("%s", why.text);
    blobs_init(&r->received, MESSAGE_MAX_BYTES);
}

static void bring_up(struct rig *r)
{
    struct why why = {""};

    if (r->options.ops->open(r->dir, &r->clock, &r->options.store, &why) != ERR_OK ||
        tracker_new(&r->options, &r->t, &why) != ERR_OK)
        fail_msg("the tracker does not start: %s", why.text);
    hall_init(&r->hall, r->t);
}

static void bring_down(struct rig *r)
{
    for (int i = 0; i < HALL_BUCKETS; i++)
        for (struct caller *c = r->hall.parked[i]; c; c = c->next_parked)
            ((struct errand *)c)->left = true;
    hall_fini(&r->hall);
    for (struct caller *c = r->hall.left; c; c = c->next) {
        buf_fini(&c->reply);
        ((struct errand *)c)->left = true;
    }
    tracker_free(r->t);
    r->options.ops->close(r->options.store);
    r->t = NULL;
}

void rig_start(struct rig *r)
{
    bring_up(r);
    rig_hello(r);
}

void rig_crash(struct rig *r)
{
    bring_down(r);
    rig_start(r);
}

void rig_stop(struct rig *r)
{
    bring_down(r);
    blobs_fini(&r->received);
    dir_remove(r->dir);
}

/* ---- turns ---- */

static void take_reply(struct rig *r, struct errand *e)
{
    struct message m;
    struct why why = {""};

    e->left = true;
    if (e->caller.reply.len == 0)
        return;
    if (message_decode(e->caller.reply.data, e->caller.reply.len, &m, &why) != ERR_OK)
        fail_msg("a reply is no message: %s", why.text);
    blobs_fini(&r->received);
    blobs_init(&r->received, MESSAGE_MAX_BYTES);
    for (size_t i = 0; i < m.n_blobs; i++)
        blobs_put(&r->received, m.blobs[i].data, m.blobs[i].n_bytes, NULL);
    if (m.n_blobs)
        memcpy(e->came, m.blobs[0].name.hex, sizeof e->came);
    e->json = m.json;
    m.json = NULL;
    message_fini(&m);
    buf_fini(&e->caller.reply);
}

void rig_take_replies(struct rig *r, struct caller *left)
{
    for (struct caller *c = left, *next; c; c = next) {
        next = c->next;
        take_reply(r, (struct errand *)c);
    }
}

static bool turn(struct rig *r, struct errand *fresh)
{
    struct caller *left = NULL;

    if (!hall_begin(&r->hall) || (fresh && !hall_enter(&r->hall, &fresh->caller)) ||
        !hall_end(&r->hall, NULL, 0, &left, NULL))
        return false;
    rig_take_replies(r, left);
    return true;
}

void rig_turn(struct rig *r)
{
    assert_true(turn(r, NULL));
}

void rig_sleep(struct rig *r, int64_t ms)
{
    r->now_ns += ms * 1000000;
    r->wall_ms += ms;
}

void rig_pass(struct rig *r, int64_t ms)
{
    const int64_t stride = ms > LONG_MS ? STRIDE_MS : HALL_TICK_MS;

    while (ms > 0) {
        const int64_t step = ms < stride ? ms : stride;

        rig_sleep(r, step);
        rig_turn(r);
        ms -= step;
    }
}

/* ---- requests ---- */

cJSON *rig_request(struct rig *r, const char *op, cJSON *takes_args)
{
    cJSON *request = cJSON_CreateObject();
    char id[REQUEST_ID_HEX + 1];
    bool ok = true;

    snprintf(id, sizeof id, "%032" PRIx64, (uint64_t)++r->n_ids);
    json_add_text(request, "op", op, &ok);
    json_add_text(request, "id", id, &ok);
    json_add_text(request, "session", r->session, &ok);
    json_add_i64(request, "ctr", ++r->ctr, &ok);
    if (takes_args)
        json_add_item(request, "args", takes_args, &ok);
    assert_true(ok);
    return request;
}

void rig_encode(struct rig *r, cJSON *request, const struct blobs *attach, struct buf *out)
{
    buf_init(out, MESSAGE_MAX_BYTES);
    assert_int_equal(message_encode(request, attach, r->options.key, r->nonce, out), ERR_OK);
    cJSON_Delete(request);
}

struct errand *errand_new(const void *bytes, size_t n)
{
    struct errand *e = calloc(1, sizeof *e);

    assert_non_null(e);
    buf_init(&e->bytes, MESSAGE_MAX_BYTES + 4096);
    buf_append(&e->bytes, bytes, n);
    e->caller = (struct caller){.bytes = e->bytes.data, .n_bytes = n, .line = 1};
    return e;
}

void rig_enter(struct rig *r, struct errand *e)
{
    assert_true(turn(r, e));
}

void errand_free(struct errand *e)
{
    assert_true(e->left);
    buf_fini(&e->bytes);
    cJSON_Delete(e->json);
    free(e);
}

const cJSON *errand_result(const struct errand *e)
{
    if (!e->json || !cJSON_IsTrue(cJSON_GetObjectItem(e->json, "ok")))
        fail_msg("a call has not gone well");
    return object_in(e->json, "result");
}

cJSON *rig_exchange(struct rig *r, const void *bytes, size_t n)
{
    struct errand *e = errand_new(bytes, n);
    cJSON *json;

    if (!turn(r, e))
        e->left = true;
    if (!e->left)
        fail_msg("a request that nobody waits for was parked");
    json = e->json;
    e->json = NULL;
    errand_free(e);
    return json;
}

cJSON *rig_ask(struct rig *r, const char *op, cJSON *takes_args, const struct blobs *attach)
{
    struct buf bytes;
    cJSON *reply;

    rig_encode(r, rig_request(r, op, takes_args), attach, &bytes);
    reply = rig_exchange(r, bytes.data, bytes.len);
    buf_fini(&bytes);
    return reply;
}

void rig_hello(struct rig *r)
{
    char own[REQUEST_ID_HEX + 1];
    cJSON *args = cJSON_Parse("{\"role\":\"tune\",\"name\":\"rig\",\"versions\":[2,1]}"), *reply;

    snprintf(own, sizeof own, "0123456789abcdef%016" PRIx64, (uint64_t)++r->n_hellos);
    cJSON_AddStringToObject(args, "nonce", own);
    strcpy(r->nonce, own);
    reply = rig_ask(r, "hello", args, NULL);
    assert_non_null(reply);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(reply, "ok")));
    text_copy(r->session, sizeof r->session, text_in(object_in(reply, "result"), "session"));
    snprintf(r->nonce, sizeof r->nonce, "%s%s", own, text_in(object_in(reply, "result"), "nonce"));
    r->ctr = 0;
    cJSON_Delete(reply);
}

/* ---- calls ---- */

/* The result of a call, or NULL with *e and the reason. */
static cJSON *call(struct rig *r, enum err *e, char why[256], const char *op, cJSON *args)
{
    cJSON *reply = rig_ask(r, op, args, NULL), *result = NULL;

    if (!reply)
        fail_msg("%s: no reply", op);
    *e = ERR_OK;
    if (cJSON_IsTrue(cJSON_GetObjectItem(reply, "ok"))) {
        result = cJSON_DetachItemFromObject(reply, "result");
    } else {
        *e = err_by_name(text_in(reply, "err"));
        snprintf(why, 256, "%s", text_in(reply, "why"));
    }
    cJSON_Delete(reply);
    return result;
}

cJSON *rig_call(struct rig *r, enum err *e, const char *op, const char *format, ...)
{
    char why[256];
    va_list list;
    cJSON *args;

    va_start(list, format);
    args = args_of(format, list);
    va_end(list);
    return call(r, e, why, op, args);
}

static cJSON *must(struct rig *r, const char *op, cJSON *args)
{
    char why[256];
    enum err e;
    cJSON *result = call(r, &e, why, op, args);

    if (e)
        fail_msg("%s: %s: %s", op, err_name(e), why);
    return result;
}

cJSON *rig_must(struct rig *r, const char *op, const char *format, ...)
{
    va_list list;
    cJSON *args;

    va_start(list, format);
    args = args_of(format, list);
    va_end(list);
    return must(r, op, args);
}

void rig_do(struct rig *r, const char *op, const char *format, ...)
{
    va_list list;
    cJSON *args;

    va_start(list, format);
    args = args_of(format, list);
    va_end(list);
    cJSON_Delete(must(r, op, args));
}

void rig_refused(struct rig *r, enum err expected, const char *words, const char *op, const char *format, ...)
{
    char why[256] = "";
    va_list list;
    cJSON *args;
    enum err e;

    va_start(list, format);
    args = args_of(format, list);
    va_end(list);
    cJSON_Delete(call(r, &e, why, op, args));
    if (e != expected || !strstr(why, words))
        fail_msg("%s: %s \"%s\", expected %s with \"%s\"", op, err_name(e), why, err_name(expected), words);
}

struct errand *rig_send(struct rig *r, const char *op, const char *format, ...)
{
    struct errand *e;
    struct buf bytes;
    va_list list;
    cJSON *args;

    va_start(list, format);
    args = args_of(format, list);
    va_end(list);
    rig_encode(r, rig_request(r, op, args), NULL, &bytes);
    e = errand_new(bytes.data, bytes.len);
    buf_fini(&bytes);
    assert_true(turn(r, e));
    return e;
}

/* ---- the usual peers ---- */

void rig_agent(struct rig *r, const char *agent, const char *nonce)
{
    rig_do(r, "agent_register", "{'agent':'%s','nonce':'%s','key':'cpu','fingerprint':'%s','device':{'name':'x'}}",
           agent, nonce, hash_of(-1));
}

int64_t rig_submit(struct rig *r, const char *key)
{
    cJSON *result = rig_must(r, "job_submit", "{'title':'t','user':'u','key':'%s','body':'b','lease':true}", key);
    const int64_t id = strtoll(text_in(result, "job") + 1, NULL, 10);

    assert_int_equal(number_in(result, "token"), 1);
    cJSON_Delete(result);
    return id;
}

void rig_add(struct rig *r, int64_t job, int n_first, int n, int first_program)
{
    for (int i = 0; i < n; i++)
        rig_do(r, "trial_add",
               "{'job':'j%" PRId64 "','token':1,'trials':[{'n':%d,'program':'%s','protocol':'rounds-1',"
               "'body':{'seed':%d}}]}",
               job, n_first + i, hash_of(first_program + i), n_first + i);
}

cJSON *rig_lease(struct rig *r, const char *agent, int max, int n_expected)
{
    cJSON *result = rig_must(r, "trial_lease", "{'agent':'%s','max':%d}", agent, max);

    if (count_in(result, "trials") != n_expected)
        fail_msg("%s leased %d trials, expected %d", agent, count_in(result, "trials"), n_expected);
    return result;
}

bool rig_answer(struct rig *r, const cJSON *lease, int i, const char *status, double device_ms)
{
    const cJSON *t = item_in(lease, "trials", i);
    cJSON *result =
        rig_must(r, "trial_result",
                 "{'trial':'%s','token':%" PRId64 ",'envelope':{'key':'cpu','fingerprint':'%s','program':'%s',"
                 "'status':'%s','time_ns':1000,'flops':2000,'device_ms':%g},'record':'line of %s'}",
                 text_in(t, "trial"), number_in(t, "token"), hash_of(-1), text_in(t, "program"), status, device_ms,
                 text_in(t, "trial"));
    const bool accepted = number_in(result, "accepted");

    cJSON_Delete(result);
    return accepted;
}

cJSON *rig_job(struct rig *r, int64_t job)
{
    return rig_must(r, "job_status", "{'job':'j%" PRId64 "'}", job);
}

/* ---- books ---- */

/* A list's length; its links lead back as they lead there, and its trials are what the list says. */
static int64_t length(const struct trial_list *l, bool leased)
{
    const struct tracker_trial *before = NULL;
    int64_t n = 0;

    for (const struct tracker_trial *tr = l->first; tr; before = tr, tr = tr->next, n++) {
        assert_ptr_equal(tr->prev, before);
        assert_int_equal(tr->leased, leased);
    }
    assert_ptr_equal(l->last, before);
    return n;
}

static void check_lanes(const struct tracker *t)
{
    size_t at = 0;
    const struct slug *s;
    int64_t n_open = 0;

    while ((s = table_next(&t->slugs, &at)) != NULL) {
        assert_true(s->floor_ms >= 0 && s->floor_ms < 1e300);
        for (const struct lane *l = s->lanes; l; l = l->next) {
            assert_string_equal(l->key, s->key);
            assert_ptr_equal(table_get_i64(&t->jobs, l->job->id), l->job);
            assert_true(l->used_ms >= -1e-6 && l->used_ms < 1e300 && l->mean_ms > 0);
            n_open += length(&l->open, false);
        }
    }
    assert_int_equal(n_open + length(&t->leased, true), t->trials.n);
}

static void check_holdings(const struct tracker *t)
{
    size_t at = 0;
    const struct agent *a;
    const struct build *b;
    int64_t n = 0;

    while ((a = table_next(&t->agents, &at)) != NULL) {
        assert_true(a->n_leased >= 0);
        n += a->n_leased;
    }
    at = 0;
    while ((b = table_next(&t->builds, &at)) != NULL)
        n -= b->agent != NULL;
    for (const struct tracker_trial *tr = t->leased.first; tr; tr = tr->next)
        n -= tr->agent != NULL;
    assert_int_equal(n, 0);
}

void rig_check_books(const struct tracker *t)
{
    size_t at = 0;
    const struct tracker_trial *tr;
    const struct tracker_job *j;
    int64_t n_open = 0, n_leased = 0;

    while ((tr = table_next(&t->trials, &at)) != NULL) {
        assert_true(tr->attempts >= 0 && tr->attempts < MAX_ATTEMPTS);
        assert_ptr_equal(tr->lane->job, tr->job);
        n_open += !tr->leased;
        n_leased += tr->leased;
    }
    at = 0;
    while ((j = table_next(&t->jobs, &at)) != NULL) {
        assert_true(j->n_open >= 0 && j->n_leased >= 0 && j->n_done >= 0 && j->n_lost >= 0);
        n_open -= j->n_open;
        n_leased -= j->n_leased;
    }
    assert_int_equal(n_open, 0);
    assert_int_equal(n_leased, 0);
    check_lanes(t);
    check_holdings(t);
}

int rig_setup(void **state)
{
    struct rig *r = calloc(1, sizeof *r);

    rig_init(r);
    rig_start(r);
    *state = r;
    return 0;
}

int rig_teardown(void **state)
{
    rig_stop(*state);
    free(*state);
    return 0;
}
