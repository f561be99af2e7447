/* SPDX-License-Identifier: MIT */
/* The tracker's side of the wire, against peers that write their bytes themselves. */
#include "tracker/listener.h"

#include "core/clock.h"
#include "tracker/protocol.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#define MAX_LINES 4
#define MAX_TAKEN 400

struct place {
    struct listener *listener;
    pthread_mutex_t lock; /* all below */
    struct mail *taken[MAX_TAKEN];
    int n_taken, n_gone, n_full;
};

static void take(void *arg, struct mail *m)
{
    struct place *p = arg;

    pthread_mutex_lock(&p->lock);
    p->taken[p->n_taken++] = m;
    pthread_mutex_unlock(&p->lock);
}

static void taken(void *arg)
{
    (void)arg;
}

static void gone(void *arg, uint32_t line)
{
    struct place *p = arg;

    pthread_mutex_lock(&p->lock);
    p->n_gone += line != 0;
    pthread_mutex_unlock(&p->lock);
}

static void full(void *arg)
{
    struct place *p = arg;

    pthread_mutex_lock(&p->lock);
    p->n_full++;
    pthread_mutex_unlock(&p->lock);
}

static const struct listener_ops ops = {take, taken, gone, full};

static int start(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    struct why why = {""};

    pthread_mutex_init(&p->lock, NULL);
    if (listener_open("tcp://127.0.0.1:0", MAX_LINES, &ops, p, &p->listener, &why) != ERR_OK)
        fail_msg("%s", why.text);
    *state = p;
    return 0;
}

static int stop(void **state)
{
    struct place *p = *state;

    listener_close(p->listener);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return 0;
}

static int count_of(struct place *p, const int *n)
{
    int now;

    pthread_mutex_lock(&p->lock);
    now = *n;
    pthread_mutex_unlock(&p->lock);
    return now;
}

static void wait_for(struct place *p, const int *n, int wanted)
{
    for (int i = 0; i < 2000 && count_of(p, n) < wanted; i++)
        clock_sleep_ms(2);
    assert_int_equal(count_of(p, n), wanted);
}

/* ---- a peer ---- */

static void put(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;

    while (n) {
        const ssize_t got = send(fd, p, n, MSG_NOSIGNAL);

        assert_true(got > 0);
        p += got;
        n -= (size_t)got;
    }
}

static void get(int fd, void *bytes, size_t n)
{
    assert_int_equal(recv(fd, bytes, n, MSG_WAITALL), n);
}

static bool is_closed(int fd)
{
    char byte;

    return recv(fd, &byte, 1, 0) <= 0;
}

