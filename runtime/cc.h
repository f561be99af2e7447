/* SPDX-License-Identifier: MIT */
/* cc.h - the C compiler of this machine: found, asked for its version, run. */
#ifndef TUNE_RUNTIME_CC_H
#define TUNE_RUNTIME_CC_H

#include "core/buf.h"
#include "core/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define CC_LOG_BYTES ((size_t)64 << 10) /* of a compiler's output; what is more is dropped */

struct cc {
    char path[PATH_MAX];
    char name[48];     /* "gcc" */
    char version[128]; /* the first line that it tells of itself */
};

/* The compilers that are looked for where nobody names one; NULL-ended. */
extern const char *const cc_names[];

/* wanted: a program of $PATH, a path, or "" = the first of cc_names that is there. Runs it for its version.
 * ERR_NOT_FOUND with words on what to install, ERR_INPUT for one that answers nothing. */
enum err cc_find(const char *wanted, struct cc *out, struct why *why);

/* Makes a shared object of a text in C (or C++), at `path`, which is replaced by rename; files of its own lie beside it
 * meanwhile. options: words between blanks. log (initialised, CC_LOG_BYTES): what the compiler says. ERR_COMPILE when
 * it refuses, ERR_IO. */
enum err cc_build(const struct cc *c, const char *text, size_t n, bool is_cxx, const char *options, const char *path,
                  struct buf *log, struct why *why);

#endif
