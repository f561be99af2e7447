/* SPDX-License-Identifier: MIT */
/* contract.h - what every backend that runs kernels does alike, as tests over one that is open. */
#ifndef TUNE_TESTS_RUNTIME_CONTRACT_H
#define TUNE_TESTS_RUNTIME_CONTRACT_H

#include "tests/runtime/samples.h"

/* Before anything else of this header, with samples.h's sample_use; borrowed. cache: an empty folder. */
void contract_use(const struct device_ops *used, struct device *opened, const char *folder);

/* Runs all; gives the number of tests that failed. */
int contract_run(const char *name);
int contract_run_buffers(const char *name); /* only those that see how buffers are written and read */

/* Loads, verifies, looks at the guards and unloads; report may be NULL. */
enum err contract_check(struct sample *s, struct verify_report *report, struct why *why);
/* Frees the sample. */
void contract_expect(struct sample *s, enum err wanted, const char *words);

#endif
