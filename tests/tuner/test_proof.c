/* SPDX-License-Identifier: MIT */
/* Who is put through all passes, and what is named best by what its agent says of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/tuner/task_made.h"
#include "tuner/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void say(struct measured *m, const char *words)
{
    strcpy(m->record.verified, words);
}

/* However slow, in the search too; where nobody says so a final, and nothing that was verified in part. */
static void the_winner_is_what_was_verified_in_full(void **state)
{
    struct task_proposal p[2];
    struct task t;

    (void)state;
    start(&t);
    ask(&t, p, 2);
    take(&t, &p[0].config, 1000, NAN, "search", ORIGIN_JOB);
    take(&t, &p[1].config, 900, NAN, "search", ORIGIN_JOB);
    say(&t.all[1], RECORD_IN_PART);
    assert_ptr_equal(task_winner(&t), &t.all[0]);
    say(&t.all[0], RECORD_IN_PART);
    assert_null(task_winner(&t));
    take(&t, &p[0].config, 990, NAN, "final", ORIGIN_JOB);
    take(&t, &p[1].config, 890, NAN, "final", ORIGIN_JOB);
    say(&t.finals[1], RECORD_IN_PART);
    assert_ptr_equal(task_winner(&t), &t.finals[0]);
    say(&t.finals[0], RECORD_IN_FULL);
    say(&t.finals[1], "");
    assert_ptr_equal(task_winner(&t), &t.finals[0]);
    say(&t.finals[0], "");
    assert_ptr_equal(task_winner(&t), &t.finals[1]);
    say(&t.all[0], RECORD_IN_FULL);
    assert_ptr_equal(task_winner(&t), &t.all[0]);
    task_fini(&t);
}

/* Not by one of the same program that was verified in part, does not say, or was on other data. */
static void a_program_is_proved_by_a_record_in_full_on_the_jobs_data(void **state)
{
    struct task_proposal p[1];
    struct task t;
    struct record *r;

    (void)state;
    start(&t);
    ask(&t, p, 1);
    take(&t, &p[0].config, 1000, NAN, "search", ORIGIN_JOB);
    r = &t.all[0].record;
    strcpy(r->program.hex, "aa");
    r->data_seed = 7;
    assert_false(task_proved(&t, "aa", 7));
    say(&t.all[0], RECORD_IN_PART);
    assert_false(task_proved(&t, "aa", 7));
    say(&t.all[0], RECORD_IN_FULL);
    assert_true(task_proved(&t, "aa", 7));
    assert_false(task_proved(&t, "aa", 8));
    assert_false(task_proved(&t, "ab", 7));
    r->data_seed = 0;
    assert_false(task_proved(&t, "aa", 0));
    take(&t, &p[0].config, 990, NAN, "final", ORIGIN_JOB);
    strcpy(t.finals[0].record.program.hex, "aa");
    t.finals[0].record.data_seed = 7;
    say(&t.finals[0], RECORD_IN_FULL);
    assert_true(task_proved(&t, "aa", 7));
    task_fini(&t);
}

/* What a trial of the config says of which of its batch are put through all passes, and that it had them. */
static void expect_proof(const struct task *t, struct trial_batch *b, enum trial_kind kind, const struct config *c,
                         const char *prove, bool proven)
{
    const cJSON *body;
    struct why why = {""};

    if (trial_batch_add(b, t, kind, searched_arm(t), c, "init", (int64_t)b->n, NULL, &why))
        fail_msg("%s", why.text);
    body = cJSON_GetObjectItem(cJSON_GetArrayItem(b->trials, (int)b->n - 1), "body");
    assert_non_null(body);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(body, "prove")), prove);
    assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(body, "proven")), proven);
}

