/* SPDX-License-Identifier: MIT */
/* One client used by several threads: who says hello, and what closing does to the others. */
#include "tests/sim/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define N_CALLERS 4

struct team {
    struct peer peer;
    struct client *client;
    int n_left, n_cancelled, n_restarts;
    bool opened;
    size_t n_sessions;
};

static bool is_open(void *arg)
{
    return ((struct team *)arg)->opened;
}

static void open_team(struct team *t)
{
    struct why why = {""};

    if (net_client(&t->peer, "team", &t->client, &why) != ERR_OK)
        fail_msg("%s", why.text);
    t->opened = true;
}

static void call_often(void *arg)
{
    struct team *t = arg;
    struct world *w = t->peer.net->world;

    world_wait(w, is_open, t, INT64_MAX);
    for (int i = 0; i < 20; i++) {
        world_sleep(w, (int64_t)rng_below(world_rng(w), 400) * WORLD_MS);
        assert_int_equal(client_call(t->client, "job_list", NULL, NULL, 0, NULL, NULL, NULL), ERR_OK);
    }
    t->n_left--;
}

static bool is_alone(void *arg)
{
    return ((struct team *)arg)->n_left == 0;
}

static void crash_meanwhile(void *arg)
{
    struct team *t = arg;
    struct world *w = t->peer.net->world;

    while (!t->peer.net->up)
        world_sleep(w, WORLD_MS);
    open_team(t);
    world_sleep(w, 3 * WORLD_S);
    net_crash(t->peer.net);
    world_wait(w, is_alone, t, INT64_MAX);
    t->n_sessions = t->peer.net->tracker->sessions.n;
    t->n_restarts += client_tracker_restarted(t->client) + client_tracker_restarted(t->client);
    client_close(t->client);
    net_stop(t->peer.net);
}

static void one_of_many_threads_says_hello_for_all(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct world *w = world_new(seed);
        struct net n;
        struct team t = {.peer = {.net = &n}, .n_left = N_CALLERS};

        net_init(&n, w);
        n.faults.delay_ns = 100 * WORLD_MS;
        net_start(&n);
        world_add(w, "first", crash_meanwhile, &t);
        for (int i = 0; i < N_CALLERS; i++)
            world_add(w, "caller", call_often, &t);
        assert_true(world_run(w, 600 * WORLD_S));
        assert_int_equal(t.n_sessions, 1);
        assert_int_equal(t.n_restarts, 1);
        net_fini(&n);
        world_free(w);
    }
}

static void poll_until_cancelled(void *arg)
{
    struct team *t = arg;

    world_wait(t->peer.net->world, is_open, t, INT64_MAX);
    t->n_cancelled += client_call(t->client, "job_lease", NULL, NULL, 20000, NULL, NULL, NULL) == ERR_CANCELLED;
    t->n_left--;
}

static void close_meanwhile(void *arg)
{
    struct team *t = arg;
    struct world *w = t->peer.net->world;
    int64_t began_ns;

    while (!t->peer.net->up)
        world_sleep(w, WORLD_MS);
    open_team(t);
    world_sleep(w, 2 * WORLD_S);
    world_sleep(w, WORLD_S);
    began_ns = world_now_ns(w);
    client_close(t->client);
    assert_true(world_now_ns(w) - began_ns < WORLD_S);
    assert_int_equal(t->n_left, 0);
    net_stop(t->peer.net);
}

static void closing_ends_the_calls_of_other_threads(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct world *w = world_new(seed);
        struct net n;
        struct team t = {.peer = {.net = &n}, .n_left = N_CALLERS};

        net_init(&n, w);
        net_start(&n);
        world_add(w, "closer", close_meanwhile, &t);
        for (int i = 0; i < N_CALLERS; i++)
            world_add(w, "poll", poll_until_cancelled, &t);
        assert_true(world_run(w, 600 * WORLD_S));
        assert_int_equal(t.n_cancelled, N_CALLERS);
        net_fini(&n);
        world_free(w);
    }
}

static void call_the_silent_part(void *arg)
{
    struct team *t = arg;
    cJSON *args = cJSON_CreateObject();

    cJSON_AddStringToObject(args, "job", "j2");
    world_wait(t->peer.net->world, is_open, t, INT64_MAX);
    t->n_cancelled += client_call(t->client, "job_cancel", args, NULL, 0, NULL, NULL, NULL) == ERR_CANCELLED;
    t->n_left--;
}

static void closing_ends_the_opening_of_another_part(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct world *w = world_new(seed);
        struct net n;
        struct team t = {.peer = {.net = &n}, .n_left = 1};

        net_init(&n, w);
        net_divide(&n);
        n.beside->paused = true;
        net_start(&n);
        world_add(w, "closer", close_meanwhile, &t);
        world_add(w, "caller", call_the_silent_part, &t);
        assert_true(world_run(w, 600 * WORLD_S));
        assert_int_equal(t.n_cancelled, 1);
        net_fini(&n);
        world_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_many_threads_says_hello_for_all),
        cmocka_unit_test(closing_ends_the_calls_of_other_threads),
        cmocka_unit_test(closing_ends_the_opening_of_another_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
