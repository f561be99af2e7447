/* SPDX-License-Identifier: MIT */
/* samples.h - small programs for tests of the agent: y[i] = x[i] + 1, rightly and in many wrong ways. */
#ifndef TUNE_TESTS_AGENT_SAMPLES_H
#define TUNE_TESTS_AGENT_SAMPLES_H

#include "core/blobs.h"
#include "runtime/program.h"

#include <stdbool.h>

#define SAMPLE_N 4096

extern const char sample_good[], sample_slower[], sample_wrong[], sample_broken[], sample_endless[], sample_wild[],
    sample_lazy[], sample_stale[], sample_bomb[], sample_second[], sample_lapse[], sample_blank[];

struct sample {
    struct program p;
    struct blobs blobs;
};

/* A program of that source in groups of `block`, with an exact check of all elements. */
void sample_make(struct sample *m, const char *source, int64_t block);
void sample_fini(struct sample *m);

/* Adds the program's JSON to its blobs; its name. */
struct sha256 sample_seal(struct sample *m);

/* Makes a sample whose blobs are a sheet for all samples, and what it names: x from `first` in one pass, from `second`
 * in the next, which may be a last one; of the pass `i_wrong` y[9] is expected as no kernel has it (-1: of none). Its
 * name.
 */
struct sha256 sample_sheet(struct sample *m, double first, double second, int i_wrong, bool second_is_last);

#endif
