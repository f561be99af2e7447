/* SPDX-License-Identifier: MIT */
/* farm.h - a real tune-tracker on 127.0.0.1 with a store of its own, and shorthands of calls, for tests. */
#ifndef TUNE_TESTS_TRACKER_FARM_H
#define TUNE_TESTS_TRACKER_FARM_H

#include "tests/tracker/members.h"
#include "tracker/client.h"

#include <sys/types.h>

struct farm {
    char dir[256], url[128];
    const char *key_file; /* or NULL */
    const char *listen;   /* NULL = tcp://127.0.0.1:0 */
    struct tls_files tls; /* of farm_client */
    const char *more[12]; /* further options of the tracker, NULL-ended */
    const char *store;    /* where it is instead of in `dir`, or NULL */
    bool standby;         /* it may have to wait for the store, and listens at `url` then */
    pid_t pid;
};

/* Makes a fresh directory and starts a tracker in it; every failure is one of the test. */
void farm_start(struct farm *f);
/* kill -9, and a new one on the same port and store. */
void farm_crash(struct farm *f);
void farm_restart(struct farm *f);
/* Ends the tracker and removes its directory. */
void farm_stop(struct farm *f);
struct client *farm_client(const struct farm *f, const char *name);

/* A call whose arguments are JSON text (with ' for ") made by printf. Gives the result (cJSON_Delete), or NULL when it
 * failed with *e. */
cJSON *farm_call(struct client *c, enum err *e, int64_t wait_ms, const char *op, const char *format, ...);
/* The same, failing the test unless it went well; and the same without a result. */
cJSON *farm_must(struct client *c, const char *op, const char *format, ...);
void farm_do(struct client *c, const char *op, const char *format, ...);

#endif
