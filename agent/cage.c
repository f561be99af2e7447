/* SPDX-License-Identifier: MIT */
#include "agent/cage.h"

#include "agent/cage_parts.h"
#include "core/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_FD 3 /* its stream, sandbox.h */
#define SPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)
#define FIRST_UID 0x70000000u /* of users that no system hands out; the agent's process number is added */
#define MAX_GROUPS 32
#define MAX_FILES 4096
#define PROCESSES 256 /* and more for each CPU, as runtimes start a thread on each */
#define PROCESSES_A_CPU 16
#define NPROC_IN_SPACE "5.14" /* since when a user namespace has a count of its own */

/* ---- the parent ---- */

static bool may_have(int spaces)
{
    static const char *const argv[] = {"/bin/true", NULL};
    const struct proc_options o = {
        .argv = argv, .in_fd = -1, .out_fd = -1, .err_fd = -1, .pass_fd = -1, .spaces = spaces};
    pid_t pid;
    int status = -1;

    return proc_start(&o, &pid, NULL) == ERR_OK && proc_wait(pid, -1, &status) == ERR_OK && status == 0;
}

void cage_plan(struct cage *c, const char *sees)
{
    static const int wanted[] = {SPACES, SPACES | CLONE_NEWUSER, SPACES & ~CLONE_NEWNET};

    *c = (struct cage){.on = true, .sees = sees ? sees : ""};
    for (size_t i = 0; !c->spaces && i < sizeof wanted / sizeof *wanted; i++)
        if (may_have(wanted[i]))
            c->spaces = wanted[i];
    if (geteuid() == 0) /* in a user namespace it fails, and is said */
        c->uid = FIRST_UID + (unsigned)getpid();
}

/* What a cage is for would be gone: all files, and the agent's own in /proc. */
static bool shows_all(const char *path)
{
    char real[PATH_MAX];

    return realpath(path, real) &&
           (strcmp(real, "/") == 0 || (strncmp(real, "/proc", 5) == 0 && (!real[5] || real[5] == '/')));
}

enum err cage_check_sees(const char *sees, struct why *why)
{
    if (strlen(sees) > CAGE_SEES_BYTES)
        return why_set(why, ERR_LIMIT, "--cage-sees: expected paths of at most %d bytes in all, with ':' between",
                       CAGE_SEES_BYTES);
    for (size_t n; *sees; sees += n + (sees[n] == ':')) {
        char path[PATH_MAX];

        n = strcspn(sees, ":");
        snprintf(path, sizeof path, "%.*s", (int)(n < sizeof path ? n : sizeof path), sees);
        if (n && (n >= sizeof path || *path != '/' || access(path, F_OK) != 0))
            return why_set(why, ERR_INPUT, "--cage-sees '%.200s': expected a path from / on of a file that is there",
                           path);
        if (n && shows_all(path))
            return why_set(why, ERR_INPUT,
                           "--cage-sees '%.200s' shows all that a cage hides: expected a folder of a "
                           "driver, or --cage off",
                           path);
    }
    return ERR_OK;
}

enum err cage_to_text(const struct cage *c, struct buf *out)
{
    return c && c->on ? buf_printf(out, "%x:%u:%d:%s", (unsigned)c->spaces, c->uid, c->must, c->sees) : ERR_OK;
}

void cage_words(const struct cage *c, const struct cage_report *r, char out[CAGE_LINE_BYTES])
{
    if (!c || !c->on)
        snprintf(out, CAGE_LINE_BYTES, "off");
    else
        snprintf(out, CAGE_LINE_BYTES, "%s%s", r->lacks[0] ? "without " : "whole", r->lacks);
}

/* By their beginnings: what loaders, compilers, drivers, OpenMP, sanitizers and we ourselves are told by. */
static const char *const shown[] = {
    "PATH=",  "LD_",       "LANG",          "LC_",           "TZ=",      "HOME=",   "TMPDIR=", "XDG_CACHE_HOME=",
    "CPATH=", "C_INCLUDE", "CPLUS_INCLUDE", "LIBRARY_PATH=", "OCL_",     "OPENCL_", "POCL_",   "CL_",
    "CUDA_",  "NVIDIA_",   "NV_",           "HIP_",          "HSA_",     "ROC",     "AMD_",    "GPU_",
    "MALI_",  "MESA_",     "LIBGL_",        "GALLIUM_",      "RUSTICL_", "ZE_",     "NEO",     "IGC_",
    "INTEL_", "SYCL_",     "OMP_",          "GOMP_",         "KMP_",     "LIBOMP",  "MALLOC_", "GLIBC_TUNABLES=",
    "ASAN_",  "LSAN_",     "UBSAN_",        "TSAN_",         "LLVM_",    "GCOV_",   "TUNE_"};

