/* SPDX-License-Identifier: MIT */
/* Logs that hold several runs, whole or in part: which record is the best of them, in whatever order they come. */
#include "sample.h"

#include "core/rng.h"
#include "logs/log.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define W "dense f32 m=1 n=1 k=1"
#define MAX_RECORDS 256

struct list {
    struct record records[MAX_RECORDS];
    size_t n;
};

static void list_fini(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        record_fini(&l->records[i]);
    l->n = 0;
}

/* One more record, a second after the one before; ids are counted in all. */
static struct record *put(struct list *l, const char *job, const char *purpose, char program, double time_ns)
{
    struct record *r = &l->records[l->n];

    assert_true(l->n < MAX_RECORDS);
    *r = sample_timed(W, '1', job, purpose, program, time_ns);
    snprintf(r->id, sizeof r->id, "t%zu", l->n + 1);
    r->ts_ms = 1000 * (int64_t)(l->n + 1);
    r->se = 0.001;
    l->n++;
    return r;
}

/* The same against an anchor. */
static struct record *put_ratio(struct list *l, const char *job, const char *purpose, char program, double time_ns,
                                char anchor, double lnratio)
{
    struct record *r = put(l, job, purpose, program, time_ns);

    memset(r->anchor.hash.hex, anchor, SHA256_HEX);
    r->lnratio = lnratio;
    return r;
}

/* The index of the best when the records come in this order. */
static size_t best_of(const struct list *l, const size_t *order)
{
    struct best_set *b = NULL;
    size_t i = 0;

    assert_int_equal(best_new(&b), ERR_OK);
    for (size_t k = 0; k < l->n; k++)
        assert_int_equal(best_add(b, &l->records[order[k]]), ERR_OK);
    assert_int_equal(best_n(b), 1);
    while (i < l->n &&
           (strcmp(l->records[i].id, best_at(b, 0)->id) != 0 || l->records[i].data_seed != best_at(b, 0)->data_seed))
        i++;
    best_free(b);
    return i;
}

static void shuffle(struct rng *rng, size_t *order, size_t n)
{
    for (size_t i = n; i-- > 1;) {
        const size_t k = (size_t)(rng_unit(rng) * (double)(i + 1)), kept = order[i];

        order[i] = order[k];
        order[k] = kept;
    }
}

/* The best in the given order, which has to be that of every other order too. */
static size_t best_in_any_order(const struct list *l, int n_orders)
{
    size_t order[MAX_RECORDS], best;
    struct rng rng;

    for (size_t i = 0; i < l->n; i++)
        order[i] = i;
    best = best_of(l, order);
    rng_init(&rng, 7);
    for (int k = 0; k < n_orders; k++) {
        shuffle(&rng, order, l->n);
        if (best_of(l, order) != best)
            fail_msg("in the order of the list the best is record %zu, in another %zu", best, best_of(l, order));
    }
    return best;
}

/* docs/logs.md: p holds against q, whose time is 8 % less, as long as only times tell. The other log's run had both in
 * one batch, which puts p behind; what it found best itself ties with q, and q was there before. */
static void a_merged_log_may_name_what_neither_named(void **state)
{
    struct list l = {.n = 0}, one = {.n = 0};

    (void)state;
    put(&l, "j1", "final", 'a', 1000);
    put(&l, "j2", "final", 'b', 920);
    assert_int_equal(best_in_any_order(&l, 2), 0);
    put_ratio(&l, "j3", "final", 'b', 914, 'a', -0.090);
    put_ratio(&l, "j3", "final", 'c', 905, 'a', -0.100);
    one.n = 2;
    memcpy(one.records, &l.records[2], 2 * sizeof *one.records);
    assert_int_equal(best_in_any_order(&one, 2), 1);
    assert_int_equal(l.records[best_in_any_order(&l, 30)].program.hex[0], 'b');
    list_fini(&l);
}

/* What a shared tracker answered an interrupted job with: the default, which job 1 timed, and searches of three jobs
 * against it. The fastest is 5.3 % faster than the default in one batch, 2.7 % faster than job 2's. */
static void without_finals_the_least_wins_whoever_measured_it(void **state)
{
    struct list l = {.n = 0};

    (void)state;
    put(&l, "j1", "search", 'a', 6838);
    put(&l, "j1", "search", 'b', 7866);
    put_ratio(&l, "j2", "search", 'c', 6738, 'a', -0.027);
    put_ratio(&l, "j9", "search", 'd', 7536, 'a', 0.087);
    put_ratio(&l, "j12", "search", 'e', 6465, 'a', -0.055);
    assert_int_equal(best_in_any_order(&l, 30), 4);
    list_fini(&l);
}

