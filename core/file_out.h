/* SPDX-License-Identifier: MIT */
/* file_out.h - a file written piece by piece beside its place and renamed into it when it is whole. */
#ifndef TUNE_CORE_FILE_OUT_H
#define TUNE_CORE_FILE_OUT_H

#include "core/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define FILE_OUT_BUFFER_BYTES ((size_t)1 << 18)

struct file_out {
    int fd;
    bool is_side; /* `side` is to be renamed; else the bytes went where they belong (standard output, a device) */
    char path[PATH_MAX], side[PATH_MAX];
    char *pending; /* bytes not written yet */
    size_t n_pending;
};

/* Begins a file; "-" = standard output. What is no file but a device or a pipe is written into. ERR_IO, ERR_LIMIT,
 * ERR_NOMEM. */
enum err file_out_open(struct file_out *f, const char *path, unsigned mode, struct why *why);

/* The same in a folder that others may write in: what is there is replaced, be it a pipe, a device or a link. */
enum err file_out_open_beside(struct file_out *f, const char *path, unsigned mode, struct why *why);

/* Adds bytes; ERR_IO. */
enum err file_out_put(struct file_out *f, const void *bytes, size_t n, struct why *why);

/* Flushes, syncs and renames: from then on the whole file is there, before it nothing is. Ends with file_out_close. */
enum err file_out_commit(struct file_out *f, struct why *why);

/* Removes what was not committed. Takes what file_out_open failed on, and {.fd = -1}. */
void file_out_close(struct file_out *f);

#endif
