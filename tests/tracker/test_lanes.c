/* SPDX-License-Identifier: MIT */
/* Which open trial is next: users share the devices of a key by time used, and so do the jobs of a user. */
#include "tests/tracker/rig.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int start(void **state)
{
    struct rig *r = calloc(1, sizeof *r);

    rig_init(r);
    rig_start(r);
    rig_agent(r, "a", "n");
    *state = r;
    return 0;
}

static int stop(void **state)
{
    rig_check_books(((struct rig *)*state)->t);
    rig_stop(*state);
    free(*state);
    return 0;
}

static int64_t submit_as(struct rig *r, const char *user, int priority)
{
    cJSON *result =
        rig_must(r, "job_submit", "{'body':'b','key':'cpu','lease':true,'user':'%s','priority':%d}", user, priority);
    const int64_t id = strtoll(text_in(result, "job") + 1, NULL, 10);

    cJSON_Delete(result);
    return id;
}

static int64_t submit(struct rig *r, int priority)
{
    return submit_as(r, "", priority);
}

static const struct lane *lane_of(const struct rig *r, int64_t job)
{
    const struct slug *s = table_get_text(&r->t->slugs, "cpu");

    for (const struct lane *l = s->lanes; l; l = l->next)
        if (l->job->id == job)
            return l;
    fail_msg("job %d has no lane", (int)job);
    return NULL;
}

static int64_t job_of_lease(const cJSON *lease, int i)
{
    return strtoll(text_in(item_in(lease, "trials", i), "job") + 1, NULL, 10);
}

/* Leases and answers n trials, one at a time, each costing what its job costs; counts those of each job. */
static void run(struct rig *r, int n, const double cost_ms[], int of_job[])
{
    for (int i = 0; i < n; i++) {
        cJSON *lease = rig_lease(r, "a", 1, 1);
        const int64_t job = job_of_lease(lease, 0);

        of_job[job]++;
        rig_answer(r, lease, 0, "ok", cost_ms[job]);
        cJSON_Delete(lease);
    }
}

static void expect_near(double is, double expected)
{
    if (is < expected - 1e-6 || is > expected + 1e-6)
        fail_msg("%.9g, expected %.9g", is, expected);
}

/* ---- facts ---- */

static void jobs_with_equal_trials_take_turns(void **state)
{
    struct rig *r = *state;
    const double cost[] = {0, 100, 100};
    int of_job[3] = {0};

    rig_add(r, submit(r, 0), 0, 40, 0);
    rig_add(r, submit(r, 0), 0, 40, 100);
    run(r, 40, cost, of_job);
    assert_in_range(of_job[1], 19, 21);
}

static void shares_are_of_time_and_not_of_trials(void **state)
{
    struct rig *r = *state;
    const double cost[] = {0, 300, 100};
    int of_job[3] = {0};

    rig_add(r, submit(r, 0), 0, 60, 0);
    rig_add(r, submit(r, 0), 0, 60, 100);
    run(r, 60, cost, of_job);
    assert_in_range(of_job[1], 13, 17); /* a quarter of the trials, half of the time */
}

static void each_step_of_priority_doubles_the_share(void **state)
{
    struct rig *r = *state;
    const double cost[] = {0, 100, 100, 100};
    int of_job[4] = {0};

    rig_add(r, submit(r, 1), 0, 60, 0);
    rig_add(r, submit(r, 0), 0, 60, 100);
    rig_add(r, submit(r, -1), 0, 60, 200);
    run(r, 70, cost, of_job);
    assert_in_range(of_job[1], 38, 42);
    assert_in_range(of_job[2], 18, 22);
    assert_in_range(of_job[3], 8, 12);
}

static void the_weight_of_a_job_is_a_power_of_two(void **state)
{
    (void)state;
    for (int p = -3; p <= 3; p++) {
        const struct tracker_job j = {.priority = p};

        expect_near(job_weight(&j), p < 0 ? 1.0 / (1 << -p) : 1 << p);
    }
}

