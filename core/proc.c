/* SPDX-License-Identifier: MIT */
#include "core/proc.h"

#include "core/clock.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_FORKS 4096 /* that are looked at */

/* All that happens between vfork-like fork and exec: only async-signal-safe calls on data made before. */
struct start {
    const struct proc_options *o;
    char **env;
    cpu_set_t cpus;
    pid_t parent;
    int null_fd, read_fd, fail_fd; /* the parent reads what fail_fd is told */
    char uid_map[32], gid_map[32];
};

static void move_fd(int from, int to, int null_fd)
{
    dup2(from >= 0 ? from : null_fd, to);
}

static void close_from(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0)
        return;
    for (int fd = first; fd < 1024; fd++)
        close(fd);
}

static void limit(int what, int64_t bytes)
{
    const struct rlimit l = {(rlim_t)bytes, (rlim_t)bytes};

    setrlimit((__rlimit_resource_t)what, &l);
}

/* In a namespace of its own a process sees no parent; but nobody else reads its pipe. */
static bool is_orphan(const struct start *s)
{
    struct pollfd p = {.fd = s->fail_fd, .events = POLLOUT};

    if (!(s->o->spaces & CLONE_NEWPID))
        return getppid() != s->parent;
    close(s->read_fd);
    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

static bool write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return ok;
}

/* 0 in there is who the parent is outside. */
static bool map_user(const struct start *s)
{
    return write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", s->uid_map) &&
           write_file("/proc/self/gid_map", s->gid_map);
}

static void fail_start(int fd)
{
    const int e = errno;

    (void)!write(fd, &e, sizeof e);
    _exit(127);
}

static void become_child(const struct start *s)
{
    const struct proc_options *o = s->o;
    int fail = s->fail_fd;
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (is_orphan(s))
        _exit(127);
    if ((o->spaces & CLONE_NEWUSER) && !map_user(s))
        fail_start(fail);
    if (o->own_group)
        setpgid(0, 0);
    for (int sig = 1; sig < 32; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    limit(RLIMIT_CORE, o->core_bytes);
    if (o->data_bytes > 0)
        limit(RLIMIT_DATA, o->data_bytes);
    if (o->cpus)
        sched_setaffinity(0, sizeof s->cpus, &s->cpus);
    fail = fcntl(fail, F_DUPFD, 10);
    move_fd(o->in_fd, 0, s->null_fd);
    move_fd(o->out_fd, 1, s->null_fd);
    move_fd(o->err_fd, 2, s->null_fd);
    if (o->pass_fd >= 0)
        dup2(o->pass_fd, 3);
    dup2(fail, 4);
    fcntl(4, F_SETFD, FD_CLOEXEC);
    close_from(5);
    if (o->pass_fd < 0)
        close(3);
    execve(o->argv[0], (char *const *)o->argv, s->env);
    fail_start(4);
}

static size_t name_len(const char *entry)
{
    return strcspn(entry, "=") + 1;
}

static char **merged_env(const char *const *add, bool (*keeps)(const char *entry))
{
    size_t n = 0, n_add = 0, n_out = 0;
    char **env;

    while (environ[n])
        n++;
    while (add && add[n_add])
        n_add++;
    env = calloc(n + n_add + 1, sizeof *env);
    if (!env)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        bool replaced = keeps && !keeps(environ[i]);

        for (size_t j = 0; j < n_add; j++)
            replaced |= strncmp(environ[i], add[j], name_len(add[j])) == 0;
        if (!replaced)
            env[n_out++] = environ[i];
    }
    for (size_t j = 0; j < n_add; j++)
        env[n_out++] = (char *)(uintptr_t)add[j];
    assert(n_out <= n + n_add && !env[n_out]);
    return env;
}

static enum err await_exec(int fd, pid_t pid, const char *path, struct why *why)
{
    int e = 0;
    ssize_t n;

    do
        n = read(fd, &e, sizeof e);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof e)
        return ERR_OK;
    waitpid(pid, NULL, 0);
    return why_set(why, ERR_IO, "cannot start %s: %s", path, strerror(e));
}

enum err proc_start(const struct proc_options *o, pid_t *pid, struct why *why)
{
    struct start s = {.o = o, .parent = getpid(), .null_fd = -1, .fail_fd = -1};
    int pipe_fd[2] = {-1, -1};
    enum err e = ERR_IO;
    pid_t child;

    assert(o->argv[0] && (o->cpus || o->n_cpus == 0));
    CPU_ZERO(&s.cpus);
    for (int i = 0; i < o->n_cpus; i++)
        CPU_SET((size_t)o->cpus[i], &s.cpus);
    s.env = merged_env(o->env_add, o->env_keeps);
    s.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (!s.env || s.null_fd < 0 || pipe2(pipe_fd, O_CLOEXEC) != 0) {
        why_set(why, e, "cannot start %s: %s", o->argv[0], strerror(errno));
        goto out;
    }
    s.read_fd = pipe_fd[0];
    s.fail_fd = pipe_fd[1];
    snprintf(s.uid_map, sizeof s.uid_map, "0 %u 1", (unsigned)geteuid());
    snprintf(s.gid_map, sizeof s.gid_map, "0 %u 1", (unsigned)getegid());
    /* No atfork handlers: nng's would panic in the child, which only execs. Not SYS_fork: arm64 has none. */
    child = (pid_t)syscall(SYS_clone, (long)(SIGCHLD | o->spaces), 0L, 0L, 0L, 0L);
    if (child == 0)
        become_child(&s);
    close(pipe_fd[1]);
    pipe_fd[1] = -1;
    if (child < 0) {
        why_set(why, e, "cannot start %s: %s", o->argv[0], strerror(errno));
        goto out;
    }
    e = await_exec(pipe_fd[0], child, o->argv[0], why);
    if (!e)
        *pid = child;
out:
    for (int i = 0; i < 2; i++)
        if (pipe_fd[i] >= 0)
            close(pipe_fd[i]);
    if (s.null_fd >= 0)
        close(s.null_fd);
    free(s.env);
    return e;
}

