/* SPDX-License-Identifier: MIT */
#include "kernels/gemm/dot.h"

#include "core/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Fastest first. `number` is DOT in dot.clh; needs: a word of the device's extensions or dots. */
static const struct {
    const char *word, *needs;
    int number;
    unsigned forms; /* 1u << enum dot_form */
} dots[] = {
    {"vnni", "tune_vnni", 4, 1u << DOT_VECTORS | 1u << DOT_TAPS},
    {"usdot", "tune_usdot", 7, 1u << DOT_VECTORS},
    {"sdot", "tune_sdot", 6, 1u << DOT_VECTORS},
    {"dp4a", "tune_dp4a", 3, 1u << DOT_SCALARS},
    {"khr", "cl_khr_integer_dot_product", 1, 1u << DOT_SCALARS},
    {"arm", "cl_arm_integer_dot_product_int8", 2, 1u << DOT_SCALARS},
    {"fma", "", 5, 1u << DOT_VECTORS | 1u << DOT_TAPS},
    {"mul4", "", 0, 1u << DOT_SCALARS | 1u << DOT_VECTORS},
};

#define N_DOTS (sizeof dots / sizeof dots[0])

static bool has(const struct device_desc *d, const char *word)
{
    char list[sizeof d->extensions + sizeof d->dots + 3], padded[64];

    snprintf(list, sizeof list, " %s %s ", d->extensions, d->dots);
    snprintf(padded, sizeof padded, " %s ", word);
    return !word[0] || strstr(list, padded);
}

static bool is_offered(const char *word, enum dtype x, bool exact_in_f32)
{
    return (exact_in_f32 || strcmp(word, "fma") != 0) && strcmp(word, x == DTYPE_U8 ? "arm" : "usdot") != 0;
}

enum err dot_add_knob(struct space *s, const struct device_desc *d, enum dot_form form, enum dtype x, bool exact_in_f32,
                      struct why *why)
{
    const char *words[N_DOTS];
    size_t n = 0;

    for (size_t i = 0; i < N_DOTS; i++) {
        if ((dots[i].forms & 1u << form) && has(d, dots[i].needs) && is_offered(dots[i].word, x, exact_in_f32))
            words[n++] = dots[i].word;
    }
    assert(n > 0); /* mul4 and fma need nothing */
    return space_add_knob_words(s, "dot", words, n, why);
}

void dot_define(struct build *b)
{
    const char *word = build_word(b, "dot");

    size_t i = 0;

    while (i < N_DOTS && strcmp(dots[i].word, word) != 0)
        i++;
    assert(i < N_DOTS); /* the knob has no other words */
    build_define(b, "DOT", dots[i].number);
    if (strcmp(word, "khr") == 0 && strncmp(b->d->platform_version, "OpenCL 3", 8) == 0) /* OpenCL C 3.0's features */
        snprintf(b->p->std, sizeof b->p->std, "CL3.0");
    if (dots[i].needs[0])
        snprintf(b->p->extensions, sizeof b->p->extensions, "%s", dots[i].needs);
}
