/* SPDX-License-Identifier: MIT */
/* Checks of a pass on a device that is none: its runs put what the test gives into the output. */
#include "runtime/verify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { Y, REF, W, N_BUFFERS }; /* the program's buffers; W is packed into itself */

struct loaded {
    const struct program *p;
    void *data[N_BUFFERS];
    const void *makes[N_BUFFERS]; /* what a run (y), a reference (ref) or packing (w) leaves there; NULL = nothing */
    char phases[32];              /* of the runs so far, a letter each */
    size_t n_phases;
    bool fails; /* the run */
};

static size_t bytes_of(const struct loaded *l, int i)
{
    return (size_t)l->p->buffers[i].n_elems * dtype_bytes(l->p->buffers[i].dtype);
}

static enum err put(struct loaded *l, int i_buffer, const void *data, struct why *why)
{
    (void)why;
    memcpy(l->data[i_buffer], data, bytes_of(l, i_buffer));
    return ERR_OK;
}

static enum err get(struct loaded *l, int i_buffer, void *data, struct why *why)
{
    (void)why;
    memcpy(data, l->data[i_buffer], bytes_of(l, i_buffer));
    return ERR_OK;
}

static enum err run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns, struct why *why)
{
    static const int writes[N_PHASES] = {[PHASE_PACK] = W, [PHASE_RUN] = Y, [PHASE_REFERENCE] = REF};
    const int i = writes[phase];

    assert_true(l->n_phases < sizeof l->phases - 1);
    l->phases[l->n_phases++] = phase == PHASE_PACK ? 'p' : phase == PHASE_RUN ? 'r' : 'f';
    if (device_ns)
        *device_ns = 1;
    if (wall_ns)
        *wall_ns = 10;
    if (phase == PHASE_RUN && l->fails)
        return why_set(why, ERR_DEVICE, "it broke");
    if (l->makes[i])
        memcpy(l->data[i], l->makes[i], bytes_of(l, i));
    return ERR_OK;
}

static const struct device_ops ops = {.name = "none", .run = run, .write = put, .read = get};

struct fixture {
    struct program p;
    struct blobs blobs;
    struct loaded l;
    struct program_pass *pass;
};

static void begin(struct fixture *f, enum dtype t, int64_t n)
{
    *f = (struct fixture){.l = {.p = &f->p}};
    program_init(&f->p);
    blobs_init(&f->blobs, 1 << 20);
    (void)program_add_buffer(&f->p, "y", ROLE_OUTPUT, t, n);
    (void)program_add_buffer(&f->p, "ref", ROLE_SCRATCH, t, n);
    program_add_buffer(&f->p, "w", ROLE_PACKED, DTYPE_I32, 2)->fill =
        (struct program_fill){.kind = FILL_VALUE, .lo = 3};
    for (int i = 0; i < N_BUFFERS; i++)
        f->l.data[i] = calloc(1, bytes_of(&f->l, i));
    f->pass = program_add_pass(&f->p, "exact");
}

static void end(struct fixture *f)
{
    for (int i = 0; i < N_BUFFERS; i++)
        free(f->l.data[i]);
    program_fini(&f->p);
    blobs_fini(&f->blobs);
}

static struct sha256 blob(struct fixture *f, const void *data, size_t n_bytes)
{
    struct sha256 name;

    assert_int_equal(blobs_put(&f->blobs, data, n_bytes, &name), ERR_OK);
    return name;
}

/* The verdict on the pass, which goes behind. */
static enum err verdict(struct fixture *f, const void *y, struct verify_report *report, struct why *why)
{
    f->l.makes[Y] = y;
    memset(f->l.phases, 0, sizeof f->l.phases);
    f->l.n_phases = 0;
    why->text[0] = '\0';
    return verify_before(&ops, &f->l, &f->p, &f->blobs, 0, report, why);
}

/* ---- samples ---- */

