/* SPDX-License-Identifier: MIT */
/* hall.h - the tracker's core loop without sockets and threads: callers come with requests, stay while there is nothing
 * for them, and leave with replies once all that was done for them is durable. Used by one thread. */
#ifndef TUNE_TRACKER_HALL_H
#define TUNE_TRACKER_HALL_H

#include "core/buf.h"
#include "core/err.h"
#include "tracker/execute.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HALL_MAX_PARKED 16384 /* long polls that wait; one more is answered at once */
#define HALL_MAX_BATCH 128    /* requests of one turn */
#define HALL_BUCKETS 1024     /* of polls, by their ends: more than the longest poll takes */
#define HALL_BUCKET_MS 64
#define HALL_TICK_MS 50    /* a turn is taken at least that often */
#define HALL_PAUSE_MS 1000 /* between two turns: the tracker was stopped, or its machine or disk was */

/* A request on its way through the hall. */
struct caller {
    const void *bytes; /* the request; lent until the caller has left */
    size_t n_bytes;
    uint32_t line;          /* the connection that it came by */
    struct request request; /* the hall's own */
    struct buf reply;       /* when it has left; empty = there is nobody to answer */
    struct caller *next;    /* of those that left in this turn */
    /* The hall's own while it is parked: among all, and among those who wait for the same. */
    struct caller *prev_parked, *next_parked, *prev_waiting, *next_waiting;
    int bucket;
    struct waiters *waits_with;
};

struct hall {
    struct tracker *tracker;
    struct caller *parked[HALL_BUCKETS]; /* by next_parked; those of a bucket end within the same HALL_BUCKET_MS */
    struct table ids;                    /* of their requests */
    int n_parked, max_parked;
    int64_t ticked_ns; /* 0 = never yet */
    int64_t ended_ns;  /* polls that end before this were looked at */
    int64_t turned_ns; /* when the last turn began; 0 = never yet */
    struct caller *left;
};

void hall_init(struct hall *h, struct tracker *t);

/* Forgets those who are parked, without answering them; what they are is their owner's affair. */
void hall_fini(struct hall *h);

/* A turn is: begin, enter for each new caller (at most HALL_MAX_BATCH), end. All are false when the store failed: then
 * nobody may be answered any more, for memory may not be what the store has. */
bool hall_begin(struct hall *h);
bool hall_enter(struct hall *h, struct caller *c);

/* Looks after those that wait, `gone` being connections that closed since the last turn, and commits. *left: all
 * callers that have a reply now, by `next`; buf_fini their replies. */
bool hall_end(struct hall *h, const uint32_t *gone, int n_gone, struct caller **left, struct why *why);

#endif
