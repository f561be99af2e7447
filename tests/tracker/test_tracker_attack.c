/* SPDX-License-Identifier: MIT */
/* Strangers at the tracker's port: garbage, lengths of 4 GB, thousands of silent connections, wrong keys, repeated
 * messages. */
#include "tests/tracker/farm.h"
#include "tests/tracker/knock.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/proc.h"
#include "core/rng.h"
#include "tracker/protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#define N_SILENT 2000
#define RSS_ALLOWED ((int64_t)64 << 20)

static void still_serves(const struct farm *f, int64_t idle_bytes, const char *after)
{
    struct client *c = farm_client(f, "witness");
    int64_t now = proc_rss_bytes(f->pid);

    for (int i = 0; i < 250 && now - idle_bytes > RSS_ALLOWED; i++) { /* nng frees what is closed in its own time */
        clock_sleep_ms(20);
        now = proc_rss_bytes(f->pid);
    }
    farm_do(c, "status", "{}");
    client_close(c);
    printf("%s: resident %.1f MiB above idle\n", after, (double)(now - idle_bytes) / 1048576);
    if (now - idle_bytes > RSS_ALLOWED)
        fail_msg("resident %lld bytes, %lld at rest", (long long)now, (long long)idle_bytes);
}

static void throw_garbage(int port)
{
    static const unsigned char sp_head[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
    unsigned char bytes[512];
    struct rng rng;

    rng_init(&rng, 3);
    for (int i = 0; i < 200; i++) {
        const int fd = dial(port);
        size_t n = 0;

        if (fd < 0)
            continue;
        if (i % 2) { /* a right beginning, then nonsense */
            memcpy(bytes, sp_head, n = sizeof sp_head);
            memset(bytes + n, i % 4 == 1 ? 0 : 0xff, 8);
            bytes[n + 7] = (unsigned char)rng_below(&rng, 64);
            n += 8;
        }
        while (n < sizeof bytes)
            bytes[n++] = (unsigned char)rng_next(&rng);
        (void)!send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
        close(fd);
    }
}

/* Announces 4 GB and more behind a right beginning and sends a little. */
static void announce_gigabytes(int port, int fds[64])
{
    static const unsigned char head[16] = {0, 'S', 'P', 0, 0, 0x30, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0};
    unsigned char some[4096] = {0};

    for (int i = 0; i < 64; i++) {
        fds[i] = dial(port);
        if (fds[i] < 0)
            continue;
        (void)!send(fds[i], head, sizeof head, MSG_NOSIGNAL);
        for (int k = 0; k < 64; k++)
            (void)!send(fds[i], some, sizeof some, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void strangers_are_closed_or_ignored(void **state)
{
    struct farm f = {.more = {NULL}};
    static int silent[N_SILENT];
    int big[64], n_open = 0;
    int64_t idle;
    struct rlimit l;
    struct client *c;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = l.rlim_max < 4096 ? l.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &l);
    farm_start(&f);
    c = farm_client(&f, "first");
    farm_do(c, "status", "{}");
    client_close(c);
    idle = proc_rss_bytes(f.pid);
    throw_garbage(port_of(f.url));
    still_serves(&f, idle, "garbage");
    announce_gigabytes(port_of(f.url), big);
    still_serves(&f, idle, "4 GB announced");
    for (int i = 0; i < N_SILENT; i++)
        n_open += (silent[i] = dial(port_of(f.url))) >= 0;
    printf("%d silent connections\n", n_open);
    still_serves(&f, idle, "silent connections");
    for (int i = 0; i < 64; i++)
        if (big[i] >= 0)
            close(big[i]);
    for (int i = 0; i < N_SILENT; i++)
        if (silent[i] >= 0)
            close(silent[i]);
    still_serves(&f, idle, "after all");
    farm_stop(&f);
}

/* Begins a message of 4 MiB and sends all of it but a byte, as far as it is taken. */
static void send_half(int fd, const unsigned char *zeros, size_t n)
{
    unsigned char head[16] = {0, 'S', 'P', 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    for (int i = 0; i < 8; i++)
        head[15 - i] = (unsigned char)(n >> (8 * i));
    if (fd < 0 || send(fd, head, sizeof head, MSG_NOSIGNAL) != (ssize_t)sizeof head)
        return;
    for (size_t at = 0; at + 1 < n;) {
        const ssize_t k = send(fd, zeros + at, n - 1 - at, MSG_NOSIGNAL);

        if (k <= 0)
            return;
        at += (size_t)k;
    }
}

static void half_messages_of_strangers_do_not_hold_memory(void **state)
{
    enum { N = 200 };
    const size_t n_bytes = MESSAGE_MAX_BYTES;
    unsigned char *zeros = calloc(1, n_bytes);
    struct farm f = {.more = {NULL}};
    int64_t idle, most = 0;
    int fds[N];

    (void)state;
    farm_start(&f);
    still_serves(&f, proc_rss_bytes(f.pid), "before");
    idle = proc_rss_bytes(f.pid);
    for (int i = 0; i < N; i++) {
        fds[i] = dial(port_of(f.url));
        send_half(fds[i], zeros, n_bytes);
        if (proc_rss_bytes(f.pid) > most)
            most = proc_rss_bytes(f.pid);
    }
    printf("200 half messages: resident %.1f MiB at rest, %.1f at most\n", (double)idle / 1048576,
           (double)most / 1048576);
    assert_int_equal(await_closed(fds, N, 0, 10000), 0);
    for (int i = 0; i < 250 && proc_rss_bytes(f.pid) > idle + ((int64_t)16 << 20); i++)
        clock_sleep_ms(20);
    still_serves(&f, idle, "200 half messages");
    assert_true(proc_rss_bytes(f.pid) <= idle + ((int64_t)16 << 20));
    for (int i = 0; i < N; i++)
        close(fds[i]);
    free(zeros);
    farm_stop(&f);
}

/* Also when the connection is new, and nobody knows whose: a hello goes before the second try. */
static void who_is_known_may_send_large_messages(void **state)
{
    static unsigned char bytes[600000];
    struct farm f = {.more = {NULL}};
    struct client *c;
    struct blobs set;
    struct why why = {""};

    (void)state;
    farm_start(&f);
    c = farm_client(&f, "large");
    blobs_init(&set, sizeof bytes);
    for (int i = 0; i < 5; i++) {
        bytes[0] = (unsigned char)i;
        blobs_fini(&set);
        blobs_init(&set, sizeof bytes);
        assert_int_equal(blobs_put(&set, bytes, sizeof bytes, NULL), ERR_OK);
        if (i == 3) {
            farm_crash(&f);
            farm_restart(&f);
        }
        if (client_put_blobs(c, &set, &why) != ERR_OK)
            fail_msg("%s", why.text);
    }
    blobs_fini(&set);
    client_close(c);
    farm_stop(&f);
}

/* A connection that says hello to nng and then nothing, and those beside it of the same address. */
static void strangers_who_wait_are_closed_those_beyond_64_first(void **state)
{
    enum { N = 100 };
    struct farm f = {.more = {NULL}};
    int fds[N];

    (void)state;
    farm_start(&f);
    for (int i = 0; i < N; i++) {
        fds[i] = dial(port_of(f.url));
        (void)!send(fds[i], knock_head, sizeof knock_head, MSG_NOSIGNAL);
    }
    assert_int_equal(await_closed(fds, N, 64, 8000), 64); /* the others may stay for a while */
    still_serves(&f, proc_rss_bytes(f.pid), "strangers who wait");
    assert_int_equal(await_closed(fds, N, 0, 25000), 0);
    for (int i = 0; i < N; i++)
        close(fds[i]);
    farm_stop(&f);
}

/* ---- where few files may be open: the last of the tests, for limits only sink ---- */

#define N_FILES 400
#define N_CONNECTIONS (N_FILES - 128)

static void allow_few_files(void)
{
    const struct rlimit few = {N_FILES, N_FILES};

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

/* Ten of each address, so that none has a crowd. */
static void strangers_of_many_addresses_are_bounded_too(void **state)
{
    enum { N = 100 };
    struct farm f = {.more = {NULL}};
    int fds[N];

    (void)state;
    allow_few_files();
    farm_start(&f);
    for (int i = 0; i < N; i++) {
        fds[i] = dial_from(2 + i / 10, port_of(f.url));
        (void)!send(fds[i], knock_head, sizeof knock_head, MSG_NOSIGNAL);
    }
    assert_true(await_closed(fds, N, N_CONNECTIONS / 8 + 1, 8000) <= N_CONNECTIONS / 8 + 1);
    still_serves(&f, proc_rss_bytes(f.pid), "strangers of ten addresses");
    for (int i = 0; i < N; i++)
        close(fds[i]);
    farm_stop(&f);
}

static void one_more_than_the_connections_there_are_is_refused(void **state)
{
    struct farm f = {.more = {NULL}};
    struct client *known[N_CONNECTIONS];
    int fd;

    (void)state;
    allow_few_files();
    farm_start(&f);
    for (int i = 0; i < N_CONNECTIONS; i++)
        known[i] = farm_client(&f, "known");
    fd = dial(port_of(f.url));
    (void)!send(fd, knock_head, sizeof knock_head, MSG_NOSIGNAL);
    assert_int_equal(await_closed(&fd, 1, 0, 5000), 0);
    close(fd);
    for (int i = 0; i < N_CONNECTIONS; i++)
        farm_do(known[i], "status", "{}");
    client_close(known[0]);
    known[0] = farm_client(&f, "in its place");
    for (int i = 0; i < N_CONNECTIONS; i++)
        client_close(known[i]);
    farm_stop(&f);
}

/* ---- hand-made messages ---- */

static nng_msg *raw_exchange(nng_socket s, const void *bytes, size_t n)
{
    nng_msg *m = NULL;

    assert_int_equal(nng_msg_alloc(&m, 0), 0);
    assert_int_equal(nng_msg_append(m, bytes, n), 0);
    assert_int_equal(nng_sendmsg(s, m, 0), 0);
    assert_int_equal(nng_recvmsg(s, &m, 0), 0);
    return m;
}

/* The reply's "err", or "" when it went well. */
static void exchange(nng_socket s, const struct buf *b, char err[32], cJSON **json)
{
    nng_msg *m = raw_exchange(s, b->data, b->len);
    struct message got;
    const cJSON *name;

    assert_int_equal(message_decode(nng_msg_body(m), nng_msg_len(m), &got, NULL), ERR_OK);
    name = cJSON_GetObjectItem(got.json, "err");
    snprintf(err, 32, "%s", name ? name->valuestring : "");
    if (json) {
        *json = got.json;
        got.json = NULL;
    }
    message_fini(&got);
    nng_msg_free(m);
}

static void encode(struct buf *b, const struct key *key, const char *nonce, const char *format, ...)
{
    char text[2048];
    cJSON *json = NULL;
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert_int_equal(json_parse(text, strlen(text), &json, NULL), ERR_OK);
    buf_init(b, MESSAGE_MAX_BYTES);
    assert_int_equal(message_encode(json, NULL, key, nonce, b), ERR_OK);
    cJSON_Delete(json);
}

#define ID "0123456789abcdef0123456789abcdef"

static void only_those_who_know_the_key_are_served_and_only_once(void **state)
{
    struct farm f = {.more = {NULL}};
    char dir[256], good[300], bad[300], err[32], nonce[65];
    struct client_options o = {.role = "tune", .name = "x"};
    struct client *c = NULL;
    struct why why = {""};
    cJSON *hello;
    struct key key;
    nng_socket s;
    struct buf b;

    (void)state;
    dir_temporary("tune-key", dir, sizeof dir, NULL);
    snprintf(good, sizeof good, "%s/good", dir);
    snprintf(bad, sizeof bad, "%s/bad", dir);
    key_make(good, NULL);
    key_make(bad, NULL);
    key_load(good, &key, NULL);
    f.key_file = good;
    farm_start(&f);
    o.url = f.url;
    assert_int_equal(client_open(&o, &c, &why), ERR_AUTH);
    o.key_file = bad;
    assert_int_equal(client_open(&o, &c, &why), ERR_AUTH);
    c = farm_client(&f, "right");
    farm_do(c, "status", "{}");
    client_close(c);

    nng_req0_open(&s);
    nng_dial(s, f.url, NULL, 0);
    encode(&b, &key, ID, "{\"op\":\"hello\",\"id\":\"%s\",\"args\":{\"nonce\":\"%s\",\"versions\":[1]}}", ID, ID);
    exchange(s, &b, err, &hello);
    buf_fini(&b);
    assert_string_equal(err, "");
    snprintf(nonce, sizeof nonce, "%s%s", ID, text_in(cJSON_GetObjectItem(hello, "result"), "nonce"));
    encode(&b, &key, nonce, "{\"op\":\"status\",\"id\":\"%s\",\"session\":\"%s\",\"ctr\":1}", ID,
           text_in(cJSON_GetObjectItem(hello, "result"), "session"));
    exchange(s, &b, err, NULL);
    assert_string_equal(err, "");
    exchange(s, &b, err, NULL); /* the same bytes again */
    assert_string_equal(err, "auth");
    b.data[b.len - 1] ^= 1;
    exchange(s, &b, err, NULL);
    assert_string_equal(err, "auth");
    buf_fini(&b);
    encode(&b, &key, nonce, "{\"op\":\"status\",\"id\":\"%s\",\"session\":\"%s\",\"ctr\":1}", ID, ID);
    exchange(s, &b, err, NULL);
    assert_string_equal(err, "stale");
    buf_fini(&b);
    cJSON_Delete(hello);
    nng_close(s);
    farm_stop(&f);
    dir_remove(dir);
}

/* ---- the HTTP side ---- */

static void get(int port, const char *host, const char *path, char *out, size_t n_out)
{
    const int fd = dial(port);
    char request[256];
    ssize_t got;
    size_t n = 0;

    assert_true(fd >= 0);
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host);
    assert_true(send(fd, request, strlen(request), MSG_NOSIGNAL) > 0);
    while (n < n_out - 1 && (got = recv(fd, out + n, n_out - 1 - n, 0)) > 0)
        n += (size_t)got;
    out[n] = '\0';
    close(fd);
}

/* A free port: bound once and given back. */
static int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t n = sizeof a;

    bind(fd, (struct sockaddr *)&a, sizeof a);
    getsockname(fd, (struct sockaddr *)&a, &n);
    close(fd);
    return ntohs(a.sin_port);
}

/* The page is a file, without a word of a peer; its script puts them in as text (tests/page). Beside it they are in
 * JSON alone, which no browser takes for a page. */
static void what_peers_call_their_jobs_is_no_page(void **state)
{
    static const char script[] = "<script>alert(1)</script>&";
    static char page[262144];
    const int port = free_port();
    char where[64];
    struct farm f = {.more = {"--http", where, NULL}};
    struct client *c;

    (void)state;
    snprintf(where, sizeof where, "127.0.0.1:%d", port);
    farm_start(&f);
    c = farm_client(&f, "x");
    farm_do(c, "job_submit", "{'title':'<script>alert(1)</script>&','user':'<i>','body':'b'}");
    get(port, "localhost", "/", page, sizeof page);
    assert_non_null(strstr(page, " 200 "));
    assert_non_null(strstr(page, "Content-Security-Policy: default-src 'none'"));
    assert_null(strstr(page, script));
    assert_null(strstr(page, "<i>"));
    get(port, "localhost", "/api/jobs", page, sizeof page);
    assert_non_null(strstr(page, "Content-Type: application/json"));
    assert_non_null(strstr(page, "X-Content-Type-Options: nosniff"));
    assert_non_null(strstr(page, script));
    get(port, "elsewhere.example", "/api/jobs", page, sizeof page);
    assert_non_null(strstr(page, " 421 "));
    assert_null(strstr(page, script));
    get(port, "elsewhere.example", "/metrics", page, sizeof page);
    assert_non_null(strstr(page, "\ntune_tracker_jobs 1\n"));
    get(port, "elsewhere.example", "/healthz", page, sizeof page);
    assert_non_null(strstr(page, " 200 "));
    get(port, "localhost", "/../../etc/passwd", page, sizeof page);
    assert_null(strstr(page, "root:"));
    client_close(c);
    farm_stop(&f);
}

/* Nobody reads it: no room is made for it, and it is not waited for. */
static void a_body_for_the_page_is_refused(void **state)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n";
    const struct timeval patience = {.tv_sec = 20};
    const int port = free_port();
    char where[64], reply[100] = "";
    struct farm f = {.more = {"--http", where, NULL}};
    int fd;

    (void)state;
    snprintf(where, sizeof where, "127.0.0.1:%d", port);
    farm_start(&f);
    fd = dial(port);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    (void)!recv(fd, reply, sizeof reply - 1, 0);
    assert_non_null(strstr(reply, " 400 "));
    close(fd);
    farm_stop(&f);
}

/* A head of a request that has no end would be kept for as long as its connection. */
static void who_sends_the_page_heads_without_end_is_ended(void **state)
{
    const int port = free_port();
    char where[64], line[1000];
    struct farm f = {.more = {"--http", where, NULL}};
    int fd;

    (void)state;
    snprintf(where, sizeof where, "127.0.0.1:%d", port);
    farm_start(&f);
    fd = dial(port);
    assert_int_equal(send(fd, "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 16);
    for (int i = 0; i < 400 && !is_closed(fd); i++) {
        const int n = snprintf(line, sizeof line, "h%d: %0900d\r\n", i, 0);

        (void)!send(fd, line, (size_t)n, MSG_NOSIGNAL);
        clock_sleep_ms(i < 150 ? 10 : 50); /* a line is read as a line: nng ends other ones itself */
    }
    assert_true(is_closed(fd));
    close(fd);
    farm_stop(&f);
}

/* They would take what files may be open, which the farm's peers need. */
static void who_stands_still_at_the_page_does_not_stay(void **state)
{
    enum { N = 300 };
    const int port = free_port();
    char where[64], page[4096];
    struct farm f = {.more = {"--http", where, NULL}};
    int fds[N];

    (void)state;
    allow_few_files();
    snprintf(where, sizeof where, "127.0.0.1:%d", port);
    farm_start(&f);
    for (int i = 0; i < N; i++) {
        fds[i] = dial(port);
        if (i % 2) /* half a request */
            (void)!send(fds[i], "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL);
    }
    assert_true(await_closed(fds, N, N_CONNECTIONS / 32, 20000) <= N_CONNECTIONS / 32);
    still_serves(&f, proc_rss_bytes(f.pid), "silent ones at the page");
    get(port, "localhost", "/healthz", page, sizeof page);
    assert_non_null(strstr(page, " 200 "));
    assert_int_equal(await_closed(fds, N, 0, 40000), 0);
    for (int i = 0; i < N; i++)
        close(fds[i]);
    farm_stop(&f);
}

/* A byte now and then is no request either. */
static void who_asks_the_page_byte_by_byte_does_not_stay(void **state)
{
    enum { N = 300 };
    const int port = free_port();
    char where[64];
    struct farm f = {.more = {"--http", where, NULL}};
    int fds[N], n_left = N;

    (void)state;
    allow_few_files();
    snprintf(where, sizeof where, "127.0.0.1:%d", port);
    farm_start(&f);
    for (int i = 0; i < N; i++) {
        fds[i] = dial(port);
        (void)!send(fds[i], "GET / HTTP/1.1\r\nX: ", 19, MSG_NOSIGNAL);
    }
    for (int round = 0; round < 100 && n_left > N_CONNECTIONS / 32; round++) {
        n_left = 0;
        for (int i = 0; i < N; i++) {
            n_left += !is_closed(fds[i]);
            (void)!send(fds[i], "x", 1, MSG_NOSIGNAL);
        }
        clock_sleep_ms(200);
    }
    assert_true(n_left <= N_CONNECTIONS / 32);
    still_serves(&f, proc_rss_bytes(f.pid), "slow ones at the page");
    for (int i = 0; i < N; i++)
        close(fds[i]);
    farm_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_are_closed_or_ignored),
        cmocka_unit_test(half_messages_of_strangers_do_not_hold_memory),
        cmocka_unit_test(who_is_known_may_send_large_messages),
        cmocka_unit_test(strangers_who_wait_are_closed_those_beyond_64_first),
        cmocka_unit_test(only_those_who_know_the_key_are_served_and_only_once),
        cmocka_unit_test(what_peers_call_their_jobs_is_no_page),
        cmocka_unit_test(a_body_for_the_page_is_refused),
        cmocka_unit_test(who_sends_the_page_heads_without_end_is_ended),
        cmocka_unit_test(strangers_of_many_addresses_are_bounded_too),
        cmocka_unit_test(who_stands_still_at_the_page_does_not_stay),
        cmocka_unit_test(who_asks_the_page_byte_by_byte_does_not_stay),
        cmocka_unit_test(one_more_than_the_connections_there_are_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
