/* SPDX-License-Identifier: MIT */
/* Job files: what they may say, what they may not, and the programs made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "search_space/valid_set.h"
#include "tests/kernels/spec/opened.h"
#include "kernels/spec/spec.h"

#include <math.h>

static void a_job_file_makes_a_space_and_a_workload(void **state)
{
    struct spec *s = opened(NULL);
    struct config c;
    bool exact;

    (void)state;
    assert_string_equal(spec_workload(s), "kernel scale problem_size=1000");
    assert_true(space_count_valid(spec_space(s), 1000, &exact) == 9 && exact); /* of 4 x 3: 8*2, 8*4, 4*4 are over 8 */
    assert_true(spec_default(s, &c));
    assert_int_equal(space_int(spec_space(s), &c, "GROUP"), 2);
    assert_true(spec_is_checked(s));
    assert_string_equal(spec_notes(s), "");
    spec_free(s);
}

static const struct program_define *define_of(const struct program_module *m, const char *name)
{
    for (size_t i = 0; i < m->n_defines; i++)
        if (strcmp(m->defines[i].name, name) == 0)
            return &m->defines[i];
    return NULL;
}

static void a_config_makes_a_program(void **state)
{
    struct spec *s = opened(NULL);
    struct blobs blobs;
    struct program p;
    const struct program_launch *l;

    (void)state;
    blobs_init(&blobs, 1 << 20);
    p = program_of(s, "GROUP=4 PER=2 BUG=0", &blobs);
    assert_string_equal(p.workload, "kernel scale problem_size=1000");
    assert_string_equal(p.template_id, "");
    assert_int_equal(p.template_version, spec_version(s));
    assert_true(p.flops == 1000);
    assert_string_equal(define_of(&p.modules[0], "PER")->value, "2");
    assert_string_equal(p.modules[0].options, "-cl-mad-enable");
    assert_string_equal(define_of(&p.modules[1], "PER")->value, "1"); /* the reference has the defaults */
    assert_int_equal(p.n_launches, 2);
    l = &p.launches[1];
    assert_int_equal(l->phase, PHASE_RUN);
    assert_int_equal(l->block[0], 4);
    assert_int_equal(l->grid[0], 125); /* 1000 / 2 work-items in groups of 4 */
    assert_int_equal(l->args[3].integer, 1000);
    assert_true(l->args[2].kind == ARG_F32 && l->args[2].real == 3);
    assert_int_equal(p.launches[0].phase, PHASE_REFERENCE);
    assert_int_equal(p.launches[0].grid[0], 125);
    assert_int_equal(p.n_passes, 1);
    assert_int_equal(p.passes[0].checks[0].relative, RELATIVE_PEAK);
    assert_int_equal(p.buffers[0].fill.kind, FILL_INT);
    assert_int_equal(p.buffers[1].role, ROLE_OUTPUT);
    program_fini(&p);
    p = program_of(s, "GROUP=8 PER=1 BUG=0", &blobs);
    assert_int_equal(p.launches[1].grid[0], 125);
    program_fini(&p);
    blobs_fini(&blobs);
    spec_free(s);
}

/* Kernel Tuner's own: a grid from the problem's size, which stands over GlobalSize. */
static void grid_divisors_stand_over_a_global_size(void **state)
{
    static const char *const pairs[] = {"\"GlobalSize\": {\"X\": \"ProblemSize[0] / PER\"}",
                                        "\"GlobalSize\": {\"X\": \"77\"}, \"GridDivX\": [\"GROUP\", \"PER\"]", NULL};
    struct spec *s = opened(pairs);
    struct blobs blobs;
    struct program p;

    (void)state;
    blobs_init(&blobs, 1 << 20);
    p = program_of(s, "GROUP=8 PER=1 BUG=0", &blobs);
    assert_int_equal(p.launches[1].grid[0], 125);
    program_fini(&p);
    p = program_of(s, "GROUP=2 PER=4 BUG=0", &blobs);
    assert_int_equal(p.launches[1].grid[0], 125);
    program_fini(&p);
    assert_non_null(strstr(spec_notes(s), "GlobalSize is not used"));
    blobs_fini(&blobs);
    spec_free(s);
}

