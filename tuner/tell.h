/* SPDX-License-Identifier: MIT */
/* tell.h - words for what takes long before anything is measured. */
#ifndef TUNE_TUNER_TELL_H
#define TUNE_TUNER_TELL_H

#include "kernels/workload.h"

#include <stdbool.h>

#define TELL_WORDS (WORKLOAD_MAX_TEXT + 80) /* bytes of the longest words */
#define TELL_AFTER_S 2.0

/* To be called now and then from an expect_watch: true once for each computation, when it has taken TELL_AFTER_S, with
 * "computing expected values of WORKLOAD (N GFLOP) ..." in `words`. `*told_s` begins as 0 and belongs to this call. */
bool tell_computing(double *told_s, const struct workload *w, double waited_s, char words[TELL_WORDS]);

#endif
