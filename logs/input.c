/* SPDX-License-Identifier: MIT */
#include "logs/input.h"

#include "core/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK_BYTES 65536

static enum err io_error(const char *path, struct why *why)
{
    return why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
}

/* A new file that nobody else sees and that is gone when it is closed. */
static int nameless(void)
{
    const char *base = getenv("TMPDIR");
    char path[4096];
    int fd;

    if (snprintf(path, sizeof path, "%s/tune-input.XXXXXX", base && *base ? base : "/tmp") >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n) {
        const ssize_t done = write(fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        assert((size_t)done <= n);
        p += done;
        n -= (size_t)done;
    }
    return true;
}

/* zlib reads what is not gzipped as it is. */
static enum err copy(gzFile from, int to, const char *path, struct why *why)
{
    char chunk[CHUNK_BYTES];
    size_t total = 0;
    int n, status = Z_OK;

    while ((n = gzread(from, chunk, sizeof chunk)) > 0) {
        total += (size_t)n;
        if (total > INPUT_MAX_BYTES)
            return why_set(why, ERR_LIMIT, "%s: more than %zu bytes", path, INPUT_MAX_BYTES);
        if (!write_all(to, chunk, (size_t)n))
            return why_set(why, ERR_IO, "%s: its copy in TMPDIR: %s", path, strerror(errno));
    }
    (void)gzerror(from, &status);
    if (n < 0 || status != Z_OK)
        return why_set(why, ERR_IO, "%s: cannot be read, or gzipped and cut short or damaged", path);
    return lseek(to, 0, SEEK_SET) == 0 ? ERR_OK : io_error(path, why);
}

/* Takes `fd`. */
static enum err spool(const char *path, int fd, int *out, struct why *why)
{
    const int to = nameless();
    gzFile from = to >= 0 ? gzdopen(fd, "rb") : NULL;
    enum err e;

    if (!from) {
        e = why_set(why, ERR_IO, "%s: no copy of it in TMPDIR: %s", path, strerror(errno));
        close(fd);
    } else {
        e = copy(from, to, path, why);
        if (gzclose_r(from) != Z_OK && !e)
            e = why_set(why, ERR_IO, "%s: gzipped, and cut short or damaged", path);
    }
    if (e && to >= 0)
        close(to);
    assert(e || to >= 0);
    if (!e)
        *out = to;
    return e;
}

static bool is_gzipped(int fd)
{
    unsigned char head[2];

    return pread(fd, head, 2, 0) == 2 && head[0] == 0x1f && head[1] == 0x8b;
}

enum err input_open(const char *path, int *out, struct why *why)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    const int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    enum err e;

    if (fd < 0 && errno == ENOENT)
        return why_set(why, ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    if (fd < 0 || fstat(fd, &st) != 0) {
        e = io_error(path, why);
        if (fd >= 0)
            close(fd);
        return e;
    }
    if (S_ISREG(st.st_mode) && !is_gzipped(fd) && lseek(fd, 0, SEEK_CUR) == 0) {
        *out = fd;
        return ERR_OK;
    }
    e = file_check_ends(fd, path, why);
    if (e) {
        close(fd);
        return e;
    }
    return spool(path, fd, out, why);
}
