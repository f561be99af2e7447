/* farm_parts.h - inside farm.h: the state that its threads share, and what its files need of each other. */
#ifndef TUNE_AGENT_FARM_PARTS_H
#define TUNE_AGENT_FARM_PARTS_H

#include "agent/enlist.h"
#include "agent/farm.h"

#include <pthread.h>

#define MAX_HELD (4 * TIMING_MAX_BATCH)

struct queue {
    struct trial *trials[MAX_HELD];
    int n;
};

/* A builder and its number. */
struct builder {
    struct farm *farm;
    int i;
};

struct farm {
    struct farm_options options;
    struct rig *rig;
    bool overlap;
    struct builder builders[RIG_MAX_BUILDERS];
    struct enlist enlist;
    struct trial_agent self;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t changed;
    struct trial *held[MAX_HELD]; /* leased and not answered yet: renewed */
    int n_held;
    struct queue leased; /* with all blobs here: wait for a builder */
    struct queue ready;  /* verified: wait for the timing thread */
    int n_builders;      /* threads started */
    int n_building;
    bool timing;               /* the timing thread is at work */
    char warm[SHA256_HEX + 1]; /* the anchor last made ready, in this compiler cache */
    int64_t warm_generation;
    int64_t done, failed;
};

/* ---- farm.c ---- */
/* Among the held trials from now on; false when there are too many. */
bool farm_hold(struct farm *f, struct trial *t);
/* Sends the record of a finished trial (a dropped one has none) and frees the trial. */
void farm_answer(struct farm *f, struct trial *t);
/* Does a whole batch wait for the device? With the lock held. */
bool farm_is_full(const struct farm *f);

/* ---- farm_lease.c, farm_work.c ---- */
void *farm_lease_thread(void *farm);
void *farm_builder_thread(void *builder);
void *farm_timing_thread(void *farm);

#endif
