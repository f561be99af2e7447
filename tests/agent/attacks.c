/* SPDX-License-Identifier: MIT */
#include "attacks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_FORKS 300
#define N_FILES 40000
#define N_BYTES ((size_t)100 << 20)

const char *attack_cache;

static int told(long result)
{
    return result >= 0 ? 0 : errno;
}

/* ---- files ---- */

static int read_file(const char *path)
{
    char byte;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int e = fd < 0 ? errno : told(read(fd, &byte, 1));

    if (fd >= 0)
        close(fd);
    return e;
}

static int write_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const int e = fd < 0 ? errno : told(write(fd, "poison", 6));

    if (fd >= 0)
        close(fd);
    return e;
}

static int link_out(const char *path)
{
    char from[800];

    snprintf(from, sizeof from, "%s/link", attack_cache);
    return told(symlink(path, from));
}

/* By a program in memory that no file system knows. */
static int read_by_program(const char *path)
{
    char *argv[] = {(char *)(uintptr_t) "cat", (char *)(uintptr_t)path, NULL}, *none[] = {NULL};
    const int from = open("/bin/cat", O_RDONLY | O_CLOEXEC), to = memfd_create("x", MFD_CLOEXEC);
    pid_t pid;
    int status = 0;

    if (from < 0 || to < 0)
        return errno;
    while (sendfile(to, from, NULL, 1 << 20) > 0)
        ;
    pid = fork();
    if (pid == 0) {
        dup2(open("/dev/null", O_WRONLY), 1);
        fexecve(to, argv, none);
        _exit(127);
    }
    close(from);
    close(to);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EACCES;
}

static int make_files(const char *folder)
{
    for (int i = 0; i < N_FILES; i++) {
        char path[800];
        int fd;

        snprintf(path, sizeof path, "%s/f%d", folder, i);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
            return errno;
        close(fd);
    }
    return 0;
}

static int fill_folder(const char *folder)
{
    static char zeros[1 << 20];
    char path[800];
    int fd, e = 0;

    snprintf(path, sizeof path, "%s/fill", folder);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    for (size_t n = 0; !e && n < N_BYTES; n += sizeof zeros)
        e = told(write(fd, zeros, sizeof zeros));
    close(fd);
    unlink(path);
    return e;
}

/* A file that the agent left open for its children by mistake. */
static int find_descriptor(const char *none)
{
    char byte;

    (void)none;
    for (int fd = 3; fd < 1024; fd++)
        if (pread(fd, &byte, 1, 0) == 1)
            return 0;
    return EBADF;
}

/* ---- the network, and those of this machine who listen ---- */

static int connect_to(const char *port)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    return fd < 0 ? errno : told(connect(fd, (const struct sockaddr *)&to, sizeof to));
}

/* To a path, or behind '@' an abstract name. */
static int send_datagram(const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int pair[2], e;

    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
        return errno;
    memcpy(to.sun_path, name, strlen(name));
    if (*name == '@')
        to.sun_path[0] = '\0';
    e = told(sendto(pair[0], "x", 1, 0, (struct sockaddr *)&to,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (*name != '@'))));
    close(pair[0]);
    close(pair[1]);
    return e;
}

static int use_ring(const char *none)
{
    char parameters[256] = {0};

    (void)none;
    return told(syscall(425, 1, parameters)); /* io_uring_setup: connects without connect */
}

/* ---- other processes ---- */

static int seize(const char *pid)
{
    return told(ptrace(PTRACE_SEIZE, atoi(pid), NULL, NULL));
}

static int read_environment(const char *pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    return read_file(path);
}

static int open_memory(const char *pid)
{
    char path[64];
    int fd, e;

    snprintf(path, sizeof path, "/proc/%s/mem", pid);
    fd = open(path, O_RDWR | O_CLOEXEC);
    e = told(fd);
    if (fd >= 0)
        close(fd);
    return e;
}

/* That it is ended before others where memory is short. */
static int mark_for_ending(const char *pid)
{
    char path[64];
    int fd, e;

    snprintf(path, sizeof path, "/proc/%s/oom_score_adj", pid);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    e = told(write(fd, "1000", 4));
    close(fd);
    return e;
}

/* As PoCL and others do that have threads. */
static int name_itself(const char *name)
{
    const int fd = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC);
    const int e = fd < 0 ? errno : told(write(fd, name, strlen(name)));

    if (fd >= 0)
        close(fd);
    return e;
}

