/* SPDX-License-Identifier: MIT */
/* localfarm.h - a private farm for one run: a tracker and an agent of this machine, started from the program's own
 * directory, ended with it. Their files lie in a temporary directory that is removed at the end. */
#ifndef TUNE_CLI_LOCALFARM_H
#define TUNE_CLI_LOCALFARM_H

#include "core/err.h"
#include "core/temp_dir.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LOCALFARM_KEY "local"

struct localfarm {
    struct temp_dir dir;
    char key[65]; /* of its device */
    char url[64];
    pid_t tracker, agent;
};

struct localfarm_options {
    const char *device; /* "opencl", "opencl:0.1", "replay:FILE" */
    const char *key;    /* of the device and in its records; NULL = LOCALFARM_KEY */
    int64_t threads;    /* 0 = as the agent decides */
    bool (*interrupted)(void);
};

/* Starts the tracker and the agent; returns when the tracker listens. What a farm left whose process was killed is
 * removed. ERR_INPUT for a key that is none, ERR_NOT_FOUND when the programs are missing,
 * ERR_CHILD with the last words of one that ended at once. */
enum err localfarm_start(struct localfarm *f, const struct localfarm_options *o, struct why *why);

/* ERR_CHILD with its last words when the tracker or the agent has ended by itself. */
enum err localfarm_check(struct localfarm *f, struct why *why);

/* For a signal handler that is about to end the process: kills the children of the farm that was started last and not
 * ended, and removes its directory. Only calls that are safe there; where rm is missing the directory stays. */
void localfarm_abandon(void);

/* Ends both (SIGTERM, after five seconds SIGKILL) and removes the directory. */
void localfarm_end(struct localfarm *f);

#endif
