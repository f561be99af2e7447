/* SPDX-License-Identifier: MIT */
/* pending.h - which member of a population waits for the result of which config. */
#ifndef TUNE_SEARCH_STRATEGIES_PENDING_H
#define TUNE_SEARCH_STRATEGIES_PENDING_H

#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pending {
    struct waiting {
        uint64_t index; /* of the config */
        size_t i_member;
    } * items;
    size_t n, cap;
};

/* Starts as all zero. */
void pending_fini(struct pending *p);

/* ERR_NOMEM. What is never told stays until fini. */
enum err pending_add(struct pending *p, uint64_t index, size_t i_member);

/* Forgets the config and says who waited for it; false when nobody did. */
bool pending_take(struct pending *p, uint64_t index, size_t *i_member);

#endif
