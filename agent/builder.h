/* SPDX-License-Identifier: MIT */
/* builder.h - an agent without a device: compiles programs for NVIDIA devices that are elsewhere, in children, several
 * at a time, and sends the code to the tracker. docs/protocol.md tells how builds come and go. */
#ifndef TUNE_AGENT_BUILDER_H
#define TUNE_AGENT_BUILDER_H

#include "core/clock.h"
#include "core/entropy.h"
#include "core/err.h"
#include "tracker/transport.h"
#include "tracker/tls.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BUILDER_MAX_SMS 16

struct builder_options {
    const char *url, *key_file, *name; /* as struct farm_options */
    int64_t part;                      /* of a farm in parts; 0 = it is not */
    struct tls_files tls;
    const char *child_wrapper; /* as struct rig_options */
    const struct cage *cage;   /* likewise */
    int sms[BUILDER_MAX_SMS];  /* compute capabilities, 10 * major + minor */
    int n_sms;
    int n_children; /* builds at the same time, at most FORGE_MAX; 0 = one for each CPU */
    atomic_bool *stop;
    void (*log)(int level, const char *line, void *arg);
    void (*quit)(bool well, void *arg); /* as struct farm_options, and so are those behind `arg` */
    void *arg;
    const struct sandbox_ops *sandbox; /* what children are; NULL = processes */
    void *sandbox_arg;
    const struct transport_ops *transport;
    void *transport_arg;
    const struct clock *clock;
    const struct entropy *entropy;
};

struct workshop;
struct sandbox_ops;
struct hands;

/* Reads "sm_61,sm_75": ERR_INPUT names what is no architecture, ERR_LIMIT for too many. */
enum err builder_read_sms(const char *text, struct builder_options *out, struct why *why);

/* Makes a work directory, starts a child and asks it for its compiler. ERR_UNSUPPORTED: there is none, or it does not
 * know an architecture; ERR_CHILD, ERR_IO. */
enum err builder_open(const struct builder_options *options, struct workshop **out, struct why *why);

/* Connects and registers; waits for a tracker that is out of reach as long as it takes. ERR_UNSUPPORTED: a tracker from
 * before there were builders; else as farm_open. */
enum err builder_enlist(struct workshop *w, struct why *why);

/* Lets go of all that it holds, without a word to the tracker; its threads were never started, or have ended. */
void builder_close(struct workshop *w);

/* "NVRTC 12.9 (/path)" */
const char *builder_compiler(const struct workshop *w);

/* What its children are shut into: cage_words. */
const char *builder_cage(const struct workshop *w);

/* Starts the threads, which end with the process; it quits when the tracker asks this agent to leave. */
enum err builder_start(struct workshop *w, struct why *why);

/* For tests on a clock of their own: lends what those threads do, a piece at a time: lease, renew, and build in each
 * child. */
struct hands *builder_hands(struct workshop *w);

/* Ends all children and removes the work directory, from any thread, with the stop flag set. */
void builder_stop(struct workshop *w);

/* After that: gives the leases back, if it ever registered. */
void builder_bye(struct workshop *w);

/* Builds answered so far, ok and failed. */
void builder_counts(struct workshop *w, int64_t *done, int64_t *failed);

#endif
