/* SPDX-License-Identifier: MIT */
#include "tests/tracker/visitor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void encode(cJSON *takes_request, const struct key *k, const char *nonce, struct buf *out)
{
    buf_init(out, MESSAGE_MAX_BYTES);
    assert_int_equal(message_encode(takes_request, NULL, k, nonce, out), ERR_OK);
    cJSON_Delete(takes_request);
}

static cJSON *exchange(struct rig *r, cJSON *takes_request, const struct key *k, const char *nonce)
{
    struct buf bytes;
    cJSON *reply;

    encode(takes_request, k, nonce, &bytes);
    reply = rig_exchange(r, bytes.data, bytes.len);
    buf_fini(&bytes);
    assert_non_null(reply);
    return reply;
}

cJSON *rig_tell(struct rig *r, cJSON *takes_request, const struct key *k, const char *nonce, const char *err)
{
    cJSON *reply = exchange(r, takes_request, k, nonce);

    if (err)
        assert_string_equal(text_in(reply, "err"), err);
    else
        assert_int_equal(number_in(reply, "ok"), 1);
    return reply;
}

void rig_told(struct rig *r, cJSON *takes_request, const struct key *k, const char *nonce, const char *err,
              const char *words)
{
    cJSON *reply = rig_tell(r, takes_request, k, nonce, err);

    if (err)
        assert_non_null(strstr(text_in(reply, "why"), words));
    cJSON_Delete(reply);
}

cJSON *rig_hello_with(struct rig *r, const char *args)
{
    cJSON *request = rig_request(r, "hello", cJSON_Parse(args));

    cJSON_DeleteItemFromObject(request, "session");
    cJSON_DeleteItemFromObject(request, "ctr");
    return request;
}

void visit(struct rig *r, struct visitor *v, const char *identity, char digit)
{
    char args[300], nonce[REQUEST_ID_HEX + 1];
    cJSON *reply;

    *v = (struct visitor){.ctr = 0};
    memset(nonce, digit, REQUEST_ID_HEX);
    nonce[REQUEST_ID_HEX] = '\0';
    key_derive(r->options.key, identity, &v->key);
    snprintf(args, sizeof args, "{\"nonce\":\"%s\",\"versions\":[1],\"identity\":\"%s\"}", nonce, identity);
    reply = rig_tell(r, rig_hello_with(r, args), &v->key, nonce, NULL);
    snprintf(v->session, sizeof v->session, "%s", text_in(object_in(reply, "result"), "session"));
    snprintf(v->nonce, sizeof v->nonce, "%s%s", nonce, text_in(object_in(reply, "result"), "nonce"));
    cJSON_Delete(reply);
}

static cJSON *request_of(struct rig *r, struct visitor *v, const char *op, cJSON *takes_args)
{
    cJSON *request = rig_request(r, op, takes_args);

    cJSON_ReplaceItemInObject(request, "session", cJSON_CreateString(v->session));
    cJSON_ReplaceItemInObject(request, "ctr", cJSON_CreateNumber((double)++v->ctr));
    return request;
}

cJSON *visitor_ask(struct rig *r, struct visitor *v, const char *op, cJSON *takes_args)
{
    return exchange(r, request_of(r, v, op, takes_args), &v->key, v->nonce);
}

struct errand *visitor_send(struct rig *r, struct visitor *v, const char *op, cJSON *takes_args)
{
    struct errand *e;
    struct buf bytes;

    encode(request_of(r, v, op, takes_args), &v->key, v->nonce, &bytes);
    e = errand_new(bytes.data, bytes.len);
    buf_fini(&bytes);
    rig_enter(r, e);
    return e;
}

void visitor_tries(struct rig *r, struct visitor *v, const char *op, const char *args, const char *err,
                   const char *words)
{
    rig_told(r, request_of(r, v, op, cJSON_Parse(args)), &v->key, v->nonce, err, words);
}
