/* SPDX-License-Identifier: MIT */
/* failures.h - what went wrong in a run: counts by status, messages grouped, so that a failed run can be explained. */
#ifndef TUNE_TUNER_FAILURES_H
#define TUNE_TUNER_FAILURES_H

#include "core/buf.h"
#include "logs/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAILURES_MAX_KINDS 64
#define FAILURES_MESSAGE_BYTES 160

struct failure_kind {
    char message[FAILURES_MESSAGE_BYTES]; /* status and first line, digits folded to '#' for comparing only */
    char folded[FAILURES_MESSAGE_BYTES];
    int64_t count;
};

struct failures {
    int64_t by_status[N_STATUSES];
    struct failure_kind kinds[FAILURES_MAX_KINDS];
    size_t n_kinds;
    bool over_build_s, over_run_s; /* timeouts: of which limit */
    char *first_log;               /* the first compiler's words in full; NULL = none */
};

void failures_init(struct failures *f);
void failures_fini(struct failures *f);

/* Counts a record; ok ones too (by_status[STATUS_OK]). */
void failures_add(struct failures *f, const struct record *r);

/* A failure that never became a record: a config without a program. */
void failures_add_words(struct failures *f, enum record_status s, const char *words);

/* "compile 3 limits 1", "" when nothing failed. */
void failures_line(const struct failures *f, struct buf *out);

/* Which option allows a config that ended by a timeout more time, in words; "" for other records. */
const char *failure_remedy(const struct record *r);

/* The words of all limits that were hit, a line each; nothing when none was. */
void failures_remedies(const struct failures *f, struct buf *out);

/* The three most frequent messages with counts, the limits that were hit, then the first compiler log once. */
void failures_explain(const struct failures *f, struct buf *out);

#endif
