/* SPDX-License-Identifier: MIT */
#include "cost_model/share.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_THREADS 64
#define SHARES 3 /* a thread takes the part 1 / (threads * SHARES) of what is left: the last parts are small */

/* Lives until its last user leaves: a helper may come late, when all is done and the caller gone. */
struct work {
    share_fn *fn;
    void *context;
    size_t n, step, divisor;
    size_t next; /* guarded by the lock, as what is below */
    atomic_int n_users;
    pthread_mutex_t lock;
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

/* Takes the next part; false when there is none. */
static bool take(struct work *w, size_t *begin, size_t *end)
{
    const size_t left = w->n - w->next;
    size_t share = (left / w->divisor / w->step + 1) * w->step;

    assert(w->next <= w->n);
    share = share > left ? left : share;
    *begin = w->next;
    *end = w->next += share;
    return share > 0;
}

static void take_shares(struct work *w)
{
    size_t begin, end;

    pthread_mutex_lock(&w->lock);
    while (take(w, &begin, &end)) {
        enum err e;

        pthread_mutex_unlock(&w->lock);
        e = w->fn(w->context, begin, end);
        pthread_mutex_lock(&w->lock);
        w->n_done += end - begin;
        if (e && !w->first_error)
            w->first_error = e;
    }
    if (w->n_done == w->n)
        pthread_cond_signal(&w->is_done);
    pthread_mutex_unlock(&w->lock);
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

/* Cores on which nothing runs at this moment, as Linux counts; where it does not say, as many as there are. A helper
 * that has to wait for a core only delays its caller. */
static size_t idle_cores(void)
{
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    FILE *f = fopen("/proc/loadavg", "re");
    long n_running = 1;

    if (f) {
        if (fscanf(f, "%*s %*s %*s %ld", &n_running) != 1)
            n_running = 1;
        fclose(f);
    }
    return n_cores > n_running ? (size_t)(n_cores - n_running) : 0;
}

enum err share_out(share_fn *fn, void *context, size_t n, size_t step, size_t n_threads)
{
    size_t n_helpers = n_threads > 1 && n > step ? n_threads - 1 : 0;
    struct work *w = NULL;
    enum err e;

    if (n_helpers > 0) {
        const size_t n_idle = idle_cores();

        n_helpers = n_helpers > MAX_THREADS ? MAX_THREADS : n_helpers;
        n_helpers = n_helpers > n_idle ? n_idle : n_helpers;
    }
    if (n_helpers > 0)
        w = calloc(1, sizeof(*w));
    if (!w)
        return n > 0 ? fn(context, 0, n) : ERR_OK;
    w->fn = fn;
    w->context = context;
    w->n = n;
    w->step = step;
    w->divisor = (n_helpers + 1) * SHARES;
    atomic_init(&w->n_users, 1);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->is_done, NULL);
    start_helpers(w, n_helpers);
    take_shares(w);
    pthread_mutex_lock(&w->lock);
    while (w->n_done < w->n)
        pthread_cond_wait(&w->is_done, &w->lock);
    assert(w->n_done == w->n && w->next == w->n);
    e = w->first_error;
    pthread_mutex_unlock(&w->lock);
    leave(w);
    return e;
}
