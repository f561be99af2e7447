/* SPDX-License-Identifier: MIT */
/* knob_order.h - in which order knobs are set, chosen by which of them constraints tie together. */
#ifndef TUNE_SEARCH_SPACE_KNOB_ORDER_H
#define TUNE_SEARCH_SPACE_KNOB_ORDER_H

#include "search_space/space.h"

#include <stddef.h>
#include <stdint.h>

struct knob_order {
    uint8_t knobs[SPACE_MAX_KNOBS]; /* the knob of each place */
    uint8_t place[SPACE_MAX_KNOBS]; /* and back */
    size_t n;
    size_t group_ends[SPACE_MAX_KNOBS]; /* place behind each group; no constraint ties two groups */
    size_t n_groups;
};

/* `scopes`: the knobs of each constraint as bits; n_values[knob] >= 1. Groups with few combinations come first. Within
 * one the order is greedy from several starts (with exchanges where that promises to pay): few states open between
 * knobs, by the estimate min(product of the open knobs' values, product over open constraints of what was set or is
 * left). */
void knob_order_choose(const uint64_t *scopes, size_t n_scopes, const size_t *n_values, size_t n_knobs,
                       struct knob_order *out);

#endif
