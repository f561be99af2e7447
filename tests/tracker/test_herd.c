/* SPDX-License-Identifier: MIT */
/* A herd of honest peers that come at once, over TLS, from one machine that is slow with handshakes: all get in, and
 * nobody hears an error that waiting does not mend. Usage: test_tracker_herd [peers] */
#include "tests/sanitized.h"
#include "tests/tracker/farm.h"

#include "core/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "tests/tracker/cert_files.h"

#define MAX_PEERS 4000
#define RETRY_MS 1000 /* as agents */

static int n_peers = SANITIZED ? 40 : 200;
static struct farm f;
static atomic_int n_in, n_again, n_failed;
static struct client *clients[MAX_PEERS];
static atomic_bool go;

static void *come(void *arg)
{
    struct client **client = arg;
    const struct client_options o = {.url = f.url, .tls = {.ca = files.ca_pem}, .role = "agent", .name = "one of many"};
    struct why why = {""};
    enum err e;

    while (!atomic_load(&go))
        clock_sleep_ms(1);
    while ((e = client_open(&o, client, &why)) == ERR_UNREACHABLE) {
        atomic_fetch_add(&n_again, 1);
        clock_sleep_ms(RETRY_MS);
    }
    if (e && atomic_fetch_add(&n_failed, 1) == 0)
        print_message("refused: %s\n", why.text);
    atomic_fetch_add(&n_in, !e);
    return NULL;
}

static void start_all(pthread_t *threads)
{
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (size_t)1 << 18);
    for (int i = 0; i < n_peers; i++)
        assert_int_equal(pthread_create(&threads[i], &attr, come, &clients[i]), 0);
    pthread_attr_destroy(&attr);
    atomic_store(&go, true);
}

/* Each may ask something then: none was shut out again. */
static void a_herd_gets_in_and_stays(void **state)
{
    static pthread_t threads[MAX_PEERS];
    struct rlimit many;
    int64_t began_ns;
    int n_first;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &many);
    many.rlim_cur = many.rlim_max; /* a peer that comes again has its first socket for a while */
    setrlimit(RLIMIT_NOFILE, &many);
    f = (struct farm){
        .listen = "tls+tcp://127.0.0.1:0", .tls = {.ca = files.ca_pem}, .more = {"--cert", files.good, NULL}};
    farm_start(&f);
    began_ns = clock_now_ns();
    start_all(threads);
    clock_sleep_ms(3000);
    n_first = atomic_load(&n_in);
    for (int i = 0; i < n_peers; i++)
        pthread_join(threads[i], NULL);
    print_message("%d peers: %d in after 3 s, all after %.1f s; %d times one had to try for more than 10 s\n", n_peers,
                  n_first, (double)(clock_now_ns() - began_ns) * 1e-9, atomic_load(&n_again));
    assert_int_equal(atomic_load(&n_failed), 0);
    assert_int_equal(atomic_load(&n_in), n_peers);
    for (int i = 0; i < n_peers; i++)
        farm_do(clients[i], "status", "{}");
    for (int i = 0; i < n_peers; i++)
        client_close(clients[i]);
    farm_stop(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_herd_gets_in_and_stays),
    };

    if (argc > 1)
        n_peers = atoi(argv[1]);
    if (n_peers < 1 || n_peers > MAX_PEERS)
        return 1;
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
