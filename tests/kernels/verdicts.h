/* SPDX-License-Identifier: MIT */
/* verdicts.h - what earlier runs have passed, kept between runs in one file of a cache folder, so that a machine that
 * is kept proves a thing once. Only passes are kept. A key holds all that a verdict hangs on: what was run, the code
 * that ran and judged it, and the driver.
 *
 * The folder is $TUNE_VERDICTS, else tune-verdicts in $XDG_CACHE_HOME or ~/.cache. TUNE_FRESH=1: nothing is found
 * there, but passes are kept as ever. */
#ifndef TUNE_TESTS_KERNELS_VERDICTS_H
#define TUNE_TESTS_KERNELS_VERDICTS_H

#include "core/buf.h"
#include "core/err.h"
#include "core/hash.h"

#include <stdbool.h>
#include <stddef.h>

#define VERDICTS_MAX_BYTES ((size_t)32 << 20) /* a longer file loses its older half when it is opened */

struct verdicts {
    char path[4096];
    struct buf text;
    const char **lines; /* sorted, into text */
    size_t n_lines;
};

/* Opens `dir` (NULL: the folder above), reads what is there. A folder that cannot be made or read is an empty one:
 * nothing is found. */
void verdicts_open(struct verdicts *v, const char *dir);
void verdicts_close(struct verdicts *v);

/* Reads again what others have appended. ERR_IO, ERR_NOMEM, ERR_LIMIT: nothing is found any more. */
enum err verdicts_reload(struct verdicts *v);

/* The text kept with a key ("" without one), lent; NULL when there is none. */
const char *verdicts_find(const struct verdicts *v, const char *key);

/* Appends a pass with a text that goes with it, one line. Several processes may. ERR_IO. */
enum err verdicts_keep(const struct verdicts *v, const char *key, const char *text);

/* The key of what `what` (a word for the kind of check) found of the thing with this hash on a driver: with the hash of
 * the code that runs and judges in it. */
struct sha256 verdict_key(const char *what, const struct sha256 *driver, const struct sha256 *thing);

/* The driver of a device with this fingerprint: with the environment's settings that drivers heed, and the bytes of
 * `files` (NULL-ended; NULL: none), which are libraries that stand in for one. */
struct sha256 verdict_driver(const struct sha256 *fingerprint, const char *const *files);

/* sha256 over the libraries that build, run and judge programs, and the tests' own code; not over templates, kernel
 * texts, references and cases, which act through the program alone. Written when tests are built. */
extern const char verdict_checker[];

#endif
