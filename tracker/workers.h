/* SPDX-License-Identifier: MIT */
/* workers.h - keeps a process `tune work` running beside the tracker, which drives submitted jobs. Used by one thread,
 * which must live as long as the process does: a child dies with the thread that started it. */
#ifndef TUNE_TRACKER_WORKERS_H
#define TUNE_TRACKER_WORKERS_H

#include "core/clock.h"
#include "core/err.h"
#include "tracker/protocol.h"

#include <stdint.h>
#include <sys/types.h>

#define MAX_WORKERS 1024

struct workers {
    char program[4096], url[300];
    char key_file[KEY_LENT_BYTES]; /* "" = none */
    const struct clock *clock;
    int n;        /* jobs that it may drive side by side; 0 = it is not started */
    int64_t part; /* of a farm in parts, the tracker's; else 0 */
    pid_t pid;    /* 0 = not running */
    int64_t started_ns, again_ns;
    int64_t pause_ms; /* before the next start; doubles up to a minute while it dies young */
};

/* Finds `tune` beside the running program, to work at one part of the farm (0 = it is not in parts), and makes it a
 * tuner's key of the farm's (NULL = none is asked for); keeps `clock` (NULL = the machine's). ERR_NOT_FOUND when it is
 * not there and n > 0; ERR_IO. */
enum err workers_init(struct workers *w, int n, const char *url, int64_t part, const struct key *farm,
                      const struct clock *clock, struct why *why);

/* Starts it when it is not running and its pause is over; to be called a few times a second. */
void workers_tick(struct workers *w);

/* Ends it: SIGTERM, 5 s later SIGKILL. */
void workers_stop(struct workers *w);

#endif
