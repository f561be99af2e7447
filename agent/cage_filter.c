/* SPDX-License-Identifier: MIT */
/* cage_filter.c - the system calls that a child has no use for. What drivers, LLVM and compilers' processes do stays.
 */
#include "agent/cage_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW 4 /* without it older kernels slow the code down */
#endif
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

/* Namespaces, and a process that is the agent's child and not this one's. */
#define CLONE_REFUSED                                                                                                  \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |       \
     CLONE_PARENT)
#define X32_BIT 0x40000000u
#define SETOWN 0x8901  /* FIOSETOWN */
#define SETPGRP 0x8902 /* SIOCSPGRP */
#define TYPE 0x5412    /* TIOCSTI: types at a terminal for who sits there; TIOCLINUX: pastes */
#define PASTE 0x541c
#define MAX_CODE 400

/* Numbers of the calls that are the same everywhere, for headers older than they. */
enum {
    CALL_PIDFD_SEND_SIGNAL = 424,
    CALL_IO_URING_SETUP = 425,
    CALL_PIDFD_OPEN = 434,
    CALL_CLONE3 = 435,
    CALL_PIDFD_GETFD = 438
};

/* Others' processes, the kernel's inside, mounts, other users, keys, clocks, machines, and memory and queues that
 * others share, which a number that can be guessed opens. */
static const int refused[] = {
#ifndef __SANITIZE_ADDRESS__ /* which looks for leaks through it */
    SYS_ptrace,
#endif
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    CALL_PIDFD_SEND_SIGNAL, /* which takes a folder of /proc, too */
    CALL_PIDFD_OPEN,
    CALL_PIDFD_GETFD,
    SYS_setsid,
    SYS_setpgid,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    CALL_IO_URING_SETUP,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    428, /* open_tree, move_mount, fsopen, fsconfig, fsmount, fspick */
    429,
    430,
    431,
    432,
    433,
    442, /* mount_setattr */
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_fanotify_init,
#ifdef SYS_mknod
    SYS_mknod,
#endif
    SYS_mknodat,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_vhangup,
    SYS_mq_open,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
};

/* Where others' processes are seen: of an ordinary user the agent is one of them. */
static const int refused_in_company[] = {
    SYS_tkill,          SYS_rt_sigqueueinfo, SYS_setpriority, SYS_ioprio_set, SYS_sched_setscheduler,
    SYS_sched_setparam, SYS_sched_setattr,
};

/* One of a pair sends datagrams to whom it likes. */
static const int sockets_of[] = {SYS_socket, SYS_socketpair};

struct code {
    struct sock_filter at[MAX_CODE];
    unsigned short n;
};

static void add(struct code *c, unsigned short op, uint32_t k, uint8_t yes, uint8_t no)
{
    if (c->n < MAX_CODE)
        c->at[c->n++] = (struct sock_filter){op, yes, no, k};
}

static void load(struct code *c, size_t offset)
{
    add(c, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void load_number(struct code *c)
{
    load(c, offsetof(struct seccomp_data, nr));
}

/* The low half: what is looked at are ints. */
static void load_arg(struct code *c, int i)
{
    load(c, offsetof(struct seccomp_data, args) + (size_t)i * sizeof(uint64_t));
}

static void refuse(struct code *c, int e)
{
    add(c, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)e, 0, 0);
}

static void allow(struct code *c)
{
    add(c, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static void refuse_call(struct code *c, int number, int e)
{
    add(c, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
    refuse(c, e);
}

/* Of a call: allowed where its i-th argument is `value`, refused otherwise. */
static void only_with(struct code *c, int number, int i, uint32_t value)
{
    add(c, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4);
    load_arg(c, i);
    add(c, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    allow(c);
    refuse(c, EPERM);
}

/* Of a call: refused where its i-th argument is `value`. */
static void not_with(struct code *c, int number, int i, uint32_t value)
{
    add(c, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 4);
    load_arg(c, i);
    add(c, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    refuse(c, EPERM);
    load_number(c);
}

/* Processes yes, namespaces no. clone3's flags lie in memory, where no filter can look: libc goes back to clone. */
static void refuse_spaces(struct code *c)
{
    refuse_call(c, CALL_CLONE3, ENOSYS);
    add(c, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    load_arg(c, 0);
    add(c, BPF_JMP | BPF_JSET | BPF_K, CLONE_REFUSED, 0, 1);
    refuse(c, EPERM);
    allow(c);
}

/* No signal but to itself, not by a file's owner either, whom a byte that comes is told by any signal. No other place
 * among those who wait for a CPU. */
static void refuse_company(struct code *c)
{
    const uint32_t own = (uint32_t)getpid();

    only_with(c, SYS_kill, 0, own);
    only_with(c, SYS_tgkill, 0, own);
    only_with(c, SYS_rt_tgsigqueueinfo, 0, own);
    for (size_t i = 0; i < sizeof refused_in_company / sizeof *refused_in_company; i++)
        refuse_call(c, refused_in_company[i], EPERM);
    not_with(c, SYS_fcntl, 1, F_SETOWN);
    not_with(c, SYS_fcntl, 1, F_SETOWN_EX);
    not_with(c, SYS_ioctl, 1, SETOWN);
    not_with(c, SYS_ioctl, 1, SETPGRP);
}

/* A call by another architecture's numbers (int $0x80, x32) is none. */
static void refuse_other_arches(struct code *c, uint32_t arch)
{
    load(c, offsetof(struct seccomp_data, arch));
    add(c, BPF_JMP | BPF_JEQ | BPF_K, arch, 1, 0);
    refuse(c, ENOSYS);
    load_number(c);
#ifdef __x86_64__
    add(c, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    refuse(c, ENOSYS);
#endif
}

int cage_filter(bool sockets, bool alone)
{
#ifdef OWN_ARCH
    struct code c = {.n = 0};
    struct sock_fprog program = {.filter = c.at};

    refuse_other_arches(&c, OWN_ARCH);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuse_call(&c, refused[i], EPERM);
    if (sockets)
        only_with(&c, SYS_socket, 0, AF_UNIX);
    for (size_t i = 0; !sockets && i < sizeof sockets_of / sizeof *sockets_of; i++)
        refuse_call(&c, sockets_of[i], EPERM);
    not_with(&c, SYS_ioctl, 1, TYPE);
    not_with(&c, SYS_ioctl, 1, PASTE);
    only_with(&c, SYS_prlimit64, 0, 0);
    if (!alone)
        refuse_company(&c);
    refuse_spaces(&c);
    allow(&c);
    program.len = c.n;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0)
        return 0;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
#else
    (void)sockets;
    (void)alone;
    return ENOSYS;
#endif
}
