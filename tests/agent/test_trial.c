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
             "\"limits\":{\"build_s\":3,\"run_s\":2,\"memory_bytes\":1048576},\"sheet\":\"" HEX
             "\",\"data_seed\":77,\"least_flops\":1e6}}",
             &t, NULL),
        ERR_OK);
    assert_string_equal(t->sheet_name.hex, HEX);
    assert_int_equal(t->record.data_seed, 77);
    assert_true(t->least_flops == 1e6);
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

/* Members of another kind count as left out. */
static void what_does_not_fit_in_a_body_has_its_default(void **state)
{
    struct trial *t = NULL;

    (void)state;
    assert_int_equal(make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX
                          "\",\"body\":{\"seed\":\"x\",\"objective\":7,\"key\":null,\"limits\":[],\"timing\":"
                          "{\"rounds\":\"many\",\"min_calls\":8,\"best_lnratio\":null}}}",
                          &t, NULL),
                     ERR_OK);
    assert_int_equal(t->rules.rounds, 5);
    assert_int_equal(t->rules.min_calls, 8);
    assert_true(isnan(t->rules.best_lnratio) && t->build_s == 10);
    assert_string_equal(t->record.key, "local-cpu");
    assert_int_equal(t->record.seed, 0);
    assert_false(t->wants_energy);
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
    assert_string_equal(t->record.protocol, "rounds-1+edp-rest");
    assert_string_equal(t->record.objective, "edp");
    trial_free(t);
}

