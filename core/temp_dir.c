/* SPDX-License-Identifier: MIT */
#include "core/temp_dir.h"

#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK "lock"
#define ORPHAN_S 600 /* a directory without a lock file is in the making, unless it is this old */

static const char *base_dir(void)
{
    const char *dir = getenv("TMPDIR");

    return dir && *dir ? dir : "/tmp";
}

/* The lock is taken under another name first: a file named "lock" that is free always means a dead owner. */
static enum err take_lock(struct temp_dir *d, struct why *why)
{
    char made[PATH_MAX + 16], final[PATH_MAX + 16];

    snprintf(made, sizeof made, "%s/" LOCK ".new", d->path);
    snprintf(final, sizeof final, "%s/" LOCK, d->path);
    d->lock_fd = open(made, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (d->lock_fd < 0 || flock(d->lock_fd, LOCK_EX | LOCK_NB) != 0 || rename(made, final) != 0)
        return why_set(why, ERR_IO, "cannot lock %s: %s", d->path, strerror(errno));
    d->dir_fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->dir_fd >= 0)
        flock(d->dir_fd, LOCK_SH | LOCK_NB); /* a file system that has no locks is as good without */
    return ERR_OK;
}

/* Drivers and children with folders of their own are told of it. */
static enum err make_absolute(char *path, size_t n_path, struct why *why)
{
    char whole[PATH_MAX];
    const bool ok = *path == '/' || (realpath(path, whole) && strlen(whole) < n_path);

    if (ok && *path != '/')
        strcpy(path, whole);
    if (ok)
        return ERR_OK;
    rmdir(path);
    return why_set(why, ERR_IO, "%s: cannot tell its whole path", path);
}

enum err temp_dir_open(struct temp_dir *d, const char *stem, struct why *why)
{
    enum err e;

    *d = (struct temp_dir){.lock_fd = -1, .dir_fd = -1};
    e = dir_temporary(stem, d->path, sizeof d->path - 100, why);
    if (!e)
        e = make_absolute(d->path, sizeof d->path - 100, why);
    if (e) {
        d->path[0] = '\0';
        return e;
    }
    e = take_lock(d, why);
    if (e)
        temp_dir_close(d);
    return e;
}

void temp_dir_remove(const struct temp_dir *d)
{
    if (d->path[0])
        dir_remove_last(d->path, LOCK);
}

void temp_dir_close(struct temp_dir *d)
{
    temp_dir_remove(d);
    if (d->lock_fd >= 0)
        close(d->lock_fd);
    if (d->dir_fd >= 0)
        close(d->dir_fd);
    *d = (struct temp_dir){.lock_fd = -1, .dir_fd = -1};
}

static bool owner_is_dead(const char *path)
{
    char lock[PATH_MAX + 16];
    struct stat st;
    bool dead;
    int fd;

    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return false;
    snprintf(lock, sizeof lock, "%s/" LOCK, path);
    fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT && time(NULL) - st.st_mtime > ORPHAN_S;
    dead = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return dead;
}

int temp_dir_sweep(const char *stem)
{
    DIR *dir = opendir(base_dir());
    const size_t n_stem = strlen(stem);
    const struct dirent *entry;
    int n = 0;

    while (dir && (entry = readdir(dir))) {
        char path[PATH_MAX];

        if (strncmp(entry->d_name, stem, n_stem) != 0 || entry->d_name[n_stem] != '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", base_dir(), entry->d_name);
        if (!owner_is_dead(path))
            continue;
        dir_remove_last(path, LOCK);
        n++;
    }
    if (dir)
        closedir(dir);
    return n;
}
