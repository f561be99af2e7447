/* net.h - a network of a world with one tracker on it: the real hall, operations and store of a tracker, clients' bytes
 * with delays and losses, crashes before and after the commit. */
#ifndef TUNE_TESTS_SIM_NET_H
#define TUNE_TESTS_SIM_NET_H

#include "tests/sim/world.h"
#include "tracker/client.h"
#include "tracker/hall.h"

/* What goes wrong, each in parts of a thousand. */
struct net_faults {
    int lose_request, lose_reply;
    int crash_before, crash_after; /* of a turn with requests: before its commit, and after it before its replies */
    int64_t down_ns;               /* how long the tracker stays away then; 0 = 1 s */
    int64_t delay_ns;              /* of a message at most; 0 = 1 ms */
};

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
};

/* A net whose store lies in a fresh directory; failing is the end of the test. */
void net_init(struct net *n, struct world *w);
/* Adds the tracker's actor; it ends when net_stop was called. */
void net_start(struct net *n);
void net_stop(struct net *n);
/* Now, as kill -9 does; it comes back after down_ns by itself. In another actor than the tracker's. */
void net_crash(struct net *n);
/* Removes the store; the world has run to its end. */
void net_fini(struct net *n);

/* One peer's end of the net. */
struct peer {
    struct net *net;
    bool dead; /* killed: whatever it waits for ends with ERR_CANCELLED */
    bool cut;  /* its bytes get through no more; calls end unreachable */
};

/* For client_options: .transport = &transport_net, .transport_arg = a peer. */
extern const struct transport_ops transport_net;

/* A client of the peer with the world's clock and randomness. */
enum err net_client(struct peer *p, const char *name, struct client **out, struct why *why);

#endif
