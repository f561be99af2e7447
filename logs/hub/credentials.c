/* SPDX-License-Identifier: MIT */
#include "logs/hub/credentials.h"

#include "core/buf.h"
#include "core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES 65536

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

static enum err take(const char *what, const char *value, size_t n, char *to, size_t n_to, struct why *why)
{
    if (n >= n_to)
        return why_set(why, ERR_INPUT, "%s is longer than %zu characters", what, n_to - 1);
    if (memchr(value, '\n', n) || memchr(value, '\r', n))
        return why_set(why, ERR_INPUT, "%s has a line break", what);
    memcpy(to, value, n);
    to[n] = '\0';
    return ERR_OK;
}

static enum err take_env(const char *name, char *to, size_t n_to, struct why *why)
{
    return take(name, env(name), strlen(env(name)), to, n_to, why);
}

/* A file of secrets may be read by its owner only. */
static enum err check_private(const char *path, struct why *why)
{
    struct stat s;

    if (stat(path, &s) == 0 && (s.st_mode & (S_IRWXG | S_IRWXO)))
        return why_set(why, ERR_INPUT, "%s holds secrets and others may read it; expected mode 0600 (chmod 600 it)",
                       path);
    return ERR_OK;
}

/* The path in `variable`, or ~/`otherwise` where it exists; "" = neither. */
static enum err secret_file(const char *variable, const char *otherwise, char out[PATH_MAX], struct why *why)
{
    const char *home = getenv("HOME");
    int n = 0;

    out[0] = '\0';
    if (*env(variable)) {
        n = snprintf(out, PATH_MAX, "%s", env(variable));
        if (n < PATH_MAX && access(out, R_OK) != 0)
            return why_set(why, ERR_NOT_FOUND, "%s names %s, which cannot be read", variable, out);
    } else if (home) {
        n = snprintf(out, PATH_MAX, "%s/%s", home, otherwise);
        if (n < PATH_MAX && access(out, R_OK) != 0)
            out[0] = '\0';
    }
    if (n >= PATH_MAX)
        return why_set(why, ERR_INPUT, "%s: the path is too long", variable);
    return *out ? check_private(out, why) : ERR_OK;
}

static size_t trimmed(const char **p, size_t n)
{
    while (n && (**p == ' ' || **p == '\t')) {
        ++*p;
        n--;
    }
    while (n && strchr(" \t\r", (*p)[n - 1]))
        n--;
    return n;
}

static bool is_word(const char *p, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(p, word, n) == 0;
}

/* One "name = value" of the wanted profile. */
static enum err take_setting(const char *line, size_t n, struct credentials *out, struct why *why)
{
    const char *equals = memchr(line, '=', n), *name = line, *value;
    size_t n_name, n_value;

    if (!equals)
        return ERR_OK;
    value = equals + 1;
    n_name = trimmed(&name, (size_t)(equals - line));
    n_value = trimmed(&value, (size_t)(line + n - value));
    if (is_word(name, n_name, "aws_access_key_id"))
        return take("aws_access_key_id", value, n_value, out->access_key, sizeof out->access_key, why);
    if (is_word(name, n_name, "aws_secret_access_key"))
        return take("aws_secret_access_key", value, n_value, out->secret_key, sizeof out->secret_key, why);
    if (is_word(name, n_name, "aws_session_token"))
        return take("aws_session_token", value, n_value, out->session, sizeof out->session, why);
    return ERR_OK;
}

static enum err read_profile(const char *text, const char *profile, struct credentials *out, struct why *why)
{
    bool inside = false;
    enum err e = ERR_OK;

    for (const char *p = text; *p && !e;) {
        const size_t n_line = strcspn(p, "\n");
        const char *line = p;
        const size_t n = trimmed(&line, n_line);

        if (n > 2 && line[0] == '[' && line[n - 1] == ']')
            inside = is_word(line + 1, n - 2, profile);
        else if (inside && n && *line != '#' && *line != ';')
            e = take_setting(line, n, out, why);
        p += n_line + (p[n_line] == '\n');
    }
    return e;
}

static enum err read_s3(struct credentials *out, struct why *why)
{
    char path[PATH_MAX];
    struct buf text;
    enum err e = take_env("AWS_ACCESS_KEY_ID", out->access_key, sizeof out->access_key, why);

    if (!e)
        e = take_env("AWS_SECRET_ACCESS_KEY", out->secret_key, sizeof out->secret_key, why);
    if (!e)
        e = take_env("AWS_SESSION_TOKEN", out->session, sizeof out->session, why);
    if (!e && !*out->access_key != !*out->secret_key)
        e = why_set(why, ERR_INPUT, "expected both of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither");
    if (e || *out->access_key)
        return e;
    e = secret_file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", path, why);
    if (e || !*path)
        return e;
    buf_init(&text, FILE_MAX_BYTES);
    e = file_read(path, &text, why);
    if (!e)
        e = read_profile(buf_text(&text), *env("AWS_PROFILE") ? env("AWS_PROFILE") : "default", out, why);
    if (text.data)
        explicit_bzero(text.data, text.cap);
    buf_fini(&text);
    return e;
}

enum err credentials_read(struct credentials *out, struct why *why)
{
    const char *region = *env("AWS_REGION") ? env("AWS_REGION") : env("AWS_DEFAULT_REGION");
    enum err e;

    memset(out, 0, sizeof *out);
    e = take("AWS_REGION", *region ? region : "us-east-1", strlen(*region ? region : "us-east-1"), out->region,
             sizeof out->region, why);
    if (!e)
        e = read_s3(out, why);
    if (!e)
        e = take_env("TUNE_HUB_TOKEN", out->token, sizeof out->token, why);
    if (!e)
        e = take_env("TUNE_HUB_USER", out->user, sizeof out->user, why);
    if (!e)
        e = take_env("TUNE_HUB_PASSWORD", out->password, sizeof out->password, why);
    if (!e && *out->password && !*out->user)
        e = why_set(why, ERR_INPUT, "TUNE_HUB_PASSWORD is set; expected TUNE_HUB_USER beside it");
    return e ? e : secret_file("TUNE_HUB_NETRC", ".netrc", out->netrc, why);
}

void credentials_forget(struct credentials *c)
{
    explicit_bzero(c, sizeof *c);
}
