/* SPDX-License-Identifier: MIT */
/* api.h - what the tracker knows, as JSON over HTTP: docs/api.md. On threads of the HTTP side; only what is asked of
 * the state runs in the core loop, a few milliseconds at a time. */
#ifndef TUNE_TRACKER_API_H
#define TUNE_TRACKER_API_H

#include "core/buf.h"
#include "core/err.h"
#include "tracker/server.h"

/* Answers GET /api/<path>?<query>: appends to `out`, which is empty, and names the type of what it has. Errors have a
 * JSON object with `err` and `why` in `out`: ERR_NOT_FOUND, ERR_INPUT, ERR_LIMIT, ERR_BUSY, ERR_IO. */
enum err api_answer(struct server *s, const char *path, const char *query, struct buf *out, const char **type);

#endif
