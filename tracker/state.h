/* SPDX-License-Identifier: MIT */
/* state.h - all that one tracker knows while it runs. One thread (server.c's core loop) owns it; the store is its
 * memory beyond a crash. */
#ifndef TUNE_TRACKER_STATE_H
#define TUNE_TRACKER_STATE_H

#include "core/blobs.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/entropy.h"
#include "core/err.h"
#include "core/json.h"
#include "tracker/calls.h"
#include "tracker/vitals.h"
#include "tracker/meters.h"
#include "tracker/protocol.h"
#include "tracker/store.h"
#include "tracker/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vault;

#define MAX_ATTEMPTS 5
#define MAX_SESSIONS 16384
#define MAX_AGENTS 16384
#define MAX_OPEN_TRIALS 4096 /* of one job: a tuner that runs ahead of its devices is told `busy` */
#define MAX_WAIT_MS 55000
#define ANSWERED_MAX 4096
#define ANSWERED_BYTES ((size_t)16 << 20)
#define ANSWERED_MS 600000

#define MAX_WANTS 4 /* architectures and fingerprints that the devices of one key may have at once */
#define ARCH_BYTES (CALL_ARCH_BYTES + 1)

#define N_TRIAL_STATUSES 8
extern const char *const trial_statuses[N_TRIAL_STATUSES]; /* of records */

struct agent;
struct lane;
struct caller;
struct backup;

/* Long polls for one thing, the one that waits longest first; kept by hall.c. */
struct waiters {
    struct caller *first, *last;
    const int64_t *left; /* nothing is left for the next one when this is 0; NULL: each one is tried */
    bool woken;          /* in tracker.woken */
    struct waiters *next_woken;
};

/* A user's open jobs. */
struct owner {
    int64_t n_jobs, n_open, n_driven; /* n_driven: those that a tuner has */
};

struct tracker_job {
    int64_t id;
    struct owner *owner;
    struct tracker_job *prev_open, *next_open; /* in tracker.open_jobs while it is open */
    char *title, *user, *key, *request;
    int64_t priority, created_ms, done_ms, seq, token;
    enum job_state state;
    bool leased, paused;
    bool changed; /* in tracker.changed: its sums are stored with the next commit */
    struct tracker_job *next_changed;
    int64_t deadline_ns;
    int64_t n_open, n_leased, n_done, n_lost;
    double best_gflops, best_ns;
    uint64_t told;          /* what events.c told of it last, as a hash; 0 = nothing yet */
    struct waiters waiters; /* for its records */
    char *progress;         /* JSON of the last renewal, or NULL */
};

/* An open or leased trial; its body and the rest of its row are in the store. */
struct tracker_trial {
    int64_t id, n, token, attempts;
    struct tracker_job *job;
    struct lane *lane;
    char fingerprint[SHA256_HEX + 1]; /* "" = any */
    struct sha256 program, anchor;    /* anchor "" = none */
    bool leased;
    struct agent *agent;                  /* of the lease; NULL for a lease of before a restart */
    int64_t holder, before[MAX_ATTEMPTS]; /* who leased it last (serial), and that agent's tokens before this one */
    int64_t deadline_ns;
    int64_t since_ns;                  /* it is open, or leased, since then */
    double charged_ms;                 /* what the lane was charged at the grant */
    struct tracker_trial *prev, *next; /* in the lane's open list or the tracker's leased list */
};

struct trial_list {
    struct tracker_trial *first, *last;
};

/* What one user's jobs have of the devices of a key: users share them equally, whatever they submit. */
struct share {
    char user[CALL_USER_BYTES + 1];
    double used_ms;    /* device time so far */
    double guessed_ms; /* of it for leases under way, of which there are n_guesses */
    double floor_ms;   /* what its lane served last had used for certain: the user's new jobs start there */
    int64_t n_open;    /* trials in its lanes */
    int64_t n_guesses;
    struct share *next;
};

