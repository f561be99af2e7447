/* SPDX-License-Identifier: MIT */
#include "tracker/store_postgres_db.h"

#include "core/clock.h"

#include <assert.h>
#include <endian.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA_VERSION 3     /* 1: without parts, 2: in parts, both without blobs elsewhere */
#define OLDEST_SERVER 140000 /* idle_session_timeout */
#define MAX_QUEUED 256
#define MAX_QUEUED_BYTES ((size_t)1 << 20)
#define SILENT_MS 10000 /* then a server that says nothing, nor to others, is given up */
#define MAX_SETTINGS 64 /* of a connection */
#define LOOK_MS 1000    /* for why a connection came to nothing */
#define PING_MS 1000    /* so old may the last answer be when peers are answered: the lock is still ours */
#define WHERE_BYTES 2048

/* Who is silent for so long has lost the store, e.g. a tracker that was stopped: PING_MS is well below. Less may be
 * set, but neither more nor no end (0). */
#define SILENCE                                                                                                        \
    "SELECT set_config(name, '10s', false) FROM pg_settings WHERE CASE WHEN name IN ('idle_session_timeout', "         \
    "'idle_in_transaction_session_timeout') THEN setting::bigint NOT BETWEEN 1 AND 10000 ELSE false END"

/* The same at the server's end of every connection: a tracker whose machine is gone does not keep one, nor what it
 * holds. Of a Unix socket they are ignored. */
#define FAR_END                                                                                                        \
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; "                     \
    "SET tcp_user_timeout = '8s'"

/* Of the farm's schema, so that several farms can share a database, and of the farm's part, from 1. */
#define LOCK_CLASS 1953853029
#define LOCK "(%lld::bigint << 32) | current_schema()::regnamespace::oid::bigint"
#define LOCK_MS 1000  /* waited for all of them together */
#define NAME_BYTES 63 /* of a schema: PostgreSQL cuts longer ones, and two would be one */
#define PART_BYTES 7  /* "_part64" */

/* As in store_sqlite_file.c. */
#define AWAY                                                                                                           \
    "CREATE TABLE away(sha256 bytea PRIMARY KEY, bytes bigint NOT NULL, used_ms bigint NOT NULL, here bigint NOT "     \
    "NULL);"                                                                                                           \
    "CREATE INDEX blobs_large ON blobs(used_ms) WHERE length(bytes) > 16384;"

static const char schema[] =
    "CREATE TABLE meta(name text PRIMARY KEY, value bigint NOT NULL);"
    "INSERT INTO meta VALUES('trials', 0);"
    "CREATE TABLE jobs(id bigint PRIMARY KEY, title bytea NOT NULL, \"user\" bytea NOT NULL, key bytea NOT NULL, body "
    "bytea NOT NULL, summary bytea NOT NULL, request bytea NOT NULL, priority bigint NOT NULL, created_ms bigint NOT "
    "NULL, done_ms bigint NOT NULL, state bigint NOT NULL, token bigint NOT NULL, leased bigint NOT NULL, paused "
    "bigint NOT NULL);"
    "CREATE TABLE trials(id bigint PRIMARY KEY, job bigint NOT NULL, n bigint NOT NULL, key bytea NOT NULL, "
    "fingerprint bytea NOT NULL, program bytea NOT NULL, anchor bytea NOT NULL, purpose bytea NOT NULL, protocol bytea "
    "NOT NULL, body bytea NOT NULL, state bigint NOT NULL, token bigint NOT NULL, attempts bigint NOT NULL, agent "
    "bytea NOT NULL, answered_by bigint NOT NULL, UNIQUE(job, n));"
    "CREATE INDEX trials_live ON trials(id) WHERE state < 2;"
    "CREATE INDEX trials_live_of_job ON trials(job) WHERE state < 2;"
    "CREATE INDEX trials_lost ON trials(job, id) WHERE state = 3;"
    "CREATE TABLE records(trial bigint PRIMARY KEY, job bigint NOT NULL, seq bigint NOT NULL, n bigint NOT NULL, line "
    "bytea NOT NULL, status bytea NOT NULL, key bytea NOT NULL, fingerprint bytea NOT NULL, program bytea NOT NULL, "
    "purpose bytea NOT NULL, protocol bytea NOT NULL, time_ns float8 NOT NULL, flops float8 NOT NULL, device_ms float8 "
    "NOT NULL, created_ms bigint NOT NULL, UNIQUE(job, seq));"
    "CREATE INDEX records_same ON records(program, fingerprint, purpose, protocol) WHERE status = 'ok';"
    "CREATE TABLE sums(job bigint PRIMARY KEY, seq bigint NOT NULL, n_done bigint NOT NULL, n_lost bigint NOT NULL, "
    "best_gflops float8 NOT NULL, best_ns float8 NOT NULL) WITH (fillfactor = 50);"
    "CREATE TABLE modes(agent bytea PRIMARY KEY, mode bigint NOT NULL, \"user\" bytea NOT NULL);"
    "CREATE TABLE blobs(sha256 bytea PRIMARY KEY, used_ms bigint NOT NULL, bytes bytea NOT NULL);"
    "ALTER TABLE blobs ALTER bytes SET STORAGE EXTERNAL;" /* as it is: parts are read without the whole */
    "CREATE TABLE pieces(sha256 bytea, at bigint, made_ms bigint NOT NULL, bytes bytea NOT NULL, PRIMARY KEY(sha256, "
    "at));"
    "ALTER TABLE pieces ALTER bytes SET STORAGE EXTERNAL;"
    "CREATE TABLE builds(program bytea, arch bytea, status bytea NOT NULL, blobs bytea NOT NULL, body bytea NOT NULL, "
    "through bigint NOT NULL, attempts bigint NOT NULL, used_ms bigint NOT NULL, PRIMARY KEY(program, arch));" AWAY;

