/* SPDX-License-Identifier: MIT */
/* file.h - whole files in and out: reading with a cap, replacing by rename, appending with one write. */
#ifndef TUNE_CORE_FILE_H
#define TUNE_CORE_FILE_H

#include "core/buf.h"
#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Reads all of `path` behind the content of `out`; ERR_LIMIT beyond out->max_bytes, ERR_NOT_FOUND, ERR_IO. */
enum err file_read(const char *path, struct buf *out, struct why *why);

/* Replaces `path` as one step: writes a neighbour, fsyncs it, renames it. mode e.g. 0644. What is no file but a device
 * or a pipe is written into. */
enum err file_replace(const char *path, const void *bytes, size_t n, unsigned mode, struct why *why);

/* Appends with one write(2) to a file opened O_APPEND (made with 0644 when missing); fsync when `durable`. */
enum err file_append(const char *path, const void *bytes, size_t n, bool durable, struct why *why);

/* mkdir -p. */
enum err dir_make(const char *path, unsigned mode, struct why *why);

/* What was made, renamed and removed in it outlives a power cut now. ERR_IO. */
enum err dir_flush(const char *path);

/* Makes a fresh directory "<base>/<stem>.XXXXXX", where base is TMPDIR or /tmp; writes its path (PATH_MAX) into `out`.
 */
enum err dir_temporary(const char *stem, char *out, size_t n_out, struct why *why);

/* What is open ends some day: a file, a pipe, a terminal, /dev/null (as an empty file); else ERR_IO with words. */
enum err file_check_ends(int fd, const char *path, struct why *why);

/* Removes a directory and all below it, following no links. Never fails: what cannot be removed stays. */
void dir_remove(const char *path);

/* The same, the file `last` in it after all else (NULL: none): where anything stays, as when the process is killed at
 * it, that file does, too. */
void dir_remove_last(const char *path, const char *last);

#endif
