/* SPDX-License-Identifier: MIT */
/* Requests straight into a tracker over a store, with a clock of the input's own: bytes choose what is asked, of which
 * of the jobs, trials, agents and builds that there are, so that most requests are accepted; a few are damaged. After
 * each the books must agree, what is granted must be held by the one who asked, a request that comes twice is executed
 * once, and a tracker that is started again knows what the one before knew. */
#include "core/file.h"
#include "core/rng.h"
#include "tests/fuzz/fuzz.h"
#include "tracker/execute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REQUESTS 256
#define SECOND INT64_C(1000000000)

struct fuzz {
    struct tracker *t;
    struct tracker_options options;
    struct clock clock;
    struct entropy entropy;
    struct rng rng;
    int64_t now_ns;
    const uint8_t *data;
    size_t n, at;
    char session[REQUEST_ID_HEX + 1];
    int64_t ctr, n_ids;
    const char *asker; /* of the request under way: who leases, NULL = nobody */
    int64_t n_accepted, n_refused;
};

static int64_t now_ns(void *arg)
{
    return ((const struct fuzz *)arg)->now_ns;
}

static int64_t wall_ms(void *arg)
{
    return now_ns(arg) / 1000000;
}

static void sleep_ms(void *arg, int64_t ms)
{
    ((struct fuzz *)arg)->now_ns += ms * 1000000;
}

/* Bytes that an input has every time: sessions and nonces do not change what it reaches. */
static enum err fill(void *arg, void *out, size_t n)
{
    unsigned char *to = out;

    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)(rng_next(arg) >> 32);
    return ERR_OK;
}

/* The next byte of the input as a number below n; 0 behind its end. */
static unsigned below(struct fuzz *f, unsigned n)
{
    return f->at < f->n ? f->data[f->at++] % n : 0;
}

static const char *one_of(struct fuzz *f, const char *const *words, unsigned n)
{
    return words[below(f, n)];
}
#define ONE_OF(f, ...)                                                                                                 \
    one_of((f), (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Entry i of a table, round and round; NULL of an empty one. */
static void *entry_of(const struct table *t, unsigned i)
{
    void *found = NULL;
    size_t at = 0;

    if (t->n)
        for (unsigned k = 0; k <= i % (unsigned)t->n; k++)
            found = table_next(t, &at);
    return found;
}

static const struct tracker_job *some_job(struct fuzz *f)
{
    return entry_of(&f->t->jobs, below(f, 16));
}

static const struct tracker_trial *some_trial(struct fuzz *f)
{
    return entry_of(&f->t->trials, below(f, 64));
}

/* Of eight programs; they differ in the first digit. */
static void put_hash(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "\"%u%063d\"", below(f, 8), 0);
}

static const char *some_key(struct fuzz *f)
{
    return ONE_OF(f, "cpu", "gpu");
}

static const char *some_arch(struct fuzz *f)
{
    return ONE_OF(f, "sm_61", "sm_75");
}

static const char *some_device(struct fuzz *f)
{
    return ONE_OF(f, "a1", "a2", "a3");
}

static const char *some_builder(struct fuzz *f)
{
    return ONE_OF(f, "b1", "b2");
}

/* ---- the arguments of each call ---- */

static void put_job(struct fuzz *f, struct buf *out)
{
    const struct tracker_job *j = some_job(f);

    buf_printf(out, "\"job\":\"j%lld\"", j ? (long long)j->id : 1ll);
}

/* And its token, now and then one of before. */
static void put_leased_job(struct fuzz *f, struct buf *out)
{
    const struct tracker_job *j = some_job(f);
    const int64_t token = j ? j->token : 1;

    buf_printf(out, "\"job\":\"j%lld\",\"token\":%lld", j ? (long long)j->id : 1ll,
               (long long)(below(f, 16) == 15 && token ? token - 1 : token));
}

static void ask_submit(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "\"title\":\"t\",\"user\":\"u\",\"body\":\"b\",\"key\":\"%s\",\"priority\":%d,\"lease\":%s",
               some_key(f), (int)below(f, 7) - 3, below(f, 4) ? "true" : "false");
}