static void samples_are_compared_at_their_places(void **state)
{
    static const uint64_t places[3] = {4, 0, 2};
    static const double values[3] = {40, 0.5, 20};
    static const float right[5] = {0.5f, 7, 20, 7, 40};
    struct verify_report report;
    struct why why;
    struct fixture f;
    struct program_check *c;

    (void)state;
    begin(&f, DTYPE_F32, 5);
    c = program_pass_check_add(f.pass, CHECK_SAMPLE, Y);
    c->n = 3;
    c->indices = blob(&f, places, sizeof places);
    c->values = blob(&f, values, sizeof values);
    assert_int_equal(verdict(&f, right, &report, &why), ERR_OK);
    assert_int_equal(report.n_compared, 3);
    for (int i = 0; i < 5; i++) {
        float wrong[5];
        const bool sampled = i % 2 == 0;

        memcpy(wrong, right, sizeof wrong);
        wrong[i] += 1;
        assert_int_equal(verdict(&f, wrong, &report, &why), sampled ? ERR_WRONG : ERR_OK);
        assert_int_equal(report.n_wrong, sampled);
        if (sampled)
            assert_int_equal(report.i_elem, i);
    }
    end(&f);
}

/* |got - wanted| <= tolerance * scale, exactly at the edge too. */
static void tolerances_are_scaled_for_each_sample(void **state)
{
    static const double values[2] = {8, 8}, scale[2] = {1, 4};
    static const struct {
        float y[2];
        int n_wrong, i_worst;
        double worst;
    } cases[] = {{{8, 8}, 0, -1, 0},           {{8.25f, 9}, 0, 0, 0.25}, {{8.5f, 8}, 1, 0, 0.5},
                 {{8, 9.5f}, 1, 1, 0.375},     {{7.75f, 7}, 0, 0, 0.25}, {{7.5f, 6}, 2, 0, 0.5},
                 {{8.125f, 6.5f}, 1, 1, 0.375}};
    struct fixture f;
    struct program_check *c;

    (void)state;
    begin(&f, DTYPE_F32, 2);
    c = program_pass_check_add(f.pass, CHECK_SAMPLE, Y);
    c->n = 2;
    c->tolerance = 0.25;
    c->values = blob(&f, values, sizeof values);
    c->scale = blob(&f, scale, sizeof scale);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct verify_report report;
        struct why why;

        assert_int_equal(verdict(&f, cases[i].y, &report, &why), cases[i].n_wrong ? ERR_WRONG : ERR_OK);
        assert_int_equal(report.n_wrong, cases[i].n_wrong);
        assert_true(report.worst == cases[i].worst);
        if (cases[i].i_worst >= 0)
            assert_int_equal(report.i_elem, cases[i].i_worst);
    }
    end(&f);
}

static void no_number_is_never_right(void **state)
{
    static const double values[1] = {1};
    const float y = NAN, inf = INFINITY;
    struct verify_report report;
    struct why why;
    struct fixture f;
    struct program_check *c;

    (void)state;
    begin(&f, DTYPE_F32, 1);
    c = program_pass_check_add(f.pass, CHECK_SAMPLE, Y);
    c->n = 1;
    c->tolerance = 1e30;
    c->values = blob(&f, values, sizeof values);
    assert_int_equal(verdict(&f, &y, &report, &why), ERR_WRONG);
    assert_true(isinf(report.worst));
    assert_int_equal(verdict(&f, &inf, &report, &why), ERR_WRONG);
    end(&f);
}

/* What is expected next to the largest half or beyond it may be infinite, as far as the tolerance goes. */
static void infinite_is_right_where_the_type_ends(void **state)
{
    static const struct {
        double wanted;
        bool right, minus_right;
    } cases[] = {
        {67960.5, true, false}, {65400, true, false}, {-65400, false, true}, {65300, false, false}, {0, false, false}};
    const uint16_t inf = half_from_float(INFINITY), minus_inf = half_from_float(-INFINITY);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct verify_report report;
        struct why why;
        struct fixture f;
        struct program_check *c;

        begin(&f, DTYPE_F16, 1);
        c = program_pass_check_add(f.pass, CHECK_SAMPLE, Y);
        c->n = 1;
        c->tolerance = 200;
        c->values = blob(&f, &cases[i].wanted, sizeof cases[i].wanted);
        assert_int_equal(verdict(&f, &inf, &report, &why), cases[i].right ? ERR_OK : ERR_WRONG);
        assert_int_equal(verdict(&f, &minus_inf, &report, &why), cases[i].minus_right ? ERR_OK : ERR_WRONG);
        end(&f);
    }
}

