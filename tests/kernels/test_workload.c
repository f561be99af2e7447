/* SPDX-License-Identifier: MIT */
/* Workload texts: what is read, what is written, what is refused with which words. */
#include "kernels/network.h"
#include "kernels/operator.h"
#include "kernels/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define VGG "conv2d f32 n=1 c=256 h=56 w=56 k=256 r=3 s=3"

static const struct {
    const char *text, *canonical;
} good[] = {
    {VGG " stride=1 pad=1", VGG " pad=1"},
    {VGG " pad=1,1", VGG " pad=1"},
    {VGG " pad=1,2,1,2", VGG " pad=1,2"},
    {VGG " pad=1,0,1,2", VGG " pad=1,0,1,2"}, /* top is bottom, left is not right */
    {VGG " pad=1,2,0,2", VGG " pad=1,2,0,2"},
    {VGG " pad=2,2,2,2", VGG " pad=2"},
    {VGG " stride=3,3", VGG " stride=3"},
    {"conv2d f32 n=1 c=65536 h=1 w=1 k=65536 r=1 s=1 groups=65536", /* 2^16 weights, not 2^32 */
     "conv2d f32 n=1 c=65536 h=1 w=1 k=65536 r=1 s=1 groups=65536"},
    {"pool2d f32 n=1 c=6 h=5 w=5 r=2 s=2 stride=4 pad=0,0,1,1", /* the last window has one element inside */
     "pool2d f32 n=1 c=6 h=5 w=5 r=2 s=2 stride=4 pad=0,0,1,1"},
    {VGG " pad=1,0,2,1 stride=2,1 dilation=2,2", VGG " stride=2,1 pad=1,0,2,1 dilation=2"},
    {"  conv2d\tf32 k=8 s=1 r=1 w=5 h=4 c=3 n=2 groups=1 layout=nchw ", "conv2d f32 n=2 c=3 h=4 w=5 k=8 r=1 s=1"},
    {"conv2d i8 n=1 c=4 h=4 w=4 k=4 r=1 s=1 layout=nchw4c epilogue=relu",
     "conv2d i8 n=1 c=4 h=4 w=4 k=4 r=1 s=1 layout=nchw4c epilogue=relu"},
    {"dense i8 k=3 n=2 m=1 acc=f32", "dense i8 m=1 n=2 k=3"},
    {"dense f32 k=3 n=2 m=1", "dense f32 m=1 n=2 k=3"},
    {"pool2d i8 kind=max pad=1 stride=2,2 s=3 r=3 w=9 h=8 c=4 n=1", "pool2d i8 n=1 c=4 h=8 w=9 r=3 s=3 stride=2 pad=1"},
    {"add i8 n=1 c=4 h=8 w=9 relu=0 layout=nchw4c", "add i8 n=1 c=4 h=8 w=9 layout=nchw4c"},
    {"eltwise f32 f=add(a,b) b=64x1 y=064x3136", "eltwise f32 y=64x3136 b=64x1 f=add(a,b)"},
    {"transform f16 n=1 c=4 h=8 w=9 from=nchw to=nchw4c", "transform f16 n=1 c=4 h=8 w=9 to=nchw4c"},
    {"conv2d f32 n=1 c=65536 h=16 w=16 k=1 r=16 s=16", /* sums of as many products as there may be */
     "conv2d f32 n=1 c=65536 h=16 w=16 k=1 r=16 s=16"},
    {"sparse_conv2d f32 n=1 c=1024 h=1 w=1 k=1024 r=1 s=1 sparsity=00.999999", /* the most; 1 of 2^20 weights */
     "sparse_conv2d f32 n=1 c=1024 h=1 w=1 k=1024 r=1 s=1 sparsity=0.999999"},
    {"sparse_conv2d f32 n=1 c=64 h=1 w=1 k=64 r=1 s=1 sparsity=0.0250",
     "sparse_conv2d f32 n=1 c=64 h=1 w=1 k=64 r=1 s=1 sparsity=0.025"},
};

