/* SPDX-License-Identifier: MIT */
/* Job files: members that nobody knows, scalars of few bits, macros and metrics of the author's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/temp_dir.h"
#include "tests/kernels/spec/opened.h"

#include <math.h>
#include <string.h>

static void unknown_members_are_refused_by_name(void **state)
{
    (void)state;
    refuses("\"Conditions\"", "\"Conditons\"",
            "ConfigurationSpace.Conditons: unknown member (did you mean Conditions?)");
    refuses("\"GlobalSize\"", "\"GlobalSze\"",
            "KernelSpecification.GlobalSze: unknown member (did you mean GlobalSize?)");
    refuses("\"Default\": 1", "\"default\": 1",
            "ConfigurationSpace.TuningParameters[1].default: unknown member (did you mean Default?)");
    refuses("\"AccessType\": \"WriteOnly\"", "\"Access\": \"WriteOnly\"", "Arguments[1].Access: unknown member");
    refuses("\"KernelFile\": \"plain.cl\"", "\"File\": \"plain.cl\"", "ReferenceKernel.File: unknown member");
    refuses("{\"X\": 8}", "{\"X\": 8, \"W\": 2}", "ReferenceKernel.LocalSize.W: unknown member");
    refuses("  \"KernelSpecification\"", "  \"Budgt\": [], \"KernelSpecification\"",
            ": Budgt: unknown member (did you mean Budget?)");
}

/* Readers of JSON take the first or the last: half of the conditions would count. */
static void members_that_are_there_twice_are_refused(void **state)
{
    (void)state;
    refuses("    \"Conditions\"", "    \"Conditions\": [], \"Conditions\"",
            "ConfigurationSpace.Conditions: the member is there twice");
    refuses("\"Default\": 1", "\"Default\": 1, \"Default\": 2",
            "TuningParameters[1].Default: the member is there twice");
    refuses("  \"KernelSpecification\"",
            "  \"Budget\": [], \"_a\": 1, \"_a\": 2, \"Budget\": [], \"KernelSpecification\"",
            ": Budget: the member is there twice");
}

/* A size that is none fails elsewhere, far from its cause: "the constraints leave no config". */
static void sizes_of_the_problem_are_whole_numbers_from_1(void **state)
{
    static const char *const bad[] = {"0", "-1", "1.5", "1e30", "\"2 - 2\""};
    static const char *const none[] = {"[1000]", "[1e3]", NULL};
    char size[40];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(size, sizeof size, "\"ProblemSize\": [%s, 1000]", bad[i]);
        refuses("\"ProblemSize\": [1000]", size, "KernelSpecification.ProblemSize[0] is ");
    }
    spec_free(opened(none));
}

/* Passed over, "Output": "yes" would have other arguments compared than the file says. */
static void outputs_are_marked_with_1_and_are_written(void **state)
{
    (void)state;
    refuses("\"Output\": 1", "\"Output\": \"yes\"", "Arguments[1].Output: expected 0 or 1");
    refuses("\"Output\": 1", "\"Output\": 2", "Arguments[1].Output: expected 0 or 1");
    refuses("\"FillValue\": 8.0", "\"FillValue\": 8.0, \"Output\": 1",
            "Arguments[0].Output: 'x' is no vector that is written");
    refuses("\"FillValue\": 3.0", "\"FillValue\": 3.0, \"Output\": true",
            "Arguments[2].Output: 'by' is no vector that is written");
}

/* What the file has not is not what is wrong in it. */
static void a_reference_without_a_configuration_tells_of_the_defaults(void **state)
{
    (void)state;
    refuses("\"Default\": 1", "\"Default\": 3", "ReferenceKernel has no Configuration, so the Defaults: knob 'PER'");
    refuses(", \"Default\": 1", "", "ReferenceKernel has no Configuration, so the Defaults: knob 'PER' is missing");
}

