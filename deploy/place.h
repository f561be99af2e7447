/* SPDX-License-Identifier: MIT */
/* place.h - a folder that is written beside its place and renamed into it. */
#ifndef TUNE_DEPLOY_PLACE_H
#define TUNE_DEPLOY_PLACE_H

#include "core/err.h"

#include <stdbool.h>

/* May what is in `dir` go away? False without words: it is of another kind. */
typedef bool deploy_may_replace(const char *dir, struct why *why);

/* Calls `fill` with a fresh empty folder beside `dir`, then puts it in the place of `dir`. What
 * is there is replaced when it is an empty folder or `may_replace` says so. On any failure `dir` is as it was.
 * ERR_EXISTS: something else is there; ERR_IO. */
enum err deploy_place(const char *dir, deploy_may_replace *may_replace,
                      enum err (*fill)(const char *dir, void *arg, struct why *why), void *arg, struct why *why);

#endif
