/* SPDX-License-Identifier: MIT */
/* kill -9 of the tracker at seeded moments while a tuner and two agents work: nothing acknowledged is lost, nothing
 * counts twice. TUNE_CRASHES sets how often (8), TUNE_SEED when. */
#include "tests/tracker/farm.h"

#include "core/clock.h"
#include "core/hash.h"
#include "core/rng.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N_TRIALS 400
#define BATCH 8

/* What one agent was told about its results: [n] = 1 accepted, 2 not. */
struct worker {
    const struct farm *farm;
    const char *name;
    atomic_bool *stop;
    char told[N_TRIALS];
    int n_answered;
    int64_t work_ms; /* of one trial: long enough that all crashes fall into the work */
    atomic_bool failed;
    pthread_t thread;
};

struct tuner {
    const struct farm *farm;
    char seen[N_TRIALS]; /* records per n */
    char line[N_TRIALS][64];
    atomic_int n_seen;
    atomic_bool failed;
    pthread_t thread;
};

static cJSON *call(struct client *c, enum err *e, int64_t wait_ms, const char *op, const char *format, ...)
{
    char text[8192];
    cJSON *args = NULL, *result = NULL;
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    *e = json_parse(text, strlen(text), &args, NULL);
    if (!*e)
        *e = client_call(c, op, args, NULL, wait_ms, &result, NULL, NULL);
    return result;
}

static struct client *open_client(const struct farm *f, const char *name)
{
    const struct client_options o = {.url = f->url, .role = "agent", .name = name};
    struct client *c = NULL;

    return client_open(&o, &c, NULL) == ERR_OK ? c : NULL;
}

static enum err enrol(struct worker *w, struct client *c)
{
    enum err e;

    cJSON_Delete(call(c, &e, 0, "agent_register",
                      "{'agent':'%s','nonce':'%s','key':'k','fingerprint':'%s','device':{}}", w->name, w->name,
                      hash_of(-1)));
    return e;
}

static void answer_one(struct worker *w, struct client *c, const cJSON *grant)
{
    const cJSON *id = cJSON_GetObjectItem(grant, "trial"), *n = cJSON_GetObjectItem(grant, "n");
    const cJSON *token = cJSON_GetObjectItem(grant, "token");
    enum err e;
    cJSON *r = call(c, &e, 0, "trial_result",
                    "{'trial':'%s','token':%" PRId64
                    ",'envelope':{'status':'ok','time_ns':5,'flops':5,'device_ms':1},'record':'%s %d'}",
                    id->valuestring, (int64_t)token->valuedouble, w->name, n->valueint);

    if (e && e != ERR_STALE) /* stale: the lease ended while the tracker was away, and another has the trial */
        w->failed = true;
    else
        w->told[n->valueint] = !e && cJSON_IsTrue(cJSON_GetObjectItem(r, "accepted")) ? 1 : 2;
    w->n_answered++;
    cJSON_Delete(r);
}

static void *agent_main(void *arg)
{
    struct worker *w = arg;
    struct client *c = open_client(w->farm, w->name);

    w->failed = !c || enrol(w, c) != ERR_OK;
    while (!w->failed && !atomic_load(w->stop)) {
        enum err e;
        cJSON *r = call(c, &e, 500, "trial_lease", "{'agent':'%s','max':3}", w->name);
        const cJSON *grant;

        if (e == ERR_NOT_FOUND)
            e = enrol(w, c);
        w->failed |= e != ERR_OK;
        cJSON_ArrayForEach(grant, cJSON_GetObjectItem(r, "trials"))
        {
            clock_sleep_ms(w->work_ms);
            answer_one(w, c, grant);
        }
        cJSON_Delete(r);
    }
    client_close(c);
    return NULL;
}

static enum err add_batch(struct client *c, const char *job, int first)
{
    char list[4096] = "";
    enum err e;

    for (int i = first; i < first + BATCH; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s{'n':%d,'key':'k','program':'%s','body':{}}",
                 i > first ? "," : "", i, sha256_of(&i, sizeof i).hex);
    cJSON_Delete(call(c, &e, 0, "trial_add", "{'job':'%s','token':1,'trials':[%s]}", job, list));
    return e;
}

