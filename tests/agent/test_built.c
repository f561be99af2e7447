/* SPDX-License-Identifier: MIT */
/* What a builder answers: written, read, refused when it is not sane, and taken into a trial's record. */
#include "agent/built.h"
#include "agent/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static cJSON *parse(const char *text)
{
    cJSON *o = cJSON_Parse(text);

    assert_non_null(o);
    return o;
}

static void an_answer_reads_back_as_it_was_written(void **state)
{
    const struct kernel_resources r = {.kernel = "k",
                                       .registers = 40,
                                       .local_bytes = 0,
                                       .spill_bytes = -1,
                                       .stack_bytes = 8,
                                       .constant_bytes = -1,
                                       .max_group = 768};
    struct built b, back;
    struct why why = {""};
    cJSON *o;

    (void)state;
    built_init(&b);
    strcpy(b.by, "builder");
    strcpy(b.compiler, "NVRTC 12.9");
    b.build_ms = 12.5;
    b.resources = resources_json(&r, 1);
    strcpy(b.files[0].name, "tune-1.cubin");
    strcpy(b.files[0].blob.hex, HASH);
    b.n_files = 1;
    o = built_to_json(&b);
    assert_int_equal(built_from_json(o, &back, &why), ERR_OK);
    assert_int_equal(back.status, STATUS_OK);
    assert_string_equal(back.by, "builder");
    assert_string_equal(back.compiler, "NVRTC 12.9");
    assert_true(back.build_ms == 12.5);
    assert_int_equal(back.n_files, 1);
    assert_string_equal(back.files[0].name, "tune-1.cubin");
    assert_string_equal(back.files[0].blob.hex, HASH);
    assert_true(cJSON_Compare(back.resources, b.resources, true));
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(back.resources, 0), "spill_bytes")); /* was not told */
    cJSON_Delete(o);
    built_fini(&b);
    built_fini(&back);
}

/* None is a number; what is not known is left out. */
static void figures_of_nothing_are_told_and_unknown_ones_are_not(void **state)
{
    static const char *const names[] = {"registers",   "local_bytes",    "spill_bytes",
                                        "stack_bytes", "constant_bytes", "max_group"};

    (void)state;
    for (int known = -1; known <= 0; known++) {
        const struct kernel_resources r = {.kernel = "k",
                                           .registers = known,
                                           .local_bytes = known,
                                           .spill_bytes = known,
                                           .stack_bytes = known,
                                           .constant_bytes = known,
                                           .max_group = known};
        cJSON *list = resources_json(&r, 1);

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            const cJSON *v = cJSON_GetObjectItem(cJSON_GetArrayItem(list, 0), names[i]);

            if ((v != NULL) != (known == 0) || (v && v->valuedouble != 0))
                fail_msg("%s of %d", names[i], known);
        }
        cJSON_Delete(list);
    }
    assert_null(resources_json(NULL, 0));
}

static void an_answer_that_is_not_sane_is_refused(void **state)
{
    static const char *const bad[] = {
        "{\"status\":\"fine\"}",
        "{}",
        "{\"status\":\"ok\",\"cubins\":[{\"name\":\"../x\",\"sha256\":\"" HASH "\"}]}",
        "{\"status\":\"ok\",\"cubins\":[{\"name\":\".x\",\"sha256\":\"" HASH "\"}]}",
        "{\"status\":\"ok\",\"cubins\":[{\"name\":\"\",\"sha256\":\"" HASH "\"}]}",
        "{\"status\":\"ok\",\"cubins\":[{\"name\":\"x\",\"sha256\":\"zz\"}]}",
        "{\"status\":\"ok\",\"cubins\":[{\"name\":5,\"sha256\":\"" HASH "\"}]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cJSON *o = parse(bad[i]);
        struct why why = {""};
        struct built b;

        assert_int_equal(built_from_json(o, &b, &why), ERR_PROTOCOL);
        assert_true(why.text[0]);
        assert_int_equal(b.n_files, 0);
        cJSON_Delete(o);
    }
}

