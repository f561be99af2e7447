/* SPDX-License-Identifier: MIT */
/* fetch.h - from the tracker into the work directory: everything a trial's programs are made of. */
#ifndef TUNE_AGENT_FETCH_H
#define TUNE_AGENT_FETCH_H

#include "agent/trial.h"
#include "agent/workdir.h"
#include "core/err.h"
#include "tracker/client.h"

#include <stdatomic.h>
#include <stdbool.h>

/* All blobs of a trial into `dir`; a trial that lacks one is finished, unless `stop` is set. False, with words, when
 * the anchor could not be had: the trial goes on without. */
bool fetch_trial(struct client *client, struct workdir *dir, const atomic_bool *stop, struct trial *t,
                 struct why *anchor_why);

/* A program and its modules' sources, but nothing that only runs need. `out` is empty, filled when all went well, to be
 * finished by the caller in any case. */
enum err fetch_sources(struct client *client, struct workdir *dir, const char *hex, struct program *out,
                       struct why *why);

#endif
