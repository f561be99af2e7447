/* SPDX-License-Identifier: MIT */
/* cage_view.c - the files that a child sees: one list, of which a root is mounted and Landlock's rules are made. */
#include "agent/cage_parts.h"
#include "core/vec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OLD "/old"
#define AGENT_LOCK "tune-agent-"                        /* of agents' names, not of devices */
#define ROOT_OPTIONS "mode=0755,size=64m,nr_inodes=16k" /* what the child may write beside its cache */

/* Drivers, compilers, and what tells them of the machine. */
static const char *const always_read[] = {"/usr",
                                          "/bin",
                                          "/sbin",
                                          "/lib",
                                          "/lib32",
                                          "/lib64",
                                          "/opt/rocm",
                                          "/opt/intel",
                                          "/etc/OpenCL",
                                          "/etc/ld.so.cache",
                                          "/etc/alternatives",
                                          "/etc/nvidia",
                                          "/etc/localtime",
                                          "/vendor",
                                          "/system",
                                          "/sys"};

static const char *const always_devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

/* By the vendors' documents (container toolkits, udev rules); tried on none of these but PoCL, which needs none. */
static const char *const device_patterns[] = {"/dev/nvidia[0-9]*",  "/dev/nvidiactl", "/dev/nvidia-uvm*",
                                              "/dev/nvidia-caps/*", "/dev/mali*",     "/dev/dri/renderD*",
                                              "/dev/kfd",           "/dev/dxg",       "/dev/dma_heap/*",
                                              "/dev/ion",           "/dev/kgsl-3d0"};

/* Paths, or lists of them between colons, that people tell the runtimes by. */
static const char *const by_environment[] = {"LD_LIBRARY_PATH",   "LD_PRELOAD", "OCL_ICD_VENDORS",
                                             "OCL_ICD_FILENAMES", "CUDA_HOME",  "TUNE_SYSFS"};

/* Libraries that find others beside themselves (libnvrtc its libnvrtc-builtins): their folders. */
static const char *const libraries[] = {"TUNE_OPENCL_LIBRARY", "TUNE_CUDA_LIBRARY", "TUNE_NVML_LIBRARY", "TUNE_NVRTC"};

/* ---- the list ---- */

static enum err add(struct view *v, const char *path, enum view_use use)
{
    if (path[0] != '/' || access(path, F_OK) != 0)
        return ERR_OK;
    if (VEC_ROOM(v->entries, v->cap, v->n + 1, VEC_ANY))
        return ERR_NOMEM;
    v->entries[v->n].path = strdup(path);
    v->entries[v->n].use = use;
    return v->entries[v->n++].path ? ERR_OK : ERR_NOMEM;
}

static enum err add_all(struct view *v, const char *const *paths, size_t n, enum view_use use)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < n; i++)
        e = add(v, paths[i], use);
    return e;
}

static enum err add_list(struct view *v, const char *list, const char *between)
{
    enum err e = ERR_OK;

    while (!e && list && *list) {
        const size_t n = strcspn(list, between);
        char path[PATH_MAX];

        if (n && n < sizeof path) {
            memcpy(path, list, n);
            path[n] = '\0';
            e = add(v, path, VIEW_READ);
        }
        list += n + (list[n] != '\0');
    }
    return e;
}

static enum err add_pattern(struct view *v, const char *pattern, enum view_use use)
{
    enum err e = ERR_OK;
    glob_t found;

    if (glob(pattern, 0, NULL, &found) != 0)
        return ERR_OK;
    for (size_t i = 0; !e && i < found.gl_pathc; i++)
        if (!strstr(found.gl_pathv[i], "/" AGENT_LOCK))
            e = add(v, found.gl_pathv[i], use);
    globfree(&found);
    return e;
}

/* A folder for all to write in is not shown for the sake of a library in it. */
static bool is_shared(const char *folder)
{
    struct stat st;

    return stat(folder, &st) != 0 || (st.st_mode & S_IWOTH) || strcmp(folder, "/") == 0;
}

static enum err add_library(struct view *v, const char *path)
{
    char folder[PATH_MAX], real[PATH_MAX];
    struct stat st;
    enum err e;