/* Without a tolerance what counts is what the type would hold: a third in halves. */
static void exact_values_are_those_of_the_type(void **state)
{
    static const double values[1] = {1.0 / 3};
    const uint16_t right = half_from_float(1.0f / 3), wrong = right + 1;
    struct verify_report report;
    struct why why;
    struct fixture f;
    struct program_check *c;

    (void)state;
    begin(&f, DTYPE_F16, 1);
    c = program_pass_check_add(f.pass, CHECK_SAMPLE, Y);
    c->n = 1;
    c->values = blob(&f, values, sizeof values);
    assert_int_equal(verdict(&f, &right, &report, &why), ERR_OK);
    assert_int_equal(verdict(&f, &wrong, &report, &why), ERR_WRONG);
    end(&f);
}

static void what_is_not_written_is_wrong(void **state)
{
    static const double values[2] = {0, -1};
    struct verify_report report;
    struct why why;
    struct fixture f;
    struct program_check *c;

    (void)state;
    begin(&f, DTYPE_F32, 2);
    c = program_pass_check_add(f.pass, CHECK_SAMPLE, Y);
    c->n = 1;
    c->values = blob(&f, values, sizeof values[0]);
    assert_int_equal(verdict(&f, NULL, &report, &why), ERR_WRONG); /* y was made NaN before the run */
    end(&f);
}

static void bad_blobs_of_a_check_are_named(void **state)
{
    static const double values[2] = {0, 0};
    static const uint64_t places[1] = {2};
    static const float y[2] = {0, 0};
    struct verify_report report;
    struct why why;
    struct fixture f;
    struct program_check *c;

    (void)state;
    begin(&f, DTYPE_F32, 2);
    c = program_pass_check_add(f.pass, CHECK_SAMPLE, Y);
    c->n = 1;
    c->values = blob(&f, values, sizeof values); /* one too many */
    assert_int_equal(verdict(&f, y, &report, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "has 16 bytes, expected 8"));
    c->values = sha256_of("none", 4);
    assert_int_equal(verdict(&f, y, &report, &why), ERR_NOT_FOUND);
    c->values = blob(&f, values, 8);
    c->indices = blob(&f, places, sizeof places); /* the element behind the last */
    assert_int_equal(verdict(&f, y, &report, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "element 2 of y, which has 2"));
    end(&f);
}

/* ---- sums ---- */

enum { OUTER = 2, AXIS = 3, INNER = 2, LANES = 2, N_SUMMED = OUTER * AXIS * INNER * LANES };

/* The weighted sums of y[outer][axis][inner][lanes] by the definition. */
static void sum_up(const float *y, int lanes, double out[OUTER * INNER])
{
    memset(out, 0, OUTER * INNER * sizeof *out);
    for (int o = 0; o < OUTER; o++)
        for (int a = 0; a < AXIS; a++)
            for (int k = 0; k < INNER; k++)
                for (int l = 0; l < lanes; l++)
                    out[o * INNER + k] +=
                        program_project_weight(5, a * lanes + l) * (double)y[((o * AXIS + a) * INNER + k) * lanes + l];
}

