/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/rng.h"
#include "tuner/allocate.h"
#include "tuner/job.h"

#include <string.h>

static void fill(struct job *j)
{
    job_init(j);
    assert_int_equal(job_add_layer(j, "dense f32 m=64 n=2048 k=512", "fc1", 2), ERR_OK);
    assert_int_equal(job_add_layer(j, "dense f32 m=1 n=10 k=512", "", 1), ERR_OK);
    memcpy(j->templates, "dense/gemm_direct,dense/gemm_packed", 36);
    memcpy(j->key, "rk3399", 7);
    j->trials = 77;
    j->layers[0].trials = 5;
    j->time_s = 12.5;
    j->seed = 9;
    j->timing.min_slot_ms = 2.5;
}

static void job_text_survives_parsing(void **state)
{
    struct job a, b;
    struct buf first, second;

    (void)state;
    fill(&a);
    buf_init(&first, 65536);
    buf_init(&second, 65536);
    assert_int_equal(job_text(&a, &first), ERR_OK);
    assert_int_equal(job_parse(buf_text(&first), first.len, &b, NULL), ERR_OK);
    assert_int_equal(job_text(&b, &second), ERR_OK);
    assert_string_equal(buf_text(&first), buf_text(&second));
    assert_int_equal(b.n_layers, 2);
    assert_int_equal(b.layers[0].count, 2);
    assert_int_equal(b.trials, 77);
    assert_int_equal(job_trials(&b, 0), 5);
    assert_int_equal(job_trials(&b, 1), 77);
    job_fini(&a);
    job_fini(&b);
    buf_fini(&first);
    buf_fini(&second);
}

static void job_refuses_what_it_does_not_understand(void **state)
{
    static const char *const bad[] = {"",
                                      "{}",
                                      "[]",
                                      "{\"schema\":2}",
                                      "{\"schema\":1,\"layers\":{}}",
                                      "{\"schema\":1,\"layers\":[{\"workload\":5}]}",
                                      "{\"schema\":1,\"layers\":[]}"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct why why = {""};
        struct job j;

        assert_int_not_equal(job_parse(bad[i], strlen(bad[i]), &j, &why), ERR_OK);
        assert_true(why.text[0] != '\0');
    }
}

static void job_cut_anywhere_is_refused(void **state)
{
    struct job a, b;
    struct buf text;

    (void)state;
    fill(&a);
    buf_init(&text, 65536);
    assert_int_equal(job_text(&a, &text), ERR_OK);
    for (size_t n = 0; n < text.len; n++)
        assert_int_not_equal(job_parse(buf_text(&text), n, &b, NULL), ERR_OK);
    job_fini(&a);
    buf_fini(&text);
}

static void trials_are_one_number_or_one_for_each_workload(void **state)
{
    static const char *const bad[] = {"", "0", "x", "5,", ",5", "5,6,7", "5,x", "5,0", "1000001", "5 6", "-5", "5,,6"};
    struct why why = {""};
    struct job j;

    (void)state;
    fill(&j);
    assert_int_equal(job_trials(&j, 1), 77);
    assert_int_equal(job_set_trials(&j, "60,40", &why), ERR_OK);
    assert_int_equal(job_trials(&j, 0), 60);
    assert_int_equal(job_trials(&j, 1), 40);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (job_set_trials(&j, bad[i], &why) != ERR_INPUT)
            fail_msg("\"%s\" is taken", bad[i]);
    assert_int_equal(job_trials(&j, 1), 40);
    job_fini(&j);
    fill(&j);
    assert_int_equal(job_set_trials(&j, "9", &why), ERR_OK);
    assert_int_equal(job_trials(&j, 0), 9);
    assert_int_equal(job_trials(&j, 1), 9);
    job_fini(&j);
}

static void a_list_of_templates_has_whole_names(void **state)
{
    const char *list = "dense/gemm_direct,dense/x";

    (void)state;
    assert_true(job_list_has(list, "dense/gemm_direct"));
    assert_true(job_list_has(list, "dense/x"));
    assert_false(job_list_has(list, "dense/gemm"));
    assert_false(job_list_has(list, "dense/gemm_direct_"));
    assert_false(job_list_has("", "dense/x"));
}

