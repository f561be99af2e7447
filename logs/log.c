/* SPDX-License-Identifier: MIT */
#include "logs/log.h"

#include "core/buf.h"
#include "core/err.h"
#include "core/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES 262144

static enum err io_error(const char *path, struct why *why)
{
    return why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
}

/* True when the file has bytes and its last one is no '\n'. */
static bool is_torn(int fd)
{
    struct stat st;
    char last;

    return fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

/* Under the lock: another process cannot die in mid-line between the look at the last byte and the write. */
static enum err append_locked(int fd, const char *path, const char *line, size_t n, struct why *why)
{
    struct buf text;
    ssize_t done;
    enum err e;

    assert(n > 0 && n <= RECORD_MAX_BYTES);
    buf_init(&text, n + 2);
    if (is_torn(fd))
        buf_puts(&text, "\n");
    buf_append(&text, line, n);
    if (line[n - 1] != '\n')
        buf_puts(&text, "\n");
    e = text.failed;
    if (!e) {
        done = write(fd, text.data, text.len);
        if (done < 0)
            e = io_error(path, why);
        else if ((size_t)done != text.len)
            e = why_set(why, ERR_IO, "%s: only %zd of %zu bytes written: the disk, or a quota, is full", path, done,
                        text.len);
    }
    buf_fini(&text);
    return e;
}

static bool lock_file(int fd)
{
    int got;

    do
        got = flock(fd, LOCK_EX);
    while (got != 0 && errno == EINTR);
    return got == 0;
}

enum err log_append_line(const char *path, const char *line, size_t n, struct why *why)
{
    const char *end = n ? memchr(line, '\n', n) : NULL;
    enum err e;
    int fd;

    if (n == 0 || n > RECORD_MAX_BYTES || line[0] == '\n' || (end && end != line + n - 1))
        return why_set(why, ERR_INPUT, "%s: expected one line of 1 to %d bytes", path, RECORD_MAX_BYTES);
    fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return io_error(path, why);
    e = lock_file(fd) ? append_locked(fd, path, line, n, why) : io_error(path, why);
    close(fd);
    return e;
}

enum err log_append(const char *path, const struct record *r, struct why *why)
{
    struct buf line;
    enum err e;

    buf_init(&line, RECORD_MAX_BYTES);
    e = record_print(r, &line);
    if (e)
        why_set(why, e, "%s: record %s: %s", path, r->id, err_words(e));
    else
        e = log_append_line(path, line.data, line.len, why);
    buf_fini(&line);
    return e;
}

struct scan {
    bool (*each)(const struct log_line *line, void *arg);
    void *arg;
    struct buf line; /* the line so far, when it spans chunks */
    bool too_long;   /* the line so far was dropped for its length */
    enum err failed; /* no memory for it */
    int64_t i_line;
};

/* One whole line without its '\n', and without the byte order mark that some editors begin a file with; false when the
 * caller has had enough. */
static bool give(struct scan *s, const char *text, size_t n, bool is_torn)
{
    const bool is_held = !s->too_long && n <= RECORD_MAX_BYTES; /* wherever the pieces of reading meet */
    const size_t n_mark = is_held && s->i_line == 0 && n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const struct log_line line = {is_held ? text + n_mark : NULL, is_held ? n - n_mark : 0, ++s->i_line, is_torn};

    s->too_long = false;
    if (line.text && line.n == 0)
        return true;
    return s->each(&line, s->arg);
}

/* Keeps a part of a line that is not too long yet. */
static bool hold(struct scan *s, const char *bytes, size_t n)
{
    const enum err e = buf_append(&s->line, bytes, n);

    s->too_long = e == ERR_LIMIT;
    s->failed = e == ERR_NOMEM ? e : ERR_OK;
    return !e;
}

/* Ends the line that `bytes` complete. */
static bool end_line(struct scan *s, const char *bytes, size_t n, bool is_torn)
{
    bool more;

    assert(!s->too_long || s->line.len == 0);
    if (s->line.len == 0 && !s->too_long)
        return give(s, bytes, n, is_torn);
    if (!s->too_long && !hold(s, bytes, n) && s->failed)
        return false;
    more = give(s, s->line.data, s->line.len, is_torn);
    buf_clear(&s->line);
    return more;
}

static bool take_chunk(struct scan *s, const char *chunk, size_t n)
{
    const char *end;

    while (n && (end = memchr(chunk, '\n', n))) {
        const size_t n_line = (size_t)(end - chunk);

        if (!end_line(s, chunk, n_line, false))
            return false;
        chunk += n_line + 1;
        n -= n_line + 1;
    }
    if (!s->too_long && !hold(s, chunk, n)) {
        buf_clear(&s->line);
        if (s->failed)
            return false;
    }
    assert(s->line.len <= RECORD_MAX_BYTES && !s->line.failed);
    return true;
}

static enum err outcome(enum err e, const char *path, struct why *why)
{
    return e ? why_set(why, e, "%s: %s", path, err_words(e)) : ERR_OK;
}

static enum err scan_fd(struct scan *s, int fd, const char *path, struct why *why)
{
    char chunk[CHUNK_BYTES];

    for (;;) {
        const ssize_t n = read(fd, chunk, sizeof chunk);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_error(path, why);
        if (n == 0)
            break;
        if (!take_chunk(s, chunk, (size_t)n))
            return outcome(s->failed, path, why);
    }
    if (s->line.len || s->too_long)
        (void)end_line(s, "", 0, true);
    return outcome(s->failed, path, why);
}

enum err log_lines_fd(int fd, const char *path, bool (*each)(const struct log_line *line, void *arg), void *arg,
                      struct why *why)
{
    struct scan s = {.each = each, .arg = arg};
    enum err e;

    buf_init(&s.line, RECORD_MAX_BYTES);
    e = scan_fd(&s, fd, path, why);
    buf_fini(&s.line);
    return e;
}

enum err log_line_record(const struct log_line *line, struct record *out, struct why *why)
{
    enum err e;

    if (!line->text)
        return why_set(why, ERR_INPUT, "longer than %d bytes", RECORD_MAX_BYTES);
    e = record_parse(line->text, line->n, out, why);
    if (e && line->is_torn)
        why_prefix(why, e, "the file ends within this line");
    return e;
}

struct parsing {
    const char *path;
    bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg);
    log_warn *warn;
    void *arg;
    bool is_short_of_memory;
};

