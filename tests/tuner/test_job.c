#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

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

static void job_lists_templates_by_whole_names(void **state)
{
    struct job j;

    (void)state;
    job_init(&j);
    assert_true(job_allows_template(&j, "dense/gemm_direct"));
    memcpy(j.templates, "dense/gemm_direct,dense/x", 26);
    assert_true(job_allows_template(&j, "dense/gemm_direct"));
    assert_true(job_allows_template(&j, "dense/x"));
    assert_false(job_allows_template(&j, "dense/gemm"));
    assert_false(job_allows_template(&j, "dense/gemm_direct_"));
    job_fini(&j);
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
        cmocka_unit_test(job_lists_templates_by_whole_names),
        cmocka_unit_test(allocation_prefers_the_better_template_but_explores),
        cmocka_unit_test(allocation_gives_possible_templates_a_tenth),
        cmocka_unit_test(allocation_ends_when_all_are_exhausted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
