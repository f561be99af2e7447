/* SPDX-License-Identifier: MIT */
/* Facts about one budget for several tasks, and about what they teach each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/rng.h"
#include "tuner/gain.h"
#include "tuner/session.h"
#include "tuner/share.h"
#include "tuner/sibling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N_TASKS 12
#define BATCH 8

/* A made-up layer: time = floor * (1 + worst * u^(1/shape)), u uniform: the larger `shape`, the rarer are times near
 * the floor. A search that learns draws from a range that shrinks with its trials instead. */
struct layer {
    double floor_ns, worst, shape, count, best_ns;
    struct gain gain;
    int64_t n;
};

static void layers_init(struct layer *layers, struct rng *rng)
{
    for (size_t i = 0; i < N_TASKS; i++)
        layers[i] = (struct layer){.floor_ns = 1e5 * exp(3 * rng_unit(rng)),
                                   .worst = 1 + 9 * rng_unit(rng),
                                   .shape = 1 + 4 * rng_unit(rng),
                                   .count = 1 + (double)rng_below(rng, 6),
                                   .best_ns = INFINITY};
}

static void measure(struct layer *l, bool learns, struct rng *rng)
{
    for (int i = 0; i < BATCH; i++, l->n++) {
        const double u = rng_unit(rng);
        const double over = learns ? u * exp(-(double)l->n / (20 * l->shape)) : pow(u, 1 / l->shape);
        const double time_ns = l->floor_ns * (1 + l->worst * over);

        l->best_ns = fmin(l->best_ns, time_ns);
        gain_add(&l->gain, log(time_ns));
    }
}

static size_t by_gain(const struct layer *layers)
{
    struct share_task tasks[N_TASKS];

    for (size_t i = 0; i < N_TASKS; i++)
        tasks[i] =
            (struct share_task){.time_ns = isinf(layers[i].best_ns) ? (double)NAN : layers[i].count * layers[i].best_ns,
                                .gain = gain_expected(&layers[i].gain, 0, BATCH),
                                .n_out = layers[i].n,
                                .open = true};
    return share_next(tasks, N_TASKS, BATCH);
}

/* Batches until the total is at most `goal` times that of all floors. */
static size_t batches_until(double goal, bool learns, uint64_t seed, bool shared)
{
    struct layer layers[N_TASKS];
    double total = INFINITY, floors = 0;
    struct rng rng;
    size_t n = 0;

    rng_init(&rng, seed);
    layers_init(layers, &rng);
    for (size_t i = 0; i < N_TASKS; i++)
        floors += layers[i].count * layers[i].floor_ns;
    for (; n < 600 && total > goal * floors; n++) {
        measure(&layers[shared ? by_gain(layers) : n % N_TASKS], learns, &rng);
        total = 0;
        for (size_t i = 0; i < N_TASKS; i++)
            total += layers[i].count * layers[i].best_ns;
    }
    return n;
}

static void compare(double goal, bool learns)
{
    size_t in_turn = 0, shared = 0;

    for (uint64_t seed = 0; seed < 40; seed++) {
        in_turn += batches_until(goal, learns, seed, false);
        shared += batches_until(goal, learns, seed, true);
    }
    print_message("batches of %d to %.2f times the floors, a mean of 40 jobs: in turn %.1f, shared %.1f\n", BATCH, goal,
                  (double)in_turn / 40, (double)shared / 40);
    assert_true(10 * shared < 9 * in_turn);
}

static void a_shared_budget_reaches_a_total_in_fewer_trials_than_taking_turns(void **state)
{
    (void)state;
    compare(2.0, false);
    compare(1.05, true);
}

static void nobody_starves(void **state)
{
    struct share_task tasks[3] = {{.time_ns = 1e9, .gain = 1, .open = true},
                                  {.time_ns = 1, .gain = 1e-9, .open = true},
                                  {.time_ns = 1e9, .gain = 1, .open = false}};

    (void)state;
    for (int i = 0; i < 100; i++)
        tasks[share_next(tasks, 3, 2)].n_out += BATCH;
    assert_int_equal(tasks[2].n_out, 0); /* it takes no more */
    assert_true(tasks[1].n_out >= 20);   /* a tenth of an equal part of 800 */
    assert_true(tasks[0].n_out >= 700);
}

static void the_untouched_come_first_and_hopes_without_a_config_fade(void **state)
{
    struct share_task tasks[2] = {{.time_ns = 100, .gain = 0.1, .n_out = 16, .open = true},
                                  {.time_ns = (double)NAN, .gain = (double)NAN, .open = true}};
    int64_t n_in_vain;

    (void)state;
    assert_int_equal(share_next(tasks, 2, 8), 1);
    for (n_in_vain = 0; n_in_vain < 400 && share_next(tasks, 2, 8) == 1; n_in_vain += BATCH)
        tasks[1].n_out += BATCH;
    assert_in_range(n_in_vain, 16, 100);
    tasks[0].open = tasks[1].open = false;
    assert_int_equal(share_next(tasks, 2, 8), 2);
}