static const char *const hidden[] = {"TUNE_KEY_FILE=", "TUNE_CERT_FILE=", "TUNE_HUB_"};

static bool begins_with_one(const char *entry, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(entry, list[i], strlen(list[i])) == 0)
            return true;
    return false;
}

bool cage_shows_variable(const char *entry)
{
    return begins_with_one(entry, shown, sizeof shown / sizeof *shown) &&
           !begins_with_one(entry, hidden, sizeof hidden / sizeof *hidden);
}

/* ---- the child ---- */

static void lack(struct cage_report *r, const char *what, int e)
{
    const size_t used = strlen(r->lacks);

    if (e)
        snprintf(r->lacks + used, sizeof r->lacks - used, "%s%s (%s)", used ? ", " : "", what, strerror(e));
}

static bool read_text(const char *text, struct cage *c)
{
    char *rest;

    *c = (struct cage){.on = *text != '\0'};
    c->spaces = (int)strtoul(text, &rest, 16);
    if (*rest != ':')
        return false;
    c->uid = (unsigned)strtoul(rest + 1, &rest, 10);
    c->must = *rest == ':' && strtol(rest + 1, &rest, 10) != 0;
    c->sees = *rest == ':' ? rest + 1 : "";
    return *rest == ':' && c->on;
}

/* Where the child's own user may go through and write; the files of a work directory belong to the agent. */
static int hand_over(const char *dir, const char *cache_dir, unsigned uid)
{
    char blobs[PATH_MAX];

    snprintf(blobs, sizeof blobs, "%s/blobs", dir);
    if (chmod(dir, 0711) != 0 || (access(blobs, F_OK) == 0 && chmod(blobs, 0711) != 0))
        return errno;
    return cache_dir && lchown(cache_dir, uid, uid) != 0 ? errno : 0;
}

/* None comes back by an exec. */
static void drop_bounds(void)
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
        prctl(PR_CAPBSET_DROP, cap);
}

static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};

    return syscall(SYS_capset, &head, none) == 0 ? 0 : errno;
}

/* A change of user takes the parent's death's signal away. */
static int become(unsigned uid, const gid_t *groups, int n_groups)
{
    struct pollfd parent = {.fd = CHILD_FD};

    if (setgroups((size_t)n_groups, groups) != 0 || setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
        return errno;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 1); /* else its own files in /proc are root's */
    if (poll(&parent, 1, 0) == 1 && (parent.revents & POLLHUP))
        _exit(1);
    return 0;
}

static bool older_than(const char *version)
{
    unsigned major = 0, minor = 0, wanted_major = 0, wanted_minor = 0;
    struct utsname u;

    if (uname(&u) != 0)
        return true;
    sscanf(u.release, "%u.%u", &major, &minor);
    sscanf(version, "%u.%u", &wanted_major, &wanted_minor);
    return major < wanted_major || (major == wanted_major && minor < wanted_minor);
}

static int limit(int what, rlim_t n)
{
    struct rlimit l;

    if (getrlimit((__rlimit_resource_t)what, &l) == 0 && l.rlim_max != RLIM_INFINITY && l.rlim_max < n)
        n = l.rlim_max;
    l = (struct rlimit){n, n};
    return setrlimit((__rlimit_resource_t)what, &l) == 0 ? 0 : errno;
}

/* Processes are counted for a user; for one who has others, only in a namespace that has its own count. */
static void set_limits(const struct cage *c, struct cage_report *r)
{
    const bool in_space = (c->spaces & CLONE_NEWUSER) != 0;
    const bool counted = in_space ? !c->uid && !older_than(NPROC_IN_SPACE) : c->uid != 0;
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);

    lack(r, "limit of files", limit(RLIMIT_NOFILE, MAX_FILES));
    lack(r, "limit of core files", limit(RLIMIT_CORE, 0));
    lack(r, "limit of message queues", limit(RLIMIT_MSGQUEUE, 0));
    lack(r, "limit of processes",
         counted ? limit(RLIMIT_NPROC, PROCESSES + PROCESSES_A_CPU * (rlim_t)(cpus > 0 ? cpus : 1)) : ENOTSUP);
}