static enum err take_records(struct tuner *t, struct client *c, const char *job, int64_t *after)
{
    enum err e;
    cJSON *r = call(c, &e, 2000, "record_wait", "{'job':'%s','after':%d}", job, (int)*after);
    const cJSON *one;

    cJSON_ArrayForEach(one, cJSON_GetObjectItem(r, "records"))
    {
        const int n = cJSON_GetObjectItem(one, "n")->valueint;

        t->seen[n]++;
        snprintf(t->line[n], sizeof t->line[n], "%s", cJSON_GetObjectItem(one, "record")->valuestring);
        atomic_fetch_add(&t->n_seen, 1);
    }
    if (!e)
        *after = cJSON_GetObjectItem(r, "next")->valueint;
    cJSON_Delete(r);
    return e;
}

static void *tuner_main(void *arg)
{
    struct tuner *t = arg;
    struct client *c = open_client(t->farm, "tuner");
    int64_t after = 0;
    char job[24] = "";
    enum err e = c ? ERR_OK : ERR_UNREACHABLE;
    cJSON *r = e ? NULL : call(c, &e, 0, "job_submit", "{'title':'crash','key':'k','body':'b','lease':true}");

    if (!e)
        snprintf(job, sizeof job, "%s", cJSON_GetObjectItem(r, "job")->valuestring);
    cJSON_Delete(r);
    for (int first = 0; !e && first < N_TRIALS; first += BATCH) {
        e = add_batch(c, job, first);
        while (!e && atomic_load(&t->n_seen) + 4 * BATCH < first)
            e = take_records(t, c, job, &after);
    }
    while (!e && atomic_load(&t->n_seen) < N_TRIALS)
        e = take_records(t, c, job, &after);
    t->failed = e != ERR_OK;
    client_close(c);
    return NULL;
}

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

static void check_books(const struct tuner *t, const struct worker w[2])
{
    for (int n = 0; n < N_TRIALS; n++) {
        if (t->seen[n] != 1)
            fail_msg("trial %d has %d records", n, t->seen[n]);
        for (int i = 0; i < 2; i++) {
            char line[64];

            snprintf(line, sizeof line, "%s %d", w[i].name, n);
            if (w[i].told[n] == 1 && strcmp(t->line[n], line) != 0)
                fail_msg("%s was told that its result of trial %d counts, the record is '%s'", w[i].name, n,
                         t->line[n]);
        }
    }
}

static void killing_the_tracker_loses_nothing_that_was_acknowledged(void **state)
{
    struct farm f = {.more = {"--lease", "1"}};
    atomic_bool stop = false;
    struct worker w[2] = {{.farm = &f, .name = "a1", .stop = &stop}, {.farm = &f, .name = "a2", .stop = &stop}};
    static struct tuner t;
    struct rng rng;
    int n_crashes = 0;

    (void)state;
    t.farm = &f;
    rng_init(&rng, (uint64_t)setting("TUNE_SEED", 1));
    farm_start(&f);
    for (int i = 0; i < 2; i++) {
        w[i].work_ms = 2 * setting("TUNE_CRASHES", 8);
        pthread_create(&w[i].thread, NULL, agent_main, &w[i]);
    }
    pthread_create(&t.thread, NULL, tuner_main, &t);
    while (atomic_load(&t.n_seen) < N_TRIALS && !t.failed && !w[0].failed && !w[1].failed) {
        const int before = atomic_load(&t.n_seen);

        if (n_crashes >= setting("TUNE_CRASHES", 8)) {
            clock_sleep_ms(20);
            continue;
        }
        for (int i = 0; i < 300 && atomic_load(&t.n_seen) == before; i++)
            clock_sleep_ms(10); /* work goes on */
        clock_sleep_ms((int64_t)rng_below(&rng, 150));
        farm_crash(&f);
        n_crashes++;
        clock_sleep_ms((int64_t)rng_below(&rng, 100));
        farm_restart(&f);
    }
    pthread_join(t.thread, NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(w[i].thread, NULL);
    assert_false(t.failed || w[0].failed || w[1].failed);
    check_books(&t, w);
    printf("%d crashes; answered by a1 %d, by a2 %d\n", n_crashes, w[0].n_answered, w[1].n_answered);
    assert_true(w[0].n_answered > 0 && w[1].n_answered > 0);
    farm_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killing_the_tracker_loses_nothing_that_was_acknowledged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
