/* SPDX-License-Identifier: MIT */
/* json_parts.h - walks the members of a large JSON object, or the items of a large array, holding one at a time. Of
 * text that is cut short it gives every whole part. */
#ifndef TUNE_FORMATS_SYNTAX_JSON_PARTS_H
#define TUNE_FORMATS_SYNTAX_JSON_PARTS_H

#include "core/err.h"
#include "core/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_part_kind {
    JSON_PART_ONE, /* a whole part */
    JSON_PART_END, /* the object or array was closed */
    JSON_PART_CUT, /* the text ends within it; the part's value is what there is of it (n_value 0 = nothing) */
    JSON_PART_BAD, /* no JSON: `at` stands where it went wrong */
};

struct json_parts {
    const char *at, *end;
    int64_t i_line; /* of `at`, from 1 */
    char close;     /* '}' or ']' */
};

struct json_part {
    const char *key; /* of an object: between its quotes, escapes as they stand; NULL in an array */
    size_t n_key;
    const char *value; /* lent from the text */
    size_t n_value;
    int64_t i_line; /* where the value begins */
};

/* Begins with the first `{` or `[`, before which only white space or a byte order mark may stand; `i_line`: the line of
 * text[0]. False when there is none. */
bool json_parts_open(struct json_parts *p, const char *text, size_t n, int64_t i_line);

/* The next part. A comma too many before the end is passed over, as writers that append leave one. */
enum json_part_kind json_parts_next(struct json_parts *p, struct json_part *out);

/* Is the part's key this name? */
bool json_part_is(const struct json_part *part, const char *name);

/* The tree of a part's value, cJSON_Delete it. NaN and Infinity, which Python writes, become null. ERR_LIMIT for more
 * than max_bytes or too deep, ERR_INPUT, ERR_NOMEM. */
enum err json_part_tree(const struct json_part *part, size_t max_bytes, cJSON **out, struct why *why);

#endif