static void figures_of_both_ends_are_put_together(void **state)
{
    cJSON *other = parse("[{\"kernel\":\"a\",\"registers\":1,\"spill_bytes\":7},{\"kernel\":\"b\",\"registers\":2}]");
    cJSON *own = resources_merge(parse("[{\"kernel\":\"a\",\"registers\":40}]"), other);

    (void)state;
    assert_int_equal(cJSON_GetArraySize(own), 1);
    assert_true(cJSON_GetObjectItem(cJSON_GetArrayItem(own, 0), "registers")->valuedouble == 40);
    assert_true(cJSON_GetObjectItem(cJSON_GetArrayItem(own, 0), "spill_bytes")->valuedouble == 7);
    cJSON_Delete(own);
    own = resources_merge(NULL, other);
    assert_int_equal(cJSON_GetArraySize(own), 2);
    cJSON_Delete(own);
    assert_null(resources_merge(NULL, NULL));
    cJSON_Delete(other);
}

/* A trial as leased, with this member "built". */
static struct trial *trial_with(const char *built)
{
    static const struct trial_agent agent = {.name = "run", .key = "gpu"};
    struct trial *t = NULL;
    struct why why = {""};
    char text[2048];
    cJSON *lease;

    snprintf(text, sizeof text, "{\"trial\":\"t1\",\"token\":1,\"program\":\"" HASH "\",\"body\":{}%s%s}",
             *built ? ",\"built\":" : "", built);
    lease = parse(text);
    if (trial_new(lease, &agent, &t, &why))
        fail_msg("%s", why.text);
    cJSON_Delete(lease);
    trial_take_code(t);
    return t;
}

static void a_failure_of_the_builder_is_the_trials_record(void **state)
{
    struct trial *t = trial_with("{\"program\":{\"status\":\"compile\",\"by\":\"b1\",\"compiler\":\"NVRTC 12.9\","
                                 "\"why\":\"error: no\",\"build_ms\":3,\"cubins\":[]}}");

    (void)state;
    assert_true(t->finished);
    assert_int_equal(t->record.status, STATUS_COMPILE);
    assert_string_equal(t->record.stage, "build");
    assert_string_equal(t->record.why, "error: no");
    assert_string_equal(t->record.built_by, "b1");
    assert_string_equal(t->record.compiler, "NVRTC 12.9");
    assert_true(t->record.build_ms == 3);
    trial_free(t);
}

static void code_of_a_builder_leaves_its_figures_in_the_record(void **state)
{
    struct trial *t =
        trial_with("{\"program\":{\"status\":\"ok\",\"by\":\"b1\",\"build_ms\":3,\"cubins\":[{\"name\":\"x\","
                   "\"sha256\":\"" HASH "\"}],\"resources\":[{\"kernel\":\"k\",\"spill_bytes\":16}]}}");
    cJSON *reply = parse("{\"status\":\"ok\",\"build_ms\":0,\"resources\":[{\"kernel\":\"k\",\"registers\":9}]}");
    const cJSON *k;

    (void)state;
    assert_false(t->finished);
    assert_int_equal(t->code.n_files, 1);
    trial_take_verify(t, reply);
    k = cJSON_GetArrayItem(t->record.resources, 0);
    assert_true(cJSON_GetObjectItem(k, "registers")->valuedouble == 9);
    assert_true(cJSON_GetObjectItem(k, "spill_bytes")->valuedouble == 16);
    assert_true(t->record.build_ms == 3); /* where the compiling was done */
    cJSON_Delete(reply);
    trial_free(t);
}

