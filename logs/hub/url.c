/* SPDX-License-Identifier: MIT */
/* url.c - places of a hub. */
#include "logs/hub/hub.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || strchr("-._~/", c);
}

/* Percent-encodes a path (RFC 3986; S3's signatures want the same); existing %XX of `keep_escapes` stay. */
static enum err encode(const char *path, bool keep_escapes, char *out, size_t n_out)
{
    size_t n = 0;

    for (const char *p = path; *p; p++) {
        if (n + 4 > n_out)
            return ERR_LIMIT;
        if (is_plain(*p) || (keep_escapes && strchr("%:@!$&'()*+,;=", *p)))
            out[n++] = *p;
        else
            n += (size_t)snprintf(out + n, n_out - n, "%%%02X", (unsigned char)*p);
    }
    assert(n < n_out);
    out[n] = '\0';
    return ERR_OK;
}

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

/* "https://endpoint/bucket" */
static enum err s3_origin(const char *bucket, size_t n_bucket, struct hub_url *out, struct why *why)
{
    const char *endpoint = *env("AWS_ENDPOINT_URL_S3") ? env("AWS_ENDPOINT_URL_S3") : env("AWS_ENDPOINT_URL");
    const char *region = *env("AWS_REGION") ? env("AWS_REGION") : env("AWS_DEFAULT_REGION");
    size_t n_end = strlen(endpoint);
    int n;

    for (size_t i = 0; i < n_bucket; i++)
        if (!isalnum((unsigned char)bucket[i]) && !strchr(".-_", bucket[i]))
            return why_set(why, ERR_INPUT, "s3://%.*s: expected a bucket of letters, digits, '-', '_' and '.'",
                           (int)n_bucket, bucket);
    if (*endpoint &&
        (strchr(endpoint, '@') || (strncmp(endpoint, "http://", 7) != 0 && strncmp(endpoint, "https://", 8) != 0)))
        return why_set(why, ERR_INPUT, "AWS_ENDPOINT_URL: expected http(s)://host[:port] without credentials");
    while (n_end && endpoint[n_end - 1] == '/')
        n_end--;
    if (n_end)
        n = snprintf(out->origin, sizeof out->origin, "%.*s/%.*s", (int)n_end, endpoint, (int)n_bucket, bucket);
    else
        n = snprintf(out->origin, sizeof out->origin, "https://s3.%s.amazonaws.com/%.*s",
                     *region ? region : "us-east-1", (int)n_bucket, bucket);
    return n < (int)sizeof out->origin ? ERR_OK : why_set(why, ERR_LIMIT, "the S3 endpoint is too long");
}

/* Has a key a part that is "." or ".."? They would be taken out of the path, with what stands before, on the way. */
static bool has_dots(const char *key)
{
    for (const char *at = key;; at++) {
        const size_t n = strcspn(at, "/");

        if ((n == 1 || n == 2) && strncmp(at, "..", n) == 0)
            return true;
        at += n;
        if (!*at)
            return false;
    }
}

static enum err parse_s3(const char *text, struct hub_url *out, struct why *why)
{
    const char *bucket = text + strlen("s3://"), *slash = strchr(bucket, '/');
    const size_t n_bucket = slash ? (size_t)(slash - bucket) : strlen(bucket);
    char encoded[HUB_MAX_URL];
    enum err e;

    if (!n_bucket)
        return why_set(why, ERR_INPUT, "%s: expected s3://bucket/key", text);
    if (slash && has_dots(slash + 1))
        return why_set(why, ERR_INPUT, "%s: no part of a key may be '.' or '..'", text);
    e = s3_origin(bucket, n_bucket, out, why);
    if (e)
        return e;
    snprintf(out->key, sizeof out->key, "%s", slash ? slash + 1 : "");
    if (encode(out->key, false, encoded, sizeof encoded) ||
        snprintf(out->http, sizeof out->http, "%s/%s", out->origin, encoded) >= (int)sizeof out->http)
        return why_set(why, ERR_LIMIT, "%s: the URL is too long", text);
    return ERR_OK;
}

static enum err parse_http(const char *text, size_t n_scheme, struct hub_url *out, struct why *why)
{
    const char *path = strchr(text + n_scheme, '/');
    const size_t n_host = path ? (size_t)(path - text) : strlen(text);
    char encoded[HUB_MAX_URL];

    if (n_host == n_scheme)
        return why_set(why, ERR_INPUT, "%s: expected http(s)://host/path", text);
    for (size_t i = n_scheme; i < n_host; i++)
        if ((unsigned char)text[i] < 0x80 && !isalnum((unsigned char)text[i]) && !strchr("-._:[]", text[i]))
            return why_set(why, ERR_INPUT, "%.*s: no host has '%c' in its name", (int)n_host, text, text[i]);
    if (encode(path ? path : "/", true, encoded, sizeof encoded) ||
        snprintf(out->http, sizeof out->http, "%.*s%s", (int)n_host, text, encoded) >= (int)sizeof out->http)
        return why_set(why, ERR_LIMIT, "%.*s..: the URL is too long", (int)n_host, text);
    return ERR_OK;
}

/* A user and password before the host. */
static bool has_credentials(const char *text)
{
    const char *host = strstr(text, "://");
    const size_t n = host ? strcspn(host + 3, "/") : 0;

    return host && memchr(host + 3, '@', n);
}

enum err hub_url_parse(const char *text, struct hub_url *out, struct why *why)
{
    struct hub_url u = {.s3 = strncmp(text, "s3://", 5) == 0};
    const size_t n_scheme = strncmp(text, "http://", 7) == 0 ? 7 : strncmp(text, "https://", 8) == 0 ? 8 : 0;
    enum err e;

    if (has_credentials(text))
        return why_set(why, ERR_INPUT,
                       "a URL may not hold a user or password: others can read command lines; expected them in the "
                       "environment (TUNE_HUB_USER, TUNE_HUB_PASSWORD, TUNE_HUB_TOKEN) or in ~/.netrc");
    if (strlen(text) >= sizeof u.text)
        return why_set(why, ERR_LIMIT, "the URL is longer than %zu characters", sizeof u.text - 1);
    if (!u.s3 && !n_scheme)
        return why_set(why, ERR_INPUT, "%s: expected a URL: http://.., https://.. or s3://bucket/key", text);
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f || ((*p == '?' || *p == '#') && !u.s3))
            return why_set(why, ERR_INPUT, "the URL holds a control character, '?' or '#'; expected a path alone");
    strcpy(u.text, text);
    e = u.s3 ? parse_s3(text, &u, why) : parse_http(text, n_scheme, &u, why);
    if (!e)
        *out = u;
    return e;
}

enum err hub_url_below(const struct hub_url *folder, const char *name, struct hub_url *out, struct why *why)
{
    char text[HUB_MAX_URL], encoded[HUB_MAX_URL];
    const size_t n = strlen(folder->text);
    const char *slash = n && folder->text[n - 1] == '/' ? "" : "/";

    if (folder->s3) { /* '%' of a key means itself */
        if (snprintf(text, sizeof text, "%s%s%s", folder->text, slash, name) < (int)sizeof text)
            return hub_url_parse(text, out, why);
    } else if (!encode(name, false, encoded, sizeof encoded) &&
               snprintf(text, sizeof text, "%s%s%s", folder->text, slash, encoded) < (int)sizeof text) {
        return hub_url_parse(text, out, why);
    }
    return why_set(why, ERR_LIMIT, "%s: the URL of %s is too long", folder->text, name);
}
