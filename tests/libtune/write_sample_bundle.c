/* SPDX-License-Identifier: MIT */
/* write_sample_bundle - writes a bundle of small layers: write_sample_bundle DIR NAME [PART]
 * PART "all" (the default) or a number: only that layer. */
#include "tests/deploy/sample_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Naive kernels, and those of templates that pack, loop, have several modules or contents written down. */
static const struct set_sample samples[] = {
    {"conv-1", "conv2d f32 n=1 c=5 h=9 w=11 k=7 r=3 s=3 stride=2 pad=1", "conv2d/naive"},
    {"", "dense f32 m=3 n=17 k=31", "dense/naive"},
    {"int", "dense f32 m=8 n=32 k=16", "dense/dense"},
    {"conv.1", "conv2d f32 n=1 c=16 h=10 w=10 k=16 r=3 s=3 pad=1 epilogue=bias_relu", "conv2d/direct_tile"},
    {"init", "conv2d f32 n=1 c=16 h=10 w=10 k=16 r=3 s=3 pad=1 epilogue=bias_relu", "conv2d/direct_tile"},
    {"shortcut", "conv2d f32 n=1 c=16 h=12 w=12 k=16 r=3 s=3 pad=1 epilogue=bias_add_relu", "conv2d/winograd_tile"},
    {"2nd", "conv2d i8 n=1 c=16 h=8 w=8 k=16 r=3 s=3 pad=1 layout=nchw4c epilogue=bias_requant", "conv2d/i8"},
    {"half", "dense f16 m=4 n=33 k=64 epilogue=bias", "dense/naive"},
    {"loops", "rnn f32 i=5 h=7 b=3 t=6", "rnn/plan"},
    {"modules", "sparse_conv2d f32 n=1 c=16 h=8 w=8 k=16 r=3 s=3 pad=1 sparsity=0.9", "sparse_conv2d/generated"},
    {"bytes", "sparse_conv2d f32 n=1 c=16 h=8 w=8 k=16 r=3 s=3 pad=1 sparsity=0.8", "sparse_conv2d/csr"},
    {"no_weights", "pool2d f32 n=1 c=4 h=9 w=9 r=3 s=3 stride=2 pad=1", "pool2d/naive"},
};

#define N_SAMPLES (sizeof samples / sizeof samples[0])

int main(int argc, char **argv)
{
    struct deploy_set set;
    struct why why = {""};
    if (argc < 3) {
        fprintf(stderr, "usage: write_sample_bundle DIR NAME [PART]\n");
        return 1;
    }
    enum err e = deploy_set_init(&set, argv[2], &why);
    for (size_t i = 0; i < N_SAMPLES && e == ERR_OK; i++) {
        if (argc < 4 || strcmp(argv[3], "all") == 0 || (size_t)atoi(argv[3]) == i) {
            e = sample_set_add(&set, &samples[i], 0, &why);
        }
    }
    e = e == ERR_OK ? deploy_bundle_write(&set, argv[1], &why) : e;
    deploy_set_fini(&set);
    if (e != ERR_OK) {
        fprintf(stderr, "%s\n", why.text);
    }
    return e == ERR_OK ? 0 : 1;
}