/* The open trials of one job for one key. Lanes of a user share that user's part by time used. */
struct lane {
    struct tracker_job *job;
    struct slug *slug;
    struct share *share;
    char key[65];
    struct trial_list open;
    double used_ms, guessed_ms; /* weighted device time so far; of it for leases under way */
    int64_t n_guesses;          /* those leases */
    double mean_ms;             /* guess for the next trial */
    struct lane *next;          /* of the same key */
};

/* An architecture that devices want code for: "sm_61". */
struct arch {
    char name[ARCH_BYTES];
    int64_t seen_ns;  /* one of its builders was heard of then; 0 = none is there */
    bool had_builder; /* at the last tick */
};

/* What the devices of a key want built. */
struct want {
    struct arch *arch;
    char fingerprint[SHA256_HEX + 1];
};

/* A farm slug: its lanes. */
struct slug {
    char key[65];
    struct lane *lanes;
    struct share *shares;
    int64_t n_open;         /* trials in its lanes */
    struct waiters waiters; /* for its trials */
    double floor_ms;        /* what the share served last had used for certain: newcomers start there, owe nothing */
    struct want wants[MAX_WANTS];
    int n_wants, i_want;                 /* i_want: the next to be replaced when there are more */
    struct meter waits, runs;            /* of its trials: until they are leased, until they are answered then */
    int64_t n_records[N_TRIAL_STATUSES]; /* since the start; by trial_statuses */
    int64_t n_agents, n_leased;          /* counted by page_metrics */
};

/* Code of one program for one architecture; what the store has of it is known here while somebody asks for it. */
struct build {
    struct sha256 program;
    struct arch *arch;
    bool answered, good; /* the store has an answer; it is code */
    int64_t through;     /* the last trial that a failure answers */
    int64_t attempts;    /* leases that ran out; MAX_ATTEMPTS = given up */
    struct agent *agent; /* who has it leased, or NULL */
    int64_t deadline_ns, used_ns;
};

struct agent {
    int64_t serial;                 /* grows from agent to agent */
    struct agent *previous, *later; /* by serial */
    char id[65], key[65], fingerprint[SHA256_HEX + 1], nonce[65], version[65];
    char *device, *current; /* JSON, or NULL */
    char state[33];
    int64_t seen_ns, seen_ms, done, failed, n_leased;
    double temperature, load; /* NAN = not told */
    double canary_ns;         /* likewise */
    struct vitals history;
    uint32_t line;  /* the connection that it was heard of by last */
    int64_t cut_ns; /* that one closed then, and nothing was heard since; 0 = it did not */
    uint64_t told;  /* what events.c told of it last, as a hash; 0 = nothing yet */
    bool gone, drain;
    /* A device: what it wants built (NULL = nothing) and whether it can build that itself. */
    struct arch *arch;
    bool builds_itself;
    int64_t capacity; /* trials that keep it busy; 0 = not told */
    /* A builder has no key and no device. */
    bool is_builder;
    struct arch *arches[CALL_MAX_ARCHES];
    int n_arches;
    char compiler[33];
    char *cage; /* words; or NULL */
};

struct tracker_session {
    char id[REQUEST_ID_HEX + 1], nonce[2 * REQUEST_ID_HEX + 1];
    char hello[REQUEST_ID_HEX + 1]; /* its client's nonce */
    struct key key;                 /* of whom it belongs to */
    int64_t ctr;
    uint64_t window;                     /* bit i: ctr - i was seen */
    struct tracker_session *prev, *next; /* by last use */
};

#define ANSWERED_KEY_BYTES (REQUEST_ID_HEX + KEY_IDENTITY_BYTES + 16)

/* A request that was executed, with its reply, for those who ask again. */
struct answered {
    char whose[ANSWERED_KEY_BYTES]; /* request, call and who asked: nobody gets another's answer by its number */
    char *reply;
    size_t n_reply;
    int64_t at_ns;
    struct answered *next;
};

