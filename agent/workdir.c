/* SPDX-License-Identifier: MIT */
#include "agent/workdir.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/vec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum err workdir_open(struct workdir *w, struct why *why)
{
    char blobs[PATH_MAX + 16];
    enum err e;

    *w = (struct workdir){.lock = PTHREAD_MUTEX_INITIALIZER};
    e = temp_dir_open(&w->temp, WORKDIR_STEM, why);
    if (e)
        return e;
    snprintf(blobs, sizeof blobs, "%s/blobs", w->temp.path);
    e = dir_make(blobs, 0700, why);
    if (e)
        workdir_close(w);
    return e;
}

/* What a process may write into one file; negative: as much as it likes. */
static double file_limit_bytes(void)
{
    struct rlimit l;

    return getrlimit(RLIMIT_FSIZE, &l) == 0 && l.rlim_cur != RLIM_INFINITY ? (double)l.rlim_cur : -1;
}

enum err workdir_check(const struct workdir *w, struct why *why)
{
    static const char some[4096] = "";
    const double limit = file_limit_bytes();
    char probe[PATH_MAX + 24];
    struct statvfs room;
    enum err e;

    if (access(w->temp.path, F_OK) != 0 && errno == ENOENT)
        return why_set(why, ERR_NOT_FOUND, "%s is gone: somebody removed it", w->temp.path);
    if (limit >= 0 && limit < (double)WORKDIR_ROOM_BYTES)
        return why_set(why, ERR_IO,
                       "files of this process have %.1f MiB at most (ulimit -f), and %d have to be allowed",
                       limit / 1048576, (int)(WORKDIR_ROOM_BYTES >> 20));
    snprintf(probe, sizeof probe, "%s/blobs/probe", w->temp.path);
    e = file_append(probe, some, sizeof some, false, why);
    unlink(probe);
    if (!e && statvfs(w->temp.path, &room) == 0 &&
        (double)room.f_bavail * (double)room.f_frsize < (double)WORKDIR_ROOM_BYTES)
        e = why_set(why, ERR_IO, "%s: %.1f MiB are left on its disk, and %d have to be", w->temp.path,
                    (double)room.f_bavail * (double)room.f_frsize / 1048576, (int)(WORKDIR_ROOM_BYTES >> 20));
    return e;
}

bool workdir_is_noexec(const struct workdir *w)
{
    struct statvfs fs;

    return statvfs(w->temp.path, &fs) == 0 && (fs.f_flag & ST_NOEXEC);
}

void workdir_remove(const struct workdir *w)
{
    temp_dir_remove(&w->temp);
}

void workdir_close(struct workdir *w)
{
    temp_dir_close(&w->temp);
    free(w->blobs);
    *w = (struct workdir){.temp = {.lock_fd = -1, .dir_fd = -1}, .lock = PTHREAD_MUTEX_INITIALIZER};
}

int workdir_sweep(void)
{
    return temp_dir_sweep(WORKDIR_STEM);
}

static struct workdir_blob *find(struct workdir *w, const char *hex)
{
    for (size_t i = 0; i < w->n_blobs; i++)
        if (strcmp(w->blobs[i].name.hex, hex) == 0)
            return &w->blobs[i];
    return NULL;
}

static void blob_path(const char *dir, const char *hex, char *out, size_t n_out)
{
    snprintf(out, n_out, "%s/blobs/%s", dir, hex);
}

static void forget(struct workdir *w, struct workdir_blob *b)
{
    assert(w->sum_bytes >= b->n_bytes);
    w->sum_bytes -= b->n_bytes;
    *b = w->blobs[--w->n_blobs];
}

/* A file that somebody else removed (those who tidy /tmp do) or cut is not here. */
static bool use(struct workdir *w, const char *hex)
{
    struct workdir_blob *b = find(w, hex);
    char path[PATH_MAX + 80];
    struct stat st;

    if (!b)
        return false;
    blob_path(w->temp.path, hex, path, sizeof path);
    if (stat(path, &st) != 0 || st.st_size != b->n_bytes) {
        unlink(path);
        forget(w, b);
        return false;
    }
    b->used = ++w->stamp;
    return true;
}

int64_t workdir_stamp(struct workdir *w)
{
    int64_t stamp;

    pthread_mutex_lock(&w->lock);
    stamp = w->stamp;
    pthread_mutex_unlock(&w->lock);
    return stamp;
}

bool workdir_has(struct workdir *w, const char *hex)
{
    bool has;

    pthread_mutex_lock(&w->lock);
    has = use(w, hex);
    pthread_mutex_unlock(&w->lock);
    return has;
}

