/* SPDX-License-Identifier: MIT */
/* record.h - one measured (or failed) config: one line of JSON in a log. Text form: docs/log-format.md (schema 1). */
#ifndef TUNE_LOGS_RECORD_H
#define TUNE_LOGS_RECORD_H

#include "core/buf.h"
#include "core/err.h"
#include "core/hash.h"
#include "core/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_SCHEMA 1
#define RECORD_MAX_BYTES 65536 /* of a line */
#define RECORD_MAX_SAMPLES 64

/* X(number, NAME, "name"): numbers never reused; names are the log's. */
#define STATUS_MAP(X)                                                                                                  \
    X(0, OK, "ok")                                                                                                     \
    X(1, COMPILE, "compile")                                                                                           \
    X(2, LIMITS, "limits")                                                                                             \
    X(3, RUNTIME, "runtime")                                                                                           \
    X(4, WRONG, "wrong")                                                                                               \
    X(5, TIMEOUT, "timeout")                                                                                           \
    X(6, CRASH, "crash")                                                                                               \
    X(7, LOST, "lost")

enum record_status {
#define X(number, NAME, name) STATUS_##NAME = number,
    STATUS_MAP(X)
#undef X
        N_STATUSES
};

const char *status_name(enum record_status s);
int status_by_name(const char *name); /* -1 when there is none */

struct record_anchor {
    struct sha256 hash; /* program; hex "" = this trial was timed without an anchor */
    int64_t epoch;
    double bridge;      /* added to lnratio so that values of all epochs compare */
    double *samples_ns; /* interpolated at each slot of the record */
    size_t n_samples;
    double *slots_ns; /* in pairs: the anchor's slots before and behind it, what was interpolated between */
    size_t n_slots;
};

/* The device has no sensor of energy or power. */
#define RECORD_NO_ENERGY "no_energy"

/* It was put through all that it could be verified with; some of that is for what may be chosen, and was not run. */
#define RECORD_IN_FULL "in full"
#define RECORD_IN_PART "in part"

/* How surely a record is right: PROOF_NONE is never named best, an agent that knows of no such passes does not say
 * (PROOF_UNTOLD), nor does a program that names nothing to compare its results with. */
enum record_proof { PROOF_NONE, PROOF_UNTOLD, PROOF_FULL };

struct record {
    char id[SHA256_HEX + 1]; /* trial id given by the tracker */
    char job[40];
    char purpose[16]; /* search | redo | final */
    char *workload;
    char template_id[64];
    int64_t template_version;
    cJSON *knobs; /* by name; owned */
    enum record_status status;
    char stage[16];        /* prepare | build | load | verify | time: where a failure happened */
    char cause[16];        /* of a failure that programs act upon: RECORD_NO_ENERGY; "" = only words tell */
    char *why;             /* words, compiler log included, at most 4 KiB; NULL when ok */
    double time_ns;        /* median of the slot medians; 0 when not timed */
    double energy_j;       /* of one run; 0 when not measured */
    char objective[8];     /* what was searched for: "energy", "edp" (energy times time), "" = time */
    double lnratio;        /* median of ln(slot / interpolated anchor); NAN without an anchor */
    double se;             /* 1.25 * 1.48 * MAD / sqrt(rounds), of lnratio (or of ln time without an anchor) */
    int64_t rounds, calls; /* slots timed; calls in all of them */
    double *samples_ns;    /* one median per slot */
    size_t n_samples;
    struct record_anchor anchor;
    double canary_before, canary_after; /* ns of the FMA canary round the batch; 0 = not taken */
    double *canary_ns;                  /* and in each round of it */
    size_t n_canary;
    double pack_ns;    /* what packing took once, at load; 0 = nothing is packed, or not known */
    char verified[16]; /* RECORD_IN_FULL, RECORD_IN_PART; "not checked": nothing told what is right; "" = not told */
    bool censored;     /* over 3x the best after its first round: no more rounds were spent */
    double build_ms;
    bool build_cached;
    char built_by[64]; /* the builder whose code was run; "" = the agent built it itself */
    char compiler[32]; /* that made it, of CUDA devices: "NVRTC 12.9"; "" = not known */
    cJSON
        *resources; /* registers, local and spilled bytes .. of each kernel, as far as told; an array, owned, or NULL */
    double verify_ms, device_ms, wait_ms; /* shares of the trial's time: checking, timing, waiting for the device */
    double flops;                         /* of one run, as GFLOPS are counted */
    char proposed_by[16];                 /* init | explore | user, or a strategy's name */
    struct sha256 program, fingerprint;
    cJSON *device;     /* name, driver, peak_gflops, clocks, temperature, load: what was readable; owned */
    char protocol[32]; /* of timing, "rounds-1" */
    char key[65];      /* the farm's slug */
    char agent[64];
    char tune[48]; /* version and commit of the agent: "0.2.0+49a03006ab12" */
    int64_t seed;
    int64_t data_seed; /* of the data it was verified with beside the program's own; 0 = none but those */
    int64_t ts_ms;     /* wall clock at the end of the measurement */
};

void record_init(struct record *r);
void record_fini(struct record *r);
enum err record_copy(struct record *to, const struct record *from);

/* Appends one line with '\n', the CRC its last member. ERR_LIMIT for a line over RECORD_MAX_BYTES, more than
 * RECORD_MAX_SAMPLES samples or an integer beyond 2^53; ERR_NOMEM. `why` is cut at 4 KiB; its bytes that are no UTF-8
 * become '?'. */
enum err record_print(const struct record *r, struct buf *line);

/* Parses one line (with or without '\n'); ERR_INPUT with words for torn, damaged (CRC) or foreign lines and for a newer
 * schema, ERR_NOMEM. Unknown members are ignored. */
enum err record_parse(const char *line, size_t n, struct record *out, struct why *why);

/* Is the line (without its '\n') whole, by its checksum? ERR_INPUT with words. What it says is not looked at. */
enum err record_check_sum(const char *line, size_t n, struct why *why);

/* GFLOPS of a record, 0 when it was not timed. */
double record_gflops(const struct record *r);

/* PROOF_NONE also where it failed or was not timed. Of two that may be named best the one with more proof is, however
 * slow: what an older agent did not look for may be there. */
enum record_proof record_proof(const struct record *r);

/* Has it any proof? Only such ones may be named best. */
bool record_may_be_best(const struct record *r);

/* What is minimised, given ln of the record's time on whatever scale: that, or ln of the energy, or the sum of both.
 * NAN where the objective wants an energy that was not measured. */
double record_cost(const struct record *r, double ln_time);

#endif
