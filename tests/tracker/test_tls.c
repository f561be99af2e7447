/* SPDX-License-Identifier: MIT */
/* TLS between a real tracker and its peers: what is heard on the way, and who is refused in which words. */
#include "tests/tracker/farm.h"
#include "tests/tracker/knock.h"

#include "core/blobs.h"
#include "tracker/tls.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/tracker/cert_files.h"

#define HEARD_BYTES ((size_t)4 << 20)

static void start(struct farm *f, const char *cert, const char *peers_ca)
{
    *f = (struct farm){.listen = "tls+tcp://127.0.0.1:0", .tls = {.ca = files.ca_pem}, .more = {"--cert", cert}};
    if (peers_ca) {
        f->more[2] = "--ca";
        f->more[3] = peers_ca;
    }
    farm_start(f);
}

/* ---- who listens on the way ---- */

/* Takes one connection at a port of its own, carries its bytes to and fro, and keeps them. */
struct ear {
    int listener, port, to;
    pthread_t thread;
    unsigned char *heard;
    size_t n;
    atomic_bool stop;
};

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static bool carry(struct ear *e, int from, int to)
{
    unsigned char some[65536];
    const ssize_t n = recv(from, some, sizeof some, 0);

    if (n <= 0)
        return false;
    if (e->n + (size_t)n <= HEARD_BYTES) {
        memcpy(e->heard + e->n, some, (size_t)n);
        e->n += (size_t)n;
    }
    for (ssize_t sent = 0, k; sent < n; sent += k)
        if ((k = send(to, some + sent, (size_t)(n - sent), MSG_NOSIGNAL)) <= 0)
            return false;
    return true;
}

static void *listen_in(void *arg)
{
    struct ear *e = arg;
    const int a = accept(e->listener, NULL, NULL), b = socket(AF_INET, SOCK_STREAM, 0);
    const struct sockaddr_in there = loopback(e->to);
    struct pollfd p[2] = {{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}};
    bool ok = connect(b, (const struct sockaddr *)&there, sizeof there) == 0;

    while (ok && !atomic_load(&e->stop)) {
        if (poll(p, 2, 50) <= 0)
            continue;
        for (int i = 0; i < 2 && ok; i++)
            ok = !p[i].revents || carry(e, p[i].fd, p[1 - i].fd);
    }
    close(a);
    close(b);
    return NULL;
}

