/* SPDX-License-Identifier: MIT */
/* What is offered on a Mali-T860 (RK3399), without one: launches within its limits, and no staging in local memory,
 * which on Mali lies in the memory that it would spare. */
#include "core/rng.h"
#include "kernels/template.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/draw.h"
#include "tests/kernels/mali.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define N_DRAWN 8 /* configs of a space, beside the default */

static int n_seen, n_failed;

static void expect(bool good, const struct template *t, const struct workload *w, const char *what, int64_t value)
{
    struct buf text;

    if (good)
        return;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    (void)workload_text(w, &text);
    print_message("%s | %s: %s %lld\n", t->id, buf_text(&text), what, (long long)value);
    buf_fini(&text);
    n_failed++;
}

/* Its local memory. */
static int64_t check_program(const struct template *t, const struct workload *w, const struct space *s,
                             const struct config *c)
{
    struct program p;
    struct blobs blobs;
    struct why why = {""};
    int64_t local;

    blobs_init(&blobs, (size_t)1 << 28);
    if (template_kernels(t, w, &mali_t860, s, c, &p, &blobs, &why))
        fail_msg("%s: %s", t->id, why.text);
    n_seen++;
    local = p.needs_local_bytes;
    expect(local <= mali_t860.local_bytes, t, w, "local bytes", local);
    expect(p.needs_work_group <= 256, t, w, "work-items needed", p.needs_work_group);
    for (size_t i = 0; i < p.n_launches; i++) {
        const int64_t *b = p.launches[i].block;

        expect(p.launches[i].op != LAUNCH_KERNEL || b[0] * b[1] * b[2] <= 256, t, w, "work-items", b[0] * b[1] * b[2]);
    }
    program_fini(&p);
    blobs_fini(&blobs);
    return local;
}

/* A template that stages says so, and is offered only where none does without. */
static void check_template(const struct template *t, const struct workload *w, struct rng *rng)
{
    struct space *s = NULL;
    struct config c;
    struct why why = {""};
    struct draw draw;
    int64_t local;

    if (template_space(t, w, &mali_t860, &s, &why))
        fail_msg("%s: %s", t->id, why.text);
    if (t->fallback(w, &mali_t860, s, &c))
        fail_msg("%s has no default", t->id);
    local = check_program(t, w, s, &c);
    expect(t->stages || local == 0, t, w, "stages by default, local bytes", local);
    for (const struct template *const *other = w->op->templates; t->stages && *other; other++)
        expect((*other)->stages || (*other)->fit(w, &mali_t860, NULL) <= FIT_BASELINE, t, w, (*other)->id, 0);
    draw = (struct draw){s, NULL};
    for (int i = 0; i < N_DRAWN && draw_config(&draw, rng, &c) == ERR_OK; i++)
        check_program(t, w, s, &c);
    draw_fini(&draw);
    space_free(s);
}

static void what_is_offered_suits_a_mali(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 860);
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape; shape++) {
            struct workload w;

            if (workload_parse(*shape, &w, NULL))
                continue;
            for (const struct template *const *t = w.op->templates; *t; t++)
                if (template_fit(*t, &w, &mali_t860, NULL) > FIT_BASELINE)
                    check_template(*t, &w, &rng);
        }
    print_message("%d programs\n", n_seen);
    assert_true(n_seen > 1000);
    assert_int_equal(n_failed, 0);
}

/* Its launches are of one's own functions: what our texts are made for is not there. */
static void a_c_compiler_gets_no_template(void **state)
{
    const struct device_desc d = {.api = "c", .kind = DEVICE_CPU, .units = 4, .threads = 4};
    struct workload w;

    (void)state;
    assert_int_equal(workload_parse("dense f32 m=64 n=64 k=64", &w, NULL), ERR_OK);
    for (const struct template *const *t = w.op->templates; *t; t++) {
        struct why why = {""};

        assert_int_equal(template_fit(*t, &w, &d, &why), FIT_NONE);
        assert_string_equal(why.text, "it is for functions in C of one's own (--kernel-spec)");
    }
}

/* Named ones are not refused, and other devices are offered all. */
static void only_mali_goes_without_staging(void **state)
{
    const struct template *direct = template_find("conv2d/direct"), *group = template_find("conv2d/group");
    struct device_desc gpu = mali_t860;
    struct workload plain, grouped;
    struct why why = {""};

    (void)state;
    gpu.kind = DEVICE_GPU;
    assert_int_equal(workload_parse("conv2d f32 n=1 c=8 h=14 w=14 k=16 r=3 s=3 pad=1", &plain, NULL), ERR_OK);
    assert_int_equal(workload_parse("conv2d f32 n=1 c=8 h=14 w=14 k=16 r=3 s=3 pad=1 groups=2", &grouped, NULL),
                     ERR_OK);
    assert_int_equal(template_fit(direct, &plain, &mali_t860, &why), FIT_NONE);
    assert_string_equal(why.text,
                        "stages in local memory, which on Mali spares nothing; conv2d/spatial_pack does without");
    assert_true(direct->fit(&plain, &mali_t860, NULL) > FIT_BASELINE);
    assert_true(template_fit(direct, &plain, &gpu, NULL) > FIT_BASELINE);
    assert_true(template_fit(group, &grouped, &mali_t860, NULL) > FIT_BASELINE); /* nothing else computes it */
}

static int64_t default_knob(const char *layer, const char *gpu, const char *knob)
{
    const struct template *t = template_find("conv2d/spatial_pack");
    struct device_desc d = mali_t860;
    struct workload w;
    struct space *s = NULL;
    struct config c;
    double value;

    snprintf(d.name, sizeof d.name, "%s", gpu);
    assert_int_equal(workload_parse(layer, &w, NULL), ERR_OK);
    assert_int_equal(template_space(t, &w, &d, &s, NULL), ERR_OK);
    assert_int_equal(t->fallback(&w, &d, s, &c), ERR_OK);
    assert_int_equal(space_eval(s, &c, knob, &value), ERR_OK);
    space_free(s);
    return (int64_t)value;
}

/* 128 bits of channels an item; a group is no narrower than what the generation runs in step. */
static void the_default_follows_type_and_generation(void **state)
{
    static const struct {
        const char *gpu;
        int64_t f32, f16;
    } groups[] = {{"Mali-T860", 4, 8},     {"Mali-T760", 4, 8},       {"Mali-G71", 4, 8},
                  {"Mali-G52 r1p0", 8, 8}, {"Mali-G76", 8, 8},        {"Mali-G57 MC2", 16, 16},
                  {"Mali-G310", 16, 16},   {"Mali-G610 MP4", 16, 16}, {"Mali-LODX r0p0", 16, 16}};

    (void)state;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        const char *gpu = groups[i].gpu;

        assert_int_equal(default_knob("conv2d f32 n=1 c=64 h=56 w=56 k=256 r=1 s=1", gpu, "vc"), 4);
        assert_int_equal(default_knob("conv2d f16 n=1 c=64 h=56 w=56 k=256 r=1 s=1", gpu, "vc"), 8);
        assert_int_equal(default_knob("conv2d f32 n=1 c=64 h=56 w=56 k=256 r=1 s=1", gpu, "co_t"), groups[i].f32);
        assert_int_equal(default_knob("conv2d f16 n=1 c=64 h=56 w=56 k=256 r=1 s=1", gpu, "co_t"), groups[i].f16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_offered_suits_a_mali), cmocka_unit_test(only_mali_goes_without_staging),
        cmocka_unit_test(a_c_compiler_gets_no_template), cmocka_unit_test(the_default_follows_type_and_generation)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
