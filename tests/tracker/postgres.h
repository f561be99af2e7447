/* SPDX-License-Identifier: MIT */
/* postgres.h - a PostgreSQL server of a test's own: in a fresh directory, on a socket there, ended with the test. */
#ifndef TUNE_TESTS_TRACKER_POSTGRES_H
#define TUNE_TESTS_TRACKER_POSTGRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct postgres {
    char dir[256];
    const char *setting; /* "name=value" of the server, or NULL */
    bool durable;        /* it waits for the disk, as one that is no test's does */
    pid_t pid;
    int n_stores;
};

/* False, with words to stderr, where no server is installed; every other failure is one of the test. Whoever comes is
 * let in, but a role `stranger` has to show a password. */
bool postgres_start(struct postgres *p);
/* kill -9 of the server and all that serves connections; and a new one on what is left. */
void postgres_crash(struct postgres *p);
void postgres_restart(struct postgres *p);
/* SIGSTOP, or SIGCONT, of all its processes. */
void postgres_signal(const struct postgres *p, int signal);
/* Ends it and removes its directory. */
void postgres_stop(struct postgres *p);

/* Makes an empty schema; `out` is where a store in it lies, for store_ops.open ("//..."). */
void postgres_place(struct postgres *p, char *out, size_t n_out);
/* Runs SQL text in a place (or, "": anywhere); the first value of its last answer as a number, 0 without one. */
int64_t postgres_run(const struct postgres *p, const char *where, const char *text);

#endif
