/* SPDX-License-Identifier: MIT */
/* store_sqlite_keeper.h - a thread that brings commits to the disk and from SQLite's log into its database, so that
 * nobody waits for it. */
#ifndef TUNE_TRACKER_STORE_SQLITE_KEEPER_H
#define TUNE_TRACKER_STORE_SQLITE_KEEPER_H

#include "core/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite_keeper;

/* Of the database at `path` (open, WAL). The thread starts with the first need. ERR_IO, ERR_NOMEM. */
enum err sqlite_keeper_open(const char *path, struct sqlite_keeper **out, struct why *why);
/* NULL is accepted. */
void sqlite_keeper_close(struct sqlite_keeper *k);

/* The first n commits are wanted on the disk, and with takes_in in the database; returns at once. ERR_NOMEM: no thread;
 * ERR_IO: it failed. */
enum err sqlite_keeper_want(struct sqlite_keeper *k, int64_t n, bool takes_in, struct why *why);
/* So many are there; *n_left: pages of the log behind them that could not go into the database yet. */
int64_t sqlite_keeper_has(struct sqlite_keeper *k, int *n_left);

#endif