/* What a lease says, and what is made of it: at both ends of each range, and within. */
static void rules_and_limits_have_their_ranges(void **state)
{
    static const struct {
        const char *body;
        int rounds, near, calls, warmup;
        double slot_ns, build_s, run_s;
        int64_t memory_bytes;
    } cases[] = {
        {"{}", 5, 9, 3, 1, 5e6, 10, 10, 2147483648},
        {"{\"timing\":{\"rounds\":0,\"rounds_near_best\":0,\"min_calls\":0,\"warmup\":-1,\"min_slot_ms\":0},"
         "\"limits\":{\"build_s\":0,\"run_s\":0,\"memory_bytes\":0}}",
         1, 1, 1, 0, 1e4, 0.1, 0.1, 1048576},
        {"{\"timing\":{\"rounds\":33,\"rounds_near_best\":33,\"min_calls\":1001,\"warmup\":101,\"min_slot_ms\":1e5},"
         "\"limits\":{\"build_s\":3601,\"run_s\":3601,\"memory_bytes\":1e16}}",
         32, 32, 1000, 100, 1e10, 3600, 3600, 1000000000000000},
        {"{\"timing\":{\"rounds\":7,\"rounds_near_best\":11,\"min_calls\":4,\"warmup\":2,\"min_slot_ms\":2},"
         "\"limits\":{\"build_s\":20,\"run_s\":30,\"memory_bytes\":5000000}}",
         7, 11, 4, 2, 2e6, 20, 30, 5000000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[600];
        struct trial *t = NULL;
        const struct timing_rules *r;

        snprintf(json, sizeof json, "{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX "\",\"body\":%s}",
                 cases[i].body);
        assert_int_equal(make(json, &t, NULL), ERR_OK);
        r = &t->rules;
        assert_int_equal(r->rounds, cases[i].rounds);
        assert_int_equal(r->rounds_near_best, cases[i].near);
        assert_int_equal(r->min_calls, cases[i].calls);
        assert_int_equal(r->warmup, cases[i].warmup);
        assert_true(r->min_slot_ns == cases[i].slot_ns && r->best_ns == 0 && r->bridge == 0);
        assert_true(t->build_s == cases[i].build_s && t->run_s == cases[i].run_s);
        assert_int_equal(t->memory_bytes, cases[i].memory_bytes);
        trial_free(t);
    }
}

static struct trial *with_program(const char *limits)
{
    struct trial *t = NULL;
    struct program p;
    struct buf text;
    char json[400];
    static const int64_t one[3] = {1, 1, 1};

    snprintf(json, sizeof json, "{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX "\",\"body\":{\"limits\":{%s}}}",
             limits);
    assert_int_equal(make(json, &t, NULL), ERR_OK);
    program_init(&p);
    buf_init(&text, PROGRAM_MAX_BYTES);
    p.workload = strdup("dense f32 m=1");
    p.template_id = strdup("dense/x");
    p.template_version = 3;
    p.knobs = cJSON_Parse("{\"a\":2}");
    p.flops = 77;
    p.build_s = 4;
    p.run_s = 5;
    p.memory_bytes = 3000000;
    strcpy(p.api, "opencl");
    strcpy(program_add_module(&p, "m", LANG_OPENCL_C, "")->source.hex, HEX);
    program_add_buffer(&p, "y", ROLE_OUTPUT, DTYPE_F32, 250000);
    program_add_buffer(&p, "z", ROLE_INPUT, DTYPE_F16, 500000);
    program_arg_buffer(program_add_kernel(&p, PHASE_RUN, 0, "f", one, one), 0);
    assert_int_equal(program_to_json(&p, &text), ERR_OK);
    trial_take_program(t, text.data, text.len);
    if (t->finished)
        fail_msg("%s", t->record.why);
    program_fini(&p);
    buf_fini(&text);
    return t;
}

/* Of the job's limits and the program's the lower ones; the host gets a second more for each 50 MB. */
static void a_program_gives_its_identity_and_its_limits(void **state)
{
    struct trial *t = with_program("\"build_s\":20,\"run_s\":30,\"memory_bytes\":9000000");

    (void)state;
    assert_string_equal(t->record.workload, "dense f32 m=1");
    assert_string_equal(t->record.template_id, "dense/x");
    assert_int_equal(t->record.template_version, 3);
    assert_int_equal(cJSON_GetObjectItem(t->record.knobs, "a")->valueint, 2);
    assert_true(t->record.flops == 77);
    assert_string_equal(t->record.verified, "not checked"); /* it has no pass */
    assert_int_equal(t->buffer_bytes, 2000000);
    assert_true(t->build_s == 4 && fabs(t->run_s - 5.04) < 1e-9);
    assert_int_equal(t->memory_bytes, 3000000);
    trial_free(t);
    t = with_program("\"build_s\":2,\"run_s\":3,\"memory_bytes\":2000000");
    assert_true(t->build_s == 2 && fabs(t->run_s - 3.04) < 1e-9);
    assert_int_equal(t->memory_bytes, 2000000);
    trial_free(t);
}

static void the_rules_reach_the_child_as_they_are(void **state)
{
    struct trial *t = NULL;
    cJSON *o;

    (void)state;
    make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX
         "\",\"body\":{\"objective\":\"energy\",\"prove\":\"winner\",\"proven\":true,\"anchor\":{\"bridge\":0.5},"
         "\"timing\":{\"rounds\":6,"
         "\"rounds_near_best\":7,\"min_calls\":4,\"warmup\":2,\"min_slot_ms\":3,\"best_ns\":100,\"best_lnratio\":-1}}}",
         &t, NULL);
    o = trial_time_request(t, 777);
    assert_string_equal(cJSON_GetObjectItem(o, "program")->valuestring, HEX);
    assert_int_equal(cJSON_GetObjectItem(o, "rounds")->valueint, 6);
    assert_int_equal(cJSON_GetObjectItem(o, "rounds_near_best")->valueint, 7);
    assert_int_equal(cJSON_GetObjectItem(o, "min_calls")->valueint, 4);
    assert_int_equal(cJSON_GetObjectItem(o, "warmup")->valueint, 2);
    assert_true(cJSON_GetObjectItem(o, "min_slot_ns")->valuedouble == 3e6);
    assert_true(cJSON_GetObjectItem(o, "best_ns")->valuedouble == 100);
    assert_true(cJSON_GetObjectItem(o, "best_lnratio")->valuedouble == -1);
    assert_true(cJSON_GetObjectItem(o, "bridge")->valuedouble == 0.5);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(o, "may_censor")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(o, "energy")));
    assert_string_equal(cJSON_GetObjectItem(o, "prove")->valuestring, "winner");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(o, "proven")));
    assert_true(cJSON_GetObjectItem(o, "known_ns")->valuedouble == 777);
    cJSON_Delete(o);
    trial_free(t);
}

