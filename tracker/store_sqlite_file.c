/* SPDX-License-Identifier: MIT */
#include "tracker/store_sqlite_file.h"

#include "core/clock.h"
#include "core/file.h"
#include "tracker/journal.h"
#include "tracker/store_sqlite_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEMA_VERSION 6
#define SLICE_PAGES 256 /* of a backup at once: a megabyte */

#define SCHEMA_BUILDS                                                                                                  \
    "CREATE TABLE builds(program TEXT NOT NULL, arch TEXT NOT NULL, status TEXT NOT NULL, blobs TEXT NOT NULL,"        \
    " body TEXT NOT NULL, through INTEGER NOT NULL, attempts INTEGER NOT NULL, used_ms INTEGER NOT NULL,"              \
    " PRIMARY KEY(program, arch)) WITHOUT ROWID;"

/* By rowid: a line fits into its page, where a table WITHOUT ROWID gives each an overflow page of its own. */
#define SCHEMA_RECORDS                                                                                                 \
    "CREATE TABLE records(trial INTEGER PRIMARY KEY, job INTEGER NOT NULL, seq INTEGER NOT NULL, n INTEGER NOT NULL,"  \
    " line TEXT NOT NULL, status TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, program TEXT NOT NULL,"  \
    " purpose TEXT NOT NULL, protocol TEXT NOT NULL, time_ns REAL NOT NULL, flops REAL NOT NULL, device_ms REAL NOT "  \
    "NULL,"                                                                                                            \
    " created_ms INTEGER NOT NULL);"
#define SCHEMA_RECORD_INDEXES                                                                                          \
    "CREATE UNIQUE INDEX records_of_job ON records(job, seq);"                                                         \
    "CREATE INDEX records_same ON records(program, fingerprint, purpose, protocol) WHERE status = 'ok';"

/* What a job's trials and records come to, so that nobody has to count them; and what operators said of agents. */
#define SCHEMA_SUMS                                                                                                    \
    "CREATE TABLE sums(job INTEGER PRIMARY KEY, seq INTEGER NOT NULL, n_done INTEGER NOT NULL, n_lost INTEGER NOT "    \
    "NULL, best_gflops REAL NOT NULL, best_ns REAL NOT NULL);"
#define SCHEMA_MODES                                                                                                   \
    "CREATE TABLE modes(agent TEXT PRIMARY KEY, mode INTEGER NOT NULL, user TEXT NOT NULL) WITHOUT ROWID;"

/* A job's trials that are cancelled or tried again are few among all that it ever had. */
#define SCHEMA_TRIAL_INDEXES                                                                                           \
    "CREATE INDEX trials_live ON trials(job, id) WHERE state < 2;"                                                     \
    "CREATE INDEX trials_lost ON trials(job, id) WHERE state = 3;"

/* Blobs that lie in an S3 store; here: also in `blobs`, unless retention dropped them there. */
#define SCHEMA_AWAY                                                                                                    \
    "CREATE TABLE away(sha256 TEXT PRIMARY KEY, bytes INTEGER NOT NULL, used_ms INTEGER NOT NULL, here INTEGER NOT "   \
    "NULL) WITHOUT ROWID;"                                                                                             \
    "CREATE INDEX blobs_large ON blobs(used_ms) WHERE length(bytes) > 16384;"

/* The database has all entries of the journal before this one; and whose journal it is. */
#define SCHEMA_JOURNAL "INSERT OR REPLACE INTO meta VALUES('journal', 1), ('store', lower(hex(randomblob(16))));"