static void sums_cover_every_element(void **state)
{
    (void)state;
    for (int lanes = 1; lanes <= LANES; lanes++) {
        const int n = OUTER * AXIS * INNER * lanes;
        float y[N_SUMMED];
        double sums[OUTER * INNER];
        struct verify_report report;
        struct why why;
        struct fixture f;
        struct program_check *c;

        for (int i = 0; i < n; i++)
            y[i] = (float)(i * i % 17 - 5);
        sum_up(y, lanes, sums);
        begin(&f, DTYPE_F32, n);
        c = program_pass_check_add(f.pass, CHECK_PROJECT, Y);
        c->outer = OUTER;
        c->axis = AXIS;
        c->inner = INNER;
        c->lanes = lanes == 1 ? 0 : lanes;
        c->seed = 5;
        c->values = blob(&f, sums, sizeof sums);
        assert_int_equal(verdict(&f, y, &report, &why), ERR_OK);
        assert_int_equal(report.n_compared, OUTER * INNER);
        for (int i = 0; i < n; i++) {
            const int first = i / (AXIS * INNER * lanes) * AXIS * INNER * lanes + i / lanes % INNER * lanes;
            float wrong[N_SUMMED];

            memcpy(wrong, y, sizeof wrong);
            wrong[i] += 1;
            assert_int_equal(verdict(&f, wrong, &report, &why), ERR_WRONG);
            assert_int_equal(report.i_elem, first); /* where its sum begins */
            assert_non_null(strstr(why.text, "the weighted sum from y["));
            wrong[i] = NAN;
            assert_int_equal(verdict(&f, wrong, &report, &why), ERR_WRONG);
            assert_int_equal(report.i_elem, i); /* itself */
            assert_non_null(strstr(why.text, "expected a number"));
        }
        end(&f);
    }
}

/* ---- references ---- */

static void references_scale_by_nothing_each_or_the_peak(void **state)
{
    static const float ref[4] = {1000, -10, 0, 0.001f};
    static const struct {
        enum check_relative relative;
        int i;
        double most; /* difference that is still right, with a tolerance of 1/64 */
    } cases[] = {{RELATIVE_NO, 0, 0.015625},         {RELATIVE_NO, 2, 0.015625},
                 {RELATIVE_EACH, 0, 15.625},         {RELATIVE_EACH, 1, 0.15625},
                 {RELATIVE_EACH, 2, 0.1 * 0.015625}, {RELATIVE_EACH, 3, 0.1 * 0.015625}, /* 1e-4 of the peak */
                 {RELATIVE_PEAK, 0, 15.625},         {RELATIVE_PEAK, 2, 15.625}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int over = 0; over < 2; over++) {
            float y[4];
            struct verify_report report;
            struct why why;
            struct fixture f;
            struct program_check *c;

            begin(&f, DTYPE_F32, 4);
            c = program_pass_check_add(f.pass, CHECK_BUFFER, Y);
            c->i_reference = REF;
            c->tolerance = 0.015625;
            c->relative = cases[i].relative;
            f.l.makes[REF] = ref;
            memcpy(y, ref, sizeof y);
            y[cases[i].i] += (float)(cases[i].most * (over ? 1.01 : 0.99));
            if (verdict(&f, y, &report, &why) != (over ? ERR_WRONG : ERR_OK))
                fail_msg("case %zu, %s: '%s'", i, over ? "over" : "below", why.text);
            assert_int_equal(report.n_compared, 4);
            if (over)
                assert_int_equal(report.i_elem, cases[i].i);
            end(&f);
        }
}

/* ---- passes ---- */

static void a_pass_packs_makes_the_reference_runs_and_times(void **state)
{
    static const int32_t packed[2] = {8, 9};
    static const float y[1] = {2};
    static const double values[1] = {2};
    struct verify_report report;
    struct why why;
    struct fixture f;
    struct program_check *c;

    (void)state;
    begin(&f, DTYPE_F32, 1);
    c = program_pass_check_add(f.pass, CHECK_SAMPLE, Y);
    c->n = 1;
    c->values = blob(&f, values, sizeof values);
    f.l.makes[W] = packed;
    assert_int_equal(verdict(&f, y, &report, &why), ERR_OK);
    assert_true(strchr(f.l.phases, 'p') && strchr(f.l.phases, 'f') && strchr(f.l.phases, 'r'));
    assert_true(strchr(f.l.phases, 'p') < strchr(f.l.phases, 'r'));
    assert_true(strchr(f.l.phases, 'f') < strchr(f.l.phases, 'r'));
    assert_true(report.run_ns >= 30);
    f.l.fails = true;
    assert_int_equal(verdict(&f, y, &report, &why), ERR_DEVICE);
    assert_string_equal(why.text, "it broke");
    end(&f);
}

