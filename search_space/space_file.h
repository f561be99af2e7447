/* SPDX-License-Identifier: MIT */
/* space_file.h - spaces described in JSON, in either of two forms:
 *
 *   {"params": [{"name": "bx", "values": [1, 2, 4]}, ..], "restrictions": ["bx * by <= 1024", ..]}
 *
 * as recorded spaces have it (other members mean nothing here; restrictions null: not known), and a kernel's problem
 * description
 *
 *   {"ConfigurationSpace": {"TuningParameters": [{"Name": "BX", "Type": "int", "Values": "[1, 2, 4]"}, ..],
 *                           "Conditions": [{"Expression": "BX * BY <= 1024", "Parameters": ["BX", "BY"]}, ..]}}
 *
 * Values are numbers or words, not both; in the second form a list may be an array or the text of one as Python writes
 * it (value_list.h). */
#ifndef TUNE_SEARCH_SPACE_SPACE_FILE_H
#define TUNE_SEARCH_SPACE_SPACE_FILE_H

#include "core/err.h"
#include "core/json.h"
#include "search_space/space.h"

#include <stdbool.h>
#include <stddef.h>

#define SPACE_FILE_MAX_BYTES ((size_t)4 << 20)

/* Adds the knobs and constraints of an object to a space that is not sealed; *is_known (may be NULL): false when its
 * restrictions are null. ERR_INPUT, ERR_LIMIT, ERR_NOMEM. */
enum err space_file_add(struct space *s, const cJSON *object, bool *is_known, struct why *why);

/* A sealed space from text, or from a file (words then begin with the path). ERR_INPUT, ERR_LIMIT, ERR_NOMEM; of files
 * also ERR_NOT_FOUND, ERR_IO. */
enum err space_file_parse(const char *text, size_t n, struct space **out, bool *is_known, struct why *why);
enum err space_file_read(const char *path, struct space **out, bool *is_known, struct why *why);

#endif