void proc_kill(pid_t pid, int signal, bool group)
{
    if (pid > 0)
        kill(group ? -pid : pid, signal);
}

enum err proc_wait(pid_t pid, int64_t timeout_ms, int *status)
{
    const int64_t end = clock_now_ns() + timeout_ms * 1000000;
    int64_t nap_ms = 1;

    for (;;) {
        const pid_t done = waitpid(pid, status, timeout_ms < 0 ? 0 : WNOHANG);

        if (done == pid)
            return ERR_OK;
        if (done < 0 && errno != EINTR)
            return ERR_NOT_FOUND;
        if (timeout_ms >= 0 && clock_now_ns() >= end)
            return ERR_TIMEOUT;
        if (timeout_ms >= 0) {
            clock_sleep_ms(nap_ms);
            nap_ms = nap_ms < 10 ? nap_ms + 1 : 10;
        }
    }
}

int64_t proc_rss_bytes(pid_t pid)
{
    char path[64];
    long long pages = -1;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return -1;
    if (fscanf(f, "%*s %lld", &pages) != 1)
        pages = -1;
    fclose(f);
    return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

/* PSS, where this user is told it. */
static int64_t own_bytes(pid_t pid)
{
    char path[64], line[128];
    long long kib = -1;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    f = fopen(path, "re");
    while (f && kib < 0 && fgets(line, sizeof line, f))
        (void)sscanf(line, "Pss: %lld", &kib);
    if (f)
        fclose(f);
    return kib < 0 ? proc_rss_bytes(pid) : kib * 1024;
}

/* Processes whose forks are to be looked for. */
struct forks {
    int pid[MOST_FORKS];
    int n;
};

static void add_forks_of_thread(struct forks *all, int pid, const char *thread)
{
    char path[320];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/task/%s/children", pid, thread);
    f = fopen(path, "re");
    while (f && all->n < MOST_FORKS && fscanf(f, "%d", &all->pid[all->n]) == 1)
        all->n++;
    if (f)
        fclose(f);
}

static void add_forks_of(struct forks *all, int pid)
{
    const struct dirent *thread;
    char path[64];
    DIR *dir;

    snprintf(path, sizeof path, "/proc/%d/task", pid);
    dir = opendir(path);
    while (dir && (thread = readdir(dir)))
        if (thread->d_name[0] != '.')
            add_forks_of_thread(all, pid, thread->d_name);
    if (dir)
        closedir(dir);
}

int64_t proc_forks_bytes(pid_t pid)
{
    struct forks all = {.n = 0};
    int64_t sum = 0;

    if (pid > 0)
        add_forks_of(&all, (int)pid);
    for (int i = 0; i < all.n; i++) {
        const int64_t bytes = own_bytes((pid_t)all.pid[i]);

        sum += bytes > 0 ? bytes : 0;
        add_forks_of(&all, all.pid[i]);
    }
    return sum;
}

enum err proc_own_dir(char *out, size_t n_out)
{
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash;

    if (n <= 0)
        return ERR_IO;
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) >= n_out)
        return ERR_LIMIT;
    *slash = '\0';
    strcpy(out, path);
    return ERR_OK;
}

void proc_keep_standard_fds(void)
{
    for (int fd = 0; fd <= 2; fd++) /* the lowest that is free is taken */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 1 ? O_RDONLY : O_RDWR) < 0)
            return;
}

void proc_let_writes_fail(void)
{
    signal(SIGXFSZ, SIG_IGN);
}

void proc_want_path(void)
{
    const char *path = getenv("PATH");

    if (!path || !*path)
        setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
}

static void *wait_for_end(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

enum err proc_try_threads(int n, struct why *why)
{
    pthread_t threads[PROC_MAX_TRIED_THREADS];
    pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
    int n_begun = 0, failure = 0;

    assert(n <= PROC_MAX_TRIED_THREADS);
    pthread_mutex_lock(&all);
    while (n_begun < n && (failure = pthread_create(&threads[n_begun], NULL, wait_for_end, &all)) == 0)
        n_begun++;
    pthread_mutex_unlock(&all);
    for (int i = 0; i < n_begun; i++)
        pthread_join(threads[i], NULL);
    return failure ? why_set(why, ERR_LIMIT,
                             "only %d of %d threads can be started (%s): ulimit -u or -v, or a container's limit of "
                             "processes or memory, is too low",
                             n_begun, n, strerror(failure))
                   : ERR_OK;
}

int proc_cpus(int *cpus, int max)
{
    cpu_set_t set;
    int n = 0;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &set)) {
            if (cpus && n < max)
                cpus[n] = i;
            n++;
        }
    return n ? n : 1;
}