/* Lines to the log about refused calls, this second. */
struct audit {
    int64_t since_ns, n;
};

struct tracker_options {
    const struct store_ops *ops;
    struct store *store;
    const char *where;                /* the store's place, for backups */
    const struct key *key;            /* NULL = no authentication */
    const char *revoked;              /* identities whose keys are worth nothing, one a line; NULL = none */
    int64_t lease_ms, retention_days; /* retention 0 = keep all */
    int64_t max_user_jobs;            /* open at once; 0 = any number */
    int64_t part, n_parts;            /* of the farm, which one this is of how many; 0, 0 = it is not in parts */
    bool allow_backup;
    struct vault *vault;                        /* large blobs may lie there (vault.h); NULL = all are in the store */
    void (*audit)(const char *line, void *arg); /* told of refused calls and failed transfers; NULL = nobody is */
    void *audit_arg;
    const struct clock *clock;     /* NULL = the machine's */
    const struct entropy *entropy; /* of session ids and nonces; NULL = the machine's */
};

/* What an operator said of an agent, which need not be there. */
struct agent_mode {
    enum mode mode;
    char user[CALL_USER_BYTES + 1]; /* whom it is reserved for */
};

struct stats {
    int64_t requests, refused, grants, results, duplicates, expired, lost, answered_from_store, commits;
    int64_t builds, builds_failed;                   /* answers of builders */
    int64_t blobs_sent, blobs_fetched, blobs_failed; /* to and from the S3 store, and transfers that failed */
};

struct tracker {
    struct tracker_options o;
    char boot[REQUEST_ID_HEX + 1];
    bool is_starved; /* there was no memory for what the store has: it may not go on */
    int64_t started_ms, next_job, next_trial, retained_ns, agents_ns;       /* the last two: when they were looked at */
    struct table jobs, trials, agents, slugs, sessions, answered, requests; /* requests: id that made a job -> job */
    struct table arches, builds;                                            /* by "sm_61", and "sm_61 <program>" */
    struct table modes;  /* of agents that an operator said something about */
    struct table owners; /* by user */
    struct tracker_job *open_jobs, *changed;
    struct agent *first_agent, *last_agent;
    uint32_t line;         /* the connection of the request under execution; 0 = none */
    int64_t n_serials;     /* given to agents */
    int64_t n_revocations; /* how often the list of revoked keys was another */
    struct trial_list leased;
    struct tracker_session *oldest_session, *newest_session;
    struct answered *oldest_answered, *newest_answered;
    size_t answered_bytes;
    struct backup *backup; /* under way, or not told of yet; or NULL */
    struct waiters job_waiters, build_waiters, backup_waiters,
        *woken; /* woken: since the parked calls were tried last */
    struct stats stats;
    struct audit audit;
    struct table hellos;         /* sessions by their client's nonce, where there is a key */
    struct meter calls[N_CALLS]; /* from a request's arrival to its reply, of those that were not parked */
    struct meter flushes;        /* of the store */
};

enum { WAKE_NEVER = 0, WAKE_TRIALS = 1, WAKE_RECORDS = 2, WAKE_JOBS = 4, WAKE_BUILDS = 8, WAKE_BACKUP = 16 };

/* One request under execution. */
struct call {
    struct tracker *t;
    const char *id;
    enum call_name name;
    const char *identity;                 /* proved by the key: "" = the farm's own, or no key is in use */
    struct key key;                       /* out: of session_check */
    const struct tracker_session *proved; /* whose MAC the bytes have, where that was looked at before; or NULL */
    union call_args args;                 /* lends from the message */
    const struct message *message;        /* its blobs */
    bool last;                            /* a long poll at its end: answer with what there is */
    bool again;                           /* it was parked */
    struct waiters *park;                 /* out: nothing yet, try again when these are woken */
    bool hello;                           /* out: the client must say hello again */
    union call_result result; /* out: all 0 at first; its trees are the call's, its texts live as long as it */
    bool ok;                  /* out: false on lack of memory */
    cJSON *kept;              /* texts of the result, see call_keep */
    struct blobs out;         /* attached to the reply */
    const char *nonce;        /* out: of the MAC of the reply; NULL = unsigned */
    char nonce_bytes[2 * REQUEST_ID_HEX + 1];
    struct why why;
};