/* A pass that does not name a buffer fills it as for timing; behind all passes the timing fills are back. */
static void fills_are_those_of_the_pass_and_then_of_timing(void **state)
{
    static const float y[1] = {2};
    static const double values[1] = {2};
    const struct program_fill other = {.kind = FILL_VALUE, .lo = 50};
    struct verify_report report;
    struct why why = {""};
    struct fixture f;
    struct program_check *c;

    (void)state;
    begin(&f, DTYPE_F32, 1);
    assert_int_equal(verdict(&f, y, &report, &why), ERR_OK);
    assert_int_equal(((const int32_t *)f.l.data[W])[1], 3);
    assert_int_equal(program_pass_fill_add(f.pass, W, &other), ERR_OK);
    assert_int_equal(verdict(&f, y, &report, &why), ERR_OK);
    assert_int_equal(((const int32_t *)f.l.data[W])[1], 50);
    c = program_pass_check_add(f.pass, CHECK_SAMPLE, Y);
    c->n = 1;
    c->values = blob(&f, values, sizeof values);
    assert_int_equal(verify_program(&ops, &f.l, &f.p, &f.blobs, &report, &why), ERR_OK);
    assert_int_equal(((const int32_t *)f.l.data[W])[1], 3);
    assert_int_equal(f.l.phases[strlen(f.l.phases) - 1], 'p');
    end(&f);
}

static void every_pass_counts(void **state)
{
    static const float y[1] = {2};
    static const double right[1] = {2}, wrong[1] = {3};

    (void)state;
    for (int i_wrong = 0; i_wrong < 3; i_wrong++) {
        struct verify_report report;
        struct why why = {""};
        struct fixture f;

        begin(&f, DTYPE_F32, 1);
        f.l.makes[Y] = y;
        (void)program_add_pass(&f.p, "random");
        for (int i = 0; i < 2; i++) {
            struct program_check *c = program_pass_check_add(&f.p.passes[i], CHECK_SAMPLE, Y);

            c->n = 1;
            c->values = blob(&f, i == i_wrong ? wrong : right, sizeof right);
        }
        assert_int_equal(verify_program(&ops, &f.l, &f.p, &f.blobs, &report, &why), i_wrong < 2 ? ERR_WRONG : ERR_OK);
        if (i_wrong < 2)
            assert_string_equal(report.pass, i_wrong ? "random" : "exact");
        end(&f);
    }
}

/* Runs of a kernel that keeps what looks done already: found over old results, not where poison lies. */
static enum err keep_what_is_small(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns,
                                   struct why *why)
{
    float *y = l->data[Y];

    if (phase != PHASE_RUN || !(fabsf(y[0]) < 1000))
        return run(l, phase, device_ns, wall_ns, why);
    return run(l, PHASE_REFERENCE, device_ns, wall_ns, why);
}