static const struct {
    const char *text, *words; /* words: what the message must contain */
} bad[] = {
    {"", "empty"},
    {"pool3d f32 n=1", "unknown operator \"pool3d\"; expected one of batch_gemm, conv2d, dense"},
    {"dense", "dtype is missing"},
    {"dense f64 m=1 n=1 k=1", "f64"},
    {"dense i8 m=1 n=1 k=1 epilogue=bias_swish", "a curve of int8 sums"},
    {"dense i8 m=1 n=1 k=1 epilogue=bias_relu6", "6 is no number of int8 sums"},
    {"dense f32 m=1 n=1 k=1 epilogue=bias_swish_add", "bias_swish_add"},
    {"dense f32 m=1 n=1", "k is missing"},
    {"dense f32 m=1 n=1 k=1 q=2", "q=2"},
    {"dense f32 m=1 n=1 k", "key=value"},
    {"dense f32 m=1 n=1 k=", "expected a whole number"},
    {"dense f32 m=1 n=1 k=two", "expected a whole number"},
    {"dense f32 m=1 n=1 k=2x", "k=2x: expected a whole number"},
    {"dense f32 m=0x10 n=1 k=1", "m=0x10: expected a whole number"},
    {"dense f32 m=1 n=1 k=2,3", "expected one number"},
    {"dense f32 m=1 n=1 k=1 k=1", "given twice"},
    {"dense f32 m=1 n=1 k=18446744073709551617", "64 bits"},
    {"dense f32 m=1 n=1 k=9223372036854775807", "expected 1 to"},
    {"dense f32 m=-1 n=1 k=1", "expected 1 to"},
    {"dense f32 m=16777216 n=16777216 k=1", "more than"},
    {"dense f32 m=1 n=1 k=1 \x01", "0x01"},
    {"dense f32 m=1 n=1 k=1 acc=f16", "acc=f16 is for dtype f16; sums of f32 are made in f32"},
    {"conv2d i8 n=1 c=4 h=5 w=5 k=4 r=1 s=1 acc=f16", "acc=f16 is for dtype f16; sums of i8 are made in i32"},
    {"conv2d f32 n=1 c=0 h=5 w=5 k=1 r=1 s=1", "c=0"},
    {"conv2d f32 n=1 c=1 h=5 w=5 k=1 r=7 s=7", "larger than the padded input"},
    {"conv2d f32 n=1 c=1 h=5 w=5 k=1 r=3 s=3 dilation=3", "larger than the padded input"},
    {"conv2d f32 n=1 c=1 h=5 w=6 k=1 r=4 s=2 dilation=3,4 pad=1,0,0,1", /* rows 1 + 3 * 3, columns 1 + 1 * 4 */
     "the window covers 10 x 5, larger than the padded input 6 x 7"},
    {"depthwise_conv2d f32 n=1 c=1 h=9 w=3 r=2 s=3 dilation=3,4", "covers 4 x 9, larger than the padded input 9 x 3"},
    {"sparse_conv2d f32 n=1 c=64 h=1 w=1 k=64 r=1 s=1 sparsity=0.0000011", "at most six digits behind the point"},
    {"conv2d f32 n=1 c=65537 h=16 w=16 k=1 r=16 s=16", "sums of 16777472 products; the most is 16777216"},
    {"conv2d f32 n=1 c=65536 h=1 w=1 k=1 r=1 s=1 pad=100", "x of 1 x 65536 x 201 x 201 has more than"},
    {"conv2d f32 n=1 c=65536 h=1 w=1 k=65536 r=1 s=1", "w of 65536 x 65536 x 1 x 1 has more than"},
    {"conv2d f32 n=1 c=1 h=256 w=256 k=65536 r=1 s=1", "y of 1 x 65536 x 256 x 256 has more than"},
    {"conv2d f32 n=1 c=1 h=5 w=5 k=1 r=1 s=1 pad=1,2,3", "top,left,bottom,right"},
    {"conv2d f32 n=1 c=1 h=5 w=5 k=1 r=1 s=1 stride=0", "stride=0"},
    {"conv2d f32 n=1 c=1 h=5 w=5 k=1 r=1 s=1 layout=nhcw", "nhwc"},
    {"conv2d f32 n=1 c=3 h=5 w=5 k=4 r=1 s=1 groups=2", "does not divide"},
    {"pool2d f32 n=1 c=6 h=5 w=5 r=2 s=2 layout=nchw4c", "layout=nchw4c needs c in multiples of 4, not c=6"},
    {"pool2d f32 n=1 c=6 h=5 w=5 r=6 s=2", "larger than the padded input"},
    {"pool2d f32 n=1 c=6 h=5 w=5 r=2 s=2 pad=2", "whole windows of 2 x 2 outside the image"},
    {"pool2d f32 n=1 c=6 h=5 w=5 r=2 s=2 pad=0,0,0,3", "expected a pad below the window's size"},
    {"pool2d f32 n=1 c=6 h=5 w=5 r=2 s=2 stride=5 pad=0,0,2,2", "whole windows of 2 x 2 outside"}, /* it begins at 5 */
    {"conv2d f32 n=1 c=4 h=5 w=5 k=3 r=1 s=1 groups=2", "groups=2 does not divide c=4 and k=3"},
    {"pool2d f32 n=1 c=6 h=0 w=5 r=2 s=2", "h=0"},
    {"pool2d f32 n=65536 c=65536 h=5 w=5 r=2 s=2", "x of 65536 x 65536 x 5 x 5 has more than"},
    {"pool2d f32 n=1 c=6 h=5 w=5 r=2 s=2 kind=min", "expected one of max, avg"},
    {"add f32 n=1 c=8 h=5 w=5 relu=2", "relu=2: expected 0 to 1"},
    {"add f32 n=1 c=12 h=5 w=5 layout=nchw8c", "layout=nchw8c needs c in multiples of 8, not c=12"},
    {"softmax f32 m=65536 n=65536", "more than 2147483647 elements"},
    {"dense4 f32 m=1 n=1 k=1 block=48", "block=16, 32, 64, 128 or 256, not block=48"},
    {"dense4 f32 m=1 n=1 k=1 block=8", "block=8"},
    {"dense4 f32 m=1 n=1 k=1 epilogue=requant", "expected dtype i8 or u8"},
    {"dense4 i8 m=1 n=1 k=1", "i8"},
    {"softmax f32 m=1 n=0", "n=0"},
    {"attention f32 b=1 heads=4 q=1 k=1 d=8 group=3", "group=3 does not divide heads=4"},
    {"attention f32 b=1 heads=4 q=1 k=9 d=8 past=8", "past= is for causal=1"},
    {"attention f32 b=1 heads=4 q=1 k=9 d=8 dv=8", "dv=8 is d: leave it out"},
    {"attention f32 b=1 heads=4 q=1 k=9 d=513", "d=513: expected 1 to 512"},
    {"attention f32 b=1 heads=4 q=1 k=9 d=8 mask=kq", "expected one of none, k, qk, bk"},
    {"attention f32 b=64 heads=64 q=1048576 k=9 d=8", "q of 64 x 64 x 1048576 x 8 has more than 2147483647 elements"},
    {"attention f32 b=64 heads=64 q=9 k=1048576 d=8", "k of 64 x 64 x 1048576 x 8 has more than"},
    {"attention f32 b=4 heads=4 q=9 k=1048576 d=1 dv=500", "v of 4 x 4 x 1048576 x 500 has more than"},
    {"attention f32 b=1 heads=1 q=1048576 k=1048576 d=8 mask=qk", "mask of 1 x 1 x 1048576 x 1048576 has more"},
    {"resize2d f32 n=1 c=1 h=2 w=2 size=4", "step is missing"},
    {"resize2d f32 n=1 c=1 h=2 w=2 size=4 step=1 unit=0", "unit=0: expected 1 to 2147483647"},
    {"resize2d f32 n=1 c=1 h=2 w=2 size=1,3 step=1,2000000000", "places over 2147483647 units"},
    {"resize2d f32 n=1 c=1 h=2 w=2 size=1 step=1 unit=1,1073741824", "places over 2147483647 units"},
    {"resize2d f32 n=1 c=1 h=2 w=2 size=65536 step=1", "y of 1 x 1 x 65536 x 65536 has more than"},
    {"resize2d f32 n=1 c=6 h=2 w=2 size=4 step=1 layout=nchw4c", "needs c in multiples of 4"},
    {"strided_copy f32 x=10", "d0 is missing"},
    {"strided_copy f32 x=10 d0=-1,1", "d0=-1: expected 1 place or more"},
    {"strided_copy f32 x=10 d0=11,1", "elements 0 to 10 of x, which has 10"},
    {"strided_copy f32 x=10 at=3 d0=5,-1", "elements -1 to 3 of x"},
    {"strided_copy f32 x=10 d0=2,2147483647 d1=2,2147483647 d2=2,2147483647", "of x, which has 10"},
    {"strided_copy f32 x=10 d0=2147483647,0 d1=2,0", "more than 2147483647 elements"},
    {"strided_copy f32 x=10 d0=3,1 p0=3,0 mode=reflect", "mode=reflect puts at most 2 places around 3"},
    {"strided_copy f32 x=10 d0=3,1 p0=0,4 mode=wrap", "mode=wrap puts at most 3 places around 3"},
    {"transform f32 n=1 c=12 h=5 w=5 to=nchw8c", "to=nchw8c needs c in multiples of 8, not c=12"},
    {"transform f32 n=1 c=12 h=5 w=5 from=nwhc", "expected one of nchw, nchw4c"},
    {"eltwise f32 y=5", "f is missing"},
    {"eltwise f32 f=relu(a)", "y is missing"},
    {"eltwise f32 y= f=relu(a)", "y=: expected 1 to 6 sizes from 1 to 2147483647, like 2x3x5"},
    {"eltwise f32 y=5x f=relu(a)", "y=5x: expected 1 to 6 sizes"},
    {"eltwise f32 y=5x0 f=relu(a)", "y=5x0: expected 1 to 6 sizes"},
    {"eltwise f32 y=2x3x4x5x6x7x8 f=relu(a)", "expected 1 to 6 sizes"},
    {"eltwise f32 y=99999999999999999999 f=relu(a)", "expected 1 to 6 sizes"},
    {"eltwise f32 y=16777216x16777216 b=16777216x1 f=add(a,b)", "y has more than 2147483647 elements"},
    {"eltwise f32 y=5x3 b=5x3 f=add(a,b)", "b has the shape of y"},
    {"eltwise f32 y=5x3 b=2x3 f=add(a,b)", "size 1 of b is 2; expected 1 or 5"},
    {"eltwise f32 y=5x3 b=5 f=add(a,b)", "b has 1 sizes and y 2"},
    {"eltwise f32 y=5x3 b=5x1 f=relu(a)", "b has a shape, but f does not have it"},
    {"eltwise f32 y=5x3 f=relu(a)", "sizes 1 and 2 are broadcast alike in all inputs"},
    {"eltwise f32 y=5x1x3 b=5x1x1 f=add(a,b)", "size 2 of y is 1"},
    {"gather f16 n=2049 m=1", "f16 numbers rows up to n=2048, not n=2049"},
    {"gather f32 n=65536 m=1 inner=65536", "more than 2147483647 elements"},
    {"gather f32 n=1 m=65536 inner=65536", "more than 2147483647 elements"},
    {"gather f32 n=5 m=5 weights=at", "weights=at: expected"},
    {"eltwise f32 y=5 f=relu(a) weights=b", "weights=b, but f has 1 inputs"},
    {"eltwise f32 y=5 f=relu(a) weights=ba", "weights=ba: expected"},
    {"eltwise f32 y=5 f=", "f: expected 1 to 191 characters"},
    {"eltwise f32 y=5 f=relu(a", "character 7: expected )"},
    {"conv2d f32 n=16777216 c=16777216 h=16777216 w=16777216 k=1 r=1 s=1", "more than"},
};

