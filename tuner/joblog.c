/* SPDX-License-Identifier: MIT */
#include "tuner/joblog.h"

#include "core/err.h"
#include "core/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ERR_EXISTS when the line was seen before. */
static enum err note_seen(struct joblog *l, const char *line, size_t n)
{
    struct seen_entry *entry;

    while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
        n--;
    entry = seen_only(&l->seen, seen_hash(&l->seen, line, n));
    if (!entry || entry->place)
        return entry ? ERR_EXISTS : ERR_NOMEM;
    entry->place = 1;
    return ERR_OK;
}

struct opening {
    struct joblog *log;
    void (*each)(const struct record *r, void *arg);
    void *arg;
    log_warn *warn;
    enum err failed;
};

static bool take(const struct record *r, const char *line, size_t n, void *arg)
{
    struct opening *o = arg;
    const enum err e = note_seen(o->log, line, n);

    if (e == ERR_EXISTS)
        return true;
    o->failed = e ? e : best_add(o->log->best, r);
    if (!o->failed && o->each)
        o->each(r, o->arg);
    return o->failed == ERR_OK;
}

static void pass_warning(const char *path, int64_t i_line, const char *words, void *arg)
{
    const struct opening *o = arg;

    if (o->warn)
        o->warn(path, i_line, words, o->arg);
}

/* Of a file without a good line: a log that was damaged, or torn at its first record, still begins as one. */
static bool is_foreign(const char *path)
{
    static const char head[] = "{\"schema\":";
    char text[sizeof head - 1];
    struct stat st;
    FILE *f = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    const size_t n = f ? fread(text, 1, sizeof text, f) : 0;

    if (f)
        fclose(f);
    return memcmp(text, head, n) != 0;
}

/* Holds the log until joblog_close: two runs on one log would each measure all of it. The lock is the open file's own
 * (OFD), so appending, which opens and locks the file in another way, does not drop it; it ends with the process. */
static enum err hold(struct joblog *l, struct why *why)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    l->lock_fd = open(l->path, O_RDWR | O_CLOEXEC);
    if (l->lock_fd < 0)
        return why_set(why, ERR_IO, "%s: %s", l->path, strerror(errno));
    if (fcntl(l->lock_fd, F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES))
        return ERR_OK; /* a file system without locks holds nobody up */
    return why_set(why, ERR_BUSY, "%s: another run is writing this log; give -o another name or wait for it", l->path);
}

enum err joblog_open(struct joblog *l, const char *path, void (*each)(const struct record *r, void *arg),
                     log_warn *warn, void *arg, struct why *why)
{
    struct opening o = {.log = l, .each = each, .arg = arg, .warn = warn};
    enum err e;

    *l = (struct joblog){.is_stdout = strcmp(path, "-") == 0, .lock_fd = -1};
    if (strlen(path) >= sizeof l->path)
        return why_set(why, ERR_LIMIT, "%s: the path is too long", path);
    snprintf(l->path, sizeof l->path, "%s", path);
    e = best_new(&l->best);
    if (!e)
        e = seen_init(&l->seen);
    if (e || l->is_stdout)
        return e;
    e = best_path(path, l->best_path, sizeof l->best_path);
    if (e)
        return why_set(why, e, "%s: no name for its best log", path);
    e = log_scan(path, take, pass_warning, &o, why);
    if (e == ERR_NOT_FOUND) {
        e = file_append(path, "", 0, false,
                        why); /* a path that cannot be written is told before anything is measured */
        l->made = !e;
    }
    if (!e)
        e = o.failed;
    if (!e && l->seen.n == 0 && is_foreign(path))
        e = why_set(why, ERR_INPUT,
                    "%s: this is no log, and is left as it is: expected a log, or the name of a new file", path);
    return e ? e : hold(l, why);
}

void joblog_close(struct joblog *l)
{
    struct stat s;

    if (!l)
        return;
    if (l->made && l->seen.n == 0 && stat(l->path, &s) == 0 && s.st_size == 0)
        unlink(l->path);
    if (l->lock_fd >= 0)
        close(l->lock_fd);
    seen_fini(&l->seen);
    best_free(l->best);
    *l = (struct joblog){.lock_fd = -1};
}

enum err joblog_line(struct joblog *l, const struct record *r, const char *line, size_t n, struct why *why)
{
    enum err e = note_seen(l, line, n);

    if (e == ERR_EXISTS)
        return ERR_OK;
    if (!e && l->is_stdout)
        e = fwrite(line, 1, n, stdout) == n && (line[n - 1] == '\n' || fputc('\n', stdout) != EOF) ? ERR_OK : ERR_IO;
    else if (!e)
        e = log_append_line(l->path, line, n, why);
    return e ? e : best_add(l->best, r);
}

enum err joblog_write_best(struct joblog *l, struct why *why)
{
    return l->is_stdout || best_n(l->best) == 0 ? ERR_OK : best_write(l->best, l->best_path, why);
}
