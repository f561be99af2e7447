#include "tests/kernels/check_cuda.h"

#include "core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)1 << 30)

enum err check_results_open(struct check_results *r, const char *dir, struct why *why)
{
    enum err e = dir_make(dir, 0755, why);

    buf_init(&r->text, MAX_TEXT);
    r->lines = NULL;
    r->n_lines = 0;
    snprintf(r->path, sizeof r->path, "%s/results", dir);
    return e ? e : check_results_reload(r, why);
}

void check_results_fini(struct check_results *r)
{
    buf_fini(&r->text);
    free(r->lines);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum err check_results_reload(struct check_results *r, struct why *why)
{
    size_t n = 0;
    enum err e;

    buf_clear(&r->text);
    e = file_read(r->path, &r->text, why);
    if (e == ERR_NOT_FOUND)
        return ERR_OK;
    if (e)
        return e;
    for (const char *at = buf_text(&r->text); *at; at++)
        n += *at == '\n';
    free(r->lines);
    r->n_lines = 0;
    r->lines = malloc((n + 1) * sizeof *r->lines);
    if (!r->lines)
        return why_set(why, ERR_NOMEM, "%s: no memory for %zu results", r->path, n);
    for (char *at = r->text.data, *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        r->lines[r->n_lines++] = at;
    }
    qsort(r->lines, r->n_lines, sizeof *r->lines, by_key);
    return ERR_OK;
}

static int key_against_line(const void *key, const void *line)
{
    const size_t n = strlen(key);
    const int order = strncmp(key, *(const char *const *)line, n);

    return order ? order : -(int)((*(const char *const *)line)[n] != ' ');
}

/* "ok MS" and for each kernel its name and numbers; "failed MS WORDS". */
static bool parse(const char *text, struct check_result *out)
{
    int used = 0;

    *out = (struct check_result){0};
    if (sscanf(text, " failed %d %n", &out->ms, &used) == 1 && used) {
        snprintf(out->words, sizeof out->words, "%s", text + used);
        return true;
    }
    if (sscanf(text, " ok %d%n", &out->ms, &used) != 1)
        return false;
    out->ok = true;
    for (text += used; *text && out->n_kernels < CHECK_MAX_KERNELS; text += used) {
        struct kernel_resources *k = &out->kernels[out->n_kernels++];

        if (sscanf(text, " %63s %d %d %d %d %d%n", k->kernel, &k->registers, &k->local_bytes, &k->spill_bytes,
                   &k->stack_bytes, &k->constant_bytes, &used) != 6)
            return false;
    }
    return true;
}

bool check_results_find(const struct check_results *r, const char *key, struct check_result *out)
{
    const char *const *line =
        r->n_lines ? bsearch(key, r->lines, r->n_lines, sizeof *r->lines, key_against_line) : NULL;

    return line && parse(*line + strlen(key), out);
}

enum err check_results_add(const struct check_results *r, const char *key, const struct check_result *result,
                           struct why *why)
{
    struct buf line;
    enum err e;

    buf_init(&line, 1 << 16);
    if (result->ok)
        (void)buf_printf(&line, "%s ok %d", key, result->ms);
    else
        (void)buf_printf(&line, "%s failed %d %s", key, result->ms, result->words);
    for (size_t i = 0; result->ok && i < result->n_kernels; i++) {
        const struct kernel_resources *k = &result->kernels[i];

        (void)buf_printf(&line, " %s %d %d %d %d %d", k->kernel, k->registers, k->local_bytes, k->spill_bytes,
                         k->stack_bytes, k->constant_bytes);
    }
    for (size_t i = 0; i < line.len; i++)
        if (line.data[i] == '\n')
            line.data[i] = ' ';
    e = buf_puts(&line, "\n");
    if (!e)
        e = file_append(r->path, line.data, line.len, false, why);
    buf_fini(&line);
    return e;
}
