/* SPDX-License-Identifier: MIT */
/* embedded.h - text files built into the library by embed.c. */
#ifndef TUNE_KERNELS_EMBEDDED_H
#define TUNE_KERNELS_EMBEDDED_H

/* One file: its name under kernels/ and its text. Tables end with name == NULL. */
struct embedded {
    const char *name, *text;
};

extern const struct embedded embedded_kernels[];  /* "preamble.h", "conv2d/naive.cl", ... */
extern const struct embedded embedded_networks[]; /* "vgg-16.net", ..., in alphabetical order */
extern const struct embedded embedded_graphs[];   /* "vgg-16.graph", ..., likewise */

#endif
