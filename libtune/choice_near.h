/* SPDX-License-Identifier: MIT */
/* choice_near.h - the nearest recorded workload whose config can be used; between choice.c and choice_near.c. */
#ifndef TUNE_LIBTUNE_CHOICE_NEAR_H
#define TUNE_LIBTUNE_CHOICE_NEAR_H

#include "core/err.h"
#include "libtune/choice.h"

/* A record that can answer. */
struct choice_entry {
    const struct record *record;
    struct workload workload;
    const struct template *t;
    const struct choice_entry *next;         /* with the same hash of the workload's text */
    const struct choice_entry *next_of_kind; /* of the same operator and dtype, in the log's order */
};

/* Tries entries from `first` on by their distance from `w`, equal ones in order: fills `out` with the first whose
 * template computes `w` on `d` (the slow baselines are left out) and whose config is valid there. ERR_NOT_FOUND,
 * ERR_NOMEM. */
enum err choice_nearest(const struct choice_entry *first, const struct workload *w, const struct device_desc *d,
                        struct choice *out, struct why *why);

/* The config of a record in a space; ERR_INPUT when it is not one of its valid ones. */
enum err choice_config(const struct record *r, const struct space *s, struct config *out);

#endif
