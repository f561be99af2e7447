/* SPDX-License-Identifier: MIT */
/* fetch.h - from the tracker into the work directory: everything a trial's programs are made of. */
#ifndef TUNE_AGENT_FETCH_H
#define TUNE_AGENT_FETCH_H

#include "agent/trial.h"
#include "agent/workdir.h"
#include "core/err.h"
#include "tracker/client.h"

/* All blobs of a trial into `dir`; a trial that is not sane is finished. Errors are those of the way, by which nothing
 * is known of the trial: ERR_NOT_FOUND when the tracker does not have a blob, what calls return, what workdir_put does.
 * An anchor that cannot be had leaves its words in anchor_why: the trial goes on without. */
enum err fetch_trial(struct client *client, struct workdir *dir, struct trial *t, struct why *anchor_why,
                     struct why *why);

/* A program and its modules' sources, but nothing that only runs need. `out` is empty, filled when all went well, to be
 * finished by the caller in any case. */
enum err fetch_sources(struct client *client, struct workdir *dir, const char *hex, struct program *out,
                       struct why *why);

#endif