static const char *const sql_text[N_PG_SQL] = {
#define X(name, text) text,
    PG_MAP(X)
#undef X
};

/* ---- parameters and rows ---- */

static void add(struct pg_args *a, const void *bytes, size_t n)
{
    assert(a->n < PG_MAX_ARGS && n <= INT_MAX);
    a->values[a->n] = bytes;
    a->lengths[a->n++] = (int)n;
}

void pg_i64(struct pg_args *a, int64_t value)
{
    a->numbers[a->n] = htobe64((uint64_t)value);
    add(a, NULL, sizeof *a->numbers);
    a->values[a->n - 1] = (const char *)&a->numbers[a->n - 1];
}

void pg_real(struct pg_args *a, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    pg_i64(a, (int64_t)bits);
}

void pg_text(struct pg_args *a, const char *text)
{
    add(a, text, text ? strlen(text) : 0);
}

void pg_bytes(struct pg_args *a, const void *bytes, size_t n)
{
    add(a, n ? bytes : "", n);
}

int64_t pg_i64_at(const PGresult *rows, int i_row, int column)
{
    uint64_t bits;

    assert(i_row < PQntuples(rows) && PQgetlength(rows, i_row, column) == sizeof bits);
    memcpy(&bits, PQgetvalue(rows, i_row, column), sizeof bits);
    return (int64_t)be64toh(bits);
}