/* Nobody's, as a builder's is told by name: the time of compiling and of loading, and no word of a cache. */
static void code_compiled_apart_is_the_agents_own(void **state)
{
    struct trial *t = trial_with("");
    cJSON *reply = parse("{\"status\":\"ok\",\"build_ms\":2,\"build_cached\":true,\"compiler\":\"NVRTC 13.0\"}");

    (void)state;
    t->code.build_ms = 300;
    t->code.n_files = 1;
    strcpy(t->code.compiler, "NVRTC 13.0");
    trial_take_code(t);
    assert_false(t->finished);
    trial_take_verify(t, reply);
    assert_string_equal(t->record.built_by, "");
    assert_string_equal(t->record.compiler, "NVRTC 13.0");
    assert_true(t->record.build_ms == 302);
    assert_false(t->record.build_cached);
    cJSON_Delete(reply);
    trial_free(t);
}

static void a_failure_of_a_compile_child_keeps_its_stage(void **state)
{
    struct trial *t = trial_with("");

    (void)state;
    t->code.status = STATUS_RUNTIME;
    t->code.why = strdup("blob 123 is damaged");
    strcpy(t->code.stage, "prepare");
    trial_take_code(t);
    assert_int_equal(t->record.status, STATUS_RUNTIME);
    assert_string_equal(t->record.stage, "prepare");
    assert_string_equal(t->record.why, "blob 123 is damaged");
    trial_free(t);
}

/* What was loaded is what is told: code of our own, made before any builder answered, or none of a builder. */
static void the_record_names_who_made_what_was_loaded(void **state)
{
    static const char *const built[] = {
        "", "{\"program\":{\"status\":\"ok\",\"by\":\"b1\",\"compiler\":\"NVRTC 12.9\",\"build_ms\":3,\"cubins\":[]}}"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct trial *t = trial_with(built[i]);
        cJSON *reply = parse("{\"status\":\"ok\",\"build_ms\":7,\"compiler\":\"NVRTC 13.0\",\"built_by\":\"\"}");

        trial_take_verify(t, reply);
        assert_string_equal(t->record.built_by, "");
        assert_string_equal(t->record.compiler, "NVRTC 13.0");
        assert_true(t->record.build_ms == 7);
        cJSON_Delete(reply);
        trial_free(t);
    }
}

static void code_of_a_builder_that_is_refused_stays_the_builders(void **state)
{
    struct trial *t =
        trial_with("{\"program\":{\"status\":\"ok\",\"by\":\"b1\",\"compiler\":\"NVRTC 12.9\",\"cubins\":[]}}");
    cJSON *reply = parse("{\"status\":\"compile\",\"stage\":\"build\",\"why\":\"no\",\"compiler\":\"NVRTC 12.9\","
                         "\"built_by\":\"b1\"}");

    (void)state;
    trial_take_verify(t, reply);
    assert_true(t->finished);
    assert_int_equal(t->record.status, STATUS_COMPILE);
    assert_string_equal(t->record.built_by, "b1");
    assert_string_equal(t->record.compiler, "NVRTC 12.9");
    cJSON_Delete(reply);
    trial_free(t);
}

static void without_a_builder_the_record_names_none(void **state)
{
    struct trial *t = trial_with("");

    (void)state;
    assert_false(t->finished);
    assert_string_equal(t->record.built_by, "");
    trial_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_reads_back_as_it_was_written),
        cmocka_unit_test(figures_of_nothing_are_told_and_unknown_ones_are_not),
        cmocka_unit_test(an_answer_that_is_not_sane_is_refused),
        cmocka_unit_test(figures_of_both_ends_are_put_together),
        cmocka_unit_test(a_failure_of_the_builder_is_the_trials_record),
        cmocka_unit_test(code_of_a_builder_leaves_its_figures_in_the_record),
        cmocka_unit_test(code_compiled_apart_is_the_agents_own),
        cmocka_unit_test(a_failure_of_a_compile_child_keeps_its_stage),
        cmocka_unit_test(the_record_names_who_made_what_was_loaded),
        cmocka_unit_test(code_of_a_builder_that_is_refused_stays_the_builders),
        cmocka_unit_test(without_a_builder_the_record_names_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