/* What share.h says, written anew. */
static size_t next_of(const struct share_task *t, size_t n, int64_t minimum)
{
    double mean_ns = 0, pace = 0, n_known = 0, n_paces = 0, most = -1;
    int64_t out = 0;
    size_t fewest = n, next = n;

    for (size_t i = 0; i < n; i++) {
        if (!isnan(t[i].time_ns)) {
            mean_ns += t[i].time_ns;
            n_known++;
        }
        if (!isnan(t[i].gain) && t[i].n_out > 0) {
            pace += t[i].gain * (double)t[i].n_out;
            n_paces++;
        }
        out += t[i].n_out;
        if (t[i].open && (fewest == n || t[i].n_out < t[fewest].n_out))
            fewest = i;
    }
    mean_ns = n_known > 0 ? mean_ns / n_known : 1;
    pace = n_paces > 0 ? pace / n_paces : 0;
    if (fewest < n && (t[fewest].n_out < minimum || 10 * t[fewest].n_out * (int64_t)n < out))
        return fewest;
    for (size_t i = 0; i < n; i++) {
        const double g = 0.5 * t[i].gain + 0.5 * pace / (double)t[i].n_out;
        const double saved = isnan(t[i].time_ns)
                                 ? mean_ns * 0.5 * (double)(minimum + 1) / (double)(minimum + 1 + t[i].n_out)
                             : isnan(t[i].gain) || t[i].n_out < 1 ? 0.5 * t[i].time_ns
                                                                  : t[i].time_ns * (1 - exp(-g));

        if (t[i].open && saved > most) {
            most = saved;
            next = i;
        }
    }
    return next;
}

static void the_next_task_is_the_one_that_the_rule_names(void **state)
{
    size_t n_taken[5] = {0};
    struct rng rng;

    (void)state;
    rng_init(&rng, 9);
    for (int round = 0; round < 4000; round++) {
        const size_t n = 1 + rng_below(&rng, 5);
        const int64_t minimum = (int64_t)rng_below(&rng, 9), least = (int64_t)rng_below(&rng, 30);
        struct share_task t[5];
        size_t got;

        for (size_t i = 0; i < n; i++)
            t[i] = (struct share_task){.time_ns = rng_below(&rng, 5) == 0 ? (double)NAN : exp(4 * rng_unit(&rng)),
                                       .gain = rng_below(&rng, 5) == 0 ? (double)NAN : 0.2 * rng_unit(&rng),
                                       .n_out = least + (int64_t)rng_below(&rng, rng_below(&rng, 2) ? 10 : 400),
                                       .open = rng_below(&rng, 4) > 0};
        got = share_next(t, n, minimum);
        if (got != next_of(t, n, minimum))
            fail_msg("round %d: %zu, expected %zu", round, got, next_of(t, n, minimum));
        if (got < n)
            n_taken[got]++;
    }
    for (size_t i = 0; i < 5; i++)
        assert_true(n_taken[i] > 100);
}

static struct space *space_of(int64_t largest, const char *extra)
{
    const int64_t sizes[] = {1, 2, 4, largest};
    const char *const words[] = {"row", "column"};
    struct space *s = NULL;
    struct why why = {""};

    assert_int_equal(space_new(&s), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, "tile", &why, 4, sizes), ERR_OK);
    assert_int_equal(space_add_knob_words(s, "order", words, 2, &why), ERR_OK);
    assert_int_equal(space_add_knob_ints(s, extra, &why, 3, (const int64_t[]){0, 1, 2}), ERR_OK);
    assert_int_equal(space_seal(s, &why), ERR_OK);
    return s;
}

static void a_config_is_carried_over_by_the_names_of_knobs(void **state)
{
    struct space *from = space_of(64, "unroll"), *to = space_of(7, "other");
    const struct config otherwise = {.choice = {0, 0, 2}};
    struct config c, carried;
    struct why why = {""};
    struct buf text;

    (void)state;
    buf_init(&text, 256);
    assert_int_equal(space_config_parse(from, "tile=64 order=column unroll=1", &c, &why), ERR_OK);
    sibling_carry(from, &c, to, &otherwise, &carried);
    assert_int_equal(space_config_text(to, &carried, &text), ERR_OK);
    assert_string_equal(buf_text(&text), "tile=7 order=column other=2");
    buf_fini(&text);
    space_free(from);
    space_free(to);
}

