/* SPDX-License-Identifier: MIT */
/* ours.h - our templates as contenders, through the same device layer that agents and libtune use. */
#ifndef TUNE_TESTS_BENCH_OPS_OURS_H
#define TUNE_TESTS_BENCH_OPS_OURS_H

#include "kernels/template.h"
#include "logs/log.h"
#include "tests/bench/ops/contender.h"

/* Builds, verifies (when `verify`) and prepares one contender for the workload `text`, which may be the task's in
 * another layout. Errors as the device's and verify's. */

/* "TEMPLATE knob=value ...": knobs not named keep the default's values; a key of the workload that is a word
 * ("layout=nchw16c") changes the workload. ERR_INPUT names what is wrong. */
enum err ours_given(const struct task *t, const char *config, bool verify, struct contender *out, struct why *why);
/* The template's default config. ERR_UNSUPPORTED: it does not fit. */
enum err ours_default(const struct task *t, const char *text, const struct template *template, bool verify,
                      struct contender *out, struct why *why);
/* The best record of the workload in a set. ERR_NOT_FOUND: it has none. */
enum err ours_best(const struct task *t, const char *text, const struct best_set *set, bool verify,
                   struct contender *out, struct why *why);

/* The templates of the workload's operator, NULL-ended; NULL when the text does not parse. */
const struct template *const *ours_templates(const char *text);

/* How the template suits the workload `text` on the task's device; FIT_NONE when the text does not parse. */
enum fit ours_fit(const struct task *t, const char *text, const struct template *template);

#endif
