/* SPDX-License-Identifier: MIT */
/* Jobs of other kinds; what a job makes of logs, its own and others', and what it tells of its progress. */
#include "core/file.h"
#include "tests/tuner/one_job.h"
#include "tests/kernels/spec/job.h"
#include "kernels/spec/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kinds of jobs ---- */

/* A person's own kernel: nine configs, one of them named as the default. */
static void a_kernel_of_ones_own_is_searched_like_a_template(void **state)
{
    struct asked_list asked;
    char dir[256], path[512];
    struct why why = {""};
    struct buf closed;
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, "kernel scale problem_size=1000");

    (void)state;
    assert_int_equal(dir_temporary("tune-test", dir, sizeof dir, NULL), ERR_OK);
    buf_init(&closed, SPEC_MAX_BYTES);
    job_write(dir, NULL, path);
    if (spec_load(path, &closed, &s->job.spec_files, &why))
        fail_msg("%s", why.text);
    s->job.spec = strdup(buf_text(&closed));
    s->job.templates[0] = '\0';
    run(&f);
    expect_done(&f, s);
    assert_int_equal(only_task(s)->n_counted, 9);
    assert_int_equal(only_task(s)->stop, STOP_EXHAUSTED);
    asked_of(&f, s->job_id, &asked);
    assert_int_equal(asked_count(&asked, "search"), 9);
    assert_in_range(asked_count(&asked, "final"), 5, 6);
    assert_int_equal(asked.n, 9 + asked_count(&asked, "final")); /* it has no baseline */
    assert_string_equal(asked.items[0].by, "init");
    assert_string_equal(asked.items[1].anchor, asked.items[0].program);
    assert_string_equal(asked.items[0].record.workload, "kernel scale problem_size=1000");
    asked_fini(&asked);
    buf_fini(&closed);
    dir_remove(dir);
    sim_farm_fini(&f);
}

static void the_naive_template_is_searched_when_it_is_named(void **state)
{
    struct asked_list asked;
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE);

    (void)state;
    snprintf(s->job.templates, sizeof s->job.templates, "dense/naive");
    s->job.trials = 3;
    run(&f);
    expect_done(&f, s);
    assert_int_equal(only_task(s)->n_arms, 1);
    assert_null(task_baseline(only_task(s)));
    asked_of(&f, s->job_id, &asked);
    assert_in_range(asked_count(&asked, "search"), 1, 3);
    for (size_t i = 0; i < asked.n; i++)
        assert_false(asked.items[i].is_baseline);
    asked_fini(&asked);
    sim_farm_fini(&f);
}

static void a_layer_that_the_templates_named_do_not_compute_is_told(void **state)
{
    size_t n_size = 0;
    char *text = NULL;
    struct sim_farm f;
    struct sim_session *s = start(&f, 1, DENSE "\nconv2d f32 n=1 c=8 h=8 w=8 k=8 r=3 s=3");

    (void)state;
    s->tells = open_memstream(&text, &n_size);
    s->tell_mode = PROGRESS_PLAIN;
    s->job.trials = 2;
    run(&f);
    fclose(s->tells);
    expect_done(&f, s);
    assert_non_null(strstr(text, "conv2d f32 n=1 c=8 h=8 w=8 k=8 r=3 s=3: dense/gemm_direct,dense/gemm_packed does not "
                                 "compute conv2d: all templates are searched\n"));
    assert_int_equal(s->session.tasks[1].n_counted, 2);
    free(text);
    sim_farm_fini(&f);
}

/* ---- logs ---- */

static void a_recorded_space_is_searched_to_its_end_without_finals(void **state)
{
    struct sim_farm f;
    struct sim_session *s = start(&f, 11, "");
    struct asked_list asked;

    (void)state;
    sim_session_replays(s, 20);
    s->job.trials = 50;
    run(&f);
    expect_done(&f, s);
    assert_int_equal(only_task(s)->n_counted, 20);
    assert_int_equal(only_task(s)->stop, STOP_EXHAUSTED);
    asked_of(&f, s->job_id, &asked);
    assert_int_equal(asked.n, 20 + asked_count(&asked, "redo"));
    asked_fini(&asked);
    sim_farm_fini(&f);
}

