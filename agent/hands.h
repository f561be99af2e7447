/* SPDX-License-Identifier: MIT */
/* hands.h - threads that do a piece of work at a time, and wait where there is none until something changes. What is
 * behind the lock is its owner's. */
#ifndef TUNE_AGENT_HANDS_H
#define TUNE_AGENT_HANDS_H

#include "core/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HANDS_MAX 40

/* One piece of work of hand `i` of its kind; may block. False: nothing to do until something changes. Called without
 * the lock. */
typedef bool hand_step(void *owner, int i);

struct hand {
    struct hands *hands;
    hand_step *step;
    int i;
};

struct hands {
    void *owner;
    const atomic_bool *stop;
    struct hand all[HANDS_MAX];
    int n;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t n_changes;
};

/* Keeps `stop` and `owner`. */
void hands_init(struct hands *h, const atomic_bool *stop, void *owner);
/* None of them is at work. */
void hands_fini(struct hands *h);

/* One more hand, to be started with the others. */
void hands_add(struct hands *h, hand_step *step, int i);

/* A thread for each; they work until `stop` is set and end with the process. ERR_NOMEM. */
enum err hands_start(struct hands *h, struct why *why);

/* Something that a step may wait for has changed; with the lock held. */
void hands_changed(struct hands *h);

#endif
