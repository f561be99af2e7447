/* SPDX-License-Identifier: MIT */
/* store_sqlite.h - every statement of the SQLite store. */
#ifndef TUNE_TRACKER_STORE_SQLITE_H
#define TUNE_TRACKER_STORE_SQLITE_H

#include "tracker/store.h"

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
    X(SETTLED, "UPDATE meta SET value = ? WHERE name = 'journal'")                                                     \
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
    X(LIVE, "SELECT " TRIAL_COLUMNS " FROM trials INDEXED BY trials_live WHERE state < 2 ORDER BY id")                 \
    X(TRIAL, "SELECT " TRIAL_COLUMNS " FROM trials WHERE id = ?")                                                      \
    X(TRIAL_N, "SELECT " TRIAL_COLUMNS " FROM trials WHERE job = ? AND n = ?")                                         \
    X(RECORDS, "SELECT " RECORD_COLUMNS " FROM records WHERE job = ? AND seq > ? ORDER BY seq LIMIT ?")                \
    X(RECORD_OF, "SELECT " RECORD_COLUMNS " FROM records WHERE trial = ?")                                             \
    X(RECORD_SAME, "SELECT " RECORD_COLUMNS " FROM (SELECT * FROM records WHERE status = 'ok' AND program = ? AND "    \
                   "fingerprint = ? AND purpose = ? AND protocol = ? ORDER BY created_ms DESC LIMIT " STORE_LOOKED_AT  \
                   ") ORDER BY instr(line, '" STORE_IN_FULL "') = 0, instr(line, '" STORE_IN_PART                      \
                   "') > 0, created_ms DESC LIMIT 1")                                                                  \
    X(LOST_OF_JOB,                                                                                                     \
      "SELECT " TRIAL_COLUMNS " FROM trials INDEXED BY trials_lost WHERE job = ? AND state = 3 ORDER BY id")           \
    X(REQUEUE_JOB,                                                                                                     \
      "UPDATE trials INDEXED BY trials_lost SET state = 0, attempts = 0, agent = '' WHERE job = ? AND state = 3")      \
    X(REQUEUE, "UPDATE trials SET state = 0, attempts = 0, agent = '' WHERE id = ? AND state = 3")                     \
    X(CANCEL, "UPDATE trials INDEXED BY trials_live SET state = 4, agent = '' WHERE job = ? AND state < 2")            \
    X(BLOB_USED, "UPDATE blobs SET used_ms = ?2 WHERE sha256 = ?1 AND used_ms < ?2 - 86400000")                        \
    X(BLOB_SIZE, "SELECT rowid, length(bytes), used_ms FROM blobs WHERE sha256 = ?1 UNION ALL "                        \
                 "SELECT 0, bytes, used_ms FROM away WHERE sha256 = ?1 ORDER BY 1 DESC")                               \
    X(BLOB_LARGE, "SELECT sha256 FROM blobs INDEXED BY blobs_large WHERE length(bytes) > 16384 AND used_ms < ?1 "      \
                  "ORDER BY used_ms LIMIT 1 OFFSET ?2")                                                                \
    X(BLOB_DROP, "DELETE FROM blobs WHERE sha256 = ?")                                                                 \
    X(AWAY_PUT, "INSERT OR REPLACE INTO away SELECT sha256, length(bytes), used_ms, 0 FROM blobs WHERE sha256 = ?")    \
    X(AWAY_USED, "UPDATE away SET used_ms = ?2 WHERE sha256 = ?1")                                                     \
    X(AWAY_HERE, "UPDATE away SET here = 1 WHERE sha256 = ?")                                                          \
    X(AWAY_DROP, "DELETE FROM away WHERE sha256 = ?")                                                                  \
    X(AWAY_SUM, "SELECT count(*), coalesce(sum(bytes), 0) FROM away WHERE here = 0")                                   \
    X(AWAY_OLD, "SELECT sha256 FROM away WHERE used_ms < ?1 AND " BEFORE_OPEN_JOBS " LIMIT 1 OFFSET ?2")               \
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
