/* SPDX-License-Identifier: MIT */
/* A farm's load from one thread with epoll: idle agents whose long polls wait, clients that lease and answer trials as
 * fast as they can, and the time from a trial's being sent to its being granted. Speaks nng's req protocol itself, so
 * that it costs next to nothing beside the tracker. Usage: bench_farm [idle agents] [clients] [seconds]
 * [postgres [trackers]|tls]: the store on a PostgreSQL server that it starts, which syncs, and the farm in parts of so
 * many trackers; or all of it over TLS. */
#include "tests/tracker/farm.h"
#include "tests/tracker/postgres.h"

#include "core/clock.h"
#include "core/entropy.h"
#include "core/file.h"
#include "core/proc.h"
#include "tracker/certs.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#ifdef HAVE_TLS
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>
#endif
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#define MAX_CONNS 16000
#define MAX_TRACKERS 8
#define BATCH 64
#define HEAD 24 /* of a message: length, request's number, then TUN1, version, bytes of JSON */
#define N_MATCHES 200
#define POLL_MS 50000 /* of idle agents, as agent/enlist.h has it, and how often they tell that they live */
#define BEAT_MS 300000
#define N_BEATERS 16 /* connections by which all idle agents' beats go */

enum kind { KIND_IDLE, KIND_BEATER, KIND_CLIENT };
enum step { STEP_ADD, STEP_LEASE, STEP_RESULT };

struct conn {
    int fd;
    enum kind kind;
    enum step step;
    int i, n_added, n_done;
    char job[24], session[REQUEST_ID_HEX + 1];
    int64_t ctr, start_ns;
    struct buf in;
#ifdef HAVE_TLS
    mbedtls_ssl_context *tls; /* NULL = none */
#endif
};

static struct conn conns[MAX_CONNS];
static int n_conns, epoll_fd;
static double *calls_ms; /* of each call of a client */
static size_t n_calls, cap_calls;

/* ---- messages ---- */

static void put_u32(unsigned char *p, uint32_t v, bool big)
{
    for (int i = 0; i < 4; i++)
        p[big ? 3 - i : i] = (unsigned char)(v >> (8 * i));
}

#ifdef HAVE_TLS
static mbedtls_ssl_config tls_config;
static mbedtls_x509_crt tls_ca;

static int random_bytes(void *arg, unsigned char *out, size_t n)
{
    (void)arg;
    return entropy_fill(NULL, out, n) == ERR_OK ? 0 : -1;
}

static int net_send(void *arg, const unsigned char *bytes, size_t n)
{
    return (int)write(((struct conn *)arg)->fd, bytes, n);
}

static int net_receive(void *arg, unsigned char *out, size_t n)
{
    return (int)read(((struct conn *)arg)->fd, out, n);
}

static void start_tls(struct conn *c)
{
    c->tls = calloc(1, sizeof *c->tls);
    mbedtls_ssl_init(c->tls);
    mbedtls_ssl_set_bio(c->tls, c, net_send, net_receive, NULL);
    if (mbedtls_ssl_setup(c->tls, &tls_config) != 0 || mbedtls_ssl_set_hostname(c->tls, "127.0.0.1") != 0 ||
        mbedtls_ssl_handshake(c->tls) != 0)
        fail_msg("connection %d: no TLS", c->i);
}

static void end_tls(struct conn *c)
{
    if (c->tls)
        mbedtls_ssl_free(c->tls);
    free(c->tls);
}

static ssize_t put(struct conn *c, const void *bytes, size_t n)
{
    return c->tls ? mbedtls_ssl_write(c->tls, bytes, n) : write(c->fd, bytes, n);
}

static ssize_t get(struct conn *c, void *out, size_t n)
{
    return c->tls ? mbedtls_ssl_read(c->tls, out, n) : read(c->fd, out, n);
}
#else
static void start_tls(struct conn *c)
{
    fail_msg("connection %d: built without TLS", c->i);
}

static void end_tls(struct conn *c)
{
    (void)c;
}

static ssize_t put(struct conn *c, const void *bytes, size_t n)
{
    return write(c->fd, bytes, n);
}

static ssize_t get(struct conn *c, void *out, size_t n)
{
    return read(c->fd, out, n);
}
#endif

static void send_all(struct conn *c, const void *bytes, size_t n)
{
    const char *p = bytes;

    while (n) {
        const ssize_t got = put(c, p, n);

        if (got < 0 && errno == EAGAIN)
            continue;
        if (got <= 0)
            fail_msg("the tracker is gone: %s", strerror(errno));
        p += got;
        n -= (size_t)got;
    }
}