static struct sim_session *again(struct sim_farm *f, int64_t trials)
{
    struct sim_session *second = sim_farm_session(f, "second", DENSE);

    sim_session_follows(second);
    snprintf(second->log_path, sizeof second->log_path, "%s", f->sessions[0].log_path);
    second->job.trials = trials;
    return second;
}

static void the_same_log_again_is_all_there_already(void **state)
{
    struct sim_farm f;
    struct sim_session *first = start(&f, 12, DENSE), *second = again(&f, 24);
    struct asked_list asked;

    (void)state;
    run(&f);
    assert_int_equal(first->e, ERR_OK);
    assert_int_equal(second->e, ERR_OK);
    asked_of(&f, second->job_id, &asked);
    assert_int_equal(asked.n, 0);
    assert_int_equal(only_task(second)->n_counted, 24);
    assert_string_equal(task_winner(only_task(second))->record.id, task_winner(only_task(first))->record.id);
    asked_fini(&asked);
    sim_farm_fini(&f);
}

static void a_longer_run_on_a_log_measures_the_rest_against_the_same_anchor(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct sim_farm f;
        struct sim_session *first = start(&f, seed, DENSE), *second = again(&f, 40);
        struct asked_list before, after;
        struct lines log;

        f.model.spread = seed < 3 ? 1.2 : 5; /* with epochs, too */
        f.model.drift = 0;
        run(&f);
        assert_int_equal(second->e, ERR_OK);
        asked_of(&f, first->job_id, &before);
        asked_of(&f, second->job_id, &after);
        assert_int_equal(asked_count(&after, "search"), 16);
        assert_string_equal(after.items[0].anchor, before.items[before.n - 2].anchor); /* of the finals */
        assert_int_equal(after.items[0].epoch, before.items[before.n - 2].epoch);
        assert_float_equal(after.items[0].bridge, before.items[before.n - 2].bridge, 1e-9);
        for (size_t i = 0; i < after.n; i++)
            for (size_t k = 0; k < before.n && strcmp(after.items[i].purpose, "search") == 0; k++)
                if (strcmp(before.items[k].purpose, "search") == 0)
                    assert_string_not_equal(after.items[i].program, before.items[k].program);
        expect_true_values(&f, second);
        lines_of_log(first->log_path, &log);
        assert_int_equal(log.n, before.n + after.n);
        lines_fini(&log);
        asked_fini(&before);
        asked_fini(&after);
        sim_farm_fini(&f);
    }
}

/* Another log only informs: what is known is not proposed, and no trial of the budget is taken for it. */
static void records_of_another_log_inform_and_do_not_count(void **state)
{
    struct sim_farm f;
    struct sim_session *first = start(&f, 13, DENSE), *second;
    struct asked_list before, after;

    (void)state;
    second = sim_farm_session(&f, "second", DENSE);
    sim_session_follows(second);
    second->records = first->log_path;
    second->job.trials = 10;
    second->job.seed = first->job.seed;
    run(&f);
    assert_int_equal(second->e, ERR_OK);
    assert_int_equal(only_task(second)->n_counted, 10);
    assert_int_equal(only_task(second)->n_all, 24 + 1 + 10); /* and the baseline */
    asked_of(&f, first->job_id, &before);
    asked_of(&f, second->job_id, &after);
    assert_int_equal(asked_count(&after, "search"), 10);
    for (size_t i = 0; i < after.n; i++)
        for (size_t k = 0; k < before.n && strcmp(after.items[i].purpose, "search") == 0; k++)
            if (strcmp(before.items[k].purpose, "search") == 0)
                assert_string_not_equal(after.items[i].program, before.items[k].program);
    asked_fini(&before);
    asked_fini(&after);
    sim_farm_fini(&f);
}

static void searches_of_other_workloads_warm_and_are_told(void **state)
{
    size_t n_size = 0;
    char *text = NULL;
    struct sim_farm f;
    struct sim_session *first = start(&f, 1, OTHER), *second = sim_farm_session(&f, "second", DENSE);

    (void)state;
    sim_session_follows(second);
    second->records = first->log_path;
    second->job.trials = 12;
    snprintf(second->job.strategy, sizeof second->job.strategy, "auto");
    second->tells = open_memstream(&text, &n_size);
    second->tell_mode = PROGRESS_PLAIN;
    run(&f);
    fclose(second->tells);
    expect_done(&f, second);
    assert_non_null(strstr(text, DENSE ": warmed by 2 earlier searches\n")); /* of two templates */
    assert_int_equal(only_task(second)->n_counted, 12);
    free(text);
    sim_farm_fini(&f);
}

