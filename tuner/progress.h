/* SPDX-License-Identifier: MIT */
/* progress.h - how a run is going, for a terminal (one line, at most 5 redraws a second), for a file (plain lines), or
 * as JSON events (one object per line with "seq", "event" and "ts_ms"). */
#ifndef TUNE_TUNER_PROGRESS_H
#define TUNE_TUNER_PROGRESS_H

#include "core/buf.h"
#include "core/clock.h"
#include "core/json.h"
#include "logs/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum progress_mode { PROGRESS_NONE, PROGRESS_TERMINAL, PROGRESS_PLAIN, PROGRESS_JSON };

/* One moment of a run. */
struct progress_state {
    size_t i_task, n_tasks; /* i_task from 0 */
    const char *task;       /* layer or workload */
    int64_t done, total;    /* trials of all tasks */
    double current_gflops, best_gflops;
    double current_ns, best_ns; /* told in their place where the task has no FLOPs; 0 = not timed yet */
    double eta_s;               /* < 0: unknown */
    const char *failures;       /* "compile 3 limits 1" */
    const char *key;
    size_t n_devices;
};

struct progress {
    enum progress_mode mode;
    FILE *to;
    bool colour;
    int width;
    int verbosity;             /* -v: each failure is told as it comes */
    const struct clock *clock; /* of the events; NULL = the machine's */
    int64_t last_ns, seq;
    bool drawn;
};

/* Mode by what standard error is, -q, --json and NO_COLOR; events go to standard output. */
void progress_init(struct progress *p, bool quiet, bool json);

/* Draws when it is time to: every 200 ms on a terminal, every 30 s in plain lines; `force` draws now. */
void progress_draw(struct progress *p, const struct progress_state *s, int64_t now_ns, bool force);

/* Ends the line on a terminal, so that other text can follow. */
void progress_pause(struct progress *p);

/* Text for a person between redraws ("a better config ..."); nothing in quiet or JSON mode. */
void progress_note(struct progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a run waits for: told to a person in quiet mode too, for it may never come; the event "waits". */
void progress_waits(struct progress *p, const char *words);

/* An event: takes `fields` (an object); nothing unless in JSON mode. Names: submitted built measured best device waits
 * job done.
 */
void progress_event(struct progress *p, const char *event, cJSON *takes_fields);

/* The line itself, at most `width` characters: `[task 1/12] 96/1000  49.2 / best 118.3 GFLOPS  ETA 4m10s ...`; ms where
 * there are no FLOPs, no figures before the first good result. */
void progress_line(const struct progress_state *s, int width, struct buf *out);

/* "4m10s", "1h02m", "38s"; "?" for negative. */
void duration_text(double s, char *out, size_t n_out);

/* The event of a record: "best" when it is better than all before, else "measured". */
void progress_measured(struct progress *p, const struct record *r, bool better);

#endif
