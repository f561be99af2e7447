/* SPDX-License-Identifier: MIT */
/* net.h - a network of a world with one tracker on it, or one for each of two parts of a farm: the real hall,
 * operations and store of a tracker, clients' bytes with delays and losses, crashes before and after the commit. */
#ifndef TUNE_TESTS_SIM_NET_H
#define TUNE_TESTS_SIM_NET_H

#include "tests/sim/host.h"
#include "tracker/hall.h"

struct net {
    struct world *world;
    struct net_faults faults;
    struct tracker_options options; /* set before net_start: leases, key, retention; lease_ms 0 = 30 s */
    char dir[256];                  /* of the store */
    bool up, stopping;
    bool paused;             /* the tracker takes no turn (SIGSTOP); connections stay */
    bool cut;                /* no bytes get through */
    struct tracker *tracker; /* NULL while it is down: look at it between turns */
    int64_t n_crashes, n_requests;
    /* Called after each turn of the tracker, with all committed; may be NULL. */
    void (*after_turn)(struct net *n, void *arg);
    void *arg;
    struct hall hall;
    struct parcel *parcels; /* under way to the tracker or at it */
    uint32_t next_line;
    /* Of a farm in parts. The peers' net is that of part 1. */
    struct net *beside; /* of part 2; NULL = it is not in parts, or it is that one itself */
    struct net *front;  /* of part 1 */
    bool swapped;       /* each is at the other's address now */
};

/* A net whose store lies in a fresh directory; failing is the end of the test. */
void net_init(struct net *n, struct world *w);
/* Removes the store; the world has run to its end. */
void net_fini(struct net *n);

#endif
