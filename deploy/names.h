/* SPDX-License-Identifier: MIT */
/* names.h - names that a bundle puts into C: of itself, its layers, their tensors. */
#ifndef TUNE_DEPLOY_NAMES_H
#define TUNE_DEPLOY_NAMES_H

#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>

#define DEPLOY_NAME_BYTES 64    /* of a bundle */
#define DEPLOY_SYMBOL_BYTES 256 /* of a layer */

/* A text as part of a C identifier: other characters than ASCII letters and digits become '_', '=' goes away.
 * ERR_LIMIT. */
enum err deploy_symbol(const char *text, char *out, size_t n_out);

/* A bundle's name: as deploy_symbol, and it begins with a letter ('b' is put before another character). ERR_INPUT with
 * words for names that a C header, a system library or CMake itself has ("math", "pthread", "test"), for an empty and
 * for a long one. */
enum err deploy_bundle_name(const char *text, char out[DEPLOY_NAME_BYTES], struct why *why);

/* The same in capitals, for macros. */
void deploy_capitals(const char *name, char out[DEPLOY_NAME_BYTES]);

/* May functions of a layer be named so ("NAME_symbol", "NAME_symbol_pack")? Not when a bundle's own functions are, nor
 * when one of `n` other symbols has the name. */
bool deploy_symbol_is_free(const char *symbol, const char *const *others, size_t n);

/* A tensor's id as a parameter's name: with '_' behind it where C or the function itself has the word. */
enum err deploy_parameter(const char *id, char *out, size_t n_out);

#endif
