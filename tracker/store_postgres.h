/* SPDX-License-Identifier: MIT */
/* store_postgres.h - every statement of the PostgreSQL store. Texts are kept as bytes (bytea): a peer's text need not
 * be UTF-8. */
#ifndef TUNE_TRACKER_STORE_POSTGRES_H
#define TUNE_TRACKER_STORE_POSTGRES_H

#include "tracker/store.h"

#define PG_JOB_COLUMNS "id, title, \"user\", key, request, priority, created_ms, done_ms, state, token, leased, paused"
#define PG_JOB_SUMS                                                                                                    \
    "coalesce(seq, 0), coalesce(n_done, 0), coalesce(n_lost, 0), coalesce(best_gflops, 0), coalesce(best_ns, 0)"
#define PG_TRIAL_COLUMNS                                                                                               \
    "id, job, n, key, fingerprint, program, anchor, purpose, protocol, body, state, token, attempts, agent, "          \
    "answered_by"
#define PG_RECORD_COLUMNS                                                                                              \
    "job, seq, trial, n, line, status, key, fingerprint, program, purpose, protocol, time_ns, flops, device_ms, "      \
    "created_ms"

#define PG_OLD_JOBS "(SELECT id FROM jobs WHERE state > 0 AND done_ms < $1)"

/* As in store_sqlite.h. */
#define PG_BEFORE_OPEN_JOBS                                                                                            \
    "used_ms < (SELECT coalesce(min(created_ms), 9007199254740992) FROM jobs WHERE state = 0) - 172800000"

