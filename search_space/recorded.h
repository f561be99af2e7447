/* SPDX-License-Identifier: MIT */
/* recorded.h - fully measured spaces: X.json (knobs, restrictions) and X.csv.gz or X.csv (one row a config), as a space
 * whose every valid config has a row. Strategies and the farm are tested on them. */
#ifndef TUNE_SEARCH_SPACE_RECORDED_H
#define TUNE_SEARCH_SPACE_RECORDED_H

#include "core/err.h"
#include "search_space/space.h"

#include <stddef.h>
#include <stdint.h>

/* What was measured of one config. Times that were not taken are NAN. */
struct recorded_row {
    struct config config;
    const char *status; /* "ok" "compile" "runtime" ..: lent by the recording */
    double time_ms;     /* NAN unless ok */
    double cost_ms;     /* wall time of the whole trial, and its parts: */
    double compile_ms, verify_ms, bench_ms, framework_ms;
};

struct recorded;

/* Opens path "X.json" and the X.csv or X.csv.gz beside it. Where the restrictions are not known (null), the set of rows
 * is the constraint. ERR_NOT_FOUND, ERR_IO; ERR_INPUT for malformed files, a config that has two rows, or a row that is
 * no valid config. */
enum err recorded_open(const char *path, struct recorded **out, struct why *why);
void recorded_close(struct recorded *r);

/* Lends the space, sealed; it lives as long as the recording. */
const struct space *recorded_space(const struct recorded *r);
const char *recorded_name(const struct recorded *r);

size_t recorded_n_rows(const struct recorded *r);
/* Lends a row, numbered from 0 in file order. */
const struct recorded_row *recorded_row(const struct recorded *r, size_t i_row);
/* The row of a config, or -1. */
int64_t recorded_find(const struct recorded *r, const struct config *c);

/* The smallest time_ms of all rows; NAN when none is ok. */
double recorded_optimum_ms(const struct recorded *r);

#endif
