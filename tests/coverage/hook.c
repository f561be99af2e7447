/* SPDX-License-Identifier: MIT */
/* hook.c - linked into the programs of scripts/coverage.sh only. gcc writes what it has counted when a program returns
 * from main() or calls exit(); here it does before _exit() and execve() too, and before one of our programs kills
 * another: kill(pid, SIGKILL) sends HOOK_SIGNAL first, upon which the other writes its counts and stops. What a shell
 * kills, or the kernel, is not counted. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define HOOK_SIGNAL SIGRTMAX
#define WAIT_MS 500

void __gcov_dump(void);
void __gcov_reset(void);
_Noreturn void __real__exit(int code);
_Noreturn void __wrap__exit(int code);
int __real_execve(const char *path, char *const argv[], char *const env[]);
int __wrap_execve(const char *path, char *const argv[], char *const env[]);
int __real_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number);
extern const int coverage_hook; /* what the linker is told to want */
const int coverage_hook = 1;

static void dump_and_stop(int number)
{
    (void)number;
    __gcov_dump();
    raise(SIGSTOP);
}

__attribute__((constructor)) static void listen_for_the_end(void)
{
    const struct sigaction act = {.sa_handler = dump_and_stop};

    sigaction(HOOK_SIGNAL, &act, NULL);
}

_Noreturn void __wrap__exit(int code)
{
    __gcov_dump();
    __real__exit(code);
}

int __wrap_execve(const char *path, char *const argv[], char *const env[])
{
    int rc;

    __gcov_dump();
    rc = __real_execve(path, argv, env);
    __gcov_reset(); /* counts again: it is still this program */
    return rc;
}

/* The text behind `name` in /proc/PID/status; false where there is none. */
static bool status_of(pid_t pid, const char *name, char *text, int n_text)
{
    char path[64], line[256];
    bool found = false;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    while (f && !found && fgets(line, sizeof line, f)) {
        found = strncmp(line, name, strlen(name)) == 0;
        if (found)
            snprintf(text, (size_t)n_text, "%s", line + strlen(name));
    }
    if (f)
        fclose(f);
    return found;
}

static bool has_hook(pid_t pid)
{
    char caught[64];

    return status_of(pid, "SigCgt:", caught, sizeof caught) &&
           (strtoull(caught, NULL, 16) >> (HOOK_SIGNAL - 1) & 1) != 0;
}

static bool runs(pid_t pid)
{
    char state[64];

    return status_of(pid, "State:", state, sizeof state) && !strpbrk(state, "TZ");
}

int __wrap_kill(pid_t pid, int number)
{
    const pid_t first = pid < 0 ? -pid : pid;

    if (number == SIGKILL && first > 1 && has_hook(first) && __real_kill(first, HOOK_SIGNAL) == 0)
        for (int ms = 0; ms < WAIT_MS && runs(first); ms++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return __real_kill(pid, number);
}
