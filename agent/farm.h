/* SPDX-License-Identifier: MIT */
/* farm.h - an agent at work: leases trials from a tracker, has them verified and timed on its rig, sends the records.
 */
#ifndef TUNE_AGENT_FARM_H
#define TUNE_AGENT_FARM_H

#include "agent/rig.h"
#include "core/err.h"
#include "tracker/transport.h"
#include "tracker/tls.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct farm_options {
    const char *url, *key_file; /* key_file NULL = none */
    struct tls_files tls;
    const char *name, *key;
    int batch;    /* trials leased at once, and timed together at most; 1..TIMING_MAX_BATCH */
    bool overlap; /* verify while others are timed, where the rig allows it */
    bool mix;     /* register under a key that holds another fingerprint */
    atomic_bool *stop;
    void (*log)(int level, const char *line, void *arg);
    void (*quit)(bool well, void *arg); /* as struct rig_options */
    void *arg;
    const struct transport_ops *transport; /* these four as in client_options; NULL = nng and the machine's */
    void *transport_arg;
    const struct clock *clock;
    const struct entropy *entropy;
};

struct farm;

/* Connects and registers; waits for a tracker that is out of reach as long as it takes. ERR_EXISTS: the key holds
 * another fingerprint; ERR_AUTH, ERR_PROTOCOL, ERR_CANCELLED. Keeps `rig`. */
enum err farm_open(const struct farm_options *options, struct rig *rig, struct farm **out, struct why *why);

/* Lets go of all that it holds, without a word to the tracker; its threads were never started, or have ended. */
void farm_close(struct farm *f);

/* Starts the threads: leasing, one for each compile and build child, timing, renewing. When the tracker asks this agent
 * to leave, its held trials are finished and it quits. */
enum err farm_start(struct farm *f, struct why *why);

/* After the stop flag is set: gives the leases back (agent_bye). The threads end with the process. */
void farm_bye(struct farm *f);

/* Records sent so far, ok and failed. */
void farm_counts(struct farm *f, int64_t *done, int64_t *failed);

#endif
