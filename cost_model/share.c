#include "cost_model/share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MAX_THREADS 64
#define SHARES 8 /* for each thread, so that a slow one does not keep the others waiting */

/* Lives until its last user leaves: a helper may come late, when all is done and the caller gone. */
struct work {
    share_fn *fn;
    void *context;
    size_t n, share;
    atomic_size_t next;
    atomic_int n_users;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t is_done;
    size_t n_done;
    enum err first_error;
};

static void leave(struct work *w)
{
    if (atomic_fetch_sub(&w->n_users, 1) > 1)
        return;
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->is_done);
    free(w);
}

static void take_shares(struct work *w)
{
    size_t begin;

    while ((begin = atomic_fetch_add(&w->next, w->share)) < w->n) {
        const size_t end = w->n - begin < w->share ? w->n : begin + w->share;
        const enum err e = w->fn(w->context, begin, end);

        pthread_mutex_lock(&w->lock);
        w->n_done += end - begin;
        if (e && !w->first_error)
            w->first_error = e;
        if (w->n_done == w->n)
            pthread_cond_signal(&w->is_done);
        pthread_mutex_unlock(&w->lock);
    }
}

static void *help(void *argument)
{
    take_shares(argument);
    leave(argument);
    return NULL;
}

static void start_helpers(struct work *w, size_t n)
{
    pthread_attr_t attributes;
    pthread_t thread;

    if (pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (size_t i = 0; i < n; i++) {
        atomic_fetch_add(&w->n_users, 1);
        if (pthread_create(&thread, &attributes, help, w) != 0)
            atomic_fetch_sub(&w->n_users, 1);
    }
    pthread_attr_destroy(&attributes);
}

enum err share_out(share_fn *fn, void *context, size_t n, size_t step, size_t n_threads)
{
    struct work *w = n_threads > 1 && n > step ? calloc(1, sizeof(*w)) : NULL;
    enum err e;

    if (!w)
        return n > 0 ? fn(context, 0, n) : ERR_OK;
    n_threads = n_threads > MAX_THREADS ? MAX_THREADS : n_threads;
    w->fn = fn;
    w->context = context;
    w->n = n;
    w->share = (n / (n_threads * SHARES) / step + 1) * step;
    atomic_init(&w->n_users, 1);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->is_done, NULL);
    start_helpers(w, n_threads - 1);
    take_shares(w);
    pthread_mutex_lock(&w->lock);
    while (w->n_done < w->n)
        pthread_cond_wait(&w->is_done, &w->lock);
    e = w->first_error;
    pthread_mutex_unlock(&w->lock);
    leave(w);
    return e;
}