/* Not as we spell it: "ProblemSize.0 % GROUP". */
static void expressions_are_told_with_the_numbers_of_the_problem(void **state)
{
    static const char *const pairs[] = {"GROUP * PER <= max(GROUP)", "ProblemSize[0] % (3 * GROUP) == 0", NULL};
    const char *violated = NULL;
    struct why why = {""};
    struct config c;
    struct spec *s = opened(pairs);

    (void)state;
    assert_int_equal(space_config_parse(spec_space(s), "GROUP=2 PER=1 BUG=0", &c, &why), ERR_OK);
    assert_false(space_is_valid(spec_space(s), &c, &violated));
    assert_string_equal(violated, "1000 % (3 * GROUP) == 0");
    spec_free(s);
    refuses("\"ProblemSize[0] / PER\"", "\"ProblemSize[0] / PR\"", "GlobalSize.X: '1000 / PR': unknown name 'PR'");
}

static void operations_are_counted_from_0(void **state)
{
    static const char *const pairs[] = {"\"Operations\": \"n\"", "\"Operations\": \"n - 2 * n\"", NULL};
    struct spec *s = opened(pairs);
    struct blobs blobs;
    struct program p;
    struct why why = {""};
    struct config c;

    (void)state;
    blobs_init(&blobs, 1 << 20);
    assert_int_equal(space_config_parse(spec_space(s), "GROUP=2 PER=1 BUG=0", &c, &why), ERR_OK);
    assert_int_equal(spec_program(s, &c, &p, &blobs, &why), ERR_INPUT);
    assert_string_equal(why.text, "KernelSpecification.Operations is -1000: expected a number from 0");
    blobs_fini(&blobs);
    spec_free(s);
}

static void remarks_and_others_members_are_passed_over(void **state)
{
    static const char *const pairs[] = {"  \"KernelSpecification\": {",
                                        "  \"_why\": 1, \"$schema\": \"x\", \"General\": {\"Anything\": 1}, "
                                        "\"KernelSpecification\": {\"Stream\": null, \"Misc\": {\"jitify\": true}, "
                                        "\"_remark\": {\"GlobalSze\": 1},",
                                        NULL};

    (void)state;
    spec_free(opened(pairs));
}

#define VECTOR                                                                                                         \
    "\"Type\": \"float\", \"MemoryType\": \"Vector\", \"AccessType\": \"ReadOnly\", \"FillType\": \"Random\",\n      " \
    " \"FillValue\": 8.0"

/* 1000 elements of a type of the file's own. */
static void elements_of_custom_types_have_so_many_bytes(void **state)
{
    static const int sizes[] = {1, 2, 3, 12, 20, 64, 65, 4096};
    static const char *const none[] = {"\"TypeSize\": 0,",   "\"TypeSize\": -4,",    "\"TypeSize\": 4097,",
                                       "\"TypeSize\": 4.5,", "\"TypeSize\": \"4\",", ""};
    char arg[200];

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *const pairs[] = {VECTOR, arg, NULL};
        struct blobs blobs;
        struct program p;
        struct spec *s;

        snprintf(arg, sizeof arg,
                 "\"Type\": \"custom\", \"TypeSize\": %d, \"FillType\": \"Constant\", \"FillValue\": 0", sizes[i]);
        s = opened(pairs);
        blobs_init(&blobs, 1 << 20);
        p = program_of(s, "GROUP=2 PER=1 BUG=0", &blobs);
        assert_string_equal(p.buffers[0].id, "x");
        assert_int_equal(p.buffers[0].n_elems * (int64_t)dtype_bytes(p.buffers[0].dtype), 1000 * sizes[i]);
        program_fini(&p);
        blobs_fini(&blobs);
        spec_free(s);
    }
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        snprintf(arg, sizeof arg, "\"Type\": \"custom\", %s \"FillType\": \"Constant\", \"FillValue\": 0", none[i]);
        refuses(VECTOR, arg, "Arguments[0].TypeSize: expected the bytes of an element, 1 to 4096");
    }
}

