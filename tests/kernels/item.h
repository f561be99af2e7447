/* SPDX-License-Identifier: MIT */
/* item.h - one config of one template on one device, verified: what the long tests of kernels are made of. */
#ifndef TUNE_TESTS_KERNELS_ITEM_H
#define TUNE_TESTS_KERNELS_ITEM_H

#include "tests/kernels/long_test.h"

/* Of the data of a run's own: always the same, for verdicts are kept of programs with it; TUNE_DATA_SEED: another. */
uint64_t item_data_seed(void);

/* Which config of the space. SMALL: of 64 drawn ones that whose knobs are nearest to 2, so that every loop runs more
 * than once and little is compiled. TEXT: the one named. */
enum item_config { CONFIG_DEFAULT, CONFIG_RANDOM, CONFIG_SMALL, CONFIG_TEXT };

struct item {
    const struct template *t;
    const char *shape; /* a workload, lent */
    int i_device;
    enum item_config config;
    int nth;          /* the how manieth random one, from 0 */
    uint64_t seed;    /* of the random ones */
    const char *text; /* CONFIG_TEXT: "vec=8 wg=16"; lent */
    bool is_plain;    /* built without optimisation: for what the text says, a third of the time */
};

/* Its labels: the template, the template with the type, the device's architecture; and the type as column. */
void item_label(const struct long_test *t, const struct item *item, struct long_items *items, size_t i);

/* In a child: "ok CONFIG" or "kept CONFIG", or words on what failed. The default config stands for a random one where
 * the space has no other. */
void item_verify(struct long_test *t, const struct item *item, struct buf *answer);

/* "f16 acc=f16": the type, and that it sums in half. */
void item_dtype(const struct workload *w, char out[24]);

/* Builds without optimisation from now on; ERR_NOMEM. Devices of CUDA have no such word: left as it is. */
enum err item_build_plain(struct program *p);

#endif
