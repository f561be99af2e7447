/* SPDX-License-Identifier: MIT */
#include "tests/tracker/life.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void watch(const struct life *l, bool on)
{
    if (l->watch)
        l->watch(on);
}

/* One try: 1 = answered, 0 = ask again, -1 = the tracker ended. */
static int try(struct life *l, struct rig *r, cJSON *request, int *count_of)
{
    struct caller *left = NULL;
    struct why why = {""};
    struct caller c;
    struct buf bytes;
    const char *said;
    bool ok, is_good, again;

    cJSON_ReplaceItemInObject(request, "ctr", cJSON_CreateNumber((double)++r->ctr));
    rig_encode(r, cJSON_Duplicate(request, true), NULL, &bytes);
    c = (struct caller){.bytes = bytes.data, .n_bytes = bytes.len, .line = 1};
    watch(l, true);
    ok = hall_begin(&r->hall) && hall_enter(&r->hall, &c) && hall_end(&r->hall, NULL, 0, &left, &why);
    watch(l, false);
    if (!ok)
        assert_null(left);
    said = ok && c.reply.len && !c.reply.failed ? buf_text(&c.reply) + MESSAGE_HEADER_BYTES : "";
    is_good = strstr(said, "\"ok\":true") != NULL;
    again = ok && (!*said || strstr(said, "\"err\":\"nomem\""));
    *count_of += is_good;
    r->hall.left = NULL; /* a failed turn lets nobody leave */
    buf_fini(&c.reply);
    buf_fini(&bytes);
    rig_sleep(r, HALL_TICK_MS);
    return !ok ? -1 : !again;
}

/* One request. */
static void ask(struct rig *r, struct life *l, int *count_of, const char *op, const char *format, ...)
{
    cJSON *request;
    va_list list;
    int answered = 0;

    if (l->failed)
        return;
    va_start(list, format);
    request = rig_request(r, op, args_of(format, list));
    va_end(list);
    for (int i = 0; i < 2 && !answered; i++)
        answered = try(l, r, request, count_of);
    l->failed = answered < 0;
    l->n_unsaid += !answered;
    cJSON_Delete(request);
}

static const char answer_format[] = "{'trial':'t%d','token':1,'envelope':{'status':'ok','time_ns':5},'record':'x'}";

void life_live(struct life *l, struct rig *r)
{
    int ignored = 0;

    ask(r, l, &l->n_jobs, "job_submit", "{'body':'b','key':'cpu','lease':true}");
    ask(r, l, &ignored, "agent_register", "{'agent':'a','nonce':'n','key':'cpu','fingerprint':'%s','arch':'sm_1'}",
        hash_of(-1));
    ask(r, l, &ignored, "builder_register", "{'agent':'b','nonce':'n','arches':['sm_1']}");
    for (int i = 0; i < 4; i++)
        ask(r, l, &l->n_added, "trial_add", "{'job':'j1','token':1,'trials':[{'n':%d,'program':'%s','body':{}}]}", i,
            hash_of(i));
    ask(r, l, &ignored, "build_lease", "{'agent':'b','max':8}");
    for (int i = 0; i < 4; i++)
        ask(r, l, &l->n_builds, "build_result", "{'program':'%s','arch':'sm_1','status':'ok','blobs':[],'body':{}}",
            hash_of(i));
    ask(r, l, &l->n_leases, "trial_lease", "{'agent':'a','max':3}");
    ask(r, l, &l->n_results, "trial_result", answer_format, 1);
    ask(r, l, &ignored, "trial_release", "{'trials':[{'trial':'t2','token':1}]}");
    ask(r, l, &ignored, "agent_bye", "{'agent':'a'}");
    ask(r, l, &ignored, "blob_have", "{'sha256':['%s']}", hash_of(1));
    ask(r, l, &ignored, "job_release", "{'job':'j1','token':1}");
    ask(r, l, &ignored, "job_lease", "{}");
    ask(r, l, &ignored, "record_wait", "{'job':'j1','after':0}");
    ask(r, l, &ignored, "requeue", "{'job':'j1'}");
    ask(r, l, &l->n_results, "trial_result", answer_format, 2);
    ask(r, l, &ignored, "job_done", "{'job':'j1','token':2}");
}

void life_check(const struct life *l, struct rig *r)
{
    const int n_more = l->n_unsaid + (l->failed && l->fails_late);
    const struct tracker_job *j;

    rig_crash(r);
    rig_check_books(r->t);
    assert_true((int)r->t->jobs.n >= l->n_jobs);
    j = table_get_i64(&r->t->jobs, 1);
    if (!j)
        return;
    assert_in_range(j->n_done, l->n_results, l->n_results + n_more);
    assert_int_equal(j->seq, j->n_done);
    if (l->failed)
        assert_in_range(j->n_open + j->n_leased + j->n_done, l->n_added, l->n_added + n_more);
    if (!n_more)
        assert_int_equal(j->state == JOB_OPEN, l->failed);
}
