/* SPDX-License-Identifier: MIT */
/* sim_agent.h - an agent in a world: registers a device, leases trials by long poll and, after a time of the world,
 * sends the records that the agent's own code (agent/trial.h) makes of a modelled time. */
#ifndef TUNE_TESTS_SIM_SIM_AGENT_H
#define TUNE_TESTS_SIM_SIM_AGENT_H

#include "agent/trial.h"
#include "logs/record.h"
#include "runtime/device_desc.h"
#include "tests/sim/host.h"

/* How fast programs are: ln of time is uniform over `spread`, by workload, template and knobs; the slowest take 1 ms.
 * The pace makes all of them slower at times, as a throttling device does, so that only ratios to an anchor tell them
 * apart. */
struct sim_model {
    uint64_t landscape; /* which of many: other configs are the fast ones */
    double spread;      /* of ln time */
    double noise;       /* of ln time in each measurement, at most */
    double drift;       /* ln of the slowest pace */
    int fail;           /* parts of a thousand of all programs: each fails in its own way, always in the same */
    int hidden;         /* parts of a thousand of all configs: wrong, but only passes for what may be chosen show it */
    /* Of programs that it knows: ns, or below 0 the negative number of a status; 0 = as above. May be NULL. */
    double (*time_ns)(const struct program *p, void *arg);
    void *arg;
};

/* The time of a program at full pace in ns, or below 0 the negative number of its status. */
double sim_model_time(const struct sim_model *m, const struct program *p);

/* The same of a record's config, which time_ns does not know. */
double sim_model_record_time(const struct sim_model *m, const struct record *r);

/* Is a record's config one of the hidden ones? */
bool sim_model_hides(const struct sim_model *m, const struct record *r);

#define SIM_FOREIGN "dense f32 m=1 n=1 k=1" /* of sim_faults.foreign */

/* What goes wrong with a trial, each in parts of a thousand. */
struct sim_faults {
    int die;     /* with all it has leased, without a word; a new process registers after 3 s */
    int damaged; /* its line arrives as no record */
    int foreign; /* its line is a whole record, of another workload */
    int twice;   /* its result is sent again */
    int slow;    /* it takes longer than any lease */
};

struct sim_agent {
    struct net *net;
    const char *name, *key;
    struct device_desc device;
    const struct sim_model *model;
    struct sim_faults faults;
    int64_t trial_ns; /* of each; 0 = 50 ms */
    int64_t most;     /* trials in a lease; 0 = 16 */
    const char *arch; /* wants code for it from a builder, and cannot build; NULL = builds itself */
    int64_t capacity; /* a CUDA device that compiles so much at the same time; 0 = another device */
    bool no_energy;   /* trials of an objective end as agent/energy.c ends them; otherwise 1 W is drawn */
    bool away;        /* asks for nothing until it is false again; what it has leased is forgotten */
    bool stopping;    /* ends when it is idle */
    /* Each trial as it was leased, before it is run, and its record before it is sent; may be NULL. */
    void (*saw)(struct sim_agent *a, const cJSON *lease, const struct trial *t);
    void (*sends)(struct sim_agent *a, struct record *r);
    void *arg;
    int64_t n_run, n_died; /* trials run; deaths */
    struct peer peer;
    struct client *client;
    struct sha256 fingerprint;
    bool registered;
};

/* Adds the actor: it ends some time after `stopping`. */
void sim_agent_start(struct sim_agent *a);

/* A CPU that all templates of CPUs suit. */
struct device_desc sim_cpu(void);

#endif