static void allocation_prefers_the_better_template_but_explores(void **state)
{
    struct allocate_arm arms[2] = {{.best = 0}, {.best = -0.5}};
    size_t n[2] = {0, 0};

    (void)state;
    for (int i = 0; i < 100; i++) {
        const size_t k = allocate_next(arms, 2);

        arms[k].n_trials++;
        n[k]++;
    }
    assert_true(n[1] > 3 * n[0]);
    assert_true(n[0] >= 2);
}

static void allocation_gives_possible_templates_a_tenth(void **state)
{
    struct allocate_arm arms[2] = {{.best = 0}, {.best = -3, .possible = true}};

    (void)state;
    for (int i = 0; i < 200; i++)
        arms[allocate_next(arms, 2)].n_trials++;
    assert_in_range(arms[1].n_trials, 15, 21);
}

/* What allocate.h says, written anew. */
static size_t next_of(const struct allocate_arm *arms, size_t n)
{
    double worst = 0, least = INFINITY, sum = 0;
    bool any = false, all_possible = true;
    size_t next = n;

    for (size_t i = 0; i < n; i++) {
        if (!isnan(arms[i].best)) {
            worst = any ? fmax(worst, arms[i].best) : arms[i].best;
            any = true;
        }
        sum += (double)arms[i].n_trials;
        all_possible = all_possible && (arms[i].exhausted || arms[i].possible);
    }
    for (size_t i = 0; i < n; i++) {
        const double score =
            (isnan(arms[i].best) ? worst : arms[i].best) - 0.5 * sqrt(log(1 + sum) / (1 + (double)arms[i].n_trials));

        if (!arms[i].exhausted && (!arms[i].possible || all_possible || (double)arms[i].n_trials < 0.1 * sum) &&
            score < least) {
            least = score;
            next = i;
        }
    }
    return next;
}

