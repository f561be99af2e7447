/* SPDX-License-Identifier: MIT */
/* prove.h - which of a batch that was timed is put through every pass of its sheet and watched for longer, because it
 * may be chosen: of most batches one, or none. Pure. */
#ifndef TUNE_AGENT_PROVE_H
#define TUNE_AGENT_PROVE_H

#include "agent/measure.h"

#include <stdbool.h>

/* What a trial's body asks for ("prove", tracker/calls_list.h). */
enum prove {
    PROVE_EACH,   /* in any case, and watched: it is measured to be told */
    PROVE_WINNER, /* the fastest of the batch that is right, and watched: a final */
    PROVE_LEAST,  /* the same, but only one that is faster than what is known, and not watched: of a search */
    PROVE_NOT,
};

/* What is asked of one trial, and what came of it. */
struct proof {
    enum prove how;
    bool had;        /* the job has put this very program through all of the sheet already */
    double known_ns; /* the least time of the job's that was put through, here; 0 = none */
    bool in_part;    /* out: some of the passes behind timing were not run */
};

/* By the body's word; PROVE_EACH for what it does not know, which costs, and lets nothing through. */
enum prove prove_of(const char *word);

/* The items by what they were timed at, the fastest first, on the finest scale they have in common; those without an
 * answer are left out. Writes to order[n_items], returns how many. */
int prove_order(const struct measure_item *items, int n_items, int *order);

/* Is this one, timed and not censored, put through it? `is_found`: one that was faster has been, and is right. */
bool prove_wanted(const struct measure_item *m, const struct proof *p, bool is_found);

/* Is it watched for longer, too? Of those that prove_wanted is true of. */
bool prove_watches(const struct proof *p);

#endif