static void ask_renew_job(struct fuzz *f, struct buf *out)
{
    put_leased_job(f, out);
    buf_puts(out, ",\"progress\":{\"n\":1}");
}

static void ask_done(struct fuzz *f, struct buf *out)
{
    put_leased_job(f, out);
    buf_printf(out, ",\"state\":\"%s\",\"summary\":{}", ONE_OF(f, "done", "failed", "cancelled"));
}

static void ask_list(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "\"state\":\"%s\",\"max\":%u", ONE_OF(f, "all", "open", "done"), 1 + below(f, 9));
}

static void put_trial(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "{\"n\":%u,\"key\":\"%s\",\"purpose\":\"%s\",\"protocol\":\"p\",\"body\":{\"x\":1},\"program\":",
               below(f, 255), some_key(f), ONE_OF(f, "search", "final"));
    put_hash(f, out);
    if (below(f, 3) == 0) {
        buf_puts(out, ",\"anchor\":");
        put_hash(f, out);
    }
    if (below(f, 3) == 0) {
        buf_puts(out, ",\"fingerprint\":");
        put_hash(f, out);
    }
    buf_puts(out, "}");
}

static void ask_add(struct fuzz *f, struct buf *out)
{
    put_leased_job(f, out);
    buf_puts(out, ",\"trials\":[");
    for (unsigned i = 0, n = 1 + below(f, 5); i < n; i++) {
        buf_puts(out, i ? "," : "");
        put_trial(f, out);
    }
    buf_puts(out, "]");
}

static void ask_lease(struct fuzz *f, struct buf *out)
{
    f->asker = some_device(f);
    buf_printf(out, "\"agent\":\"%s\",\"max\":%u", f->asker, 1 + below(f, 8));
}

/* Trials and their tokens, of whoever has them. */
static void ask_held(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "\"agent\":\"%s\",\"counted\":%s,\"trials\":[", some_device(f), below(f, 2) ? "true" : "false");
    for (unsigned i = 0, n = 1 + below(f, 4); i < n; i++) {
        const struct tracker_trial *tr = some_trial(f);

        buf_printf(out, "%s{\"trial\":\"t%lld\",\"token\":%lld}", i ? "," : "", tr ? (long long)tr->id : 1ll,
                   tr ? (long long)tr->token : 1ll);
    }
    buf_puts(out, "]");
}

static void ask_result(struct fuzz *f, struct buf *out)
{
    const struct tracker_trial *tr = some_trial(f);
    const unsigned any = 1 + below(f, 64);

    buf_printf(out,
               "\"trial\":\"t%lld\",\"token\":%lld,\"record\":\"{}\",\"envelope\":{\"key\":\"%s\",\"status\":\"%s\","
               "\"time_ns\":%u,\"flops\":1000,\"device_ms\":%u",
               tr ? (long long)tr->id : (long long)any, tr ? (long long)tr->token : 1ll, some_key(f),
               ONE_OF(f, "ok", "ok", "compile", "wrong", "crash", "timeout"), 1 + below(f, 200), below(f, 200));
    if (tr)
        buf_printf(out, ",\"program\":\"%s\"", tr->program.hex);
    if (below(f, 2)) {
        buf_puts(out, ",\"fingerprint\":");
        put_hash(f, out);
    }
    buf_puts(out, "}");
}

static void ask_records(struct fuzz *f, struct buf *out)
{
    put_job(f, out);
    buf_printf(out, ",\"after\":%u,\"max\":%u", below(f, 8), 1 + below(f, 64));
}

static void ask_requeue(struct fuzz *f, struct buf *out)
{
    if (below(f, 2))
        put_job(f, out);
    else
        buf_printf(out, "\"trial\":\"t%u\"", 1 + below(f, 64));
}

static void ask_register(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "\"agent\":\"%s\",\"nonce\":\"n%u\",\"key\":\"%s\",\"mix\":true,\"device\":{\"name\":\"d\"},",
               some_device(f), below(f, 3), some_key(f));
    if (below(f, 2))
        buf_printf(out, "\"arch\":\"%s\",\"builds\":%s,", some_arch(f), below(f, 2) ? "true" : "false");
    buf_puts(out, "\"fingerprint\":");
    put_hash(f, out);
}

