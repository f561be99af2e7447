/* SPDX-License-Identifier: MIT */
/* workdir.h - an agent's temporary directory: blobs for its children, compiler caches by generation, the
 * folders of compile children.
 * A lock file in it tells the living from the dead: the next agent to start removes what a killed one left. */
#ifndef TUNE_AGENT_WORKDIR_H
#define TUNE_AGENT_WORKDIR_H

#include "core/blobs.h"
#include "core/err.h"
#include "core/temp_dir.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKDIR_STEM "tune-agent"
#define WORKDIR_MAX_BLOB_BYTES ((int64_t)1 << 30) /* on disk, of blobs not in use */
#define WORKDIR_ROOM_BYTES ((int64_t)16 << 20) /* that its disk has to have left, for compilers and what they write */
#define WORKDIR_MAX_BLOBS 1024                 /* as many, so that an agent's end has the time to remove them */

struct workdir_blob {
    struct sha256 name;
    int64_t n_bytes;
    int64_t used; /* stamp of the last use */
};

struct workdir {
    struct temp_dir temp;
    pthread_mutex_t lock; /* of all below */
    struct workdir_blob *blobs;
    size_t n_blobs, cap_blobs;
    int64_t sum_bytes, stamp;
};

/* Makes a fresh directory "<TMPDIR or /tmp>/tune-agent.XXXXXX" with its lock. */
enum err workdir_open(struct workdir *w, struct why *why);

/* Removes the directory with all in it. */
void workdir_close(struct workdir *w);

/* Can be worked in it? ERR_NOT_FOUND: it is gone; ERR_IO: nothing can be written, or less than WORKDIR_ROOM_BYTES is
 * left. From any thread. */
enum err workdir_check(const struct workdir *w, struct why *why);

/* Removes the folder and keeps w, which other threads may still be using: for the last moment of a process. */
void workdir_remove(const struct workdir *w);

/* Removes the directories of agents that are dead (their lock is free); returns how many. */
int workdir_sweep(void);

/* What is done with blobs is thread-safe. */

/* The stamp of the last use of any blob: later uses have higher ones. */
int64_t workdir_stamp(struct workdir *w);

/* Is the blob here, still? True stamps it as used. */
bool workdir_has(struct workdir *w, const char *hex);

/* Does its file system refuse code that is loaded from it (mount option noexec)? */
bool workdir_is_noexec(const struct workdir *w);

/* Forgets the blobs that are not what their names say. */
void workdir_doubt(struct workdir *w);

/* Writes a blob of the set that is not here yet; ERR_NOT_FOUND when the set lacks it. */
enum err workdir_put(struct workdir *w, const struct blobs *set, const char *hex, struct why *why);

/* Forgets blobs not used since `stamp`, those unused for longest first, while there are more than the maxima. */
void workdir_trim(struct workdir *w, int64_t stamp);

/* Path of a compiler cache; each generation is a directory of its own. */
void workdir_cache(const struct workdir *w, int64_t generation, char *out, size_t n_out);
void workdir_drop_cache(const struct workdir *w, int64_t generation);

/* Gives a blob that is here a second name, e.g. in a compiler's cache; nothing to do when that is there. ERR_IO.
 */
enum err workdir_link(const struct workdir *w, const char *hex, const char *to_path, struct why *why);

/* In a child, which knows the directory's path only: reads a blob and checks it against its name. */
enum err workdir_load_blob(const char *path, const char *hex, struct blobs *into, struct why *why);

#endif
