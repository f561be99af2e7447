/* SPDX-License-Identifier: MIT */
/* ConvTranspose: what the imported graph computes, by its definition, held against ONNX's: each input adds its window
 * to the output. */
#include "core/buf.h"
#include "tests/onnx/check_import.h"
#include "tests/onnx/computed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_ELEMS 4096
#define MAX_WEIGHTS 50 /* a line of wire.h has at most 64 words */

struct pair {
    int h, w;
};

/* channels and outputs are those of a group */
struct shape {
    int groups, channels, outputs;
    struct pair x, window, stride, dilation, before, after, more;
};

static uint32_t state = 12345;

static int draw(int low, int high)
{
    state = state * 1664525 + 1013904223;
    return low + (int)((state >> 16) % (uint32_t)(high - low + 1));
}

static int size_of(int n, int window, int stride, int dilation, int before, int after, int more)
{
    return stride * (n - 1) + more + (window - 1) * dilation + 1 - before - after;
}

static struct pair size(const struct shape *s)
{
    return (struct pair){size_of(s->x.h, s->window.h, s->stride.h, s->dilation.h, s->before.h, s->after.h, s->more.h),
                         size_of(s->x.w, s->window.w, s->stride.w, s->dilation.w, s->before.w, s->after.w, s->more.w)};
}

static int n_weights(const struct shape *s)
{
    return s->groups * s->channels * s->outputs * s->window.h * s->window.w;
}

static struct pair draw_pair(int low, int high)
{
    const int h = draw(low, high);

    return (struct pair){h, draw(low, high)};
}

static struct shape draw_shape(void)
{
    struct shape s;

    do {
        s = (struct shape){.groups = draw(1, 2), .channels = draw(1, 3), .outputs = draw(1, 3)};
        s.x = draw_pair(1, 5);
        s.window = draw_pair(1, 5);
        s.stride = draw_pair(1, 4);
        s.dilation = draw_pair(1, 3);
        s.before = draw_pair(0, 4);
        s.after = draw_pair(0, 4);
        s.more = (struct pair){draw(0, s.stride.h - 1), draw(0, s.stride.w - 1)};
    } while (size(&s).h < 1 || size(&s).w < 1 || n_weights(&s) > MAX_WEIGHTS);
    return s;
}

/* y[k][..] of x[c][..] and w[c][k of the group][..], each input at a time. */
static void scatter(const struct shape *s, const double *x, const double *w, const double *bias, double *y)
{
    const struct pair n = size(s);
    const int k_all = s->groups * s->outputs;

    for (int i = 0; i < k_all * n.h * n.w; i++)
        y[i] = bias[i / (n.h * n.w)];
    for (int i = 0; i < s->groups * s->channels * s->x.h * s->x.w * s->outputs * s->window.h * s->window.w; i++) {
        const int taps = s->window.h * s->window.w, tap = i % taps, k = i / taps % s->outputs;
        const int pixel = i / taps / s->outputs % (s->x.h * s->x.w), c = i / taps / s->outputs / (s->x.h * s->x.w);
        const int row = pixel / s->x.w * s->stride.h + tap / s->window.w * s->dilation.h - s->before.h;
        const int column = pixel % s->x.w * s->stride.w + tap % s->window.w * s->dilation.w - s->before.w;
        const int out = c / s->channels * s->outputs + k;

        if (row >= 0 && column >= 0 && row < n.h && column < n.w)
            y[(out * n.h + row) * n.w + column] +=
                x[c * s->x.h * s->x.w + pixel] * w[(c * s->outputs + k) * taps + tap];
    }
}

static void put_values(struct buf *out, const char *head, const double *v, int n)
{
    buf_printf(out, "%s", head);
    for (int i = 0; i < n; i++)
        buf_printf(out, " %g", v[i]);
    buf_puts(out, "\n");
}

static int draw_values(double *v, int n)
{
    assert_true(n <= MAX_ELEMS);
    for (int i = 0; i < n; i++)
        v[i] = draw(-8, 8) / 4.0;
    return n;
}

/* The model's lines; rows of one dimension where rows have nothing of their own. */
static void put_model(const struct shape *s, const double *w, const double *bias, struct buf *out)
{
    char head[128];

    buf_printf(out, "opset 11\ninput x 1 %d %d %d\n", s->groups * s->channels, s->x.h, s->x.w);
    snprintf(head, sizeof head, "const w %d %d %d %d =", s->groups * s->channels, s->outputs, s->window.h, s->window.w);
    put_values(out, head, w, n_weights(s));
    snprintf(head, sizeof head, "const b %d =", s->groups * s->outputs);
    put_values(out, head, bias, s->groups * s->outputs);
    buf_printf(out,
               "node ConvTranspose x w b -> y group=%d strides=[%d,%d] dilations=[%d,%d] pads=[%d,%d,%d,%d] "
               "output_padding=[%d,%d]\noutput y\n",
               s->groups, s->stride.h, s->stride.w, s->dilation.h, s->dilation.w, s->before.h, s->before.w, s->after.h,
               s->after.w, s->more.h, s->more.w);
}