/* 65,537 elements of 4,096 bytes are 4,096 bytes more than 256 MiB. */
static void values_of_custom_types_are_made_up_to_a_limit_of_bytes(void **state)
{
    static const char *const pairs[] = {
        VECTOR, "\"Type\": \"custom\", \"TypeSize\": 4096, \"FillType\": \"Constant\", \"FillValue\": 1",
        "\"Size\": \"n\"", "\"Size\": 65537", NULL};
    struct spec *s = opened(pairs);
    struct why why = {""};
    struct blobs blobs;
    struct program p;
    struct config c;

    (void)state;
    blobs_init(&blobs, 1 << 20);
    assert_true(spec_default(s, &c));
    assert_int_equal(spec_program(s, &c, &p, &blobs, &why), ERR_LIMIT);
    if (!strstr(why.text, "values or 256 MiB"))
        fail_msg("%s", why.text);
    blobs_fini(&blobs);
    spec_free(s);
}

/* By hand: -2 as a char is 0xfe, 0xfffe as a short; 3 as a half is 1.5 * 2^1, 0 10000 1000000000 = 0x4200. */
static void small_scalars_are_their_bits(void **state)
{
    static const struct {
        const char *type, *value;
        enum arg_kind kind;
        int64_t bits;
    } rows[] = {{"int8", "-2", ARG_B8, 0xfe},     {"uint8", "255", ARG_B8, 255},       {"bool", "1", ARG_B8, 1},
                {"int16", "-2", ARG_B16, 0xfffe}, {"uint16", "65535", ARG_B16, 65535}, {"half", "3", ARG_B16, 0x4200}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char arg[128];
        const char *const pairs[] = {"\"Type\": \"float\", \"MemoryType\": \"Scalar\", \"FillValue\": 3.0", arg, NULL};
        struct blobs blobs;
        struct program p;
        struct spec *s;

        snprintf(arg, sizeof arg, "\"Type\": \"%s\", \"MemoryType\": \"Scalar\", \"FillValue\": %s", rows[i].type,
                 rows[i].value);
        s = opened(pairs);
        blobs_init(&blobs, 1 << 20);
        p = program_of(s, "GROUP=2 PER=1 BUG=0", &blobs);
        for (size_t l = 0; l < p.n_launches; l++) {
            assert_int_equal(p.launches[l].args[2].kind, rows[i].kind);
            assert_int_equal(p.launches[l].args[2].integer, rows[i].bits);
        }
        assert_string_equal(p.extensions, strcmp(rows[i].type, "half") == 0 ? "cl_khr_fp16" : "");
        program_fini(&p);
        blobs_fini(&blobs);
        spec_free(s);
    }
}

static void small_scalars_beyond_their_type_are_refused(void **state)
{
    static const struct {
        const char *type, *value, *words;
    } rows[] = {{"int8", "128", "expected a whole number from -128 to 127 of int8"},
                {"uint8", "-1", "from 0 to 255"},
                {"bool", "2", "from 0 to 1"},
                {"int16", "32768", "from -32768 to 32767"},
                {"uint16", "1.5", "is 1.5: expected a whole number"},
                {"half", "70000", "a half is at most 65504"}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char arg[128];
        const char *const pairs[] = {"\"Type\": \"float\", \"MemoryType\": \"Scalar\", \"FillValue\": 3.0", arg, NULL};
        struct blobs blobs;
        struct program p;
        struct config c;
        struct why why = {""};
        struct spec *s;

        snprintf(arg, sizeof arg, "\"Type\": \"%s\", \"MemoryType\": \"Scalar\", \"FillValue\": %s", rows[i].type,
                 rows[i].value);
        s = opened(pairs);
        blobs_init(&blobs, 1 << 20);
        assert_int_equal(space_config_parse(spec_space(s), "GROUP=2 PER=1 BUG=0", &c, &why), ERR_OK);
        assert_int_equal(spec_program(s, &c, &p, &blobs, &why), ERR_INPUT);
        if (!strstr(why.text, rows[i].words))
            fail_msg("'%s' does not say '%s'", why.text, rows[i].words);
        blobs_fini(&blobs);
        spec_free(s);
    }
}