/* The last work-items need a group too: of sizes that are no multiples, and of numbers of groups that are not whole. */
static void groups_are_as_many_as_hold_all_work_items(void **state)
{
    static const struct {
        const char *global, *config;
        int64_t grid; /* work-items over GROUP, none left out */
    } cases[] = {
        {"\"X\": \"1001\"", "GROUP=8 PER=1 BUG=0", 126},       {"\"X\": \"1001\"", "GROUP=1 PER=1 BUG=0", 1001},
        {"\"X\": \"1007\"", "GROUP=8 PER=1 BUG=0", 126},       {"\"X\": \"1008\"", "GROUP=8 PER=1 BUG=0", 126},
        {"\"X\": \"1001 / PER\"", "GROUP=2 PER=2 BUG=0", 251}, {"\"X\": \"3\"", "GROUP=8 PER=1 BUG=0", 1},
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const char *const pairs[] = {"\"X\": \"ProblemSize[0] / PER\"", cases[k].global, NULL};
        struct spec *s = opened(pairs);
        struct blobs blobs;
        struct program p;

        blobs_init(&blobs, 1 << 20);
        p = program_of(s, cases[k].config, &blobs);
        if (p.launches[1].grid[0] != cases[k].grid)
            fail_msg("case %zu: %lld groups", k, (long long)p.launches[1].grid[0]);
        assert_int_equal(p.launches[1].grid[1], 1);
        program_fini(&p);
        blobs_fini(&blobs);
        spec_free(s);
    }
}

/* What a kernel reads and writes begins each run as the file says; what it only reads or writes is left alone. */
static void access_says_what_a_buffer_is(void **state)
{
    static const struct {
        const char *access;
        enum buffer_role role;
        bool is_reset;
    } cases[] = {{"ReadOnly", ROLE_INPUT, false}, {"WriteOnly", ROLE_OUTPUT, false}, {"ReadWrite", ROLE_OUTPUT, true}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char access[60];
        const char *const pairs[] = {"\"AccessType\": \"ReadOnly\"", access, NULL};
        struct spec *s;
        struct blobs blobs;
        struct program p;

        snprintf(access, sizeof access, "\"AccessType\": \"%s\"", cases[k].access);
        s = opened(pairs);
        blobs_init(&blobs, 1 << 20);
        p = program_of(s, "GROUP=1 PER=1 BUG=0", &blobs);
        for (size_t i = 0; i < p.n_buffers; i++) {
            const bool is_x = strcmp(p.buffers[i].id, "x") == 0;

            assert_int_equal(p.buffers[i].reset_each_run, is_x && cases[k].is_reset);
            if (is_x)
                assert_int_equal(p.buffers[i].role, cases[k].role);
        }
        assert_true(program_find_buffer(&p, "x") >= 0);
        program_fini(&p);
        blobs_fini(&blobs);
        spec_free(s);
    }
}

static double value_at(const struct blobs *blobs, const struct program_buffer *b, int64_t i)
{
    void *data = malloc((size_t)b->n_elems * dtype_bytes(b->dtype));
    double v;

    assert_int_equal(fill_elems(&b->fill, b->dtype, data, b->n_elems, blobs), ERR_OK);
    v = dtype_load(b->dtype, data, (size_t)i);
    free(data);
    return v;
}

static void fills_are_what_the_file_says(void **state)
{
    static const struct {
        const char *fill;
        int64_t i, n;
        double wanted, at_most;
    } cases[] = {
        {"\"FillType\": \"Constant\", \"FillValue\": 2.5, \"Size\": 9", 8, 9, 2.5, 2.5},
        {"\"FillType\": \"Generator\", \"DataSource\": \"2 * i + ProblemSize[0]\", \"Size\": 9", 8, 9, 1016, 1016},
        {"\"FillType\": \"Random\", \"FillValue\": -4, \"RandomSeed\": 3, \"Size\": \"n // 100\"", 5, 10, -4, 0},
        {"\"FillType\": \"BinaryRaw\", \"DataSource\": \"x.bin\"", 2, 3, 7.5, 7.5},
    };
    const float raw[3] = {1, 2, 7.5F};
    char path[512];

    (void)state;
    snprintf(path, sizeof path, "%s/x.bin", dir);
    assert_int_equal(file_replace(path, raw, sizeof raw, 0644, NULL), ERR_OK);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const char *const pairs[] = {"\"FillType\": \"Random\",\n       \"FillValue\": 8.0, \"Size\": \"n\"",
                                     cases[k].fill, NULL};
        struct spec *s = opened(pairs);
        struct blobs blobs;
        struct program p;
        double v;

        blobs_init(&blobs, 1 << 20);
        p = program_of(s, "GROUP=1 PER=1 BUG=0", &blobs);
        assert_int_equal(p.buffers[0].n_elems, cases[k].n);
        v = value_at(&blobs, &p.buffers[0], cases[k].i);
        if (!(v >= cases[k].wanted && v <= cases[k].at_most))
            fail_msg("case %zu: %g", k, v);
        program_fini(&p);
        blobs_fini(&blobs);
        spec_free(s);
    }
}

