/* SPDX-License-Identifier: MIT */
/* Sums in several parts (the knob split) are right in every template that has
 * it, and a part left out is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/run_device.h"

static struct devices_under_test under;

/* Few tiles, long sums; with an epilogue, which the parts must not apply. */
static const char *const cases[][2] = {
    {"conv2d/direct", "conv2d f32 n=1 c=64 h=4 w=5 k=10 r=3 s=3 pad=1 epilogue=bias_relu"},
    {"conv2d/direct", "conv2d f32 n=1 c=32 h=4 w=5 k=8 r=3 s=3 pad=1 layout=nchw8c epilogue=bias_add"},
    {"conv2d/group", "conv2d f32 n=1 c=64 h=3 w=5 k=12 r=3 s=3 pad=1 groups=2"},
    {"conv2d/i8", "conv2d i8 n=1 c=64 h=4 w=5 k=8 r=3 s=3 pad=1 layout=nchw4c epilogue=bias_requant"},
    {"conv2d/group_i8", "conv2d i8 n=1 c=64 h=3 w=5 k=16 r=3 s=3 pad=1 groups=2 epilogue=bias"},
    {"conv2d/im2col_gemm", "conv2d f32 n=2 c=64 h=4 w=5 k=10 r=3 s=3 pad=1 epilogue=bias_relu"},
    {"conv2d/implicit_gemm", "conv2d f32 n=1 c=64 h=4 w=5 k=10 r=3 s=3 pad=1 epilogue=bias_relu"},
    {"conv2d/implicit_gemm", "conv2d i8 n=1 c=64 h=4 w=5 k=16 r=3 s=3 pad=1 layout=nchw8c epilogue=bias_requant"},
    {"deformable_conv2d/direct", "deformable_conv2d f32 n=1 c=32 h=4 w=5 k=10 r=3 s=3 pad=1"},
    {"deformable_conv2d/im2col_tiled", "deformable_conv2d f32 n=2 c=32 h=4 w=5 k=10 r=3 s=3 pad=1"},
};

/* The default with the largest number of parts that is valid with it. */
static void most_parts(const struct template *t, const struct workload *w, const struct device_desc *d,
                       const struct space *s, struct config *out)
{
    const int knob = space_find_knob(s, "split");

    assert_true(knob >= 0);
    assert_int_equal(t->fallback(w, d, s, out), ERR_OK);
    for (size_t v = space_n_values(s, (size_t)knob); v-- > 0;) {
        out->choice[knob] = (uint16_t)v;
        if (space_is_valid(s, out, NULL))
            return;
    }
    fail_msg("%s: no valid split", t->id);
}

static void check_case(const char *id, const char *shape, const char *from, const char *to, enum err expected)
{
    const struct device_desc *d = under.ops->describe(under.list[0]);
    const struct template *t = template_find(id);
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct program p;
    struct blobs blobs;
    struct why why = {""};
    enum err e;

    blobs_init(&blobs, (size_t)1 << 28);
    assert_int_equal(workload_parse(shape, &w, &why), ERR_OK);
    assert_int_equal(template_space(t, &w, d, &s, &why), ERR_OK);
    most_parts(t, &w, d, s, &c);
    if (space_int(s, &c, "split") < 2)
        fail_msg("%s | %s: no config in parts", id, shape);
    assert_int_equal(template_program(t, &w, d, s, &c, &p, &blobs, &why), ERR_OK);
    if (from)
        assert_true(patch_source(&p, &blobs, from, to));
    e = load_and_verify(under.ops, under.list[0], &p, &blobs, &why);
    if (e != expected)
        fail_msg("%s | %s: %s (%s), expected: %s", id, shape, err_words(e), why.text, err_words(expected));
    program_fini(&p);
    blobs_fini(&blobs);
    space_free(s);
}

static void sums_in_parts_are_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(cases[i][0], cases[i][1], NULL, NULL, ERR_OK);
}

static void a_part_left_out_is_called_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(cases[i][0], cases[i][1], "part < SPLIT; part++", "part < SPLIT - 1; part++", ERR_WRONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_in_parts_are_right),
        cmocka_unit_test(a_part_left_out_is_called_wrong),
    };
    int failed;

    if (!open_devices(BACKEND, &under))
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    close_devices(&under);
    return failed;
}