static const char schema[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('schema', 6);" SCHEMA_JOURNAL
    "CREATE TABLE jobs(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, user TEXT NOT NULL, key TEXT NOT "
    "NULL, body TEXT NOT NULL,"
    " summary TEXT NOT NULL DEFAULT '', request TEXT NOT NULL, priority INTEGER NOT NULL, created_ms INTEGER NOT NULL,"
    " done_ms INTEGER NOT NULL DEFAULT 0, state INTEGER NOT NULL, token INTEGER NOT NULL, leased INTEGER NOT NULL,"
    " paused INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE trials(id INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER NOT NULL, n INTEGER NOT NULL, key TEXT NOT "
    "NULL,"
    " fingerprint TEXT NOT NULL, program TEXT NOT NULL, anchor TEXT NOT NULL, purpose TEXT NOT NULL, protocol TEXT NOT "
    "NULL,"
    " body TEXT NOT NULL, state INTEGER NOT NULL, token INTEGER NOT NULL, attempts INTEGER NOT NULL, agent TEXT NOT "
    "NULL,"
    " answered_by INTEGER NOT NULL, UNIQUE(job, n));" SCHEMA_TRIAL_INDEXES
    "CREATE TABLE blobs(sha256 TEXT PRIMARY KEY, used_ms INTEGER NOT NULL, bytes BLOB NOT NULL);"
    "CREATE TABLE pieces(sha256 TEXT NOT NULL, at INTEGER NOT NULL, made_ms INTEGER NOT NULL, bytes BLOB NOT NULL,"
    " PRIMARY KEY(sha256, at));" SCHEMA_BUILDS SCHEMA_RECORDS SCHEMA_RECORD_INDEXES SCHEMA_SUMS SCHEMA_MODES
        SCHEMA_AWAY;

/* [i]: from schema i + 1 to i + 2 */
static const char *const schema_steps[SCHEMA_VERSION - 1] = {
    SCHEMA_BUILDS "UPDATE meta SET value = 2 WHERE name = 'schema';",
    "ALTER TABLE records RENAME TO former_records;" SCHEMA_RECORDS
    "INSERT INTO records SELECT trial, job, seq, n, line, status, key, fingerprint, program, purpose, protocol, "
    "time_ns,"
    " flops, device_ms, created_ms FROM former_records ORDER BY trial;"
    "DROP TABLE former_records;" SCHEMA_RECORD_INDEXES SCHEMA_SUMS "INSERT INTO sums SELECT id,"
    " (SELECT coalesce(max(seq), 0) FROM records r WHERE r.job = jobs.id),"
    " (SELECT count(*) FROM trials t WHERE t.job = jobs.id AND t.state = 2),"
    " (SELECT count(*) FROM trials t WHERE t.job = jobs.id AND t.state = 3),"
    " (SELECT coalesce(max(flops / time_ns), 0) FROM records r WHERE r.job = jobs.id AND status = 'ok' AND time_ns > "
    "0),"
    " (SELECT coalesce(min(time_ns), 0) FROM records r WHERE r.job = jobs.id AND status = 'ok' AND time_ns > 0)"
    " FROM jobs;" SCHEMA_MODES "ALTER TABLE jobs ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;"
    "UPDATE meta SET value = 3 WHERE name = 'schema';",
    "DROP INDEX IF EXISTS trials_live; DROP INDEX IF EXISTS trials_lost;" SCHEMA_TRIAL_INDEXES
    "UPDATE meta SET value = 4 WHERE name = 'schema';",
    SCHEMA_JOURNAL "UPDATE meta SET value = 5 WHERE name = 'schema';",
    SCHEMA_AWAY "UPDATE meta SET value = 6 WHERE name = 'schema';",
};

enum err sqlite_why(sqlite3 *db, struct why *why)
{
    const int number = (sqlite3_errcode(db) & 0xff) == SQLITE_IOERR ? sqlite3_system_errno(db) : 0;

    return why_set(why, sqlite3_errcode(db) == SQLITE_NOMEM ? ERR_NOMEM : ERR_IO, "store %s: %s%s%s%s",
                   sqlite3_db_filename(db, "main"), sqlite3_errmsg(db), number ? " (" : "",
                   number ? strerror(number) : "",
                   number == EFBIG ? ": ulimit -f)"
                   : number        ? ")"
                                   : "");
}

enum err sqlite_run(sqlite3 *db, const char *text, struct why *why)
{
    return sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK ? ERR_OK : sqlite_why(db, why);
}

enum err sqlite_number(sqlite3 *db, const char *text, int64_t *out, struct why *why)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, text, -1, &q, NULL);
    enum err e = ERR_OK;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(q, 0);
    else if (rc == SQLITE_DONE || rc == SQLITE_ERROR) /* SQLITE_ERROR: no such table */
        *out = -1;
    else
        e = sqlite_why(db, why);
    sqlite3_finalize(q);
    return e;
}

