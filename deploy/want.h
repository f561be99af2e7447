/* SPDX-License-Identifier: MIT */
/* want.h - which layers a person wants in a bundle: of a network, or lines of a file. */
#ifndef TUNE_DEPLOY_WANT_H
#define TUNE_DEPLOY_WANT_H

#include "core/err.h"

#include <stddef.h>

#define DEPLOY_WANT_BYTES ((size_t)4 << 20) /* of a file of workloads */
#define DEPLOY_WANT_LAYERS 65536

struct deploy_wanted {
    char *called;   /* the layer's name; "" = named after its workload */
    char *workload; /* canonical text */
};

struct deploy_want {
    struct deploy_wanted *layers;
    size_t n, cap;
    char *skipped; /* layers of a network that tune has no operator for, "a, b"; NULL = none */
};

void deploy_want_init(struct deploy_want *w);
void deploy_want_fini(struct deploy_want *w);

/* Adds one layer; the workload is parsed and written canonically. ERR_INPUT. */
enum err deploy_want_add(struct deploy_want *w, const char *called, const char *workload, struct why *why);

/* Adds the layers of a network, in another dtype or layout where that is not NULL. Where the network has a graph, every
 * layer by its name; else the first of equal ones. ERR_NOT_FOUND, ERR_INPUT. */
enum err deploy_want_network(struct deploy_want *w, const char *name, const char *dtype, const char *layout,
                             struct why *why);

/* Adds the lines of a file: a workload, or "name | workload", or "name | times | workload" as networks are listed; '#'
 * begins a comment. ERR_NOT_FOUND, ERR_IO, ERR_LIMIT; ERR_INPUT naming file and line. */
enum err deploy_want_file(struct deploy_want *w, const char *path, struct why *why);
/* The same for text that is in memory; `path` only names it. */
enum err deploy_want_text(struct deploy_want *w, const char *path, const char *text, size_t n, struct why *why);

#endif