static void ask_register_builder(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "\"agent\":\"%s\",\"nonce\":\"n%u\",\"arches\":[\"%s\"]", some_builder(f), below(f, 3),
               some_arch(f));
}

static void ask_build_lease(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "\"agent\":\"%s\",\"max\":%u", some_builder(f), 1 + below(f, 4));
}

static void put_build(struct fuzz *f, struct buf *out)
{
    const struct build *b = entry_of(&f->t->builds, below(f, 32));

    buf_puts(out, "\"program\":");
    if (b)
        buf_printf(out, "\"%s\"", b->program.hex);
    else
        put_hash(f, out);
    buf_printf(out, ",\"arch\":\"%s\"", b ? b->arch->name : some_arch(f));
}

static void ask_builds(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "\"agent\":\"%s\",\"builds\":[{", some_builder(f));
    put_build(f, out);
    buf_puts(out, "}]");
}

static void ask_build_result(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "\"agent\":\"%s\",\"status\":\"%s\",\"blobs\":[],\"body\":{},", some_builder(f),
               ONE_OF(f, "ok", "compile", "crash", "timeout"));
    put_build(f, out);
}

static void ask_beat(struct fuzz *f, struct buf *out)
{
    buf_printf(out, "\"agent\":\"%s\",\"state\":\"idle\",\"temperature\":40.5,\"load\":1",
               ONE_OF(f, "a1", "a2", "a3", "b1", "b2"));
}

static void ask_blobs(struct fuzz *f, struct buf *out)
{
    buf_puts(out, "\"sha256\":[");
    put_hash(f, out);
    buf_puts(out, "]");
}

static void ask_blob(struct fuzz *f, struct buf *out)
{
    buf_puts(out, "\"sha256\":");
    put_hash(f, out);
    buf_printf(out, ",\"offset\":%u", below(f, 4));
}

static void ask_nothing(struct fuzz *f, struct buf *out)
{
    (void)f;
    (void)out;
}

static void ask_pause(struct fuzz *f, struct buf *out)
{
    put_job(f, out);
    buf_printf(out, ",\"paused\":%s", below(f, 3) ? "false" : "true");
}

static void ask_mode(struct fuzz *f, struct buf *out)
{
    static const char *const modes[] = {"serve", "serve", "drain", "reserve"};

    buf_printf(out, "\"agent\":\"%s\"", some_device(f));
    buf_printf(out, ",\"mode\":\"%s\",\"user\":\"\"", modes[below(f, 4)]);
}

static const struct {
    const char *op;
    void (*put)(struct fuzz *f, struct buf *out);
} asks[] = {
    {"job_submit", ask_submit},
    {"trial_add", ask_add},
    {"trial_add", ask_add},
    {"trial_add", ask_add},
    {"agent_register", ask_register},
    {"trial_lease", ask_lease},
    {"trial_lease", ask_lease},
    {"trial_result", ask_result},
    {"trial_result", ask_result},
    {"trial_renew", ask_held},
    {"trial_release", ask_held},
    {"record_wait", ask_records},
    {"requeue", ask_requeue},
    {"job_lease", ask_nothing},
    {"job_renew", ask_renew_job},
    {"job_release", put_leased_job},
    {"job_done", ask_done},
    {"job_cancel", put_job},
    {"job_pause", ask_pause},
    {"agent_mode", ask_mode},
    {"job_list", ask_list},
    {"job_status", put_job},
    {"builder_register", ask_register_builder},
    {"build_lease", ask_build_lease},
    {"build_result", ask_build_result},
    {"build_renew", ask_builds},
    {"build_release", ask_builds},
    {"agent_beat", ask_beat},
    {"agent_bye", ask_beat},
    {"blob_have", ask_blobs},
    {"blob_get", ask_blob},
    {"devices", ask_nothing},
    {"status", ask_nothing},
};
#define N_ASKS (sizeof asks / sizeof asks[0])