typedef enum err op_fn(struct call *c);

struct op {
    op_fn *run;
    bool writes;   /* repeats are answered from the table of answered requests */
    unsigned wake; /* a long poll woken by these bits; 0 = never parked */
};

extern const struct op op_table[N_CALLS];
#define CALL(upper, name, args, result, effect, wake) op_fn op_##name;
#include "tracker/calls_list.h"

/* ---- execute.c ---- */

/* An empty one of no name, for what makes entries as calls do; and its end. */
void call_begin(struct call *c, struct tracker *t);
void call_end(struct call *c);

/* Reads the arguments, again for a parked request. ERR_INPUT, ERR_LIMIT. */
enum err call_read_args(struct call *c);
/* Copies of texts that live as long as the call; of an id: "j12". */
const char *call_keep(struct call *c, const char *text);
const char *call_keep_id(struct call *c, char kind, int64_t id);
/* Words for a person, when trials of the job (NULL = of any) cannot go on; else *out stays. */
enum err call_keep_waits(struct call *c, const struct tracker_job *j, const char **out);

/* Of lists and lines in one reply: the rest is for the next call. */
#define REPLY_BYTES ((size_t)1 << 20)
/* Bytes of a text in JSON. */
size_t json_size(const char *text);

/* ---- tracker.c ---- */

/* There is something for them: they are tried again with the end of this turn. */
void wake(struct tracker *t, struct waiters *w);
/* Those who wait for trials of any key. */
void wake_devices(struct tracker *t);

/* Loads the store; every lease found there has one full period of grace. Keeps what the options point at. */
enum err tracker_new(const struct tracker_options *options, struct tracker **out, struct why *why);
void tracker_free(struct tracker *t);
int64_t tracker_now_ns(const struct tracker *t);
int64_t tracker_wall_ms(const struct tracker *t);

/* Is this part the one of that device key? ERR_INPUT, with words. */
enum err tracker_check_key(struct call *c, const char *key);

/* Copies text, cut to n_out - 1 bytes. */
void text_copy(char *out, size_t n_out, const char *text);

/* For so long nobody could be heard: what peers have to do by then, they have that much longer for. */
void tracker_was_paused(struct tracker *t, int64_t pause_ns);

/* Ends leases whose time is over, forgets old sessions' answers, applies the retention; to be called every 100 ms or
 * so. ERR_IO when the store failed. */
enum err tracker_tick(struct tracker *t);

/* Stores what changed in jobs' sums and makes all durable. */
enum err tracker_commit(struct tracker *t, struct why *why);

/* ---- sessions.c ---- */
/* Session and MAC of a request; sets the nonce of the reply. ERR_STALE with c->hello for an unknown session, ERR_AUTH.
 */
enum err session_check(struct call *c, const void *bytes, size_t n);
/* Was the key of that identity taken back? ERR_AUTH. */
enum err session_check_key(struct call *c, const char *identity);
/* Another list of identities whose keys are worth nothing (kept, NULL = none): their sessions end. How many did. */
int sessions_revoke(struct tracker *t, const char *list);
/* Of a request that is not decoded yet, where a key is in use: has it the MAC of the session that it names, *out then?
 * Errors as above; *hello: it has to say hello. */
enum err session_ahead(struct tracker *t, const void *bytes, size_t n, const struct tracker_session **out, bool *hello,
                       struct why *why);
void sessions_fini(struct tracker *t);
/* The reply given to request `id` before, or NULL. */
const struct answered *answered_find(const struct tracker *t, const char *id, enum call_name call,
                                     const char *identity);