static void a_workload_is_written_in_its_canonical_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct workload w, again;
        struct why why = {""};
        struct buf text;

        buf_init(&text, WORKLOAD_MAX_TEXT);
        if (workload_parse(good[i].text, &w, &why))
            fail_msg("%s: %s", good[i].text, why.text);
        assert_int_equal(workload_text(&w, &text), ERR_OK);
        assert_string_equal(buf_text(&text), good[i].canonical);
        assert_int_equal(workload_parse(buf_text(&text), &again, NULL), ERR_OK);
        assert_memory_equal(&w, &again, sizeof w);
        buf_fini(&text);
    }
}

static void bad_texts_are_refused_with_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct workload w;
        struct why why = {""};
        const enum err e = workload_parse(bad[i].text, &w, &why);

        if (e != ERR_INPUT && e != ERR_LIMIT)
            fail_msg("\"%s\" gives %s", bad[i].text, err_words(e));
        if (!strstr(why.text, bad[i].words))
            fail_msg("\"%s\": \"%s\" does not say \"%s\"", bad[i].text, why.text, bad[i].words);
    }
}

static void a_text_over_the_limit_is_refused(void **state)
{
    char text[2 * WORKLOAD_MAX_TEXT];
    struct workload w;

    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(workload_parse(text, &w, NULL), ERR_LIMIT);
}