static void element_types_without_a_dtype_are_bytes(void **state)
{
    static const char *const pairs[] = {"\"Name\": \"x\", \"Type\": \"float\"", "\"Name\": \"x\", \"Type\": \"int16\"",
                                        "\"FillType\": \"Random\",\n       \"FillValue\": 8.0, \"Size\": \"n\"",
                                        "\"FillType\": \"Generator\", \"DataSource\": \"-i\", \"Size\": 4", NULL};
    struct spec *s = opened(pairs);
    struct blobs blobs;
    struct program p;

    (void)state;
    blobs_init(&blobs, 1 << 20);
    p = program_of(s, "GROUP=1 PER=1 BUG=0", &blobs);
    assert_int_equal(p.buffers[0].dtype, DTYPE_U8);
    assert_int_equal(p.buffers[0].n_elems, 8);
    assert_true(value_at(&blobs, &p.buffers[0], 2) == 0xff && value_at(&blobs, &p.buffers[0], 3) == 0xff);
    assert_true(value_at(&blobs, &p.buffers[0], 4) == 0xfe);
    program_fini(&p);
    blobs_fini(&blobs);
    spec_free(s);
}

/* Of x: its type and fill, and what values it must lie between; "" = any words of refusal. */
static void values_lie_where_their_type_and_fill_say(void **state)
{
    static const struct {
        const char *type, *fill, *words; /* NULL = it is taken */
        double least, most;
    } cases[] = {
        {"int16", "\"FillType\": \"Generator\", \"DataSource\": \"32767 - i\", \"Size\": 4", NULL, 0, 255},
        {"int16", "\"FillType\": \"Generator\", \"DataSource\": \"32765 + i\", \"Size\": 4",
         "32768 is no value of int16", 0, 0},
        {"int16", "\"FillType\": \"Generator\", \"DataSource\": \"i - 32770\", \"Size\": 4",
         "-32770 is no value of int16", 0, 0},
        {"uint16", "\"FillType\": \"Generator\", \"DataSource\": \"65532 + i\", \"Size\": 4", NULL, 0, 255},
        {"uint16", "\"FillType\": \"Generator\", \"DataSource\": \"65533 + i\", \"Size\": 4",
         "65536 is no value of uint16", 0, 0},
        {"uint16", "\"FillType\": \"Generator\", \"DataSource\": \"2 - i\", \"Size\": 4", "-1 is no value of uint16", 0,
         0},
        {"int32", "\"FillType\": \"Random\", \"FillValue\": -5, \"Size\": 400", NULL, -5, 0},
        {"int32", "\"FillType\": \"Random\", \"FillValue\": 5, \"Size\": 400", NULL, 0, 5},
        {"float", "\"FillType\": \"Random\", \"FillValue\": 8, \"Size\": 400", NULL, 0, 8},
        {"float", "\"FillType\": \"Random\", \"Size\": 400", NULL, 0, 1},
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char type[60];
        const char *const pairs[] = {"\"Name\": \"x\", \"Type\": \"float\"", type,
                                     "\"FillType\": \"Random\",\n       \"FillValue\": 8.0, \"Size\": \"n\"",
                                     cases[k].fill, NULL};
        struct blobs blobs;
        struct program p;
        struct why why = {""};
        struct config c;
        struct spec *s;
        double least = INFINITY, most = -INFINITY;

        snprintf(type, sizeof type, "\"Name\": \"x\", \"Type\": \"%s\"", cases[k].type);
        s = opened(pairs);
        blobs_init(&blobs, 1 << 20);
        assert_int_equal(space_config_parse(spec_space(s), "GROUP=1 PER=1 BUG=0", &c, &why), ERR_OK);
        if (cases[k].words) {
            assert_int_equal(spec_program(s, &c, &p, &blobs, &why), ERR_INPUT);
            if (!strstr(why.text, cases[k].words))
                fail_msg("case %zu: %s", k, why.text);
        } else {
            if (spec_program(s, &c, &p, &blobs, &why))
                fail_msg("case %zu: %s", k, why.text);
            for (int64_t i = 0; i < p.buffers[0].n_elems; i++) {
                const double v = value_at(&blobs, &p.buffers[0], i);

                least = fmin(least, v);
                most = fmax(most, v);
            }
            if (!(least >= cases[k].least && most <= cases[k].most))
                fail_msg("case %zu: %g to %g", k, least, most);
            if (k >= 6 && !(most - least > 0.9 * (cases[k].most - cases[k].least))) /* they fill their range */
                fail_msg("case %zu: only %g to %g", k, least, most);
            program_fini(&p);
        }
        blobs_fini(&blobs);
        spec_free(s);
    }
}