/* Compilers' temporary files and drivers' own caches go where the agent removes them, and to no other agent. */
static void point_to_cache(const char *cache_dir)
{
    static const char *const names[] = {"TMPDIR", "HOME", "XDG_CACHE_HOME", "CUDA_CACHE_PATH"};

    for (size_t i = 0; cache_dir && i < sizeof names / sizeof *names; i++)
        setenv(names[i], cache_dir, 1);
}

static void enter_spaces(const struct cage *c, const struct view *v, const char *dir, bool *own_root,
                         struct cage_report *r)
{
    bool own_proc = true;
    int e;

    *own_root = false;
    lack(r, "namespaces", c->spaces ? 0 : EPERM);
    lack(r, "network namespace", c->spaces && !(c->spaces & CLONE_NEWNET) ? EPERM : 0);
    if (!(c->spaces & CLONE_NEWNS))
        return;
    e = view_mount(v, dir, &own_proc);
    lack(r, "root of its own", e);
    lack(r, "/proc of its own", e || own_proc ? 0 : EPERM);
    *own_root = !e;
}

/* May any user go there? 0 or an errno. */
static int is_open_to_all(const char *dir)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s", dir);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        struct stat st;

        *slash = '\0';
        if (stat(path, &st) != 0)
            return errno;
        if (!(st.st_mode & S_IXOTH))
            return EACCES;
        *slash = '/';
    }
    return 0;
}

/* Where it cannot be, or would not get to its files, the cache is the agent's user's again: a root without rights
 * writes where root may. 0 or an errno. */
static int take_user(unsigned uid, int e, const gid_t *groups, int n_groups, const char *cache_dir,
                     struct cage_report *r)
{
    if (uid && !e)
        e = become(uid, groups, n_groups);
    lack(r, "user of its own", e);
    if (e && cache_dir)
        (void)!lchown(cache_dir, geteuid(), getegid());
    return e;
}

/* In the order that each step's rights last for. */
static void shut(const struct cage *c, const char *dir, const char *cache_dir, const char *device,
                 struct cage_report *r)
{
    const bool alone = (c->spaces & CLONE_NEWPID) != 0;
    gid_t groups[MAX_GROUPS];
    bool own_root = false;
    struct view v;
    int n_groups;

    if (view_make(&v, dir, cache_dir, device, c->sees)) {
        lack(r, "all", ENOMEM);
        view_fini(&v);
        return;
    }
    n_groups = view_groups(&v, groups, MAX_GROUPS);
    if (c->uid)
        lack(r, "work directory of its user", hand_over(dir, cache_dir, c->uid));
    enter_spaces(c, &v, dir, &own_root, r);
    set_limits(c, r);
    lack(r, "no new privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno);
    lack(r, "Landlock", view_landlock(&v, own_root)); /* its paths are opened by who may open them */
    drop_bounds();
    if (take_user(c->uid, c->uid && !own_root ? is_open_to_all(dir) : 0, groups, n_groups, cache_dir, r) && c->uid &&
        !(c->spaces & CLONE_NEWUSER))
        lack(r, "limit of processes", EPERM); /* root's are not counted */
    lack(r, "loss of capabilities", drop_capabilities());
    lack(r, "filter of system calls", cage_filter(strncmp(device, "cuda", 4) == 0, alone));
    view_fini(&v);
}

/* abort() of process 1 of a namespace sends a signal that the kernel drops: it ends as a shell would tell it. */
static void end_by_abort(int signal)
{
    _exit(128 + signal);
}

enum err cage_enter(const char *text, const char *dir, const char *cache_dir, const char *device,
                    struct cage_report *report, struct why *why)
{
    struct cage c;

    report->lacks[0] = '\0';
    if (!read_text(text, &c)) {
        snprintf(report->lacks, sizeof report->lacks, "all: the cage is off");
        return ERR_OK;
    }
    shut(&c, dir, cache_dir, device, report);
    point_to_cache(cache_dir);
    if (getpid() == 1)
        signal(SIGABRT, end_by_abort);
    return c.must && report->lacks[0] ? why_set(why, ERR_UNSUPPORTED, "the cage of this child lacks %s", report->lacks)
                                      : ERR_OK;
}

void cage_sweep(void)
{
    if (getpid() != 1)
        return;
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}
