/* Random and damaged requests straight into a tracker: none may crash it, each gets a reply or is parked, and the books
 * stay in order. `fuzz_tracker [iterations [seed]]`. */
#include "core/clock.h"
#include "core/file.h"
#include "core/rng.h"
#include "tracker/execute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"job",      "token",   "trials", "trial",  "key",    "fingerprint", "agent",
                                    "nonce",    "max",     "after",  "n",      "body",   "program",     "record",
                                    "envelope", "status",  "state",  "title",  "lease",  "wait_ms",     "user",
                                    "mix",      "counted", "sha256", "offset", "total",  "bytes",       "priority",
                                    "path",     "summary", "arch",   "arches", "builds", "blobs"};
static const char *const values[] = {
    "1",
    "0",
    "-1",
    "2",
    "1e300",
    "9007199254740993",
    "true",
    "null",
    "\"\"",
    "\"j1\"",
    "\"j2\"",
    "\"t1\"",
    "\"t2\"",
    "\"t3\"",
    "\"cpu\"",
    "\"a1\"",
    "\"ok\"",
    "\"lost\"",
    "\"<b>\"",
    "{}",
    "[]",
    "[{}]",
    "{\"status\":\"ok\"}",
    "\"done\"",
    "\"cancelled\"",
    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
    "[{\"n\":1,\"key\":\"cpu\",\"program\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
    "\"body\":{}}]",
    "[{\"n\":2,\"key\":\"cpu\",\"program\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\","
    "\"body\":{}}]",
    "[{\"trial\":\"t1\",\"token\":1}]",
    "\"sm_61\"",
    "[\"sm_61\"]",
    "[{\"program\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"arch\":\"sm_61\"}]",
    "[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]"};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Requests that go well often, so that there are jobs, agents and leases to damage. */
static const char *const usual[] = {
    "\"op\":\"job_submit\",\"args\":{\"body\":\"b\",\"key\":\"cpu\",\"lease\":true}",
    ("\"op\":\"agent_register\",\"args\":{\"agent\":\"a1\",\"nonce\":\"n\",\"key\":\"cpu\",\"fingerprint\":"
     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}"),
    "\"op\":\"trial_lease\",\"args\":{\"agent\":\"a1\",\"max\":2}",
    ("\"op\":\"agent_register\",\"args\":{\"agent\":\"a2\",\"nonce\":\"n\",\"key\":\"cpu\",\"arch\":\"sm_61\","
     "\"builds\":"
     "false,\"fingerprint\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}"),
    "\"op\":\"trial_lease\",\"args\":{\"agent\":\"a2\",\"max\":2}",
    "\"op\":\"builder_register\",\"args\":{\"agent\":\"b1\",\"nonce\":\"n\",\"arches\":[\"sm_61\"]}",
    "\"op\":\"builder_register\",\"args\":{\"agent\":\"b1\",\"nonce\":\"m\",\"arches\":[\"sm_61\"]}",
    "\"op\":\"build_lease\",\"args\":{\"agent\":\"b1\",\"max\":2}",
    ("\"op\":\"build_result\",\"args\":{\"program\":"
     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"arch\":\"sm_61\",\"status\":\"ok\","
     "\"blobs\":[],\"body\":{}}"),
    ("\"op\":\"build_result\",\"args\":{\"program\":"
     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"arch\":\"sm_61\",\"status\":\"crash\","
     "\"blobs\":[],\"body\":{}}"),
    "\"op\":\"record_wait\",\"args\":{\"job\":\"j1\",\"after\":0}",
    "\"op\":\"job_lease\",\"args\":{\"wait_ms\":5}",
};

struct fuzz {
    struct tracker *t;
    struct rng rng;
    char session[REQUEST_ID_HEX + 1];
    int64_t ctr;
};

static void random_args(struct fuzz *f, struct buf *out)
{
    const size_t n = rng_below(&f->rng, 7);

    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s\"%s\":%s", i ? "," : "", names[rng_below(&f->rng, COUNT(names))],
                   values[rng_below(&f->rng, COUNT(values))]);
}

