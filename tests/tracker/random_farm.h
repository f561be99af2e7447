/* SPDX-License-Identifier: MIT */
/* random_farm.h - a tracker among peers that act at random: tuners, agents and builders that are late, die, repeat
 * themselves and lie, two processes with one agent's name, an operator who pauses and drains; messages that get lost,
 * come late, twice and out of order; processes of a later version, which say more than the tracker knows; a disk that
 * is full now and then; an S3 store with faults of its own; a tracker that is stopped and killed. One seed is one life
 * of it all, and what has to be true is checked after each turn. In one thread: the next to act is the one whose time
 * has come. */
#ifndef TUNE_TESTS_TRACKER_RANDOM_FARM_H
#define TUNE_TESTS_TRACKER_RANDOM_FARM_H

#include "tests/tracker/rig.h"

#define FARM_LEASE_MS 2000
#define FARM_MAX_TRIALS 64
#define FARM_MAX_JOBS 8
#define FARM_JOB_TRIALS 6 /* of one job: n = 0.. */
#define FARM_MAX_HELD 8
#define FARM_BLOBS 6

struct random_farm;
struct peer;

/* What a kind of peer does when it is its turn, and with the reply to what it asked. */
struct peer_kind {
    const char *name;
    void (*act)(struct peer *p);
    void (*hear)(struct peer *p, enum err e, const cJSON *result);
};

struct held {
    int64_t trial, token;
    bool deadly; /* whoever runs it dies */
};

struct peer {
    struct random_farm *farm;
    const struct peer_kind *kind;
    int i;
    int64_t next_ns; /* it acts then */
    /* The question under way: repeated with the same id until it is answered. */
    bool asks;
    char op[24], id[REQUEST_ID_HEX + 1];
    cJSON *args;
    int64_t asked_ns;      /* when for the first time */
    struct errand *errand; /* in the hall; NULL = it was lost, or is not sent yet */
    uint32_t line;
    /* Agents and builders. */
    int nonce;
    bool registered, is_twin; /* of agent 0: another process under its name */
    int64_t registers_ns;     /* when it last began, or was heard or given up, to register */
    struct held held[FARM_MAX_HELD];
    int n_held;
    int64_t renewed_ns;
    bool lies;        /* the question is no honest one: its reply says nothing about what it holds */
    struct held told; /* the last result */
    char told_line[32];
    int programs[FARM_MAX_HELD]; /* of builds held: numbers */
    /* Tuners. */
    int n_submitted;
    int64_t job, token, after;
    int n_added;
    bool ended[FARM_JOB_TRIALS];
    int n_said; /* of an operator, a keeper, once all is calm */
    /* Keepers. */
    int blob;                  /* that it asks about */
    char came[SHA256_HEX + 1]; /* name of the bytes that came with the reply; "" = none */
};

/* A request that the network delivers once more, later. */
struct ghost {
    const struct peer *of;
    uint32_t line;
    char op[24], id[REQUEST_ID_HEX + 1];
    cJSON *args;
    int blob;
    int64_t due_ns;
};

/* What the peers were told about a trial: it must stay true. */
struct known_trial {
    int64_t token;             /* the newest that was granted */
    int64_t heard_ns;          /* when that was heard, or of an accepted result */
    const struct peer *holder; /* believes to have the lease ... */
    int64_t until_ns;          /* ... until then */
    char line[32];             /* of the result that was accepted; "" = none */
};

struct known_blob {
    int64_t put_ns;    /* when that was heard; 0 = it was not */
    int64_t spoilt_ns; /* when the S3 store lost or falsified it since; 0 = it did not */
};

#define FARM_MAX_PEERS 12
#define FARM_MAX_GHOSTS 16

struct random_farm {
    struct rig rig;
    uint64_t seed;
    struct rng rng;
    bool calm; /* no more faults: now all has to come to its end */
    bool with_builders, with_blobs;
    struct peer peers[FARM_MAX_PEERS];
    int n_peers, n_tuners;
    struct ghost ghosts[FARM_MAX_GHOSTS];
    int n_ghosts;
    /* When it was heard that a job is paused, an agent drained; 0 = it may not be. */
    int64_t paused_ns[FARM_MAX_JOBS], drained_ns[FARM_MAX_PEERS];
    uint32_t gone[64]; /* lines that closed since the last turn */
    int n_gone;
    struct known_trial known[FARM_MAX_TRIALS];
    struct known_blob blobs[FARM_BLOBS];
    bool requeued[FARM_MAX_JOBS]; /* somebody asked for it: records of status lost may have gone */
    int64_t n_lines, n_turns, n_crashes, n_pauses, n_doubled, n_full, n_later, n_away;
    struct stats stats; /* of the trackers that were killed */
};

/* One life. Every failure is one of the test. */
/* NULL, or where the next life's store is (store_ops.open), instead of a directory of its own. */
extern void (*random_farm_place)(char *out, size_t n_out);

void random_farm_live(struct random_farm *f, uint64_t seed);
void random_farm_fini(struct random_farm *f);

/* ---- random_farm.c, for peers ---- */

bool chance(struct random_farm *f, int of_thousand);
int below(struct random_farm *f, int n);
/* The same, but never once all is calm. */
bool mishap(struct random_farm *f, int of_thousand);
/* The peer does nothing for at most so long. */
void rest(struct peer *p, int64_t max_ms);
void ask(struct peer *p, const char *op, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Forgets its question; its connection closes. */
void hang_up(struct peer *p);

/* ---- random_peers.c ---- */
extern const struct peer_kind tuner_kind, agent_kind, builder_kind, operator_kind;

/* ---- random_store.c ---- */
extern const struct peer_kind keeper_kind;
/* A blob as it is attached. */
void farm_blob(int n, struct blobs *out);
/* With the S3 store of a new life; with that and another process; without. */
void farm_open_vault(struct random_farm *f);
void farm_crash_vault(struct random_farm *f);
void farm_close_vault(struct random_farm *f);
/* Once all is calm: of each it was heard what became of it. */
bool farm_blobs_are_known(const struct random_farm *f);
void check_blobs(struct random_farm *f);

/* ---- random_checks.c ---- */
/* After a turn that was committed. `all` looks at everything that the store has. */
void check_turn(struct random_farm *f, bool all);
void check_end(struct random_farm *f);
void check_grant(struct peer *p, const struct held *h, int64_t job, int attempt);
void check_accepted(struct peer *p);
void check_line(struct random_farm *f, int64_t trial, const char *line);

#endif
