/* SPDX-License-Identifier: MIT */
/* Calls through losses, delays and crashes: each is executed once, and what was acknowledged is there afterwards. */
#include "tests/sim/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_CLIENTS 3
#define N_JOBS 6

struct submitter {
    struct peer peer;
    int i;
    int64_t jobs[N_JOBS]; /* ids that the tracker acknowledged */
    int n_jobs, n_failed;
    int *n_left;
};

static int64_t submit(struct client *c, const char *title)
{
    cJSON *args = cJSON_CreateObject(), *result = NULL;
    struct why why = {""};
    const char *id = "";
    int64_t out = -1;
    bool ok = true;

    json_add_text(args, "title", title, &ok);
    json_add_text(args, "body", "{}", &ok);
    json_add_text(args, "key", "cpu", &ok);
    assert_true(ok);
    if (client_call(c, "job_submit", args, NULL, 0, &result, NULL, &why) == ERR_OK &&
        json_get_text(result, "job", &id, NULL) == ERR_OK)
        out = strtoll(id + 1, NULL, 10);
    cJSON_Delete(result);
    return out;
}

static void act(void *arg)
{
    struct submitter *s = arg;
    struct client *c = NULL;
    struct why why = {""};
    char title[32];

    while (net_client(&s->peer, "s", &c, &why))
        world_sleep(s->peer.net->world, WORLD_S);
    for (int i = 0; i < N_JOBS; i++) {
        int64_t id;

        snprintf(title, sizeof title, "job %d of %d", i, s->i);
        id = submit(c, title);
        if (id > 0)
            s->jobs[s->n_jobs++] = id;
        else
            s->n_failed++;
    }
    client_close(c);
    if (--*s->n_left == 0)
        net_stop(s->peer.net);
}

struct titles {
    char seen[64][32];
    int n;
};

static void take_title(const struct job_row *row, void *arg)
{
    struct titles *t = arg;

    for (int i = 0; i < t->n; i++)
        assert_string_not_equal(t->seen[i], row->title);
    snprintf(t->seen[t->n++], sizeof t->seen[0], "%s", row->title);
}

static void run_seed(uint64_t seed, const struct net_faults *faults, int64_t *n_crashes)
{
    struct submitter all[N_CLIENTS] = {{.i = 0}};
    struct titles titles = {.n = 0};
    struct world *w = world_new(seed);
    struct store *store;
    struct why why = {""};
    struct net n;
    int n_left = N_CLIENTS;

    net_init(&n, w);
    n.faults = *faults;
    net_start(&n);
    for (int i = 0; i < N_CLIENTS; i++) {
        all[i] = (struct submitter){.peer = {.net = &n}, .i = i, .n_left = &n_left};
        world_add(w, "submitter", act, &all[i]);
    }
    if (!world_run(w, 3600 * WORLD_S))
        fail_msg("seed %llu does not end", (unsigned long long)seed);
    assert_int_equal(n.options.ops->open(n.dir, NULL, &store, &why), ERR_OK);
    assert_int_equal(n.options.ops->each_job(store, 0, take_title, &titles), ERR_OK);
    n.options.ops->close(store);
    for (int i = 0; i < N_CLIENTS; i++) {
        assert_int_equal(all[i].n_failed, 0);
        assert_int_equal(all[i].n_jobs, N_JOBS);
    }
    assert_int_equal(titles.n, N_CLIENTS * N_JOBS);
    *n_crashes += n.n_crashes;
    net_fini(&n);
    world_free(w);
}

static void a_call_is_executed_once_through_losses_of_requests_and_replies(void **state)
{
    const struct net_faults faults = {.lose_request = 100, .lose_reply = 100, .delay_ns = 200 * WORLD_MS};
    int64_t n_crashes = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        run_seed(seed, &faults, &n_crashes);
    assert_int_equal(n_crashes, 0);
}

/* An answer that was lost with the tracker may be given twice: the request id of a job is kept with the job. */
static void a_job_is_made_once_through_crashes_before_and_after_the_commit(void **state)
{
    const struct net_faults faults = {.lose_reply = 30, .crash_before = 100, .crash_after = 100};
    int64_t n_crashes = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++)
        run_seed(seed, &faults, &n_crashes);
    assert_true(n_crashes > 12);
}

static void the_same_seed_is_the_same_run(void **state)
{
    const struct net_faults faults = {.lose_request = 50, .lose_reply = 50, .crash_before = 50};
    int64_t first = 0, second = 0;

    (void)state;
    run_seed(5, &faults, &first);
    run_seed(5, &faults, &second);
    assert_int_equal(first, second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_executed_once_through_losses_of_requests_and_replies),
        cmocka_unit_test(a_job_is_made_once_through_crashes_before_and_after_the_commit),
        cmocka_unit_test(the_same_seed_is_the_same_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