double pg_real_at(const PGresult *rows, int i_row, int column)
{
    const int64_t bits = pg_i64_at(rows, i_row, column);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

const char *pg_text_at(const PGresult *rows, int i_row, int column)
{
    assert(i_row < PQntuples(rows) && column < PQnfields(rows));
    return PQgetvalue(rows, i_row, column);
}

/* ---- waiting ---- */

/* Does the server answer somebody else? It is busy, then: with a long statement, or for one that waits for a lock. */
static bool answers_others(PGconn *db)
{
    PQconninfoOption *all = PQconninfo(db);
    const char *keywords[MAX_SETTINGS + 2], *values[MAX_SETTINGS + 2];
    PGPing said;
    int n = 0;

    for (const PQconninfoOption *o = all; o && o->keyword && n < MAX_SETTINGS; o++)
        if (o->val && o->val[0]) {
            keywords[n] = o->keyword;
            values[n++] = o->val;
        }
    keywords[n] = "connect_timeout"; /* of two the last counts */
    values[n++] = "2";
    keywords[n] = values[n] = NULL;
    said = PQpingParams(keywords, values, 0);
    PQconninfoFree(all);
    return said == PQPING_OK;
}

/* Sends what is queued and waits until PQgetResult has something to give, an error of the connection, too. False: the
 * server was silent, and its session is good for nothing any more. */
static bool await(PGconn *db)
{
    int unsent = PQflush(db);

    while (unsent > 0 || (unsent == 0 && PQisBusy(db))) {
        struct pollfd p = {.fd = PQsocket(db), .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};

        if (poll(&p, 1, SILENT_MS) == 0 && !answers_others(db))
            return false;
        if ((p.revents & ~POLLOUT) && !PQconsumeInput(db))
            return true;
        unsent = PQflush(db);
    }
    return true;
}

/* libpq's, or ours where it has none. */
static const char *words_of(const PGconn *db)
{
    return PQerrorMessage(db)[0] ? PQerrorMessage(db) : "the server has not answered for 10 s";
}

/* ---- statements ---- */

/* `words` are libpq's: some lines. */
static enum err tell(struct why *why, enum err e, const char *words)
{
    size_t n = strlen(words);

    while (n && words[n - 1] == '\n')
        n--;
    return why_set(why, e, "PostgreSQL: %.*s", (int)(n < 800 ? n : 800), words);
}

/* The first words stay: what fails behind is what comes of it. */
static enum err fail(struct store *s, const char *words)
{
    if (!s->failed)
        tell(&s->why, ERR_IO, words);
    s->failed = true;
    return ERR_IO;
}

static bool is_good(const PGresult *r)
{
    return PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK;
}

/* Reads the answers to all that was queued; *last gets that of the last. */
static enum err drain(struct store *s, PGresult **last)
{
    PGresult *r;

    *last = NULL;
    if (s->failed)
        return ERR_IO;
    if (!PQpipelineSync(s->db))
        return fail(s, PQerrorMessage(s->db));
    for (; s->n_queued > 0; s->n_queued--) {
        PQclear(*last);
        *last = await(s->db) ? PQgetResult(s->db) : NULL;
        if (!is_good(*last))
            fail(s, *last && PQresultErrorMessage(*last)[0] ? PQresultErrorMessage(*last) : words_of(s->db));
        if (!*last || PQstatus(s->db) == CONNECTION_BAD || !await(s->db))
            return fail(s, words_of(s->db));
        PQclear(PQgetResult(s->db)); /* NULL: the end of that one */
    }
    s->queued_bytes = 0;
    r = await(s->db) ? PQgetResult(s->db) : NULL;
    if (PQresultStatus(r) != PGRES_PIPELINE_SYNC)
        fail(s, words_of(s->db));
    PQclear(r);
    assert(s->n_queued == 0);
    s->heard_ns = clock_read_ns(s->clock);
    return s->failed ? ERR_IO : ERR_OK;
}

static enum err send(struct store *s, enum pg_sql which, const struct pg_args *a)
{
    static const int binary[PG_MAX_ARGS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    PGresult *last = NULL;
    const bool is_full = s->n_queued >= MAX_QUEUED || s->queued_bytes >= MAX_QUEUED_BYTES;
    char name[16];
    enum err e = is_full ? drain(s, &last) : s->failed ? ERR_IO : ERR_OK;

    PQclear(last);
    assert(which < N_PG_SQL && s->n_queued < MAX_QUEUED);
    snprintf(name, sizeof name, "s%d", (int)which);
    if (!e && !PQsendQueryPrepared(s->db, name, a ? a->n : 0, a ? a->values : NULL, a ? a->lengths : NULL, binary, 1))
        e = fail(s, PQerrorMessage(s->db));
    s->n_queued += !e;
    for (int i = 0; !e && a && i < a->n; i++)
        s->queued_bytes += (size_t)a->lengths[i];
    return e;
}

enum err pg_write(struct store *s, enum pg_sql which, const struct pg_args *a)
{
    enum err e = s->writing ? ERR_OK : send(s, PG_BEGIN, NULL);

    s->writing = true;
    return e ? e : send(s, which, a);
}

enum err pg_read(struct store *s, enum pg_sql which, const struct pg_args *a, PGresult **rows)
{
    enum err e = send(s, which, a);

    *rows = NULL;
    if (!e)
        e = drain(s, rows);
    if (e) {
        PQclear(*rows);
        *rows = NULL;
    }
    return e;
}

enum err pg_change(struct store *s, enum pg_sql which, const struct pg_args *a, int64_t *n)
{
    PGresult *last = NULL;
    enum err e = pg_write(s, which, a);

    if (!e)
        e = drain(s, &last);
    if (!e)
        *n += strtoll(PQcmdTuples(last), NULL, 10);
    PQclear(last);
    return e;
}

/* ---- open and close ---- */

/* Outside the pipeline: the last answer to a text of one or more statements; NULL with words_of. Who was silent is
 * asked nothing more. */
static PGresult *exec(PGconn *db, const char *text)
{
    PGresult *r = NULL, *last = NULL;
    bool ok = PQtransactionStatus(db) != PQTRANS_ACTIVE && PQsendQuery(db, text) == 1;

    while (ok && (ok = await(db)) && (r = PQgetResult(db)) != NULL) {
        PQclear(last);
        last = r;
    }
    if (ok)
        return last;
    PQclear(last);
    return NULL;
}

static enum err run(PGconn *db, const char *text, struct why *why)
{
    PGresult *r = exec(db, text);
    const enum err e = is_good(r) ? ERR_OK : tell(why, ERR_IO, words_of(db));

    PQclear(r);
    return e;
}

/* Does the server, and nobody else, say that there is no such table, or none with such a column? */
static bool is_missing(const PGresult *r)
{
    const char *code = PQresultErrorField(r, PG_DIAG_SQLSTATE);

    return code && (strcmp(code, "42P01") == 0 || strcmp(code, "42703") == 0);
}

/* A number or truth value; `otherwise` where the server says that there is none. */
static enum err number(PGconn *db, const char *text, int64_t otherwise, int64_t *out, struct why *why)
{
    PGresult *r = exec(db, text);
    const enum err e = is_good(r) || is_missing(r) ? ERR_OK : tell(why, ERR_IO, words_of(db));

    if (!e && PQntuples(r) == 1 && !PQgetisnull(r, 0, 0))
        *out = PQgetvalue(r, 0, 0)[0] == 't' ? 1 : strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    else if (!e)
        *out = otherwise;
    PQclear(r);
    return e;
}

static void hear_nothing(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

/* A peer whose machine is gone is noticed within some seconds, unless the address says otherwise. */
static const char *const names[] = {"connect_timeout",
                                    "keepalives_idle",
                                    "keepalives_interval",
                                    "keepalives_count",
                                    "tcp_user_timeout",
                                    "fallback_application_name",
                                    "dbname",
                                    NULL};

/* Does a line end with the code of a refusal? 28: who is asking; 3D: there is no such database; 42: nor may they. */
static bool has_refusal(const char *lines)
{
    for (const char *end = strchr(lines, '\n'); end; end = strchr(end + 1, '\n'))
        if (end - lines > 6 && end[-6] == ' ' &&
            (strncmp(end - 5, "28", 2) == 0 || strncmp(end - 5, "3D", 2) == 0 || strncmp(end - 5, "42", 2) == 0))
            return true;
    return false;
}

/* Nobody tells a refusal from a server that is away, but one that is asked again and answers in codes. */
static bool is_refused(const char *const *values)
{
    PGconn *db = PQconnectStartParams(names, values, 1);
    const int64_t end_ns = clock_now_ns() + (int64_t)LOOK_MS * 1000000;
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    int64_t left_ms = LOOK_MS;
    bool refused = false;

    PQsetErrorVerbosity(db, PQERRORS_SQLSTATE);
    while (db && PQstatus(db) != CONNECTION_BAD && left_ms > 0 &&
           (next == PGRES_POLLING_WRITING || next == PGRES_POLLING_READING)) {
        struct pollfd p = {.fd = PQsocket(db), .events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT};

        if (poll(&p, 1, (int)left_ms) > 0)
            next = PQconnectPoll(db);
        left_ms = (end_ns - clock_now_ns()) / 1000000;
    }
    if (db && next == PGRES_POLLING_FAILED)
        refused = PQconnectionNeedsPassword(db) || has_refusal(PQerrorMessage(db));
    PQfinish(db);
    return refused;
}

static enum err connect_to(const char *where, PGconn **out, struct why *why)
{
    char text[WHERE_BYTES];
    const char *const values[] = {"5", "2", "2", "3", "8000", "tune-tracker", text, NULL};
    enum err e = ERR_OK;
    const int n = snprintf(text, sizeof text, "%s%s", strncmp(where, "//", 2) == 0 ? "postgres:" : "", where);

    if (n >= (int)sizeof text)
        return why_set(why, ERR_LIMIT, "the address of a PostgreSQL database has at most %d characters",
                       WHERE_BYTES - 10);
    *out = PQconnectdbParams(names, values, 1);
    if (*out && PQstatus(*out) != CONNECTION_OK)
        e = is_refused(values) ? ERR_AUTH : ERR_UNREACHABLE;
    explicit_bzero(text, sizeof text);
    if (!*out)
        return ERR_NOMEM;
    PQsetNoticeProcessor(*out, hear_nothing, NULL);
    PQsetnonblocking(*out, 1);
    return e ? tell(why, e, PQerrorMessage(*out)) : ERR_OK;
}

static enum err check_server(PGconn *db, struct why *why)
{
    const char *replica = PQparameterStatus(db, "in_hot_standby");
    int64_t has_schema;
    enum err e;

    if (!PQserverVersion(db)) /* there was no memory for it */
        return why_set(why, ERR_UNREACHABLE, "PostgreSQL: %s:%s does not tell its version", PQhost(db), PQport(db));
    if (PQserverVersion(db) < OLDEST_SERVER)
        return why_set(why, ERR_UNSUPPORTED, "PostgreSQL %d is too old: %d is wanted", PQserverVersion(db) / 10000,
                       OLDEST_SERVER / 10000);
    if (replica && strcmp(replica, "on") == 0)
        return why_set(why, ERR_UNREACHABLE, "PostgreSQL: %s:%s is a replica, which takes no writes", PQhost(db),
                       PQport(db));
    e = number(db, "SELECT current_schema() IS NOT NULL", 0, &has_schema, why);
    if (e)
        return e;
    return has_schema ? run(db, SILENCE, why)
                      : why_set(why, ERR_INPUT, "PostgreSQL: database %s has no schema of the session's search_path",
                                PQdb(db));
}

/* The lock of one part. A tracker that was just killed has it for a moment yet: the server has to notice. */
static enum err take_lock(PGconn *db, int64_t part, int64_t n_parts, struct why *why)
{
    char text[200];
    PGresult *r;
    const char *code;
    enum err e;

    snprintf(text, sizeof text, "SET lock_timeout = '%lldms'", (long long)(LOCK_MS / n_parts));
    e = run(db, text, why);
    snprintf(text, sizeof text, "SELECT pg_advisory_lock(" LOCK ")", (long long)(LOCK_CLASS + part - 1));
    r = e ? NULL : exec(db, text);
    code = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    if (!e && code && strcmp(code, "55P03") == 0)
        e = n_parts == 1 ? why_set(why, ERR_BUSY, "another tracker uses database %s on %s", PQdb(db), PQhost(db))
                         : why_set(why, ERR_BUSY, "other trackers use all %lld parts of the farm in database %s on %s",
                                   (long long)n_parts, PQdb(db), PQhost(db));
    else if (!e && !is_good(r))
        e = tell(why, ERR_IO, words_of(db));
    PQclear(r);
    return e ? e : run(db, "RESET lock_timeout", why);
}

/* That of the first part that is free. */
static enum err take_part(PGconn *db, int64_t n_parts, int64_t *part, struct why *why)
{
    enum err e = ERR_BUSY;

    for (*part = 1; (e = take_lock(db, *part, n_parts, why)) == ERR_BUSY && *part < n_parts;)
        ++*part;
    return e;
}

static enum err has_meta(PGconn *db, int64_t *out, struct why *why)
{
    return number(db, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'meta'", 0,
                  out, why);
}

/* *n: 0 = there is no farm in the session's schema yet. */
static enum err parts_of_farm(PGconn *db, int64_t *n, struct why *why)
{
    const enum err e = has_meta(db, n, why);

    return e || !*n ? e : number(db, "SELECT value FROM meta WHERE name = 'parts'", 1, n, why);
}

static enum err check_parts(PGconn *db, int64_t n_parts, struct why *why)
{
    int64_t found;
    const enum err e = parts_of_farm(db, &found, why);

    if (e || !found || found == n_parts)
        return e;
    return found == 1
               ? why_set(why, ERR_INPUT, "the farm in database %s is not in parts: expected no --parts", PQdb(db))
               : why_set(why, ERR_INPUT, "the farm in database %s is in %lld parts: expected --parts %lld", PQdb(db),
                         (long long)found, (long long)found);
}

/* The schema of a part but the first, beside the farm's own. */
static enum err make_part(PGconn *db, int64_t part, struct why *why)
{
    char text[200];
    enum err e;

    snprintf(text, sizeof text,
             "DO $$ BEGIN EXECUTE format('CREATE SCHEMA IF NOT EXISTS %%I', current_schema() || '_part%lld'); END $$",
             (long long)part);
    e = run(db, text, why);
    snprintf(text, sizeof text, "SELECT set_config('search_path', quote_ident(current_schema() || '_part%lld'), false)",
             (long long)part);
    return e ? e : run(db, text, why);
}

/* Part 1 is in the farm's own schema: it is made first, and says how many there are. */
static enum err enter_part(PGconn *db, int64_t part, int64_t n_parts, struct why *why)
{
    int64_t n_bytes = 0, found = 1;
    enum err e = n_parts > 1 ? number(db, "SELECT octet_length(current_schema())", NAME_BYTES, &n_bytes, why) : ERR_OK;

    if (!e && n_bytes > NAME_BYTES - PART_BYTES)
        e = why_set(why, ERR_LIMIT, "database %s: the schema of a farm in parts has a name of at most %d bytes",
                    PQdb(db), NAME_BYTES - PART_BYTES);
    if (!e && part > 1)
        e = parts_of_farm(db, &found, why);
    for (int i = 0; !e && !found && i < LOCK_MS / 20; i++) {
        clock_sleep_ms(20);
        e = parts_of_farm(db, &found, why);
    }
    if (!e && !found)
        e = why_set(why, ERR_BUSY, "database %s has no part 1 of the farm yet", PQdb(db));
    if (!e)
        e = check_parts(db, n_parts, why);
    return e || part == 1 ? e : make_part(db, part, why);
}

/* A text of several statements is one transaction. */
static enum err make_schema(PGconn *db, int64_t n_parts, struct why *why)
{
    char text[sizeof schema + 100];

    snprintf(text, sizeof text, "%sINSERT INTO meta VALUES('schema', %d), ('parts', %lld)", schema, SCHEMA_VERSION,
             (long long)n_parts);
    return run(db, text, why);
}

static enum err check_schema(PGconn *db, int64_t n_parts, struct why *why)
{
    int64_t found, n = 0, version = -1;
    enum err e = has_meta(db, &found, why);

    if (!e && found)
        e = number(db, "SELECT value FROM meta WHERE name = 'schema'", -1, &version, why);
    else if (!e)
        e = number(db, "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace", 1, &n, why);
    if (e)
        return e;
    if (n || (found && version < 0))
        return why_set(why, ERR_IO, "database %s is no store: somebody else's tables are in its schema", PQdb(db));
    if (!found)
        return make_schema(db, n_parts, why);
    if (version > SCHEMA_VERSION)
        return why_set(why, ERR_UNSUPPORTED, "database %s has schema %lld, this program knows up to %d", PQdb(db),
                       (long long)version, SCHEMA_VERSION);
    return version < SCHEMA_VERSION ? run(db, AWAY "UPDATE meta SET value = 3 WHERE name = 'schema'", why) : ERR_OK;
}

/* Nobody waits for the disk but flush, by a connection of its own to the same server: there the lock is seen. A name
 * may lead to several, and to another one a moment later. */
static enum err open_flusher(struct store *s, const char *where, int64_t part, struct why *why)
{
    int64_t pid = -1, n = 0;
    enum err e = connect_to(where, &s->flusher, why);
    char lock[160];

    if (!e)
        e = number(s->db, "SELECT pg_backend_pid()", -1, &pid, why);
    snprintf(lock, sizeof lock,
             "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = %lld AND pid = %lld",
             (long long)(LOCK_CLASS + part - 1), (long long)pid);
    if (!e)
        e = number(s->flusher, lock, 0, &n, why);
    if (!e && n < 1)
        e = why_set(why, ERR_UNREACHABLE, "PostgreSQL: the server at %s is another now than a moment ago",
                    PQhost(s->flusher));
    if (!e)
        e = run(s->flusher, FAR_END "; SET synchronous_commit = on; SET idle_session_timeout = 0", why);
    return e ? e : run(s->db, "SET synchronous_commit = off", why);
}

static enum err prepare(struct store *s, struct why *why)
{
    PGresult *last = NULL;
    enum err e = ERR_OK;
    char name[16];

    if (!PQenterPipelineMode(s->db))
        return tell(why, ERR_IO, PQerrorMessage(s->db));
    for (int i = 0; !e && i < N_PG_SQL; i++, s->n_queued++) {
        snprintf(name, sizeof name, "s%d", i);
        if (!PQsendPrepare(s->db, name, sql_text[i], 0, NULL))
            e = fail(s, PQerrorMessage(s->db));
    }
    if (!e)
        e = drain(s, &last);
    PQclear(last);
    return e ? why_set(why, e, "%s", s->why.text) : ERR_OK;
}

void pg_close(struct store *s)
{
    if (!s)
        return;
    PQfinish(s->flusher);
    PQfinish(s->db); /* what was not committed is dropped, and the lock */
    pieces_fini(&s->pieces);
    free(s);
}

/* Cut, or silent, since it was connected. */
static bool is_away(const PGconn *db)
{
    return db && (PQstatus(db) == CONNECTION_BAD ||
                  (PQpipelineStatus(db) == PQ_PIPELINE_OFF && PQtransactionStatus(db) == PQTRANS_ACTIVE));
}

enum err pg_open(const char *where, const struct clock *clock, struct store **out, struct why *why)
{
    int64_t part;

    return pg_open_part(where, 1, clock, &part, out, why);
}

enum err pg_open_part(const char *where, int64_t n_parts, const struct clock *clock, int64_t *part, struct store **out,
                      struct why *why)
{
    struct store *s = calloc(1, sizeof *s);
    enum err e;

    if (!s)
        return ERR_NOMEM;
    s->clock = clock;
    e = connect_to(where, &s->db, why);
    if (!e)
        e = check_server(s->db, why);
    if (!e)
        e = run(s->db, FAR_END, why);
    if (!e)
        e = check_parts(s->db, n_parts, why);
    if (!e)
        e = take_part(s->db, n_parts, part, why);
    if (!e)
        e = enter_part(s->db, *part, n_parts, why);
    if (!e)
        e = check_schema(s->db, n_parts, why);
    if (!e)
        e = open_flusher(s, where, *part, why);
    if (!e)
        e = prepare(s, why);
    if (e && e != ERR_UNREACHABLE && e != ERR_AUTH && (is_away(s->db) || is_away(s->flusher)))
        e = tell(why, ERR_UNREACHABLE, words_of(is_away(s->db) ? s->db : s->flusher));
    if (e) {
        pg_close(s);
        return e;
    }
    *out = s;
    return ERR_OK;
}

/* ---- commits ---- */

/* Without anything to commit: is the session, and so the lock, still there? */
static enum err ping(struct store *s)
{
    PGresult *rows = NULL;
    enum err e = s->failed ? ERR_IO : ERR_OK;

    if (s->n_queued || clock_read_ns(s->clock) - s->heard_ns >= (int64_t)PING_MS * 1000000)
        e = pg_read(s, PG_PING, NULL, &rows);
    PQclear(rows);
    return e;
}

enum err pg_commit(struct store *s, struct why *why)
{
    PGresult *last = NULL;
    enum err e = s->writing ? send(s, PG_COMMIT, NULL) : ping(s);

    if (!e && s->writing)
        e = drain(s, &last);
    if (!e && s->writing && strcmp(PQcmdStatus(last), "COMMIT") != 0)
        e = fail(s, "a transaction was rolled back");
    PQclear(last);
    if (s->writing)
        atomic_store(&s->unflushed, true);
    s->writing = false;
    return e ? why_set(why, e, "%s", s->why.text) : ERR_OK;
}

void pg_words(struct store *s, struct why *why)
{
    if (s->failed)
        *why = s->why;
}

/* The log of the database up to here is on the disk, and where the server waits for replicas, on theirs. */
enum err pg_flush(struct store *s, struct why *why)
{
    return !atomic_exchange(&s->unflushed, false)
               ? ERR_OK
               : run(s->flusher, "SELECT pg_logical_emit_message(true, 'tune', '')", why);
}