/* Any value: of the kind that is wanted or of another. */
static void put_value(struct fuzz *f, struct buf *out)
{
    switch (below(f, 8)) {
    case 0:
        put_hash(f, out);
        break;
    case 1:
        buf_puts(out, "[{}]");
        break;
    default:
        buf_puts(out, ONE_OF(f, "1", "0", "-1", "1e300", "0.5", "true", "null", "{}", "[]", "[1]", "[\"x\"]", "\"\"",
                             "\"j1\"", "\"t1\"", "\"a1\"", "\"b1\"", "\"cpu\"", "\"ok\"", "\"sm_61\"", "\"/dev/null\"",
                             "[{\"trial\":\"t1\",\"token\":1}]", "{\"status\":\"ok\"}"));
    }
}

/* A call with some of its members, each with any value. */
static const char *put_odd(struct fuzz *f, struct buf *out)
{
    const struct call_type *type = &call_table[below(f, N_CALLS)];
    bool first = true;

    for (const struct call_member *m = type->args->members(); m->name; m++)
        if (below(f, 4)) {
            buf_printf(out, "%s\"%s\":", first ? "" : ",", m->name);
            put_value(f, out);
            first = false;
        }
    return type->name;
}

/* ---- what must hold ---- */

/* What each agent holds, by its own count and by the lists. */
static void check_holdings(const struct tracker *t)
{
    const struct agent *a;
    const struct build *b;
    size_t at = 0;
    int64_t n = 0;

    while ((a = table_next(&t->agents, &at)) != NULL)
        n += a->n_leased;
    at = 0;
    while ((b = table_next(&t->builds, &at)) != NULL)
        n -= b->agent != NULL;
    for (const struct tracker_trial *tr = t->leased.first; tr; tr = tr->next)
        n -= tr->agent != NULL;
    if (n)
        fuzz_die("agents count %lld more than they hold", (long long)n);
}

/* The counts kept by hand are those of the lists. */
static void check_books(const struct tracker *t)
{
    const struct tracker_trial *tr;
    const struct tracker_job *j;
    size_t at = 0;
    int64_t n_leased = 0, n_live = 0, n_jobs_leased = 0;

    while ((tr = table_next(&t->trials, &at)) != NULL) {
        n_live++;
        if (tr->attempts > MAX_ATTEMPTS || tr->id >= t->next_trial)
            fuzz_die("trial t%lld: %lld attempts, the next trial is t%lld", (long long)tr->id, (long long)tr->attempts,
                     (long long)t->next_trial);
    }
    for (tr = t->leased.first; tr; tr = tr->next)
        n_leased += tr->leased;
    at = 0;
    while ((j = table_next(&t->jobs, &at)) != NULL) {
        n_jobs_leased += j->n_leased;
        n_live -= j->n_open + j->n_leased;
        if (j->n_open < 0 || j->n_leased < 0 || j->n_done < 0 || j->n_lost < 0 || j->seq < j->n_lost)
            fuzz_die("job j%lld does not count", (long long)j->id);
        if (j->state != JOB_OPEN && (j->leased || j->n_open + j->n_leased))
            fuzz_die("job j%lld is over and has trials or a tuner", (long long)j->id);
    }
    if (n_live || n_leased != n_jobs_leased)
        fuzz_die("jobs and trials differ: %lld live, %lld and %lld leased", (long long)n_live, (long long)n_leased,
                 (long long)n_jobs_leased);
    check_holdings(t);
}

/* Every trial in a grant is leased, by the token that was given, to the one who asked. */
static void check_grant(const struct fuzz *f, const cJSON *result)
{
    const cJSON *item, *trials = cJSON_GetObjectItemCaseSensitive(result, "trials");

    cJSON_ArrayForEach(item, trials)
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "trial");
        const cJSON *token = cJSON_GetObjectItemCaseSensitive(item, "token");
        const struct tracker_trial *tr;
        int64_t id = 0;

        if (!cJSON_IsString(name) || !cJSON_IsNumber(token) || call_id_parse(name->valuestring, 't', &id))
            fuzz_die("a grant without trial and token");
        tr = table_get_i64(&f->t->trials, id);
        if (!tr || !tr->leased || !tr->agent || strcmp(tr->agent->id, f->asker) != 0 ||
            tr->token != (int64_t)token->valuedouble)
            fuzz_die("%s was granted to %s and is not held so", name->valuestring, f->asker);
    }
}