    if (!path || path[0] != '/' || !realpath(path, real))
        return ERR_OK;
    e = add(v, path, VIEW_READ);
    for (int i = 0; !e && i < 2; i++) { /* beside the name, and beside what it links to */
        snprintf(folder, sizeof folder, "%s", i ? real : path);
        if (stat(folder, &st) == 0 && !S_ISDIR(st.st_mode) && strrchr(folder, '/') > folder)
            *strrchr(folder, '/') = '\0';
        e = is_shared(folder) ? ERR_OK : add(v, folder, VIEW_READ);
    }
    return e;
}

/* The folder of a driver that an ICD file names by a path of its own. */
static enum err add_icd(struct view *v, const char *path)
{
    FILE *f = fopen(path, "re");
    char line[PATH_MAX] = "", *slash;

    if (!f)
        return ERR_OK;
    if (!fgets(line, sizeof line, f))
        line[0] = '\0';
    fclose(f);
    slash = strrchr(line, '/');
    if (line[0] != '/' || slash == line)
        return ERR_OK;
    *slash = '\0';
    return add(v, line, VIEW_READ);
}

static enum err add_icds(struct view *v)
{
    const char *named = getenv("OCL_ICD_VENDORS"), *dir = named && *named ? named : "/etc/OpenCL/vendors";
    char pattern[PATH_MAX];
    enum err e = ERR_OK;
    glob_t found;

    snprintf(pattern, sizeof pattern, "%s/*.icd", dir);
    if (glob(pattern, 0, NULL, &found) != 0)
        return add_icd(v, dir);
    for (size_t i = 0; !e && i < found.gl_pathc; i++)
        e = add_icd(v, found.gl_pathv[i]);
    globfree(&found);
    return e;
}

/* Locks of devices with memory of their own: a build child waits for them itself. */
static enum err add_locks(struct view *v)
{
    const char *named = getenv("TUNE_LOCK_DIR");
    char pattern[PATH_MAX];

    snprintf(pattern, sizeof pattern, "%s/tune-*.lock", named && *named ? named : "/tmp");
    return add_pattern(v, pattern, VIEW_WRITE);
}

static enum err add_devices(struct view *v)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < sizeof device_patterns / sizeof *device_patterns; i++)
        e = add_pattern(v, device_patterns[i], VIEW_DEVICE);
    return e ? e : add_locks(v);
}

static enum err add_named(struct view *v, const char *sees)
{
    char own[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    enum err e = add_list(v, sees, ":");

    for (size_t i = 0; !e && i < sizeof by_environment / sizeof *by_environment; i++)
        e = add_list(v, getenv(by_environment[i]), ": "); /* LD_PRELOAD has blanks */
    for (size_t i = 0; !e && i < sizeof libraries / sizeof *libraries; i++)
        e = add_library(v, getenv(libraries[i]));
    if (!e && n > 0) {
        own[n] = '\0';
        e = add(v, own, VIEW_READ);
    }
    return e ? e : add_icds(v);
}

static int by_length(const void *a, const void *b)
{
    const size_t n = strlen(((const struct view_entry *)a)->path), m = strlen(((const struct view_entry *)b)->path);

    return (n > m) - (n < m);
}

enum err view_make(struct view *v, const char *dir, const char *cache_dir, const char *device, const char *sees)
{
    enum err e;

    *v = (struct view){.entries = NULL};
    e = add_all(v, always_read, sizeof always_read / sizeof *always_read, VIEW_READ);
    if (!e)
        e = add_all(v, always_devices, sizeof always_devices / sizeof *always_devices, VIEW_DEVICE);
    if (!e && strcmp(device, "none") != 0)
        e = add_devices(v);
    if (!e)
        e = add_named(v, sees);
    if (!e)
        e = add(v, dir, VIEW_READ);
    if (!e && cache_dir)
        e = add(v, cache_dir, VIEW_WRITE);
    if (!e)
        qsort(v->entries, v->n, sizeof *v->entries, by_length);
    return e;
}

void view_fini(struct view *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->entries[i].path);
    free(v->entries);
    *v = (struct view){.entries = NULL};
}

int view_groups(const struct view *v, gid_t *groups, int max)
{
    int n = 0;

    for (size_t i = 0; i < v->n; i++) {
        struct stat st;

        if (v->entries[i].use == VIEW_DEVICE && n < max && stat(v->entries[i].path, &st) == 0 &&
            (st.st_mode & S_IRWXG) && !(st.st_mode & S_IWOTH) && st.st_gid != 0)
            groups[n++] = st.st_gid;
    }
    return n;
}