void answered_add(struct tracker *t, const char *id, enum call_name call, const char *identity, const char *reply,
                  size_t n);
void answered_expire(struct tracker *t);

/* ---- jobs.c ---- */
void job_free(struct tracker_job *j);
/* For lists. Its trees and texts are as those of a result. */
struct job_entry job_entry_of(struct call *c, const struct tracker_job *j);
/* Takes an ended job out of all tables, with its owner where it was the last job, and frees it. */
void job_forget(struct tracker *t, struct tracker_job *j);
/* For people: open, running, paused, done, failed, cancelled. */
const char *job_state(const struct tracker_job *j);
void job_load(const struct job_row *row, void *tracker);
/* The next token of a trial or job: more than all before, and nobody's guess. What entropy_fill gives. */
enum err next_token(struct tracker *t, int64_t *token);

/* The job of that name; with the token of its lease. ERR_NOT_FOUND; ERR_STALE: another tuner has it. */
enum err job_of(struct call *c, const char *name, struct tracker_job **out);
enum err leased_job_of(struct call *c, const char *name, int64_t token, struct tracker_job **out);
/* Its sums change with this turn. */
void job_changes(struct tracker *t, struct tracker_job *j);
/* Appends a record to its job and counts it; the caller changes the trial. */
enum err job_record(struct tracker *t, struct tracker_job *j, struct record_row *row);
void jobs_tick(struct tracker *t);

/* ---- trials.c ---- */
void trial_load(const struct trial_row *row, void *tracker);
/* Sends back to the queue all that an agent holds; attempts are counted when `counted`. */
enum err trials_of_agent_back(struct tracker *t, const struct agent *a, bool counted);
/* Ends an open or leased trial as lost, with these words in its record. */
enum err trial_make_lost(struct tracker *t, struct tracker_trial *tr, const char *why);
/* Forgets the open and leased trials of a job (the store has them cancelled). */
void trials_forget(struct tracker *t, const struct tracker_job *j);
enum err trials_tick(struct tracker *t);
void trials_fini(struct tracker *t);

/* ---- lanes.c ---- */
/* Puts an open trial into its lane (at the front when it comes back), making what is missing. ERR_NOMEM. */
enum err lane_add(struct tracker *t, struct tracker_trial *tr, const char *key, bool front);
/* The next open trial of this slug that fits the fingerprint of agent `a` and that it may have now (build_ready), taken
 * out of its lane and charged; NULL when there is none, or when a build could not be looked up (*e). From the lane
 * `stay` when it is not NULL (one lease is one batch of one job), else by fair share. */
struct tracker_trial *lane_take(struct tracker *t, const struct agent *a, struct slug *s, struct lane *stay,
                                enum err *e);
/* The slug of a key, made when it is not there; NULL on lack of memory. */
struct slug *slug_of(struct tracker *t, const char *key);
/* A step of priority doubles a job's part of its user's share. */
double job_weight(const struct tracker_job *j);
/* Corrects the charge of a trial by what it cost; cost < 0 gives the charge back. */
void lane_settle(struct tracker_trial *tr, double cost_ms);
void lane_drop(struct tracker_trial *tr);
void lanes_forget(struct tracker *t, const struct tracker_job *j);
void lanes_fini(struct tracker *t);
void list_append(struct trial_list *l, struct tracker_trial *tr);
void list_prepend(struct trial_list *l, struct tracker_trial *tr);
void list_remove(struct trial_list *l, struct tracker_trial *tr);

/* ---- agents.c ---- */
/* The living agent of that name. ERR_NOT_FOUND: it has to register; ERR_EXISTS: the nonce (NULL = any) is of another
 * process. */
