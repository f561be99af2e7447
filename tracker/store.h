/* SPDX-License-Identifier: MIT */
/* store.h - what the tracker keeps for good, behind one table of functions (docs/adding-a-store.md).
 * One thread uses a store, but for flush and backup. Writes between two commits are one transaction: they survive
 * together or not at all. */
#ifndef TUNE_TRACKER_STORE_H
#define TUNE_TRACKER_STORE_H

#include "core/buf.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers are stored: never reused. */
enum job_state { JOB_OPEN = 0, JOB_DONE = 1, JOB_FAILED = 2, JOB_CANCELLED = 3 };
enum trial_state { TRIAL_OPEN = 0, TRIAL_LEASED = 1, TRIAL_DONE = 2, TRIAL_LOST = 3, TRIAL_CANCELLED = 4 };

/* Text members are borrowed by writes and lent during callbacks of reads; */
struct job_row {
    int64_t id;
    const char *title, *user, *key, *body, *summary, *request; /* request: id of the request that made it */
    int64_t priority, created_ms, done_ms;
    enum job_state state;
    int64_t token;
    bool leased, paused;
    int64_t seq;                 /* of its last record; this and the rest: sums_put and reads */
    int64_t n_done, n_lost;      /* trials */
    double best_gflops, best_ns; /* 0 = none */
};

/* What an operator said of an agent. Numbers are stored: never reused. */
enum mode { MODE_SERVE = 0, MODE_DRAIN = 1, MODE_RESERVE = 2 };

struct trial_row {
    int64_t id, job, n;
    const char *key, *fingerprint, *program, *anchor, *purpose, *protocol, *body;
    enum trial_state state;
    int64_t token, attempts;
    const char *agent;   /* of the living lease, "" without */
    int64_t answered_by; /* trial whose record was taken over as this one's; 0 = its own was measured */
};

#define STORE_LOOKED_AT "100" /* records of one program, when another is to be answered by one */
#define STORE_IN_FULL "\"verified\":\"in full\""
#define STORE_IN_PART "\"verified\":\"in part\""

struct record_row {
    int64_t job, seq, trial, n;
    const char *line, *status, *key, *fingerprint, *program, *purpose, *protocol;
    double time_ns, flops, device_ms;
    int64_t created_ms;
};

/* Code made by a builder of one program for one architecture, or why there is none. */
struct build_row {
    const char *program, *arch;
    const char *status; /* "" = not answered yet */
    const char *blobs;  /* SHA-256 in hex of what the body names, with spaces between */
    const char *body;   /* JSON, opaque */
    int64_t through;    /* the last trial that this answer holds for */
    int64_t attempts;
};

#define STORE_LARGE_BYTES 16384 /* blobs up to this stay in the store; the text is part of statements */

struct store;

struct store_ops {
    const char *name;
    const char *file; /* in a fresh directory, under which a backup is opened as a store; NULL = others make backups */
    /* Opens or makes the store in `where`, a directory or what else its kind understands; keeps `clock` (NULL = the
     * machine's), for when things were used. ERR_UNSUPPORTED for a newer schema, ERR_BUSY when another tracker has it,
     * ERR_UNREACHABLE when its server does not answer, ERR_AUTH when it refuses us, ERR_IO, also for a damaged one. */
    enum err (*open)(const char *where, const struct clock *clock, struct store **out, struct why *why);
    /* Opens or makes the store of one part of a farm in n_parts (2 and more; docs/scale.md), any that no other tracker
     * has; *part tells which, from 1. As `open`; ERR_BUSY when others have all of them, ERR_INPUT for a farm of another
     * number of parts. NULL: there are no parts in such a store. */
    enum err (*open_part)(const char *where, int64_t n_parts, const struct clock *clock, int64_t *part,
                          struct store **out, struct why *why);
    void (*close)(struct store *s);
    /* Ends the transaction of all writes since the last commit; they survive the death of the process from now on, and
     * a power cut after the next flush. After an error of one of the two the store is unusable. A write that fails may
     * be told by it or by a read before it, not by the write itself. */
    enum err (*commit)(struct store *s, struct why *why);
    /* Makes all that was committed before the call durable; blocks for the disk. One other thread may call it, also
     * while the store is in use. */
    enum err (*flush)(struct store *s, struct why *why);
    /* After a read or a write that failed: the database's words for it; `why` stays where it has none. */
    void (*words)(struct store *s, struct why *why);

    /* Inserts when body is not NULL; else changes what changes: a job's done_ms, state, token, leased, paused and
     * summary (when not NULL), a trial's state, token, attempts, agent and answered_by. */
    enum err (*job_put)(struct store *s, const struct job_row *row);
    enum err (*trial_put)(struct store *s, const struct trial_row *row);
    /* What a job's trials and records come to. */
    enum err (*sums_put)(struct store *s, const struct job_row *row);
    /* MODE_SERVE is what nobody said anything about; all others. */
    enum err (*mode_put)(struct store *s, const char *agent, enum mode mode, const char *user);
    enum err (*each_mode)(struct store *s, void (*each)(const char *agent, enum mode mode, const char *user, void *),
                          void *arg);
    /* Inserts one record; a record of that trial of status lost is replaced. */
    enum err (*record_put)(struct store *s, const struct record_row *row);