/* ---- the root ---- */

static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
}

static int make_target(char *path, bool is_dir)
{
    struct stat st;
    int fd;

    make_parents(path);
    if (stat(path, &st) == 0)
        return 0;
    if (is_dir)
        return mkdir(path, 0755) == 0 ? 0 : errno;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* With all that is mounted below, where the kernel can. */
static int protect(const char *path, enum view_use use)
{
    struct {
        uint64_t set, clear, propagation, user_ns;
    } attr = {.set = 2 | (use == VIEW_DEVICE ? 0 : 4)}; /* nosuid, nodev */
    unsigned long flags = MS_BIND | MS_REMOUNT | MS_NOSUID;
    struct statvfs st;

    if (use == VIEW_READ)
        attr.set |= 1;
    if (syscall(442, AT_FDCWD, path, 0x8000 /* AT_RECURSIVE */, &attr, sizeof attr) == 0)
        return 0;
    flags |= (use == VIEW_READ ? MS_RDONLY : 0) | (use == VIEW_DEVICE ? 0 : MS_NODEV);
    if (statvfs(path, &st) == 0 && (st.f_flag & ST_NOEXEC))
        flags |= MS_NOEXEC; /* what is locked stays */
    return mount(NULL, path, NULL, flags, NULL) == 0 ? 0 : errno;
}

static int show_link(const char *from, const char *path)
{
    char to[PATH_MAX];
    const ssize_t n = readlink(from, to, sizeof to - 1);

    if (n <= 0)
        return errno;
    to[n] = '\0';
    return symlink(to, path) == 0 || errno == EEXIST ? 0 : errno;
}

static int show(const struct view_entry *x)
{
    char from[PATH_MAX], path[PATH_MAX];
    struct stat st;
    int e;

    snprintf(path, sizeof path, "%s", x->path);
    if (snprintf(from, sizeof from, OLD "%s", x->path) >= (int)sizeof from)
        return ENAMETOOLONG;
    if (lstat(from, &st) != 0)
        return errno;
    if (S_ISLNK(st.st_mode) && !strchr(path + 1, '/')) /* /lib -> usr/lib */
        return show_link(from, path);
    if (stat(from, &st) != 0)
        return errno;
    e = make_target(path, S_ISDIR(st.st_mode));
    if (!e && mount(from, path, NULL, MS_BIND | MS_REC, NULL) != 0)
        e = errno;
    return e ? e : protect(path, x->use);
}

static int enter_new_root(const char *dir)
{
    int e;

    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NODEV, ROOT_OPTIONS) != 0)
        return errno;
    if (chdir(dir) == 0 && mkdir("." OLD, 0700) == 0 && syscall(SYS_pivot_root, ".", "." OLD) == 0 && chdir("/") == 0)
        return 0;
    e = errno; /* on an initramfs there is no other root: the work directory is not to stay covered */
    (void)!chdir("/");
    umount2(dir, MNT_DETACH);
    return e;
}

/* Where this namespace's own may not be mounted (containers cover parts of theirs) only what tells of the machine. */
static bool show_proc(void)
{
    static const char *const files[] = {"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version"};

    mkdir("/proc", 0755);
    if (getpid() == 1 && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0)
        return true;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[32];

        snprintf(path, sizeof path, "%s", files[i]);
        (void)show(&(struct view_entry){path, VIEW_READ});
    }
    return false;
}

static void add_usual(void)
{
    mkdir("/tmp", 01777);
    mkdir("/dev", 0755);
    mkdir("/dev/shm", 01777);
    chmod("/tmp", 01777);
    chmod("/dev/shm", 01777);
    (void)!symlink("/proc/self/fd", "/dev/fd");
}

int view_mount(const struct view *v, const char *dir, bool *own_proc)
{
    int e = enter_new_root(dir), failed = 0;

    *own_proc = false;
    if (e)
        return e;
    add_usual();
    for (size_t i = 0; i < v->n; i++) {
        const int one = show(&v->entries[i]);

        failed = one && !failed ? one : failed;
    }
    *own_proc = show_proc();
    if (umount2(OLD, MNT_DETACH) != 0)
        return errno;
    rmdir(OLD);
    return failed;
}
