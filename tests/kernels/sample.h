/* SPDX-License-Identifier: MIT */
/* sample.h - samples that a seed draws out of all items of a long test, such that nothing named is left out: every
 * label that any item bears (a template and type, an architecture, a class of mutant) is borne by one that is chosen.
 * And the tables of what was covered. */
#ifndef TUNE_TESTS_KERNELS_SAMPLE_H
#define TUNE_TESTS_KERNELS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLE_LABELS 4
#define SAMPLE_LABEL_BYTES 64

/* What an item stands for; unused labels are "". */
struct sample_labels {
    char of[SAMPLE_LABELS][SAMPLE_LABEL_BYTES];
};

/* The seed of this run: behind --seed among the arguments, else TUNE_TEST_SEED (scripts/test.sh makes one of the
 * commit), else one made of the project's version; and the line that tells it. Exits with 2 on one that is no number.
 */
uint64_t sample_seed(int argc, char **argv);

/* True when `word` is among the arguments. */
bool sample_flag(int argc, char **argv, const char *word);

/* Chooses in an order that follows from the seed: items that bear a label not seen before, then others up to `n_least`
 * in all. */
void sample_choose(const struct sample_labels *items, size_t n, size_t n_least, uint64_t seed, bool *chosen);

/* Labels of items that no item with done[i] bears: tells them on stdout, gives their number. */
size_t sample_uncovered(const struct sample_labels *items, size_t n, const bool *done);

/* Counts by two names, for printing. */
struct coverage {
    char (*rows)[SAMPLE_LABEL_BYTES], (*columns)[SAMPLE_LABEL_BYTES];
    int (*cells)[24];
    size_t n_rows, n_columns;
};
void coverage_add(struct coverage *c, const char *row, const char *column, int n);
void coverage_column(struct coverage *c, const char *column);     /* the next one, whatever is counted first */
void coverage_print(const struct coverage *c, const char *title); /* with a line of sums */
void coverage_fini(struct coverage *c);

#endif
