/* SPDX-License-Identifier: MIT */
/* vault.h - an S3 store for large blobs that nobody asked for in a while (docs/operating.md): they are sent there,
 * leave the tracker's own store when the S3 store has shown that it has them, and come back when they are asked for. */
#ifndef TUNE_TRACKER_VAULT_H
#define TUNE_TRACKER_VAULT_H

#include "core/err.h"
#include "tracker/state.h"

#include <stdint.h>

struct vault_options {
    const char *url;  /* s3://BUCKET/PREFIX */
    int64_t after_ms; /* nobody asked for it that long */
    double stall_s;   /* see carrier_open; 0 = its default */
    int64_t pause_ms; /* the first one behind a failure; each further one is twice as long; 0 = 1000 */
};

/* Two threads of carrier.h. ERR_INPUT, ERR_UNSUPPORTED. */
enum err vault_open(const struct vault_options *o, struct vault **out, struct why *why);
/* Waits for the transfers under way. */
void vault_close(struct vault *v);

/* With each tick of the tracker, whose o.vault may be NULL: starts and ends transfers, waits for none. ERR_IO,
 * ERR_NOMEM: of the tracker's own store. */
enum err vault_tick(struct tracker *t);

/* Is there such a blob, here or where it can be fetched from? ERR_NOT_FOUND. */
enum err vault_look(struct tracker *t, const char *hex);

/* Of a blob that the store has elsewhere: has it fetched. ERR_BUSY: come again; ERR_NOT_FOUND: it cannot be had, with
 * words. */
enum err vault_fetch(struct tracker *t, const char *hex, struct why *why);

#endif
