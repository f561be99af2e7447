/* SPDX-License-Identifier: MIT */
#include "core/file_out.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum err io_error(const struct file_out *f, struct why *why)
{
    return why_set(why, ERR_IO, "%s: %s", f->path, strerror(errno));
}

static enum err begin(struct file_out *f, const char *path, struct why *why)
{
    *f = (struct file_out){.fd = -1};
    if (snprintf(f->path, sizeof f->path, "%s", path) >= (int)sizeof f->path)
        return why_set(why, ERR_LIMIT, "path too long: %.200s..", path);
    f->pending = malloc(FILE_OUT_BUFFER_BYTES);
    return f->pending ? ERR_OK : why_set(why, ERR_NOMEM, "%s: %s", path, err_words(ERR_NOMEM));
}

static enum err open_side(struct file_out *f, unsigned mode, struct why *why)
{
    if (snprintf(f->side, sizeof f->side, "%s.XXXXXX", f->path) >= (int)sizeof f->side)
        return why_set(why, ERR_LIMIT, "path too long: %s", f->path);
    f->fd = mkostemp(f->side, O_CLOEXEC);
    f->is_side = f->fd >= 0;
    return f->is_side && fchmod(f->fd, mode) == 0 ? ERR_OK : io_error(f, why);
}

enum err file_out_open_beside(struct file_out *f, const char *path, unsigned mode, struct why *why)
{
    const enum err e = begin(f, path, why);

    return e ? e : open_side(f, mode, why);
}

enum err file_out_open(struct file_out *f, const char *path, unsigned mode, struct why *why)
{
    struct stat there;
    enum err e = begin(f, path, why);

    if (e)
        return e;
    if (strcmp(path, "-") == 0) {
        f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    } else if (stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
        f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    } else if (stat(path, &there) == 0 && S_ISDIR(there.st_mode)) {
        errno = EISDIR;
    } else {
        e = open_side(f, mode, why);
    }
    return e || f->fd >= 0 ? e : io_error(f, why);
}

static enum err write_all(struct file_out *f, const char *p, size_t n, struct why *why)
{
    while (n) {
        const ssize_t done = write(f->fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return io_error(f, why);
        p += done;
        n -= (size_t)done;
    }
    return ERR_OK;
}

static enum err flush(struct file_out *f, struct why *why)
{
    const enum err e = write_all(f, f->pending, f->n_pending, why);

    f->n_pending = 0;
    return e;
}

enum err file_out_put(struct file_out *f, const void *bytes, size_t n, struct why *why)
{
    enum err e;

    assert(f->fd >= 0 && f->pending && f->n_pending <= FILE_OUT_BUFFER_BYTES);
    e = n > FILE_OUT_BUFFER_BYTES - f->n_pending ? flush(f, why) : ERR_OK;
    if (e)
        return e;
    if (n > FILE_OUT_BUFFER_BYTES)
        return write_all(f, bytes, n, why);
    memcpy(f->pending + f->n_pending, bytes, n);
    f->n_pending += n;
    return ERR_OK;
}

enum err file_out_commit(struct file_out *f, struct why *why)
{
    const enum err e = flush(f, why);

    assert(f->n_pending == 0);
    if (e || !f->is_side)
        return e;
    if (fsync(f->fd) != 0 || rename(f->side, f->path) != 0)
        return io_error(f, why);
    f->is_side = false;
    return ERR_OK;
}

void file_out_close(struct file_out *f)
{
    if (f->is_side)
        unlink(f->side);
    if (f->fd >= 0)
        close(f->fd);
    free(f->pending);
    *f = (struct file_out){.fd = -1};
}