/* ---- requests ---- */

static void make_message(struct fuzz *f, int64_t id, const char *op, const char *args, struct buf *out)
{
    struct buf text;
    cJSON *json = NULL;

    buf_init(&text, CALL_BODY_BYTES);
    buf_printf(&text, "{\"id\":\"%032llx\",\"session\":\"%s\",\"ctr\":%lld,\"op\":\"%s\",\"args\":{%s}}",
               (unsigned long long)id, f->session, (long long)++f->ctr, op, args);
    if (json_parse(text.data, text.len, &json, NULL) || message_encode(json, NULL, NULL, NULL, out))
        fuzz_die("no message: %s", buf_text(&text));
    cJSON_Delete(json);
    buf_fini(&text);
}

/* Executes a request from a copy of exactly its size. The reply's JSON; cJSON_Delete it. */
static cJSON *execute(struct fuzz *f, const struct buf *bytes)
{
    void *copy = fuzz_copy(bytes->data, bytes->len);
    struct buf reply;
    struct message m;
    struct request r = {.bytes = NULL};
    enum outcome_of_request how;
    cJSON *json;

    buf_init(&reply, MESSAGE_MAX_BYTES + 64);
    how = request_start(f->t, copy, bytes->len, &r, &reply);
    if (how == REQUEST_PARKED)
        how = request_again(f->t, &r, true, &reply);
    if (how != REQUEST_ANSWERED || reply.failed || message_decode(reply.data, reply.len, &m, NULL))
        fuzz_die("no reply");
    json = m.json;
    m.json = NULL;
    message_fini(&m);
    buf_fini(&reply);
    free(copy);
    return json;
}

static void say_hello(struct fuzz *f)
{
    const cJSON *session;
    struct buf bytes;
    cJSON *reply;

    buf_init(&bytes, 4096);
    f->session[0] = '\0';
    make_message(f, ++f->n_ids, "hello", "\"nonce\":\"00000000000000000000000000000000\",\"versions\":[1]", &bytes);
    reply = execute(f, &bytes);
    session = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(reply, "result"), "session");
    if (!cJSON_IsString(session))
        fuzz_die("hello was refused");
    text_copy(f->session, sizeof f->session, session->valuestring);
    f->ctr = 0;
    cJSON_Delete(reply);
    buf_fini(&bytes);
}

/* A few bytes of a good message changed, or its end lost. */
static void ask_damaged(struct fuzz *f, const char *op, const char *args)
{
    struct buf bytes;

    buf_init(&bytes, MESSAGE_MAX_BYTES);
    make_message(f, ++f->n_ids, op, args, &bytes);
    for (unsigned i = 0, n = 1 + below(f, 4); i < n; i++)
        bytes.data[(below(f, 256) * 256 + below(f, 256)) % bytes.len] = (char)below(f, 256);
    if (below(f, 4) == 0)
        bytes.len = (below(f, 256) * 256 + below(f, 256)) % bytes.len;
    cJSON_Delete(execute(f, &bytes));
    buf_fini(&bytes);
    say_hello(f); /* a damaged counter may have closed the window */
}

/* One call; of one that changes something, that it changes nothing when it comes again. */
static void ask(struct fuzz *f, const char *op, const char *args)
{
    const int64_t id = ++f->n_ids;
    struct buf bytes;
    cJSON *reply, *again;

    buf_init(&bytes, MESSAGE_MAX_BYTES);
    make_message(f, id, op, args, &bytes);
    reply = execute(f, &bytes);
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(reply, "ok"))) {
        f->n_accepted++;
        if (f->asker)
            check_grant(f, cJSON_GetObjectItemCaseSensitive(reply, "result"));
        if (op_table[call_find(op)].writes && below(f, 4) == 0) {
            buf_clear(&bytes);
            make_message(f, id, op, args, &bytes);
            again = execute(f, &bytes);
            if (!cJSON_Compare(reply, again, true))
                fuzz_die("%s {%s} has another answer when it comes again", op, args);
            cJSON_Delete(again);
        }
    } else {
        f->n_refused++;
    }
    cJSON_Delete(reply);
    buf_fini(&bytes);
}