static double unlike(const char *a, const char *b)
{
    struct workload x, y;

    assert_int_equal(workload_parse(a, &x, NULL), ERR_OK);
    assert_int_equal(workload_parse(b, &y, NULL), ERR_OK);
    assert_true(sibling_unlike(&x, &y) == sibling_unlike(&y, &x));
    return sibling_unlike(&x, &y);
}

static void how_unlike_two_workloads_are_is_their_ratio_over_all_sizes(void **state)
{
    (void)state;
    assert_true(unlike("dense f32 m=8 n=64 k=64", "dense f32 m=8 n=64 k=64") == 0);
    assert_true(fabs(unlike("dense f32 m=8 n=63 k=64", "dense f32 m=8 n=127 k=64") - log(2)) < 1e-12); /* of 1 + size */
    assert_true(fabs(unlike("dense f32 m=7 n=63 k=64", "dense f32 m=15 n=127 k=64") - 2 * log(2)) < 1e-12);
    assert_true(fabs(unlike("dense f32 m=8 n=64 k=64", "dense f16 m=8 n=64 k=64") - 1) < 1e-12);
}

static const char *templates = "dense/gemm_packed";

static void start(struct task *t, size_t i_layer)
{
    struct device_desc d = {.kind = DEVICE_CPU,
                            .units = 1,
                            .threads = 1,
                            .max_work_group = 4096,
                            .local_bytes = 65536,
                            .global_bytes = (int64_t)1 << 30,
                            .max_alloc_bytes = (int64_t)1 << 28,
                            .vector_bits = 512,
                            .max_local = {4096, 4096, 4096}};
    struct why why = {""};
    struct job j;

    snprintf(d.api, sizeof d.api, "opencl");
    snprintf(d.name, sizeof d.name, "test cpu");
    job_init(&j);
    snprintf(j.strategy, sizeof j.strategy, "random");
    snprintf(j.templates, sizeof j.templates, "%s", templates);
    assert_int_equal(job_add_layer(&j, "dense f32 m=8 n=16 k=64", "a", 1), ERR_OK);
    assert_int_equal(job_add_layer(&j, "dense f32 m=8 n=32 k=64", "b", 1), ERR_OK);
    assert_int_equal(job_add_layer(&j, "dense f32 m=8 n=1024 k=64", "c", 1), ERR_OK);
    assert_int_equal(task_init(t, &j, i_layer, &d, &why), ERR_OK);
    job_fini(&j);
}

/* Tells a task n configs of its own strategy; the last one is the best. */
static void teach(struct task *t, size_t n)
{
    struct task_proposal p[32];
    size_t got = 0;

    assert_int_equal(task_ask(t, n, p, &got, NULL), ERR_OK);
    assert_int_equal(got, n);
    for (size_t i = 0; i < n; i++) {
        struct record r;

        record_init(&r);
        r.workload = strdup(t->text);
        snprintf(r.template_id, sizeof r.template_id, "%s", t->arms[p[i].i_arm].id);
        r.template_version = t->arms[p[i].i_arm].version;
        r.knobs = space_config_to_json(t->arms[p[i].i_arm].space, &p[i].config);
        r.fingerprint = t->fingerprint;
        snprintf(r.purpose, sizeof r.purpose, "search");
        r.time_ns = 1e6 / (double)(i + 1);
        r.lnratio = (double)NAN;
        assert_int_equal(task_take(t, &r, ORIGIN_JOB), ERR_OK);
        record_fini(&r);
    }
}

static void layers_try_the_best_config_of_the_layer_most_like_them_once(void **state)
{
    struct task tasks[3];
    struct task_proposal hint[4], later[32];
    struct rng rng;
    size_t n = 0;

    (void)state;
    rng_init(&rng, 1);
    for (size_t i = 0; i < 3; i++)
        start(&tasks[i], i);
    assert_int_equal(sibling_hints(tasks, 3, 0, &rng, 2, hint), 0); /* nobody knows anything */
    teach(&tasks[1], SIBLING_LEAST);
    teach(&tasks[2], SIBLING_LEAST - 1); /* too little to teach */
    n = sibling_hints(tasks, 3, 0, &rng, 4, hint);
    assert_int_equal(n, 1);
    assert_true(space_is_valid(tasks[0].arms[hint[0].i_arm].space, &hint[0].config, NULL));
    assert_string_equal(hint[0].by, "sibling");
    assert_int_equal(sibling_hints(tasks, 3, 0, &rng, 4, hint + 1), 0);
    while (task_ask(&tasks[0], 32, later, &n, NULL) == ERR_OK && n > 0) /* nor does its own strategy bring it again */
        for (size_t i = 0; i < n; i++)
            assert_false(space_config_equal(tasks[0].arms[hint[0].i_arm].space, &later[i].config, &hint[0].config));
    for (size_t i = 0; i < 3; i++)
        task_fini(&tasks[i]);
}

