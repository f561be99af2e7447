/* SPDX-License-Identifier: MIT */
/* proc.h - child processes started with exec (never a plain fork: the wire library forbids it). */
#ifndef TUNE_CORE_PROC_H
#define TUNE_CORE_PROC_H

#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_options {
    const char *const *argv;    /* argv[0] is the path to execute; NULL-ended */
    const char *const *env_add; /* "NAME=value" entries put over the parent's environment; NULL-ended, or NULL */
    bool (*env_keeps)(const char *entry); /* which "NAME=value" of the parent's it gets; NULL = all */
    int in_fd, out_fd, err_fd;            /* what becomes the child's 0, 1, 2; -1 = /dev/null */
    int pass_fd;                          /* one more descriptor the child inherits as 3; -1 = none */
    int64_t data_bytes;                   /* RLIMIT_DATA of the child; 0 = as the parent */
    int64_t core_bytes;                   /* RLIMIT_CORE of the child; usually 0 */
    const int *cpus;                      /* the CPUs the child may run on; NULL = as the parent */
    int n_cpus;
    bool own_group; /* a process group of its own, so that proc_kill reaches grandchildren */
    int spaces;     /* CLONE_NEW*: namespaces of its own. With CLONE_NEWUSER its user and group are 0 in there, with
                     * CLONE_NEWPID it is process 1, and what it started ends with it */
};

/* Starts a child. It dies with the parent's death (PR_SET_PDEATHSIG, checked against a race), inherits no other
 * descriptor, and has default signal handling. ERR_IO with errno's words in `why` when it cannot be started, as where
 * its namespaces are forbidden. */
enum err proc_start(const struct proc_options *options, pid_t *pid, struct why *why);

/* Sends `signal` to the child's group when it has one, else to it alone. pid <= 0 is ignored. */
void proc_kill(pid_t pid, int signal, bool group);

/* Waits until the child ends or `timeout_ms` passes (0 = look once, -1 = for ever): ERR_TIMEOUT, else `status` as
 * waitpid's. */
enum err proc_wait(pid_t pid, int64_t timeout_ms, int *status);

/* Resident bytes of a process from /proc, or -1. */
int64_t proc_rss_bytes(pid_t pid);

/* Those of all processes that it started and that these did, as far as they are its own (what they share is told once);
 * 0 where the kernel does not tell them. */
int64_t proc_forks_bytes(pid_t pid);

/* Path of the running program's own directory, without a final '/', into out; e.g. to find its siblings. */
enum err proc_own_dir(char *out, size_t n_out);

/* Opens /dev/null for each of 0, 1 and 2 that is closed, so that no file or socket of ours gets a number that people
 * print to; 1 for reading alone: what is printed there is lost, and that shall be an error. To be called first in main,
 * before anything else is opened. */
void proc_keep_standard_fds(void);

/* What passes the limit of a file's size (ulimit -f) fails, with words, rather than ending the process without any. */
void proc_let_writes_fail(void);

/* Gives $PATH what systems do where it is empty or missing: compilers and drivers look for their linker in it. To be
 * called before there are threads. */
void proc_want_path(void);

/* Can so many threads (PROC_MAX_TRIED_THREADS at most) be started beside those that there are, with stacks of the usual
 * size? Starts them, and ends them again. ERR_LIMIT, in words. */
#define PROC_MAX_TRIED_THREADS 64
enum err proc_try_threads(int n, struct why *why);

/* Number of CPUs this process may run on; at least 1. Their numbers go to cpus[max] when it is not NULL. */
int proc_cpus(int *cpus, int max);

#endif
