/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/tuner/cpu.h"
#include "tuner/earlier.h"
#include "search/learn/transfer.h"
#include "search/strategies/warm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void start(struct job *j, struct task *t, const char *workload, const char *strategy)
{
    const struct device_desc d = test_cpu();
    struct why why = {""};

    job_init(j);
    snprintf(j->strategy, sizeof j->strategy, "%s", strategy);
    snprintf(j->templates, sizeof j->templates, "dense/gemm_packed");
    assert_int_equal(job_add_layer(j, workload, "fc", 1), ERR_OK);
    assert_int_equal(task_init(t, j, 0, &d, &why), ERR_OK);
}

static void end(struct job *j, struct task *t)
{
    task_fini(t);
    job_fini(j);
}

static size_t searched_arm(const struct task *t)
{
    for (size_t i = 0; i < t->n_arms; i++)
        if (!t->arms[i].baseline)
            return i;
    fail();
    return 0;
}

static struct record record_of(const struct task *t, const struct config *c, double time_ns, bool same_device,
                               const char *purpose)
{
    const struct arm *a = &t->arms[searched_arm(t)];
    struct record r;

    record_init(&r);
    r.workload = strdup(t->text);
    snprintf(r.template_id, sizeof r.template_id, "%s", a->id);
    r.template_version = a->version;
    r.knobs = space_config_to_json(a->space, c);
    r.fingerprint = same_device ? t->fingerprint : sha256_of("other", 5);
    snprintf(r.purpose, sizeof r.purpose, "%s", purpose);
    r.status = time_ns > 0 ? STATUS_OK : STATUS_RUNTIME;
    r.time_ns = time_ns;
    return r;
}

/* A record of a config of `t`, as if of another device. */
static void add(struct earlier *e, const struct task *t, const struct config *c, double time_ns, bool same_device,
                const char *purpose)
{
    struct record r = record_of(t, c, time_ns, same_device, purpose);

    earlier_add(e, &r);
    record_fini(&r);
}

/* Smooth in the places of all knobs' values: least at the config `centre`. */
static double time_of(const struct space *space, const struct config *c, const struct config *centre)
{
    double sum = 0;

    for (size_t i = 0; i < space_n_knobs(space); i++) {
        const double apart = (double)c->choice[i] - (double)centre->choice[i];

        sum += apart * apart / (double)(space_n_values(space, i) * space_n_values(space, i));
    }
    return 1000 * (1 + sum);
}

/* n configs drawn from the space of `t` and their times round `centre`; gives the least of them. */
static double fill(struct earlier *e, const struct task *t, size_t n, bool same_device, const char *purpose)
{
    const struct arm *a = &t->arms[searched_arm(t)];
    double least = INFINITY;
    struct config c;
    struct rng rng;

    rng_init(&rng, 7);
    for (size_t i = 0; i < n; i++) {
        double time_ns;

        assert_int_equal(space_sample(a->space, &rng, 100000, &c), ERR_OK);
        time_ns = time_of(a->space, &c, &a->fallback);
        least = time_ns < least ? time_ns : least;
        add(e, t, &c, time_ns, same_device, purpose);
    }
    return least;
}

static void what_is_best_elsewhere_is_proposed_early(void **state)
{
    struct earlier earlier = {0};
    struct task_proposal p[8];
    struct why why = {""};
    struct job j;
    struct task t;
    size_t n_used = 0, n = 0;
    double best_there, least = INFINITY;

    (void)state;
    start(&j, &t, "dense f32 m=8 n=32 k=16", "auto");
    best_there = fill(&earlier, &t, 60, false, "search");
    assert_int_equal(earlier_warm(&earlier, &t, &j, &n_used, &why), ERR_OK);
    assert_int_equal(n_used, 1);
    assert_int_equal(task_ask(&t, 8, p, &n, NULL), ERR_OK);
    for (size_t i = 0; i < n; i++) {
        const struct arm *a = &t.arms[p[i].i_arm];

        if (strcmp(p[i].by, "history") == 0)
            least = fmin(least, time_of(a->space, &p[i].config, &a->fallback));
    }
    assert_true(least <= best_there);
    earlier_fini(&earlier);
    end(&j, &t);
}

static void another_shape_warms_too(void **state)
{
    struct earlier earlier = {0};
    struct why why = {""};
    struct job j, k;
    struct task t, other;
    size_t n_used = 0;

    (void)state;
    start(&j, &t, "dense f32 m=8 n=32 k=16", "model");
    start(&k, &other, "dense f32 m=16 n=64 k=32", "model");
    fill(&earlier, &other, 30, true, "search");
    assert_int_equal(earlier_warm(&earlier, &t, &j, &n_used, &why), ERR_OK);
    assert_int_equal(n_used, 1);
    assert_ptr_equal(t.arms[searched_arm(&t)].ops, &warm_ops);
    earlier_fini(&earlier);
    end(&j, &t);
    end(&k, &other);
}

/* The task's own records are told as measurements, finals repeat searches, failures alone tell no order. */
static void what_is_no_other_search_warms_nothing(void **state)
{
    struct earlier earlier = {0};
    struct why why = {""};
    struct config c;
    struct job j;
    struct task t;
    size_t n_used = 9;

    (void)state;
    start(&j, &t, "dense f32 m=8 n=32 k=16", "auto");
    c = t.arms[searched_arm(&t)].fallback;
    fill(&earlier, &t, 20, true, "search");
    fill(&earlier, &t, 20, false, "final");
    add(&earlier, &t, &c, 0, false, "search");
    assert_int_equal(earlier_warm(&earlier, &t, &j, &n_used, &why), ERR_OK);
    assert_int_equal(n_used, 0);
    assert_null(t.arms[searched_arm(&t)].history);
    earlier_fini(&earlier);
    end(&j, &t);
}

