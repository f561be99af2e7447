/* SPDX-License-Identifier: MIT */
#include "agent/lock.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NEW_S 2 /* between making a lock and sharing it are some microseconds */

static bool slug_char(int c)
{
    return islower(c) || isdigit(c) || c == '.' || c == '_';
}

void lock_slug_of(const char *text, char *out, size_t n_out)
{
    size_t n = 0;

    assert(n_out > 1); /* room for "x" */
    for (; *text && n + 1 < n_out; text++) {
        const int c = tolower((unsigned char)*text);

        if (slug_char(c))
            out[n++] = (char)c;
        else if (n && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n && out[n - 1] == '-')
        n--;
    out[n] = '\0';
    if (!n)
        snprintf(out, n_out, "x");
}

void lock_name_of_device(const struct device_desc *d, const char *selector, char *out, size_t n_out)
{
    const int n_device = (int)strcspn(selector, ","), n = n_device < 48 ? n_device : 48; /* options behind a comma */
    char raw[sizeof d->name + 64];

    if (d->kind == DEVICE_CPU)
        snprintf(raw, sizeof raw, "cpu");
    else
        snprintf(raw, sizeof raw, "%s-%.*s", d->name, n > 0 ? n : 1, n > 0 ? selector : "0");
    lock_slug_of(raw, out, n_out);
}

/* To read alone, where another user's file allows no more: flock() asks for no more. */
static int open_there(const char *path)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    return fd >= 0 || errno != EACCES ? fd : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* Another user's, who has not come to share it yet? */
static bool is_new(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_size == 0 && time(NULL) - st.st_ctime <= NEW_S;
}

/* Without O_CREAT first: in a sticky directory the kernel may refuse O_CREAT on another user's file. */
static int open_shared(const char *path)
{
    int fd = open_there(path);

    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT | O_EXCL, 0666);
        if (fd >= 0)
            fchmod(fd, 0666);
        else if (errno == EEXIST)
            fd = open_there(path);
    }
    for (int i = 0; fd < 0 && errno == EACCES && i < 20 * NEW_S && is_new(path); i++) {
        usleep(50000);
        fd = open_there(path);
    }
    return fd;
}

enum err lock_open(const char *name, int *fd, struct why *why)
{
    const char *dir = getenv("TUNE_LOCK_DIR");
    char path[PATH_MAX], whose[120] = "";
    struct stat st;
    int made, number;

    snprintf(path, sizeof path, "%s/tune-%s.lock", dir && *dir ? dir : "/tmp", name);
    made = open_shared(path);
    number = errno;
    if (made < 0 && number == EACCES && lstat(path, &st) == 0)
        snprintf(whose, sizeof whose, ": it is user %ld's, and others may not read it (chmod 666)", (long)st.st_uid);
    if (made < 0)
        return why_set(why, ERR_IO, "cannot open the lock %s: %s%s; $TUNE_LOCK_DIR names another folder", path,
                       strerror(number), whose);
    *fd = made;
    return ERR_OK;
}

void lock_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

enum err lock_take(int fd, const struct clock *clock, int64_t timeout_ms)
{
    const int64_t end = clock_read_ns(clock) + timeout_ms * 1000000;

    assert(fd >= 0 && timeout_ms >= 0);
    for (;;) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            futimens(fd, NULL); /* in use: those who remove old files from /tmp leave it, or there would be two */
            return ERR_OK;
        }
        if (errno != EWOULDBLOCK && errno != EINTR)
            return ERR_IO;
        if (clock_read_ns(clock) >= end)
            return ERR_BUSY;
        clock_wait_ms(clock, 2);
    }
}

void lock_release(int fd)
{
    if (fd >= 0)
        flock(fd, LOCK_UN);
}
