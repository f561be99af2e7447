/* SPDX-License-Identifier: MIT */
/* A leased trial and the record that grows from it. */
#include "agent/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct trial_agent self = {.name = "a0", .key = "local-cpu"};

static enum err make(const char *json, struct trial **t, struct why *why)
{
    cJSON *lease = cJSON_Parse(json);
    enum err e;

    assert_non_null(lease);
    e = trial_new(lease, &self, t, why);
    cJSON_Delete(lease);
    return e;
}

static void a_bare_lease_gets_the_protocols_defaults(void **state)
{
    struct trial *t = NULL;

    (void)state;
    assert_int_equal(make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX "\"}", &t, NULL), ERR_OK);
    assert_int_equal(t->rules.rounds, 5);
    assert_int_equal(t->rules.rounds_near_best, 9);
    assert_int_equal(t->rules.min_calls, 3);
    assert_true(t->rules.min_slot_ns == 5e6);
    assert_true(isnan(t->rules.best_lnratio));
    assert_true(t->build_s == 10 && t->run_s == 10);
    assert_string_equal(t->record.purpose, "search");
    assert_true(t->rules.may_censor);
    assert_string_equal(t->record.key, "local-cpu");
    assert_string_equal(t->anchor_name.hex, "");
    trial_free(t);
}

static void a_body_is_copied_into_the_record(void **state)
{
    struct trial *t = NULL;

    (void)state;
    assert_int_equal(
        make("{\"trial\":\"t1\",\"token\":4,\"job\":\"j2\",\"program\":\"" HEX "\",\"anchor\":\"" HEX
             "\",\"purpose\":\"final\",\"body\":{\"proposed_by\":\"model\",\"seed\":7,\"key\":\"k\",\"timing\":"
             "{\"rounds\":15,\"best_ns\":100,\"best_lnratio\":-0.5},\"anchor\":{\"epoch\":2,\"bridge\":0.25},"
             "\"limits\":{\"build_s\":3,\"run_s\":2,\"memory_bytes\":1048576}}}",
             &t, NULL),
        ERR_OK);
    assert_string_equal(t->record.job, "j2");
    assert_string_equal(t->record.purpose, "final");
    assert_string_equal(t->record.proposed_by, "model");
    assert_string_equal(t->record.key, "k");
    assert_int_equal(t->record.seed, 7);
    assert_int_equal(t->rules.rounds, 15);
    assert_false(t->rules.may_censor);
    assert_true(t->rules.best_lnratio == -0.5 && t->rules.bridge == 0.25 && t->record.anchor.bridge == 0.25);
    assert_int_equal(t->record.anchor.epoch, 2);
    assert_true(t->build_s == 3 && t->run_s == 2 && t->memory_bytes == 1048576);
    trial_free(t);
}

/* Numbers from afar are brought within what the rules allow. */
static void mad_rules_are_bounded(void **state)
{
    struct trial *t = NULL;

    (void)state;
    assert_int_equal(
        make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX
             "\",\"body\":{\"timing\":{\"rounds\":1e30,\"rounds_near_best\":-4,\"min_calls\":0,\"min_slot_ms\":1e300},"
             "\"limits\":{\"build_s\":-1,\"run_s\":1e99,\"memory_bytes\":1e99},\"seed\":1e300}}",
             &t, NULL),
        ERR_OK);
    assert_int_equal(t->rules.rounds, TIMING_MAX_ROUNDS);
    assert_int_equal(t->rules.rounds_near_best, 1);
    assert_int_equal(t->rules.min_calls, 1);
    assert_true(t->rules.min_slot_ns <= 1e10 && t->build_s > 0 && t->run_s <= 3600);
    trial_free(t);
}

static void a_lease_without_id_token_or_program_is_refused(void **state)
{
    static const char *const bad[] = {
        "{\"token\":4,\"program\":\"" HEX "\"}",
        "{\"trial\":\"t1\",\"program\":\"" HEX "\"}",
        "{\"trial\":\"t1\",\"token\":4}",
        "{\"trial\":\"t1\",\"token\":4,\"program\":\"../../etc/passwd\"}",
        "{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX "\",\"anchor\":\"x\"}",
        "{\"trial\":7,\"token\":4,\"program\":\"" HEX "\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct trial *t = NULL;
        struct why why = {""};

        assert_int_equal(make(bad[i], &t, &why), ERR_PROTOCOL);
        assert_null(t);
        assert_true(why.text[0]);
    }
}

