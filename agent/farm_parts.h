/* SPDX-License-Identifier: MIT */
/* farm_parts.h - inside farm.h: the state that its threads share, and what its files need of each other. */
#ifndef TUNE_AGENT_FARM_PARTS_H
#define TUNE_AGENT_FARM_PARTS_H

#include "agent/enlist.h"
#include "agent/farm.h"
#include "agent/hands.h"
#include "core/err.h"

#include <stdbool.h>
#include <stdint.h>

#define MAX_HELD (4 * TIMING_MAX_BATCH + 2 * FORGE_MAX)

struct queue {
    struct trial *trials[MAX_HELD];
    int n;
};

struct farm {
    struct farm_options options;
    struct rig *rig;
    bool overlap;
    struct enlist enlist;
    struct trial_agent self;
    struct hands hands;           /* its lock: of all below */
    bool left;                    /* the tracker asked, and all is done */
    struct trial *held[MAX_HELD]; /* leased and not answered yet: renewed */
    int n_held;
    struct queue uncompiled; /* with all blobs here: wait for a compile child, where the rig has such */
    struct queue leased;     /* ... and with code, where it is compiled apart: wait for a builder */
    struct queue ready;      /* verified: wait for the timing thread */
    int n_builders;          /* threads started */
    int n_compiling, n_building;
    bool timing;               /* the timing thread is at work */
    char warm[SHA256_HEX + 1]; /* the anchor last made ready, in this compiler cache */
    int64_t warm_generation;
    int64_t done, failed;
    double canary_ns; /* of the last batch; 0 = none yet */
};

/* Among the held trials from now on. False when there are too many, or when it is one of them already (its lease ran
 * out while the tracker was out of reach): that one goes on under the new token. */
bool farm_hold(struct farm *f, struct trial *t);
/* Sends the record of a finished trial (a dropped one has none) and frees the trial. A failure while the work directory
 * cannot be worked in, or of a child that did not begin with it, is not the trial's: it is given back. */
void farm_answer(struct farm *f, struct trial *t);
/* The tracker is to have another agent do it; frees the trial. */
void farm_give_back(struct farm *f, struct trial *t, const struct why *why);
/* Does a whole batch wait for the device? With the lock held. */
bool farm_is_full(const struct farm *f);
/* Trials that are compiled already, and on the device only to be verified: a matter of milliseconds each. 0 where
 * builders compile. With the lock held. */
int farm_n_compiled(const struct farm *f);

/* What the agent does over and over; each may block in a call to the tracker or in the rig. */
hand_step farm_beat_step;    /* renews the leases, shows that the agent lives, and naps until it is time again */
hand_step farm_lease_step;   /* takes one batch of leases, where there is room, with all their blobs */
hand_step farm_compile_step; /* has compile child i make one trial's code */
hand_step farm_build_step;   /* has builder i build and verify one trial */
hand_step farm_time_step;    /* has one batch timed, and answers it */

#endif
