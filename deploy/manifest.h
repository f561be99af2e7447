/* SPDX-License-Identifier: MIT */
/* manifest.h - manifest.json of a bundle: what it was made from, and a hash of each file. */
#ifndef TUNE_DEPLOY_MANIFEST_H
#define TUNE_DEPLOY_MANIFEST_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "deploy/set.h"

#include <stdbool.h>
#include <stddef.h>

#define BUNDLE_SCHEMA 2
#define BUNDLE_MANIFEST "manifest.json"
#define BUNDLE_MANIFEST_BYTES ((size_t)64 << 20)

/* Appends the manifest's text; `files`: an array of {path, sha256, bytes}, borrowed. Its last member is a hash of the
 * text before it. */
enum err deploy_manifest_text(const struct deploy_set *s, const cJSON *files, struct buf *out, struct why *why);

/* Verifies a bundle: its manifest whole, of a schema that is known, and every file as it says. The number of files goes
 * to *n_files. One line of words names what is wrong: ERR_NOT_FOUND (no manifest, no such file), ERR_INPUT (damaged),
 * ERR_UNSUPPORTED (newer schema), ERR_IO. */
enum err deploy_check(const char *dir, size_t *n_files, struct why *why);

/* Is there a whole manifest in `dir`, of whatever schema, and nothing but the files that it lists? Words name the first
 * file that it does not list; without a manifest there are none. */
bool deploy_is_bundle(const char *dir, struct why *why);

#endif