static void allocation_is_a_lower_confidence_bound(void **state)
{
    size_t n_taken[4] = {0};
    struct rng rng;

    (void)state;
    rng_init(&rng, 5);
    for (int round = 0; round < 4000; round++) {
        const size_t n = 1 + rng_below(&rng, 4);
        struct allocate_arm arms[4];

        for (size_t i = 0; i < n; i++)
            arms[i] = (struct allocate_arm){.best = rng_below(&rng, 4) == 0 ? (double)NAN : 2 * rng_unit(&rng),
                                            .n_trials = rng_below(&rng, 40),
                                            .possible = rng_below(&rng, 3) == 0,
                                            .exhausted = rng_below(&rng, 4) == 0};
        if (allocate_next(arms, n) != next_of(arms, n))
            fail_msg("round %d: %zu, expected %zu", round, allocate_next(arms, n), next_of(arms, n));
        if (allocate_next(arms, n) < n)
            n_taken[allocate_next(arms, n)]++;
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(n_taken[i] > 100);
}

/* Each member stands in the text by itself, and comes back. */
static void every_member_of_a_job_is_written_and_read(void **state)
{
    struct job a, b;
    struct buf text;

    (void)state;
    fill(&a);
    buf_init(&text, 65536);
    memcpy(a.network, "net", 4);
    memcpy(a.replay, "x.json", 7);
    memcpy(a.objective, "edp", 4);
    a.plain = true;
    memcpy(a.strategy, "random", 7);
    a.early_stopping = 31;
    a.target_gflops = 41.5;
    a.target_ns = 42.5;
    a.min_gain = 0.25;
    a.timing = (struct job_timing){3, 7, 11, 13, 1.5};
    a.build_s = 17.5;
    a.run_s = 19.5;
    a.memory_bytes = 23 << 20;
    assert_int_equal(job_text(&a, &text), ERR_OK);
    assert_int_equal(job_parse(buf_text(&text), text.len, &b, NULL), ERR_OK);
    assert_string_equal(b.layers[0].workload, "dense f32 m=64 n=2048 k=512");
    assert_string_equal(b.layers[0].name, "fc1");
    assert_int_equal(b.layers[1].count, 1);
    assert_int_equal(b.layers[0].trials, 5);
    assert_string_equal(b.network, "net");
    assert_string_equal(b.templates, "dense/gemm_direct,dense/gemm_packed");
    assert_string_equal(b.key, "rk3399");
    assert_string_equal(b.replay, "x.json");
    assert_string_equal(b.objective, "edp");
    assert_true(b.plain);
    assert_string_equal(b.strategy, "random");
    assert_float_equal(b.time_s, 12.5, 0);
    assert_int_equal(b.early_stopping, 31);
    assert_float_equal(b.target_gflops, 41.5, 0);
    assert_float_equal(b.target_ns, 42.5, 0);
    assert_float_equal(b.min_gain, 0.25, 0);
    assert_int_equal(b.seed, 9);
    assert_int_equal(b.timing.rounds, 3);
    assert_int_equal(b.timing.rounds_near_best, 7);
    assert_int_equal(b.timing.min_calls, 11);
    assert_int_equal(b.timing.warmup, 13);
    assert_float_equal(b.timing.min_slot_ms, 1.5, 0);
    assert_float_equal(b.build_s, 17.5, 0);
    assert_float_equal(b.run_s, 19.5, 0);
    assert_int_equal(b.memory_bytes, 23 << 20);
    assert_null(b.spec);
    job_fini(&a);
    job_fini(&b);
    buf_fini(&text);
}

static void a_kernel_of_ones_own_is_part_of_the_text(void **state)
{
    struct job a, b;
    struct buf text;

    (void)state;
    job_init(&a);
    buf_init(&text, 65536);
    assert_int_equal(job_add_layer(&a, "kernel scale n=1", "", 1), ERR_OK);
    a.spec = strdup("{\"a\": \"b\"}");
    assert_int_equal(job_text(&a, &text), ERR_OK);
    assert_int_equal(job_parse(buf_text(&text), text.len, &b, NULL), ERR_OK);
    assert_string_equal(b.spec, a.spec);
    assert_int_equal(b.spec_files.n, 0);
    job_fini(&a);
    job_fini(&b);
    buf_fini(&text);
}

/* The text of a job with one member changed, by its JSON. */
static enum err parse_with(const char *from, const char *to)
{
    struct why why = {""};
    struct job a, b;
    struct buf text, changed;
    const char *at;
    enum err e;

    fill(&a);
    buf_init(&text, 65536);
    buf_init(&changed, 65536);
    assert_int_equal(job_text(&a, &text), ERR_OK);
    at = strstr(buf_text(&text), from);
    if (!at)
        fail_msg("no %s in %s", from, buf_text(&text));
    buf_append(&changed, buf_text(&text), (size_t)(at - buf_text(&text)));
    buf_puts(&changed, to);
    buf_puts(&changed, at + strlen(from));
    e = job_parse(buf_text(&changed), changed.len, &b, &why);
    if (e == ERR_OK)
        job_fini(&b);
    else
        assert_true(why.text[0] != '\0');
    job_fini(&a);
    buf_fini(&text);
    buf_fini(&changed);
    return e;
}

static void numbers_out_of_their_range_are_refused(void **state)
{
    static const struct {
        const char *from, *good, *bad[2];
    } cases[] = {
        {"\"trials\":77", "\"trials\":1", {"\"trials\":0", "\"trials\":1000001"}},
        {"\"trials\":5", "\"trials\":1000000", {"\"trials\":-1", "\"trials\":1000001"}},
        {"\"count\":2", "\"count\":1000000", {"\"count\":0", "\"count\":1000001"}},
        {"\"early_stopping\":0", "\"early_stopping\":1", {"\"early_stopping\":-1", "\"early_stopping\":\"x\""}},
        {"\"seed\":9", "\"seed\":0", {"\"seed\":-1", "\"seed\":0.5"}},
        {"\"rounds\":5", "\"rounds\":64", {"\"rounds\":0", "\"rounds\":65"}},
        {"\"rounds_near_best\":9", "\"rounds_near_best\":1", {"\"rounds_near_best\":0", "\"rounds_near_best\":65"}},
        {"\"min_calls\":3", "\"min_calls\":1", {"\"min_calls\":0", "\"min_calls\":1000001"}},
        {"\"warmup\":1", "\"warmup\":0", {"\"warmup\":-1", "\"warmup\":1001"}},
        {"\"memory_bytes\":2147483648", "\"memory_bytes\":1", {"\"memory_bytes\":0", "\"memory_bytes\":-5"}},
        {"\"schema\":1", "\"schema\":1", {"\"schema\":2", "\"schema\":0"}}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse_with(cases[i].from, cases[i].good), ERR_OK);
        for (int k = 0; k < 2; k++)
            if (parse_with(cases[i].from, cases[i].bad[k]) == ERR_OK)
                fail_msg("%s is taken", cases[i].bad[k]);
    }
    assert_int_equal(parse_with("\"key\":\"rk3399\"",
                                "\"key\":\"01234567890123456789012345678901234567890123456789012345678901234\""),
                     ERR_LIMIT); /* names have 64 characters at most */
    assert_int_equal(parse_with("\"key\":\"rk3399\"",
                                "\"key\":\"0123456789012345678901234567890123456789012345678901234567890123\""),
                     ERR_OK);
    assert_int_equal(parse_with("\"trials\":77", "\"trials\":77,\"spec\":\"{}\""), ERR_INPUT); /* of two layers */
}