/* Who comes later has the same claim from then on, neither a debt nor a credit. */
static void a_newcomer_starts_where_the_others_are(void **state)
{
    struct rig *r = *state;
    const double cost[] = {0, 100, 100};
    int of_job[3] = {0};

    rig_add(r, submit(r, 0), 0, 60, 0);
    run(r, 20, cost, of_job);
    rig_add(r, submit(r, 0), 0, 60, 100);
    of_job[1] = 0;
    run(r, 20, cost, of_job);
    assert_in_range(of_job[2], 9, 11);
}

/* Nor has it a credit where the others only have nothing to do just then: of one user's jobs, and of two users. */
static void a_newcomer_starts_where_those_were_who_wait(void **state)
{
    struct rig *r = *state;
    const double cost[] = {0, 100, 100, 100, 100};
    int of_job[5] = {0};

    for (int first = 1; first <= 3; first += 2) {
        const char *const users[2] = {first == 1 ? "one" : "early", first == 1 ? "one" : "late"};

        rig_add(r, submit_as(r, users[0], 0), 0, 20, 1000 * first);
        run(r, 20, cost, of_job);
        rig_add(r, submit_as(r, users[1], 0), 0, 20, 1000 * first + 100);
        rig_add(r, first, 20, 20, 1000 * first + 200);
        of_job[first] = 0;
        run(r, 20, cost, of_job);
        assert_in_range(of_job[first], 9, 11);
        run(r, 20, cost, of_job); /* the rest of both */
    }
}

/* A large lease is charged a guess for each of its trials at once, which their costs then correct. A newcomer starts
 * where the others are, not where they were guessed to get: else it stands behind hundreds of trials. */
static void a_newcomer_does_not_start_behind_what_was_only_guessed(void **state)
{
    struct rig *r = *state;
    const double cost[] = {0, 5, 5};
    int of_job[3] = {0};
    cJSON *lease;

    rig_add(r, submit(r, 0), 0, 60, 0);
    lease = rig_lease(r, "a", 20, 20);
    for (int i = 0; i < 20; i++)
        rig_answer(r, lease, i, "ok", 5);
    cJSON_Delete(lease);
    rig_add(r, submit(r, 0), 0, 20, 100);
    run(r, 20, cost, of_job);
    assert_true(of_job[2] >= 10);
}

/* The same with leases of an agent that overlap, of another user: what is under way is a guess, too. */
static void a_newcomer_does_not_start_behind_leases_under_way(void **state)
{
    struct rig *r = *state;
    const double cost[] = {0, 5, 5};
    int of_job[3] = {0};
    cJSON *lease[3];

    rig_add(r, submit_as(r, "ada", 0), 0, 60, 0);
    lease[0] = rig_lease(r, "a", 8, 8);
    for (int i = 0; i < 3; i++) { /* the next one is leased before one is answered */
        if (i < 2)
            lease[i + 1] = rig_lease(r, "a", 8, 8);
        for (int k = 0; k < 8; k++)
            rig_answer(r, lease[i], k, "ok", 5);
        cJSON_Delete(lease[i]);
    }
    rig_add(r, submit_as(r, "bob", 0), 0, 20, 100);
    run(r, 20, cost, of_job);
    assert_in_range(of_job[2], 9, 11);
}

/* A job that ends with leases under way leaves no guess behind: else whoever comes later is served alone for as long.
 */
static void what_a_cancelled_job_had_leased_is_no_guess_for_ever(void **state)
{
    struct rig *r = *state;
    const double cost[] = {0, 5, 5, 5};
    int of_job[4] = {0};
    cJSON *lease;

    rig_add(r, submit_as(r, "ada", 0), 0, 60, 0);
    rig_add(r, submit_as(r, "ada", 0), 0, 60, 100);
    lease = rig_lease(r, "a", 8, 8);
    rig_do(r, "job_cancel", "{'job':'j%d'}", (int)job_of_lease(lease, 0));
    cJSON_Delete(lease);
    run(r, 10, cost, of_job);
    rig_add(r, submit_as(r, "bob", 0), 0, 20, 200);
    run(r, 20, cost, of_job);
    assert_in_range(of_job[3], 9, 11);
}

