/* SPDX-License-Identifier: MIT */
/* functions.h - the two functions of each layer, as text. */
#ifndef TUNE_DEPLOY_FUNCTIONS_H
#define TUNE_DEPLOY_FUNCTIONS_H

#include "core/buf.h"
#include "deploy/set.h"

#include <stdbool.h>
#include <stddef.h>

/* Input, weight or output: the caller's. */
bool deploy_is_tensor(const struct program_buffer *b);

/* The definitions of both. */
void deploy_functions(const struct deploy_set *s, size_t i_call, struct buf *out);

#endif