/* A sheet's second pass, behind timing. */
static void old_results_are_no_new_ones(void **state)
{
    static const float y[1] = {2};
    static const double values[1] = {2};
    const struct device_ops keeping = {.name = "none", .run = keep_what_is_small, .write = put, .read = get};
    struct verify_report report;
    struct why why = {""};
    struct fixture f;

    (void)state;
    begin(&f, DTYPE_F32, 1);
    (void)program_add_pass(&f.p, "wide");
    f.p.n_sheet = 2;
    f.l.makes[Y] = y;
    for (int i = 0; i < 2; i++) {
        struct program_check *c = program_pass_check_add(&f.p.passes[i], CHECK_SAMPLE, Y);

        c->n = 1;
        c->values = blob(&f, values, sizeof values);
    }
    for (int i = 0; i < 2; i++) {
        const struct device_ops *of = i ? &keeping : &ops;

        assert_int_equal(verify_before(of, &f.l, &f.p, &f.blobs, 0, &report, &why), ERR_OK);
        ((float *)f.l.data[Y])[0] = 3; /* of other inputs */
        assert_int_equal(verify_behind(of, &f.l, &f.p, &f.blobs, 0, &report, &why), i ? ERR_WRONG : ERR_OK);
    }
    assert_true(report.got == 3 && report.wanted == 2);
    end(&f);
}

/* Runs of a kernel whose result is what it was given, but for places that look done where it `fails`. Keeps count of
 * what it was given. */
static struct {
    int32_t given[16];
    int n;
} ran;

static enum err keep_or_copy(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns,
                             struct why *why)
{
    float *y = l->data[Y];
    const int32_t given = ((const int32_t *)l->data[W])[0];

    if (phase == PHASE_RUN)
        ran.given[ran.n++] = given;
    if (phase == PHASE_RUN && !(fabsf(y[0]) < 1000 && l->fails))
        y[0] = (float)given;
    if (wall_ns)
        *wall_ns = 1;
    (void)device_ns;
    (void)why;
    return ERR_OK;
}

/* A pass in which w is `value`, and y has to be; 3 is the program's own. */
static void add_pass(struct fixture *f, const char *id, double value)
{
    const struct program_fill fill = {.kind = FILL_VALUE, .lo = value};
    struct program_pass *pass = program_add_pass(&f->p, id);
    struct program_check *c = program_pass_check_add(pass, CHECK_SAMPLE, Y);

    c->n = 1;
    c->values = blob(f, &value, sizeof value);
    if (value != 3)
        assert_int_equal(program_pass_fill_add(pass, W, &fill), ERR_OK);
}

/* Before timing, the timed call, and what is behind it over what that left; a kernel that keeps what looks like results
 * shows behind it, and only there. Without a sheet the last pass of other data comes again; with one its first is
 * before, in place of all the program's, and the others behind. What the timed call wrote is compared as well. */
static void the_order_is_before_timed_and_behind(void **state)
{
    static const struct {
        const char *name;
        int n_own, n_sheet;
        double values[5];
        int n_runs;
        int32_t given[5];
        bool shows;
    } cases[] = {
        {"nothing but timing's data", 1, 0, {3}, 2, {3, 3}, false},
        {"one pass", 1, 0, {8}, 3, {8, 3, 8}, true},
        {"own ones", 3, 0, {8, 3, 5000}, 5, {8, 3, 5000, 3, 5000}, true},
        {"a sheet of one", 2, 1, {8, 3, 9}, 2, {9, 3}, false},
        {"a sheet", 2, 3, {8, 3, 9, 10, 5000}, 4, {9, 3, 10, 5000}, true},
    };
    const struct device_ops copying = {.name = "none", .run = keep_or_copy, .write = put, .read = get};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int keeps = 0; keeps < 2; keeps++) {
            const int n = cases[i].n_own + cases[i].n_sheet;
            struct verify_report report;
            struct why why = {""};
            struct fixture f;
            enum err e;

            begin(&f, DTYPE_F32, 1);
            program_drop_passes(&f.p);
            for (int k = 0; k < n; k++)
                add_pass(&f, "some", cases[i].values[k]);
            f.p.n_sheet = (size_t)cases[i].n_sheet;
            f.l.fails = keeps;
            ran.n = 0;
            e = verify_program(&copying, &f.l, &f.p, &f.blobs, &report, &why);
            if (e != (keeps && cases[i].shows ? ERR_WRONG : ERR_OK))
                fail_msg("%s, %s: %s", cases[i].name, keeps ? "keeps results" : "right", why.text);
            if (!keeps)
                assert_int_equal(ran.n, cases[i].n_runs);
            for (int k = 0; !keeps && k < ran.n; k++)
                assert_int_equal(ran.given[k], cases[i].given[k]);
            end(&f);
        }
}

