/* SPDX-License-Identifier: MIT */
#include "deploy/place.h"

#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `dir` without slashes at its end and, when it is there, without links: what can be renamed. */
static enum err real_place(const char *dir, char out[PATH_MAX], struct why *why)
{
    char *real = realpath(dir, NULL);
    const char *from = real ? real : dir;
    size_t n = strlen(from);
    while (n > 1 && from[n - 1] == '/')
        n--;
    const bool fits = n > 0 && n + 16 < PATH_MAX;
    if (fits) {
        memcpy(out, from, n);
        out[n] = '\0';
    }
    free(real);
    return fits ? ERR_OK : why_set(why, ERR_INPUT, "'%.200s': expected the path of a folder", dir);
}

static enum err check_place(const char *place, deploy_may_replace *may_replace, bool *there, struct why *why)
{
    struct stat st;
    struct why refusal = {""};
    *there = lstat(place, &st) == 0;
    if (*there && !(S_ISDIR(st.st_mode) && (may_replace(place, &refusal) || rmdir(place) == 0))) {
        if (refusal.text[0] != '\0')
            return why_set(why, ERR_EXISTS, "%s", refusal.text);
        return why_set(why, ERR_EXISTS,
                       "%s is there already and is no bundle: expected a new folder, or a bundle to "
                       "replace",
                       place);
    }
    *there = lstat(place, &st) == 0; /* an empty folder is gone now */
    return ERR_OK;
}

/* Puts `fresh` in the place of `place`; the old one, if any, ends up in `fresh`. */
static enum err exchange(const char *fresh, const char *place, bool there, struct why *why)
{
    char old[PATH_MAX];
    if (!there || renameat2(AT_FDCWD, fresh, AT_FDCWD, place, RENAME_EXCHANGE) != 0) {
        /* Two steps, where the file system cannot exchange. */
        if (snprintf(old, sizeof old, "%s.old", fresh) >= (int)sizeof old || (there && rename(place, old) != 0) ||
            rename(fresh, place) != 0) {
            const int error = errno;
            if (there && access(place, F_OK) != 0)
                (void)rename(old, place);
            return why_set(why, ERR_IO, "%s: cannot be renamed to %s: %s", fresh, place, strerror(error));
        }
        if (there)
            dir_remove(old);
    }
    return ERR_OK;
}

enum err deploy_place(const char *dir, deploy_may_replace *may_replace,
                      enum err (*fill)(const char *dir, void *arg, struct why *why), void *arg, struct why *why)
{
    char place[PATH_MAX], fresh[PATH_MAX];
    bool there = false;
    enum err e = real_place(dir, place, why);
    e = e == ERR_OK ? check_place(place, may_replace, &there, why) : e;
    if (e != ERR_OK)
        return e;
    if (snprintf(fresh, sizeof fresh, "%s.tmp-XXXXXX", place) >= (int)sizeof fresh || !mkdtemp(fresh))
        return why_set(why, ERR_IO, "%s: no folder can be made beside it: %s", place, strerror(errno));
    (void)chmod(fresh, 0755);
    e = fill(fresh, arg, why);
    e = e == ERR_OK ? exchange(fresh, place, there, why) : e;
    dir_remove(fresh); /* what failed, or what was there before */
    return e;
}