#define BEHIND "\"CompilerOptions\": [\"-cl-mad-enable\"],"
#define BEFORE "  \"KernelSpecification\""

static const char *define_of(const struct program_module *m, const char *name)
{
    for (size_t i = 0; i < m->n_defines; i++)
        if (strcmp(m->defines[i].name, name) == 0)
            return m->defines[i].value;
    return "none";
}

/* By hand: 1000 / 4 items in groups of 2; the reference has the Defaults, PER=1 and GROUP=2. */
static void defines_are_macros_of_each_config(void **state)
{
    static const char *const pairs[] = {
        BEHIND,
        BEHIND "\"Defines\": {\"TWICE\": \"PER * 2\", \"HALF\": \"PER / 8\", \"ITEMS\": \"n / PER\", \"ONE\": 1},",
        NULL};
    struct spec *s = opened(pairs);
    struct blobs blobs;
    struct program p;
    struct buf text;
    cJSON *knobs;

    (void)state;
    blobs_init(&blobs, 1 << 20);
    p = program_of(s, "GROUP=2 PER=4 BUG=0", &blobs);
    assert_string_equal(define_of(&p.modules[0], "TWICE"), "8");
    assert_string_equal(define_of(&p.modules[0], "HALF"), "0.5");
    assert_string_equal(define_of(&p.modules[0], "ITEMS"), "250");
    assert_string_equal(define_of(&p.modules[0], "ONE"), "1");
    assert_string_equal(define_of(&p.modules[1], "TWICE"), "2");
    buf_init(&text, 4096);
    knobs = cJSON_Parse("{\"GROUP\": 2, \"PER\": 4, \"BUG\": 0}");
    assert_int_equal(spec_macros(s, knobs, &text, NULL), ERR_OK);
    assert_non_null(strstr(buf_text(&text), "#define PER 4\n"));
    assert_non_null(strstr(buf_text(&text), "#define TWICE 8\n"));
    cJSON_Delete(knobs);
    buf_fini(&text);
    program_fini(&p);
    blobs_fini(&blobs);
    spec_free(s);
}

/* They would be macros of nothing. */
static void defines_without_a_value_are_refused_where_a_header_is_made(void **state)
{
    static const char *const pairs[] = {BEHIND, BEHIND "\"Defines\": {\"RATIO\": \"8 / (PER - 1)\"},", NULL};
    struct spec *s = opened(pairs);
    struct why why = {""};
    struct buf text;
    cJSON *knobs = cJSON_Parse("{\"GROUP\": 2, \"PER\": 1, \"BUG\": 0}");

    (void)state;
    buf_init(&text, 4096);
    assert_int_equal(spec_macros(s, knobs, &text, &why), ERR_INPUT);
    assert_string_equal(why.text, "KernelSpecification.Defines.RATIO has no value for this config");
    assert_null(strstr(buf_text(&text), "RATIO"));
    cJSON_Delete(knobs);
    buf_fini(&text);
    spec_free(s);
}

static void defines_that_are_none_are_refused(void **state)
{
    (void)state;
    refuses(BEHIND, BEHIND "\"Defines\": {\"PER\": 1},", "Defines: 'PER' is no name of a macro");
    refuses(BEHIND, BEHIND "\"Defines\": {\"A B\": 1},", "Defines: 'A B' is no name of a macro");
    refuses(BEHIND, BEHIND "\"Defines\": {\"A\": \"B + 1\"},", "Defines.A: 'B + 1': unknown name 'B'");
    refuses(BEHIND, BEHIND "\"Defines\": [1],", "Defines: expected an object");
}

