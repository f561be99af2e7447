/* SPDX-License-Identifier: MIT */
/* checks.h - what a pass of verification says of a buffer: its elements beside those of a sample or a reference, or
 * sums of them beside sums. */
#ifndef TUNE_RUNTIME_CHECKS_H
#define TUNE_RUNTIME_CHECKS_H

#include "core/err.h"
#include "runtime/verify.h"

#include <stdbool.h>
#include <stdint.h>

/* One pass of a program that ran; all is lent. */
struct check_run {
    const struct device_ops *ops;
    struct loaded *loaded;
    const struct program *program;
    const struct blobs *blobs;
    const struct program_pass *pass;
    struct verify_report *report;
    enum poison poison; /* what outputs held before the run */
    bool by_sum;        /* the report's worst place is a sum of CHECK_PROJECT, not one element */
    bool by_bits;       /* -0 is not 0, and NaN is what it was: elements are moved */
    bool keeps;         /* what is to be written holds what it held before, which looks like results */
};

/* What a buffer holds, for the caller to free. Errors of the device; ERR_NOMEM. */
enum err checks_read(const struct check_run *r, int i_buffer, void **out, struct why *why);

/* The same to be looked at: lent by the device, or a copy. checks_look_end gives it back. */
struct checks_look {
    const void *data;
    void *copy; /* NULL = lent */
};
enum err checks_look(const struct check_run *r, int i_buffer, struct checks_look *out, struct why *why);
void checks_look_end(const struct check_run *r, int i_buffer, struct checks_look *look);

/* Takes one comparison into the report: the worst stays, but a wrong element says more than a wrong sum. */
void checks_note(struct check_run *r, const char *buffer, int64_t i_elem, double got, double wanted, double d,
                 bool wrong, bool by_sum);

/* Compares what the check's buffer holds (`data`), all of it into the report. ERR_NOT_FOUND: a blob is missing;
 * ERR_INPUT: one of another size than the check's; ERR_NOMEM. */
enum err checks_compare(struct check_run *r, const struct program_check *c, const void *data, struct why *why);

#endif
