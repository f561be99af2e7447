/* choice.h - which config a workload is run with: the best record of that very workload, else the nearest recorded
 * workload whose config is valid here, else a template's default. */
#ifndef TUNE_LIBTUNE_CHOICE_H
#define TUNE_LIBTUNE_CHOICE_H

#include "kernels/template.h"
#include "logs/record.h"

/* The best records of a log, found by workload and by operator. Not changed after opening: safe from many threads. */
struct choices;

/* Which records count; NULL = all. A log with records of several devices needs one of them: ERR_INPUT with words. */
struct choice_filter {
    const char *key;         /* the farm's slug */
    const char *fingerprint; /* begins so */
};

struct best_set;

/* Reads the records of a best log (any log: only the best of a workload counts). ERR_NOT_FOUND, ERR_IO, ERR_INPUT. */
enum err choices_open(const char *path, const struct choice_filter *filter, struct choices **out, struct why *why);
/* Over records that the caller has already; keeps copies. */
enum err choices_of(const struct best_set *best, struct choices **out, struct why *why);
void choices_close(struct choices *c);

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
void choice_fini(struct choice *c);

/* The program of a choice; `out` is initialised by this call. */
enum err choice_program(const struct choice *c, const struct workload *w, const struct device_desc *d,
                        struct program *out, struct blobs *blobs, struct why *why);

/* The description of the device that the records were measured on (all of one device). ERR_INPUT when they do not tell.
 */
enum err choices_device(const struct choices *c, struct device_desc *out, struct why *why);

#endif
