/* SPDX-License-Identifier: MIT */
/* sim_crew.h - agents of the real code in a world: each hand (agent/hands.h) is an actor, and so is the main thread,
 * which ends the agent as agent/main.c does. Their children are simulated (sim_child.h). */
#ifndef TUNE_TESTS_SIM_SIM_CREW_H
#define TUNE_TESTS_SIM_SIM_CREW_H

#include "agent/builder.h"
#include "agent/farm_parts.h"
#include "agent/hands.h"
#include "tests/sim/host.h"
#include "tests/sim/sim_child.h"

#define CREW_MAX_LINES 4096 /* told; and requests sent */

/* What is common to an agent with a device and a builder: a process. */
struct crew {
    struct world *world;
    struct peer peer;
    char name[32];
    struct sim_children children;
    atomic_bool stop;
    int64_t start_ns; /* of the world: begins then */
    enum err e;       /* why it did not begin to work */
    struct why why;
    bool working, killed, asked_to_end, ended;
    int n_quits;          /* how often it asked for its own end */
    bool left_well;       /* .. the last time, as it was asked to */
    int n_at_work;        /* hands */
    int held_at_quit;     /* when it asked first */
    int64_t done, failed; /* told at the end */
    int64_t ended_ns;
    char *lines[CREW_MAX_LINES]; /* told to people */
    int levels[CREW_MAX_LINES];
    int n_lines;
    char *sent[CREW_MAX_LINES]; /* JSON of its requests, repeats included */
    int n_sent;
    bool keeps_nothing; /* neither lines nor requests */
    /* Takes steps in the order of a test, before the threads do; may be NULL. */
    void (*by_hand)(struct crew *c);
    const struct crew_kind *kind;
};

/* SIGTERM, and SIGKILL. */
void crew_stop(struct crew *c);
void crew_kill(struct crew *c);
/* Lines told with these words in them. */
int crew_told(const struct crew *c, const char *words);
/* Requests of an operation, and the i-th of them as it was sent ("" = there were not so many). */
int crew_n_sent(const struct crew *c, const char *op);
const char *crew_sent(const struct crew *c, const char *op, int i);

/* An agent with a device. */
struct crew_agent {
    struct crew crew; /* first */
    struct rig_options rig_options;
    struct farm_options options;
    bool canary; /* to be run at the start */
    struct rig rig;
    struct farm *farm; /* while it works */
    char device[32];
};

/* Defaults: a card of its own, key "sim", batches of 8, overlapping, one build child. Options may be changed before the
 * start. */
void crew_agent_init(struct crew_agent *a, struct net *n, const char *name, int i_card);
void crew_agent_start(struct crew_agent *a);
void crew_agent_fini(struct crew_agent *a);

/* A builder. */
struct crew_builder {
    struct crew crew; /* first */
    struct builder_options options;
    struct workshop *workshop; /* while it works */
};

/* Defaults: two children, for sm_61. */
void crew_builder_init(struct crew_builder *b, struct net *n, const char *name);
void crew_builder_start(struct crew_builder *b);
void crew_builder_fini(struct crew_builder *b);

#endif
