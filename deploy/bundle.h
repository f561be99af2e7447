/* SPDX-License-Identifier: MIT */
/* bundle.h - writes a bundle: C files, CMake package, kernel texts, plan.json, manifest.json. */
#ifndef TUNE_DEPLOY_BUNDLE_H
#define TUNE_DEPLOY_BUNDLE_H

#include "core/err.h"
#include "deploy/set.h"

/* Writes the bundle beside `dir` and renames it at the end: either all of it is there or nothing has changed. A bundle
 * that was there is replaced, an empty folder too. The same layers give the same bytes. ERR_EXISTS: `dir` is something
 * else; ERR_IO, ERR_UNSUPPORTED, ERR_LIMIT with words. */
enum err deploy_bundle_write(struct deploy_set *s, const char *dir, struct why *why);

#endif
