/* shapes.h - small workloads that between them have every trait a template must handle. */
#ifndef TUNE_TESTS_KERNELS_SHAPES_H
#define TUNE_TESTS_KERNELS_SHAPES_H

static const char *const small_shapes[] = {
    "conv2d f32 n=1 c=16 h=14 w=14 k=32 r=3 s=3 pad=1",                           /* square */
    "conv2d f32 n=1 c=5 h=13 w=17 k=19 r=3 s=2 pad=1",                            /* ragged */
    "conv2d f32 n=1 c=1 h=1 w=1 k=1 r=1 s=1",                                     /* tiny */
    "conv2d f32 n=1 c=8 h=15 w=15 k=16 r=3 s=3 stride=2 pad=1",                   /* strided */
    "conv2d f32 n=1 c=4 h=12 w=12 k=8 r=3 s=3 pad=2 dilation=2",                  /* dilated */
    "conv2d f32 n=1 c=3 h=9 w=8 k=6 r=2 s=3 stride=2,1 pad=1,0,2,1 dilation=1,2", /* asymmetric */
    "conv2d f32 n=2 c=6 h=7 w=7 k=10 r=3 s=3 pad=1",                              /* batch */
    "conv2d f32 n=1 c=24 h=7 w=7 k=40 r=1 s=1",                                   /* 1x1 */
    "conv2d f32 n=1 c=3 h=23 w=23 k=16 r=7 s=7 stride=2 pad=3",                   /* 7x7 */
    "dense f32 m=16 n=64 k=64",                                                   /* square */
    "dense f32 m=13 n=37 k=51",                                                   /* ragged */
    "dense f32 m=1 n=1 k=1",                                                      /* tiny */
    "dense f32 m=1 n=130 k=77",                                                   /* one row */
    "dense f32 m=33 n=18 k=1100",                                                 /* long sums */
};

#define N_SMALL_SHAPES (sizeof small_shapes / sizeof small_shapes[0])

#endif
