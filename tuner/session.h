/* SPDX-License-Identifier: MIT */
/* session.h - drives one job to its end: asks strategies, sends trials, takes records, freezes anchors, measures
 * finals. */
#ifndef TUNE_TUNER_SESSION_H
#define TUNE_TUNER_SESSION_H

#include "core/err.h"
#include "kernels/expect.h"
#include "tracker/client.h"
#include "tuner/devices.h"
#include "tuner/failures.h"
#include "tuner/job.h"
#include "tuner/joblog.h"
#include "tuner/progress.h"
#include "tuner/task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SESSION_BATCH 8 /* trials proposed at once */

enum session_end { SESSION_DONE, SESSION_INTERRUPTED, SESSION_CANCELLED, SESSION_LEASE_LOST };

/* A trial that was sent: where its record belongs. */
struct sent {
    size_t i_task, i_arm;
    struct config config;
    int kind; /* enum trial_kind */
    bool done;
};

struct session_options {
    struct client *client;
    const struct clock *clock; /* of waits, renewals and the time limit; NULL = the machine's */
    const struct job *job;
    const char *job_id;
    int64_t token;
    struct joblog *log;  /* where records go first; NULL = nowhere */
    const char *records; /* a log of earlier jobs that only informs, or NULL */
    struct progress *progress;
    bool (*interrupted)(void);
    /* Looks after a farm of one's own while waiting: ERR_CHILD with words when it has ended. NULL = somebody else's. */
    enum err (*check_farm)(void *farm, struct why *why);
    void *farm;
    int64_t wait_device_ms; /* how long to wait for the first device; -1 = for ever */
    bool stored; /* others gave the job (tune work): it may hold records of an earlier session, and a file that it names
                  * is opened for recordings alone */
};

struct session {
    struct session_options o;
    struct device_choice device;
    struct task *tasks;
    size_t n_tasks;
    struct sent *sent; /* by trial number - first_n */
    size_t n_sent, cap_sent;
    int64_t first_n, after;
    int64_t start_ns, last_renew_ns, n_start; /* n_start: counted before this session began */
    double current_gflops, current_ns;
    size_t i_current;
    bool cancelled, lease_lost;
    bool saw_energy, no_energy; /* a record told the energy of a run; one said that its device cannot, before any did */
    struct failures failures;
    struct rng rng; /* for what is carried between tasks */
    struct expect_watch former_watch;
    bool is_watching; /* the expect_watch is this session's */
    double told_s;    /* of tell_computing */
    char waits[256];  /* what people were told last of trials that cannot go on */
};

/* Makes the tasks for the device and takes in stored records and logs; nothing is measured yet. ERR_INPUT for what
 * the job names wrongly, ERR_NOT_FOUND for no device or no template, ERR_CANCELLED when interrupted, ERR_UNSUPPORTED
 * for a job that the device cannot measure. */
enum err session_init(struct session *s, const struct session_options *o, struct why *why);
void session_fini(struct session *s);

/* The loop. ERR_OK with how it ended; errors are those of the tracker or the log, and ERR_UNSUPPORTED at the first
 * record that says that the device cannot tell what the job's objective needs (the job is closed as failed then). */
enum err session_run(struct session *s, enum session_end *end, struct why *why);

/* Writes the best log, where there is a log, and makes its records the winners of the tasks: what is told next agrees
 * with it. ERR_IO, ERR_NOMEM. */
enum err session_write_best(struct session *s, struct why *why);

/* Takes in what the tracker has by now without waiting, so that an interrupted run loses nothing measured. */
void session_drain(struct session *s);

/* Gives the job back or ends it at the tracker: state "done", "failed", "cancelled", or "" to release it for `tune
 * work`. */
enum err session_close(struct session *s, const char *state, struct why *why);

/* True when at least one task has a valid config. */
bool session_has_best(const struct session *s);

/* Internal to the session's files. */
#define SESSION_LEAST 8 /* trials that each task of a shared budget gets before the gains decide */
int64_t session_total(const struct session *s); /* counted trials that all tasks may have together */
/* Why the search of a task ends now, and how many more may be proposed for it now. */
enum stop_reason session_stop(const struct session *s, const struct task *t);
size_t session_room(const struct session *s, const struct task *t);
/* The task that gets the next batch: of a shared budget by expected gain (share.h), else the one with the least part of
 * its own budget out. n_tasks when none has room. */
size_t session_next_task(const struct session *s);
enum err session_fill(struct session *s, struct why *why); /* keeps agents busy */
/* Makes the program of a measured config anew and has the tracker keep it: an anchor may come from a log of another
 * farm. What trial_batch_add and client_put_blobs return. */
enum err session_put_program(struct session *s, const struct task *t, const struct measured *m, struct sha256 *program,
                             struct why *why);
enum err session_record(struct session *s, int64_t n, const char *line, size_t n_line, struct why *why);

#endif