/* Random whole numbers are those from 0 to the fill's value, both of them and all between, and no others: of the types
 * that a buffer has (int32), and of those that it holds as bytes. */
static void random_whole_numbers_are_all_up_to_the_value(void **state)
{
    static const struct {
        const char *type;
        int n_bytes, value;
    } cases[] = {{"int32", 0, 3},  {"int32", 0, -3}, {"int16", 2, 3},
                 {"int16", 2, -3}, {"uint16", 2, 7}, {"int16", 2, 1}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char type[60], fill[80];
        const char *const pairs[] = {"\"Name\": \"x\", \"Type\": \"float\"", type,
                                     "\"FillType\": \"Random\",\n       \"FillValue\": 8.0, \"Size\": \"n\"", fill,
                                     NULL};
        const int step = cases[k].n_bytes ? cases[k].n_bytes : 1;
        int n_seen[8] = {0};
        struct blobs blobs;
        struct program p;
        struct spec *s;

        snprintf(type, sizeof type, "\"Name\": \"x\", \"Type\": \"%s\"", cases[k].type);
        snprintf(fill, sizeof fill, "\"FillType\": \"Random\", \"FillValue\": %d, \"Size\": 400", cases[k].value);
        s = opened(pairs);
        blobs_init(&blobs, 1 << 20);
        p = program_of(s, "GROUP=1 PER=1 BUG=0", &blobs);
        for (int64_t i = 0; i < p.buffers[0].n_elems; i += step) {
            double v = value_at(&blobs, &p.buffers[0], i);

            if (step == 2)
                v = (int16_t)(v + 256 * value_at(&blobs, &p.buffers[0], i + 1));
            v *= cases[k].value < 0 ? -1 : 1;
            if (!(v >= 0 && v <= abs(cases[k].value)))
                fail_msg("case %zu: %g", k, v);
            n_seen[(int)v]++;
        }
        for (int v = 0; v <= abs(cases[k].value); v++)
            if (n_seen[v] == 0)
                fail_msg("case %zu: %d never comes", k, v);
        program_fini(&p);
        blobs_fini(&blobs);
        spec_free(s);
    }
}

static void scalars_have_the_kind_of_their_type(void **state)
{
    static const struct {
        const char *type;
        enum arg_kind kind;
    } cases[] = {{"float", ARG_F32}, {"double", ARG_F64}, {"int32", ARG_I32}, {"uint32", ARG_U32},
                 {"int64", ARG_I64}, {"int", ARG_I32},    {"uint", ARG_U32}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char type[60];
        const char *const pairs[] = {"\"Name\": \"by\", \"Type\": \"float\"", type, NULL};
        struct blobs blobs;
        struct program p;
        struct spec *s;

        snprintf(type, sizeof type, "\"Name\": \"by\", \"Type\": \"%s\"", cases[k].type);
        s = opened(pairs);
        blobs_init(&blobs, 1 << 20);
        p = program_of(s, "GROUP=1 PER=1 BUG=0", &blobs);
        assert_int_equal(p.launches[1].args[2].kind, cases[k].kind);
        assert_true(k < 2 ? p.launches[1].args[2].real == 3 : p.launches[1].args[2].integer == 3);
        program_fini(&p);
        blobs_fini(&blobs);
        spec_free(s);
    }
}

/* max and min of a knob are of all its values; of two numbers they stay what they are. */
static void extremes_of_a_knob_are_those_of_its_list(void **state)
{
    static const struct {
        const char *expression;
        double n_valid; /* of GROUP 1 2 4 8 and PER 1 2 4 */
    } cases[] = {{"GROUP * PER <= max(GROUP)", 9}, {"GROUP > min(GROUP)", 9},
                 {"PER < max( PER )", 8},          {"max(GROUP, PER) <= 2", 4},
                 {"min(GROUP, PER) == 1", 6},      {"GROUP * PER == ProblemSize[0] // 125", 3}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const char *const pairs[] = {"GROUP * PER <= max(GROUP)", cases[k].expression, NULL};
        struct spec *s = opened(pairs);
        bool exact;

        if (space_count_valid(spec_space(s), 1000, &exact) != cases[k].n_valid)
            fail_msg("%s: %g", cases[k].expression, space_count_valid(spec_space(s), 1000, &exact));
        spec_free(s);
    }
}

