/* SPDX-License-Identifier: MIT */
/* program_order.h - what launches may touch, and in which order. */
#ifndef TUNE_RUNTIME_PROGRAM_ORDER_H
#define TUNE_RUNTIME_PROGRAM_ORDER_H

#include "core/err.h"
#include "runtime/program.h"

/* Pack launches name weights, what is packed and scratch, not what a run is given or gives: its work would not be
 * timed. Launches of different kernels on different queues that share a buffer, which one of them may write, are tied
 * by `after`, directly or by way of others: whether the order is the right one the runs show. Launches of one kernel
 * may be parts of one product. Call it with a program whose indices are sane. ERR_INPUT with both names; ERR_NOMEM. */
enum err program_check_order(const struct program *p, struct why *why);

#endif