/* Of a program with a sheet: its own passes count for what is timed, and for nothing else. */
static void what_is_timed_is_compared_too(void **state)
{
    const struct device_ops copying = {.name = "none", .run = keep_or_copy, .write = put, .read = get};
    static const double wrong[1] = {4};

    (void)state;
    for (int i_wrong = 0; i_wrong < 2; i_wrong++) {
        struct verify_report report;
        struct why why = {""};
        struct fixture f;

        begin(&f, DTYPE_F32, 1);
        program_drop_passes(&f.p);
        add_pass(&f, "exact", 8);
        add_pass(&f, "random", 3);
        add_pass(&f, "exact", 9);
        f.p.n_sheet = 1;
        f.p.passes[i_wrong].checks[0].values = blob(&f, wrong, sizeof wrong);
        ran.n = 0;
        assert_int_equal(verify_program(&copying, &f.l, &f.p, &f.blobs, &report, &why), i_wrong ? ERR_WRONG : ERR_OK);
        assert_true(!i_wrong || (strcmp(report.pass, "random") == 0 && report.got == 3 && report.wanted == 4));
        end(&f);
    }
}

/* A run that changes what it may only read. */
static enum err change_x(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns,
                         struct why *why)
{
    if (phase == PHASE_RUN)
        ((int32_t *)l->data[W])[1]++;
    return run(l, phase, device_ns, wall_ns, why);
}

static void inputs_stay_as_they_are(void **state)
{
    static const enum buffer_role roles[] = {ROLE_INPUT, ROLE_WEIGHT, ROLE_STATE};
    const struct device_ops changing = {.name = "none", .run = change_x, .write = put, .read = get};
    static const float y[1] = {2};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct verify_report report;
        struct why why = {""};
        struct fixture f;

        begin(&f, DTYPE_F32, 1);
        f.l.makes[Y] = y;
        f.p.buffers[W].role = roles[i];
        assert_int_equal(verify_before(&ops, &f.l, &f.p, &f.blobs, 0, &report, &why), ERR_OK);
        assert_int_equal(verify_before(&changing, &f.l, &f.p, &f.blobs, 0, &report, &why), i < 2 ? ERR_WRONG : ERR_OK);
        assert_true(i == 2 || strstr(why.text, "only read"));
        end(&f);
    }
}

/* Timed calls are looked at like a pass: inputs, and bands where the device has them. */
static enum err bands_written(struct loaded *l, struct why *why)
{
    (void)l;
    return why_set(why, ERR_WRONG, "written behind y");
}

static void what_timed_calls_must_not_write_is_as_before(void **state)
{
    const struct device_ops guarded = {
        .name = "none", .run = run, .write = put, .read = get, .check_guards = bands_written};
    struct why why = {""};
    struct fixture f;

    (void)state;
    begin(&f, DTYPE_F32, 1);
    f.p.buffers[W].role = ROLE_INPUT;
    assert_int_equal(verify_prepare_timing(&ops, &f.l, &f.p, &f.blobs, &why), ERR_OK);
    assert_int_equal(verify_kept(&ops, &f.l, &f.p, &f.blobs, &why), ERR_OK);
    assert_int_equal(verify_kept(&guarded, &f.l, &f.p, &f.blobs, &why), ERR_WRONG);
    assert_string_equal(why.text, "the timed calls: written behind y");
    ((int32_t *)f.l.data[W])[1]++;
    assert_int_equal(verify_kept(&ops, &f.l, &f.p, &f.blobs, &why), ERR_WRONG);
    assert_string_equal(why.text, "the timed calls: wrote into w, which is only read");
    end(&f);
}