#define EXPECTED(more)                                                                                                 \
    "\"ReferenceArguments\": [{\"Name\": \"r\", \"TargetName\": \"y\", " more "}], \"Profiling\": false\n  }\n}\n"

static void expected_values_come_with_their_threshold(void **state)
{
    static const char *const pairs[] = {
        "\"ReferenceKernel\": {\"KernelFile\": \"plain.cl\", \"KernelName\": \"plain\", \"GlobalSize\": {\"X\": "
        "\"n\"},\n      \"LocalSize\": {\"X\": 8}}\n  }\n}\n",
        EXPECTED("\"FillType\": \"Generator\", \"DataSource\": \"3 * i\", \"ValidationMethod\": "
                 "\"SideBySideRelativeComparison\", \"ValidationThreshold\": 0.01"),
        NULL};
    struct spec *s = opened(pairs);
    struct blobs blobs;
    struct program p;
    const struct program_check *c;

    (void)state;
    blobs_init(&blobs, 1 << 20);
    p = program_of(s, "GROUP=1 PER=1 BUG=0", &blobs);
    c = &p.passes[0].checks[0];
    assert_true(c->tolerance == 0.01 && c->relative == RELATIVE_EACH);
    assert_true(value_at(&blobs, &p.buffers[c->i_reference], 999) == 2997);
    assert_int_equal(p.n_launches, 1);
    program_fini(&p);
    blobs_fini(&blobs);
    spec_free(s);
}

/* A threshold that is not named is 1e-4; none at all is equality, relative to nothing. */
static void thresholds_have_their_defaults(void **state)
{
    static const struct {
        const char *words;
        double tolerance;
        enum check_relative relative;
    } cases[] = {{"\"ValidationMethod\": \"SideBySideComparison\"", 1e-4, RELATIVE_NO},
                 {"\"ValidationMethod\": \"SideBySideRelativeComparison\"", 1e-4, RELATIVE_EACH},
                 {"\"ValidationMethod\": \"SideBySideRelativeComparison\", \"ValidationThreshold\": 0", 0, RELATIVE_NO},
                 {"\"ValidationThreshold\": 0.5", 0.5, RELATIVE_NO}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char with[400];
        const char *const pairs[] = {
            "\"ReferenceKernel\": {\"KernelFile\": \"plain.cl\", \"KernelName\": \"plain\", \"GlobalSize\": {\"X\": "
            "\"n\"},\n      \"LocalSize\": {\"X\": 8}}\n  }\n}\n",
            with, NULL};
        struct blobs blobs;
        struct program p;
        struct spec *s;

        snprintf(with, sizeof with, EXPECTED("\"FillType\": \"Constant\", \"FillValue\": 1, %s"), cases[k].words);
        s = opened(pairs);
        blobs_init(&blobs, 1 << 20);
        p = program_of(s, "GROUP=1 PER=1 BUG=0", &blobs);
        if (p.passes[0].checks[0].tolerance != cases[k].tolerance ||
            p.passes[0].checks[0].relative != cases[k].relative)
            fail_msg("%s: %g, %d", cases[k].words, p.passes[0].checks[0].tolerance, p.passes[0].checks[0].relative);
        program_fini(&p);
        blobs_fini(&blobs);
        spec_free(s);
    }
}

static void a_job_without_a_reference_is_not_checked(void **state)
{
    static const char *const pairs[] = {"\"ReferenceKernel\"", "\"Misc\"", NULL};
    struct spec *s = opened(pairs);
    struct blobs blobs;
    struct program p;

    (void)state;
    assert_false(spec_is_checked(s));
    blobs_init(&blobs, 1 << 20);
    p = program_of(s, "GROUP=1 PER=1 BUG=0", &blobs);
    assert_int_equal(p.n_passes, 1); /* for the fences */
    assert_int_equal(p.passes[0].n_checks, 0);
    assert_false(program_is_checked(&p));
    program_fini(&p);
    blobs_fini(&blobs);
    spec_free(s);
}

