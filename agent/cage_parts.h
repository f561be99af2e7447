/* SPDX-License-Identifier: MIT */
/* cage_parts.h - the parts of a cage: what is seen, and which system calls are left. */
#ifndef TUNE_AGENT_CAGE_PARTS_H
#define TUNE_AGENT_CAGE_PARTS_H

#include "agent/cage.h"
#include "core/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum view_use { VIEW_READ, VIEW_WRITE, VIEW_DEVICE };

struct view_entry {
    char *path;
    enum view_use use;
};

/* What a child sees of the files: parents before what lies in them. */
struct view {
    struct view_entry *entries;
    size_t n, cap;
};

/* Of a child: what its device's drivers and compilers need, dir, cache_dir, and `sees`. ERR_NOMEM. */
enum err view_make(struct view *v, const char *dir, const char *cache_dir, const char *device, const char *sees);
void view_fini(struct view *v);

/* Groups that own device files of the view which not everybody may use; how many of `max`. */
int view_groups(const struct view *v, gid_t *groups, int max);

/* Makes a root of the view, on `dir`, and goes into it; in a mount namespace of its own alone. 0 or an errno.
 * *own_proc: /proc shows this namespace's processes. */
int view_mount(const struct view *v, const char *dir, bool *own_proc);

/* Forbids all files but the view's, and TCP and signals to others where this kernel's Landlock can; own_root: /tmp and
 * /dev/shm are the child's own. 0 or an errno. */
int view_landlock(const struct view *v, bool own_root);

/* The filter of system calls, for good. sockets: local ones may be made (some drivers do); alone: it has its processes
 * to itself, so that signals may stay. 0 or an errno. */
int cage_filter(bool sockets, bool alone);

#endif