static void check_shape(const struct shape *s)
{
    static double x[MAX_ELEMS], w[MAX_ELEMS], bias[MAX_ELEMS], y[MAX_ELEMS], expected[MAX_ELEMS];
    const struct pair n = size(s);
    const int n_y = s->groups * s->outputs * n.h * n.w;
    struct buf lines;

    draw_values(x, s->groups * s->channels * s->x.h * s->x.w);
    draw_values(w, n_weights(s));
    draw_values(bias, s->groups * s->outputs);
    assert_true(n_y <= MAX_ELEMS);
    buf_init(&lines, MAX_MODEL);
    put_model(s, w, bias, &lines);
    compute_model(buf_text(&lines), (double *const[]){x, y});
    scatter(s, x, w, bias, expected);
    for (int i = 0; i < n_y; i++)
        if (fabs(y[i] - expected[i]) > 1e-6)
            fail_msg("%soutput %d is %g, expected %g", buf_text(&lines), i, y[i], expected[i]);
    buf_fini(&lines);
}

static void each_input_adds_its_window(void **unused)
{
    (void)unused;
    for (int i = 0; i < 300; i++) {
        const struct shape s = draw_shape();

        check_shape(&s);
    }
}

#define HEAD "opset 13\ninput x 1 4 8 6\n"
#define X_LINE "x = input c=4 h=8 w=6\n"

static void layers_have_no_more_taps_than_are_needed(void **unused)
{
    (void)unused;
    /* flipped; nothing is between */
    check_graph(HEAD "const w 4 3 3 5 = 0.5 ...\nnode ConvTranspose x w -> y pads=[1,2,1,2]\noutput y\n",
                X_LINE "y = conv2d x k=3 r=3 s=5 pad=1,2\n");
    check_graph(HEAD "const w 4 3 3 3 = 0.5 ...\nnode ConvTranspose x w -> y dilations=[2,2]\noutput y\n",
                X_LINE "y = conv2d x k=3 r=3 s=3 pad=4 dilation=2\n");
    check_graph(HEAD "const w 4 1 3 3 = 0.5 ...\nnode ConvTranspose x w -> y group=4 pads=[1,1,1,1]\noutput y\n",
                X_LINE "y = depthwise_conv2d x r=3 s=3 pad=1\n");
    /* an output has one tap: four channels for each, between each other */
    check_graph(HEAD "const w 4 3 2 2 = 0.5 ...\nnode ConvTranspose x w -> y strides=[2,2]\noutput y\n",
                X_LINE "y = conv2d x k=12 r=1 s=1\n"
                       "y_2 = strided_copy y shape=1,3,16,12 at=0 d0=2,48 d1=6,1 d2=2,96 d3=8,6 d4=3,192\n");
    /* outputs 2j sum inputs j-1 and j, outputs 2j+1 j and j+1: two taps for each, one place on; 9 x 7 places are made
     */
    check_graph(HEAD "const w 4 1 4 4 = 0.5 ...\nnode ConvTranspose x w -> y strides=[2,2] pads=[1,1,1,1]\noutput y\n",
                X_LINE "y = conv2d x k=4 r=2 s=2 pad=1\n"
                       "y_2 = strided_copy y shape=1,1,16,12 at=0 d0=2,64 d1=6,1 d2=2,133 d3=8,7\n");
}

static void what_follows_is_done_in_the_kernel(void **unused)
{
    static const float weights[] = {3, 6, -8, 4, 15, 30, 11, 0};

    (void)unused;
    check_graph("opset 13\ninput x 1 1 3 3\nconst w 1 2 1 2 = 1 2 -2 1\nconst f 2 = 3 4\nconst z 2 = 0 0\n"
                "const b 2 = 5 0\nconst v 2 = 0.99999 0.99999\n"
                "node ConvTranspose x w b -> c strides=[1,2]\nnode BatchNormalization c f z z v -> n\n"
                "node Relu n -> y\noutput y\n",
                "x = input c=1 h=3 w=3\nc = conv2d x k=4 r=1 s=1 relu\n"
                "c_2 = strided_copy c shape=1,2,3,6 at=0 d0=2,9 d1=9,1 d2=2,18\n");
    check_weights("opset 13\ninput x 1 1 3 3\nconst w 1 2 1 2 = 1 2 -2 1\nconst f 2 = 3 4\nconst z 2 = 0 0\n"
                  "const b 2 = 5 2.75\nconst v 2 = 0.99999 0.99999\n"
                  "node ConvTranspose x w b -> c strides=[1,2]\nnode BatchNormalization c f z z v -> n\n"
                  "node Relu n -> y\noutput y\n",
                  (const float[]){weights[0], weights[1], weights[2], weights[3], 15, 15, 11, 11}, 8,
                  "c w 0 16\nc bias 16 16\n");
}

static void sizes_are_given_or_follow_from_the_stride(void **unused)
{
    (void)unused;
    check_graph("opset 13\ninput x 1 1 3 3\nconst w 1 2 3 3 = 0.5 ...\n"
                "node ConvTranspose x w -> c strides=[3,2] output_shape=[10,8]\nnode MaxPool c -> y "
                "kernel_shape=[1,1]\noutput y\n",
                "x = input c=1 h=3 w=3\nc = conv2d x k=12 r=1 s=2 pad=0,1,1,1\n" /* 12 x 8 are made */
                "c_2 = strided_copy c shape=1,2,12,8 at=0 d0=2,16 d1=4,1 d2=3,32 d3=4,4 d4=2,96\n"
                "c_3 = strided_copy c_2 shape=1,2,10,8 at=0 d0=80,1 d1=2,96\ny = pool2d c_3 max r=1 s=1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_input_adds_its_window),
        cmocka_unit_test(layers_have_no_more_taps_than_are_needed),
        cmocka_unit_test(what_follows_is_done_in_the_kernel),
        cmocka_unit_test(sizes_are_given_or_follow_from_the_stride),
    };
    int failed;

    if (!folder_open("test-onnx-transposed"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