static void request(struct conn *c, const char *op, const char *args)
{
    static int64_t n_ids;
    static char text[65536];
    unsigned char *head = (unsigned char *)text;
    const int n = snprintf(text + HEAD, sizeof text - HEAD,
                           "{\"op\":\"%s\",\"id\":\"%032llx\",\"session\":\"%s\",\"ctr\":%lld,\"args\":%s}", op,
                           (long long)++n_ids, c->session, (long long)++c->ctr, args);

    assert(n > 0 && (size_t)n < sizeof text - HEAD);
    memset(head, 0, HEAD);
    put_u32(head + 4, (uint32_t)(n + HEAD - 8), true);
    put_u32(head + 8, 0x80000000u | (uint32_t)(c->ctr & 0xffffff), true);
    memcpy(head + 12, "TUN1\1\0\0\0", 8);
    put_u32(head + 20, (uint32_t)n, false);
    c->start_ns = clock_now_ns();
    send_all(c, text, (size_t)n + HEAD);
}

/* The JSON of a whole reply, or NULL while it is not all there. */
static char *reply_of(struct conn *c)
{
    const unsigned char *p = (const unsigned char *)c->in.data;

    if (c->in.len < HEAD || c->in.len < 8 + ((size_t)p[5] << 16 | (size_t)p[6] << 8 | p[7]))
        return NULL;
    if (!strstr(c->in.data + HEAD, "\"ok\":true"))
        fail_msg("refused: %s", c->in.data + HEAD);
    return c->in.data + HEAD;
}

static void receive(struct conn *c)
{
    char *room = buf_room(&c->in, 65536);
    const ssize_t got = get(c, room, 65536);

    if (got <= 0 && errno != EAGAIN)
        fail_msg("the tracker is gone: %s", strerror(errno));
    if (got > 0) {
        c->in.len += (size_t)got;
        c->in.data[c->in.len] = '\0';
    }
}

/* A call of its own, answered before this returns; lends the reply until the next. */
static const char *ask(struct conn *c, const char *op, const char *args)
{
    const char *reply;

    buf_clear(&c->in);
    request(c, op, args);
    while (!(reply = reply_of(c)))
        receive(c);
    return reply;
}

static void copy_text(const char *reply, const char *name, char *out, size_t n_out)
{
    char what[40];
    const char *at;

    snprintf(what, sizeof what, "\"%s\":\"", name);
    at = strstr(reply, what);
    if (!at)
        fail_msg("no %s in %s", name, reply);
    at += strlen(what);
    snprintf(out, n_out, "%.*s", (int)strcspn(at, "\""), at);
}

/* ---- peers ---- */

static struct conn *dial(const char *url, enum kind kind)
{
    static const unsigned char hello[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
    const int one = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct conn *c = &conns[n_conns];
    char args[80];
    unsigned char theirs[8];

    assert(n_conns < MAX_CONNS);
    *c = (struct conn){.kind = kind, .i = n_conns++};
    buf_init(&c->in, (size_t)8 << 20);
    to.sin_port = htons((uint16_t)strtol(strrchr(url, ':') + 1, NULL, 10));
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0)
        fail_msg("connection %d: %s", c->i, strerror(errno));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (strncmp(url, "tls+", 4) == 0)
        start_tls(c);
    send_all(c, hello, sizeof hello);
    if (get(c, theirs, sizeof theirs) != sizeof theirs)
        fail_msg("connection %d: no handshake", c->i);
    snprintf(args, sizeof args, "{\"nonce\":\"%032x\",\"versions\":[1]}", c->i);
    copy_text(ask(c, "hello", args), "session", c->session, sizeof c->session);
    return c;
}

static struct conn *agent(const char *url, enum kind kind, const char *key)
{
    struct conn *c = dial(url, kind);
    char args[300];

    snprintf(args, sizeof args, "{\"agent\":\"a%d\",\"nonce\":\"n\",\"key\":\"%s\",\"fingerprint\":\"%s\"}", c->i, key,
             hash_of(1));
    ask(c, "agent_register", args);
    buf_clear(&c->in);
    return c;
}

static void watch(struct conn *c)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};

    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &ev);
}