/* Two jobs, the first of `user`, which has nothing to do for long. */
static void idle_for_long(struct rig *r, const char *user)
{
    const double cost[] = {0, 100, 100};
    int of_job[3] = {0};

    rig_add(r, submit_as(r, user, 0), 0, 1, 0);
    rig_add(r, submit(r, 0), 0, 100, 100);
    run(r, 40, cost, of_job);
    assert_int_equal(of_job[1], 1);
    rig_add(r, 1, 1, 40, 1);
    of_job[1] = 0;
    run(r, 20, cost, of_job);
    assert_in_range(of_job[1], 9, 11);
}

static void idle_time_is_not_saved_up(void **state)
{
    idle_for_long(*state, ""); /* of the same user */
}

static void idle_time_of_a_user_is_not_saved_up_either(void **state)
{
    idle_for_long(*state, "another");
}

static void a_lease_is_one_batch_of_one_job(void **state)
{
    struct rig *r = *state;
    cJSON *first, *second;

    rig_add(r, submit(r, 0), 0, 3, 0);
    rig_add(r, submit(r, 0), 0, 3, 100);
    first = rig_lease(r, "a", 8, 3);
    second = rig_lease(r, "a", 8, 3);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(job_of_lease(first, i), job_of_lease(first, 0));
        assert_int_equal(job_of_lease(second, i), job_of_lease(second, 0));
    }
    assert_int_not_equal(job_of_lease(first, 0), job_of_lease(second, 0));
    cJSON_Delete(first);
    cJSON_Delete(second);
}

static void keys_do_not_share(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_do(r, "agent_register", "{'agent':'g','nonce':'n','key':'gpu','fingerprint':'%s'}", hash_of(-2));
    rig_add(r, rig_submit(r, "gpu"), 0, 2, 0);
    rig_add(r, rig_submit(r, "cpu"), 0, 2, 100);
    lease = rig_lease(r, "a", 8, 2);
    assert_int_equal(job_of_lease(lease, 0), 2);
    cJSON_Delete(lease);
    lease = rig_lease(r, "g", 8, 2);
    assert_int_equal(job_of_lease(lease, 0), 1);
    cJSON_Delete(lease);
}

static void one_job_may_have_trials_for_several_keys(void **state)
{
    struct rig *r = *state;

    rig_do(r, "agent_register", "{'agent':'g','nonce':'n','key':'gpu','fingerprint':'%s'}", hash_of(-2));
    rig_add(r, rig_submit(r, "gpu"), 0, 2, 0);
    rig_do(r, "trial_add", "{'job':'j1','token':1,'trials':[{'n':9,'key':'cpu','program':'%s','body':{}}]}",
           hash_of(9));
    cJSON_Delete(rig_lease(r, "a", 8, 1));
    cJSON_Delete(rig_lease(r, "g", 8, 2));
}

/* ---- users ---- */

static void users_share_equally_however_many_jobs_they_have(void **state)
{
    struct rig *r = *state;
    double cost[12] = {0};
    int of_job[12] = {0};

    for (int i = 1; i <= 11; i++)
        cost[i] = i == 11 ? 50 : 100;
    for (int i = 0; i < 10; i++)
        rig_add(r, submit_as(r, "many", 3), 0, 20, 100 * i);
    rig_add(r, submit_as(r, "one", -3), 0, 60, 2000);
    run(r, 60, cost, of_job);
    assert_in_range(of_job[11], 38, 42); /* half of the time: two trials for each of the others */
    for (int i = 1; i <= 10; i++)
        assert_in_range(of_job[i], 1, 3);
}

