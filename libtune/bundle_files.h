/* SPDX-License-Identifier: MIT */
/* bundle_files.h - the parts of a bundle that are the same in every bundle (libtune/bundle), as text inside the
 * program. */
#ifndef TUNE_LIBTUNE_BUNDLE_FILES_H
#define TUNE_LIBTUNE_BUNDLE_FILES_H

#include <stddef.h>

struct bundle_file {
    const char *name; /* "exec_cl.h" */
    const char *text; /* NUL-terminated */
    size_t n_bytes;   /* without the NUL */
};

extern const struct bundle_file bundle_files[]; /* ended by !name */

#endif
