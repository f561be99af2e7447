/* SPDX-License-Identifier: MIT */
#include "tracker/store_sqlite_keeper.h"

#include "tracker/store_sqlite_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sqlite_keeper {
    sqlite3 *db;
    int log_fd; /* its own: the system tells each open file once that a write failed, and flush must hear it, too */
    pthread_t thread;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t work;
    bool started, stopping;
    int failed; /* errno; the thread has ended then */
    int64_t wanted, has;
    bool takes_in;
    int n_left; /* pages of the log that were not to be had at the last pass: somebody reads what was before them */
};

/* What is wanted and not there; 0 at the end. */
static int64_t next(struct sqlite_keeper *k, bool *takes_in)
{
    int64_t n;

    pthread_mutex_lock(&k->lock);
    while (k->wanted <= k->has && !k->stopping)
        pthread_cond_wait(&k->work, &k->lock);
    n = k->stopping ? 0 : k->wanted;
    *takes_in = k->takes_in;
    k->takes_in = false;
    pthread_mutex_unlock(&k->lock);
    return n;
}

static void *keep(void *arg)
{
    struct sqlite_keeper *k = arg;
    bool takes_in;
    int64_t n;

    while ((n = next(k, &takes_in)) != 0) {
        const int failed = fdatasync(k->log_fd) == 0 ? 0 : errno;
        int n_log = 0, n_taken = 0;

        if (!failed && takes_in) /* what cannot go into the database yet stays in the log */
            sqlite3_wal_checkpoint_v2(k->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &n_log, &n_taken);
        pthread_mutex_lock(&k->lock);
        assert(n > k->has);
        k->failed = failed;
        k->has = failed ? k->has : n;
        if (takes_in)
            k->n_left = n_log - n_taken;
        pthread_mutex_unlock(&k->lock);
        if (failed)
            break;
    }
    return NULL;
}

static enum err open_log(struct sqlite_keeper *k, const char *path, struct why *why)
{
    char log[PATH_MAX];

    if (snprintf(log, sizeof log, "%s-wal", path) >= (int)sizeof log)
        return why_set(why, ERR_LIMIT, "the store's path is too long");
    k->log_fd = open(log, O_RDWR | O_CLOEXEC);
    return k->log_fd >= 0 ? ERR_OK : why_set(why, ERR_IO, "%s: %s", log, strerror(errno));
}

enum err sqlite_keeper_open(const char *path, struct sqlite_keeper **out, struct why *why)
{
    struct sqlite_keeper *k = calloc(1, sizeof *k);
    enum err e;

    if (!k)
        return ERR_NOMEM;
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->work, NULL);
    k->log_fd = -1;
    e = open_log(k, path, why);
    if (!e && sqlite3_open_v2(path, &k->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        e = why_set(why, ERR_IO, "store %s: %s", path, k->db ? sqlite3_errmsg(k->db) : "out of memory");
    if (!e)
        sqlite3_busy_timeout(k->db, 2000);
    if (!e) /* a connection that never read knows of no log, and brings nothing anywhere */
        e = sqlite_run(k->db, "SELECT count(*) FROM sqlite_master", why);
    if (e) {
        sqlite_keeper_close(k);
        return e;
    }
    *out = k;
    return ERR_OK;
}

void sqlite_keeper_close(struct sqlite_keeper *k)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->stopping = true;
    pthread_cond_signal(&k->work);
    pthread_mutex_unlock(&k->lock);
    if (k->started)
        pthread_join(k->thread, NULL);
    sqlite3_close(k->db);
    if (k->log_fd >= 0)
        close(k->log_fd);
    pthread_cond_destroy(&k->work);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

enum err sqlite_keeper_want(struct sqlite_keeper *k, int64_t n, bool takes_in, struct why *why)
{
    int failed;

    if (!k->started)
        k->started = pthread_create(&k->thread, NULL, keep, k) == 0;
    if (!k->started)
        return ERR_NOMEM;
    pthread_mutex_lock(&k->lock);
    assert(n > 0 && n >= k->wanted);
    k->wanted = n;
    k->takes_in |= takes_in;
    failed = k->failed;
    pthread_cond_signal(&k->work);
    pthread_mutex_unlock(&k->lock);
    return failed ? why_set(why, ERR_IO, "the store's log cannot be written: %s", strerror(failed)) : ERR_OK;
}

int64_t sqlite_keeper_has(struct sqlite_keeper *k, int *n_left)
{
    int64_t n;

    pthread_mutex_lock(&k->lock);
    assert(k->has <= k->wanted);
    n = k->has;
    *n_left = k->n_left;
    pthread_mutex_unlock(&k->lock);
    return n;
}
