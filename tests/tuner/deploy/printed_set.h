/* SPDX-License-Identifier: MIT */
/* printed_set.h - a set of layers whose bundle is printed when tests are built, and made again by the test that
 * compares both. Its last layer is made by hand: every field of its tables has a value of its own. */
#ifndef TUNE_TESTS_TUNER_DEPLOY_PRINTED_SET_H
#define TUNE_TESTS_TUNER_DEPLOY_PRINTED_SET_H

#include "tuner/deploy/set.h"

#define BY_HAND "kernel by_hand \"q\"" /* workload of the layer made by hand */
#define N_INDEXED 1000                 /* expected values of its last check */

/* Fills `s` with layers of `api`, "opencl" or "cuda" (then only the one made by hand, with code made ahead), shared. */
enum err printed_set_init(struct deploy_set *s, const char *api, struct why *why);
void printed_set_fini(struct deploy_set *s);

#endif
