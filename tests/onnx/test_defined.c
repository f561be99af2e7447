/* SPDX-License-Identifier: MIT */
/* Operators that pad, move and join: what an import computes held against ONNX's definition, of many shapes that are
 * drawn. */
#include "core/buf.h"
#include "tests/onnx/check_import.h"
#include "tests/onnx/computed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MAX_ELEMS 512

static uint32_t state = 2026;

static int draw(int low, int high)
{
    state = state * 1664525 + 1013904223;
    return low + (int)((state >> 16) % (uint32_t)(high - low + 1));
}

/* Numbers that are all different, from 1 on: none is the 0 of a pad. */
static void number(double *v, int n, int first)
{
    for (int i = 0; i < n; i++)
        v[i] = first + i;
}

/* An output is the n numbers expected, and no more. */
static void check_output(const char *lines, const double *y, const double *expected, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(y[i] - expected[i]) < 1e-4))
            fail_msg("%soutput %d is %g, expected %g", lines, i, y[i], expected[i]);
    if (!isnan(y[n]))
        fail_msg("%shas more than %d outputs", lines, n);
}

static void clear(double *y)
{
    for (int i = 0; i < MAX_ELEMS; i++)
        y[i] = (double)NAN;
}

/* ---- windows ---- */

struct window {
    int size, window, stride, dilation, before, n_out;
};

/* auto_pad SAME: ceil(size / stride) outputs, and the odd pad at the end (upper) or the beginning. */
static struct window draw_window(bool dilated, bool upper)
{
    struct window a = {.size = draw(1, 7), .window = draw(1, 3), .stride = draw(1, 3)};
    int reach;

    a.dilation = dilated ? draw(1, 3) : 1;
    a.n_out = (a.size + a.stride - 1) / a.stride;
    reach = (a.n_out - 1) * a.stride + (a.window - 1) * a.dilation + 1 - a.size;
    reach = reach > 0 ? reach : 0;
    a.before = upper ? reach / 2 : reach - reach / 2;
    return a;
}

/* The sum of all taps times their weight, the mean or the largest of those inside. */
static double windowed(const double *x, const struct window a[2], int p, int q, char kind)
{
    double sum = 0, largest = -INFINITY;
    int n = 0;

    for (int r = 0; r < a[0].window; r++)
        for (int s = 0; s < a[1].window; s++) {
            const int i = p * a[0].stride + r * a[0].dilation - a[0].before;
            const int j = q * a[1].stride + s * a[1].dilation - a[1].before;
            double v;

            if (i < 0 || j < 0 || i >= a[0].size || j >= a[1].size)
                continue;
            v = x[i * a[1].size + j];
            sum += kind == 'C' ? v * (r * a[1].window + s + 1) : v;
            largest = v > largest ? v : largest;
            n++;
        }
    return kind == 'C' ? sum : kind == 'M' ? largest : sum / n;
}

static void check_same(const char *op, bool upper)
{
    const struct window a[2] = {draw_window(op[0] == 'C', upper), draw_window(op[0] == 'C', upper)};
    double x[MAX_ELEMS], y[MAX_ELEMS], expected[MAX_ELEMS];
    struct buf lines;

    buf_init(&lines, 4096);
    buf_printf(&lines, "opset 13\ninput x 1 1 %d %d\n", a[0].size, a[1].size);
    if (op[0] == 'C') {
        buf_printf(&lines, "const w 1 1 %d %d =", a[0].window, a[1].window);
        for (int i = 0; i < a[0].window * a[1].window; i++)
            buf_printf(&lines, " %d", i + 1);
        buf_printf(&lines, "\nnode Conv x w -> y dilations=[%d,%d]", a[0].dilation, a[1].dilation);
    } else {
        buf_printf(&lines, "node %s x -> y kernel_shape=[%d,%d]", op, a[0].window, a[1].window);
    }
    buf_printf(&lines, " strides=[%d,%d] auto_pad='SAME_%s'\noutput y\n", a[0].stride, a[1].stride,
               upper ? "UPPER" : "LOWER");
    for (int i = 0; i < a[0].n_out * a[1].n_out; i++)
        expected[i] = 0;
    number(x, a[0].size * a[1].size, 1);
    clear(y);
    compute_model(buf_text(&lines), (double *const[]){x, y});
    for (int p = 0; p < a[0].n_out; p++)
        for (int q = 0; q < a[1].n_out; q++)
            expected[p * a[1].n_out + q] = windowed(x, a, p, q, op[0]);
    check_output(buf_text(&lines), y, expected, a[0].n_out * a[1].n_out);
    buf_fini(&lines);
}

static void same_pads_give_an_output_for_each_stride(void **unused)
{
    (void)unused;
    for (int i = 0; i < 40; i++) {
        check_same("Conv", i % 2);
        check_same("MaxPool", i % 2);
        check_same("AveragePool", i % 2);
    }
}

/* ---- pieces ---- */

/* Dimensions around an axis: x is [before][size][behind]. */
struct around {
    int before, behind;
};

static struct around draw_around(int axis)
{
    struct around s = {1, 1};