static bool parse(const struct log_line *line, void *arg)
{
    struct parsing *p = arg;
    struct record r;
    struct why why;
    const enum err e = log_line_record(line, &r, &why);
    bool more;

    p->is_short_of_memory = e == ERR_NOMEM;
    if (e && e != ERR_NOMEM && p->warn)
        p->warn(p->path, line->i_line, why.text, p->arg);
    if (e)
        return e != ERR_NOMEM;
    more = p->each(&r, line->text, line->n, p->arg);
    record_fini(&r);
    return more;
}

enum err log_scan_fd(int fd, const char *path,
                     bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg), log_warn *warn,
                     void *arg, struct why *why)
{
    struct parsing p = {path, each, warn, arg, false};
    const enum err e = log_lines_fd(fd, path, parse, &p, why);

    return e ? e : outcome(p.is_short_of_memory ? ERR_NOMEM : ERR_OK, path, why);
}

enum err log_scan(const char *path, bool (*each)(const struct record *r, const char *line, size_t n_line, void *arg),
                  log_warn *warn, void *arg, struct why *why)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum err e;

    if (fd < 0 && errno == ENOENT)
        return why_set(why, ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    if (fd < 0)
        return io_error(path, why);
    e = file_check_ends(fd, path, why);
    if (!e)
        e = log_scan_fd(fd, path, each, warn, arg, why);
    close(fd);
    return e;
}