static void the_version_follows_the_kernel_not_the_space(void **state)
{
    static const char *const wider[] = {"range(0, 4)", "range(0, 5)", NULL}, *const other[] = {"3.0}", "4.0}", NULL};
    struct spec *a = opened(NULL), *b = opened(wider), *c = opened(other);

    (void)state;
    assert_int_equal(spec_version(a), spec_version(b));
    assert_int_not_equal(spec_version(a), spec_version(c));
    spec_free(a);
    spec_free(b);
    spec_free(c);
}

static void a_budget_is_read(void **state)
{
    static const char *const pairs[] = {"{\n  \"Conf",
                                        "{\"Budget\": [{\"Type\": \"ConfigurationCount\", \"BudgetValue\": 7}, "
                                        "{\"Type\": \"TuningDuration\", \"BudgetValue\": 9.5}], \"Search\": {},\n  "
                                        "\"Conf",
                                        NULL};
    struct spec *s = opened(pairs);

    (void)state;
    assert_true(spec_budget(s).trials == 7 && spec_budget(s).time_s == 9.5 && spec_budget(s).fraction == 0);
    assert_non_null(strstr(spec_notes(s), "Search is not used"));
    spec_free(s);
}

/* Nobody sees what it held. */
static void what_is_only_written_needs_no_value(void **state)
{
    static const char *const pairs[] = {"\"FillType\": \"Constant\",\n       \"FillValue\": 0.0, ", "", NULL};
    struct spec *s = opened(pairs);

    (void)state;
    spec_free(s);
    refuses("\"WriteOnly\", \"FillType\": \"Constant\",\n       \"FillValue\": 0.0", "\"ReadWrite\"",
            "Arguments[1].FillValue: expected a number, that of each element, or another FillType");
}

static void bad_jobs_are_refused_by_member(void **state)
{
    (void)state;
    refuses("\"KernelName\": \"scale\"", "\"KernelName\": 7", "KernelSpecification.KernelName: expected text");
    refuses("\"KernelSpecification\"", "\"Kernels\"", "no KernelSpecification");
    refuses("\"TuningParameters\"", "\"_TuningParameters\"", "TuningParameters: expected an array");
    refuses("\"Language\": \"OpenCL\"", "\"Language\": \"Vulkan\"", "Language: 'Vulkan' is not supported");
    refuses("\"KernelFile\": \"scale.cl\"", "\"KernelFile\": \"nothing.cl\"", "KernelFile: ");
    refuses("\"KernelFile\": \"scale.cl\"", "\"KernelFile\": \"/dev/zero\"", "expected a regular file");
    refuses("[\"-cl-mad-enable\"]", "[\"-D X=`id`\"]", "CompilerOptions");
    refuses("\"LocalSize\": {\"X\": \"GROUP\"}", "\"LocalSize\": {\"X\": \"GROUPS\"}",
            "LocalSize.X: 'GROUPS': unknown name 'GROUPS'");
    refuses("\"LocalSize\": {\"X\": \"GROUP\"}", "\"LocalSize\": [4]", "LocalSize: expected an object");
    refuses("\"ProblemSize[0] / PER\"", "\"ProblemSize[1] / PER\"", "one of its 1 sizes");
    refuses("\"Type\": \"float\", \"MemoryType\": \"Scalar\"", "\"Type\": \"half2\", \"MemoryType\": \"Scalar\"",
            "Arguments[2].Type: a scalar of type half2");
    refuses("\"Type\": \"float\", \"MemoryType\": \"Scalar\"", "\"Type\": \"float3\", \"MemoryType\": \"Scalar\"",
            "'float3' is not supported");
    refuses("\"MemoryType\": \"Scalar\", \"FillValue\": 3.0", "\"MemoryType\": \"Symbol\"", "Symbol is CUDA's");
    refuses("\"MemoryType\": \"Scalar\", \"FillValue\": 3.0", "\"MemoryType\": \"Scalar\"", "Arguments[2].FillValue");
    refuses("\"FillType\": \"Random\"", "\"FillType\": \"Script\"", "Script is not supported");
    refuses("\"FillType\": \"Random\"", "\"FillType\": \"Rnd\"", "expected one of Constant, Random");
    refuses("\"FillType\": \"Random\",\n       \"FillValue\": 8.0", "\"FillType\": \"Constant\"",
            "Arguments[0].FillValue: expected a number, that of each element, or another FillType");
    refuses("\"FillType\": \"Random\"", "\"FillType\": \"Generator\", \"DataSource\": \"2 * j\"",
            "Arguments[0].DataSource: '2 * j': unknown name 'j'");
    refuses("\"FillType\": \"Random\"", "\"FillType\": \"BinaryRaw\", \"DataSource\": \"scale.cl\"",
            "elements of float are 4000");
    refuses("\"Name\": \"y\"", "\"Name\": \"x\"", "'x' is the name of two arguments");
    refuses("\"KernelName\": \"plain\"", "\"Configuration\": {\"WIDTH\": 1}", "'WIDTH' is none");
    refuses("\"KernelName\": \"plain\"", "\"Configuration\": {\"PER\": 3}", "ReferenceKernel.Configuration");
    refuses("\"KernelName\": \"plain\"", "\"ValidationMethod\": \"AbsoluteDifference\"", "is not supported");
    refuses("\"Values\": [1, 2, 4]", "\"Values\": \"[1, 2, 2]\"", "PER");
    refuses("\"Values\": [1, 2, 4]", "\"Values\": \"[1, 'two']\"", "only numbers, or only words");
    refuses("\"Name\": \"PER\"", "\"Name\": \"P.R\"", "'P.R' is no name");
    refuses("\"FillValue\": 8.0, \"Size\": \"n\"", "\"FillValue\": 8.0, \"Size\": 1e18",
            "Arguments[0].Size is 1e+18: expected a whole number from 1 to 2147483648");
    refuses("\"FillValue\": 8.0, \"Size\": \"n\"", "\"FillValue\": 8.0, \"Size\": \"n / 3\"",
            "Arguments[0].Size is 333.3");
    refuses("  \"KernelSpecification\"", "  \"KernelSpecification\" 7", "not JSON at line 10, column");
}

