/* SPDX-License-Identifier: MIT */
#include "tests/kernels/sample.h"

#include "core/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS (sizeof(int[24]) / sizeof(int))

/* FNV-1a: a number for a text. */
static uint64_t number_of(const char *text)
{
    uint64_t h = 14695981039346656037u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h & 0xffffffff;
}

uint64_t sample_seed(int argc, char **argv)
{
    const char *text = getenv("TUNE_TEST_SEED");
    uint64_t seed = number_of(TUNE_VERSION);
    char *end = NULL;

    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--seed") == 0)
            text = argv[i + 1];
    if (text && *text) {
        seed = strtoull(text, &end, 10);
        if (*end) {
            fprintf(stderr, "seed '%s': expected a number\n", text);
            exit(2);
        }
    }
    printf("seed %" PRIu64 " (again: --seed %" PRIu64 ", or TUNE_TEST_SEED)\n", seed, seed);
    return seed;
}

bool sample_flag(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

/* ---- labels ---- */

static int text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct labels {
    const char **list; /* sorted, each once */
    bool *is_seen;
    size_t n;
};

static void labels_init(struct labels *l, const struct sample_labels *items, size_t n)
{
    size_t n_different = 0;

    *l = (struct labels){.list = calloc(n * SAMPLE_LABELS + 1, sizeof *l->list)};
    if (!l->list)
        abort();
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < SAMPLE_LABELS; k++)
            if (items[i].of[k][0])
                l->list[l->n++] = items[i].of[k];
    if (l->n)
        qsort(l->list, l->n, sizeof *l->list, text_order);
    for (size_t i = 0; i < l->n; i++)
        if (i == 0 || strcmp(l->list[i], l->list[n_different - 1]) != 0)
            l->list[n_different++] = l->list[i];
    l->n = n_different;
    l->is_seen = calloc(n_different + 1, sizeof *l->is_seen);
    if (!l->is_seen)
        abort();
}

static void labels_fini(struct labels *l)
{
    free(l->list);
    free(l->is_seen);
}

/* Notes an item's labels; true when one of them was not seen before. */
static bool note(struct labels *l, const struct sample_labels *item)
{
    bool is_new = false;

    for (int k = 0; k < SAMPLE_LABELS; k++) {
        const char *label = item->of[k];
        const char **at = label[0] ? bsearch(&label, l->list, l->n, sizeof *l->list, text_order) : NULL;

        if (at && !l->is_seen[at - l->list])
            is_new = l->is_seen[at - l->list] = true;
    }
    return is_new;
}

static void shuffle(size_t *order, size_t n, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        const size_t k = (size_t)rng_below(&rng, i), kept = order[i - 1];

        order[i - 1] = order[k];
        order[k] = kept;
    }
}

void sample_choose(const struct sample_labels *items, size_t n, size_t n_least, uint64_t seed, bool *chosen)
{
    size_t *order = calloc(n + 1, sizeof *order), n_chosen = 0;
    struct labels labels;

    if (!order)
        abort();
    labels_init(&labels, items, n);
    shuffle(order, n, seed);
    memset(chosen, 0, n * sizeof *chosen);
    for (size_t i = 0; i < n; i++)
        if (note(&labels, &items[order[i]]))
            n_chosen += chosen[order[i]] = true;
    for (size_t i = 0; i < n && n_chosen < n_least; i++)
        if (!chosen[order[i]])
            n_chosen += chosen[order[i]] = true;
    labels_fini(&labels);
    free(order);
}

size_t sample_uncovered(const struct sample_labels *items, size_t n, const bool *done)
{
    struct labels labels;
    size_t n_uncovered = 0;

    labels_init(&labels, items, n);
    for (size_t i = 0; i < n; i++)
        if (done[i])
            (void)note(&labels, &items[i]);
    for (size_t i = 0; i < labels.n; i++)
        if (!labels.is_seen[i]) {
            printf("FAILED: %s: not covered\n", labels.list[i]);
            n_uncovered++;
        }
    labels_fini(&labels);
    return n_uncovered;
}

/* ---- tables ---- */

static size_t place_of(char (**names)[SAMPLE_LABEL_BYTES], size_t *n, const char *name)
{
    size_t i = 0;

    while (i < *n && strcmp((*names)[i], name) != 0)
        i++;
    if (i < *n)
        return i;
    *names = realloc(*names, (*n + 1) * sizeof **names);
    if (!*names)
        abort();
    snprintf((*names)[(*n)++], SAMPLE_LABEL_BYTES, "%s", name);
    return i;
}

void coverage_column(struct coverage *c, const char *column)
{
    if (place_of(&c->columns, &c->n_columns, column) >= MAX_COLUMNS)
        abort();
}

void coverage_add(struct coverage *c, const char *row, const char *column, int n)
{
    const size_t n_before = c->n_rows, i = place_of(&c->rows, &c->n_rows, row);
    const size_t k = place_of(&c->columns, &c->n_columns, column);

    if (c->n_columns > MAX_COLUMNS)
        abort();
    if (c->n_rows > n_before) {
        c->cells = realloc(c->cells, c->n_rows * sizeof *c->cells);
        if (!c->cells)
            abort();
        memset(c->cells[i], 0, sizeof c->cells[i]);
    }
    c->cells[i][k] += n;
}

/* As wide as the name of its column. */
static void print_cell(const struct coverage *c, size_t i_column, int n)
{
    const int width = (int)strlen(c->columns[i_column]);

    if (n)
        printf("  %*d", width < 5 ? 5 : width, n);
    else
        printf("  %*s", width < 5 ? 5 : width, "-");
}

void coverage_print(const struct coverage *c, const char *title)
{
    printf("%-34s", title);
    for (size_t k = 0; k < c->n_columns; k++)
        printf("  %5s", c->columns[k]);
    for (size_t i = 0; i <= c->n_rows; i++) {
        printf("\n%-34s", i < c->n_rows ? c->rows[i] : "all");
        for (size_t k = 0; k < c->n_columns; k++) {
            int sum = 0;

            for (size_t at = 0; at < c->n_rows; at++)
                sum += c->cells[at][k];
            print_cell(c, k, i < c->n_rows ? c->cells[i][k] : sum);
        }
    }
    printf("\n");
}

void coverage_fini(struct coverage *c)
{
    free(c->rows);
    free(c->columns);
    free(c->cells);
}