static void send_lease(struct conn *c, int64_t wait_ms)
{
    char args[120];

    snprintf(args, sizeof args, "{\"agent\":\"a%d\",\"max\":1,\"wait_ms\":%lld%s}", c->i, (long long)wait_ms,
             wait_ms ? ",\"load\":0.5,\"temperature\":40" : "");
    request(c, "trial_lease", args);
}

static void send_add(struct conn *c, int n)
{
    static char args[60000];
    int at = snprintf(args, sizeof args, "{\"job\":\"%s\",\"token\":1,\"trials\":[", c->job);

    for (int i = 0; i < n; i++, c->n_added++)
        at += snprintf(args + at, sizeof args - (size_t)at, "%s{\"n\":%d,\"program\":\"%s\",\"body\":{}}", i ? "," : "",
                       c->n_added, hash_of(c->n_added));
    snprintf(args + at, sizeof args - (size_t)at, "]}");
    request(c, "trial_add", args);
}

static void submit(struct conn *c, const char *key)
{
    char args[80];

    snprintf(args, sizeof args, "{\"key\":\"%s\",\"body\":\"b\",\"lease\":true}", key);
    copy_text(ask(c, "job_submit", args), "job", c->job, sizeof c->job);
    buf_clear(&c->in);
}

static void send_result(struct conn *c, const char *lease)
{
    const char *token = strstr(lease, "\"token\":");
    char args[900], trial[24];

    assert_non_null(token);
    copy_text(lease, "trial", trial, sizeof trial);
    snprintf(
        args, sizeof args,
        "{\"trial\":\"%s\",\"token\":%lld,\"envelope\":{\"status\":\"ok\",\"time_ns\":1,\"flops\":1,\"device_ms\":1},"
        "\"record\":\"%0500d\"}",
        trial, strtoll(token + strlen("\"token\":"), NULL, 10), 1);
    request(c, "trial_result", args);
}

static void note(double ms)
{
    if (n_calls < cap_calls)
        calls_ms[n_calls++] = ms;
}

static int n_idle = 20, n_beaten, n_beaters;
static int n_trackers = 1;              /* each has a part of the farm */
static int64_t beats_ns;                /* of the first beat; 0 = there are none */
static struct conn *beaters[N_BEATERS]; /* without a request under way */

/* The beats that are due, evenly over all idle agents. */
static void send_beats(void)
{
    const int64_t past_ms = (clock_now_ns() - beats_ns) / 1000000;
    char args[160];

    while (beats_ns && n_beaters && n_beaten < past_ms * n_idle / BEAT_MS) {
        snprintf(args, sizeof args, "{\"agent\":\"a%d\",\"state\":\"idle\",\"load\":0.5,\"temperature\":40}",
                 n_beaten++ % n_idle);
        request(beaters[--n_beaters], "agent_beat", args);
    }
}

static void next_step(struct conn *c, const char *reply)
{
    if (c->kind == KIND_IDLE) {
        send_lease(c, POLL_MS);
        return;
    }
    if (c->kind == KIND_BEATER) {
        beaters[n_beaters++] = c;
        return;
    }
    note((double)(clock_now_ns() - c->start_ns) / 1e6);
    if (c->step == STEP_LEASE) {
        c->step = STEP_RESULT;
        send_result(c, reply);
        return;
    }
    c->n_done += c->step == STEP_RESULT;
    if (c->step == STEP_RESULT && c->n_done == c->n_added) {
        c->step = STEP_ADD;
        send_add(c, BATCH);
        return;
    }
    c->step = STEP_LEASE;
    send_lease(c, 0);
}

/* Everything that comes until then, or until `only` has its reply (left in its buffer). */
static void serve(int64_t until_ns, const struct conn *only)
{
    struct epoll_event got[64];

    while (clock_now_ns() < until_ns) {
        const int n = epoll_wait(epoll_fd, got, 64, 10);

        send_beats();

        for (int i = 0; i < n; i++) {
            struct conn *c = got[i].data.ptr;
            const char *reply;

            receive(c);
            reply = reply_of(c);
            if (!reply)
                continue;
            if (c == only)
                return;
            /* the reply is used before its room is: requests are copied out of it first */
            next_step(c, reply);
            buf_clear(&c->in);
        }
    }
}