enum err agent_of(struct call *c, const char *id, const char *nonce, struct agent **out);
/* How warm (NAN: not known) and how loaded it is, by its own word: shown, and a point of its history. */
void agent_feels(struct tracker *t, struct agent *a, double temperature, double load);
void agent_free(struct agent *a);
/* For lists; `device`: with what it told of its device. Gives; NULL on lack of memory. */
cJSON *agent_entry_of(struct call *c, const struct agent *a, bool device);
/* These connections closed. */
void agents_cut(struct tracker *t, const uint32_t *lines, int n);
const char *agent_state(const struct tracker *t, const struct agent *a);
void agents_tick(struct tracker *t);

void agent_mode_load(const char *agent, enum mode mode, const char *user, void *tracker);
/* May trials of the user's jobs go to that agent? */
bool agent_serves(const struct tracker *t, const struct agent *a, const char *user);
/* "no device of key X is there" and so on about an open job, of its own key or one that it has open trials for; "" when
 * all are served. */
void agents_waits(const struct tracker *t, const struct tracker_job *j, char *out, size_t n_out);

/* Does another agent of this key that can build for itself live? */
bool agents_build(const struct tracker *t, const char *key, const struct arch *arch);

/* ---- builds.c: code that is made elsewhere than it is run ---- */
/* The architecture of that name, made when it is not there; NULL on lack of memory. */
struct arch *arch_of(struct tracker *t, const char *name);
/* Has a builder been heard of within a lease's time? */
bool arch_has_builder(const struct tracker *t, const struct arch *arch);
/* Of its builders one left: looks who is still there. */
void arch_recount(struct tracker *t, struct arch *arch);
/* Notes that a device of the slug wants code for `a->arch`. */
void slug_want(struct slug *s, const struct agent *a);
/* Does the want concern the trial? */
bool want_fits(const struct want *w, const struct tracker_trial *tr);
/* The build of a program, from memory, from the store, or fresh. ERR_NOMEM, ERR_IO. */
enum err build_of(struct tracker *t, const char *program, struct arch *arch, struct build **out);
/* Has it an answer that holds for the trial? */
bool build_answers(const struct build *b, const struct tracker_trial *tr);
/* May agent `a` run the trial now: is built what has to be, or is nobody there to build it but `a` itself? */
enum err build_ready(struct tracker *t, const struct agent *a, const struct tracker_trial *tr, bool *out);
/* The answers there are for a trial, *out NULL when none; *n_bytes grows by their size. Gives. */
enum err build_answers_of(struct tracker *t, const struct agent *a, const struct tracker_trial *tr, cJSON **out,
                          size_t *n_bytes);
/* Stores what is known of it; the texts as in struct build_row, "" without an answer. */
enum err build_save(struct tracker *t, const struct build *b, const char *status, const char *blobs, const char *body);
/* Ends the lease; an attempt that counts may be the last one: the trials that nobody else can serve are lost then. */
enum err build_back(struct tracker *t, struct build *b, bool counted);
enum err builds_of_agent_back(struct tracker *t, const struct agent *a, bool counted);
/* A lost trial comes back: what was given up for it is tried again. */
enum err builds_forgive(struct tracker *t, const struct tracker_trial *tr);
enum err builds_tick(struct tracker *t);
void builds_fini(struct tracker *t);
/* "5 trials wait for a builder of sm_61 (..)" about one job's open trials or all (NULL); "" when none does. */
enum err builds_waits(struct tracker *t, const struct tracker_job *j, char *out, size_t n_out);

/* ---- admin.c ---- */
void backup_tick(struct tracker *t);
/* Waits for the end of one that is under way. */
void backup_fini(struct tracker *t);

/* ---- lost.c ---- */
/* Appends the log line of a record of status lost (docs/log-format.md). */
enum err lost_line(const struct trial_row *row, const char *key, const char *why, int64_t ts_ms, struct buf *out);

/* ---- metrics.c ---- */
/* Figures for Prometheus. */
enum err page_metrics(struct tracker *t, struct buf *out);

#endif