    for (int d = 0; d < 3; d++)
        *(d < axis ? &s.before : &s.behind) *= d == axis ? 1 : 2;
    return s;
}

static void put_input(struct buf *lines, int axis, int size)
{
    buf_puts(lines, "opset 18\ninput x");
    for (int d = 0; d < 3; d++)
        buf_printf(lines, " %d", d == axis ? size : 2);
    buf_puts(lines, "\n");
}

/* The places of an axis that at[0..n) names; a place below 0 is a zero. */
static int take_places(const double *x, const struct around *s, int size, const int *at, int n, double *out)
{
    int k = 0;

    for (int b = 0; b < s->before; b++)
        for (int i = 0; i < n; i++)
            for (int e = 0; e < s->behind; e++)
                out[k++] = at[i] < 0 || at[i] >= size ? 0 : x[(b * size + at[i]) * s->behind + e];
    return k;
}

/* Into n pieces of as many places, the last one of the rest. */
static void check_split(int axis, int size, int n)
{
    const int each = (size + n - 1) / n;
    const struct around s = draw_around(axis);
    double x[MAX_ELEMS], y[4][MAX_ELEMS], expected[MAX_ELEMS];
    struct buf lines;

    buf_init(&lines, 4096);
    put_input(&lines, axis, size);
    buf_puts(&lines, "node Split x ->");
    for (int i = 0; i < n; i++)
        buf_printf(&lines, " y%d", i);
    buf_printf(&lines, " axis=%d num_outputs=%d\n", axis, n);
    for (int i = 0; i < n; i++)
        buf_printf(&lines, "output y%d\n", i);
    if ((n - 1) * each >= size) { /* nothing is left for the last one */
        check_refused(buf_text(&lines), "Split", "sizes that do not fit the axis");
        buf_fini(&lines);
        return;
    }
    number(x, s.before * size * s.behind, 1);
    for (int i = 0; i < n; i++)
        clear(y[i]);
    compute_model(buf_text(&lines), (double *const[]){x, y[0], y[1], y[2], y[3]});
    for (int i = 0; i < n; i++) {
        int at[16], n_at = 0;

        for (int k = i * each; k < size && k < (i + 1) * each; k++)
            at[n_at++] = k;
        check_output(buf_text(&lines), y[i], expected, take_places(x, &s, size, at, n_at, expected));
    }
    buf_fini(&lines);
}

static void splits_are_of_one_size_and_the_last_of_the_rest(void **unused)
{
    (void)unused;
    for (int size = 2; size <= 9; size++)
        for (int n = 2; n <= 4; n++)
            check_split(size % 3, size, n);
}

/* Places from start, each step-th, before end; those below 0 count from the end, those outside are the nearest. */
static int slice_places(int start, int end, int step, int size, int *at)
{
    const int low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    int n = 0;

    start += start < 0 ? size : 0;
    end += end < 0 ? size : 0;
    start = start < (step < 0 ? 0 : low) ? low : start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    for (int i = start; step < 0 ? i > end : i < end; i += step)
        at[n++] = i;
    return n;
}

static void slices_take_each_step_th_place(void **unused)
{
    (void)unused;
    for (int i = 0; i < 100;) {
        const int axis = draw(0, 2), size = draw(1, 6), start = draw(-8, 8), end = draw(-8, 8);
        const int step = draw(0, 1) ? draw(1, 3) : draw(-3, -1);
        const struct around s = draw_around(axis);
        double x[MAX_ELEMS], y[MAX_ELEMS], expected[MAX_ELEMS];
        int at[16], n = slice_places(start, end, step, size, at);
        struct buf lines;

        if (!n || (step < 0 && start < -size))
            continue; /* nothing is left; the standard and its implementations differ before the first place */
        i++;
        buf_init(&lines, 4096);
        put_input(&lines, axis, size);
        buf_printf(&lines,
                   "ints s 1 = %d\nints e 1 = %d\nints a 1 = %d\nints t 1 = %d\nnode Slice x s e a t -> y\noutput y\n",
                   start, end, axis - (i % 2 ? 3 : 0), step);
        number(x, s.before * size * s.behind, 1);
        clear(y);
        compute_model(buf_text(&lines), (double *const[]){x, y});
        check_output(buf_text(&lines), y, expected, take_places(x, &s, size, at, n, expected));
        buf_fini(&lines);
    }
}

/* Pads below 0 cut off. */
static void pads_are_zeros_or_cut_off(void **unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++) {
        const int axis = draw(0, 2), size = draw(3, 5), before = draw(-1, 3), behind = draw(-1, 3);
        const struct around s = draw_around(axis);
        double x[MAX_ELEMS], y[MAX_ELEMS], expected[MAX_ELEMS];
        int at[16], n = 0, pads[6] = {0};
        struct buf lines;

        pads[axis] = before;
        pads[axis + 3] = behind;
        buf_init(&lines, 4096);
        put_input(&lines, axis, size);
        buf_printf(&lines, "ints p 6 = %d %d %d %d %d %d\nnode Pad x p -> y\noutput y\n", pads[0], pads[1], pads[2],
                   pads[3], pads[4], pads[5]);
        number(x, s.before * size * s.behind, 1);
        clear(y);
        for (int k = -before; k < size + behind; k++)
            at[n++] = k < size ? k : -1;
        compute_model(buf_text(&lines), (double *const[]){x, y});
        check_output(buf_text(&lines), y, expected, take_places(x, &s, size, at, n, expected));
        buf_fini(&lines);
    }
}

