/* SPDX-License-Identifier: MIT */
/* terminal.h - what others wrote, where somebody may sit at a terminal that obeys it (text_plain, json_plain: blanks in
 * its place). */
#ifndef TUNE_CORE_TERMINAL_H
#define TUNE_CORE_TERMINAL_H

#include "core/json.h"

#include <stddef.h>

/* The bytes of the character at `text` that a terminal may obey, and its number; 0 = it is none. Control characters:
 * C0, DEL, C1 as UTF-8 has it; and those that turn the direction of writing. */
size_t text_unseen(const char *text, unsigned *code);

/* Compact text of a tree, in which those stand as \u and their number: nothing is lost. Given (cJSON_free); NULL where
 * memory is short. */
char *json_line(const cJSON *tree);

#endif