static void a_user_who_comes_later_is_served_at_once(void **state)
{
    struct rig *r = *state;
    const double cost[] = {0, 100, 100, 100};
    int of_job[4] = {0};
    cJSON *lease;

    rig_add(r, submit_as(r, "early", 0), 0, 60, 0);
    rig_add(r, submit_as(r, "early", 0), 0, 60, 100);
    run(r, 20, cost, of_job);
    lease = rig_lease(r, "a", 20, 20);
    rig_add(r, submit_as(r, "late", 0), 0, 20, 200);
    cJSON_Delete(lease);
    lease = rig_lease(r, "a", 1, 1);
    assert_int_equal(job_of_lease(lease, 0), 3);
    cJSON_Delete(lease);
}

/* Jobs that end and come again are no way to more than one's share. */
static void what_a_user_had_counts_for_the_next_job_too(void **state)
{
    struct rig *r = *state;
    double cost[30] = {0};
    int of_job[30] = {0};
    int n_other = 0;

    rig_add(r, submit_as(r, "other", 0), 0, 40, 5000);
    for (int id = 2; id < 12; id++) {
        cost[1] = cost[id] = 100;
        rig_add(r, submit_as(r, "quick", 0), 0, 1, 100 * id);
        while (!of_job[id])
            run(r, 1, cost, of_job);
        rig_do(r, "job_done", "{'job':'j%d','token':1}", id);
    }
    n_other = of_job[1];
    assert_in_range(n_other, 9, 11);
}

/* ---- charges ---- */

static void a_grant_is_charged_a_guess_and_settled_with_the_cost(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_add(r, submit(r, 0), 0, 3, 0);
    expect_near(lane_of(r, 1)->used_ms, 0);
    lease = rig_lease(r, "a", 1, 1);
    expect_near(lane_of(r, 1)->used_ms, 500); /* nothing is known yet */
    rig_answer(r, lease, 0, "ok", 100);
    cJSON_Delete(lease);
    expect_near(lane_of(r, 1)->used_ms, 100);
    expect_near(lane_of(r, 1)->mean_ms, 450); /* an eighth of the way */
    lease = rig_lease(r, "a", 1, 1);
    expect_near(lane_of(r, 1)->used_ms, 550);
    rig_answer(r, lease, 0, "timeout", 0); /* it cost nothing, and that says nothing about the next one */
    cJSON_Delete(lease);
    expect_near(lane_of(r, 1)->used_ms, 100);
    expect_near(lane_of(r, 1)->mean_ms, 450);
}

static void charges_are_divided_by_the_weight(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_add(r, submit(r, 2), 0, 3, 0);
    lease = rig_lease(r, "a", 1, 1);
    expect_near(lane_of(r, 1)->used_ms, 125);
    rig_answer(r, lease, 0, "ok", 100);
    cJSON_Delete(lease);
    expect_near(lane_of(r, 1)->used_ms, 25);
}

static void what_is_given_back_is_not_charged(void **state)
{
    struct rig *r = *state;

    rig_add(r, submit(r, 0), 0, 3, 0);
    cJSON_Delete(rig_lease(r, "a", 2, 2));
    expect_near(lane_of(r, 1)->used_ms, 1000);
    rig_do(r, "trial_release", "{'trials':[{'trial':'t1','token':1}]}");
    expect_near(lane_of(r, 1)->used_ms, 500);
    rig_pass(r, RIG_LEASE_MS + HALL_TICK_MS);
    expect_near(lane_of(r, 1)->used_ms, 0);
    expect_near(lane_of(r, 1)->mean_ms, 500);
}

static void the_result_of_a_trial_that_nobody_has_is_not_charged(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_add(r, submit(r, 0), 0, 2, 0);
    lease = rig_lease(r, "a", 1, 1);
    rig_pass(r, RIG_LEASE_MS + HALL_TICK_MS);
    assert_true(rig_answer(r, lease, 0, "ok", 100));
    expect_near(lane_of(r, 1)->used_ms, 0);
    cJSON_Delete(lease);
}