static void hostile_expressions_are_refused(void **state)
{
    static const char expression[] = "GROUP * PER <= max(GROUP)";
    char deep[400] = "", huge[9000], list[200] = "\"Values\": \"";

    (void)state;
    refuses(expression, "__import__('os').system('id')", "Conditions[0].Expression: ");
    refuses(expression, "GROUP ** 999999999 > 1", "expected an operator or the end");
    refuses(expression, "[x for x in range(9)]", "expected a number, a word, a name");
    refuses(expression, "exec(GROUP)", "no function 'exec'");
    refuses(expression, "max(WIDTH) > 1", "unknown name 'WIDTH'");
    memset(deep, '(', 100);
    refuses(expression, deep, "nested deeper than 64");
    memset(huge, '1', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    refuses(expression, huge, "more than 4096 bytes");
    refuses("\"Values\": [1, 2, 4]", "\"Values\": \"[9**9**9]\"", "beyond 2^53");
    refuses("\"Values\": [1, 2, 4]", "\"Values\": \"range(0, 10**9)\"", "more than 4096 values");
    refuses("\"Values\": [1, 2, 4]", "\"Values\": \"[i for i in open('x')]\"", "expected '[', range(..) or list(..)");
    refuses("\"Values\": [1, 2, 4]", "\"Values\": \"range(1, 9, 0)\"", "not 0");
    memset(list + strlen(list), '[', 60);
    strcat(list, "\"");
    refuses("\"Values\": [1, 2, 4]", list, "");
}

static void cyclic_references_are_refused(void **state)
{
    (void)state;
    refuses("\"FillValue\": \"ProblemSize[0]\"", "\"FillValue\": \"n + 1\"", "a cyclic reference");
    refuses("\"ProblemSize\": [1000]", "\"ProblemSize\": [\"n\"]", "a cyclic reference");
    refuses("\"ProblemSize\": [1000]", "\"ProblemSize\": [\"ProblemSize[0]\"]", "a cyclic reference");
    refuses("\"ProblemSize\": [1000]", "\"ProblemSize\": [\"GROUP * 100\"]", "cannot depend on a tuning parameter");
}

static void huge_lists_are_refused(void **state)
{
    struct buf list;

    (void)state;
    buf_init(&list, 1 << 20);
    buf_puts(&list, "\"Arguments\": [");
    for (int i = 0; i < 40; i++)
        buf_printf(&list, "{\"Name\": \"a%d\", \"Type\": \"int32\", \"MemoryType\": \"Scalar\", \"FillValue\": 1},", i);
    refuses("\"Arguments\": [", buf_text(&list), "more than 32");
    buf_clear(&list);
    for (int i = 0; i < 60; i++)
        buf_printf(&list, "{\"Name\": \"K%d\", \"Type\": \"int\", \"Values\": \"[1]\"},", i);
    buf_puts(&list, "{\"Name\": \"PER\"");
    refuses("{\"Name\": \"PER\"", buf_text(&list), "48");
    buf_fini(&list);
}

static void sizes_that_are_none_are_told_by_config(void **state)
{
    static const char *const pairs[] = {"\"LocalSize\": {\"X\": \"GROUP\"}", "\"LocalSize\": {\"X\": \"GROUP / PER\"}",
                                        NULL};
    struct spec *s = opened(pairs);
    struct blobs blobs;
    struct program p;
    struct config c;
    struct why why = {""};

    (void)state;
    blobs_init(&blobs, 1 << 20);
    assert_int_equal(space_config_parse(spec_space(s), "GROUP=1 PER=2 BUG=0", &c, &why), ERR_OK);
    assert_int_equal(spec_program(s, &c, &p, &blobs, &why), ERR_LIMIT);
    assert_non_null(strstr(why.text, "LocalSize.X is 0.5"));
    blobs_fini(&blobs);
    spec_free(s);
}

static void a_cuda_kernel_gets_its_plain_name(void **state)
{
    static const char *const pairs[] = {"\"Language\": \"OpenCL\"",
                                        "\"Language\": \"CUDA\"",
                                        "\"KernelFile\": \"scale.cl\"",
                                        "\"KernelFile\": \"scale.cu\"",
                                        "\"KernelFile\": \"plain.cl\", \"KernelName\": \"plain\"",
                                        "\"KernelName\": \"scale\"",
                                        NULL};
    static const char text[] = "__device__ int helper(int scale) { return scale; }\n__global__ void\n"
                               "__launch_bounds__(64) scale (const float *x, float *y, float by, int n) {}\n";
    struct spec *s;
    struct blobs blobs;
    struct program p;
    char path[512];
    const struct blob *b;

    (void)state;
    snprintf(path, sizeof path, "%s/scale.cu", dir);
    file_replace(path, text, strlen(text), 0644, NULL);
    s = opened(pairs);
    blobs_init(&blobs, 1 << 20);
    p = program_of(s, "GROUP=1 PER=1 BUG=0", &blobs);
    b = blobs_get(&blobs, p.modules[0].source.hex);
    assert_non_null(memmem(b->data, b->n_bytes, "extern \"C\" __global__ void\n__launch_bounds__(64) scale", 50));
    assert_int_equal(p.modules[0].lang, LANG_CUDA_C);
    assert_string_equal(p.api, "cuda");
    assert_int_equal(p.launches[1].grid[0], 1000); /* of CUDA, GlobalSize counts groups */
    program_fini(&p);
    blobs_fini(&blobs);
    spec_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_file_makes_a_space_and_a_workload),
        cmocka_unit_test(a_config_makes_a_program),
        cmocka_unit_test(grid_divisors_stand_over_a_global_size),
        cmocka_unit_test(groups_are_as_many_as_hold_all_work_items),
        cmocka_unit_test(access_says_what_a_buffer_is),
        cmocka_unit_test(fills_are_what_the_file_says),
        cmocka_unit_test(element_types_without_a_dtype_are_bytes),
        cmocka_unit_test(values_lie_where_their_type_and_fill_say),
        cmocka_unit_test(random_whole_numbers_are_all_up_to_the_value),
        cmocka_unit_test(scalars_have_the_kind_of_their_type),
        cmocka_unit_test(extremes_of_a_knob_are_those_of_its_list),
        cmocka_unit_test(thresholds_have_their_defaults),
        cmocka_unit_test(expected_values_come_with_their_threshold),
        cmocka_unit_test(a_job_without_a_reference_is_not_checked),
        cmocka_unit_test(the_version_follows_the_kernel_not_the_space),
        cmocka_unit_test(a_budget_is_read),
        cmocka_unit_test(bad_jobs_are_refused_by_member),
        cmocka_unit_test(what_is_only_written_needs_no_value),
        cmocka_unit_test(hostile_expressions_are_refused),
        cmocka_unit_test(cyclic_references_are_refused),
        cmocka_unit_test(huge_lists_are_refused),
        cmocka_unit_test(sizes_that_are_none_are_told_by_config),
        cmocka_unit_test(a_cuda_kernel_gets_its_plain_name),
    };
    int failed;

    if (dir_temporary("tune-test", dir, sizeof dir, NULL))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    dir_remove(dir);
    return failed;
}