/* ---- figures ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double part(double *v, size_t n, double q)
{
    qsort(v, n, sizeof *v, by_value);
    return n ? v[(size_t)(q * (double)(n - 1))] : 0;
}

static double cpu_s(pid_t pid)
{
    char path[40], text[1024] = "";
    unsigned long user = 0, sys = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (f && fgets(text, sizeof text, f))
        sscanf(strrchr(text, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys);
    if (f)
        fclose(f);
    return (double)(user + sys) / (double)sysconf(_SC_CLK_TCK);
}

static void measure_idle(const struct farm *f, int n, double seconds)
{
    const double before = cpu_s(f->pid);

    serve(clock_now_ns() + (int64_t)(seconds * 1e9), NULL);
    printf("%d idle agents: %.1f %% of a core, %.1f MB\n", n, 100 * (cpu_s(f->pid) - before) / seconds,
           (double)proc_rss_bytes(f->pid) / 1e6);
}

/* The tracker of a key's part. */
static const struct farm *tracker_of(const struct farm *f, const char *key)
{
    return &f[part_of_key(key, n_trackers) - 1];
}

/* An agent of a key of its own waits, its job gets a trial, the agent has it. */
static void measure_match(const struct farm *farms)
{
    const struct farm *f = tracker_of(farms, "match");
    struct conn *a = agent(f->url, KIND_CLIENT, "match"), *job = dial(f->url, KIND_CLIENT);
    double ms[N_MATCHES];

    submit(job, "match");
    watch(a);
    for (int i = 0; i < N_MATCHES; i++) {
        int64_t start_ns;

        buf_clear(&a->in);
        send_lease(a, 20000);
        serve(clock_now_ns() + 3000000, a);
        start_ns = clock_now_ns();
        send_add(job, 1);
        serve(start_ns + INT64_C(5000000000), a);
        ms[i] = (double)(clock_now_ns() - start_ns) / 1e6;
        while (!reply_of(job))
            receive(job);
        buf_clear(&job->in);
    }
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, a->fd, NULL);
    printf("match: p50 %.2f ms, p99 %.2f ms\n", part(ms, N_MATCHES, 0.5), part(ms, N_MATCHES, 0.99));
}

/* As many clients at each tracker, as far as it goes: key "k<i>", with a letter behind that leads there. */
static void key_of(int i, char key[16])
{
    for (char letter = 'a'; letter <= 'z'; letter++) {
        snprintf(key, 16, "k%d%c", i, letter);
        if (part_of_key(key, n_trackers) == 1 + i % n_trackers)
            return;
    }
}

static double cpu_of_all(const struct farm *f)
{
    double sum = 0;

    for (int i = 0; i < n_trackers; i++)
        sum += cpu_s(f[i].pid);
    return sum;
}

static void measure_cycles(const struct farm *f, int n, double seconds)
{
    const int first = n_conns;
    double before;
    long sum = 0;

    cap_calls = 10000000;
    calls_ms = malloc(cap_calls * sizeof *calls_ms);
    for (int i = 0; i < n; i++) {
        char key[16];
        struct conn *c;

        key_of(i, key);
        c = agent(tracker_of(f, key)->url, KIND_CLIENT, key);
        submit(c, key);
    }
    before = cpu_of_all(f);
    for (int i = first; i < n_conns; i++) {
        watch(&conns[i]);
        send_add(&conns[i], BATCH);
    }
    serve(clock_now_ns() + (int64_t)(seconds * 1e9), NULL);
    for (int i = first; i < n_conns; i++)
        sum += conns[i].n_done;
    printf("%d clients: %.0f lease+result cycles/s (2 durable calls each), a call p50 %.2f ms, p99 %.2f ms, %.0f us of "
           "CPU "
           "a cycle\n",
           n, (double)sum / seconds, part(calls_ms, n_calls, 0.5), part(calls_ms, n_calls, 0.99),
           1e6 * (cpu_of_all(f) - before) / (double)(sum ? sum : 1));
    free(calls_ms);
}

static int n_clients = 4;
static double seconds = 1;
static struct postgres server = {.durable = true};
static bool with_tls;