static void a_strategy_chosen_for_itself_stays_as_it_is(void **state)
{
    struct earlier earlier = {0};
    struct why why = {""};
    struct job j;
    struct task t;
    size_t n_used = 9;

    (void)state;
    start(&j, &t, "dense f32 m=8 n=32 k=16", "random");
    fill(&earlier, &t, 20, false, "search");
    assert_int_equal(earlier_warm(&earlier, &t, &j, &n_used, &why), ERR_OK);
    assert_int_equal(n_used, 0);
    earlier_fini(&earlier);
    end(&j, &t);
}

/* Sources of the same workload come first, then the longest, and no more than the limit. */
static void the_nearest_searches_are_taken(void **state)
{
    struct earlier earlier = {0};
    struct why why = {""};
    struct job j;
    struct task t;
    size_t n_used = 0;

    (void)state;
    start(&j, &t, "dense f32 m=8 n=32 k=16", "auto");
    for (int i = 0; i < EARLIER_MAX_SOURCES + 4; i++) {
        char workload[64];
        struct job k;
        struct task other;

        snprintf(workload, sizeof workload, "dense f32 m=8 n=32 k=%d", 32 + 16 * i);
        start(&k, &other, workload, "auto");
        fill(&earlier, &other, 4 + (size_t)i % 5, true, "search");
        end(&k, &other);
    }
    fill(&earlier, &t, 2, false, "search");
    assert_int_equal(earlier_warm(&earlier, &t, &j, &n_used, &why), ERR_OK);
    assert_int_equal(n_used, EARLIER_MAX_SOURCES);
    assert_string_equal(transfer_label(t.arms[searched_arm(&t)].history, 0), t.text);
    earlier_fini(&earlier);
    end(&j, &t);
}

/* Searches of another workload on n devices, of one template version or of two: each has times of its own. */
static size_t n_searches(struct task *t, const struct task *other, const struct job *j, int n_devices, int n_versions)
{
    const struct arm *a = &other->arms[searched_arm(other)];
    struct earlier earlier = {0};
    struct why why = {""};
    struct config c;
    struct rng rng;
    size_t n_used = 99;

    rng_init(&rng, 7);
    for (int i = 0; i < 60; i++) { /* their records stand mixed, as in a log of a farm */
        const char device = (char)('a' + i % n_devices);
        struct record r;

        assert_int_equal(space_sample(a->space, &rng, 100000, &c), ERR_OK);
        r = record_of(other, &c, time_of(a->space, &c, &a->fallback), false, "search");
        r.fingerprint = sha256_of(&device, 1);
        r.template_version += i / 6 % n_versions;
        earlier_add(&earlier, &r);
        record_fini(&r);
    }
    assert_int_equal(earlier_warm(&earlier, t, j, &n_used, &why), ERR_OK);
    earlier_fini(&earlier);
    return n_used;
}

static void each_device_and_version_has_its_own_search(void **state)
{
    static const int cases[][2] = {{1, 1}, {2, 1}, {3, 1}, {1, 2}, {3, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct job j, k;
        struct task t, other;

        start(&j, &t, "dense f32 m=8 n=32 k=16", "auto");
        start(&k, &other, "dense f32 m=16 n=64 k=32", "auto");
        assert_int_equal(n_searches(&t, &other, &j, cases[i][0], cases[i][1]), cases[i][0] * cases[i][1]);
        end(&j, &t);
        end(&k, &other);
    }
}

static bool keep_first(const struct config *n, void *arg)
{
    *(struct config *)arg = *n;
    return false;
}

/* A log of winners (TVM's TopHub) has one record of a search. */
static void a_lone_winner_is_tried_right_behind_the_default(void **state)
{
    struct earlier earlier = {0};
    struct task_proposal p[8];
    struct why why = {""};
    struct job j;
    struct task t;
    struct config winner;
    size_t n_used = 0, n = 0, i_arm;
    bool found = false;

    (void)state;
    start(&j, &t, "dense f32 m=8 n=32 k=16", "auto");
    i_arm = searched_arm(&t);
    space_neighbours(t.arms[i_arm].space, &t.arms[i_arm].fallback, keep_first, &winner);
    add(&earlier, &t, &winner, 1000, false, "search");
    assert_int_equal(earlier_warm(&earlier, &t, &j, &n_used, &why), ERR_OK);
    assert_int_equal(t.arms[i_arm].n_given, 1);
    assert_int_equal(task_ask(&t, 2, p, &n, NULL), ERR_OK);
    for (size_t i = 0; i < n; i++)
        found = found || (p[i].i_arm == i_arm && space_config_equal(t.arms[i_arm].space, &p[i].config, &winner));
    assert_true(found);
    assert_false(task_give(&t, i_arm, &winner));
    assert_false(task_give(&t, i_arm, &t.arms[i_arm].fallback));
    earlier_fini(&earlier);
    end(&j, &t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_winner_is_tried_right_behind_the_default),
        cmocka_unit_test(what_is_best_elsewhere_is_proposed_early),
        cmocka_unit_test(another_shape_warms_too),
        cmocka_unit_test(what_is_no_other_search_warms_nothing),
        cmocka_unit_test(a_strategy_chosen_for_itself_stays_as_it_is),
        cmocka_unit_test(the_nearest_searches_are_taken),
        cmocka_unit_test(each_device_and_version_has_its_own_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
