/* SPDX-License-Identifier: MIT */
/* rig.h - one device and its children: trials go in, finished records come out, whatever the kernels do.
 * One thread for each builder may verify while another times; each has its own child. For a CUDA device whose compiler
 * is here as many others compile, each a trial, before the one builder gets it. */
#ifndef TUNE_AGENT_RIG_H
#define TUNE_AGENT_RIG_H

#include "agent/built.h"
#include "agent/cage.h"
#include "agent/cool.h"
#include "agent/forge.h"
#include "agent/lock.h"
#include "agent/pin.h"
#include "agent/sandbox.h"
#include "agent/trial.h"
#include "agent/workdir.h"
#include "core/clock.h"
#include "core/entropy.h"
#include "core/err.h"
#include "runtime/device.h"
#include "runtime/device_desc.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RIG_CHILD_TRIALS 64 /* after which a child is replaced */
#define RIG_MAX_BUILDERS FORGE_MAX

struct rig_options {
    const char *device;        /* "opencl:0.0", "replay:FILE" */
    int threads;               /* of a CPU runtime; 0 = all CPUs but one */
    int builders;              /* at work at the same time, at most RIG_MAX_BUILDERS; 0 = as the machine has CPUs */
    const char *child_wrapper; /* "CMD ARGS" that children are started through; NULL = none */
    const struct cage *cage;   /* what children of a device that runs kernels are shut into; NULL = nothing */
    bool no_build;             /* leave building for a CUDA device to builders */
    struct cool_rules cool;    /* what is waited for before a batch is timed */
    const atomic_bool *stop;
    void (*quit)(bool well, void *arg); /* ends this agent in good order: `stop` is set soon; well: as it was asked to,
                                          without any trouble; NULL = nothing does */
    const struct sandbox_ops *sandbox;  /* what children are; NULL = processes */
    void *sandbox_arg;
    const struct clock *clock;     /* of waits and stamps, not of measuring; NULL = the machine's */
    const struct entropy *entropy; /* of the orders of rounds; NULL = the machine's */
    /* Told of things a person may want to know; may be NULL. level 0 = warning, 1 = -v, 2 = -vv. */
    void (*log)(int level, const char *line, void *arg);
    void *arg;
};

/* A build child, and the compiler cache that it was started with. */
struct rig_builder {
    struct sandbox child;
    int64_t generation;
};

/* What of a job was put through all passes here: the least time of one of its workloads. */
struct rig_proven {
    char job[sizeof((struct record *)0)->job];
    char *workload;
    double least_ns; /* 0 = nothing */
};

struct rig {
    struct rig_options options;
    const struct device_ops *ops;
    struct workdir dir;
    struct device_desc desc;
    struct sha256 fingerprint;
    bool simulated;
    struct cage cage;         /* children are shut into it; off where nothing is run */
    struct cage_report caged; /* what a child found lacking of it */
    int threads;              /* used; 0 = not a CPU runtime */
    struct pin_plan cpus;
    double canary_ns, canary_gflops; /* at the start, when asked for; 0 = none, and canary_why says why */
    struct why canary_why;
    bool canary_unbuilt;   /* nothing is wrong but that no compiler is here */
    char compiler[800];    /* of a CUDA device, "NVRTC 13.0 (/path)"; "" = none */
    bool builds;           /* a CUDA device: is a compiler here that knows it, and is it to be used? */
    struct why builds_why; /* else why not */
    int lock_fd;
    char lock_name[LOCK_NAME_BYTES];
    struct rig_builder builders[RIG_MAX_BUILDERS];
    int n_builders;
    bool compiles_apart; /* as `builds`, and what the compiler makes is code */
    struct forge forges[FORGE_MAX];
    int n_forges; /* 0: build children compile for themselves */
    struct sandbox time;
    pthread_mutex_t lock;      /* of the four below */
    struct sha256 anchor_name; /* the program last compiled as an anchor */
    struct built anchor_code;
    int n_built;              /* trials since the compiler cache is new */
    int64_t generation;       /* of the compiler cache that build children start with */
    struct rig_proven proven; /* the timing thread's */
    int n_timed;              /* trials since the timing child is new */
    int64_t time_generation;  /* ... and that the timing child was started with; -1 = none yet */
    _Atomic double gflops;    /* the canary's last figure */
};

/* Makes the work directory, asks a child what the device is (with its canary when `canary`) and opens the device's
 * lock. ERR_CHILD, ERR_DEVICE, ERR_NOT_FOUND with words. */
enum err rig_open(struct rig *r, const struct rig_options *options, bool canary, struct why *why);
void rig_close(struct rig *r);

/* Ends all children now, from any thread: for an agent that stops. Call with the stop flag set, so that none is
 * started again. */
void rig_kill(struct rig *r);

/* "whole", "off", or what the cage of its children is without; NULL: no kernels run in them. */
const char *rig_cage_words(const struct rig *r, char words[CAGE_LINE_BYTES]);

/* May verifying and timing go on at the same time without a CPU in common? */
bool rig_overlaps(const struct rig *r);

/* The compiler cache that a trial built now would go into; a new one when the old one has served long enough. What is
 * compared (finals, bridges) was built before, mostly, and is timed in one batch: it stays with the old one for twice
 * as long. */
int64_t rig_generation(struct rig *r, const struct trial *t);

/* What children find in the work directory may be damaged: blobs that are get forgotten, and the compiler cache is
 * begun anew. */
void rig_doubt(struct rig *r);

/* Has a trial code that is to be compiled before it is verified? */
bool rig_compiles(const struct rig *r, const struct trial *t);

/* Compiles the code of such a trial, and of its anchor where that is a new one: afterwards it is finished (failed) or
 * goes to a builder, as if its code had come with it. Cancelled by the stop flag it is neither. One thread at a time
 * for each forge, 0..n_forges-1. */
void rig_compile(struct rig *r, int i_forge, struct trial *t);

/* Builds and verifies one trial whose blobs are in r->dir: afterwards it is finished (failed) or ready to be timed.
 * Cancelled by the stop flag it is neither. One thread at a time for each builder, 0..n_builders-1. */
void rig_verify(struct rig *r, int i_builder, struct trial *t);

/* Makes an anchor's binary ready in the compiler's cache, so that timing does not have to build it. */
void rig_warm_anchor(struct rig *r, int i_builder, const struct trial *t);

/* Times trials of one anchor (1..TIMING_MAX_BATCH) together, under the device's lock; all are finished afterwards but
 * for the stop flag. */
void rig_time(struct rig *r, struct trial *const *trials, int n);

/* Adds the device object to a record that is about to be sent. */
void rig_complete(struct rig *r, struct trial *t);

/* Splits: how many of the first trials fit one timing batch: same anchor, workload, purpose and compiler cache, sum of
 * memory. At least 1. */
int rig_batch_size(struct trial *const *trials, int n);

#endif
