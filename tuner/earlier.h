/* SPDX-License-Identifier: MIT */
/* earlier.h - records of other devices, other shapes and other template versions, gathered from a log so that they warm
 * the searches of a job (search/learn/transfer.h). */
#ifndef TUNE_TUNER_EARLIER_H
#define TUNE_TUNER_EARLIER_H

#include "core/err.h"
#include "tuner/task.h"

#include <stddef.h>

#define EARLIER_MAX_ROWS ((size_t)1 << 18) /* of all searches; records beyond are left out */
#define EARLIER_MAX_SOURCES 16             /* for one template of a task */
#define EARLIER_WINNERS 3                  /* good records of a search up to which it tells a winner and no more */

struct earlier_search;

struct earlier {
    struct earlier_search *searches; /* by template, version, workload and device */
    size_t n, cap, n_rows;
    enum err failed; /* sticky */
};

void earlier_fini(struct earlier *e);

/* Takes a record in (copies what it needs); all but search records that ended ok or failed are ignored. */
void earlier_add(struct earlier *e, const struct record *r);

/* Warms the templates of a task of which nothing was told yet: each whose template has searches for another device,
 * workload or version starts its strategy ("auto" or "model") anew with them. At most EARLIER_MAX_SOURCES, those of the
 * same workload first, then the longest, then those of the most similar workloads. The winners of searches that hold
 * hardly more (TVM's TopHub) are proposed right behind the default. *n_used: how many searches were taken. ERR_NOMEM.
 */
enum err earlier_warm(const struct earlier *e, struct task *t, const struct job *j, size_t *n_used, struct why *why);

#endif
