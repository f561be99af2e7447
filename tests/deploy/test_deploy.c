/* SPDX-License-Identifier: MIT */
/* Making best records into deployable layers and C text. */
#include "tests/libtune/sample_layer.h"
#include "deploy/names.h"
#include "deploy/set.h"
#include "deploy/text.h"
#include "kernels/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char dense[] = "dense f32 m=3 n=17 k=31";

static void symbols_are_c_identifiers(void **state)
{
    char symbol[DEPLOY_SYMBOL_BYTES];
    (void)state;
    assert_int_equal(deploy_symbol("conv2d f32 n=1 c=3 pad=1,2", symbol, sizeof symbol), ERR_OK);
    assert_string_equal(symbol, "conv2d_f32_n1_c3_pad1_2");
    assert_int_equal(deploy_symbol(dense, symbol, 8), ERR_LIMIT);
}

static void literals_escape_what_c_would_read(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 1024);
    deploy_text_literal("a\"b\\c\n\t?\x80", 9, &b);
    assert_string_equal(buf_text(&b), "\"a\\\"b\\\\c\\n\\011\\077\\200\"");
    buf_fini(&b);
}

static void a_record_becomes_its_program(void **state)
{
    struct record r;
    struct deploy_layer l;
    struct why why = {""};
    (void)state;
    assert_true(sample_record(dense, "dense/naive", &r));
    assert_int_equal(deploy_layer_init(&l, &r, &why), ERR_OK);
    assert_string_equal(l.program.workload, dense);
    assert_string_equal(l.workload, dense);
    assert_int_equal(l.origin, DEPLOY_RECORD);
    assert_int_equal(l.plan->n_modules, l.program.n_modules);
    deploy_layer_fini(&l);
    record_fini(&r);
}

/* Layers of one module each: of which text, with which options. */
static size_t n_modules_of(const char *const (*of)[2], size_t n)
{
    static struct exec_module modules[8];
    static const struct exec_module *lists[8];
    static struct exec_plan plans[8];
    static struct deploy_layer layers[8];
    struct deploy_set s;
    struct why why = {""};
    size_t n_modules;

    assert_int_equal(deploy_set_init(&s, "set", &why), ERR_OK);
    for (size_t i = 0; i < n; i++) {
        struct program_module *m;

        modules[i] = (struct exec_module){.options = of[i][1]};
        lists[i] = &modules[i];
        plans[i] = (struct exec_plan){.modules = &lists[i], .n_modules = 1};
        layers[i] = (struct deploy_layer){.plan = &plans[i]};
        program_init(&layers[i].program);
        blobs_init(&layers[i].blobs, 1 << 20);
        m = program_add_module(&layers[i].program, "m", LANG_OPENCL_C, "");
        assert_int_equal(blobs_put(&layers[i].blobs, of[i][0], strlen(of[i][0]), &m->source), ERR_OK);
    }
    s.layers = layers;
    s.n_layers = n;
    assert_int_equal(deploy_set_share(&s, &why), ERR_OK);
    n_modules = s.n_modules;
    for (size_t i = 0; i < n; i++) {
        const struct deploy_module *m = &s.modules[deploy_set_module(&s, &layers[i], 0)];

        assert_string_equal(m->module->options, of[i][1]);
        assert_memory_equal(m->source->data, of[i][0], strlen(of[i][0]));
    }
    s.layers = NULL;
    s.n_layers = 0;
    deploy_set_fini(&s);
    for (size_t i = 0; i < n; i++) {
        program_fini(&layers[i].program);
        blobs_fini(&layers[i].blobs);
    }
    return n_modules;
}

/* Neither those whose options begin with another's nor those that are a part of them. */
static void only_equal_texts_with_equal_options_are_shared(void **state)
{
    static const char *const apart[][2] = {{"t", "-D A=12"}, {"t", "-D A=1"},  {"t", ""},      {"t", "-D A=1 -D B=2"},
                                           {"t", "-D B=2"},  {"tt", "-D A=1"}, {"u", "-D A=1"}},
                             *const equal[][2] = {{"t", "-D A=1"}, {"t", "-D A=12"}, {"t", "-D A=1"}, {"t", "-D A=12"}};

    (void)state;
    assert_int_equal(n_modules_of(apart, 7), 7);
    assert_int_equal(n_modules_of(equal, 4), 2);
}

