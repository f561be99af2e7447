/* SPDX-License-Identifier: MIT */
/* kill -9 of the tracker at seeded moments while a tuner and two agents work: nothing acknowledged is lost, nothing
 * counts twice. TUNE_CRASHES sets how often (8), TUNE_SEED when. `test_tracker_crash postgres`: two trackers over one
 * PostgreSQL server, of which one stands by; and three of a farm in two parts; trackers and server are killed. */
#include "tests/tracker/farm.h"
#include "tests/tracker/postgres.h"

#include "core/clock.h"
#include "core/hash.h"
#include "core/proc.h"
#include "core/rng.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define N_TRIALS 400
#define BATCH 8

/* What one agent was told about its results: [n] = 1 accepted, 2 not. */
struct worker {
    const struct farm *farm;
    const char *name, *key;
    atomic_bool *stop;
    char told[N_TRIALS];
    int n_answered;
    int64_t work_ms; /* of one trial: long enough that all crashes fall into the work */
    atomic_bool failed;
    pthread_t thread;
};

struct tuner {
    const struct farm *farm;
    const char *key;
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

static struct client *open_client(const struct farm *f, const char *name, const char *key)
{
    const struct client_options o = {.url = f->url, .role = "agent", .name = name};
    struct client *c = NULL;

    if (client_open(&o, &c, NULL) == ERR_OK && client_settle_key(c, key, NULL) == ERR_OK)
        return c;
    client_close(c);
    return NULL;
}

static enum err enrol(struct worker *w, struct client *c)
{
    enum err e;