static void a_function_has_191_characters_at_the_most(void **state)
{
    (void)state;
    for (int more = 0; more < 3; more++) { /* each sigmoid( ) less is two abs( ) and a character more */
        const int n_sigmoid = 21 - more, n_abs = 2 * more;
        char text[WORKLOAD_MAX_TEXT] = "eltwise f32 y=5 f=";
        struct workload w;

        for (int i = 0; i < n_sigmoid + n_abs; i++)
            strcat(text, i < n_sigmoid ? "sigmoid(" : "abs(");
        strcat(text, "a");
        for (int i = 0; i < n_sigmoid + n_abs; i++)
            strcat(text, ")");
        assert_int_equal(strlen(strchr(text, '(') - strlen("sigmoid")), 190 + more);
        assert_int_equal(workload_parse(text, &w, NULL), more < 2 ? ERR_OK : ERR_LIMIT);
    }
}

static void texts_of_networks_are_canonical(void **state)
{
    (void)state;
    for (const char *const *name = network_names(); *name; name++) {
        const struct network *net;

        assert_int_equal(network_find(*name, &net, NULL), ERR_OK);
        for (size_t i = 0; i < net->n_layers; i++) {
            struct workload w;
            struct buf text;

            if (!net->layers[i].workload)
                continue;
            buf_init(&text, WORKLOAD_MAX_TEXT);
            assert_int_equal(workload_parse(net->layers[i].workload, &w, NULL), ERR_OK);
            assert_int_equal(workload_text(&w, &text), ERR_OK);
            assert_string_equal(buf_text(&text), net->layers[i].workload);
            buf_fini(&text);
        }
    }
}

