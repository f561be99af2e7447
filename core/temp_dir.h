/* SPDX-License-Identifier: MIT */
/* temp_dir.h - a temporary directory of a process. A lock file in it tells the living from the dead: who comes next
 * removes what a killed one left. A shared lock of the directory itself keeps those away who remove old files (as
 * systemd-tmpfiles does, which leaves locked ones alone). */
#ifndef TUNE_CORE_TEMP_DIR_H
#define TUNE_CORE_TEMP_DIR_H

#include "core/err.h"

#include <limits.h>

struct temp_dir {
    char path[PATH_MAX]; /* "" = none */
    int lock_fd, dir_fd;
};

/* Makes a fresh directory "<TMPDIR or /tmp>/<stem>.XXXXXX" with its lock, named by its whole path. ERR_IO; `d` is none
 * then. */
enum err temp_dir_open(struct temp_dir *d, const char *stem, struct why *why);

/* Removes the directory with all in it; the lock is held until the process ends. */
void temp_dir_remove(const struct temp_dir *d);

/* The same, and gives up its lock; `d` is none then. */
void temp_dir_close(struct temp_dir *d);

/* Removes the directories of that stem whose owners are dead (their lock is free); returns how many. */
int temp_dir_sweep(const char *stem);

#endif
