/* SPDX-License-Identifier: MIT */
/* sim_child.h - an agent's children in a world (struct sandbox_ops): they answer as agent/child.c does, after times of
 * the world, and misbehave as their programs' knobs say.
 *
 * Knobs: "n": the program's number, by which a test knows it; "us": what a run takes (100); "build_ms" (40);
 * "do": one of these, nothing = ok
 *   compile limits wrong runtime    `verify` ends with that status; the first two end `compile` too
 *   crash hang eat                  it dies, runs for ever, takes too much memory while it is compiled or verified
 *   crash_once                      the first child that compiles or verifies it dies
 *   bomb hang_timed eat_timed       the same while it is timed
 *   bomb_once                       the first child that times it dies
 *   spoilt                          its outputs change while it is timed: status wrong
 *   silent                          the answer to `time` ends before it */
#ifndef TUNE_TESTS_SIM_SIM_CHILD_H
#define TUNE_TESTS_SIM_SIM_CHILD_H

#include "agent/sandbox.h"
#include "agent/timing.h"
#include "runtime/device_desc.h"
#include "tests/sim/world.h"

#define SIM_MAX_ASKED 512
#define SIM_NONE (-1) /* no anchor; a child of no compiler cache */

/* One request, as it was asked. */
struct sim_asked {
    char op[12];
    int child; /* the number of its child, in the order of their starts from 1 */
    int64_t generation;
    int64_t from_ns, to_ns;
    int64_t programs[TIMING_MAX_BATCH]; /* their numbers */
    int n, anchor;
    bool energy; /* asked for of the first trial */
    double seed;
    struct sandbox_limits limits;
    enum sandbox_fate fate;
};

struct sim_child;

struct sim_children {
    struct world *world;
    struct device_desc desc; /* what `describe` says of the device */
    const char *lacks;       /* what the cage of a builder's child is without; NULL = nothing */
    bool simulated, canary_fails, no_compiler;
    bool makes_ptx;           /* its compiler is older than the device: nothing is compiled apart */
    const char *refused;      /* the device cannot be opened, in these words; NULL = it can */
    const char *compiler_has; /* `compile`: a name of a file to claim; NULL = the right one */
    int n_starts_to_fail;     /* the next ones */
    int n_disturbed;          /* of the next batches the canary changes meanwhile */
    double disturbed_by;      /* its time grows so many times; 0 = 1.3 */
    int n_deaf;               /* of the next children each dies before it says a word */
    bool is_hungry;           /* of too much memory, then */
    bool canary_kills;        /* timing dies at the canary */
    double sense_c;           /* of its sensor; 0 = none */
    bool hot;                 /* it did not cool */
    const char *anchor_why;   /* no anchor can be loaded while timing; NULL = they can */
    int64_t round_ns;         /* of a trial in a batch; 0 = 2 ms */
    int n_started, n_alive;
    struct sim_child *living;
    struct sim_asked asked[SIM_MAX_ASKED];
    int n_asked;
    /* Told when a request begins, before anything else; may be NULL. */
    void (*saw)(const struct sim_asked *a, void *arg);
    void *arg;
    char died[64][65]; /* programs of crash_once and bomb_once that have */
    int n_died;
};

/* A GPU of 8 units that shares nothing with its host. `sandbox_arg` of an agent's options is a struct sim_children. */
void sim_children_init(struct sim_children *c, struct world *w);
extern const struct sandbox_ops sandbox_simulated;

/* How many requests of an operation there were, and the i-th of them (NULL: there were not so many). */
int sim_n_asked(const struct sim_children *c, const char *op);
const struct sim_asked *sim_asked(const struct sim_children *c, const char *op, int i);
/* The requests of an operation that were for that program. */
int sim_n_asked_of(const struct sim_children *c, const char *op, int64_t program);

#endif
