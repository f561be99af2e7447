/* SPDX-License-Identifier: MIT */
/* cage_landlock.c - Landlock's rules of a view (kernel documentation, userspace-api/landlock). The kernel's numbers are
 * here, as headers of a build machine may be older than the kernel of a board. */
#include "agent/cage_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, ASK_VERSION = 1, PATH_BENEATH = 1 };

/* Rights of files, by bit: execute, write, read, read_dir, remove_dir, remove_file, make: char dir reg sock fifo block
 * sym, refer, truncate, ioctl_dev. */
#define WRITE ((uint64_t)0x0002)
#define READ_RIGHTS ((uint64_t)0x000d)
#define WRITE_RIGHTS ((uint64_t)0x65be) /* reads, makes folders, files and pipes, no links and no device nodes */
#define DEVICE_RIGHTS ((uint64_t)0x8006)
#define FILE_RIGHTS ((uint64_t)0xc007) /* what may be said of a file that is no folder */
#define NET_TCP ((uint64_t)3)
#define SCOPE_ALL ((uint64_t)3) /* abstract sockets, signals */

struct ruleset {
    uint64_t files, net, scopes;
};

static uint64_t known_rights(int abi)
{
    const int n_rights = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;

    return ((uint64_t)1 << n_rights) - 1;
}

static int allow_fd(int rules, int fd, uint64_t rights)
{
    struct {
        uint64_t rights;
        int32_t fd;
    } __attribute__((packed)) beneath = {rights, fd};
    struct stat st;

    if (fd < 0)
        return errno == ENOENT ? 0 : errno;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        beneath.rights &= FILE_RIGHTS;
    return syscall(ADD_RULE, rules, PATH_BENEATH, &beneath, 0) == 0 ? 0 : errno;
}

static int allow(int rules, const char *path, uint64_t rights)
{
    const int fd = open(path, O_PATH | O_CLOEXEC), e = allow_fd(rules, fd, rights);

    if (fd >= 0)
        close(fd);
    return e;
}

/* Of others' files there only reading, and by the usual rules; of its own what names its threads, too. The descriptor
 * stays: without one /proc may forget the folder that has the rule, and make another. */
static int allow_proc(int rules, uint64_t known)
{
    const int e = allow(rules, "/proc", READ_RIGHTS & known);

    return e ? e : allow_fd(rules, open("/proc/self", O_PATH | O_CLOEXEC), (READ_RIGHTS | WRITE) & known);
}

static int allow_view(int rules, const struct view *v, bool own_root, uint64_t known)
{
    static const uint64_t rights[] = {
        [VIEW_READ] = READ_RIGHTS, [VIEW_WRITE] = WRITE_RIGHTS, [VIEW_DEVICE] = DEVICE_RIGHTS};
    int e = allow_proc(rules, known);

    if (!e && own_root)
        e = allow(rules, "/tmp", WRITE_RIGHTS & known);
    if (!e && own_root)
        e = allow(rules, "/dev/shm", WRITE_RIGHTS & known);
    for (size_t i = 0; !e && i < v->n; i++)
        e = allow(rules, v->entries[i].path, rights[v->entries[i].use] & known);
    return e;
}

int view_landlock(const struct view *v, bool own_root)
{
    const int version = (int)syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    const uint64_t known = known_rights(version);
    const struct ruleset set = {known, version >= 4 ? NET_TCP : 0, version >= 6 ? SCOPE_ALL : 0};
    int rules, e;

    if (version < 1)
        return errno;
    rules = (int)syscall(CREATE_RULESET, &set, version >= 6 ? 24 : version >= 4 ? 16 : 8, 0);
    if (rules < 0)
        return errno;
    e = allow_view(rules, v, own_root, known);
    if (!e && syscall(RESTRICT_SELF, rules, 0) != 0)
        e = errno;
    close(rules);
    return e;
}