/* Whoever takes little energy may be slow. */
static void where_energy_is_searched_nobody_is_given_up(void **state)
{
    struct trial *t = NULL;

    (void)state;
    assert_int_equal(make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX
                          "\",\"purpose\":\"search\",\"body\":{\"objective\":\"edp\"}}",
                          &t, NULL),
                     ERR_OK);
    assert_true(t->wants_energy && !t->rules.may_censor);
    assert_string_equal(t->record.protocol, "rounds-1+edp");
    assert_string_equal(t->record.objective, "edp");
    trial_free(t);
}

static void a_program_that_is_no_program_ends_the_trial(void **state)
{
    struct trial *t = NULL;

    (void)state;
    make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX "\"}", &t, NULL);
    trial_take_program(t, "no program", 10);
    assert_true(t->finished);
    assert_int_equal(t->record.status, STATUS_RUNTIME);
    assert_string_equal(t->record.stage, "prepare");
    trial_fail(t, STATUS_CRASH, "time", "later"); /* the first end stays */
    assert_int_equal(t->record.status, STATUS_RUNTIME);
    trial_free(t);
}

static void answers_of_children_make_records_that_print(void **state)
{
    struct trial *t = NULL;
    struct record back;
    struct buf line;
    cJSON *verify = cJSON_Parse("{\"status\":\"ok\",\"build_ms\":12.5,\"build_cached\":true,\"verify_ms\":3}");
    cJSON *item =
        cJSON_Parse("{\"status\":\"ok\",\"time_ns\":1000,\"lnratio\":-0.5,\"se\":0.01,\"rounds\":2,\"calls\":6,"
                    "\"samples\":[1000,1001],\"anchors\":[1600,1700],\"device_ms\":1}");
    cJSON *batch = cJSON_Parse("{\"canary_before\":10,\"canary_after\":11,\"gflops\":95.5}");

    (void)state;
    buf_init(&line, RECORD_MAX_BYTES);
    record_init(&back);
    make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX "\",\"anchor\":\"" HEX "\"}", &t, NULL);
    trial_take_verify(t, verify);
    assert_false(t->finished);
    trial_take_time(t, item, batch);
    assert_true(t->finished);
    assert_true(t->peak_gflops == 95.5);
    assert_int_equal(record_print(&t->record, &line), ERR_OK);
    assert_int_equal(record_parse(buf_text(&line), line.len, &back, NULL), ERR_OK);
    assert_int_equal(back.n_samples, 2);
    assert_int_equal(back.anchor.n_samples, 2);
    assert_true(back.lnratio == -0.5 && back.build_ms == 12.5 && back.build_cached && back.canary_after == 11);
    record_fini(&back);
    buf_fini(&line);
    trial_free(t);
    cJSON_Delete(verify);
    cJSON_Delete(item);
    cJSON_Delete(batch);
}

static void failures_keep_status_stage_and_words(void **state)
{
    struct trial *t = NULL;
    cJSON *reply = cJSON_Parse("{\"status\":\"compile\",\"stage\":\"build\",\"why\":\"line 3\"}");

    (void)state;
    make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX "\"}", &t, NULL);
    trial_take_verify(t, reply);
    assert_true(t->finished);
    assert_int_equal(t->record.status, STATUS_COMPILE);
    assert_string_equal(t->record.stage, "build");
    assert_string_equal(t->record.why, "line 3");
    assert_true(t->record.ts_ms > 0);
    trial_free(t);
    cJSON_Delete(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bare_lease_gets_the_protocols_defaults),
        cmocka_unit_test(a_body_is_copied_into_the_record),
        cmocka_unit_test(mad_rules_are_bounded),
        cmocka_unit_test(a_lease_without_id_token_or_program_is_refused),
        cmocka_unit_test(where_energy_is_searched_nobody_is_given_up),
        cmocka_unit_test(a_program_that_is_no_program_ends_the_trial),
        cmocka_unit_test(answers_of_children_make_records_that_print),
        cmocka_unit_test(failures_keep_status_stage_and_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