static void random_trial(struct fuzz *f, struct buf *out)
{
    const unsigned job = (unsigned)rng_below(&f->rng, 4) + 1, n = (unsigned)rng_below(&f->rng, 40) + 1;

    if (rng_below(&f->rng, 2))
        buf_printf(out,
                   "\"op\":\"trial_add\",\"args\":{\"job\":\"j%u\",\"token\":1,\"trials\":[{\"n\":%u,\"key\":\"cpu\","
                   "\"program\":"
                   "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"body\":{\"x\":%u}}]}",
                   job, n, n);
    else
        buf_printf(out,
                   "\"op\":\"%s\",\"args\":{\"agent\":\"a1\",\"trial\":\"t%u\",\"token\":1,\"trials\":[{\"trial\":\"t%"
                   "u\",\"token\":1}],"
                   "\"envelope\":{\"status\":\"ok\"},\"record\":\"x\"}",
                   rng_below(&f->rng, 2) ? "trial_result" : "trial_release", n, n);
}

/* A few programs, wanted by trials and answered by builders; their names differ in the first digits. */
static void random_build(struct fuzz *f, struct buf *out)
{
    static const char *const statuses[] = {"ok", "compile", "crash"};
    const unsigned job = (unsigned)rng_below(&f->rng, 4) + 1, n = (unsigned)rng_below(&f->rng, 90) + 10;
    const char rest[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    if (rng_below(&f->rng, 2))
        buf_printf(out,
                   "\"op\":\"trial_add\",\"args\":{\"job\":\"j%u\",\"token\":1,\"trials\":[{\"n\":%u,\"key\":\"cpu\","
                   "\"program\":\"%u%s\",\"anchor\":\"%u%s\",\"body\":{\"x\":1}}]}",
                   job, n, n, rest, 10 + n % 7, rest);
    else
        buf_printf(out,
                   "\"op\":\"%s\",\"args\":{\"agent\":\"b1\",\"program\":\"%u%s\",\"arch\":\"sm_61\",\"status\":\"%s\","
                   "\"blobs\":[],\"body\":{},\"builds\":[{\"program\":\"%u%s\",\"arch\":\"sm_61\"}]}",
                   rng_below(&f->rng, 2)   ? "build_result"
                   : rng_below(&f->rng, 2) ? "build_renew"
                                           : "build_release",
                   n, rest, statuses[rng_below(&f->rng, COUNT(statuses))], n, rest);
}

static void make_json(struct fuzz *f, struct buf *out)
{
    size_t n_ops = 0;

    while (op_table[n_ops].name)
        n_ops++;
    buf_printf(out, "{\"id\":\"%016llx%016llx\",\"session\":\"%s\",\"ctr\":%lld,",
               (unsigned long long)rng_below(&f->rng, 4000), 0ull, f->session, (long long)++f->ctr);
    switch (rng_below(&f->rng, 4)) {
    case 0:
        buf_printf(out, "\"op\":\"%s\",\"args\":{", op_table[rng_below(&f->rng, n_ops)].name);
        random_args(f, out);
        buf_puts(out, "}");
        break;
    case 1:
        buf_puts(out, usual[rng_below(&f->rng, COUNT(usual))]);
        break;
    case 2:
        random_trial(f, out);
        break;
    default:
        random_build(f, out);
    }
    buf_puts(out, "}");
}

static void make_message(struct fuzz *f, struct buf *out)
{
    struct buf json;

    buf_init(&json, 65536);
    make_json(f, &json);
    buf_append(out, "TUN1\1\0\0\0", 8);
    for (int i = 0; i < 4; i++) {
        const char byte = (char)(json.len >> (8 * i));

        buf_append(out, &byte, 1);
    }
    buf_append(out, json.data, json.len);
    if (rng_below(&f->rng, 4) == 0)
        for (size_t i = 0, n = 1 + rng_below(&f->rng, 4); i < n; i++)
            out->data[rng_below(&f->rng, out->len)] = (char)rng_next(&f->rng);
    if (rng_below(&f->rng, 16) == 0)
        out->len = rng_below(&f->rng, out->len);
    buf_fini(&json);
}

/* Executes one request from a copy of exactly its size; false when it got no reply. */
static bool execute(struct fuzz *f, const struct buf *bytes, struct buf *reply)
{
    void *copy = malloc(bytes->len ? bytes->len : 1);
    struct request r;
    enum outcome_of_request how;

    memcpy(copy, bytes->data, bytes->len);
    how = request_start(f->t, copy, bytes->len, &r, reply);
    if (how == REQUEST_PARKED)
        how = request_again(f->t, &r, true, reply);
    free(copy);
    return how == REQUEST_ANSWERED && reply->len > 0 && !reply->failed;
}

static bool say_hello(struct fuzz *f)
{
    static const char json[] = "{\"op\":\"hello\",\"id\":\"00000000000000000000000000000000\",\"args\":{\"nonce\":"
                               "\"00000000000000000000000000000000\",\"versions\":[1]}}";
    const char n = (char)(sizeof json - 1);
    struct message m;
    struct buf b, reply;
    bool ok;

    buf_init(&b, 1024);
    buf_init(&reply, 4096);
    buf_append(&b, "TUN1\1\0\0\0", 8);
    buf_append(&b, &n, 1);
    buf_append(&b, "\0\0\0", 3);
    buf_append(&b, json, sizeof json - 1);
    ok = execute(f, &b, &reply) && message_decode(reply.data, reply.len, &m, NULL) == ERR_OK;
    if (ok) {
        const cJSON *result = cJSON_GetObjectItem(m.json, "result");

        f->ctr = 0;
        text_copy(f->session, sizeof f->session, cJSON_GetObjectItem(result, "session")->valuestring);
        message_fini(&m);
    }
    buf_fini(&b);
    buf_fini(&reply);
    return ok;
}

/* What each agent holds, by its own count and by the lists. */
static bool holdings_agree(const struct tracker *t)
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
    for (const struct trial *tr = t->leased.first; tr; tr = tr->next)
        n -= tr->agent != NULL;
    return n == 0;
}

