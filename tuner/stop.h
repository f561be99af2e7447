/* SPDX-License-Identifier: MIT */
/* stop.h - when the search of a task ends, and the words for it. */
#ifndef TUNE_TUNER_STOP_H
#define TUNE_TUNER_STOP_H

#include "core/buf.h"
#include "core/err.h"
#include "tuner/task.h"

#include <stdbool.h>
#include <stdint.h>

#define STOP_MIN_SEEN 32 /* trials before an expected gain may end a search */

/* Why the search of `t` ends now; STOP_NONE: it goes on. `n_left`: trials of the budget that nobody has taken. */
enum stop_reason stop_reason_of(const struct job *j, const struct task *t, int64_t n_left, bool time_is_up);

/* "stopped: expected gain of the next 100 trials 0.4 % < 1 %"; with other reasons the expected gain follows. Nothing
 * for STOP_NONE. */
void stop_words(const struct job *j, const struct task *t, struct buf *out);

/* "trials" "time" "patience" "target" "min-gain" "exhausted"; "" for STOP_NONE. */
const char *stop_name(enum stop_reason reason);

/* "500GFLOPS" (also TFLOPS, MFLOPS) sets *gflops, "1.2ms" (also ns, us, s) sets *time_ns; the other is 0. ERR_INPUT. */
enum err stop_parse_target(const char *text, double *gflops, double *time_ns, struct why *why);

/* "1%" or "0.5 %", above 0 and below 100, as a share. ERR_INPUT. */
enum err stop_parse_gain(const char *text, double *share, struct why *why);

#endif