/* A store of an earlier version gets what it lacks, all at once. */
static enum err bring_up(sqlite3 *db, int64_t version, struct why *why)
{
    enum err e;

    if (version == SCHEMA_VERSION)
        return ERR_OK;
    e = sqlite_run(db, "BEGIN IMMEDIATE", why);
    for (int64_t v = version; !e && v < SCHEMA_VERSION; v++)
        e = sqlite_run(db, schema_steps[v - 1], why);
    if (!e)
        e = sqlite_run(db, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)",
                       why); /* whose journal it is, not in the log alone */
    return e || version > 2 ? e : sqlite_run(db, "PRAGMA auto_vacuum = INCREMENTAL; VACUUM", why);
}

enum err sqlite_check_version(sqlite3 *db, const char *path, struct why *why)
{
    int64_t version;
    const enum err e = sqlite_number(db, "SELECT value FROM meta WHERE name = 'schema'", &version, why);

    return e || version <= SCHEMA_VERSION
               ? e
               : why_set(why, ERR_UNSUPPORTED, "%s has schema %lld, this program knows up to %d", path,
                         (long long)version, SCHEMA_VERSION);
}

enum err sqlite_check_schema(sqlite3 *db, const char *path, struct why *why)
{
    int64_t version, n;
    enum err e = sqlite_number(db, "SELECT count(*) FROM sqlite_master WHERE name = 'meta'", &n, why);

    if (e)
        return e;
    if (n == 0) {
        e = sqlite_run(db, "BEGIN IMMEDIATE", why);
        if (!e)
            e = sqlite_run(db, schema, why);
        return e ? e : sqlite_run(db, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)", why);
    }
    e = sqlite_number(db, "SELECT value FROM meta WHERE name = 'schema'", &version, why);
    if (e)
        return e;
    if (version < 1)
        return why_set(why, ERR_IO, "%s is no store of a tracker", path);
    return bring_up(db, version, why);
}

/* File systems that lock no directories (NFS) have the file's lock alone. */
static enum err take(const char *where, const char *path, int flags, int *fd, struct why *why)
{
    *fd = open(path, flags | O_CLOEXEC, 0600);
    if (*fd < 0)
        return why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || !(flags & O_DIRECTORY)))
        return why_set(why, ERR_BUSY, "the store %s is in use by another tracker", where);
    return ERR_OK;
}

enum err sqlite_take_lock(const char *where, int fds[2], struct why *why)
{
    char path[PATH_MAX];
    enum err e = sqlite_path(where, "lock", path, why);

    if (!e)
        e = take(where, where, O_RDONLY | O_DIRECTORY, &fds[0], why);
    return e ? e : take(where, path, O_RDWR | O_CREAT, &fds[1], why);
}

enum err sqlite_path(const char *where, const char *name, char out[PATH_MAX], struct why *why)
{
    return snprintf(out, PATH_MAX, "%s/%s", where, name) < PATH_MAX
               ? ERR_OK
               : why_set(why, ERR_LIMIT, "the store's path is too long");
}

#define MAX_TRIES 20

/* A read transaction of now, and what only the journal has by now: it is turned over rarely, so that a second look
 * finds it whole. */
static enum err see(sqlite3 *from, const char *where, struct journal_tail **tail, struct why *why)
{
    enum err e = ERR_STALE;

    for (int i = 0; e == ERR_STALE && i < MAX_TRIES; i++) {
        sqlite3_exec(from, "ROLLBACK", NULL, NULL, NULL);
        e = sqlite_run(from, "BEGIN; SELECT count(*) FROM sqlite_master", why);
        if (!e)
            e = sqlite_tail(from, where, tail, why);
    }
    return e;
}

/* In slices with pauses, so that a tracker at work has the disk in between. The open read transaction keeps the slices
 * from starting anew with each of its commits. */