static void a_budget_is_shared_by_the_layers_of_a_network_alone(void **state)
{
    struct job j;

    (void)state;
    fill(&j);
    assert_false(job_shares_budget(&j));
    memcpy(j.network, "net", 4);
    assert_false(job_shares_budget(&j)); /* one has a number of its own */
    j.layers[0].trials = 0;
    assert_true(job_shares_budget(&j));
    job_fini(&j);
    job_init(&j);
    memcpy(j.network, "net", 4);
    assert_int_equal(job_add_layer(&j, "dense f32 m=1 n=1 k=1", NULL, 1), ERR_OK);
    assert_false(job_shares_budget(&j));
    assert_int_equal(job_trials(&j, 7), 100);
    while (j.n_layers < JOB_MAX_LAYERS)
        assert_int_equal(job_add_layer(&j, "dense f32 m=1 n=1 k=1", NULL, 1), ERR_OK);
    assert_int_equal(job_add_layer(&j, "dense f32 m=1 n=1 k=1", NULL, 1), ERR_LIMIT);
    job_fini(&j);
}

static void allocation_ends_when_all_are_exhausted(void **state)
{
    struct allocate_arm arms[3] = {{.best = NAN}, {.best = 1, .possible = true}, {.best = 0, .exhausted = true}};

    (void)state;
    assert_int_equal(allocate_next(arms, 3), 0);
    arms[0].exhausted = true;
    assert_int_equal(allocate_next(arms, 3), 1);
    arms[1].exhausted = true;
    assert_int_equal(allocate_next(arms, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_text_survives_parsing),
        cmocka_unit_test(job_refuses_what_it_does_not_understand),
        cmocka_unit_test(job_cut_anywhere_is_refused),
        cmocka_unit_test(trials_are_one_number_or_one_for_each_workload),
        cmocka_unit_test(a_list_of_templates_has_whole_names),
        cmocka_unit_test(allocation_prefers_the_better_template_but_explores),
        cmocka_unit_test(allocation_gives_possible_templates_a_tenth),
        cmocka_unit_test(allocation_is_a_lower_confidence_bound),
        cmocka_unit_test(every_member_of_a_job_is_written_and_read),
        cmocka_unit_test(a_kernel_of_ones_own_is_part_of_the_text),
        cmocka_unit_test(numbers_out_of_their_range_are_refused),
        cmocka_unit_test(a_budget_is_shared_by_the_layers_of_a_network_alone),
        cmocka_unit_test(allocation_ends_when_all_are_exhausted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
