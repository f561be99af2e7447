/* SPDX-License-Identifier: MIT */
#include "core/file.h"

#include "core/file_out.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP 65536u
#define DEEPEST 32 /* folders open at a time while they are removed */
#define MOVE_TRIES 100

static enum err read_all(int fd, struct buf *out)
{
    for (;;) {
        size_t want = READ_STEP;
        char *to;
        ssize_t n;

        assert(out->len <= out->max_bytes);
        if (out->len < out->max_bytes && out->max_bytes - out->len < want)
            want = out->max_bytes - out->len;
        if (out->len == out->max_bytes) { /* full: only the end of the file is good news now */
            char one;

            n = read(fd, &one, 1);
            return n == 0 ? ERR_OK : n > 0 ? ERR_LIMIT : ERR_IO;
        }
        to = buf_room(out, want);
        if (!to)
            return out->failed;
        n = read(fd, to, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ERR_IO;
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (n == 0)
            return ERR_OK;
    }
}

enum err file_read(const char *path, struct buf *out, struct why *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum err e;

    if (fd < 0)
        return why_set(why, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", path, strerror(errno));
    e = read_all(fd, out);
    if (e == ERR_LIMIT)
        why_set(why, e, "%s: larger than %zu bytes", path, out->max_bytes);
    else if (e)
        why_set(why, e, "%s: %s", path, e == ERR_IO ? strerror(errno) : err_words(e));
    close(fd);
    return e;
}

enum err file_replace(const char *path, const void *bytes, size_t n, unsigned mode, struct why *why)
{
    struct file_out f;
    enum err e = file_out_open(&f, path, mode, why);

    if (!e)
        e = file_out_put(&f, bytes, n, why);
    if (!e)
        e = file_out_commit(&f, why);
    file_out_close(&f);
    return e;
}

/* In one call, unless there is not room for all of it: the next one says why. */
static bool write_all(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;
    ssize_t done;

    do {
        done = write(fd, at, n);
        if (done > 0) {
            at += done;
            n -= (size_t)done;
        }
    } while (n > 0 && (done > 0 || (done < 0 && errno == EINTR)));
    return n == 0;
}

enum err file_append(const char *path, const void *bytes, size_t n, bool durable, struct why *why)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    bool ok;

    if (fd < 0)
        return why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
    errno = 0;
    ok = write_all(fd, bytes, n) && (!durable || fsync(fd) == 0);
    if (!ok)
        why_set(why, ERR_IO, "%s: %s", path, errno ? strerror(errno) : "short write");
    close(fd);
    return ok ? ERR_OK : ERR_IO;
}

enum err dir_make(const char *path, unsigned mode, struct why *why)
{
    char part[PATH_MAX];

    if (!*path || strlen(path) >= sizeof part)
        return why_set(why, ERR_INPUT, "bad directory name '%s'", path);
    strcpy(part, path);
    for (char *p = part + 1;; p++) {
        const char c = *p;

        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        if (mkdir(part, mode) != 0 && errno != EEXIST)
            return why_set(why, ERR_IO, "%s: %s", part, strerror(errno));
        *p = c;
        if (!c)
            return ERR_OK;
    }
}

enum err dir_flush(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool ok = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    return ok ? ERR_OK : ERR_IO;
}

enum err dir_temporary(const char *stem, char *out, size_t n_out, struct why *why)
{
    const char *base = getenv("TMPDIR");

    if (!base || !*base)
        base = "/tmp";
    if (snprintf(out, n_out, "%s/%s.XXXXXX", base, stem) >= (int)n_out)
        return why_set(why, ERR_LIMIT, "TMPDIR is too long");
    if (!mkdtemp(out))
        return why_set(why, ERR_IO, "%s: %s", out, strerror(errno));
    return ERR_OK;
}

/* Of what is removed: a folder deeper than DEEPEST is moved up beside the others and has its turn in the next pass, so
 * that whoever nests them takes neither our stack nor our descriptors. */
struct removal {
    int top;
    const char *last;                  /* of the top's files; NULL: none */
    unsigned n_names, n_moved, n_left; /* n_left: could not be removed */
};

/* Opens a folder, also one whose owner shut it; -1: it is none. */
static int open_folder(int at, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(at, name, flags);

    if (fd < 0 && errno == EACCES && fchmodat(at, name, S_IRWXU, 0) == 0)
        fd = openat(at, name, flags);
    if (fd >= 0)
        (void)!fchmod(fd, S_IRWXU);
    return fd;
}

static void move_up(struct removal *r, int at, const char *name)
{
    for (int i = 0; i < MOVE_TRIES; i++) {
        char to[32];

        snprintf(to, sizeof to, "deep.%u", r->n_names++);
        if (renameat(at, name, r->top, to) == 0) {
            r->n_moved++;
            return;
        }
    }
}

static bool has_turn(const struct removal *r, const char *name, int depth)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && (depth || !r->last || strcmp(name, r->last) != 0);
}

static bool unlink_at(struct removal *r, int at, const char *name, int flags)
{
    const bool is_gone = unlinkat(at, name, flags) == 0 || errno == ENOENT;

    r->n_left += !is_gone;
    return is_gone;
}

static void remove_at(struct removal *r, int at, const char *name, int depth)
{
    int fd = open_folder(at, name);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        unlink_at(r, at, name, 0);
        return;
    }
    while (depth < DEEPEST && (entry = readdir(dir)))
        if (has_turn(r, entry->d_name, depth))
            remove_at(r, fd, entry->d_name, depth + 1);
    if (!depth && r->last && !r->n_left)
        unlink_at(r, fd, r->last, 0);
    closedir(dir);
    if (!unlink_at(r, at, name, AT_REMOVEDIR) && depth == DEEPEST)
        move_up(r, at, name);
}

void dir_remove(const char *path)
{
    dir_remove_last(path, NULL);
}

void dir_remove_last(const char *path, const char *last)
{
    struct removal r = {.top = path && *path ? open_folder(AT_FDCWD, path) : -1, .last = last};

    if (!path || !*path)
        return;
    do {
        r.n_moved = r.n_left = 0;
        remove_at(&r, AT_FDCWD, path, 0);
    } while (r.n_moved);
    if (r.top >= 0)
        close(r.top);
}

/* A file, a pipe, or what somebody types; /dev/null counts as an empty file, other devices may never end. */
static bool is_readable(int fd, const struct stat *st)
{
    struct stat null;

    if (!S_ISCHR(st->st_mode))
        return !S_ISDIR(st->st_mode) && !S_ISBLK(st->st_mode);
    return isatty(fd) || (stat("/dev/null", &null) == 0 && null.st_rdev == st->st_rdev);
}

enum err file_check_ends(int fd, const char *path, struct why *why)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
    if (is_readable(fd, &st))
        return ERR_OK;
    return why_set(why, ERR_IO, "%s: %s: expected a file", path, S_ISDIR(st.st_mode) ? "a directory" : "a device");
}
