/* SPDX-License-Identifier: MIT */
/* Who asks something of a server whose last turn fails meanwhile, and for how long a peer's host may say nothing. */
#include "tests/tracker/faulty_store.h"

#include "core/clock.h"
#include "core/file.h"
#include "tracker/client.h"
#include "tracker/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

static enum err nothing(struct tracker *t, void *arg)
{
    (void)t;
    (void)arg;
    return ERR_OK;
}

struct visit {
    struct server *s;
    enum err e;
};

static void *visit(void *arg)
{
    struct visit *v = arg;

    v->e = server_do(v->s, nothing, NULL);
    return NULL;
}

/* A disk may take its time to fail; then nobody is looked after any more, and nobody is to wait for ever. */
static void who_asks_while_the_store_fails_is_refused(void **state)
{
    struct tracker_options o = {.ops = &faulty_store, .lease_ms = 30000};
    struct visit v = {.e = ERR_OK};
    struct timespec until;
    struct tracker *t;
    pthread_t thread;
    struct why why;
    char dir[256];

    (void)state;
    assert_int_equal(dir_temporary("tune-server", dir, sizeof dir, &why), ERR_OK);
    assert_int_equal(o.ops->open(dir, NULL, &o.store, &why), ERR_OK);
    assert_int_equal(tracker_new(&o, &t, &why), ERR_OK);
    assert_int_equal(server_start(t, "tcp://127.0.0.1:0", NULL, false, &v.s, &why), ERR_OK);
    assert_int_equal(server_do(v.s, nothing, NULL), ERR_OK);
    store_faults.failure_waits = true;
    store_faults.fail_at = store_faults.n_calls + 3;
    while (store_faults.n_calls < store_faults.fail_at)
        clock_sleep_ms(1);
    assert_int_equal(pthread_create(&thread, NULL, visit, &v), 0);
    clock_sleep_ms(100); /* it has asked */
    store_faults.failure_waits = false;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    if (pthread_timedjoin_np(thread, NULL, &until) != 0)
        fail_msg("it waits still");
    assert_int_equal(v.e, ERR_BUSY);
    assert_true(server_failed(v.s, &why));
    server_stop(v.s);
    tracker_free(t);
    o.ops->close(o.store);
    dir_remove(dir);
}

/* Of the server's end of a connection that a peer has to it; 0 = there is none yet, or it has no limit. */
static int limit_ms(int port)
{
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in own = {.sin_family = AF_UNSPEC}, peer;
        socklen_t n_own = sizeof own, n_peer = sizeof peer, n_ms = sizeof(int);
        int ms = 0;

        if (getsockname(fd, (struct sockaddr *)&own, &n_own) == 0 && own.sin_family == AF_INET &&
            ntohs(own.sin_port) == port && getpeername(fd, (struct sockaddr *)&peer, &n_peer) == 0 &&
            getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &n_ms) == 0)
            return ms;
    }
    return 0;
}

/* Two leases, 10 s at the least and 60 s at the most. */
static void a_peer_that_vanished_is_given_up_behind_two_leases(void **state)
{
    static const int leases_ms[] = {1000, 20000, 90000}, expected_ms[] = {10000, 40000, 60000};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct tracker_options o = {.ops = store_table[0], .lease_ms = leases_ms[i]};
        struct client_options c = {.name = "peer"};
        struct client *client;
        struct tracker *t;
        struct server *s;
        struct why why;
        char dir[256];
        int port, ms = 0;

        assert_int_equal(dir_temporary("tune-server", dir, sizeof dir, &why), ERR_OK);
        assert_int_equal(o.ops->open(dir, NULL, &o.store, &why), ERR_OK);
        assert_int_equal(tracker_new(&o, &t, &why), ERR_OK);
        assert_int_equal(server_start(t, "tcp://127.0.0.1:0", NULL, false, &s, &why), ERR_OK);
        c.url = server_url(s);
        port = (int)strtol(strrchr(c.url, ':') + 1, NULL, 10);
        assert_int_equal(client_open(&c, &client, &why), ERR_OK);
        for (int n = 0; n < 4000 && !ms; n++) {
            ms = limit_ms(port);
            clock_sleep_ms(5);
        }
        assert_int_equal(ms, expected_ms[i]);
        client_close(client);
        server_stop(s);
        tracker_free(t);
        o.ops->close(o.store);
        dir_remove(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_asks_while_the_store_fails_is_refused),
                                       cmocka_unit_test(a_peer_that_vanished_is_given_up_behind_two_leases)};
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);

    fflush(NULL);
    _exit(n_failed != 0); /* nng 1.5 may deadlock when closed */
}
