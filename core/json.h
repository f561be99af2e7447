/* SPDX-License-Identifier: MIT */
/* json.h - reading untrusted JSON with cJSON: limits on length and depth, typed members, clear words. */
#ifndef TUNE_CORE_JSON_H
#define TUNE_CORE_JSON_H

#include "core/buf.h"
#include "core/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_MAX_DEPTH 32
#define JSON_EXACT_MAX ((int64_t)1 << 53) /* integers beyond +- this are refused: a JSON number is a double */

/* Parses exactly `n` bytes (no NUL needed, nothing may follow but white space). Gives a tree: cJSON_Delete it.
 * ERR_INPUT with the byte offset in `why`, ERR_LIMIT for a depth over JSON_MAX_DEPTH, ERR_NOMEM. */
enum err json_parse(const char *text, size_t n, cJSON **out, struct why *why);

/* The same for a text that a person wrote: ERR_INPUT names line and column, counted from 1. */
enum err json_parse_file(const char *text, size_t n, cJSON **out, struct why *why);

/* Compact text of a tree. Members stand in the order they were added: our objects are built in a fixed order,
 * so equal content gives equal bytes. */
enum err json_print(const cJSON *tree, struct buf *out);

/* Control characters in all names and texts of a tree become blanks: a terminal obeys those of whoever wrote them. */
void json_plain(cJSON *tree);

/* Has the object a member of exactly this name? cJSON's own question takes "Name" for "name". */
bool json_has(const cJSON *object, const char *name);

/* Members of an object: ERR_INPUT naming the member when it is missing or of another type.
 * The `_or` forms take a default when the member is missing (a wrong type is still ERR_INPUT).
 * Strings are lent and live as long as the tree. */
enum err json_get_text(const cJSON *object, const char *name, const char **out, struct why *why);
enum err json_get_i64(const cJSON *object, const char *name, int64_t min, int64_t max, int64_t *out, struct why *why);
enum err json_get_real(const cJSON *object, const char *name, double *out, struct why *why);
enum err json_get_bool(const cJSON *object, const char *name, bool *out, struct why *why);
enum err json_get_array(const cJSON *object, const char *name, const cJSON **out, struct why *why);
enum err json_get_object(const cJSON *object, const char *name, const cJSON **out, struct why *why);
enum err json_text_or(const cJSON *object, const char *name, const char *otherwise, const char **out, struct why *why);
enum err json_i64_or(const cJSON *object, const char *name, int64_t otherwise, int64_t min, int64_t max, int64_t *out,
                     struct why *why);
enum err json_real_or(const cJSON *object, const char *name, double otherwise, double *out, struct why *why);
enum err json_bool_or(const cJSON *object, const char *name, bool otherwise, bool *out, struct why *why);

/* Adding to an object; `ok` turns false on lack of memory and stays so: one check at the end of a chain. */
void json_add_text(cJSON *object, const char *name, const char *text, bool *ok);
void json_add_i64(cJSON *object, const char *name, int64_t value, bool *ok);
void json_add_real(cJSON *object, const char *name, double value, bool *ok);
void json_add_bool(cJSON *object, const char *name, bool value, bool *ok);
void json_add_item(cJSON *object, const char *name, cJSON *takes, bool *ok);

#endif