/* What a farm that is gone measured, as a log of one's own or to learn from: the anchor's program must be made anew. */
static void the_anchor_may_come_from_a_log_of_another_farm(void **state)
{
    char dir[256], path[300];

    (void)state;
    assert_int_equal(dir_temporary("tune-test", dir, sizeof dir, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/s.jsonl", dir);
    for (int mode = 0; mode < 3; mode++) {
        struct asked_list asked;
        struct sim_farm f;
        struct sim_session *s = start(&f, 1, DENSE);

        if (mode == 1) { /* go on with it: it has two defaults and their finals */
            snprintf(s->log_path, sizeof s->log_path, "%s", path);
        } else if (mode == 2) {
            s->records = path;
        } else {
            snprintf(s->log_path, sizeof s->log_path, "%s", path);
            s->job.trials = 2;
        }
        run(&f);
        assert_int_equal(s->e, ERR_OK);
        asked_of(&f, s->job_id, &asked);
        if (mode > 0)
            assert_true(asked_count(&asked, "search") >= 22);
        for (size_t i = mode == 2 ? 2 : 0; mode > 0 && i < asked.n; i++)
            if (!asked.items[i].is_baseline && asked.items[i].record.status == STATUS_OK && asked.items[i].anchor[0])
                assert_string_equal(asked.items[i].record.anchor.hash.hex, asked.items[i].anchor);
            else
                assert_true(asked.items[i].is_baseline);
        asked_fini(&asked);
        sim_farm_fini(&f);
    }
    dir_remove(dir);
}

/* ---- progress ---- */

struct numbers {
    const char *job_id;
    int64_t done, total, n_changes;
    bool fell;
};

static void note_numbers(struct net *n, void *arg)
{
    struct numbers *w = arg;
    struct host_job j;

    if (!host_job(n, w->job_id, &j) || j.done < 0)
        return;
    w->fell |= j.done < w->done;
    w->n_changes += j.done != w->done;
    w->done = j.done;
    w->total = j.total;
}

static void the_tracker_hears_how_far_a_job_is(void **state)
{
    struct numbers w = {.done = 0};
    struct sim_farm f;
    struct sim_session *s = start(&f, 14, DENSE "\n" OTHER);

    (void)state;
    w.job_id = s->job_id;
    net_on_turn(f.net, note_numbers, &w);
    run(&f);
    expect_done(&f, s);
    assert_false(w.fell);
    assert_true(w.n_changes >= 3);
    assert_int_equal(w.done, 48);
    assert_int_equal(w.total, 48);
    sim_farm_fini(&f);
}

/* A recorded space has no finals: its last records come between two renewals. */
static void a_job_that_ended_is_as_far_as_its_records(void **state)
{
    struct numbers w = {.done = 0};
    struct sim_farm f;
    struct sim_session *s = start(&f, 14, DENSE);

    (void)state;
    sim_session_replays(s, 20);
    w.job_id = s->job_id;
    net_on_turn(f.net, note_numbers, &w);
    run(&f);
    expect_done(&f, s);
    assert_int_equal(w.done, 20);
    sim_farm_fini(&f);
}

static void each_record_is_told_once_and_the_best_as_best(void **state)
{
    size_t n_size = 0, n_measured = 0, n_best = 0, n_submitted = 0, n_devices = 0;
    int64_t seq = 0;
    char *text = NULL;
    struct sim_farm f;
    struct sim_session *s = start(&f, 15, DENSE);
    double best_gflops = 0;

    (void)state;
    f.model.drift = 0;
    f.model.noise = 0;
    s->tells = open_memstream(&text, &n_size);
    s->tell_mode = PROGRESS_JSON;
    run(&f);
    expect_done(&f, s);
    fclose(s->tells);
    for (const char *p = text, *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
        cJSON *o = NULL;
        const char *event = "", *purpose = "";

        assert_int_equal(json_parse(p, (size_t)(end - p), &o, NULL), ERR_OK);
        json_text_or(o, "event", "", &event, NULL);
        json_text_or(o, "purpose", "", &purpose, NULL);
        assert_true(cJSON_GetObjectItemCaseSensitive(o, "seq")->valuedouble == (double)++seq);
        n_measured += strcmp(event, "measured") == 0;
        n_devices += strcmp(event, "device") == 0;
        if (strcmp(event, "submitted") == 0)
            n_submitted += (size_t)cJSON_GetObjectItemCaseSensitive(o, "trials")->valuedouble;
        if (strcmp(event, "best") == 0) {
            n_best++;
            assert_true(cJSON_GetObjectItemCaseSensitive(o, "gflops")->valuedouble > best_gflops);
            best_gflops = cJSON_GetObjectItemCaseSensitive(o, "gflops")->valuedouble;
        }
        cJSON_Delete(o);
    }
    free(text);
    assert_int_equal(n_devices, 1);
    assert_int_equal(n_submitted, 31);
    assert_int_equal(n_measured + n_best, 31);
    assert_true(n_best >= 2);
    assert_float_equal(best_gflops, record_gflops(&only_task(s)->all[only_task(s)->i_best].record), 1e-9);
    sim_farm_fini(&f);
}

/* "[task 1/1] 7/24  .." of a plain log; the last line has all. */
static void the_progress_line_never_falls(void **state)
{
    size_t n_size = 0, n_lines = 0;
    long done = 0, total = 0;
    double best = 0, fastest = 0;
    char *text = NULL;
    struct sim_farm f;
    struct sim_session *s = start(&f, 16, DENSE);

    (void)state;
    f.agents[0].trial_ns = 4 * WORLD_S;
    f.agents[0].most = 1;
    f.model.spread = 5; /* 0.1 to 9 GFLOPS */
    s->tells = open_memstream(&text, &n_size);
    s->tell_mode = PROGRESS_PLAIN;
    run(&f);
    expect_done(&f, s);
    fclose(s->tells);
    for (char *p = text, *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
        long d = -1, t = -1;
        double now = 0, gflops = 0;

        *end = '\0';
        if (strncmp(p, "[task 1/1]", 10) != 0)
            continue;
        n_lines++;
        if (sscanf(p + 10, "%ld/%ld %lf / best %lf GFLOPS", &d, &t, &now, &gflops) != 4 &&
            !(d == 0 && strstr(p, "0/24  ETA")))
            fail_msg("a line is '%s'", p);
        assert_true(d >= done && t == 24 && gflops >= best);
        assert_true(d == 0 || (now > 0 && gflops > 0)); /* with one decimal */
        done = d;
        total = t;
        best = gflops;
    }
    free(text);
    for (size_t i = 0; i < only_task(s)->n_all; i++)
        fastest = fmax(fastest, record_gflops(&only_task(s)->all[i].record));
    assert_true(fabs(best - fastest) <= 0.051);
    assert_true(n_lines >= 3);
    assert_int_equal(done, 24);
    assert_int_equal(total, 24);
    sim_farm_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_of_ones_own_is_searched_like_a_template),
        cmocka_unit_test(the_naive_template_is_searched_when_it_is_named),
        cmocka_unit_test(a_layer_that_the_templates_named_do_not_compute_is_told),
        cmocka_unit_test(searches_of_other_workloads_warm_and_are_told),
        cmocka_unit_test(a_recorded_space_is_searched_to_its_end_without_finals),
        cmocka_unit_test(the_same_log_again_is_all_there_already),
        cmocka_unit_test(a_longer_run_on_a_log_measures_the_rest_against_the_same_anchor),
        cmocka_unit_test(records_of_another_log_inform_and_do_not_count),
        cmocka_unit_test(the_anchor_may_come_from_a_log_of_another_farm),
        cmocka_unit_test(the_tracker_hears_how_far_a_job_is),
        cmocka_unit_test(a_job_that_ended_is_as_far_as_its_records),
        cmocka_unit_test(each_record_is_told_once_and_the_best_as_best),
        cmocka_unit_test(the_progress_line_never_falls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