    cJSON_Delete(call(c, &e, 0, "agent_register",
                      "{'agent':'%s','nonce':'%s','key':'%s','fingerprint':'%s','device':{}}", w->name, w->name, w->key,
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
    struct client *c = open_client(w->farm, w->name, w->key);

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

static enum err add_batch(struct client *c, const char *job, const char *key, int first)
{
    char list[4096] = "";
    enum err e;

    for (int i = first; i < first + BATCH; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s{'n':%d,'key':'%s','program':'%s','body':{}}",
                 i > first ? "," : "", i, key, sha256_of(&i, sizeof i).hex);
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
    struct client *c = open_client(t->farm, "tuner", t->key);
    int64_t after = 0;
    char job[24] = "";
    enum err e = c ? ERR_OK : ERR_UNREACHABLE;
    cJSON *r = e ? NULL : call(c, &e, 0, "job_submit", "{'title':'crash','key':'%s','body':'b','lease':true}", t->key);

    if (!e)
        snprintf(job, sizeof job, "%s", cJSON_GetObjectItem(r, "job")->valuestring);
    cJSON_Delete(r);
    for (int first = 0; !e && first < N_TRIALS; first += BATCH) {
        e = add_batch(c, job, t->key, first);
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

/* A tuner and two agents at work on the trackers at `url`. */
struct crew {
    struct farm at;
    atomic_bool stop;
    struct worker w[2];
    struct tuner t;
};

static void crew_start_at(struct crew *c, const char *url, const char *key, int64_t work_ms)
{
    const char *const names[] = {"a1", "a2"};

    snprintf(c->at.url, sizeof c->at.url, "%s", url);
    atomic_init(&c->stop, false);
    for (int i = 0; i < 2; i++) {
        c->w[i] = (struct worker){.farm = &c->at, .name = names[i], .key = key, .stop = &c->stop};
        c->w[i].work_ms = work_ms;
        pthread_create(&c->w[i].thread, NULL, agent_main, &c->w[i]);
    }
    c->t.farm = &c->at;
    c->t.key = key;
    pthread_create(&c->t.thread, NULL, tuner_main, &c->t);
}

static void crew_start(struct crew *c, const char *url)
{
    crew_start_at(c, url, "k", 2 * setting("TUNE_CRASHES", 8));
}

static bool works(struct crew *c)
{
    return atomic_load(&c->t.n_seen) < N_TRIALS && !c->t.failed && !c->w[0].failed && !c->w[1].failed;
}

/* Until the work goes on, and a moment more. */
static void wait_for_work(struct crew *c, struct rng *rng, int64_t ms)
{
    const int before = atomic_load(&c->t.n_seen);

    for (int64_t i = 0; i < ms / 10 && atomic_load(&c->t.n_seen) == before; i++)
        clock_sleep_ms(10);
    clock_sleep_ms((int64_t)rng_below(rng, 150));
}

static void crew_end(struct crew *c, int n_crashes)
{
    while (works(c))
        clock_sleep_ms(20);
    pthread_join(c->t.thread, NULL);
    atomic_store(&c->stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(c->w[i].thread, NULL);
    assert_false(c->t.failed || c->w[0].failed || c->w[1].failed);
    check_books(&c->t, c->w);
    printf("%d crashes; answered by a1 %d, by a2 %d\n", n_crashes, c->w[0].n_answered, c->w[1].n_answered);
    assert_true(c->w[0].n_answered > 0 && c->w[1].n_answered > 0);
}

static void killing_the_tracker_loses_nothing_that_was_acknowledged(void **state)
{
    struct farm f = {.more = {"--lease", "1"}};
    static struct crew c;
    struct rng rng;
    int n_crashes = 0;

    (void)state;
    rng_init(&rng, (uint64_t)setting("TUNE_SEED", 1));
    farm_start(&f);
    crew_start(&c, f.url);
    for (; works(&c) && n_crashes < setting("TUNE_CRASHES", 8); n_crashes++) {
        wait_for_work(&c, &rng, 3000);
        farm_crash(&f);
        clock_sleep_ms((int64_t)rng_below(&rng, 100));
        farm_restart(&f);
    }
    crew_end(&c, n_crashes);
    farm_stop(&f);
}

/* ---- two trackers, one server ---- */

static struct postgres server;

/* Two that may have the store `where`; the first has it. *urls: both addresses. */
static void pair_start(struct farm f[2], char *store, size_t n_store, char *urls, size_t n_urls)
{
    char where[512];

    postgres_place(&server, where, sizeof where);
    snprintf(store, n_store, "postgres:%s%%20-cidle_session_timeout%%3D2s", where);
    for (int i = 0; i < 2; i++) {
        f[i] = (struct farm){.store = store, .standby = true, .more = {"--lease", "3"}};
        farm_start(&f[i]);
        if (i == 0)
            client_close(farm_client(&f[0], "first")); /* it serves */
    }
    snprintf(urls, n_urls, "%s,%s", f[0].url, f[1].url);
}

/* One whose session is gone has to say so and end. Gives which did. */
static int expect_end(struct farm f[2])
{
    int status = 0;

    for (int i = 0; i < 2000; i++)
        if (proc_wait(f[i % 2].pid, 10, &status) == ERR_OK) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
            return i % 2;
        }
    fail_msg("a tracker without its session goes on");
    return 0;
}

static bool listens(const struct farm *f)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool does;

    a.sin_port = htons((uint16_t)strtol(strrchr(f->url, ':') + 1, NULL, 10));
    does = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
    close(fd);
    return does;
}

/* The one that has the store: the other does not listen. */
static int active_of(struct farm f[2])
{
    for (int i = 0; i < 2000; i++) {
        if (listens(&f[i % 2]))
            return i % 2;
        clock_sleep_ms(10);
    }
    fail_msg("no tracker has the store");
    return 0;
}

static void a_standby_takes_over_from_a_tracker_that_is_killed(void **state)
{
    char store[640], urls[256];
    struct farm f[2];
    static struct crew c;
    struct rng rng;
    int n_crashes = 0;
    int64_t killed_ns;

    (void)state;
    rng_init(&rng, (uint64_t)setting("TUNE_SEED", 1));
    pair_start(f, store, sizeof store, urls, sizeof urls);
    crew_start(&c, urls);
    for (int other = 1; works(&c) && n_crashes < setting("TUNE_CRASHES", 8) / 2; n_crashes++, other = !other) {
        wait_for_work(&c, &rng, 10000);
        farm_crash(&f[!other]);
        killed_ns = clock_now_ns();
        assert_int_equal(active_of(f), other);
        printf("the other listens after %.0f ms\n", (double)(clock_now_ns() - killed_ns) / 1e6);
        farm_restart(&f[!other]);
    }
    crew_end(&c, n_crashes);
    farm_stop(&f[0]);
    farm_stop(&f[1]);
}

static void a_server_that_is_killed_loses_nothing_that_was_acknowledged(void **state)
{
    char store[640], urls[256];
    struct farm f[2];
    static struct crew c;
    struct rng rng;
    int n_crashes = 0, ended;

    (void)state;
    rng_init(&rng, (uint64_t)setting("TUNE_SEED", 1));
    pair_start(f, store, sizeof store, urls, sizeof urls);
    crew_start(&c, urls);
    for (; works(&c) && n_crashes < 2; n_crashes++) {
        wait_for_work(&c, &rng, 10000);
        postgres_crash(&server);
        ended = expect_end(f);
        postgres_restart(&server); /* the other stands by until then */
        assert_int_equal(active_of(f), !ended);
        farm_restart(&f[ended]);
    }
    crew_end(&c, n_crashes);
    farm_stop(&f[0]);
    farm_stop(&f[1]);
}

/* It holds no lock for ever, and does nothing with the store when it goes on. */
static void a_tracker_that_is_stopped_loses_the_store_and_ends(void **state)
{
    char store[640], urls[256];
    struct farm f[2];
    static struct crew c;
    struct rng rng;

    (void)state;
    rng_init(&rng, (uint64_t)setting("TUNE_SEED", 1));
    pair_start(f, store, sizeof store, urls, sizeof urls);
    crew_start(&c, urls);
    wait_for_work(&c, &rng, 10000);
    kill(f[0].pid, SIGSTOP);
    client_close(farm_client(&f[1], "next")); /* it has taken over */
    wait_for_work(&c, &rng, 20000);
    kill(f[0].pid, SIGCONT);
    assert_int_equal(expect_end(f), 0);
    crew_end(&c, 0);
    f[0].pid = 0;
    farm_stop(&f[0]);
    farm_stop(&f[1]);
}

/* Of the machine of the server, say: the sessions stay, and nothing comes by them. */
static void a_server_that_stands_still_ends_its_tracker_and_loses_nothing(void **state)
{
    char store[640], urls[256];
    struct farm f[2];
    static struct crew c;
    struct rng rng;
    int ended, status = 0;

    (void)state;
    rng_init(&rng, (uint64_t)setting("TUNE_SEED", 1));
    pair_start(f, store, sizeof store, urls, sizeof urls);
    crew_start(&c, urls);
    for (int told = 0; works(&c) && told < 2; told++) { /* by itself, and when it is told to end */
        wait_for_work(&c, &rng, 10000);
        ended = active_of(f);
        postgres_signal(&server, SIGSTOP);
        if (told) {
            kill(f[ended].pid, SIGTERM);
            assert_int_equal(proc_wait(f[ended].pid, 60000, &status), ERR_OK);
            assert_true(WIFEXITED(status));
        } else {
            assert_int_equal(expect_end(f), ended);
        }
        postgres_signal(&server, SIGCONT);
        assert_int_equal(active_of(f), !ended);
        farm_restart(&f[ended]);
    }
    crew_end(&c, 0);
    farm_stop(&f[0]);
    farm_stop(&f[1]);
}

static void a_standby_whom_the_server_refuses_ends(void **state)
{
    char store[640];
    struct farm f = {.store = store, .standby = true};
    int status = 0;

    (void)state;
    snprintf(store, sizeof store, "postgres://nobody-at-all@/postgres?host=%s", server.dir);
    farm_start(&f);
    assert_int_equal(proc_wait(f.pid, 10000, &status), ERR_OK);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    f.pid = 0;
    farm_stop(&f);
}

/* ---- three trackers, two parts ---- */

#define N_PARTS 2
#define N_TRACKERS 3

static int n_listening(const struct farm f[N_TRACKERS])
{
    int n = 0;

    for (int i = 0; i < N_TRACKERS; i++)
        n += f[i].pid && listens(&f[i]);
    return n;
}

static void wait_for_all_parts(const struct farm f[N_TRACKERS])
{
    for (int i = 0; i < 3000 && n_listening(f) < N_PARTS; i++)
        clock_sleep_ms(10);
    assert_int_equal(n_listening(f), N_PARTS);
}

static void parts_start(struct farm f[N_TRACKERS], char *store, size_t n_store, char *urls, size_t n_urls)
{
    char where[512];

    postgres_place(&server, where, sizeof where);
    snprintf(store, n_store, "postgres:%s", where);
    *urls = '\0';
    for (int i = 0; i < N_TRACKERS; i++) {
        f[i] = (struct farm){.store = store, .standby = true, .more = {"--lease", "3", "--parts", "2"}};
        farm_start(&f[i]);
        snprintf(urls + strlen(urls), n_urls - strlen(urls), "%s%s", i ? "," : "", f[i].url);
    }
    wait_for_all_parts(f);
}

/* One that has a part. */
static int some_tracker(const struct farm f[N_TRACKERS], struct rng *rng)
{
    int i = (int)rng_below(rng, N_TRACKERS);

    while (!f[i].pid || !listens(&f[i]))
        i = (i + 1) % N_TRACKERS;
    return i;
}

/* What `tune devices` and `tune list` ask for. */
static void check_lists(const char *urls)
{
    struct farm all = {.key_file = NULL};
    struct client *c;
    cJSON *tree = NULL;

    snprintf(all.url, sizeof all.url, "%.127s", urls);
    c = farm_client(&all, "user");
    assert_int_equal(client_parts(c), N_PARTS);
    assert_int_equal(client_all_devices(c, NULL, &tree, NULL), ERR_OK);
    assert_int_equal(count_in(tree, "devices"), 2 * N_PARTS);
    cJSON_Delete(tree);
    for (int part = 1; part <= N_PARTS; part++) {
        cJSON *job = farm_must(c, "job_status", "{'job':'j%d'}", part);

        assert_int_equal(number_in(object_in(job, "trials"), "done"), N_TRIALS);
        cJSON_Delete(job);
    }
    client_close(c);
}

static const char *key_of(int64_t part, char key[8])
{
    for (int i = 0; i < 100; i++) {
        snprintf(key, 8, "k%d", i);
        if (part_of_key(key, N_PARTS) == part)
            return key;
    }
    fail_msg("no key is of part %d", (int)part);
    return "";
}

static void trackers_that_are_killed_leave_their_parts_to_others(void **state)
{
    char store[640], urls[400], keys[N_PARTS][8];
    struct farm f[N_TRACKERS];
    static struct crew crews[N_PARTS];
    struct rng rng;
    int n_crashes = 0;

    (void)state;
    rng_init(&rng, (uint64_t)setting("TUNE_SEED", 1));
    parts_start(f, store, sizeof store, urls, sizeof urls);
    for (int i = 0; i < N_PARTS; i++)
        crew_start_at(&crews[i], urls, key_of(i + 1, keys[i]), 6 * setting("TUNE_CRASHES", 8));
    for (; works(&crews[0]) && works(&crews[1]) && n_crashes < setting("TUNE_CRASHES", 8); n_crashes++) {
        int victim;

        for (int i = 0; i < N_PARTS; i++)
            wait_for_work(&crews[i], &rng, 20000);
        victim = some_tracker(f, &rng);
        farm_crash(&f[victim]);
        wait_for_all_parts(f);
        farm_restart(&f[victim]);
    }
    for (int i = 0; i < N_PARTS; i++)
        crew_end(&crews[i], n_crashes);
    check_lists(urls);
    for (int i = 0; i < N_TRACKERS; i++)
        farm_stop(&f[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest alone[] = {
        cmocka_unit_test(killing_the_tracker_loses_nothing_that_was_acknowledged),
    };
    const struct CMUnitTest of_two[] = {
        cmocka_unit_test(a_standby_takes_over_from_a_tracker_that_is_killed),
        cmocka_unit_test(a_server_that_is_killed_loses_nothing_that_was_acknowledged),
        cmocka_unit_test(a_tracker_that_is_stopped_loses_the_store_and_ends),
        cmocka_unit_test(a_server_that_stands_still_ends_its_tracker_and_loses_nothing),
        cmocka_unit_test(a_standby_whom_the_server_refuses_ends),
        cmocka_unit_test(trackers_that_are_killed_leave_their_parts_to_others),
    };
    int n_failed;

    (void)argv;
    if (argc == 1)
        return cmocka_run_group_tests(alone, NULL, NULL);
    if (!postgres_start(&server))
        return 77;
    n_failed = cmocka_run_group_tests(of_two, NULL, NULL);
    postgres_stop(&server);
    return n_failed;
}