static void commit(struct fuzz *f)
{
    if (tracker_commit(f->t, NULL) != ERR_OK)
        fuzz_die("the store does not commit");
}

static void pass_time(struct fuzz *f)
{
    f->now_ns += (1 + below(f, 16)) * SECOND;
    if (tracker_tick(f->t) != ERR_OK)
        fuzz_die("the tick failed");
}

/* A tracker over the same store: it knows the same jobs, and what was open or leased is so still. */
static void restart(struct fuzz *f)
{
    const size_t n_jobs = f->t->jobs.n, n_trials = f->t->trials.n;
    const int64_t next_trial = f->t->next_trial;
    struct why why = {""};

    commit(f);
    tracker_free(f->t);
    if (tracker_new(&f->options, &f->t, &why) != ERR_OK)
        fuzz_die("the store does not load: %s", why.text);
    if (f->t->jobs.n != n_jobs || f->t->trials.n != n_trials || f->t->next_trial != next_trial)
        fuzz_die("%zu jobs, %zu trials, next t%lld; after a start %zu, %zu, t%lld", n_jobs, n_trials,
                 (long long)next_trial, f->t->jobs.n, f->t->trials.n, (long long)f->t->next_trial);
    say_hello(f);
}

static void step(struct fuzz *f)
{
    const unsigned what = below(f, 64);
    struct buf args;

    if (what == 63) {
        restart(f);
    } else if (what >= 60) {
        pass_time(f);
    } else if (what >= 56) {
        const char *op;

        buf_init(&args, CALL_BODY_BYTES);
        f->asker = NULL;
        op = put_odd(f, &args);
        ask(f, op, buf_text(&args));
        buf_fini(&args);
    } else {
        const unsigned i = what % N_ASKS;

        buf_init(&args, CALL_BODY_BYTES);
        f->asker = NULL;
        asks[i].put(f, &args);
        if (below(f, 32) == 31)
            ask_damaged(f, asks[i].op, buf_text(&args));
        else
            ask(f, asks[i].op, buf_text(&args));
        buf_fini(&args);
    }
    check_books(f->t);
}

static void run(struct fuzz *f)
{
    say_hello(f);
    for (int i = 0; i < MAX_REQUESTS && f->at < f->n; i++)
        step(f);
    commit(f);
    if (getenv("TUNE_FUZZ_TELL"))
        fprintf(stderr, "%lld accepted, %lld refused, %zu jobs, %lld grants, %lld results, %lld builds\n",
                (long long)f->n_accepted, (long long)f->n_refused, f->t->jobs.n, (long long)f->t->stats.grants,
                (long long)f->t->stats.results, (long long)f->t->stats.builds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz f = {.data = data, .n = n, .now_ns = SECOND};
    struct why why = {""};
    char dir[256];

    setenv("TMPDIR", "/dev/shm", 0); /* a store that waits for no disk, where there is such a place */
    if (dir_temporary("tune-fuzz", dir, sizeof dir, &why) != ERR_OK)
        fuzz_die("%s", why.text);
    f.clock = (struct clock){now_ns, wall_ms, sleep_ms, &f};
    rng_init(&f.rng, 1);
    f.entropy = (struct entropy){fill, &f.rng};
    f.options =
        (struct tracker_options){.ops = store_table[0], .lease_ms = 20000, .clock = &f.clock, .entropy = &f.entropy};
    if (f.options.ops->open(dir, &f.clock, &f.options.store, &why) != ERR_OK ||
        tracker_new(&f.options, &f.t, &why) != ERR_OK)
        fuzz_die("%s", why.text);
    run(&f);
    tracker_free(f.t);
    f.options.ops->close(f.options.store);
    dir_remove(dir);
    return 0;
}
