/* SPDX-License-Identifier: MIT */
/* long_test.h - the frame of the tests that verify hundreds of programs on the devices of a backend: arguments,
 * devices, verdicts that are kept, processes, what was covered. Arguments: --seed N (sample.h); --full: all items in
 * place of a sample; "i/n": only part i of n of all, in one process, for GPUs (scripts/gpu_tests.sh); --kernel-dir DIR:
 * kernel texts from there. TUNE_ONLY=conv2d/direct leaves other templates out. */
#ifndef TUNE_TESTS_KERNELS_LONG_TEST_H
#define TUNE_TESTS_KERNELS_LONG_TEST_H

#include "tests/kernels/pool.h"
#include "tests/kernels/run_device.h"
#include "tests/kernels/sample.h"
#include "tests/kernels/verdicts.h"

/* Part i of n of a long test. */
struct part {
    unsigned long i, n, at;
};

struct long_test {
    const char *backend;
    struct device_desc d[MAX_DEVICES];
    int n_devices;
    uint64_t seed;
    bool is_full, is_part;
    struct part part;
    struct verdicts verdicts;
    bool keeps; /* verdicts: not of a real GPU's driver, whose version is not in the key */
    /* In children. */
    struct devices_under_test under;
    struct sha256 drivers[MAX_DEVICES];
};

/* Reads arguments and describes the devices, in a child. False (and words on stdout) when there is none. */
bool long_test_begin(struct long_test *t, const char *backend, int argc, char **argv);
void long_test_end(struct long_test *t);

/* The items of a long test, by number. */
struct long_items {
    struct sample_labels *labels; /* what each stands for: its template, what else, its architecture */
    char (*column)[24];           /* of the table that counts it beside its architecture */
    bool *chosen;                 /* to be run */
    bool *done;                   /* passed */
    size_t n;
};

/* Makes `items` ready for n of them, labels empty. long_items_fini frees. */
void long_items_init(struct long_items *items, size_t n);

/* Chooses all items of a full run, else a sample by the seed: every label once, then others up to n_least in all. */
void long_items_choose(const struct long_test *t, struct long_items *items, size_t n_least);
void long_items_fini(struct long_items *items);

/* Runs the chosen items in processes. `work` (in a child, its devices open in t->under) answers "ok" or "kept", with
 * words behind a space if it likes, or anything else: told as a failure. How many failed; `dies_well`: a death is as
 * good as "ok". */
int long_test_run(struct long_test *t, struct long_items *items, bool dies_well,
                  void (*work)(size_t i, struct buf *answer, void *arg), void *arg);

/* Prints the table of what passed: a row a template. Every label must be covered: gives how many are not, and tells
 * them; a part of the test, and TUNE_ONLY, are free of it. */
size_t long_test_covered(const struct long_test *t, const struct long_items *items, const char *title);

/* The key of a program's verdict on a device of a child; false: keeps none. */
bool long_test_key(const struct long_test *t, const char *what, const struct program *p, int i_device,
                   struct sha256 *out);

#endif