static void a_record_tells_that_passes_were_left_out(void **state)
{
    (void)state;
    for (int in_part = 0; in_part < 2; in_part++) {
        struct trial *t = NULL;
        cJSON *item = cJSON_CreateObject();

        make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX "\",\"body\":{}}", &t, NULL);
        assert_string_equal(t->prove, "each"); /* who says nothing gets all */
        cJSON_AddStringToObject(item, "status", "ok");
        cJSON_AddNumberToObject(item, "time_ns", 5);
        cJSON_AddBoolToObject(item, "in_part", in_part);
        trial_take_time(t, item, item);
        assert_string_equal(t->record.verified, in_part ? RECORD_IN_PART : RECORD_IN_FULL);
        assert_int_equal(record_may_be_best(&t->record), !in_part);
        cJSON_Delete(item);
        trial_free(t);
    }
}

static void samples_are_kept_up_to_64(void **state)
{
    double ns[70];
    struct trial *t = NULL;
    cJSON *item = cJSON_Parse("{\"status\":\"ok\",\"time_ns\":5,\"censored\":true,\"calls\":3}");

    (void)state;
    for (int i = 0; i < 70; i++)
        ns[i] = i;
    cJSON_AddItemToObject(item, "samples", cJSON_CreateDoubleArray(ns, 70));
    make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX "\"}", &t, NULL);
    trial_take_time(t, item, NULL);
    assert_int_equal(t->record.n_samples, RECORD_MAX_SAMPLES);
    assert_true(t->record.samples_ns[63] == 63 && t->record.censored && isnan(t->record.lnratio));
    assert_int_equal(t->record.calls, 3);
    trial_free(t);
    cJSON_Delete(item);
}

static void the_cause_of_a_failure_is_kept_in_the_record(void **state)
{
    struct trial *t = NULL;
    cJSON *item = cJSON_Parse("{\"status\":\"runtime\",\"cause\":\"no_energy\",\"why\":\"no sensor\"}");

    (void)state;
    make("{\"trial\":\"t1\",\"token\":4,\"program\":\"" HEX "\"}", &t, NULL);
    trial_take_time(t, item, NULL);
    assert_string_equal(t->record.cause, RECORD_NO_ENERGY);
    assert_string_equal(t->record.stage, "time");
    trial_free(t);
    cJSON_Delete(item);
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
                    "\"samples\":[1000,1001],\"anchors\":[1600,1700],"
                    "\"anchor_slots\":[1590,1610,1690,1710],\"pack_ns\":44,\"device_ms\":1}");
    cJSON *batch = cJSON_Parse("{\"canary_before\":10,\"canary_after\":11,\"canary_rounds\":[12,13],\"gflops\":95.5}");

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
    assert_true(back.anchor.n_slots == 4 && back.anchor.slots_ns[2] == 1690);
    assert_true(back.n_canary == 2 && back.canary_ns[1] == 13 && back.pack_ns == 44);
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
        cmocka_unit_test(what_does_not_fit_in_a_body_has_its_default),
        cmocka_unit_test(a_lease_without_id_token_or_program_is_refused),
        cmocka_unit_test(where_energy_is_searched_nobody_is_given_up),
        cmocka_unit_test(rules_and_limits_have_their_ranges),
        cmocka_unit_test(a_program_gives_its_identity_and_its_limits),
        cmocka_unit_test(the_rules_reach_the_child_as_they_are),
        cmocka_unit_test(a_record_tells_that_passes_were_left_out),
        cmocka_unit_test(samples_are_kept_up_to_64),
        cmocka_unit_test(the_cause_of_a_failure_is_kept_in_the_record),
        cmocka_unit_test(a_program_that_is_no_program_ends_the_trial),
        cmocka_unit_test(answers_of_children_make_records_that_print),
        cmocka_unit_test(failures_keep_status_stage_and_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
