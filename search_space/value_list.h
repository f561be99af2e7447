/* SPDX-License-Identifier: MIT */
/* value_list.h - lists of constants as Python writes them, read and never run: "[1, 2, 4]", "['a', 'b']",
 * "list(range(32, 1024+1, 32))", "[2**i for i in range(0, 6)]", "[1] + [2*i for i in range(1, 11) if i != 3]". Numbers
 * know + - * / // % ** ( ), the variables of comprehensions, True and False. */
#ifndef TUNE_SEARCH_SPACE_VALUE_LIST_H
#define TUNE_SEARCH_SPACE_VALUE_LIST_H

#include "core/err.h"
#include "core/json.h"

#define VALUE_LIST_MAX_TEXT 65536
#define VALUE_LIST_MAX_DEPTH 32
#define VALUE_LIST_MAX_VALUES 4096
#define VALUE_LIST_MAX_STEPS 1000000 /* numbers read or computed in all */

/* Gives an array of numbers, booleans and strings in their order: cJSON_Delete it. ERR_INPUT with the place and what
 * was expected there; ERR_LIMIT for text too long, nested too deep, too many values or steps, and numbers beyond
 * 2^53. */
enum err value_list_parse(const char *text, cJSON **out, struct why *why);

#endif