/* X(name, SQL): prepared once. */
#define PG_MAP(X)                                                                                                      \
    X(BEGIN, "BEGIN")                                                                                                  \
    X(COMMIT, "COMMIT")                                                                                                \
    X(PING, "SELECT 1")                                                                                                \
    X(JOB_PUT, "INSERT INTO jobs(id, title, \"user\", key, request, priority, created_ms, done_ms, state, token, "     \
               "leased, paused, body, summary) "                                                                       \
               "VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,coalesce($14::bytea,''::bytea))")                    \
    X(JOB_SET, "UPDATE jobs SET done_ms = $2, state = $3, token = $4, leased = $5, paused = $6, "                      \
               "summary = coalesce($7::bytea, summary) WHERE id = $1")                                                 \
    X(SUMS_PUT, "INSERT INTO sums VALUES($1,$2,$3,$4,$5,$6) ON CONFLICT(job) DO UPDATE SET seq = $2, n_done = $3, "    \
                "n_lost = $4, best_gflops = $5, best_ns = $6")                                                         \
    X(MODE_PUT, "INSERT INTO modes VALUES($1,$2,$3) ON CONFLICT(agent) DO UPDATE SET mode = $2, \"user\" = $3")        \
    X(MODE_DROP, "DELETE FROM modes WHERE agent = $1")                                                                 \
    X(MODES, "SELECT agent, mode, \"user\" FROM modes")                                                                \
    X(TRIAL_PUT,                                                                                                       \
      "INSERT INTO trials(" PG_TRIAL_COLUMNS ") VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15)")           \
    X(TRIAL_SET, "UPDATE trials SET state = $2, token = $3, attempts = $4, agent = $5, answered_by = $6 WHERE id = "   \
                 "$1")                                                                                                 \
    X(RECORD_DROP_LOST, "DELETE FROM records WHERE trial = $1 AND status = 'lost'")                                    \
    X(RECORD_PUT,                                                                                                      \
      "INSERT INTO records(" PG_RECORD_COLUMNS ") VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15)")         \
    X(JOBS, "SELECT " PG_JOB_COLUMNS ", ''::bytea, ''::bytea, " PG_JOB_SUMS                                            \
            " FROM jobs LEFT JOIN sums ON job = id WHERE id > $1 ORDER BY id LIMIT $2")                                \
    X(JOB,                                                                                                             \
      "SELECT " PG_JOB_COLUMNS ", body, summary, " PG_JOB_SUMS " FROM jobs LEFT JOIN sums ON job = id WHERE id = $1")  \
    X(LIVE, "SELECT " PG_TRIAL_COLUMNS " FROM trials WHERE state < 2 AND id > $1 ORDER BY id LIMIT $2")                \
    X(TRIAL, "SELECT " PG_TRIAL_COLUMNS " FROM trials WHERE id = $1")                                                  \
    X(TRIAL_N, "SELECT " PG_TRIAL_COLUMNS " FROM trials WHERE job = $1 AND n = $2")                                    \
    X(NEXT_TRIAL, "SELECT greatest((SELECT coalesce(max(id), 0) FROM trials), "                                        \
                  "(SELECT value FROM meta WHERE name = 'trials')) + 1")                                               \
    X(KEEP_NEXT_TRIAL, "UPDATE meta SET value = greatest(value, (SELECT coalesce(max(id), 0) FROM trials)) "           \
                       "WHERE name = 'trials' AND value < (SELECT coalesce(max(id), 0) FROM trials)")                  \
    X(RECORDS, "SELECT " PG_RECORD_COLUMNS " FROM records WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT $3")          \
    X(RECORD_OF, "SELECT " PG_RECORD_COLUMNS " FROM records WHERE trial = $1")                                         \
    X(RECORD_SAME, "SELECT " PG_RECORD_COLUMNS " FROM (SELECT * FROM records WHERE status = 'ok' AND program = $1 "    \
                   "AND fingerprint = $2 AND purpose = $3 AND protocol = $4 ORDER BY created_ms DESC "                 \
                   "LIMIT " STORE_LOOKED_AT ") AS same ORDER BY position('" STORE_IN_FULL "'::bytea in line) = 0, "    \
                   "position('" STORE_IN_PART "'::bytea in line) > 0, created_ms DESC LIMIT 1")                        \
    X(LOST_OF_JOB, "SELECT " PG_TRIAL_COLUMNS " FROM trials WHERE job = $1 AND state = 3 ORDER BY id")                 \
    X(REQUEUE_JOB, "UPDATE trials SET state = 0, attempts = 0, agent = '' WHERE job = $1 AND state = 3")               \
    X(REQUEUE, "UPDATE trials SET state = 0, attempts = 0, agent = '' WHERE id = $1 AND state = 3")                    \
    X(CANCEL, "UPDATE trials SET state = 4, agent = '' WHERE job = $1 AND state < 2")                                  \
    X(BLOB_USED, "UPDATE blobs SET used_ms = $2 WHERE sha256 = $1 AND used_ms < $2::bigint - 86400000")                \
    X(BLOB_GET, "SELECT length(bytes)::bigint, used_ms, substring(bytes FROM ($2::bigint + 1)::int FOR "               \
                "$3::bigint::int) FROM blobs WHERE sha256 = $1 UNION ALL SELECT bytes, used_ms, NULL FROM away "       \
                "WHERE sha256 = $1 AND NOT EXISTS (SELECT 1 FROM blobs WHERE sha256 = $1)")                            \
    X(BLOB_LARGE, "SELECT sha256 FROM blobs WHERE length(bytes) > 16384 AND used_ms < $1 ORDER BY used_ms "            \
                  "LIMIT 1 OFFSET $2")                                                                                 \
    X(BLOB_DROP, "DELETE FROM blobs WHERE sha256 = $1")                                                                \
    X(AWAY_PUT, "INSERT INTO away SELECT sha256, length(bytes), used_ms, 0 FROM blobs WHERE sha256 = $1 "              \
                "ON CONFLICT(sha256) DO UPDATE SET used_ms = excluded.used_ms, here = 0")                              \
    X(AWAY_USED, "UPDATE away SET used_ms = $2 WHERE sha256 = $1")                                                     \
    X(AWAY_HERE, "UPDATE away SET here = 1 WHERE sha256 = $1")                                                         \
    X(AWAY_DROP, "DELETE FROM away WHERE sha256 = $1")                                                                 \
    X(AWAY_SUM, "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM away WHERE here = 0")                           \
    X(AWAY_OLD, "SELECT sha256 FROM away WHERE used_ms < $1 AND " PG_BEFORE_OPEN_JOBS " LIMIT 1 OFFSET $2")            \
    X(BLOB_PUT, "INSERT INTO blobs VALUES($1,$2,$3) ON CONFLICT DO NOTHING")                                           \
    X(PIECE_PUT, "INSERT INTO pieces VALUES($1,$2,$3,$4) ON CONFLICT(sha256, at) DO UPDATE SET made_ms = $3, "         \
                 "bytes = $4")                                                                                         \
    X(PIECE_SUM, "SELECT coalesce(sum(length(bytes)), 0)::bigint FROM pieces WHERE sha256 = $1")                       \
    X(PIECES, "SELECT at, bytes FROM pieces WHERE sha256 = $1 AND at >= $2 AND at < $3 ORDER BY at")                   \
    X(PIECES_JOIN, "INSERT INTO blobs SELECT $1::bytea, $2::bigint, string_agg(bytes, ''::bytea ORDER BY at) "         \
                   "FROM pieces WHERE sha256 = $1 ON CONFLICT DO NOTHING")                                             \
    X(PIECES_DROP, "DELETE FROM pieces WHERE sha256 = $1")                                                             \
    X(BUILD_PUT, "INSERT INTO builds VALUES($1,$2,$3,$4,$5,$6,$7,$8) ON CONFLICT(program, arch) DO UPDATE SET "        \
                 "status = $3, blobs = $4, body = $5, through = $6, attempts = $7, used_ms = $8")                      \
    X(BUILD, "SELECT status, blobs, body, through, attempts, used_ms FROM builds WHERE program = $1 AND arch = $2")    \
    X(BUILD_USED, "UPDATE builds SET used_ms = $3 WHERE program = $1 AND arch = $2")                                   \
    X(OLD_RECORDS,                                                                                                     \
      "DELETE FROM records WHERE trial IN (SELECT trial FROM records WHERE job IN " PG_OLD_JOBS " LIMIT $2)")          \
    X(OLD_TRIALS, "DELETE FROM trials WHERE id IN (SELECT id FROM trials WHERE job IN " PG_OLD_JOBS " LIMIT $2)")      \
    X(OLD_SUMS, "DELETE FROM sums WHERE job IN " PG_OLD_JOBS)                                                          \
    X(DROP_JOBS, "DELETE FROM jobs WHERE state > 0 AND done_ms < $1")                                                  \
    X(OLD_BLOBS,                                                                                                       \
      "DELETE FROM blobs WHERE sha256 IN (SELECT sha256 FROM blobs WHERE used_ms < $1 AND " PG_BEFORE_OPEN_JOBS        \
      " LIMIT $2)")                                                                                                    \
    X(OLD_PIECES, "DELETE FROM pieces WHERE made_ms < $1")                                                             \
    X(OLD_BUILDS, "DELETE FROM builds WHERE used_ms < $1 AND " PG_BEFORE_OPEN_JOBS)

#endif
