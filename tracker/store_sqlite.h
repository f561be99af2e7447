/* SPDX-License-Identifier: MIT */
/* store_sqlite.h - the text of store_sqlite.c: the schema and every statement. */
#ifndef TUNE_TRACKER_STORE_SQLITE_H
#define TUNE_TRACKER_STORE_SQLITE_H

#define SCHEMA_VERSION 3

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

static const char schema[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('schema', 3);"
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
    " answered_by INTEGER NOT NULL, UNIQUE(job, n));"
    "CREATE INDEX trials_live ON trials(id) WHERE state < 2;"
    "CREATE TABLE blobs(sha256 TEXT PRIMARY KEY, used_ms INTEGER NOT NULL, bytes BLOB NOT NULL);"
    "CREATE TABLE pieces(sha256 TEXT NOT NULL, at INTEGER NOT NULL, made_ms INTEGER NOT NULL, bytes BLOB NOT NULL,"
    " PRIMARY KEY(sha256, at));" SCHEMA_BUILDS SCHEMA_RECORDS SCHEMA_RECORD_INDEXES SCHEMA_SUMS SCHEMA_MODES;

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
};

#define JOB_COLUMNS                                                                                                    \
    "id, title, user, key, request, priority, created_ms, done_ms, state, token, leased, paused, body, summary"
#define JOB_SUMS "seq, n_done, n_lost, best_gflops, best_ns"
#define TRIAL_COLUMNS                                                                                                  \
    "id, job, n, key, fingerprint, program, anchor, purpose, protocol, body, state, token, attempts, agent, "          \
    "answered_by"
#define RECORD_COLUMNS                                                                                                 \
    "job, seq, trial, n, line, status, key, fingerprint, program, purpose, protocol, time_ns, flops, device_ms, "      \
    "created_ms"

#define OLD_JOBS "(SELECT id FROM jobs WHERE state > 0 AND done_ms < ?1)"

/* Put or asked for so long before the oldest open job that it is none of its: two days, for uses are noted by the day.
 */
#define BEFORE_OPEN_JOBS                                                                                               \
    "used_ms < (SELECT coalesce(min(created_ms), 9007199254740992) FROM jobs WHERE state = 0) - 172800000"

