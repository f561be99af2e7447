/* SPDX-License-Identifier: MIT */
/* forbid LIST PROGRAM [ARGUMENT..] - runs a program as on a system that refuses parts of a cage: a filter of system
 * calls answers as hosted CI, Docker's usual profile, or an older kernel does. $TUNE_FORBIDDEN tells tests what. Leaves
 * with 77 where this system lets nobody forbid anything. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)
#define MAX_CODE 200

enum { LANDLOCK = 444, MOUNT_SETATTR = 442, CLONE3 = 435, OPEN_TREE = 428, MOVE_MOUNT = 429, FSOPEN = 430 };

/* Of a call that is refused: always, or where its first argument has one of the bits, or is the value. */
enum when { ALWAYS, WITH_BITS, WITH_VALUE };

static const struct refusal {
    const char *part;
    int call;
    enum when when;
    uint32_t value;
    int e;
} refusals[] = {
    {"namespaces", SYS_clone, WITH_BITS, SPACES, EPERM}, /* as Docker's profile and those like it */
    {"namespaces", CLONE3, ALWAYS, 0, ENOSYS},
    {"namespaces", SYS_unshare, ALWAYS, 0, EPERM},
    {"namespaces", SYS_setns, ALWAYS, 0, EPERM},
    {"namespaces", SYS_mount, ALWAYS, 0, EPERM},
    {"namespaces", SYS_umount2, ALWAYS, 0, EPERM},
    {"namespaces", SYS_pivot_root, ALWAYS, 0, EPERM},
    {"namespaces", MOUNT_SETATTR, ALWAYS, 0, EPERM},
    {"mounts", SYS_mount, ALWAYS, 0,
     EACCES}, /* namespaces, and nothing may be done in them: AppArmor's rule for users */
    {"mounts", SYS_pivot_root, ALWAYS, 0, EACCES},
    {"mounts", OPEN_TREE, ALWAYS, 0, EPERM},
    {"mounts", MOVE_MOUNT, ALWAYS, 0, EPERM},
    {"mounts", FSOPEN, ALWAYS, 0, EPERM},
    {"mounts", MOUNT_SETATTR, ALWAYS, 0, EPERM},
    {"landlock", LANDLOCK, ALWAYS, 0, ENOSYS},              /* before Linux 5.13 */
    {"landlock-disabled", LANDLOCK, ALWAYS, 0, EOPNOTSUPP}, /* built in, left out at boot */
    {"filters", SYS_seccomp, ALWAYS, 0, ENOSYS},
    {"filters", SYS_prctl, WITH_VALUE, PR_SET_SECCOMP, EINVAL},
    {"privileges", SYS_prctl, WITH_VALUE, PR_SET_NO_NEW_PRIVS, EINVAL},
    {"users", SYS_setresuid, ALWAYS, 0, EPERM}, /* a root without CAP_SETUID */
    {"users", SYS_setresgid, ALWAYS, 0, EPERM},
    {"users", SYS_setgroups, ALWAYS, 0, EPERM},
};

struct code {
    struct sock_filter at[MAX_CODE];
    unsigned short n;
};

static void add(struct code *c, unsigned short op, uint32_t k, uint8_t yes, uint8_t no)
{
    if (c->n < MAX_CODE)
        c->at[c->n++] = (struct sock_filter){op, yes, no, k};
}

static void add_refusal(struct code *c, const struct refusal *r)
{
    const unsigned short test = r->when == WITH_BITS ? BPF_JSET : BPF_JEQ;

    add(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add(c, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r->call, 0, r->when == ALWAYS ? 1 : 3);
    if (r->when != ALWAYS) {
        add(c, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args), 0, 0);
        add(c, BPF_JMP | test | BPF_K, r->value, 0, 1);
    }
    add(c, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)r->e, 0, 0);
}

static int lists(const char *list, const char *part)
{
    const size_t n = strlen(part);

    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && strncmp(at, part, n) == 0)
            return 1;
    return 0;
}

/* How many of the words of the list are known. */
static int add_all(struct code *c, const char *list)
{
    int n_known = 0;

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (!lists(list, refusals[i].part))
            continue;
        add_refusal(c, &refusals[i]);
        n_known += i == 0 || strcmp(refusals[i].part, refusals[i - 1].part) != 0;
    }
    add(c, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    return n_known;
}

static int n_words(const char *list)
{
    int n = 1;

    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* Root may without giving up what set-user-id programs give, which is a part that may be forbidden, too. */
static int install(const struct code *c)
{
    const struct sock_fprog program = {.len = c->n, .filter = (struct sock_filter *)(uintptr_t)c->at};

    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0)
        return 0;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0
               ? 0
               : errno;
}

int main(int argc, char **argv)
{
    struct code c = {.n = 0};
    int e;

    if (argc < 3 || add_all(&c, argv[1]) != n_words(argv[1])) {
        fputs("forbid: expected LIST PROGRAM [ARGUMENT..], of the list: namespaces mounts landlock landlock-disabled "
              "filters privileges users, with ',' between\n",
              stderr);
        return 1;
    }
    setenv("TUNE_FORBIDDEN", argv[1], 1);
    e = install(&c);
    if (e) {
        printf("skipped: this system lets nobody forbid anything: %s\n", strerror(e));
        return 77;
    }
    execvp(argv[2], argv + 2);
    fprintf(stderr, "forbid: cannot start %s: %s\n", argv[2], strerror(errno));
    return 127;
}
