/* SPDX-License-Identifier: MIT */
#include "core/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define MAX_LETTERS 63
#define MAX_CHANGES 3

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, const char *b)
{
    size_t row[MAX_LETTERS + 1];
    const size_t n = strlen(b);

    if (n > MAX_LETTERS || strlen(a) > MAX_LETTERS)
        return MAX_LETTERS + 1;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const size_t above = row[j], changed = diagonal + !same(a[i - 1], b[j - 1]);

            row[j] = smaller(changed, smaller(above, row[j - 1]) + 1);
            diagonal = above;
        }
    }
    return row[n];
}

const char *nearest_name(const char *name, const char *const *known, size_t n)
{
    const char *nearest = NULL;
    size_t best = smaller(MAX_CHANGES + 1, strlen(name));

    for (size_t i = 0; i < n; i++) {
        const size_t d = distance(name, known[i]);

        if (d < best) {
            best = d;
            nearest = known[i];
        }
    }
    return nearest;
}
