/* SPDX-License-Identifier: MIT */
#include "agent/hands.h"

#include <assert.h>
#include <unistd.h>

void hands_init(struct hands *h, const atomic_bool *stop, void *owner)
{
    *h = (struct hands){.owner = owner, .stop = stop};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
}

void hands_fini(struct hands *h)
{
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
}

void hands_add(struct hands *h, hand_step *step, int i)
{
    assert(h->n < HANDS_MAX);
    h->all[h->n++] = (struct hand){h, step, i};
}

void hands_changed(struct hands *h)
{
    assert(pthread_mutex_trylock(&h->lock) != 0); /* somebody has it: the caller */
    h->n_changes++;
    pthread_cond_broadcast(&h->changed);
}

/* What changes between the look and the wait is seen by its number. */
static void *work(void *arg)
{
    const struct hand *hand = arg;
    struct hands *h = hand->hands;

    while (!atomic_load(h->stop)) {
        int64_t seen;

        pthread_mutex_lock(&h->lock);
        seen = h->n_changes;
        pthread_mutex_unlock(&h->lock);
        if (hand->step(h->owner, hand->i))
            continue;
        pthread_mutex_lock(&h->lock);
        while (h->n_changes == seen)
            pthread_cond_wait(&h->changed, &h->lock);
        pthread_mutex_unlock(&h->lock);
    }
    for (;;)
        pause(); /* children die with the thread that started them; the process ends both */
    return NULL;
}

enum err hands_start(struct hands *h, struct why *why)
{
    for (int i = 0; i < h->n; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, work, &h->all[i]) != 0)
            return why_set(why, ERR_NOMEM, "cannot start a thread");
        pthread_detach(thread);
    }
    return ERR_OK;
}