/* Who was first by the clock holds the place against what is better by less than the error, wherever it stands. */
static void the_earliest_final_holds_the_place_in_any_order(void **state)
{
    struct list l = {.n = 0};

    (void)state;
    put_ratio(&l, "j3", "final", 'a', 100, 'e', -0.50);
    put_ratio(&l, "j1", "final", 'b', 97, 'e', -0.53);
    put_ratio(&l, "j2", "final", 'c', 96, 'e', -0.54);
    assert_int_equal(best_in_any_order(&l, 20), 0);
    put_ratio(&l, "j4", "search", 'd', 95.5, 'e', -0.545); /* less than 2 sqrt(2) .02 */
    assert_int_equal(best_in_any_order(&l, 20), 0);
    put_ratio(&l, "j5", "search", 'f', 92, 'e', -0.58); /* .08 below the first, .04 below the third */
    assert_int_equal(best_in_any_order(&l, 20), 1);
    put_ratio(&l, "j6", "search", 'g', 80, 'e', -0.70);
    assert_int_equal(best_in_any_order(&l, 20), 5);
    list_fini(&l);
}

/* Private farms call each job j1 and its trials t1 and on; best logs hold finals only, those of `tune measure` searches
 * only. Of three runs of one program the middle is 49158. */
static void the_seed_of_the_data_tells_runs_apart(void **state)
{
    static const char *const purposes[] = {"final", "search"};
    static const double times[] = {49202.5, 49158, 49105.5};

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        struct list l = {.n = 0};

        for (size_t i = 0; i < 3; i++) {
            struct record *r = put(&l, "j1", purposes[p], 'a', times[i]);

            strcpy(r->id, "t21");
            r->data_seed = 100 + (int64_t)i;
        }
        assert_int_equal(best_in_any_order(&l, 20), 1);
        list_fini(&l);
    }
}