static void outputs_are_put_a_little_off(void **state)
{
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_F64, DTYPE_I8, DTYPE_I32, DTYPE_U8};
    static const double values[] = {1, -3, 100, 0, 17};

    (void)state;
    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++) {
        const bool whole = t >= 4;
        struct fixture f;

        begin(&f, dtypes[t], 5);
        for (size_t i = 0; i < 5; i++)
            dtype_store(dtypes[t], f.l.data[Y], i, fabs(values[i]) * (t == 6 ? 1 : values[i] < 0 ? -1 : 1));
        assert_int_equal(verify_nudge_outputs(&ops, &f.l, &f.p, NULL), ERR_OK);
        for (size_t i = 0; i < 5; i++) {
            const double was = t == 6 ? fabs(values[i]) : values[i],
                         off = fabs(dtype_load(dtypes[t], f.l.data[Y], i) - was);

            assert_true(off > 0 && off <= (whole ? 1 : fmax(fabs(was), 0.001) / 100));
        }
        end(&f);
    }
}

static void minus_one_is_a_whole_number(void **state)
{
    static const int32_t y[3] = {-1, 7, -1}, left[3] = {-1, -2071690108, -1};
    struct verify_report report;
    struct why why = {""};
    struct fixture f;

    (void)state;
    begin(&f, DTYPE_I32, 3);
    assert_int_equal(verdict(&f, y, &report, &why), ERR_OK);
    assert_int_equal(verdict(&f, left, &report, &why), ERR_WRONG); /* the poison's own bytes */
    assert_int_equal(report.i_elem, 1);
    assert_int_equal(verdict(&f, NULL, &report, &why), ERR_WRONG); /* nothing written */
    end(&f);
}

static void the_output_s_hash_follows_every_byte_and_only_outputs(void **state)
{
    enum { N = 13 };
    struct sha256 first, other;
    struct fixture f;
    int8_t *y;

    (void)state;
    begin(&f, DTYPE_I8, N);
    y = f.l.data[Y];
    assert_int_equal(verify_output_hash(&ops, &f.l, &f.p, &first, NULL), ERR_OK);
    for (int i = 0; i < N; i++) {
        y[i] ^= 1;
        assert_int_equal(verify_output_hash(&ops, &f.l, &f.p, &other, NULL), ERR_OK);
        if (strcmp(first.hex, other.hex) == 0)
            fail_msg("byte %d of %d counts for nothing", i, N);
        y[i] ^= 1;
    }
    ((int32_t *)f.l.data[W])[0] = 99;
    ((int8_t *)f.l.data[REF])[0] = 99;
    assert_int_equal(verify_output_hash(&ops, &f.l, &f.p, &other, NULL), ERR_OK);
    assert_string_equal(first.hex, other.hex);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_compared_at_their_places),
        cmocka_unit_test(tolerances_are_scaled_for_each_sample),
        cmocka_unit_test(no_number_is_never_right),
        cmocka_unit_test(infinite_is_right_where_the_type_ends),
        cmocka_unit_test(exact_values_are_those_of_the_type),
        cmocka_unit_test(what_is_not_written_is_wrong),
        cmocka_unit_test(bad_blobs_of_a_check_are_named),
        cmocka_unit_test(sums_cover_every_element),
        cmocka_unit_test(references_scale_by_nothing_each_or_the_peak),
        cmocka_unit_test(a_pass_packs_makes_the_reference_runs_and_times),
        cmocka_unit_test(fills_are_those_of_the_pass_and_then_of_timing),
        cmocka_unit_test(every_pass_counts),
        cmocka_unit_test(old_results_are_no_new_ones),
        cmocka_unit_test(the_order_is_before_timed_and_behind),
        cmocka_unit_test(what_is_timed_is_compared_too),
        cmocka_unit_test(inputs_stay_as_they_are),
        cmocka_unit_test(what_timed_calls_must_not_write_is_as_before),
        cmocka_unit_test(outputs_are_put_a_little_off),
        cmocka_unit_test(minus_one_is_a_whole_number),
        cmocka_unit_test(the_output_s_hash_follows_every_byte_and_only_outputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