#ifdef HAVE_TLS
static void use_tls(struct farm *f, const char *dir, char cert[300])
{
    const int64_t now = clock_wall_ms() / 1000;
    const struct cert_order ca = {.name = "bench", .from_s = now - 86400, .until_s = now + 86400},
                            own = {.name = "x", .hosts = "127.0.0.1", .from_s = now - 86400, .until_s = now + 86400};
    char path[300];

    snprintf(cert, 300, "%s/tracker.pem", dir);
    snprintf(path, sizeof path, "%s/ca.pem", dir);
    assert_int_equal(certs_make_ca(dir, &ca, NULL), ERR_OK);
    assert_int_equal(certs_issue(dir, &own, cert, NULL), ERR_OK);
    assert_int_equal(mbedtls_x509_crt_parse_file(&tls_ca, path), 0);
    mbedtls_ssl_config_defaults(&tls_config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                MBEDTLS_SSL_PRESET_DEFAULT);
    mbedtls_ssl_conf_ca_chain(&tls_config, &tls_ca, NULL);
    mbedtls_ssl_conf_rng(&tls_config, random_bytes, NULL);
    f->listen = "tls+tcp://127.0.0.1:0";
    f->more[0] = "--cert";
    f->more[1] = cert;
}
#else
static void use_tls(struct farm *f, const char *dir, char cert[300])
{
    (void)f;
    (void)dir;
    (void)cert;
    fail_msg("built without TLS");
}
#endif

static void bench(void **state)
{
    struct farm f[MAX_TRACKERS] = {{.more = {NULL}}};
    char where[512], store[560], dir[256], cert[300], parts[16];
    int64_t start_ns;

    (void)state;
    if (server.pid) {
        postgres_place(&server, where, sizeof where);
        snprintf(store, sizeof store, "postgres:%s", where);
        snprintf(parts, sizeof parts, "%d", n_trackers);
        for (int i = 0; i < n_trackers; i++)
            f[i] = (struct farm){.store = store, .more = {"--parts", parts}};
    }
    assert_int_equal(dir_temporary("tune-bench", dir, sizeof dir, NULL), ERR_OK);
    if (with_tls)
        use_tls(f, dir, cert);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < n_trackers; i++)
        farm_start(&f[i]); /* it takes the next part */
    start_ns = clock_now_ns();
    for (int i = 0; i < n_idle; i++) {
        struct conn *c = agent(tracker_of(f, "idle")->url, KIND_IDLE, "idle");

        watch(c);
        send_lease(c, 1000 + (int64_t)i * (POLL_MS - 1000) / n_idle); /* from now on evenly over the time */
    }
    for (int i = 0; n_idle && i < N_BEATERS; i++) {
        beaters[n_beaters++] = dial(tracker_of(f, "idle")->url, KIND_BEATER);
        buf_clear(&beaters[i]->in);
        watch(beaters[i]);
    }
    beats_ns = n_idle ? clock_now_ns() : 0;
    printf("%s: %d agents came in %.2f s, %.2f ms of CPU each\n", with_tls ? "TLS" : "no TLS", n_idle,
           (double)(clock_now_ns() - start_ns) / 1e9, 1e3 * cpu_of_all(f) / (n_idle ? n_idle : 1));
    if (n_idle)
        measure_idle(tracker_of(f, "idle"), n_idle, seconds);
    measure_match(f);
    if (n_clients)
        measure_cycles(f, n_clients, seconds);
    for (int i = 0; i < n_conns; i++) {
        end_tls(&conns[i]);
        close(conns[i].fd);
        buf_fini(&conns[i].in);
    }
    for (int i = 0; i < n_trackers; i++)
        farm_stop(&f[i]);
    dir_remove(dir);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bench)};
    struct rlimit l;
    int n_failed;

    if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
        l.rlim_cur = l.rlim_max;
        setrlimit(RLIMIT_NOFILE, &l);
    }
    if (argc > 1)
        n_idle = (int)strtol(argv[1], NULL, 10);
    if (argc > 2)
        n_clients = (int)strtol(argv[2], NULL, 10);
    if (argc > 3)
        seconds = strtod(argv[3], NULL);
    with_tls = argc > 4 && strcmp(argv[4], "tls") == 0;
    if (argc > 4 && !with_tls && strcmp(argv[4], "postgres") != 0) {
        fprintf(stderr, "bench_farm: '%s': expected postgres or tls\n", argv[4]);
        return 2;
    }
    if (argc > 5 && !with_tls)
        n_trackers = (int)strtol(argv[5], NULL, 10);
    if (n_trackers < 1 || n_trackers > MAX_TRACKERS) {
        fprintf(stderr, "bench_farm: '%s': expected 1 to %d trackers\n", argv[5], MAX_TRACKERS);
        return 2;
    }
    if (argc > 4 && !with_tls && !postgres_start(&server))
        return 77;
    n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (server.pid)
        postgres_stop(&server);
    return n_failed;
}