    /* All jobs by id (body and summary NULL), or the one with id `only` complete; trials that are open or leased by id.
     */
    enum err (*each_job)(struct store *s, int64_t only, void (*each)(const struct job_row *, void *), void *arg);
    enum err (*each_live_trial)(struct store *s, void (*each)(const struct trial_row *, void *), void *arg);
    /* The first trial id that was never given out. */
    enum err (*next_trial)(struct store *s, int64_t *out);
    /* One trial by id, or by (job, n) when id is 0. ERR_NOT_FOUND. */
    enum err (*trial_get)(struct store *s, int64_t id, int64_t job, int64_t n,
                          void (*each)(const struct trial_row *, void *), void *arg);
    /* Records of a job after `seq` in order, at most max; or of one trial when trial is not 0. */
    enum err (*each_record)(struct store *s, int64_t job, int64_t seq, int64_t trial, int64_t max,
                            bool (*each)(const struct record_row *, void *), void *arg);
    /* A record of status ok with these four, as each_record gives it: of the newest hundred one whose line says that it
     * was verified in full, else one that says nothing of it, the newest of these. ERR_NOT_FOUND. */
    enum err (*record_find)(struct store *s, const struct record_row *like,
                            bool (*each)(const struct record_row *, void *), void *arg);
    /* Lost trials of a job (or the one trial) become open again with no attempts; `each` sees them as they are then. */
    enum err (*requeue)(struct store *s, int64_t job, int64_t trial, void (*each)(const struct trial_row *, void *),
                        void *arg);
    /* Open and leased trials of a job become cancelled. */
    enum err (*cancel)(struct store *s, int64_t job);

    /* A piece of a blob; *stored tells that the blob is complete and has the content of its name (else its pieces are
     * dropped: ERR_INPUT). blob_get appends up to n bytes from offset. ERR_NOT_FOUND. */
    enum err (*blob_put)(struct store *s, const char *hex, int64_t offset, int64_t total, const void *bytes, size_t n,
                         bool *stored);
    enum err (*blob_get)(struct store *s, const char *hex, int64_t offset, size_t n, int64_t *total, struct buf *out);

    /* Large blobs may lie elsewhere, in an S3 store (tracker/vault.h): here is told that they do. blob_get of one gives
     * ERR_UNREACHABLE, with *total; who puts it has it here again. blob_peek: blob_get, but nobody asked for it. */
    enum err (*blob_peek)(struct store *s, const char *hex, int64_t offset, size_t n, int64_t *total, struct buf *out);
    /* The name of a blob of over STORE_LARGE_BYTES that is here and was not asked for since before_ms, that of the
     * longest ago when `skip` is 0, of the next when it is 1; or with `away` of one elsewhere that retain would remove
     * here. ERR_NOT_FOUND. */
    enum err (*blob_old)(struct store *s, bool away, int64_t before_ms, int64_t skip, char hex[SHA256_HEX + 1]);
    /* It lies elsewhere, too, and no longer here; it is here again, where its hash was checked; nothing is known of it
     * elsewhere any more. */
    enum err (*blob_away)(struct store *s, const char *hex);
    enum err (*blob_back)(struct store *s, const char *hex, const void *bytes, size_t n);
    enum err (*away_drop)(struct store *s, const char *hex);
    /* Those that lie only elsewhere. */
    enum err (*away_sum)(struct store *s, int64_t *n_blobs, int64_t *n_bytes);

    /* Puts a build in the place of an earlier one of the same program and architecture; gives one. ERR_NOT_FOUND. */
    enum err (*build_put)(struct store *s, const struct build_row *row);
    enum err (*build_get)(struct store *s, const char *program, const char *arch,
                          void (*each)(const struct build_row *, void *), void *arg);

    /* Removes jobs finished before `before_ms` with their trials and records, and blobs and builds not asked for since
     * then, unless an open job may need them: it was made at most two days after their last use. Some of them in each
     * call, which takes little time; *more: there is something left to do. */
    enum err (*retain)(struct store *s, int64_t before_ms, bool *more);
    /* Copies all that is committed in the store `where` to a fresh file, also while a tracker has it open, which goes
     * on meanwhile; by any thread. There is no file of that name until it is whole. ERR_EXISTS, ERR_NOT_FOUND, ERR_IO,
     * ERR_UNSUPPORTED: see `file`. */
    enum err (*backup)(const char *where, const char *path, int64_t *n_bytes, struct why *why);
};

extern const struct store_ops *const store_table[]; /* NULL-ended, the default first */
/* Splits "NAME:DIR" into a store of the table and its directory (lent from `text`); a text without ':', or with a '/'
 * before it, is a directory of the default one. ERR_INPUT: no store has that name. */
enum err store_parse(const char *text, const struct store_ops **ops, const char **dir, struct why *why);

#endif
