/* SPDX-License-Identifier: MIT */
#include "tracker/store_sqlite_check.h"
#include "tracker/store_sqlite_file.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"

#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLICE_BYTES (1 << 20) /* of a read ahead */

int64_t sqlite_check_at_once_bytes = (int64_t)256 << 20;

struct sqlite_check {
    sqlite3 *db;
    char path[PATH_MAX], mark[PATH_MAX];
    pthread_t thread;
    bool started;
    struct why why; /* the thread's until `damaged` */
    atomic_bool damaged, stopping;
};

/* Reads every page. Broken off, or without memory (ERR_NOMEM), is not damaged. *damaged: as SQLite says. */
static enum err look_at_pages(sqlite3 *db, const char *path, bool *damaged, struct why *why)
{
    sqlite3_stmt *q = NULL;
    const char *said = "ok";
    enum err e = ERR_OK;
    int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &q, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        said = (const char *)sqlite3_column_text(q, 0);
    if (!said)
        rc = SQLITE_NOMEM;
    if (rc != SQLITE_ROW && rc != SQLITE_INTERRUPT)
        e = rc == SQLITE_NOMEM ? why_set(why, ERR_NOMEM, "store %s: out of memory", path) : sqlite_why(db, why);
    *damaged = !e && strcmp(said, "ok") != 0;
    if (*damaged)
        e = why_set(why, ERR_IO,
                    "the store %s is damaged (%.200s): put a backup in its place, or what "
                    "`sqlite3 %s .recover | sqlite3 NEW` saves of it",
                    path, said, path);
    sqlite3_finalize(q);
    return e;
}

/* SQLite takes a page that it had no memory for as damaged, too: what is, is so twice. */
static enum err check_pages(sqlite3 *db, const char *path, struct why *why)
{
    bool damaged;
    enum err e = look_at_pages(db, path, &damaged, why);

    if (damaged)
        e = look_at_pages(db, path, &damaged, why);
    return e;
}

static unsigned long long inode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (unsigned long long)st.st_ino : 0;
}

/* The next start need not find it anew: it says which file is meant, and what is wrong. */
static void leave_mark(const struct sqlite_check *c)
{
    char text[sizeof c->why.text + 32];
    const int n = snprintf(text, sizeof text, "%llu %s", inode_of(c->path), c->why.text);

    file_replace(c->mark, text, (size_t)n, 0600, NULL); /* without it the next check finds it */
}

static enum err look_for_mark(const struct sqlite_check *c, struct why *why)
{
    struct buf text;
    enum err e = ERR_OK;
    char *words;

    buf_init(&text, 4096);
    if (file_read(c->mark, &text, NULL) == ERR_OK) {
        if (strtoull(buf_text(&text), &words, 10) == inode_of(c->path))
            e = why_set(why, ERR_IO, "%s", words + (*words == ' '));
        else
            unlink(c->mark);
    }
    buf_fini(&text);
    return e;
}

/* The file into the system's memory in order, with pauses as long as the reads took: the check itself jumps about in
 * it, and calls want the disk too. Through SQLite's handle, for closing one of our own would drop its locks. */
static void read_ahead(const struct sqlite_check *c)
{
    sqlite3_file *f = NULL;
    sqlite3_int64 n_bytes = 0;
    char *slice = malloc(SLICE_BYTES);

    if (slice && sqlite3_file_control(c->db, "main", SQLITE_FCNTL_FILE_POINTER, &f) == SQLITE_OK && f->pMethods &&
        f->pMethods->xFileSize(f, &n_bytes) == SQLITE_OK)
        for (sqlite3_int64 at = 0; at + SLICE_BYTES <= n_bytes && !atomic_load(&c->stopping); at += SLICE_BYTES) {
            const int64_t start_ns = clock_now_ns();

            if (f->pMethods->xRead(f, slice, SLICE_BYTES, at) != SQLITE_OK)
                break; /* the check says what is wrong */
            clock_sleep_ms((clock_now_ns() - start_ns) / 1000000 + 1);
        }
    free(slice);
}

/* Without memory it says nothing: the next start looks again. */
static void *check_main(void *arg)
{
    struct sqlite_check *c = arg;
    enum err e = ERR_OK;

    setpriority(PRIO_PROCESS, (id_t)gettid(), 19); /* on Linux of this thread alone */
    read_ahead(c);
    if (!atomic_load(&c->stopping))
        e = check_pages(c->db, c->path, &c->why);
    if (e && e != ERR_NOMEM) {
        leave_mark(c);
        atomic_store(&c->damaged, true);
    }
    return NULL;
}

/* At once, or *c begins to. */
static enum err check(struct sqlite_check *c, struct why *why)
{
    struct stat st;
    enum err e = look_for_mark(c, why);

    if (e || stat(c->path, &st) != 0) /* a fresh store */
        return e;
    if (sqlite3_open_v2(c->path, &c->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return why_set(why, ERR_IO, "store %s: %s", c->path, c->db ? sqlite3_errmsg(c->db) : "out of memory");
    sqlite3_busy_timeout(c->db, 2000);
    if (st.st_size <= sqlite_check_at_once_bytes)
        return check_pages(c->db, c->path, why);
    c->started = pthread_create(&c->thread, NULL, check_main, c) == 0;
    return c->started ? ERR_OK : ERR_NOMEM;
}

enum err sqlite_check_start(const char *where, struct sqlite_check **out, struct why *why)
{
    struct sqlite_check *c = calloc(1, sizeof *c);
    enum err e = c ? sqlite_path(where, "tracker.sqlite", c->path, why) : ERR_NOMEM;

    if (!e)
        e = sqlite_path(where, "damaged", c->mark, why);
    if (!e)
        e = check(c, why);
    if (e || !c->started) {
        sqlite_check_stop(c);
        c = NULL;
    }
    *out = c;
    return e;
}

enum err sqlite_check_result(const struct sqlite_check *c, struct why *why)
{
    return c && atomic_load(&c->damaged) ? why_set(why, ERR_IO, "%s", c->why.text) : ERR_OK;
}

void sqlite_check_stop(struct sqlite_check *c)
{
    if (!c)
        return;
    if (c->started) {
        atomic_store(&c->stopping, true);
        sqlite3_interrupt(c->db);
        pthread_join(c->thread, NULL);
    }
    sqlite3_close(c->db);
    free(c);
}
