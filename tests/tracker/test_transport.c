/* SPDX-License-Identifier: MIT */
/* transport_nng.c where nng does what it should not. */
#include "core/clock.h"
#include "tracker/transport.h"

#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

int __real_nng_close(nng_socket socket);
int __wrap_nng_close(nng_socket socket);

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool hangs;
    int n_closed;
} door = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* In nng's place (ld --wrap): closes when the test lets it. */
int __wrap_nng_close(nng_socket socket)
{
    int rv;

    pthread_mutex_lock(&door.lock);
    while (door.hangs)
        pthread_cond_wait(&door.changed, &door.lock);
    pthread_mutex_unlock(&door.lock);
    rv = __real_nng_close(socket);
    pthread_mutex_lock(&door.lock);
    door.n_closed++;
    pthread_cond_broadcast(&door.changed);
    pthread_mutex_unlock(&door.lock);
    return rv;
}

int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until);

static int64_t asked_ms; /* how long the last wait for a close may be */

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    asked_ms = (until->tv_sec - now.tv_sec) * 1000 + (until->tv_nsec - now.tv_nsec) / 1000000;
    return __real_pthread_cond_timedwait(cond, lock, until);
}

static void let_go(int n_closed)
{
    pthread_mutex_lock(&door.lock);
    door.hangs = false;
    pthread_cond_broadcast(&door.changed);
    while (door.n_closed < n_closed)
        pthread_cond_wait(&door.changed, &door.lock);
    pthread_mutex_unlock(&door.lock);
}

static struct line *open_line(void)
{
    struct line *l = NULL;

    assert_int_equal(transport_nng.open(NULL, "tcp://127.0.0.1:1", &l, NULL), ERR_OK);
    return l;
}

static void a_socket_is_closed_before_close_returns(void **state)
{
    (void)state;
    transport_nng.close(open_line());
    pthread_mutex_lock(&door.lock);
    assert_int_equal(door.n_closed, 1);
    pthread_mutex_unlock(&door.lock);
}

/* The test ends at all; what was left behind is closed once it can be. */
static void a_close_that_hangs_is_left_behind(void **state)
{
    struct line *l = open_line();

    (void)state;
    door.hangs = true;
    transport_nng.close(l);
    pthread_mutex_lock(&door.lock);
    assert_int_equal(door.n_closed, 1);
    pthread_mutex_unlock(&door.lock);
    let_go(2);
}

/* The last of those left behind to end says so a moment later. */
static void settle(void)
{
    asked_ms = 0;
    for (int i = 0; i < 1000 && asked_ms <= 50; i++) {
        transport_nng.close(open_line());
        clock_sleep_ms(1);
    }
    assert_in_range(asked_ms, 51, 1000);
}

/* nng's one thread waits for the first, so that the others would all be waited for to the end. */
static void those_behind_one_that_hangs_are_not_waited_for_as_long(void **state)
{
    struct line *l[2] = {open_line(), open_line()};
    int n;

    (void)state;
    settle();
    pthread_mutex_lock(&door.lock);
    n = door.n_closed;
    door.hangs = true;
    pthread_mutex_unlock(&door.lock);
    transport_nng.close(l[0]);
    assert_in_range(asked_ms, 51, 1000);
    transport_nng.close(l[1]);
    assert_in_range(asked_ms, 0, 50);
    let_go(n + 2);
    settle();
}

/* A peer in this process; its address without tcp:// is in `at`. */
static nng_socket listen_at(char at[40])
{
    nng_listener l;
    nng_socket s;
    int port = 0;

    assert_int_equal(nng_rep0_open(&s), 0);
    assert_int_equal(nng_listener_create(&l, s, "tcp://127.0.0.1:0"), 0);
    assert_int_equal(nng_listener_start(l, 0), 0);
    assert_int_equal(nng_listener_get_int(l, NNG_OPT_TCP_BOUND_PORT, &port), 0);
    snprintf(at, 40, "127.0.0.1:%d", port);
    return s;
}

static void *echo(void *arg)
{
    const nng_socket *s = arg;
    nng_msg *m;

    while (nng_recvmsg(*s, &m, 0) == 0)
        if (nng_sendmsg(*s, m, 0) != 0)
            nng_msg_free(m);
    return NULL;
}

/* Of several addresses the next is spoken to when one refuses calls, or takes them and says nothing; one that answers
 * stays. */
static void an_address_that_does_not_answer_is_left_for_the_next(void **state)
{
    char silent[40], speaks[40], url[200];
    nng_socket mute, talker;
    struct letter reply;
    struct line *l = NULL;
    pthread_t thread;

    (void)state;
    mute = listen_at(silent);
    talker = listen_at(speaks);
    assert_int_equal(pthread_create(&thread, NULL, echo, &talker), 0);
    snprintf(url, sizeof url, "tcp://%s,%s", silent, speaks);
    assert_int_equal(transport_many.open(NULL, url, &l, NULL), ERR_OK);
    assert_int_equal(transport_many.exchange(l, "a", 1, 200, &reply), ERR_TIMEOUT);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(transport_many.exchange(l, "b", 1, 20000, &reply), ERR_OK);
        assert_int_equal(reply.n_bytes, 1);
        transport_many.discard(&reply);
    }
    transport_many.close(l);
    nng_close(mute);
    nng_close(talker);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_socket_is_closed_before_close_returns),
                                       cmocka_unit_test(a_close_that_hangs_is_left_behind),
                                       cmocka_unit_test(an_address_that_does_not_answer_is_left_for_the_next),
                                       cmocka_unit_test(those_behind_one_that_hangs_are_not_waited_for_as_long)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
