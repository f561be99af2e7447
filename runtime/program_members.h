/* SPDX-License-Identifier: MIT */
/* program_members.h - members of the objects that a program's text is made of. All give ERR_INPUT or ERR_LIMIT with
 * words that name the member. */
#ifndef TUNE_RUNTIME_PROGRAM_MEMBERS_H
#define TUNE_RUNTIME_PROGRAM_MEMBERS_H

#include "core/err.h"
#include "core/hash.h"
#include "core/json.h"

#include <stddef.h>
#include <stdint.h>

/* Refuses members that are not in `known` (space-separated words) and members that stand twice. */
enum err program_only_members(const cJSON *o, const char *what, const char *known, struct why *why);

/* Text of a member, "" when it is missing: into an array of n_out bytes, as a hash's digits, or as a copy that the
 * caller frees. */
enum err program_read_fixed(const cJSON *o, const char *name, char *out, size_t n_out, struct why *why);
enum err program_read_hash(const cJSON *o, const char *name, struct sha256 *out, struct why *why);
enum err program_read_heap(const cJSON *o, const char *name, char **out, struct why *why);

/* A word of a list of names; a missing member is word `otherwise`, or an error when that is -1. */
enum err program_read_word(const cJSON *o, const char *name, const char *const *words, int n, int otherwise, int *out,
                           struct why *why);

/* Member "seed", 0 when it is missing. */
enum err program_read_seed(const cJSON *o, uint64_t *out, struct why *why);

/* The member as a list, NULL when it is missing. */
enum err program_optional_list(const cJSON *o, const char *name, const cJSON **out, struct why *why);

/* A list of 1..max whole numbers, or of n_exact when that is not 0; its length goes to *n (may be NULL). */
enum err program_read_numbers(const cJSON *o, const char *name, int max, int n_exact, int64_t *out, int *n,
                              struct why *why);

#endif
