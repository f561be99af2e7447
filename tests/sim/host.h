/* SPDX-License-Identifier: MIT */
/* host.h - the tracker's host and the ways to it, for tests of engines that must not see the tracker's insides (net.h
 * has them): faults, peers, and what the store keeps. */
#ifndef TUNE_TESTS_SIM_HOST_H
#define TUNE_TESTS_SIM_HOST_H

#include "tests/sim/world.h"
#include "tracker/client.h"

struct net;

/* What goes wrong, each in parts of a thousand. */
struct net_faults {
    int lose_request, lose_reply;
    int crash_before, crash_after; /* of a turn with requests: before its commit, and after it before its replies */
    int64_t down_ns;               /* how long the tracker stays away then; 0 = 1 s */
    int64_t delay_ns;              /* of a message at most; 0 = 1 ms */
};

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

/* Adds the tracker's actor; it ends when net_stop was called. */
void net_start(struct net *n);
void net_stop(struct net *n);
/* Now, as kill -9 does; it comes back after down_ns by itself. In another actor than the tracker's. */
void net_crash(struct net *n);

/* A net on the heap, as net_init and net_fini make and end one. */
struct net *net_new(struct world *w);
void net_free(struct net *n);
struct world *net_world(const struct net *n);
const char *net_dir(const struct net *n);
/* What goes wrong from now on. */
struct net_faults *net_faults_of(struct net *n);
/* The farm is in two parts, with a tracker each; one that crashes may come back at the other's address. What goes wrong
 * does with both. Before net_start. */
void net_divide(struct net *n);
/* Before net_start. */
void net_set_lease_ms(struct net *n, int64_t ms);
/* False: the tracker takes no turn (SIGSTOP). */
void net_set_running(struct net *n, bool running);
int64_t net_crashes(const struct net *n);
/* Asks an agent to leave, as no call of a peer does yet; nothing while the tracker is down or does not know it. */
void host_drain(struct net *n, const char *agent);
/* Trials leased to an agent; 0 while the tracker is down. */
int host_n_leased(const struct net *n, const char *agent);
/* Called after each turn of the tracker, with all committed. */
void net_on_turn(struct net *n, void (*after_turn)(struct net *n, void *arg), void *arg);

/* A job as the tracker has it in memory now; false while it is down or knows none of that name ("j3"). */
struct host_job {
    bool is_open, leased;
    int64_t lease_left_ns, n_out; /* n_out: trials open or leased */
    int64_t done, total;          /* the progress that its session told last; -1 = none */
};
bool host_job(const struct net *n, const char *id, struct host_job *out);

/* What the store keeps of a job, when the world has run. Trials: `answered` have another job's record. */
struct host_kept {
    char state[16];
    int64_t n_done, n_lost, n_waiting, n_records, n_answered;
};
void host_kept(struct net *n, const char *id, struct host_kept *out);
/* Its records in order, a line each; trial: its number in the job. */
void host_records(struct net *n, const char *id, void (*each)(int64_t n_trial, const char *line, void *arg), void *arg);
/* Its trials in order of their numbers. */
struct host_trial {
    int64_t n;
    const char *program, *anchor, *purpose, *protocol;
    cJSON *body; /* lent */
    bool answered;
};
void host_trials(struct net *n, const char *id, void (*each)(const struct host_trial *t, void *arg), void *arg);

#endif
