/* SPDX-License-Identifier: MIT */
/* wrapper.h - a command that children are started through: an emulator, nice, taskset. */
#ifndef TUNE_AGENT_WRAPPER_H
#define TUNE_AGENT_WRAPPER_H

#include "core/err.h"

#include <limits.h>

#define WRAPPER_MAX_WORDS 32

struct wrapper {
    char words[PATH_MAX]; /* cut by NULs; argv[1] and later point into it */
    char program[PATH_MAX];
    const char *argv[WRAPPER_MAX_WORDS + 1]; /* argv[0] is `program`, a path; NULL-ended */
    int n;
};

/* Cuts `text` at spaces (no quotes) and finds its first word in PATH. NULL or all spaces: n = 0. ERR_INPUT for a text
 * that is too long, ERR_NOT_FOUND for a program that cannot be executed. */
enum err wrapper_init(struct wrapper *w, const char *text, struct why *why);

#endif