/* ---- joined ---- */

/* One activation with up to two constants before it and up to three behind it, each of a size of its own. */
struct row {
    int axis, n_before, n_behind, n[5], size;
};

static struct row draw_row(void)
{
    struct row r = {.axis = draw(0, 2), .n_before = draw(0, 2), .n_behind = draw(0, 3), .size = draw(1, 3)};

    r.n_behind += r.n_before + r.n_behind == 0;
    for (int i = 0; i < r.n_before + r.n_behind; i++)
        r.n[i] = draw(1, 2);
    return r;
}

/* Constants numbered from 1 on through all of them, or zeros. */
static void put_row(const struct row *r, bool numbered, struct buf *lines)
{
    const struct around s = draw_around(r->axis);
    int first = 1;

    put_input(lines, r->axis, r->size);
    for (int i = 0; i < r->n_before + r->n_behind; i++) {
        buf_printf(lines, "const c%d", i);
        for (int d = 0; d < 3; d++)
            buf_printf(lines, " %d", d == r->axis ? r->n[i] : 2);
        buf_puts(lines, " =");
        for (int k = 0; k < s.before * r->n[i] * s.behind; k++)
            buf_printf(lines, " %d", numbered ? first++ : 0);
        buf_puts(lines, "\n");
    }
    buf_puts(lines, "node Concat");
    for (int i = 0; i <= r->n_before + r->n_behind; i++) {
        if (i == r->n_before)
            buf_puts(lines, " x");
        else
            buf_printf(lines, " c%d", i > r->n_before ? i - 1 : i);
    }
    buf_printf(lines, " -> y axis=%d\noutput y\n", r->axis);
}

/* What is joined, one behind the other. */
static int join(const struct row *r, bool numbered, const double *x, double *out)
{
    const struct around s = draw_around(r->axis);
    int n = 0;

    for (int b = 0; b < s.before; b++)
        for (int i = 0, first = 1; i <= r->n_before + r->n_behind; i++) {
            const bool is_x = i == r->n_before;
            const int run = (is_x ? r->size : r->n[i > r->n_before ? i - 1 : i]) * s.behind;

            for (int k = 0; k < run; k++)
                out[n++] = is_x ? x[b * run + k] : numbered ? first + b * run + k : 0;
            first += is_x ? 0 : s.before * run;
        }
    return n;
}

static void constants_around_an_activation_stand_where_they_are_joined(void **unused)
{
    (void)unused;
    for (int i = 0; i < 60; i++) {
        const struct row r = draw_row();
        const struct around s = draw_around(r.axis);
        double x[MAX_ELEMS], y[MAX_ELEMS], expected[MAX_ELEMS];
        struct buf lines;

        buf_init(&lines, 8192);
        put_row(&r, i % 2, &lines);
        number(x, s.before * r.size * s.behind, 1000);
        clear(y);
        compute_model(buf_text(&lines), (double *const[]){x, y});
        check_output(buf_text(&lines), y, expected, join(&r, i % 2, x, expected));
        buf_fini(&lines);
    }
}

/* ---- types ---- */

/* What is behind the point goes towards 0; whatever is not 0 is true. */
static void constants_of_another_type_are_cut_or_true(void **unused)
{
    static const float numbers[] = {-2.75F, -1, -.5F, 0, .5F, 1, 2.75F}, whole[] = {-2, -1, 0, 0, 0, 1, 2},
                       truths[] = {1, 1, 1, 0, 1, 1, 1};
    static const struct {
        int type;
        const float *numbers;
    } types[] = {{1, numbers}, {6, whole}, {7, whole}, {9, truths}, {10, numbers}, {11, numbers}};

    (void)unused;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char lines[512];

        snprintf(lines, sizeof lines,
                 "opset 13\ninput x 7\nconst c 7 = -2.75 -1 -.5 0 .5 1 2.75\nnode Cast c -> d to=%d\n"
                 "node Cast d -> e to=1\nnode Max x e -> y\noutput y\n",
                 types[i].type);
        check_weights(lines, types[i].numbers, 7, "y b 0 28\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_pads_give_an_output_for_each_stride),
        cmocka_unit_test(splits_are_of_one_size_and_the_last_of_the_rest),
        cmocka_unit_test(slices_take_each_step_th_place),
        cmocka_unit_test(pads_are_zeros_or_cut_off),
        cmocka_unit_test(constants_around_an_activation_stand_where_they_are_joined),
        cmocka_unit_test(constants_of_another_type_are_cut_or_true),
    };
    int failed;

    if (!folder_open("test-onnx-defined"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
