/* SPDX-License-Identifier: MIT */
/* embedded.h - the files of this folder, built in by kernels/embed.c. */
#ifndef TUNE_PAGE_EMBEDDED_H
#define TUNE_PAGE_EMBEDDED_H

/* Tables end with name == NULL. */
struct embedded {
    const char *name, *text;
};

extern const struct embedded embedded_page[];

#endif