/* By hand: what the formulas say of shapes whose sizes all differ. */
static const struct {
    const char *text;
    double flops, bytes, least; /* least: of products, without padding and zeros; 0 = nothing is known */
} amounts[] = {
    {"add f32 n=1 c=2 h=2 w=2 relu=1", 16, 96, 0},
    {"add f32 n=1 c=2 h=2 w=2", 8, 96, 0},
    {"attention f32 b=2 heads=3 q=5 k=7 d=4 dv=6", 2 * 6 * 35 * 10, 4 * 6 * (20 + 28 + 42 + 30), 2 * 6 * 35 * 10},
    {"batch_gemm f16 b=3 m=2 n=5 k=4", 240, 3 * 2 * (28 + 10), 240},
    {"batch_gemm i8 b=3 m=2 n=5 k=4", 240, 3 * (28 + 4 * 10), 240},
    {"concat f16 n=2 c=5 c2=2 h=3 w=4", 168, 4 * 168, 0},
    {"conv2d i8 n=1 c=2 h=4 w=5 k=3 r=3 s=3 pad=1", 2160, 40 + 54 + 4 * 60, 2 * 6 * 10 * 13},
    {"deformable_conv2d f32 n=1 c=2 h=4 w=5 k=3 r=3 s=3 pad=1", 2160, 4 * (40 + 54 + 360 + 60), 0},
    {"dense i8 m=2 n=3 k=5", 60, 10 + 15 + 4 * 6, 60},
    {"dense i8 m=2 n=3 k=5 epilogue=bias_relu_requant", 60, 10 + 15 + 6, 60},
    {"dense4 f32 m=2 n=3 k=32 block=16", 384, 256 + 48 + 24 + 24, 384},
    {"depthwise_conv2d f32 n=1 c=2 h=4 w=5 r=3 s=3 pad=1", 720, 4 * (40 + 18 + 40), 2 * 2 * 10 * 13},
    {"gather f32 outer=2 n=9 m=3 inner=5", 30, 4 * (30 + 3 + 30), 0},
    {"norm f16 m=2 n=10", 140, 2 * (20 + 10 + 10 + 20), 0},
    {"norm f16 m=2 n=10 kind=rms", 80, 2 * (20 + 10 + 20), 0},
    {"quantize u8 n=10", 20, 40 + 10 + 4 + 4, 0},
    {"reduce f32 outer=2 n=5 inner=3", 30, 4 * (30 + 6), 0},
    {"resize2d f16 n=2 c=3 h=9 w=6 size=4,3 step=1,2 unit=2,1", 72, 2 * 6 * (2 * 3 + 12),
     0}, /* rows 0, 1; columns 0 2 4 */
    {"resize2d f16 n=2 c=3 h=9 w=6 size=4,3 step=1,2 unit=2,1 kind=linear", 648, 2 * 6 * (3 * 3 + 12), 0},
    {"rnn f32 i=5 h=7 l=2 b=6 t=3", 2 * 28 * 18 * (12 + 14), 4 * (90 + 168 + 140 + 196 + 392 + 112 + 126 + 168),
     2 * 28 * 18 * (12 + 14)},
    {"sparse_conv2d f32 n=1 c=2 h=4 w=5 k=3 r=3 s=3 pad=1 sparsity=0.5", 2160, 4 * (40 + 27 + 60), 2 * 27 * 2 * 3},
    {"strided_copy f32 x=60 d0=4,1 d1=3,0", 12, 4 * (4 + 12), 0}, /* the same row three times */
    {"transform f16 n=1 c=4 h=2 w=3 to=nchw4c", 24, 2 * 48, 0},
};