static void ear_start(struct ear *e, const char *url)
{
    struct sockaddr_in own = loopback(0);
    socklen_t n = sizeof own;

    *e = (struct ear){.listener = socket(AF_INET, SOCK_STREAM, 0), .to = port_of(url), .heard = malloc(HEARD_BYTES)};
    assert_int_equal(bind(e->listener, (const struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(listen(e->listener, 1), 0);
    assert_int_equal(getsockname(e->listener, (struct sockaddr *)&own, &n), 0);
    e->port = ntohs(own.sin_port);
    assert_int_equal(pthread_create(&e->thread, NULL, listen_in, e), 0);
}

static bool ear_heard(struct ear *e, const char *text)
{
    bool heard;

    atomic_store(&e->stop, true);
    pthread_join(e->thread, NULL);
    assert_true(e->n > 1000); /* something went by */
    heard = memmem(e->heard, e->n, text, strlen(text)) != NULL;
    close(e->listener);
    free(e->heard);
    return heard;
}

/* Sends a program's text to the tracker, and fetches it, through an ear; was it understood? */
static bool is_overheard(struct farm *f, const char *scheme)
{
    static const char text[] = "__kernel void secret(__global float *x) { x[get_global_id(0)] = 42.0f; }";
    struct blobs set, got;
    struct why why = {""};
    struct client *c;
    struct ear ear;

    ear_start(&ear, f->url);
    snprintf(f->url, sizeof f->url, "%s127.0.0.1:%d", scheme, ear.port);
    c = farm_client(f, "whispers");
    blobs_init(&set, 1 << 20);
    blobs_init(&got, 1 << 20);
    assert_int_equal(blobs_put(&set, text, sizeof text - 1, NULL), ERR_OK);
    if (client_put_blobs(c, &set, &why) != ERR_OK || client_get_blob(c, set.items[0].name.hex, &got, &why) != ERR_OK)
        fail_msg("%s", why.text);
    assert_memory_equal(got.items[0].data, text, sizeof text - 1);
    blobs_fini(&set);
    blobs_fini(&got);
    client_close(c);
    return ear_heard(&ear, "secret(__global float");
}

static void with_tls_nobody_on_the_way_reads_a_program(void **state)
{
    struct farm plain = {.more = {NULL}}, tls;

    (void)state;
    farm_start(&plain);
    assert_true(is_overheard(&plain, "tcp://"));
    farm_stop(&plain);
    start(&tls, files.good, NULL);
    assert_false(is_overheard(&tls, "tls+tcp://"));
    farm_stop(&tls);
}

/* ---- who is refused ---- */

static void refused(const struct farm *f, const char *url, const struct tls_files *tls, const char *words)
{
    const struct client_options o = {.url = url, .tls = *tls, .role = "tune", .name = "x"};
    struct why why = {""};
    struct client *c = NULL;
    const enum err e = client_open(&o, &c, &why);

    (void)f;
    if (e != ERR_AUTH || !strstr(why.text, words))
        fail_msg("%s: %s, '%s', expected auth and '%s'", url, err_name(e), why.text, words);
}

static void served(const struct farm *f)
{
    struct client *c = farm_client(f, "witness");

    farm_do(c, "status", "{}");
    client_close(c);
}

static void a_tracker_of_another_authority_is_refused(void **state)
{
    struct farm f;

    (void)state;
    start(&f, files.good, NULL);
    refused(&f, f.url, &(struct tls_files){.ca = files.other_pem}, "is not of the authority in");
    served(&f);
    farm_stop(&f);
}

static void a_tracker_of_another_name_is_refused(void **state)
{
    struct farm f;

    (void)state;
    start(&f, files.elsewhere, NULL);
    refused(&f, f.url, &f.tls, "is not for the name 127.0.0.1");
    farm_stop(&f);
}

static void an_expired_certificate_is_refused_by_both_sides(void **state)
{
    static const struct tls_files expired = {.cert = files.old}, early = {.cert = files.early};
    struct why why = {""};
    struct farm f;

    (void)state;
    issue(files.old, "old", files.ca, "127.0.0.1", clock_wall_ms() / 1000 - DAY_S, clock_wall_ms() / 1000 + 2);
    start(&f, files.old, NULL); /* good for a moment more */
    while (tls_check("tls+tcp://127.0.0.1:1", &expired, true, &why) == ERR_OK)
        clock_sleep_ms(20);
    refused(&f, f.url, &f.tls, "expired on 20");
    farm_stop(&f);
    assert_non_null(strstr(why.text, "the certificate in --cert expired on 20"));
    assert_int_equal(tls_check("tls+tcp://127.0.0.1:1", &early, true, &why), ERR_AUTH);
    assert_non_null(strstr(why.text, "is not valid before 20"));
}

static void plain_and_tls_do_not_meet_and_the_words_say_so(void **state)
{
    static const struct tls_files none;
    struct farm f, plain = {.more = {NULL}};
    char url[160];

    (void)state;
    start(&f, files.good, NULL);
    refused(&f, f.url + 4, &none, "speaks TLS: expected tls+tcp://127.0.0.1:");
    served(&f);
    farm_stop(&f);
    farm_start(&plain);
    snprintf(url, sizeof url, "tls+%s", plain.url);
    refused(&plain, url, &(struct tls_files){.ca = files.ca_pem}, "speaks no TLS: expected tcp://127.0.0.1:");
    served(&plain);
    farm_stop(&plain);
}

/* The first byte of what a tracker answers to a hello of TLS 1.MINOR: 22 goes on with the handshake. */
static int answer_to_hello(const struct farm *f, unsigned char minor)
{
    static const unsigned char suites_and_more[] = {
        0, 6,  0xc0, 0x2b, 0xc0, 0x23, 0xc0, 0x09,       /* ECDHE-ECDSA: AES-GCM, AES-CBC-SHA256, AES-CBC-SHA */
        1, 0,                                            /* no compression */
        0, 24,                                           /* extensions: */
        0, 10, 0,    4,    0,    2,    0,    23,         /* P-256 */
        0, 11, 0,    2,    1,    0,                      /* its points as they are */
        0, 13, 0,    6,    0,    4,    4,    3,    2, 3, /* ECDSA with SHA-256 and SHA-1 */
    };
    unsigned char hello[9 + 2 + 32 + 1 + sizeof suites_and_more] = {22, 3, 1, 0, sizeof hello - 5, 1, 0, 0};
    unsigned char first = 0;
    const int fd = dial(port_of(f->url));

    hello[8] = sizeof hello - 9;
    hello[9] = 3;
    hello[10] = (unsigned char)(minor + 1);
    memcpy(hello + sizeof hello - sizeof suites_and_more, suites_and_more, sizeof suites_and_more);
    assert_int_equal(send(fd, hello, sizeof hello, MSG_NOSIGNAL), sizeof hello);
    if (recv(fd, &first, 1, 0) != 1)
        first = 0;
    close(fd);
    return first;
}

static void nobody_talks_a_tracker_into_an_older_tls(void **state)
{
    struct farm f;

    (void)state;
    start(&f, files.good, NULL);
    assert_int_equal(answer_to_hello(&f, 2), 22);
    for (unsigned char minor = 0; minor < 2; minor++)
        assert_int_not_equal(answer_to_hello(&f, minor), 22);
    farm_stop(&f);
}

static void a_tracker_may_ask_peers_for_certificates(void **state)
{
    struct farm f;

    (void)state;
    start(&f, files.good, files.ca_pem);
    refused(&f, f.url, &f.tls, "it wants a certificate (--cert FILE)");
    refused(&f, f.url, &(struct tls_files){files.ca_pem, files.foreign}, "it does not take the certificate in --cert");
    f.tls.cert = files.peer;
    served(&f);
    farm_stop(&f);
}

/* nng 1.5 waits for a handshake without end, and counts it nowhere. */
static void a_handshake_that_does_not_begin_is_ended(void **state)
{
    struct farm f;
    struct client *c;
    int fd;

    (void)state;
    start(&f, files.good, NULL);
    c = farm_client(&f, "stays");
    fd = dial(port_of(f.url));
    assert_int_equal(await_closed(&fd, 1, 0, 25000), 0);
    close(fd);
    farm_do(c, "status", "{}"); /* over the connection that there was */
    client_close(c);
    served(&f);
    farm_stop(&f);
}

static void handshakes_of_one_address_beyond_64_are_ended_first(void **state)
{
    enum { N = 150 };
    struct farm f;
    int fds[N];

    (void)state;
    start(&f, files.good, NULL);
    for (int i = 0; i < N; i++)
        fds[i] = dial(port_of(f.url));
    assert_true(await_closed(fds, N, 64, 8000) <= 64);
    served(&f);
    assert_int_equal(await_closed(fds, N, 0, 25000), 0);
    for (int i = 0; i < N; i++)
        close(fds[i]);
    farm_stop(&f);
}

/* Ten of each address, so that none has a crowd; the last of the tests, for limits only sink. */
static void handshakes_of_many_addresses_are_bounded_too(void **state)
{
    enum { N = 100, N_FILES = 400, MOST = (N_FILES - 128) / 8 + 1 };
    const struct rlimit few = {N_FILES, N_FILES};
    struct farm f;
    int fds[N];

    (void)state;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    start(&f, files.good, NULL);
    for (int i = 0; i < N; i++)
        fds[i] = dial_from(2 + i / 10, port_of(f.url));
    assert_true(await_closed(fds, N, MOST, 8000) <= MOST);
    served(&f);
    for (int i = 0; i < N; i++)
        close(fds[i]);
    farm_stop(&f);
}

/* The head of a record of 16 KiB, and then a byte now and then. */
static void *drip(void *arg)
{
    static const unsigned char head[] = {0x16, 3, 3, 0x40, 0};
    const int fd = accept(*(int *)arg, NULL, NULL);

    if (fd < 0 || send(fd, head, sizeof head, MSG_NOSIGNAL) < 0)
        return NULL;
    while (send(fd, "", 1, MSG_NOSIGNAL) == 1)
        clock_sleep_ms(300);
    close(fd);
    return NULL;
}

static void who_sends_a_byte_now_and_then_is_not_waited_for(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int64_t from_ns = clock_now_ns();
    socklen_t n = sizeof a;
    struct why why = {""};
    pthread_t thread;
    char url[64];

    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    snprintf(url, sizeof url, "tls+tcp://127.0.0.1:%d", ntohs(a.sin_port));
    assert_int_equal(pthread_create(&thread, NULL, drip, &fd), 0);
    assert_int_equal(tls_look(url, &(struct tls_files){files.ca_pem, NULL}, &why), ERR_UNREACHABLE);
    assert_true(clock_now_ns() - from_ns < INT64_C(60000000000)); /* 16 KiB take more than an hour */
    pthread_join(thread, NULL);
    close(fd);
}

static void *wake_late(void *arg)
{
    const struct farm *f = arg;

    clock_sleep_ms(18000);
    kill(f->pid, SIGCONT);
    return NULL;
}

/* It is told of while it lasts. */
static bool is_told(int64_t out_ms, const char *does, void *arg)
{
    (void)out_ms;
    *(bool *)arg |= does != NULL;
    return true;
}

/* As one that is at the handshakes of a thousand others. */
static void a_tracker_that_takes_connections_is_waited_for(void **state)
{
    struct farm f = {.listen = "tls+tcp://127.0.0.1:0", .more = {"--cert", files.good, NULL}};
    struct client *client = NULL;
    struct why why = {""};
    bool told = false;
    pthread_t waker;
    enum err e;

    (void)state;
    farm_start(&f);
    kill(f.pid, SIGSTOP);
    assert_int_equal(pthread_create(&waker, NULL, wake_late, &f), 0);
    e = client_open(
        &(struct client_options){.url = f.url, .tls = {.ca = files.ca_pem}, .waiting = is_told, .arg = &told}, &client,
        &why);
    pthread_join(waker, NULL);
    if (e)
        fail_msg("%s", why.text);
    assert_true(told);
    client_close(client);
    farm_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_tls_nobody_on_the_way_reads_a_program),
        cmocka_unit_test(a_tracker_of_another_authority_is_refused),
        cmocka_unit_test(a_tracker_of_another_name_is_refused),
        cmocka_unit_test(an_expired_certificate_is_refused_by_both_sides),
        cmocka_unit_test(plain_and_tls_do_not_meet_and_the_words_say_so),
        cmocka_unit_test(nobody_talks_a_tracker_into_an_older_tls),
        cmocka_unit_test(a_tracker_may_ask_peers_for_certificates),
        cmocka_unit_test(a_handshake_that_does_not_begin_is_ended),
        cmocka_unit_test(handshakes_of_one_address_beyond_64_are_ended_first),
        cmocka_unit_test(who_sends_a_byte_now_and_then_is_not_waited_for),
        cmocka_unit_test(handshakes_of_many_addresses_are_bounded_too),
        cmocka_unit_test(a_tracker_that_takes_connections_is_waited_for),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
