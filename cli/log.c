/* SPDX-License-Identifier: MIT */
/* log.c - `tune log`: the verbs by table, and what they share. */
#include "cli/log.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file_out.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum err log_need(const struct cli *c, int most, const char *example, struct why *why)
{
    if (c->n_rest == 0)
        return why_set(why, ERR_INPUT, "no log: expected e.g. %s", example);
    return cmd_check_words(c, 1, most, "", why);
}

/* A run holds its log by a lock (see joblog.h): its next line would go into the file that a rename takes away. */
static bool is_held(const char *path)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const bool held = fd >= 0 && fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;

    if (fd >= 0)
        close(fd);
    return held;
}

enum err log_output(const struct cli *c, const char **out, struct why *why)
{
    const char *path = cli_text(c, "output");

    if (!path || !*path)
        return why_set(why, ERR_INPUT, "where to? expected -o FILE");
    if (strcmp(path, "-") != 0 && is_held(path))
        return why_set(why, ERR_BUSY, "%s: a run is writing this log; give -o another name or wait for it", path);
    *out = path;
    return ERR_OK;
}

FILE *log_summary(const char *out)
{
    return out && strcmp(out, "-") == 0 ? stderr : stdout;
}

enum err log_lines_of(int fd, const char *path, bool (*each)(const struct log_line *line, void *arg), log_warn *warn,
                      void *arg, struct why *why)
{
    return convert_lines_fd(fd, path, NULL, each, warn, arg, why);
}

struct gathering {
    struct best_set *best;
    const char *key;
    enum err failed;
};

static bool take(const struct record *r, const char *line, size_t n, void *arg)
{
    struct gathering *g = arg;

    (void)line;
    (void)n;
    if (!g->key || strcmp(g->key, r->key) == 0)
        g->failed = best_add(g->best, r);
    return g->failed == ERR_OK;
}

enum err log_write(const char *path, const struct buf *content, struct why *why)
{
    struct file_out f;
    enum err e = file_out_open(&f, path, 0644, why);

    if (!e)
        e = file_out_put(&f, content->data, content->len, why);
    if (!e)
        e = file_out_commit(&f, why);
    file_out_close(&f);
    return e;
}

enum err log_best(const char *const *paths, int n_paths, const char *key, struct best_set **out, struct why *why)
{
    struct gathering g = {.key = key};
    enum err e = best_new(&g.best);

    for (int i = 0; i < n_paths && !e; i++) {
        e = convert_scan(paths[i], NULL, take, cmd_log_warning, &g, why);
        e = e ? e : g.failed;
    }
    if (e)
        best_free(g.best);
    else
        *out = g.best;
    return e == ERR_NOMEM ? why_set(why, e, "%s", err_words(e)) : e;
}

extern const struct command cmd_log_merge, cmd_log_dedup, cmd_log_compare, cmd_log_stat, cmd_log_check, cmd_log_convert,
    cmd_log_compact, cmd_log_plot, cmd_log_best, cmd_log_csv;

static const struct command *const verbs[] = {
    &cmd_log_merge,   &cmd_log_dedup,   &cmd_log_best, &cmd_log_compare, &cmd_log_stat, &cmd_log_check,
    &cmd_log_convert, &cmd_log_compact, &cmd_log_plot, &cmd_log_csv,     NULL};

const struct command cmd_log = {
    .name = "log",
    .summary = "merge, compare, check and convert logs, other tuners' files among them",
    .usage = "log VERB LOG... [options]",
    .example = "tune log merge monday.jsonl tuesday.jsonl -o week.jsonl",
    .verbs = verbs,
};
