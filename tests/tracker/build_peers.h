/* SPDX-License-Identifier: MIT */
/* build_peers.h - runners and builders as the tests of builds play them; fingerprint hash_of(-1). */
#ifndef TUNE_TESTS_TRACKER_BUILD_PEERS_H
#define TUNE_TESTS_TRACKER_BUILD_PEERS_H

#include "tests/tracker/rig.h"

/* A device of that key and architecture; `builds`: it can build that itself. */
void runner(struct rig *rig, const char *agent, const char *key, const char *arch, bool builds);
/* A builder of `arch` and of "sm_other". */
void builder(struct rig *rig, const char *agent, const char *nonce, const char *arch);
void submit(struct rig *rig, const char *key, char job[24]);
/* Adds trial n of a program; anchor 0 = none. */
void add(struct rig *rig, const char *job, const char *key, int n, int program, int anchor);
/* Leases of at most four; they fail unless so many came. */
cJSON *builds_of(struct rig *rig, const char *agent, int n_expected);
cJSON *trials_of(struct rig *rig, const char *agent, int n_expected);
void expect_nothing(struct rig *rig, const char *agent);
/* Was it accepted? */
bool answer(struct rig *rig, const char *program, const char *arch, const char *status, const char *words);
/* The words of the answer for "program" or "anchor" that came with the first trial of a lease. */
const char *words_of(const cJSON *trials, const char *part);

#endif
