/* SPDX-License-Identifier: MIT */
/* shell.h - runs the real `tune` of the build for tests. */
#ifndef TUNE_TESTS_CLI_SHELL_H
#define TUNE_TESTS_CLI_SHELL_H

#include "core/buf.h"
#include "core/file.h"
#include "core/proc.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a program (argv[0] is its path), output of both kinds into `path`. */
static inline pid_t tool_start(const char *path, const char *const *argv)
{
    static const char *const env[] = {"TUNE_TRACKER=", "TUNE_KEY_FILE=", "TUNE_CA_FILE=", "TUNE_CERT_FILE=", NULL};
    struct proc_options o = {.argv = argv, .env_add = env, .in_fd = -1, .pass_fd = -1};
    pid_t pid = 0;

    o.out_fd = o.err_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (proc_start(&o, &pid, NULL) != ERR_OK)
        pid = -1;
    close(o.out_fd);
    return pid;
}

/* Starts `tune` with the arguments (NULL-ended, without the program), output of both kinds into `path`. */
static inline pid_t tune_start(const char *path, const char *const *args)
{
    const char *argv[32];
    const char *dir = getenv("TUNE_BIN_DIR");
    char program[4096];
    size_t n = 1;

    snprintf(program, sizeof program, "%s/tune", dir ? dir : "bin");
    argv[0] = program;
    while (args[n - 1] && n < 31) {
        argv[n] = args[n - 1];
        n++;
    }
    argv[n] = NULL;
    return tool_start(path, argv);
}

/* The exit code, -1 when it was killed, did not end in time, or never started. */
static inline int tune_end(pid_t pid, int64_t timeout_ms)
{
    int status = 0;

    if (pid <= 0 || proc_wait(pid, timeout_ms, &status) != ERR_OK) {
        proc_kill(pid, SIGKILL, false);
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What a program started with output into `path` said to its end (`said`: initialised by the caller); its exit code. */
static inline int tool_said(pid_t pid, const char *path, struct buf *said)
{
    const int code = tune_end(pid, 150000);

    buf_clear(said);
    file_read(path, said, NULL);
    return code;
}

/* Runs any program to the end, as tune_run. */
static inline int tool_run(const char *dir, const char *const *argv, struct buf *said)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/said", dir);
    return tool_said(tool_start(path, argv), path, said);
}

/* Runs `tune` to the end; what it said is in `said` (initialised by the caller). */
static inline int tune_run(const char *dir, const char *const *args, struct buf *said)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/said", dir);
    return tool_said(tune_start(path, args), path, said);
}

#define TUNE_MAX_NAMES 64

/* The subcommands that `tune --help` lists; how many there are. */
static inline size_t tune_names(const char *help, char names[TUNE_MAX_NAMES][32])
{
    static const char heading[] = "\nsubcommands:\n";
    const char *line = strstr(help, heading);
    size_t n = 0;

    for (line = line ? line + strlen(heading) : ""; *line == ' ' && n < TUNE_MAX_NAMES; line = strchr(line, '\n') + 1)
        n += sscanf(line, "%31s", names[n]) == 1;
    return n;
}

/* A path in a folder; eight of them live at once. */
static inline const char *tune_at(const char *dir, const char *name)
{
    static char paths[8][512];
    static size_t i;

    i = (i + 1) % 8;
    snprintf(paths[i], sizeof paths[i], "%s/%s", dir, name);
    return paths[i];
}

/* Does `tune doctor` find a device to tune on? */
static inline bool tune_has_device(const char *dir)
{
    static const char *const args[] = {"doctor", NULL};
    struct buf said;
    int code;

    buf_init(&said, 1 << 20);
    code = tune_run(dir, args, &said);
    buf_fini(&said);
    return code == 0;
}

#endif
