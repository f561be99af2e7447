/* SPDX-License-Identifier: MIT */
/* faulty_store.h - a store of the table, of which the n-th call fails; for tests of what a tracker does then. */
#ifndef TUNE_TESTS_TRACKER_FAULTY_STORE_H
#define TUNE_TESTS_TRACKER_FAULTY_STORE_H

#include "tracker/store.h"

#include <stdbool.h>
#include <stdint.h>

/* Calls counted: all but open, close, flush and backup. */
struct store_faults {
    _Atomic int64_t n_calls;
    _Atomic int64_t fail_at;                /* this one ends with ERR_IO; 0 = none */
    _Atomic bool flush_waits, backup_waits; /* a flush, a backup does not begin while it is true */
    _Atomic bool flush_fails;
    _Atomic bool failure_waits; /* a commit that fails does not end while it is true */
};
extern struct store_faults store_faults;
extern const struct store_ops faulty_store;
extern const struct store_ops *faulty_store_real; /* the default one, unless a test says otherwise */

#endif