static void amounts_are_those_counted_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        struct why why = {""};
        struct workload w;
        double least;

        if (workload_parse(amounts[i].text, &w, &why))
            fail_msg("%s: %s", amounts[i].text, why.text);
        least = w.op->flops_least ? w.op->flops_least(&w) : 0;
        if (w.op->flops(&w) != amounts[i].flops || w.op->bytes_min(&w) != amounts[i].bytes || least != amounts[i].least)
            fail_msg("%s: %.17g FLOPs, %.17g bytes, %.17g at the least", amounts[i].text, w.op->flops(&w),
                     w.op->bytes_min(&w), least);
    }
}

static void flops_and_bytes_count_each_product_and_element(void **state)
{
    struct workload w;

    (void)state;
    assert_int_equal(workload_parse(VGG " pad=1", &w, NULL), ERR_OK);
    assert_true(w.op->flops(&w) == 3699376128.0);
    assert_true(w.op->bytes_min(&w) == 4.0 * (2 * 256 * 56 * 56 + 256 * 256 * 9));
    assert_int_equal(workload_parse("dense f32 m=2 n=3 k=5", &w, NULL), ERR_OK);
    assert_true(w.op->flops(&w) == 60.0);
    assert_true(w.op->bytes_min(&w) == 4.0 * (10 + 15 + 6));
    assert_int_equal(workload_parse("pool2d f16 n=2 c=3 h=8 w=9 r=3 s=2 stride=2,4 pad=1", &w, NULL), ERR_OK);
    assert_true(w.op->flops(&w) == 2.0 * 3 * 4 * 3 * 6);               /* 4 x 3 windows of 6 */
    assert_true(w.op->bytes_min(&w) == 2.0 * 2 * 3 * (8 * 5 + 4 * 3)); /* columns 0, 3 4, 7 8 */
    assert_int_equal(workload_parse("softmax i8 m=2 n=10", &w, NULL), ERR_OK);
    assert_true(w.op->flops(&w) == 100.0);
    assert_true(w.op->bytes_min(&w) == 4.0 * (20 + 20 + 1));
    assert_int_equal(workload_parse("eltwise f16 y=10x20 b=10x1 f=mul(add(a,b),sigmoid(add(a,b)))", &w, NULL), ERR_OK);
    assert_true(w.op->flops(&w) == 3.0 * 200); /* equal parts count once */
    assert_true(w.op->bytes_min(&w) == 2.0 * (200 + 10 + 200));
    assert_int_equal(workload_parse("add i8 n=1 c=4 h=2 w=2 relu=1", &w, NULL), ERR_OK);
    assert_true(w.op->flops(&w) == 16.0 * 4);
    assert_true(w.op->bytes_min(&w) == 3 * 16.0 + 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workload_is_written_in_its_canonical_form),
        cmocka_unit_test(bad_texts_are_refused_with_words),
        cmocka_unit_test(a_text_over_the_limit_is_refused),
        cmocka_unit_test(a_function_has_191_characters_at_the_most),
        cmocka_unit_test(texts_of_networks_are_canonical),
        cmocka_unit_test(flops_and_bytes_count_each_product_and_element),
        cmocka_unit_test(amounts_are_those_counted_by_hand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
