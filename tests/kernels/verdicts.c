/* SPDX-License-Identifier: MIT */
#include "tests/kernels/verdicts.h"

#include "core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SETTINGS ((size_t)1 << 20)

extern char **environ;

static void default_dir(char *out, size_t n)
{
    const char *own = getenv("TUNE_VERDICTS"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (own && *own)
        snprintf(out, n, "%s", own);
    else if (cache && *cache)
        snprintf(out, n, "%s/tune-verdicts", cache);
    else
        snprintf(out, n, "%s/.cache/tune-verdicts", home && *home ? home : "/tmp");
}

/* The younger half of a file that has become too long, from the begin of a line. */
static void shorten(const struct verdicts *v)
{
    const char *at = v->text.len > VERDICTS_MAX_BYTES ? strchr(buf_text(&v->text) + v->text.len / 2, '\n') : NULL;

    if (at)
        (void)file_replace(v->path, at + 1, v->text.len - (size_t)(at + 1 - buf_text(&v->text)), 0644, NULL);
}

void verdicts_open(struct verdicts *v, const char *dir)
{
    char folder[3900];

    default_dir(folder, sizeof folder);
    if (dir)
        snprintf(folder, sizeof folder, "%s", dir);
    *v = (struct verdicts){.lines = NULL};
    buf_init(&v->text, 2 * VERDICTS_MAX_BYTES);
    snprintf(v->path, sizeof v->path, "%s/passed", folder);
    if (dir_make(folder, 0755, NULL) || file_read(v->path, &v->text, NULL))
        buf_clear(&v->text);
    shorten(v);
    (void)verdicts_reload(v);
}

void verdicts_close(struct verdicts *v)
{
    buf_fini(&v->text);
    free(v->lines);
    v->lines = NULL;
    v->n_lines = 0;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum err verdicts_reload(struct verdicts *v)
{
    const char *fresh = getenv("TUNE_FRESH");
    size_t n = 0;
    enum err e;

    v->n_lines = 0;
    buf_clear(&v->text);
    if (fresh && *fresh && strcmp(fresh, "0") != 0)
        return ERR_OK;
    e = file_read(v->path, &v->text, NULL);
    if (e)
        return e == ERR_NOT_FOUND ? ERR_OK : e;
    for (const char *at = buf_text(&v->text); *at; at++)
        n += *at == '\n';
    free(v->lines);
    v->lines = malloc((n + 1) * sizeof *v->lines);
    if (!v->lines)
        return ERR_NOMEM;
    for (char *at = v->text.data, *end; n && (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        v->lines[v->n_lines++] = at;
    }
    qsort(v->lines, v->n_lines, sizeof *v->lines, by_key);
    return ERR_OK;
}

/* A line is a key, or a key, a space and a text. */
static int key_against_line(const void *key, const void *line)
{
    const char *text = *(const char *const *)line;
    const size_t n = strlen(key);
    const int order = strncmp(key, text, n);

    return order ? order : -(int)(text[n] != ' ' && text[n] != '\0');
}

const char *verdicts_find(const struct verdicts *v, const char *key)
{
    const char *const *line =
        v->n_lines ? bsearch(key, v->lines, v->n_lines, sizeof *v->lines, key_against_line) : NULL;
    const char *text = line ? *line + strlen(key) : NULL;

    return text && *text == ' ' ? text + 1 : text;
}

enum err verdicts_keep(const struct verdicts *v, const char *key, const char *text)
{
    struct buf line;
    enum err e;

    buf_init(&line, 1 << 16);
    e = buf_printf(&line, "%s%s%s", key, *text ? " " : "", text);
    for (size_t i = 0; !e && i < line.len; i++)
        if (line.data[i] == '\n')
            line.data[i] = ' ';
    if (!e)
        e = buf_puts(&line, "\n");
    if (!e)
        e = file_append(v->path, line.data, line.len, false, NULL);
    buf_fini(&line);
    return e;
}

struct sha256 verdict_key(const char *what, const struct sha256 *driver, const struct sha256 *thing)
{
    char text[4 * SHA256_HEX + 64];

    snprintf(text, sizeof text, "%.60s %s %s %s", what, verdict_checker, driver->hex, thing->hex);
    return sha256_of(text, strlen(text));
}

/* What drivers and compilers read from the environment; not where they keep their files, nor what is only written. */
static bool is_setting(const char *variable)
{
    static const char *const of[] = {"POCL_", "TUNE_CUDA_", "TUNE_NVRTC", "CUDA_",
                                     "OCL_",  "OCLGRIND",   "TUNE_FENCE", NULL};
    static const char *const not_of[] = {"OCL_ICD_VENDORS=",
                                         "POCL_CACHE_DIR=",
                                         "TUNE_NVRTC_CACHE=",
                                         "TUNE_CUDA_LOG=",
                                         "TUNE_CUDA_LIBRARY=",
                                         "TUNE_NVRTC=",
                                         NULL};
    bool is = false;

    for (int i = 0; of[i]; i++)
        is |= strncmp(variable, of[i], strlen(of[i])) == 0;
    for (int i = 0; not_of[i]; i++)
        is &= strncmp(variable, not_of[i], strlen(not_of[i])) != 0;
    return is;
}

struct sha256 verdict_driver(const struct sha256 *fingerprint, const char *const *files)
{
    const char *settings[256];
    struct sha256 made;
    struct buf text;
    size_t n = 0;

    buf_init(&text, MAX_SETTINGS);
    buf_puts(&text, fingerprint->hex);
    for (char **at = environ; *at && n < sizeof settings / sizeof settings[0]; at++)
        if (is_setting(*at))
            settings[n++] = *at;
    qsort(settings, n, sizeof *settings, by_key);
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "\n%s", settings[i]);
    for (; files && *files; files++) {
        struct sha256 bytes = {"missing"};
        int64_t n_bytes;

        (void)sha256_of_file(*files, &bytes, &n_bytes, NULL);
        buf_printf(&text, "\n%s", bytes.hex);
    }
    made = sha256_of(text.data, text.len);
    buf_fini(&text);
    return made;
}