/* Of finals the winner; of a search what is the least, or the batch's first where the best so far had not all. */
static void trials_say_who_is_put_through_all_passes(void **state)
{
    const struct device_choice device = {.desc = test_cpu()};
    struct trial_batch b;
    struct job job;
    struct task t;
    const struct config *c;

    (void)state;
    start(&t);
    c = &t.arms[searched_arm(&t)].fallback;
    job_init(&job);
    job.data_seed = 7;
    assert_int_equal(trial_batch_init(&b, &job, &device), ERR_OK);
    expect_proof(&t, &b, TRIAL_SEARCH, c, "least", false);
    expect_proof(&t, &b, TRIAL_BASELINE, c, "least", false); /* it may be all there is */
    take(&t, c, 1000, NAN, "search", ORIGIN_JOB);
    expect_proof(&t, &b, TRIAL_SEARCH, c, "winner", false); /* an older agent's */
    say(&t.all[0], RECORD_IN_PART);
    expect_proof(&t, &b, TRIAL_SEARCH, c, "winner", false);
    say(&t.all[0], RECORD_IN_FULL);
    expect_proof(&t, &b, TRIAL_SEARCH, c, "least", false);
    expect_proof(&t, &b, TRIAL_BASELINE, c, "no", false);
    expect_proof(&t, &b, TRIAL_BRIDGE, c, "no", false);
    expect_proof(&t, &b, TRIAL_FINAL, c, "winner", false);
    t.all[0].record.data_seed = 7;
    assert_true(trial_batch_add(&b, &t, TRIAL_FINAL, searched_arm(&t), c, "init", 99, &t.all[0].record.program, NULL) ==
                ERR_OK);
    expect_proof(&t, &b, TRIAL_FINAL, c, "winner", true);
    b.is_told = true;
    expect_proof(&t, &b, TRIAL_SEARCH, c, "each", true);
    b.is_told = false;
    strcpy(job.objective, "edp"); /* an agent does not know who wins */
    expect_proof(&t, &b, TRIAL_FINAL, c, "each", true);
    expect_proof(&t, &b, TRIAL_BRIDGE, c, "no", true);
    trial_batch_fini(&b);
    job_fini(&job);
    task_fini(&t);
}

/* Of the program with its sheet, so of other data with another seed; of a program by hand nobody knows them. */
static void trials_say_what_their_fills_make(void **state)
{
    const struct device_choice device = {.desc = test_cpu()};
    char said[3][PROGRAM_SUM_BYTES], sum[PROGRAM_SUM_BYTES];
    struct trial_batch b;
    struct program p;
    struct job job;
    struct task t;

    (void)state;
    start(&t);
    job_init(&job);
    for (int seed = 0; seed < 3; seed++) {
        const cJSON *trial;
        const struct blob *text;

        job.data_seed = seed;
        assert_int_equal(trial_batch_init(&b, &job, &device), ERR_OK);
        assert_int_equal(trial_batch_add(&b, &t, TRIAL_SEARCH, searched_arm(&t), &t.arms[searched_arm(&t)].fallback,
                                         "init", 0, NULL, NULL),
                         ERR_OK);
        trial = cJSON_GetArrayItem(b.trials, 0);
        snprintf(said[seed], sizeof said[seed], "%s",
                 cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(trial, "body"), "fills")));
        text = blobs_get(&b.blobs, cJSON_GetStringValue(cJSON_GetObjectItem(trial, "program")));
        assert_non_null(text);
        assert_int_equal(program_from_json((const char *)text->data, text->n_bytes, &p, NULL), ERR_OK);
        program_fills_sum(&p, sum);
        assert_int_equal(strcmp(sum, said[seed]) == 0, seed == 0);
        assert_int_equal(trial_batch_add_program(&b, &p, 1, NULL, NULL), ERR_OK);
        trial = cJSON_GetArrayItem(b.trials, 1);
        assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(trial, "body"), "fills"));
        program_fini(&p);
        trial_batch_fini(&b);
    }
    assert_string_not_equal(said[1], said[2]);
    job_fini(&job);
    task_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_winner_is_what_was_verified_in_full),
        cmocka_unit_test(trials_say_who_is_put_through_all_passes),
        cmocka_unit_test(trials_say_what_their_fills_make),
        cmocka_unit_test(a_program_is_proved_by_a_record_in_full_on_the_jobs_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