/* Of an even number of runs the record before the middle stands: of two the faster, of four the second. */
static void of_two_runs_of_a_program_the_faster_counts(void **state)
{
    static const struct {
        double times[4];
        size_t n, best;
    } cases[] = {{{1010, 1000}, 2, 1}, {{1000, 1010}, 2, 0}, {{1015, 1000, 1005, 1010}, 4, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct list l = {.n = 0};

        for (size_t k = 0; k < cases[i].n; k++) {
            char job[16];

            snprintf(job, sizeof job, "j%zu", k + 1);
            put(&l, job, "final", 'a', cases[i].times[k]);
        }
        assert_int_equal(best_in_any_order(&l, 12), cases[i].best);
        list_fini(&l);
    }
}

/* In one run the last measurement of a program stands for the earlier ones, be it faster or slower than they. */
static void what_is_measured_again_stands_for_what_was_before(void **state)
{
    static const struct {
        double first, again, other;
        size_t best; /* 0 first, 1 again, 2 other */
    } cases[] = {{100, 200, 150, 2}, {200, 100, 150, 1}, {100, 140, 150, 1}, {140, 200, 150, 2}};
    static const char *const purposes[] = {"search", "redo", "final"};

    (void)state;
    for (size_t p = 0; p < sizeof purposes / sizeof purposes[0]; p++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct list l = {.n = 0};

            put(&l, "j1", purposes[p], 'a', cases[i].first);
            put(&l, "j1", purposes[p], 'a', cases[i].again);
            put(&l, "j1", purposes[p], 'b', cases[i].other);
            if (best_in_any_order(&l, 6) != cases[i].best)
                fail_msg("%s, case %zu: the best is %zu", purposes[p], i, best_in_any_order(&l, 0));
            list_fini(&l);
        }
}

/* A redo stands for a search of its program even where the clock says that the search came later. */
static void what_is_measured_to_better_purpose_stands_for_the_rest(void **state)
{
    struct list l = {.n = 0};

    (void)state;
    put(&l, "j1", "redo", 'a', 200);
    put(&l, "j1", "search", 'a', 100);
    put(&l, "j1", "search", 'b', 150);
    assert_int_equal(best_in_any_order(&l, 6), 2);
    list_fini(&l);
}

/* An alone record of an idle moment (d) names no false winner: by time d beats c; beside e, which was timed with it, c
 * takes .45 and d as long. */
static void what_was_timed_alone_is_compared_by_what_stands_beside_it(void **state)
{
    struct list l = {.n = 0};

    (void)state;
    put(&l, "j1", "search", 'e', 17);
    put(&l, "j1", "search", 'd', 16.9);
    put_ratio(&l, "j3", "search", 'c', 36.2, 'e', -0.79);
    put_ratio(&l, "j4", "search", 'b', 10.1, 'e', -0.69);
    assert_int_equal(best_in_any_order(&l, 24), 2);
    list_fini(&l);
}

/* The same within one run, where e took 80 when c was timed. */
static void within_a_run_too(void **state)
{
    struct list l = {.n = 0};

    (void)state;
    put(&l, "j1", "search", 'e', 17);
    put(&l, "j1", "search", 'd', 16.9);
    put_ratio(&l, "j1", "search", 'c', 36.2, 'e', -0.79);
    assert_int_equal(best_in_any_order(&l, 6), 2);
    list_fini(&l);
}

/* Job 2 went no further than its defaults, at twice the pace: d is 4 % faster than e there, c is 18 % faster than e. */
static void a_default_that_both_timed_ties_two_runs_together(void **state)
{
    struct list l = {.n = 0};

    (void)state;
    put_ratio(&l, "j1", "search", 'c', 82, 'e', -0.2);
    put(&l, "j2", "search", 'e', 50);
    put(&l, "j2", "search", 'd', 48);
    assert_int_equal(best_in_any_order(&l, 6), 0);
    list_fini(&l);
}

/* Job 2's anchor f is a program of run 1: what was timed against it is three ratios from the holder, 2 sqrt(3) .02
 * = 6.9
 * %, or four behind a bridge, 8 %; by the clock, which was in another state, it would be 17 %. */
static void an_anchor_that_another_run_timed_is_a_ratio_more(void **state)
{
    static const struct {
        double lnratio;
        int epoch;
        size_t best;
    } cases[] = {{-0.46, 0, 0}, {-0.475, 0, 3}, {-0.475, 1, 0}, {-0.49, 1, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct list l = {.n = 0};
        struct record *r;

        put_ratio(&l, "j1", "final", 'a', 60, 'e', -0.5);
        put_ratio(&l, "j1", "final", 'f', 90, 'e', -0.1);
        put_ratio(&l, "j2", "search", 'h', 300, 'f', 0.2);
        r = put_ratio(&l, "j2", "search", 'g', 150, cases[i].epoch ? 'h' : 'f', cases[i].lnratio);
        r->anchor.epoch = cases[i].epoch;
        if (cases[i].epoch) {
            r->anchor.bridge = 0.2;
            r->lnratio -= 0.2;
        }
        if (best_in_any_order(&l, 6) != cases[i].best)
            fail_msg("case %zu: the best is %zu", i, best_in_any_order(&l, 0));
        list_fini(&l);
    }
}

/* ---- jobs whose anchors differ: exact ratios, each job in a state of the machine of its own ---- */

#define N_JOBS 6
#define N_OF_JOB 6

static double normal(struct rng *r)
{
    return sqrt(-2 * log(1 - rng_unit(r))) * cos(6.283185307179586 * rng_unit(r));
}

struct world {
    struct rng rng;
    double ln_true[128]; /* by program */
    double state;        /* of the job's time */
};

static struct record *measure(struct world *w, struct list *l, const char *job, char program, char anchor)
{
    const double ln = w->ln_true[(size_t)program] + w->state;

    return anchor ? put_ratio(l, job, "search", program, exp(ln), anchor,
                              w->ln_true[(size_t)program] - w->ln_true[(size_t)anchor])
                  : put(l, job, "search", program, exp(ln));
}

/* Every job but the first takes a program that an earlier one measured as its anchor, and bridges to another halfway.
 */
static void live(struct world *w, struct list *l)
{
    char next = '!', job[16];

    for (int j = 0; j < N_JOBS; j++) {
        char anchor = j ? (char)('!' + (int)(rng_unit(&w->rng) * (next - '!'))) : next;
        const char first = anchor;

        snprintf(job, sizeof job, "j%d", j + 1);
        w->state = 0.3 * normal(&w->rng);
        for (int i = 0; i < N_OF_JOB; i++, next++) {
            struct record *r = measure(w, l, job, next, j || i ? anchor : 0);

            r->anchor.epoch = i > N_OF_JOB / 2;
            r->anchor.bridge = w->ln_true[(size_t)anchor] - w->ln_true[(size_t)first];
            if (i == N_OF_JOB / 2)
                anchor = next;
        }
    }
}

static void chains_of_ratios_find_the_least_in_any_state_of_the_machine(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct world w = {.state = 0};
        struct list l = {.n = 0};
        size_t least = 0;

        rng_init(&w.rng, seed);
        for (size_t i = 0; i < 128; i++)
            w.ln_true[i] = 5 + 0.2 * normal(&w.rng);
        live(&w, &l);
        for (size_t i = 1; i < l.n; i++)
            if (w.ln_true[(size_t)l.records[i].program.hex[0]] < w.ln_true[(size_t)l.records[least].program.hex[0]])
                least = i;
        if (best_in_any_order(&l, 5) != least)
            fail_msg("seed %d: the best is not record %zu", (int)seed, least);
        list_fini(&l);
    }
}

/* ---- whatever a log holds ---- */

static void put_anything(struct list *l, struct rng *rng)
{
    static const char *const purposes[] = {"search", "search", "search", "search", "redo", "final"};
    const int i_job = (int)(5 * rng_unit(rng));
    char job[16];
    struct record *r;

    snprintf(job, sizeof job, "j%d", i_job / 2);
    r = put(l, job, i_job < 2 ? "search" : purposes[(int)(6 * rng_unit(rng))], (char)('a' + (int)(26 * rng_unit(rng))),
            100 * exp(0.1 * normal(rng)));
    r->data_seed = 1 + i_job % 2; /* two runs may be of one job */
    r->ts_ms = (int64_t)(100 * rng_unit(rng)) * 10;
    if (rng_unit(rng) < 0.7) {
        memset(r->anchor.hash.hex, rng_unit(rng) < 0.8 ? 'a' + i_job % 3 : 'z', SHA256_HEX);
        r->lnratio = 0.1 * normal(rng);
        r->anchor.epoch = rng_unit(rng) < 0.2;
    }
    if (rng_unit(rng) < 0.02) {
        strcpy(r->objective, "energy");
        r->energy_j = rng_unit(rng) < 0.5 ? 0 : 1 + rng_unit(rng);
    }
}

static void the_best_depends_on_the_records_alone(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 11);
    for (int k = 0; k < 150; k++) {
        struct list l = {.n = 0};
        const int n = 3 + (int)(100 * rng_unit(&rng));

        for (int i = 0; i < n; i++)
            put_anything(&l, &rng);
        assert_true(best_in_any_order(&l, 6) < l.n);
        list_fini(&l);
    }
}

