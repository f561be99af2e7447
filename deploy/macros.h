/* SPDX-License-Identifier: MIT */
/* macros.h - a person's own kernel, tuned: a C header with the winner's macros by device and problem size. */
#ifndef TUNE_DEPLOY_MACROS_H
#define TUNE_DEPLOY_MACROS_H

#include "core/buf.h"
#include "core/err.h"
#include "kernels/spec/spec.h"
#include "logs/log.h"

#include <stddef.h>

/* Appends the header: each parameter of the kernel's space as a #define. Where the set holds several devices, one is
 * chosen by TARGET_NAME, its name in capitals with every other character an underscore; where it holds several problem
 * sizes of a device, by PROBLEM_SIZE_0, PROBLEM_SIZE_1 .. . `file` is named in the text. `n` gets the number of
 * configs; records of other kernels, of another version of the job's own workload, or with other parameters are left
 * out and counted in `n_left`. ERR_NOT_FOUND with words when nothing is left. */
enum err deploy_macros(const struct best_set *best, const struct spec *s, const char *file, struct buf *out, size_t *n,
                       size_t *n_left, struct why *why);

#endif
