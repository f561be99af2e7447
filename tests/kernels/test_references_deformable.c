/* SPDX-License-Identifier: MIT */
/* The reference of deformable_conv2d against a second computation: a sample as the sum over all pixels of the image
 * with the hat function max(0, 1 - distance) along each axis, sizes written out, in double throughout. */
#include "kernels/deformable_conv2d/deformable_conv2d.h"
#include "kernels/expect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct deformable_case {
    const char *workload;
    int n, c, h, w, k, r, s, stride_h, stride_w, dil_h, dil_w, top, left, p, q, groups;
};

/* clang-format off */
static const struct deformable_case cases[] = {
    {"deformable_conv2d f32 n=1 c=3 h=6 w=5 k=4 r=3 s=3", 1, 3, 6, 5, 4, 3, 3, 1, 1, 1, 1, 0, 0, 4, 3, 1},
    {"deformable_conv2d f32 n=2 c=4 h=7 w=9 k=5 r=3 s=3 pad=1 deformable_groups=2",
     2, 4, 7, 9, 5, 3, 3, 1, 1, 1, 1, 1, 1, 7, 9, 2},
    {"deformable_conv2d f32 n=1 c=6 h=9 w=8 k=3 r=2 s=3 stride=2,1 pad=1,0,2,1 dilation=1,2 deformable_groups=3",
     1, 6, 9, 8, 3, 2, 3, 2, 1, 1, 2, 1, 0, 6, 5, 3},
    {"deformable_conv2d f16 n=1 c=4 h=5 w=6 k=3 r=3 s=3 pad=2 dilation=2 deformable_groups=4",
     1, 4, 5, 6, 3, 3, 3, 1, 1, 2, 2, 2, 2, 5, 6, 4},
    {"deformable_conv2d f32 n=1 c=1 h=1 w=1 k=1 r=1 s=1", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1},
};
/* clang-format on */

/* One pass's data. */
struct data {
    float *x, *offset, *w;
};

static float *data_of(struct expected *e, const char *name, bool exact)
{
    float *out = expected_data(expected_tensor(e, name), exact, NULL);

    assert_non_null(out);
    return out;
}

/* Share of pixel `at` in a sample at `from` on an axis of n pixels: beyond the last one it counts in full. */
static double hat(double from, int at, int n)
{
    const double place = from > n - 1 ? n - 1 : from, d = fabs(place - at);

    return d < 1 ? 1 - d : 0;
}

static double sample(const struct deformable_case *z, const float *image, double y, double x, double *magnitude)
{
    double sum = 0;

    *magnitude = 0;
    if (y < 0 || x < 0 || y >= z->h || x >= z->w)
        return 0;
    for (int i = 0; i < z->h * z->w; i++) {
        const double share = hat(y, i / z->w, z->h) * hat(x, i % z->w, z->w);

        sum += share * (double)image[i];
        *magnitude += share * fabs((double)image[i]);
    }
    return sum;
}

/* The operator says that positions are f32. */
static double shifted(int from, float offset)
{
    const float place = (float)from + offset;

    return (double)place;
}

/* Output (n, k, p, q): the offset tensor read as [n][group][r][s][axis][p][q]. */
static double output(const struct deformable_case *z, const struct data *d, const int at[4], double *magnitude)
{
    const int plane = z->p * z->q, taps = z->r * z->s;
    double sum = 0;

    *magnitude = 0;
    for (int c = 0; c < z->c; c++)
        for (int rs = 0; rs < taps; rs++) {
            const int group = c * z->groups / z->c, channel = (at[0] * z->groups + group) * taps + rs;
            const float *offset = d->offset + channel * 2 * plane + at[2] * z->q + at[3];
            const double y = shifted(at[2] * z->stride_h - z->top + rs / z->s * z->dil_h, offset[0]);
            const double x = shifted(at[3] * z->stride_w - z->left + rs % z->s * z->dil_w, offset[plane]);
            const double weight = (double)d->w[(at[1] * z->c + c) * taps + rs];
            double m;

            sum += sample(z, d->x + (at[0] * z->c + c) * z->h * z->w, y, x, &m) * weight;
            *magnitude += m * fabs(weight);
        }
    return sum;
}

static double *outputs(const struct deformable_case *z, struct expected *e, bool exact, double *magnitudes)
{
    const struct data d = {data_of(e, "x", exact), data_of(e, "offset", exact), data_of(e, "w", exact)};
    const int plane = z->p * z->q, n = z->n * z->k * plane;
    double *y = calloc((size_t)n, sizeof *y);

    assert_non_null(y);
    for (int i = 0; i < n; i++)
        y[i] = output(z, &d, (const int[]){i / plane / z->k, i / plane % z->k, i % plane / z->q, i % z->q},
                      &magnitudes[i]);
    free(d.x);
    free(d.offset);
    free(d.w);
    return y;
}

