/* SPDX-License-Identifier: MIT */
/* choice.h - which config a workload is run with: the best record of that very workload, else the nearest recorded
 * workload whose config is valid here, else a template's default. */
#ifndef TUNE_LIBTUNE_CHOICE_H
#define TUNE_LIBTUNE_CHOICE_H

#include "core/err.h"
#include "kernels/template.h"
#include "logs/record.h"

#include <stddef.h>
#include <stdint.h>

/* The best records of a log, found by workload and by operator. Not changed after opening: safe from many threads. */
struct choices;

/* Which records count; NULL = all. A log with records of several devices needs one of them: ERR_INPUT with words. */
struct choice_filter {
    const char *key;         /* the farm's slug */
    const char *fingerprint; /* begins so */
    const char *former;      /* or so: of records made before processors were told apart; NULL = none */
};

struct best_set;

/* Reads the records of a best log (any log: only the best of a workload counts). ERR_NOT_FOUND: no such file, or no
 * good record that the filter lets through (the words name the devices that it has); ERR_IO, ERR_INPUT. */
enum err choices_open(const char *path, const struct choice_filter *filter, struct choices **out, struct why *why);
/* Over records that the caller has already; keeps copies. An empty set answers with defaults only. */
enum err choices_of(const struct best_set *best, struct choices **out, struct why *why);
void choices_close(struct choices *c);

/* What was found in the log. Records are left out whose template is not known here or has another version now, whose
 * workload cannot be parsed, or (in choices_open) that the filter does not let through. */
struct choices_notes {
    size_t n_records;    /* that answer */
    size_t n_left_out;   /* best records of this device that do not */
    int64_t n_bad_lines; /* damaged, foreign, of a newer schema; choices_open only */
    char bad_line[256];  /* the first of them: "log.jsonl:12: words"; "" = none */
};
const struct choices_notes *choices_notes(const struct choices *c);

enum choice_kind { CHOICE_EXACT, CHOICE_NEAREST, CHOICE_DEFAULT };

/* One answer; choice_fini frees. */
struct choice {
    enum choice_kind kind;
    const struct record *record; /* lent by `choices`; NULL for a default */
    double distance;             /* of a nearest record's workload: 0 = the same sizes; docs/libtune.md says how */
    double time_ns;              /* of this workload: measured (exact), scaled by FLOPs (nearest), NAN (default) */
    const struct template *t;
    struct space *space;
    struct config config;
};

/* ERR_NOT_FOUND: no template computes the workload on this device. */
enum err choice_make(const struct choices *c, const struct workload *w, const struct device_desc *d, struct choice *out,
                     struct why *why);
/* The last resort alone: a default, whatever is recorded. */
enum err choice_default(const struct workload *w, const struct device_desc *d, struct choice *out, struct why *why);
void choice_fini(struct choice *c);

/* The program of a choice; `out` is initialised by this call. choice_program: with verification passes, as it was
 * measured (their expected values may take seconds); choice_kernels: without, for those who only run it. */
enum err choice_program(const struct choice *c, const struct workload *w, const struct device_desc *d,
                        struct program *out, struct blobs *blobs, struct why *why);
enum err choice_kernels(const struct choice *c, const struct workload *w, const struct device_desc *d,
                        struct program *out, struct blobs *blobs, struct why *why);

/* How far two workloads of one operator and dtype lie apart: 0 = the same sizes; INFINITY = no config of one is for the
 * other. docs/libtune.md has the formula. */
double choice_distance(const struct workload *a, const struct workload *b);

/* Lends a record that answers, the first; NULL when there is none. */
const struct record *choices_first(const struct choices *c);

/* The description of the device that the records were measured on (all of one device). ERR_INPUT when they do not tell.
 */
enum err choices_device(const struct choices *c, struct device_desc *out, struct why *why);

#endif