/* Thousands of runs of one program: work by pairs of runs would take minutes. */
static void many_runs_have_their_middle(void **state)
{
    enum { N = 30001 };
    struct best_set *b = NULL;

    (void)state;
    assert_int_equal(best_new(&b), ERR_OK);
    for (int i = 0; i < N; i++) {
        const int k = (int)((int64_t)i * 7919 % N); /* each number once */
        struct record r = sample_timed(W, '1', "j1", "final", 'a', 1000 + k);

        r.data_seed = 1 + i;
        r.ts_ms = i;
        assert_int_equal(best_add(b, &r), ERR_OK);
        record_fini(&r);
    }
    assert_true(best_at(b, 0)->time_ns == 1000 + (N - 1) / 2);
    assert_true(best_error(b, b).time > 0);
    best_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merged_log_may_name_what_neither_named),
        cmocka_unit_test(without_finals_the_least_wins_whoever_measured_it),
        cmocka_unit_test(the_earliest_final_holds_the_place_in_any_order),
        cmocka_unit_test(the_seed_of_the_data_tells_runs_apart),
        cmocka_unit_test(of_two_runs_of_a_program_the_faster_counts),
        cmocka_unit_test(what_is_measured_again_stands_for_what_was_before),
        cmocka_unit_test(what_is_measured_to_better_purpose_stands_for_the_rest),
        cmocka_unit_test(what_was_timed_alone_is_compared_by_what_stands_beside_it),
        cmocka_unit_test(within_a_run_too),
        cmocka_unit_test(a_default_that_both_timed_ties_two_runs_together),
        cmocka_unit_test(an_anchor_that_another_run_timed_is_a_ratio_more),
        cmocka_unit_test(chains_of_ratios_find_the_least_in_any_state_of_the_machine),
        cmocka_unit_test(the_best_depends_on_the_records_alone),
        cmocka_unit_test(many_runs_have_their_middle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