static enum err put(struct workdir *w, const struct blobs *set, const char *hex, struct why *why)
{
    const struct blob *b = blobs_get(set, hex);
    char path[PATH_MAX + 80];
    enum err e;

    if (use(w, hex))
        return ERR_OK;
    if (!b)
        return why_set(why, ERR_NOT_FOUND, "blob %.12s is missing", hex);
    if (VEC_ROOM(w->blobs, w->cap_blobs, w->n_blobs + 1, VEC_ANY))
        return why_set(why, ERR_NOMEM, "out of memory");
    assert(w->n_blobs < w->cap_blobs && w->temp.lock_fd >= 0);
    blob_path(w->temp.path, hex, path, sizeof path);
    unlink(path); /* what was forgotten while the folder was away may lie there */
    e = file_append(path, b->data, b->n_bytes, false, why);
    if (e) {
        unlink(path);
        return e;
    }
    w->blobs[w->n_blobs].name = b->name;
    w->blobs[w->n_blobs].n_bytes = (int64_t)b->n_bytes;
    w->blobs[w->n_blobs].used = ++w->stamp;
    w->n_blobs++;
    w->sum_bytes += (int64_t)b->n_bytes;
    return ERR_OK;
}

enum err workdir_put(struct workdir *w, const struct blobs *set, const char *hex, struct why *why)
{
    enum err e;

    pthread_mutex_lock(&w->lock);
    e = put(w, set, hex, why);
    pthread_mutex_unlock(&w->lock);
    return e;
}

/* That whose last use is the longest ago, not after `stamp`; NULL: all are in use. */
static struct workdir_blob *stale(struct workdir *w, int64_t stamp)
{
    struct workdir_blob *oldest = NULL;

    for (size_t i = 0; i < w->n_blobs; i++)
        if (w->blobs[i].used <= (oldest ? oldest->used : stamp))
            oldest = &w->blobs[i];
    return oldest;
}

static void trim(struct workdir *w, int64_t stamp)
{
    struct workdir_blob *b;

    while ((w->sum_bytes > WORKDIR_MAX_BLOB_BYTES || w->n_blobs > WORKDIR_MAX_BLOBS) && (b = stale(w, stamp))) {
        char path[PATH_MAX + 80];

        blob_path(w->temp.path, b->name.hex, path, sizeof path);
        unlink(path);
        forget(w, b);
    }
}

void workdir_trim(struct workdir *w, int64_t stamp)
{
    pthread_mutex_lock(&w->lock);
    trim(w, stamp);
    pthread_mutex_unlock(&w->lock);
}

void workdir_cache(const struct workdir *w, int64_t generation, char *out, size_t n_out)
{
    snprintf(out, n_out, "%s/cache.%lld", w->temp.path, (long long)generation);
}

void workdir_drop_cache(const struct workdir *w, int64_t generation)
{
    char path[PATH_MAX + 32];

    workdir_cache(w, generation, path, sizeof path);
    dir_remove(path);
}

enum err workdir_link(const struct workdir *w, const char *hex, const char *to_path, struct why *why)
{
    char path[PATH_MAX + 80];

    blob_path(w->temp.path, hex, path, sizeof path);
    return link(path, to_path) == 0 || errno == EEXIST
               ? ERR_OK
               : why_set(why, ERR_IO, "cannot make %s: %s", to_path, strerror(errno));
}

enum err workdir_load_blob(const char *dir, const char *hex, struct blobs *into, struct why *why)
{
    char path[PATH_MAX + 80];
    struct sha256 name;
    struct buf bytes;
    enum err e;

    if (blobs_get(into, hex))
        return ERR_OK;
    blob_path(dir, hex, path, sizeof path);
    buf_init(&bytes, into->max_bytes);
    e = file_read(path, &bytes, why);
    if (!e)
        e = blobs_put(into, buf_text(&bytes), bytes.len, &name);
    if (!e && strcmp(name.hex, hex) != 0)
        e = why_set(why, ERR_PROTOCOL, "blob %.12s is damaged", hex);
    buf_fini(&bytes);
    return e;
}

void workdir_doubt(struct workdir *w)
{
    pthread_mutex_lock(&w->lock);
    for (size_t i = w->n_blobs; i-- > 0;) {
        struct workdir_blob *b = &w->blobs[i];
        char path[PATH_MAX + 80];
        struct buf bytes;

        blob_path(w->temp.path, b->name.hex, path, sizeof path);
        buf_init(&bytes, (size_t)b->n_bytes + 1);
        if (file_read(path, &bytes, NULL) || strcmp(sha256_of(buf_text(&bytes), bytes.len).hex, b->name.hex) != 0) {
            unlink(path);
            forget(w, b);
        }
        buf_fini(&bytes);
    }
    pthread_mutex_unlock(&w->lock);
}
