/* SPDX-License-Identifier: MIT */
/* input.h - a file to read whatever way it came: plain, gzipped, or standard input; it can be rewound and mapped. */
#ifndef TUNE_LOGS_INPUT_H
#define TUNE_LOGS_INPUT_H

#include "core/err.h"

#include <stddef.h>

#define INPUT_MAX_BYTES ((size_t)64 << 30) /* of what a pipe gives or a gzipped file holds */

/* Opens `path` ("-" = standard input) at its start: close(*fd). Pipes and gzipped files are first copied, unpacked,
 * into a temporary file without a name (TMPDIR). ERR_NOT_FOUND, ERR_IO (a gzipped file that is cut short among them, a
 * directory, a device but a terminal and /dev/null), ERR_LIMIT. */
enum err input_open(const char *path, int *fd, struct why *why);

#endif