/* What is wrong with a record, and the words that a person gets. */
static void refused(struct record *r, enum err expected, const char *words)
{
    struct deploy_layer l;
    struct why why = {""};
    enum err e = deploy_layer_init(&l, r, &why);
    if (e != expected || strstr(why.text, words) == NULL) {
        fail_msg("error %s, words '%s'; expected %s and '%s'", err_name(e), why.text, err_name(expected), words);
    }
    deploy_layer_fini(&l);
    record_fini(r);
}

static void other_programs_than_the_measured_are_refused(void **state)
{
    struct record r;
    (void)state;
    assert_true(sample_record(dense, "dense/naive", &r));
    memset(r.program.hex, '0', SHA256_HEX);
    refused(&r, ERR_STALE, "tune this layer again");
}

static void failed_records_are_refused(void **state)
{
    struct record r;
    (void)state;
    assert_true(sample_record(dense, "dense/naive", &r));
    r.status = STATUS_WRONG;
    refused(&r, ERR_INPUT, "status is wrong");
    assert_true(sample_record(dense, "dense/naive", &r));
    (void)snprintf(r.verified, sizeof r.verified, RECORD_IN_PART);
    refused(&r, ERR_INPUT, "the record was verified in part");
}

static void own_programs_are_refused(void **state)
{
    struct record r;
    (void)state;
    assert_true(sample_record(dense, "dense/naive", &r));
    r.template_id[0] = '\0';
    refused(&r, ERR_INPUT, "program file");
}

static void unknown_templates_are_refused(void **state)
{
    struct record r;
    (void)state;
    assert_true(sample_record(dense, "dense/naive", &r));
    (void)snprintf(r.template_id, sizeof r.template_id, "dense/of_tomorrow");
    refused(&r, ERR_NOT_FOUND, "dense/of_tomorrow");
}

static void templates_of_another_operator_are_refused(void **state)
{
    struct record r;
    (void)state;
    assert_true(sample_record(dense, "dense/naive", &r));
    (void)snprintf(r.template_id, sizeof r.template_id, "conv2d/direct_tile");
    r.template_version = template_find(r.template_id)->version;
    refused(&r, ERR_INPUT, "template conv2d/direct_tile is not of operator dense");
}

static void other_versions_of_a_template_are_named(void **state)
{
    struct record r;
    (void)state;
    assert_true(sample_record(dense, "dense/naive", &r));
    r.template_version += 7;
    memset(r.program.hex, '0', SHA256_HEX);
    refused(&r, ERR_STALE, "measured with dense/naive version ");
    assert_true(sample_record(dense, "dense/naive", &r));
    r.template_version += 7;
    cJSON_Delete(r.knobs);
    r.knobs = cJSON_CreateString("of another kind");
    refused(&r, ERR_STALE, "tune this layer again");
}

static void replayed_records_are_refused(void **state)
{
    struct record r;
    (void)state;
    assert_true(sample_record(dense, "dense/naive", &r));
    cJSON_ReplaceItemInObjectCaseSensitive(r.device, "api", cJSON_CreateString("replay"));
    refused(&r, ERR_UNSUPPORTED, "OpenCL");
}

static void records_without_a_device_are_refused(void **state)
{
    struct record r;
    (void)state;
    assert_true(sample_record(dense, "dense/naive", &r));
    cJSON_Delete(r.device);
    r.device = cJSON_CreateObject();
    refused(&r, ERR_INPUT, "describe its device");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_are_c_identifiers),
        cmocka_unit_test(literals_escape_what_c_would_read),
        cmocka_unit_test(a_record_becomes_its_program),
        cmocka_unit_test(only_equal_texts_with_equal_options_are_shared),
        cmocka_unit_test(other_programs_than_the_measured_are_refused),
        cmocka_unit_test(failed_records_are_refused),
        cmocka_unit_test(own_programs_are_refused),
        cmocka_unit_test(unknown_templates_are_refused),
        cmocka_unit_test(templates_of_another_operator_are_refused),
        cmocka_unit_test(other_versions_of_a_template_are_named),
        cmocka_unit_test(replayed_records_are_refused),
        cmocka_unit_test(records_without_a_device_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