/* The best config that a task measured with the template of `id`. */
static const struct measured *best_of(const struct task *t, const char *id)
{
    const struct measured *best = NULL;

    for (size_t i = 0; i < t->n_all; i++)
        if (strcmp(t->arms[t->all[i].i_arm].id, id) == 0 && (!best || t->all[i].value < best->value))
            best = &t->all[i];
    return best;
}

/* Of two workloads in different spaces: each template learns from itself, and the values are carried by name. */
static void what_is_tried_is_the_best_of_the_same_template(void **state)
{
    struct task tasks[3];
    struct task_proposal hints[4];
    struct rng rng;
    size_t n, n_valid = 0;

    (void)state;
    rng_init(&rng, 2);
    templates = "dense/gemm_direct,dense/gemm_packed";
    for (size_t i = 0; i < 3; i++) {
        start(&tasks[i], i);
        for (size_t k = 0; k < tasks[i].n_arms; k++)
            tasks[i].arms[k].version = 1; /* so that names alone tell templates apart */
    }
    templates = "dense/gemm_packed";
    teach(&tasks[1], 24); /* of both templates; n=128 is nearer to n=64 than n=4096 is */
    teach(&tasks[2], 24);
    n = sibling_hints(tasks, 3, 0, &rng, 2, hints);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++) {
        const struct arm *a = &tasks[0].arms[hints[i].i_arm];
        const struct measured *best = best_of(&tasks[1], a->id);
        struct config carried;

        assert_non_null(best);
        sibling_carry(tasks[1].arms[best->i_arm].space, &best->config, a->space, &a->fallback, &carried);
        if (space_is_valid(a->space, &carried, NULL)) {
            assert_true(space_config_equal(a->space, &hints[i].config, &carried));
            n_valid++;
        }
        assert_false(hints[0].i_arm == hints[1].i_arm);
    }
    assert_true(n_valid > 0);
    tasks[1].arms[0].version = tasks[2].arms[0].version = 2; /* of another version nothing is learnt */
    tasks[0].n_hinted = 0;
    n = sibling_hints(tasks, 3, 0, &rng, 4, hints);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(hints[i].i_arm, 1);
    for (size_t i = 0; i < 3; i++)
        task_fini(&tasks[i]);
}

/* Batches are counted without being measured: who gets how many is what matters. */
static void layers_of_a_network_spend_the_sum_of_their_trials_and_no_more(void **state)
{
    struct task tasks[3];
    struct job j;
    struct session s = {.tasks = tasks, .n_tasks = 3, .o = {.job = &j}};
    int64_t n_out = 0;

    (void)state;
    job_init(&j);
    snprintf(j.network, sizeof j.network, "net");
    assert_int_equal(job_add_layer(&j, "dense f32 m=8 n=16 k=64", "a", 1), ERR_OK);
    assert_int_equal(job_add_layer(&j, "dense f32 m=8 n=32 k=64", "b", 1), ERR_OK);
    assert_true(job_shares_budget(&j));
    for (size_t i = 0; i < 3; i++) {
        start(&tasks[i], i);
        tasks[i].budget = 50;
        tasks[i].phase = TASK_SEARCH;
        teach(&tasks[i], 10);
        n_out += 10;
    }
    tasks[1].count = 1000; /* nearly all of the network's time */
    for (size_t i; (i = session_next_task(&s)) < 3;) {
        const int64_t n = (int64_t)session_room(&s, &tasks[i]);

        assert_in_range(n, 1, SESSION_BATCH);
        tasks[i].n_counted += n;
        n_out += n;
    }
    assert_int_equal(n_out, session_total(&s));
    assert_int_equal(n_out, 150);
    assert_true(tasks[1].n_counted > 100);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(session_stop(&s, &tasks[i]), STOP_TRIALS);
    for (size_t i = 0; i < 3; i++)
        task_fini(&tasks[i]);
    assert_int_equal(job_set_trials(&j, "60,40", NULL), ERR_OK);
    assert_false(job_shares_budget(&j)); /* each has its own then */
    job_fini(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_budget_reaches_a_total_in_fewer_trials_than_taking_turns),
        cmocka_unit_test(nobody_starves),
        cmocka_unit_test(the_untouched_come_first_and_hopes_without_a_config_fade),
        cmocka_unit_test(the_next_task_is_the_one_that_the_rule_names),
        cmocka_unit_test(how_unlike_two_workloads_are_is_their_ratio_over_all_sizes),
        cmocka_unit_test(a_config_is_carried_over_by_the_names_of_knobs),
        cmocka_unit_test(layers_try_the_best_config_of_the_layer_most_like_them_once),
        cmocka_unit_test(what_is_tried_is_the_best_of_the_same_template),
        cmocka_unit_test(layers_of_a_network_spend_the_sum_of_their_trials_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
