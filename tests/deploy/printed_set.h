/* SPDX-License-Identifier: MIT */
/* printed_set.h - a set of layers whose bundle is printed when tests are built, and made again by the test that
 * compares both. Its last layer is made by hand: every field of its tables has a value of its own. */
#ifndef TUNE_TESTS_DEPLOY_PRINTED_SET_H
#define TUNE_TESTS_DEPLOY_PRINTED_SET_H

#include "deploy/set.h"

#define BY_HAND "kernel by_hand \"q\"" /* workload of the layer made by hand */
#define N_PRINTED_BEST 3
#define N_INDEXED 1000 /* expected values of its last check */

/* The records that the layouts of the whole network are chosen by. */
struct printed_best {
    const char *workload, *template_id;
    double time_ns;
};
extern const struct printed_best printed_best[N_PRINTED_BEST];

/* Fills `s`, and shares its modules. `api`: "opencl" (named net), "cuda" (cu: only the layer made by hand, with code
 * made ahead), or "network" (whole: ResNet-18 of the records above). */
enum err printed_set_init(struct deploy_set *s, const char *api, struct why *why);
void printed_set_fini(struct deploy_set *s);

#endif
