/* SPDX-License-Identifier: MIT */
/* hub.h - logs and bundles on a server: plain HTTP(S) (WebDAV for writing and listing) and S3-compatible stores, over
 * libcurl. Text: docs/hub.md. Words of failures never hold credentials. */
#ifndef TUNE_LOGS_HUB_HUB_H
#define TUNE_LOGS_HUB_HUB_H

#include "core/buf.h"
#include "core/err.h"
#include "core/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUB_MAX_URL 2048
#define HUB_MAX_ETAG 256
#define HUB_MAX_BYTES ((int64_t)5 << 30) /* of a log, of all files of a bundle: more is beyond one PUT of S3 */

/* A place: "http(s)://host/path" or "s3://bucket/key". */
struct hub_url {
    bool s3;
    char text[HUB_MAX_URL];   /* as people see it: no query, no credentials */
    char http[HUB_MAX_URL];   /* what is asked for, percent-encoded */
    char origin[HUB_MAX_URL]; /* s3: "https://endpoint/bucket" */
    char key[HUB_MAX_URL];    /* s3: not encoded */
};

/* s3 URLs take their endpoint from AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or AWS and their region from AWS_REGION,
 * AWS_DEFAULT_REGION or us-east-1. ERR_INPUT: no such scheme, a user or password in it, a query. */
enum err hub_url_parse(const char *text, struct hub_url *out, struct why *why);

/* The place `name` (no leading '/') below a folder; ERR_LIMIT. */
enum err hub_url_below(const struct hub_url *folder, const char *name, struct hub_url *out, struct why *why);

struct hub_options {
    double connect_s;      /* longest wait for a connection; 0 = 10 */
    double stall_s;        /* longest time without a byte; 0 = 30 */
    int64_t least_bytes_s; /* slower than that for stall_s is too slow; 0 = 1 */
    int n_tries;           /* of a request that failed for a while (no connection, 429, 5xx); 0 = 4 */
    double wait_s;         /* for other pushers of the same log; 0 = 60 */
    /* Told now and then how far a transfer is; n_total 0 = not known. May be NULL. */
    void (*progress)(int64_t n_done, int64_t n_total, void *arg);
    void *arg;
};

/* One connection and its credentials: of S3 from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, or the
 * profile AWS_PROFILE of AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials); of HTTP from TUNE_HUB_TOKEN (bearer),
 * TUNE_HUB_USER with TUNE_HUB_PASSWORD, or the netrc file TUNE_HUB_NETRC (~/.netrc). Proxies as libcurl knows them
 * (https_proxy ..), certificates of TUNE_HUB_CA beside the system's. */
struct hub;
enum err hub_open(const struct hub_options *options, struct hub **out, struct why *why);
void hub_close(struct hub *h);

/* What a server says of an object. */
struct hub_object {
    bool exists;
    char etag[HUB_MAX_ETAG];     /* "" = none given */
    int64_t n_bytes;             /* -1 = not told */
    char sha256[SHA256_HEX + 1]; /* as the pusher said (S3 metadata), "" = not told */
    int64_t age_s;               /* by the server's own clock; -1 = not told */
};

/* Preconditions of a PUT. */
#define HUB_ANY NULL /* whatever is there */
#define HUB_NEW ""   /* nothing may be there */

/* Fetches an object into a file (made, or gone on with where an earlier fetch of the same ETag ended: its ETag is kept
 * in PATH.etag until the end). Object missing: ERR_NOT_FOUND. Half a body, a checksum that does not fit: ERR_IO, what
 * came stays. Over max_bytes: ERR_LIMIT. */
enum err hub_get_file(struct hub *h, const struct hub_url *u, const char *path, int64_t max_bytes,
                      struct hub_object *out, struct why *why);
/* Small ones into memory; ERR_LIMIT beyond out->max_bytes. */
enum err hub_get(struct hub *h, const struct hub_url *u, struct buf *to, struct hub_object *out, struct why *why);
/* HEAD; a missing object is no error. */
enum err hub_head(struct hub *h, const struct hub_url *u, struct hub_object *out, struct why *why);

/* Stores a file, or bytes; on a WebDAV server folders above it are made. ERR_STALE: the precondition (an ETag, HUB_ANY
 * or HUB_NEW) did not hold. */
enum err hub_put_file(struct hub *h, const struct hub_url *u, const char *path, const char *etag, struct why *why);
enum err hub_put(struct hub *h, const struct hub_url *u, const void *bytes, size_t n, const char *etag,
                 struct why *why);

/* A missing object is no error. */
enum err hub_delete(struct hub *h, const struct hub_url *u, struct why *why);

/* Makes a folder of a WebDAV server, and those above it: ERR_EXISTS, ERR_UNSUPPORTED. Of two that try at once one
 * succeeds. */
enum err hub_make_folder(struct hub *h, const struct hub_url *u, struct why *why);

struct hub_entry {
    const char *name;     /* relative to the folder; folders end with '/' */
    int64_t n_bytes;      /* -1 = not told */
    const char *modified; /* in the server's words, "" = not told */
};

/* Calls `each` for what lies in a folder, in the server's order: S3 lists, WebDAV's PROPFIND, or nginx's JSON index.
 * ERR_UNSUPPORTED: the server has none of them. */
enum err hub_list(struct hub *h, const struct hub_url *folder, void (*each)(const struct hub_entry *e, void *arg),
                  void *arg, struct why *why);

/* ---- logs: lines that are only ever added ---- */

/* Makes the union of logs: all lines of `paths`, each once, as file `out`; tells how many lines it has that paths[0]
 * lacks. The caller's: hub knows no records. */
typedef enum err hub_merge(const char *const *paths, size_t n, const char *out, int64_t *n_new, struct why *why);

/* Adds logs to the one at `u` so that no pusher loses a line: under a lock (WebDAV folder NAME.lock/), else by If-Match
 * where the server honours it, else ERR_UNSUPPORTED unless `alone` says that nobody else pushes. *n_new: lines that
 * were new there. */
enum err hub_push_log(struct hub *h, const struct hub_url *u, const char *const *paths, size_t n, bool alone,
                      hub_merge *merge, int64_t *n_new, struct why *why);

/* Fetches a log into `path`; an existing file keeps its lines and gets the others. */
enum err hub_pull_log(struct hub *h, const struct hub_url *u, const char *path, hub_merge *merge, int64_t *n_new,
                      struct why *why);

/* ---- bundles: folders with a manifest.json that lists {path, sha256, bytes} ---- */

#define HUB_MAX_SCHEMA 2 /* of manifests: tune deploy writes no higher one */

/* Stores a bundle below `u`: its files, checked against the manifest first, and the manifest last. A bundle that is
 * there already stays unless `replace`: ERR_EXISTS. *n_sent: files sent (the same bundle again: 0). */
enum err hub_push_bundle(struct hub *h, const struct hub_url *u, const char *dir, bool replace, int *n_sent,
                         struct why *why);

/* Fetches a bundle into a new folder; files of an interrupted pull (in DIR.part) that are whole are not fetched again.
 * ERR_EXISTS when `dir` is there, ERR_IO for a checksum that does not fit. */
enum err hub_pull_bundle(struct hub *h, const struct hub_url *u, const char *dir, int *n_fetched, struct why *why);

#endif
