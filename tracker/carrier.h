/* SPDX-License-Identifier: MIT */
/* carrier.h - a thread that carries one blob at a time to an S3 store, or back: whoever asks it waits for nothing. */
#ifndef TUNE_TRACKER_CARRIER_H
#define TUNE_TRACKER_CARRIER_H

#include "core/buf.h"
#include "core/err.h"
#include "core/hash.h"

#include <stdbool.h>

#define CARRIER_PROBE "probe" /* in place of a blob's name: what a tracker sends at its start */

enum carrying { CARRY_PUT, CARRY_GET, CARRY_DELETE };

/* What is carried: the owner's while the carrier is not at work. */
struct load {
    enum carrying what;
    char name[SHA256_HEX + 1]; /* "" = nothing */
    char part[16];             /* folder of the store: "part2/", or "" */
    struct buf bytes;          /* of PUT; out: of GET */
    /* Out. PUT: ERR_OK when the store has given the same bytes back. GET: ERR_NOT_FOUND: it has none, but the
     * probe, ERR_INPUT: others than the name says. Else those of logs/hub/hub.h: ERR_UNREACHABLE and the like. */
    enum err e;
    struct why why;
};

struct carrier;

/* `url`: s3://BUCKET/PREFIX; credentials are the environment's (docs/hub.md). stall_s: the longest time that the
 * store may take for a connection, or be slower than 16 KiB/s; 0 = 30. ERR_INPUT, ERR_UNSUPPORTED: a build without
 * libcurl. */
enum err carrier_open(const char *url, double stall_s, struct carrier **out, struct why *why);
/* Waits for the end of what is under way. */
void carrier_close(struct carrier *c);

/* The load, or NULL while it is carried; *done: it was carried, and carrier_clear or carrier_again has to
 * follow. */
struct load *carrier_load(struct carrier *c, bool *done);
void carrier_go(struct carrier *c);
void carrier_clear(struct carrier *c);
/* In place of that: the same load is to be carried once more, with another carrier_go. */
void carrier_again(struct carrier *c);

#endif
