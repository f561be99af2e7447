/* SPDX-License-Identifier: MIT */
/* http.h - what the tracker serves to browsers and programs: the page, the JSON API and its events (docs/api.md),
 * /metrics and /healthz. */
#ifndef TUNE_TRACKER_HTTP_H
#define TUNE_TRACKER_HTTP_H

#include "core/err.h"
#include "tracker/server.h"

struct http;

/* Serves on `where` ("127.0.0.1:9478"; port 0 = any free one), to who asks for an address, for localhost, for this
 * machine's name or for `name` (NULL = none further; kept). Where the tracker has a key, the page and the API ask for a
 * token made of it. ERR_INPUT, ERR_IO. It lives until the process ends. */
enum err http_start(struct server *s, const char *where, const char *name, struct http **out, struct why *why);

/* "http://127.0.0.1:9478", with the real port, and with the token where one is asked for. */
const char *http_url(const struct http *h);

#endif
