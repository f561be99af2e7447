/* SPDX-License-Identifier: MIT */
/* ops.c - how the tracker executes each call. */
#include "tracker/state.h"

enum { READS = false, WRITES = true };

const struct op op_table[N_CALLS] = {
#define CALL(upper, name, args, result, effect, wake) {op_##name, effect, WAKE_##wake},
#include "tracker/calls_list.h"
};