static void the_lanes_of_a_job_end_with_it(void **state)
{
    struct rig *r = *state;
    const struct slug *s;

    rig_add(r, submit(r, 0), 0, 2, 0);
    rig_add(r, submit(r, 0), 0, 2, 100);
    rig_add(r, submit(r, 0), 0, 2, 200);
    cJSON_Delete(rig_lease(r, "a", 1, 1));
    rig_do(r, "job_cancel", "{'job':'j2'}");
    s = table_get_text(&r->t->slugs, "cpu");
    for (const struct lane *l = s->lanes; l; l = l->next)
        assert_int_not_equal(l->job->id, 2);
    cJSON_Delete(rig_lease(r, "a", 64, 2));
    cJSON_Delete(rig_lease(r, "a", 64, 1));
    cJSON_Delete(rig_lease(r, "a", 64, 0));
}

/* ---- builds ---- */

static void a_trial_whose_code_is_not_there_lets_others_pass(void **state)
{
    struct rig *r = *state;
    cJSON *lease;

    rig_do(r, "builder_register", "{'agent':'make','nonce':'n','arches':['sm_61']}");
    rig_do(r, "agent_register", "{'agent':'a','nonce':'n','key':'cpu','fingerprint':'%s','arch':'sm_61'}", hash_of(-1));
    rig_add(r, submit(r, 0), 0, 2, 0);
    rig_add(r, submit(r, 0), 0, 2, 100);
    cJSON_Delete(rig_lease(r, "a", 8, 0));
    rig_do(r, "build_result", "{'program':'%s','arch':'sm_61','status':'ok','blobs':[],'body':{}}", hash_of(1));
    rig_do(r, "build_result", "{'program':'%s','arch':'sm_61','status':'ok','blobs':[],'body':{}}", hash_of(101));
    lease = rig_lease(r, "a", 8, 1); /* the second of a job, for the first is not built */
    assert_int_equal(number_in(item_in(lease, "trials", 0), "n"), 1);
    cJSON_Delete(lease);
    cJSON_Delete(rig_lease(r, "a", 8, 1));
    cJSON_Delete(rig_lease(r, "a", 8, 0));
}

int main(void)
{
#define FACT(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        FACT(jobs_with_equal_trials_take_turns),
        FACT(shares_are_of_time_and_not_of_trials),
        FACT(each_step_of_priority_doubles_the_share),
        cmocka_unit_test(the_weight_of_a_job_is_a_power_of_two),
        FACT(a_newcomer_starts_where_the_others_are),
        FACT(a_newcomer_starts_where_those_were_who_wait),
        FACT(a_newcomer_does_not_start_behind_what_was_only_guessed),
        FACT(a_newcomer_does_not_start_behind_leases_under_way),
        FACT(what_a_cancelled_job_had_leased_is_no_guess_for_ever),
        FACT(idle_time_is_not_saved_up),
        FACT(idle_time_of_a_user_is_not_saved_up_either),
        FACT(a_lease_is_one_batch_of_one_job),
        FACT(keys_do_not_share),
        FACT(one_job_may_have_trials_for_several_keys),
        FACT(users_share_equally_however_many_jobs_they_have),
        FACT(a_user_who_comes_later_is_served_at_once),
        FACT(what_a_user_had_counts_for_the_next_job_too),
        FACT(a_grant_is_charged_a_guess_and_settled_with_the_cost),
        FACT(charges_are_divided_by_the_weight),
        FACT(what_is_given_back_is_not_charged),
        FACT(the_result_of_a_trial_that_nobody_has_is_not_charged),
        FACT(the_lanes_of_a_job_end_with_it),
        FACT(a_trial_whose_code_is_not_there_lets_others_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