static void check_near(const char *workload, const char *what, long at, double reference, double here, double scale)
{
    if (!(fabs(reference - here) <= 1e-13 * scale))
        fail_msg("%s: %s[%ld] is %.17g by the reference, %.17g here", workload, what, at, reference, here);
}

static void check_outputs(const struct deformable_case *z, struct expected *e)
{
    const struct expected_output *o = &e->outputs[0];
    const int plane = z->p * z->q, n = z->n * z->k * plane;
    double *scale = calloc((size_t)n, sizeof *scale), *exact = outputs(z, e, true, scale);
    double *random = outputs(z, e, false, scale);

    assert_int_equal(o->n_samples, n); /* few enough for all */
    for (size_t i = 0; i < o->n_samples; i++) {
        const size_t at = (size_t)o->indices[i];

        check_near(z->workload, "exact y", (long)at, o->exact[i], exact[at], 0);
        check_near(z->workload, "random y", (long)at, o->random[i], random[at], scale[at]);
        check_near(z->workload, "scale of y", (long)at, o->scale[i], scale[at], scale[at]);
    }
    assert_true(o->outer == z->n && o->axis == z->k && o->inner == plane);
    for (int i = 0; i < z->n * plane; i++) {
        double sum = 0;

        for (int k = 0; k < z->k; k++)
            sum += program_project_weight(SEED_PROJECT, k) * exact[(i / plane * z->k + k) * plane + i % plane];
        check_near(z->workload, "projection", i, o->project[i], sum, 0);
    }
    free(scale);
    free(exact);
    free(random);
}

static void deformable_reference_is_the_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct workload w;
        struct expected e;

        assert_int_equal(workload_parse(cases[i].workload, &w, NULL), ERR_OK);
        expected_begin(&w, EXACT_PLAIN, &e);
        assert_int_equal(w.op->reference(&w, EXACT_PLAIN, &e), ERR_OK);
        check_outputs(&cases[i], &e);
        expected_fini(&e);
    }
}

/* Whole and far outside in the exact pass; between pixels in the random one. */
static void offsets_are_whole_then_fractional(void **state)
{
    struct workload w;
    struct expected e;
    float *exact, *random;
    int n_far = 0, n_whole = 0;

    (void)state;
    assert_int_equal(workload_parse(cases[1].workload, &w, NULL), ERR_OK);
    expected_begin(&w, EXACT_PLAIN, &e);
    exact = data_of(&e, "offset", true);
    random = data_of(&e, "offset", false);
    for (int i = 0; i < 500; i++) {
        assert_true(exact[i] == (float)(int)exact[i]);
        n_far += fabs((double)exact[i]) > 7;
        n_whole += random[i] == (float)(int)random[i];
    }
    assert_in_range(n_far, 50, 450);
    assert_int_equal(n_whole, 0);
    free(exact);
    free(random);
    expected_fini(&e);
}

static void bad_sizes_are_refused_in_words(void **state)
{
    static const char *const texts[][2] = {
        {"deformable_conv2d f32 n=1 c=6 h=5 w=5 k=2 r=3 s=3 deformable_groups=4",
         "deformable_groups=4 does not divide"},
        {"deformable_conv2d f32 n=1 c=6 h=5 w=5 k=2 r=7 s=3", "larger than the padded input"},
        {"deformable_conv2d i8 n=1 c=6 h=5 w=5 k=2 r=3 s=3", "i8"},
        {"deformable_conv2d f32 n=1 c=6 h=5 w=5 k=2 r=3 s=3 groups=2", "groups"},
        {"depthwise_conv2d f32 n=1 c=6 h=5 w=5 r=3 s=6 pad=0", "larger than the padded input"},
        {"depthwise_conv2d f32 n=1 c=6 h=5 w=5 r=3 s=3 layout=nchw4c", "layout=nchw4c"},
        {"depthwise_conv2d f32 n=1 c=6 h=5 w=5 r=3 s=3 epilogue=requant", "requant"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct workload w;
        struct why why = {""};

        assert_int_not_equal(workload_parse(texts[i][0], &w, &why), ERR_OK);
        if (!strstr(why.text, texts[i][1]))
            fail_msg("%s: \"%s\" does not say \"%s\"", texts[i][0], why.text, texts[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deformable_reference_is_the_definition),
        cmocka_unit_test(offsets_are_whole_then_fractional),
        cmocka_unit_test(bad_sizes_are_refused_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