static int dial(const struct place *p)
{
    const struct timeval patience = {10, 0};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(strrchr(listener_url(p->listener), ':') + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

static int greeted(const struct place *p)
{
    static const unsigned char ours[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0}, expected[8] = {0, 'S', 'P', 0, 0, 0x31, 0, 0};
    unsigned char theirs[8];
    const int fd = dial(p);

    put(fd, ours, sizeof ours);
    get(fd, theirs, sizeof theirs);
    assert_memory_equal(theirs, expected, sizeof theirs);
    return fd;
}

/* Length, request's number (of one hop), text. */
static size_t letter(unsigned char out[64], unsigned char number, const char *text)
{
    const size_t n = strlen(text);

    memset(out, 0, 64);
    out[7] = (unsigned char)(4 + n);
    out[8] = 0x80;
    out[11] = number;
    memcpy(out + 12, text, n);
    return 12 + n;
}

static void assert_mail(const struct mail *m, const char *text)
{
    size_t n;
    const void *bytes = mail_bytes(m, &n);

    assert_int_equal(n, strlen(text));
    assert_memory_equal(bytes, text, n);
    assert_true(mail_line(m) != 0);
}

/* ---- facts ---- */

static void a_request_that_comes_byte_by_byte_is_answered_behind_its_hops(void **state)
{
    struct place *p = *state;
    static const unsigned char request[] = {0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 9, 0x80, 1, 2, 3, 'a', 'b', 'c'};
    static const unsigned char expected[] = {0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 9, 0x80, 1, 2, 3, 'o', 'k'};
    unsigned char reply[sizeof expected];
    const int fd = greeted(p);

    for (size_t i = 0; i < sizeof request; i++)
        put(fd, request + i, 1);
    wait_for(p, &p->n_taken, 1);
    assert_mail(p->taken[0], "abc");
    mail_answer(p->taken[0], "ok", 2);
    get(fd, reply, sizeof reply);
    assert_memory_equal(reply, expected, sizeof expected);
    close(fd);
    wait_for(p, &p->n_gone, 1);
}

static void requests_of_one_write_are_taken_in_order_and_answered_in_any(void **state)
{
    struct place *p = *state;
    unsigned char all[192], reply[13];
    const int fd = greeted(p);
    size_t n = letter(all, 1, "one");

    n += letter(all + n, 2, "two");
    n += letter(all + n, 3, "");
    put(fd, all, n);
    wait_for(p, &p->n_taken, 3);
    assert_mail(p->taken[0], "one");
    assert_mail(p->taken[1], "two");
    assert_mail(p->taken[2], "");
    assert_int_equal(mail_line(p->taken[0]), mail_line(p->taken[2]));
    mail_answer(p->taken[1], "b", 1);
    get(fd, reply, 13);
    assert_int_equal(reply[11], 2);
    mail_drop(p->taken[2]);
    mail_answer(p->taken[0], "a", 1);
    get(fd, reply, 13);
    assert_int_equal(reply[11], 1);
    assert_int_equal(reply[12], 'a');
    close(fd);
}

static void who_speaks_otherwise_is_closed(void **state)
{
    static const struct {
        unsigned char bytes[48];
        size_t n;
    } all[] = {
        {{0, 'S', 'P', 0, 0, 0x31, 0, 0}, 8},                                           /* a REP */
        {{'G', 'E', 'T', ' ', '/', ' ', 'H', 'T'}, 8},                                  /* a browser */
        {{0, 'S', 'P', 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}, 16},                  /* no room for a number */
        {{0, 'S', 'P', 0, 0, 0x30, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, 16},                  /* 4 GB */
        {{0, 'S', 'P', 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 'x'}, 21}, /* no number */
        {{0, 'S', 'P', 0, 0, 0x30, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 8}, 16},
    };
    struct place *p = *state;
    unsigned char ours[8];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int fd = dial(p);

        put(fd, all[i].bytes, all[i].n);
        get(fd, ours, sizeof ours);
        if (!is_closed(fd))
            fail_msg("peer %zu was not closed", i);
        close(fd);
        wait_for(p, &p->n_gone, (int)i + 1);
    }
    assert_int_equal(p->n_taken, 0);
}

static void more_connections_than_may_be_are_refused_until_one_ends(void **state)
{
    struct place *p = *state;
    int fds[MAX_LINES], fd;

    for (int i = 0; i < MAX_LINES; i++)
        fds[i] = greeted(p);
    fd = dial(p);
    assert_true(is_closed(fd));
    close(fd);
    assert_int_equal(count_of(p, &p->n_full), 1);
    close(fds[0]);
    wait_for(p, &p->n_gone, 1);
    fds[0] = greeted(p);
    for (int i = 0; i < MAX_LINES; i++)
        close(fds[i]);
}

#define LARGE ((size_t)3 << 20)

static void replies_wait_for_a_peer_that_reads_slowly(void **state)
{
    struct place *p = *state;
    unsigned char request[64], head[12], *reply = malloc(LARGE), *back = malloc(LARGE);
    const int fd = greeted(p);

    for (size_t i = 0; i < LARGE; i++)
        reply[i] = (unsigned char)(i * 7 + i / 251);
    for (int i = 0; i < 4; i++)
        put(fd, request, letter(request, (unsigned char)i, "x"));
    wait_for(p, &p->n_taken, 4);
    for (int i = 0; i < 4; i++) {
        reply[0] = (unsigned char)i;
        mail_answer(p->taken[i], reply, LARGE);
    }
    for (int i = 0; i < 4; i++) {
        get(fd, head, sizeof head);
        assert_int_equal(head[11], i);
        assert_int_equal(head[5], (LARGE + 4) >> 16);
        get(fd, back, LARGE);
        reply[0] = (unsigned char)i;
        assert_memory_equal(back, reply, LARGE);
    }
    put(fd, request, letter(request, 9, "again")); /* it is read again */
    wait_for(p, &p->n_taken, 5);
    mail_drop(p->taken[4]);
    close(fd);
    free(reply);
    free(back);
}

static void a_peer_that_never_reads_is_closed(void **state)
{
    struct place *p = *state;
    unsigned char request[64];
    char *reply = calloc(1, MESSAGE_MAX_BYTES);
    const int fd = greeted(p);

    for (int i = 0; i < 12; i++)
        put(fd, request, letter(request, (unsigned char)i, "x"));
    wait_for(p, &p->n_taken, 12);
    for (int i = 0; i < 12; i++)
        mail_answer(p->taken[i], reply, MESSAGE_MAX_BYTES); /* 48 MiB */
    wait_for(p, &p->n_gone, 1);
    close(fd);
    free(reply);
}

static void a_connection_has_256_requests_under_way_at_most(void **state)
{
    struct place *p = *state;
    unsigned char request[64];
    const int fd = greeted(p);

    for (int i = 0; i < 256; i++)
        put(fd, request, letter(request, (unsigned char)i, "x"));
    wait_for(p, &p->n_taken, 256);
    put(fd, request, letter(request, 0, "more"));
    clock_sleep_ms(50);
    assert_int_equal(count_of(p, &p->n_taken), 256);
    mail_drop(p->taken[0]);
    wait_for(p, &p->n_taken, 257);
    for (int i = 1; i < 257; i++)
        mail_drop(p->taken[i]);
    close(fd);
}

static void what_is_answered_behind_the_end_goes_to_nobody(void **state)
{
    struct place *p = *state;
    unsigned char request[64];
    const int fd = greeted(p);

    put(fd, request, letter(request, 1, "x"));
    put(fd, request, letter(request, 2, "y"));
    wait_for(p, &p->n_taken, 2);
    close(fd);
    wait_for(p, &p->n_gone, 1);
    mail_answer(p->taken[0], "late", 4);
    listener_close(p->listener);
    p->listener = NULL;
    mail_answer(p->taken[1], "later", 5);
}

static void addresses_are_nngs(void **state)
{
    static const char *const good[] = {"tcp://127.0.0.1:0", "tcp4://localhost:0", "tcp://*:0", "tcp://:0"},
                             *const bad[] = {
                                 "tcp://127.0.0.1",       "tcp://127.0.0.1:", "tcp://127.0.0.1:x",
                                 "tcp://127.0.0.1:99999", "ipc:///tmp/x",     "tcp://203.0.113.7:0",
                             };
    struct listener *l = NULL;
    struct why why = {""};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (listener_open(good[i], 1, &ops, NULL, &l, &why) != ERR_OK)
            fail_msg("%s", why.text);
        assert_memory_equal(listener_url(l), good[i], strlen(good[i]) - 1);
        assert_true(atoi(strrchr(listener_url(l), ':') + 1) > 0);
        listener_close(l);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(listener_open(bad[i], 1, &ops, NULL, &l, &why), ERR_INPUT);
        assert_non_null(strstr(why.text, bad[i]));
        assert_non_null(strstr(why.text, "expected e.g. tcp://127.0.0.1:9477"));
    }
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(a_request_that_comes_byte_by_byte_is_answered_behind_its_hops),
        FACT(requests_of_one_write_are_taken_in_order_and_answered_in_any),
        FACT(who_speaks_otherwise_is_closed),
        FACT(more_connections_than_may_be_are_refused_until_one_ends),
        FACT(replies_wait_for_a_peer_that_reads_slowly),
        FACT(a_peer_that_never_reads_is_closed),
        FACT(a_connection_has_256_requests_under_way_at_most),
        FACT(what_is_answered_behind_the_end_goes_to_nobody),
        cmocka_unit_test(addresses_are_nngs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
