/* SPDX-License-Identifier: MIT */
#include "both_users.h"

#include "core/file.h"
#include "core/proc.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define FORBIDDEN 3 /* the exit code where nobody can become another user */
#define SKIPPED 77

static int start_copy(void)
{
    char folder[PATH_MAX - 32], copy[PATH_MAX];
    const char *argv[] = {copy, "--as-user", NULL};
    struct proc_options o = {.argv = argv, .in_fd = -1, .out_fd = 1, .err_fd = 2, .pass_fd = -1};
    struct why why = {""};
    struct buf bytes;
    pid_t pid = 0;
    int status = -1;

    buf_init(&bytes, (size_t)1 << 30);
    if (dir_temporary("test-cage-user", folder, sizeof folder, &why) || chmod(folder, 0755))
        return 1;
    snprintf(copy, sizeof copy, "%s/test", folder);
    if (file_read("/proc/self/exe", &bytes, &why) == ERR_OK &&
        file_append(copy, bytes.data, bytes.len, false, &why) == ERR_OK && chmod(copy, 0755) == 0 &&
        proc_start(&o, &pid, &why) == ERR_OK)
        proc_wait(pid, -1, &status);
    if (why.text[0])
        printf("%s\n", why.text);
    buf_fini(&bytes);
    dir_remove(folder);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int as_user(int (*all)(void))
{
    if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
        return FORBIDDEN;
    prctl(PR_SET_DUMPABLE, 1); /* as of a program that it had started itself */
    return all() ? 1 : 0;
}

int as_both_users(int argc, char **argv, int (*all)(void))
{
    int failed = 0;

    if (argc > 1 && strcmp(argv[1], "--as-user") == 0)
        return as_user(all);
    if (geteuid() == 0)
        failed = start_copy();
    if (failed == FORBIDDEN) {
        printf("skipped as an ordinary user: nobody can become one here\n");
        failed = 0;
    }
    return (failed == SKIPPED ? 0 : failed) + all(); /* what skips for him does for root, too */
}
