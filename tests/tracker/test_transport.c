/* SPDX-License-Identifier: MIT */
/* transport_nng.c where nng does what it should not. */
#include "tracker/transport.h"

#include <nng/nng.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
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
    door.hangs = false;
    pthread_cond_broadcast(&door.changed);
    while (door.n_closed < 2)
        pthread_cond_wait(&door.changed, &door.lock);
    pthread_mutex_unlock(&door.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_socket_is_closed_before_close_returns),
                                       cmocka_unit_test(a_close_that_hangs_is_left_behind)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
