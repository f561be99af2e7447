/* SPDX-License-Identifier: MIT */
/* program_loops.h - are the loops of an untrusted program sane? */
#ifndef TUNE_RUNTIME_PROGRAM_LOOPS_H
#define TUNE_RUNTIME_PROGRAM_LOOPS_H

#include "core/err.h"
#include "runtime/program.h"

#include <stdbool.h>
#include <stddef.h>

/* Ranges, nesting, counts, and every argument's first and last value. ERR_INPUT, ERR_LIMIT with words. Launches and
 * their arguments have been checked on their own. */
enum err program_check_loops(const struct program *p, struct why *why);

/* Does a loop hold both launches? */
bool program_share_loop(const struct program *p, size_t i_launch, size_t i_other);

#endif