/* By hand: 2 ms are 2e6 ns; 1000 elements of 8 bytes in 2 ms are 4e6 bytes a second. */
static void metrics_are_numbers_of_a_config_and_its_time(void **state)
{
    static const char *const pairs[] = {BEFORE,
                                        "  \"Metrics\": {\"MB/s\": \"8 * n / time / 1e3\", \"rate\": \"n / time\", "
                                        "\"twice\": \"2 * rate * PER\", \"never\": \"1 / BUG\"},\n" BEFORE,
                                        NULL};
    struct spec *s = opened(pairs);
    const int version = spec_version(s);
    struct config c;
    struct why why;
    cJSON *all;

    (void)state;
    assert_int_equal(space_config_parse(spec_space(s), "GROUP=2 PER=4 BUG=0", &c, &why), ERR_OK);
    all = spec_metrics(s, &c, 2e6);
    assert_int_equal(cJSON_GetArraySize(all), 4);
    assert_true(cJSON_GetObjectItem(all, "MB/s")->valuedouble == 4);
    assert_true(cJSON_GetObjectItem(all, "rate")->valuedouble == 500);
    assert_true(cJSON_GetObjectItem(all, "twice")->valuedouble == 4000);
    assert_true(isnan(cJSON_GetObjectItem(all, "never")->valuedouble));
    cJSON_Delete(all);
    spec_free(s);
    s = opened(NULL);
    assert_int_equal(spec_version(s), version); /* records hold for other metrics, too */
    all = spec_metrics(s, &c, 2e6);
    assert_int_equal(cJSON_GetArraySize(all), 0);
    cJSON_Delete(all);
    spec_free(s);
}

static void metrics_that_are_none_are_refused(void **state)
{
    (void)state;
    refuses(BEFORE, "\"Metrics\": {\"x\": \"tme / 2\"},\n" BEFORE, "Metrics.x: 'tme / 2': unknown name 'tme'");
    refuses(BEFORE, "\"Metrics\": {\"x\": \"y\", \"y\": \"time\"},\n" BEFORE, "Metrics.x: 'y': unknown name 'y'");
    refuses(BEFORE, "\"Metrics\": {\"x y\": \"time\"},\n" BEFORE, "Metrics.x y: expected a name");
    refuses(BEFORE, "\"Metrics\": {\"x\": 3},\n" BEFORE, "Metrics.x: expected an expression");
    refuses(BEFORE, "\"Metrics\": 3,\n" BEFORE, "Metrics: expected an object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_members_are_refused_by_name),
        cmocka_unit_test(members_that_are_there_twice_are_refused),
        cmocka_unit_test(sizes_of_the_problem_are_whole_numbers_from_1),
        cmocka_unit_test(outputs_are_marked_with_1_and_are_written),
        cmocka_unit_test(a_reference_without_a_configuration_tells_of_the_defaults),
        cmocka_unit_test(expressions_are_told_with_the_numbers_of_the_problem),
        cmocka_unit_test(operations_are_counted_from_0),
        cmocka_unit_test(remarks_and_others_members_are_passed_over),
        cmocka_unit_test(elements_of_custom_types_have_so_many_bytes),
        cmocka_unit_test(values_of_custom_types_are_made_up_to_a_limit_of_bytes),
        cmocka_unit_test(small_scalars_are_their_bits),
        cmocka_unit_test(small_scalars_beyond_their_type_are_refused),
        cmocka_unit_test(defines_are_macros_of_each_config),
        cmocka_unit_test(defines_without_a_value_are_refused_where_a_header_is_made),
        cmocka_unit_test(defines_that_are_none_are_refused),
        cmocka_unit_test(metrics_are_numbers_of_a_config_and_its_time),
        cmocka_unit_test(metrics_that_are_none_are_refused),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