static int copy_slices(sqlite3 *from, sqlite3 *to, int to_fd)
{
    sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
    int rc = SQLITE_OK;

    while (b && (rc = sqlite3_backup_step(b, SLICE_PAGES)) == SQLITE_OK) {
        const int64_t start_ns = clock_now_ns();

        fdatasync(to_fd);                                /* no heap of work for the disk at the end */
        posix_fadvise(to_fd, 0, 0, POSIX_FADV_DONTNEED); /* nor the store's pages pushed out of memory by the copy's */
        clock_sleep_ms((clock_now_ns() - start_ns) / 1000000 + 1);
    }
    sqlite3_backup_finish(b);
    return b && rc == SQLITE_DONE ? SQLITE_OK : b ? rc : sqlite3_errcode(to);
}

/* What the journal has goes in, too; the copy has no journal yet. */
static enum err copy_all(sqlite3 *from, sqlite3 *to, const char *where, int to_fd, struct why *why)
{
    struct journal_tail *tail = NULL;
    enum err e = see(from, where, &tail, why);
    int rc = e ? SQLITE_OK : copy_slices(from, to, to_fd);
    int64_t n = 0;

    if (rc != SQLITE_OK)
        e = why_set(why, ERR_IO, "backup of %s: %s", where, sqlite3_errstr(rc));
    if (!e)
        e = sqlite_replay(to, tail, why);
    if (!e)
        e = sqlite_number(to, "SELECT count(*) FROM meta WHERE name = 'journal'", &n, why);
    if (!e && n == 1)
        e = sqlite_run(to, SCHEMA_JOURNAL "PRAGMA journal_mode = DELETE", why);
    journal_tail_close(tail);
    return e;
}

static enum err copy_to(const char *where, const char *path, const char *to_path, int to_fd, struct why *why)
{
    sqlite3 *from = NULL, *to = NULL;
    int rc = sqlite3_open_v2(path, &from, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    enum err e = ERR_OK;

    if (rc == SQLITE_OK)
        rc = sqlite3_open(to_path, &to);
    if (rc == SQLITE_OK) {
        sqlite3_busy_timeout(from, 5000);
        e = copy_all(from, to, where, to_fd, why);
    } else {
        e = why_set(why, ERR_IO, "backup of %s to %s: %s", path, to_path, sqlite3_errstr(rc));
    }
    sqlite3_close(to);
    sqlite3_close(from);
    if (!e && fsync(to_fd) != 0)
        e = why_set(why, ERR_IO, "backup of %s to %s: %s", path, to_path, strerror(errno));
    return e;
}

/* The name, too, outlives a power cut. */
static enum err flush_name(const char *path, struct why *why)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');

    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    return dir_flush(dir) == ERR_OK ? ERR_OK : why_set(why, ERR_IO, "%s: %s", dir, strerror(errno));
}

/* Under a name of its own until it is whole. */
static enum err copy_and_rename(const char *where, const char *from, const char *path, struct why *why)
{
    char part[PATH_MAX];
    enum err e;
    int fd;

    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return why_set(why, ERR_LIMIT, "the backup's path is too long");
    fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return why_set(why, ERR_EXISTS, "%s exists already: another backup is at it, or was broken off", part);
    if (fd < 0)
        return why_set(why, ERR_IO, "backup of %s to %s: %s", from, part, strerror(errno));
    e = copy_to(where, from, part, fd, why);
    close(fd);
    if (!e && rename(part, path) != 0)
        e = why_set(why, ERR_IO, "%s: %s", path, strerror(errno));
    if (e)
        unlink(part);
    return e ? e : flush_name(path, why);
}

enum err sqlite_backup(const char *where, const char *path, int64_t *n_bytes, struct why *why)
{
    char from[PATH_MAX];
    struct stat st;
    enum err e = sqlite_path(where, "tracker.sqlite", from, why);

    if (!e && stat(from, &st) != 0)
        e = why_set(why, ERR_NOT_FOUND, "there is no store in %s", where);
    if (!e && stat(path, &st) == 0)
        e = why_set(why, ERR_EXISTS, "%s exists already", path);
    if (e)
        return e;
    e = copy_and_rename(where, from, path, why);
    if (!e)
        e = stat(path, &st) == 0 ? ERR_OK : ERR_IO;
    if (!e)
        *n_bytes = (int64_t)st.st_size;
    return e;
}