/* X(name, SQL): prepared once. */
#define SQL_MAP(X)                                                                                                     \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                                        \
    X(COMMIT, "COMMIT")                                                                                                \
    X(JOB_PUT, "INSERT INTO jobs(id, title, user, key, request, priority, created_ms, done_ms, state, token, leased, " \
               "paused, body, summary) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?14,?12,coalesce(?13,''))")           \
    X(JOB_SET, "UPDATE jobs SET done_ms = ?8, state = ?9, token = ?10, leased = ?11, paused = ?14, "                   \
               "summary = coalesce(?13, summary) WHERE id = ?1")                                                       \
    X(SUMS_PUT, "INSERT OR REPLACE INTO sums(job, " JOB_SUMS ") VALUES(?,?,?,?,?,?)")                                  \
    X(MODE_PUT, "INSERT OR REPLACE INTO modes VALUES(?,?,?)")                                                          \
    X(MODE_DROP, "DELETE FROM modes WHERE agent = ?")                                                                  \
    X(MODES, "SELECT agent, mode, user FROM modes")                                                                    \
    X(TRIAL_PUT, "INSERT INTO trials(" TRIAL_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)")   \
    X(TRIAL_SET, "UPDATE trials SET state = ?11, token = ?12, attempts = ?13, agent = ?14, answered_by = ?15 "         \
                 "WHERE id = ?1")                                                                                      \
    X(RECORD_DROP_LOST, "DELETE FROM records WHERE trial = ? AND status = 'lost'")                                     \
    X(RECORD_PUT, "INSERT INTO records(" RECORD_COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")                     \
    X(JOBS, "SELECT " JOB_COLUMNS ", " JOB_SUMS " FROM jobs LEFT JOIN sums ON sums.job = jobs.id ORDER BY id")         \
    X(JOB, "SELECT " JOB_COLUMNS ", " JOB_SUMS " FROM jobs LEFT JOIN sums ON sums.job = jobs.id WHERE id = ?")         \
    X(LIVE, "SELECT " TRIAL_COLUMNS " FROM trials WHERE state < 2 ORDER BY id")                                        \
    X(TRIAL, "SELECT " TRIAL_COLUMNS " FROM trials WHERE id = ?")                                                      \
    X(TRIAL_N, "SELECT " TRIAL_COLUMNS " FROM trials WHERE job = ? AND n = ?")                                         \
    X(RECORDS, "SELECT " RECORD_COLUMNS " FROM records WHERE job = ? AND seq > ? ORDER BY seq LIMIT ?")                \
    X(RECORD_OF, "SELECT " RECORD_COLUMNS " FROM records WHERE trial = ?")                                             \
    X(RECORD_SAME, "SELECT " RECORD_COLUMNS " FROM records WHERE status = 'ok' AND program = ? AND fingerprint = ? "   \
                   "AND purpose = ? AND protocol = ? ORDER BY created_ms DESC LIMIT 1")                                \
    X(LOST_OF_JOB, "SELECT " TRIAL_COLUMNS " FROM trials WHERE job = ? AND state = 3 ORDER BY id")                     \
    X(REQUEUE_JOB, "UPDATE trials SET state = 0, attempts = 0, agent = '' WHERE job = ? AND state = 3")                \
    X(REQUEUE, "UPDATE trials SET state = 0, attempts = 0, agent = '' WHERE id = ? AND state = 3")                     \
    X(CANCEL, "UPDATE trials SET state = 4, agent = '' WHERE job = ? AND state < 2")                                   \
    X(BLOB_USED, "UPDATE blobs SET used_ms = ?2 WHERE sha256 = ?1 AND used_ms < ?2 - 86400000")                        \
    X(BLOB_SIZE, "SELECT rowid, length(bytes), used_ms FROM blobs WHERE sha256 = ?")                                   \
    X(BLOB_PUT, "INSERT OR IGNORE INTO blobs VALUES(?1, ?2, ?3)")                                                      \
    X(PIECE_PUT, "INSERT OR REPLACE INTO pieces VALUES(?1, ?2, ?3, ?4)")                                               \
    X(PIECE_SUM, "SELECT coalesce(sum(length(bytes)), 0) FROM pieces WHERE sha256 = ?")                                \
    X(PIECES, "SELECT at, bytes FROM pieces WHERE sha256 = ? ORDER BY at")                                             \
    X(PIECES_DROP, "DELETE FROM pieces WHERE sha256 = ?")                                                              \
    X(BUILD_PUT, "INSERT OR REPLACE INTO builds VALUES(?1,?2,?3,?4,?5,?6,?7,?8)")                                      \
    X(BUILD, "SELECT status, blobs, body, through, attempts, used_ms FROM builds WHERE program = ? AND arch = ?")      \
    X(BUILD_USED, "UPDATE builds SET used_ms = ?3 WHERE program = ?1 AND arch = ?2")                                   \
    X(OLD_RECORDS,                                                                                                     \
      "DELETE FROM records WHERE trial IN (SELECT trial FROM records WHERE job IN " OLD_JOBS " LIMIT ?2)")             \
    X(OLD_TRIALS, "DELETE FROM trials WHERE id IN (SELECT id FROM trials WHERE job IN " OLD_JOBS " LIMIT ?2)")         \
    X(OLD_SUMS, "DELETE FROM sums WHERE job IN " OLD_JOBS)                                                             \
    X(DROP_JOBS, "DELETE FROM jobs WHERE state > 0 AND done_ms < ?1")                                                  \
    X(OLD_BLOBS, "DELETE FROM blobs WHERE rowid IN (SELECT rowid FROM blobs WHERE used_ms < ?1 AND " BEFORE_OPEN_JOBS  \
                 " LIMIT ?2)")                                                                                         \
    X(SHRINK, "PRAGMA incremental_vacuum(512)")                                                                        \
    X(OLD_PIECES, "DELETE FROM pieces WHERE made_ms < ?")                                                              \
    X(OLD_BUILDS, "DELETE FROM builds WHERE used_ms < ?1 AND " BEFORE_OPEN_JOBS)

#endif
