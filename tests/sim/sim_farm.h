/* SPDX-License-Identifier: MIT */
/* sim_farm.h - a whole farm in a world: a tracker, agents, and people whose sessions drive jobs to their ends; and what
 * the tracker keeps of it afterwards. */
#ifndef TUNE_TESTS_SIM_SIM_FARM_H
#define TUNE_TESTS_SIM_SIM_FARM_H

#include "tests/sim/sim_agent.h"
#include "tuner/session.h"

#define SIM_MAX 16

/* One person's `tune run`, or a `tune work` that takes up what another left. */
struct sim_session {
    struct sim_farm *farm;
    const char *name;
    struct job job;
    char log_path[300]; /* "" = no log */
    const char *records;
    int64_t start_ns; /* of the world: begins then */
    bool (*starts)(void *arg);
    void *starts_arg; /* begins when this is true; NULL = at start_ns */
    bool takes_over;  /* leases a job that waits, with its records (session_options.stored) */
    bool own_farm;    /* as of tune run: it looks after its agents (session_options.check_farm) */
    int64_t wait_device_ms;
    FILE *tells; /* progress goes there; NULL = nowhere */
    enum progress_mode tell_mode;
    /* Asked in every turn of the session; true interrupts it. May be NULL. */
    bool (*stop)(struct sim_session *s);
    void *arg;

    struct peer peer; /* .dead: kill -9 */
    struct client *client;
    char job_id[40];
    int64_t token;
    struct joblog log;
    struct progress progress;
    struct session session; /* stays for the test to look at */
    enum err e;
    struct why why;
    enum session_end end;
    bool began, ran, ended; /* ran: session_run was reached */
    int64_t ended_ns;
};

struct sim_farm {
    struct world *world;
    struct net *net;
    struct sim_model model;
    struct sim_agent agents[SIM_MAX];
    struct sim_session sessions[SIM_MAX];
    size_t n_agents, n_sessions;
};

/* A farm that nobody works at; one 50 ms trial after the other at each agent, no faults. */
void sim_farm_init(struct sim_farm *f, uint64_t seed);
/* Another agent of the key "cpu". Its members may be changed until sim_farm_run. */
struct sim_agent *sim_farm_agent(struct sim_farm *f, const char *name);
/* Another session with a log of its own; its job has strategy "random", 24 trials and the workloads of `workloads`
 * (separated by '\n'), templates "dense/gemm_direct,dense/gemm_packed". */
struct sim_session *sim_farm_session(struct sim_farm *f, const char *name, const char *workloads);
/* Makes the session's job one on a recorded space of n configs, 6 values a knob, without defaults; n up to 1296. */
void sim_session_replays(struct sim_session *s, int n);
/* Begins when the one that was added before it has ended. */
void sim_session_follows(struct sim_session *s);
/* Lets all act until the sessions have ended; false when they do not within max_ns. */
bool sim_farm_run(struct sim_farm *f, int64_t max_ns);
void sim_farm_fini(struct sim_farm *f);

/* ---- what is there afterwards ---- */

/* Records as lines without their '\n'. */
struct lines {
    char **text;
    size_t n, cap;
};

void lines_fini(struct lines *l);
bool lines_have(const struct lines *l, const char *line);
/* The good lines of a log (of a best log with best_path). */
void lines_of_log(const char *path, struct lines *out);
/* The records that the tracker's store has of a job ("j3"), in order; the farm has run. */
void lines_of_store(struct sim_farm *f, const char *job_id, struct lines *out);

#endif