static int kill_it(const char *pid)
{
    return told(kill(atoi(pid), SIGKILL));
}

/* A byte that comes is told to a file's owner, by a signal of one's choice. Whether that may be is looked at when it is
 * sent: the victim's life tells, and not the answer. */
static int kill_as_owner(const char *pid)
{
    int pair[2], e;

    if (pipe(pair) != 0)
        return errno;
    e = told(fcntl(pair[0], F_SETSIG, SIGKILL));
    if (!e)
        e = told(fcntl(pair[0], F_SETOWN, atoi(pid)));
    if (!e)
        e = told(fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK));
    if (!e)
        e = told(write(pair[1], "x", 1));
    close(pair[0]);
    close(pair[1]);
    return e;
}

static int slow_down(const char *pid)
{
    return told(setpriority(PRIO_PROCESS, (id_t)atoi(pid), 19));
}

static int attach_memory(const char *id)
{
    return shmat(atoi(id), NULL, 0) == (void *)-1 ? errno : 0;
}

static int make_session(const char *none)
{
    int status = 0;
    const pid_t pid = fork(); /* one that leads no group may */

    (void)none;
    if (pid == 0)
        _exit(told(syscall(SYS_setsid)));
    return pid < 0 || waitpid(pid, &status, 0) != pid ? errno : WEXITSTATUS(status);
}

/* A process that is not its own child, and which nobody waits for. */
static int make_sibling(const char *none)
{
    const long pid = syscall(SYS_clone, (long)(CLONE_PARENT | SIGCHLD), 0L, 0L, 0L, 0L);

    (void)none;
    if (pid == 0)
        _exit(0);
    return told(pid);
}

static int fork_many(const char *path)
{
    for (int i = 0; i < N_FORKS; i++) {
        const pid_t pid = fork();

        if (pid < 0)
            return errno;
        if (pid > 0)
            continue;
        syscall(SYS_setsid);
        for (;;) {
            const int fd = open(path, O_WRONLY | O_APPEND);

            (void)!write(fd, "x", 1);
            close(fd);
            usleep(20000);
        }
    }
    return 0;
}

/* ---- rights, and itself ---- */

static int mount_something(const char *path)
{
    return told(mount("tmpfs", path, "tmpfs", 0, NULL));
}

static int new_user(const char *none)
{
    (void)none;
    return told(unshare(CLONE_NEWUSER));
}

/* With arguments that the call itself would refuse in another way. */
static int call_kernel(const char *number)
{
    const long result = syscall(atoi(number), -1L, -1L, -1L, -1L, -1L, -1L);

    return result >= 0 || errno != EPERM ? 0 : EPERM;
}

/* At a terminal of the agent's; what 0 is here answers in another way. */
static int type_at_terminal(const char *request)
{
    return ioctl(0, (unsigned long)strtol(request, NULL, 16), "x") == 0 || errno != EPERM ? 0 : EPERM;
}

/* Of its own, as it was started: secrets of who started the agent. */
static int find_variable(const char *name)
{
    static char all[1 << 18];
    const int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, all, sizeof all - 1);

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return getenv(name) ? 0 : errno;
    return getenv(name) || memmem(all, (size_t)n, name, strlen(name)) ? 0 : ENOENT;
}

static int abort_it(const char *none)
{
    (void)none;
    abort();
}

static const struct attack attacks[] = {
    {"read", read_file},
    {"write", write_file},
    {"link", link_out},
    {"program", read_by_program},
    {"files", make_files},
    {"fill", fill_folder},
    {"descriptor", find_descriptor},
    {"connect", connect_to},
    {"datagram", send_datagram},
    {"ring", use_ring},
    {"ptrace", seize},
    {"environ", read_environment},
    {"memory", open_memory},
    {"mark", mark_for_ending},
    {"kill", kill_it},
    {"owner", kill_as_owner},
    {"slow", slow_down},
    {"attach", attach_memory},
    {"setsid", make_session},
    {"sibling", make_sibling},
    {"fork", fork_many},
    {"mount", mount_something},
    {"unshare", new_user},
    {"call", call_kernel},
    {"type", type_at_terminal},
    {"name", name_itself},
    {"variable", find_variable},
    {"abort", abort_it},
};

const struct attack *attack_find(const char *name)
{
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
        if (strcmp(attacks[i].name, name) == 0)
            return &attacks[i];
    return NULL;
}