/* The counts kept by hand must be those of the lists. */
static bool books_agree(struct fuzz *f)
{
    const struct trial *tr;
    const struct job *j;
    size_t at = 0;
    int64_t n_leased = 0, n_live = 0, n_jobs_leased = 0;

    while ((tr = table_next(&f->t->trials, &at)) != NULL)
        n_live++;
    for (tr = f->t->leased.first; tr; tr = tr->next)
        n_leased++;
    at = 0;
    while ((j = table_next(&f->t->jobs, &at)) != NULL) {
        n_jobs_leased += j->n_leased;
        n_live -= j->n_open + j->n_leased;
    }
    return n_live == 0 && n_leased == n_jobs_leased && holdings_agree(f->t);
}

static int run(struct fuzz *f, long iterations)
{
    for (long n = 0; n < iterations; n++) {
        struct buf bytes, reply;
        bool ok;

        buf_init(&bytes, 65536);
        buf_init(&reply, MESSAGE_MAX_BYTES + 64);
        if (n % 50 == 0 && !say_hello(f)) /* a damaged counter may have closed the window */
            return 1;
        make_message(f, &bytes);
        ok = execute(f, &bytes, &reply);
        if (n % 200 == 0)
            ok = ok && tracker_tick(f->t) == ERR_OK && f->t->o.ops->commit(f->t->o.store, NULL) == ERR_OK &&
                 books_agree(f);
        if (!ok) {
            fprintf(stderr, "request %ld: no reply, or the books do not agree: %.*s\n", n, (int)bytes.len,
                    bytes.data + 12);
            return 1;
        }
        buf_fini(&bytes);
        buf_fini(&reply);
    }
    printf("%ld requests, %lld refused, %lld grants, %lld results, %lld builds, %lld jobs\n", iterations,
           (long long)f->t->stats.refused, (long long)f->t->stats.grants, (long long)f->t->stats.results,
           (long long)f->t->stats.builds, (long long)f->t->jobs.n);
    return 0;
}

int main(int argc, char **argv)
{
    struct tracker_options o = {.ops = store_table[0], .lease_ms = 20};
    struct fuzz f = {0};
    struct why why = {""};
    char dir[256];
    int code = 1;

    rng_init(&f.rng, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    if (dir_temporary("tune-fuzz", dir, sizeof dir, &why) == ERR_OK &&
        o.ops->open(dir, NULL, &o.store, &why) == ERR_OK && tracker_new(&o, &f.t, &why) == ERR_OK)
        code = run(&f, argc > 1 ? strtol(argv[1], NULL, 10) : 20000);
    else
        fprintf(stderr, "%s\n", why.text);
    tracker_free(f.t);
    if (o.store)
        o.ops->close(o.store);
    dir_remove(dir);
    return code;
}
