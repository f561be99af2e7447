/* SPDX-License-Identifier: MIT */
/* sass.h - counts over the machine code of CUDA kernels, as nvdisasm -c writes it. */
#ifndef TUNE_TESTS_KERNELS_SASS_H
#define TUNE_TESTS_KERNELS_SASS_H

#include "core/err.h"

#include <stddef.h>

/* Of the kernel that multiplies most in one pass of a loop. */
struct sass_counts {
    char kernel[64];
    int n_loop, n_math; /* instructions of the loop with the most products, and those that are products: of tensor
                           cores, fused multiply-adds, dot products of bytes; without loops within it. Without a loop:
                           of all of it */
    int n_copies;       /* fetches from global memory in the smallest loop with any, that one or one around it */
    int n_copying;      /* instructions there but for inner loops, products and reads of shared memory */
    int ahead_percent;  /* of the products in that loop, and in those within it: those between the last fetch and the
                           next  write to shared memory, the loop going round. Without such writes: all */
    int copy_bytes;     /* of the narrowest of those fetches; 0 = none */
    int store_bytes;    /* of the kernel's narrowest write to global memory; 0 = none */
};

/* ERR_INPUT: there is no function with an instruction; ERR_NOMEM; ERR_LIMIT beyond 1,000,000 instructions. */
enum err sass_count(const char *text, struct sass_counts *out, struct why *why);

#endif
