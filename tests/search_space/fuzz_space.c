/* Feeds mutated expressions, configs, JSON and descriptions of spaces to the parsers: `fuzz_space [iterations [seed]]`,
 * or, built with -fsanitize=fuzzer -DFUZZ_LIBFUZZER, as a libFuzzer target. What compiles must evaluate without a
 * fault, and the set of valid configs must be what the constraint says of each. */
#include "search_space/expr.h"
#include "search_space/space.h"
#include "search_space/space_file.h"
#include "search_space/valid_set.h"

#include "core/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct space *space;

static int resolve(const char *name, size_t n, void *arg)
{
    (void)arg;
    return n == 1 && name[0] >= 'a' && name[0] <= 'd' ? name[0] - 'a' : -1;
}

static void try_expression(const char *text)
{
    static const struct expr_value slots[] = {{3, NULL}, {-2, NULL}, {0, NULL}, {0, "vec"}};
    struct expr *e = NULL;
    struct why why;
    double v = 0;

    if (expr_compile(text, resolve, NULL, &e, &why) != ERR_OK)
        return;
    if (expr_eval(e, slots, &v) == ERR_OK && v - v != 0) {
        fprintf(stderr, "not finite: %s\n", text);
        abort();
    }
    expr_free(e);
}

static void check_set(const struct space *s)
{
    struct valid_set *v = NULL;
    uint64_t n = 0;
    struct config c;
    struct why why;

    if (valid_set_new(s, (size_t)64 << 20, &v, &why) != ERR_OK)
        return;
    for (uint64_t i = 0; i < space_size(s); i++) {
        if (space_at(s, i, &c) != ERR_OK || valid_set_has(v, &c) != space_is_valid(s, &c, NULL)) {
            fprintf(stderr, "the set and the constraint differ at %llu\n", (unsigned long long)i);
            abort();
        }
        n += valid_set_has(v, &c);
    }
    if (n != valid_set_count(v))
        abort();
    valid_set_free(v);
}

/* The text as the only constraint on three knobs of numbers and one of words. */
static void try_constraint(const char *text)
{
    static const double values[] = {3, -2, 0, 0.5};
    static const char *const words[] = {"vec", "x"};
    struct space *s = NULL;

    if (space_new(&s) || space_add_knob(s, "a", values, 4, NULL) || space_add_knob(s, "b", values, 4, NULL) ||
        space_add_knob(s, "c", values, 3, NULL) || space_add_knob_words(s, "d", words, 2, NULL) ||
        space_add_constraint(s, text, NULL))
        abort();
    if (space_seal(s, NULL) == ERR_OK)
        check_set(s);
    space_free(s);
}

static void try_file(const char *text, size_t n)
{
    struct space *s = NULL;
    struct why why;

    if (space_file_parse(text, n, &s, NULL, &why) != ERR_OK)
        return;
    if (space_size(s) <= 4096)
        check_set(s);
    space_free(s);
}

static void try_config(const char *text, size_t n)
{
    struct config c;
    cJSON *json = NULL;
    struct why why;

    if (space_config_parse(space, text, &c, &why) == ERR_OK && !space_config_in_range(space, &c))
        abort();
    if (json_parse(text, n, &json, &why) == ERR_OK && space_config_from_json(space, json, &c, &why) == ERR_OK)
        (void)space_is_valid(space, &c, NULL);
    cJSON_Delete(json);
}

static void make_space(void)
{
    static const double numbers[] = {1, 2.5, -4};
    static const char *const words[] = {"x", "y"};

    if (space_new(&space) || space_add_knob(space, "a", numbers, 3, NULL) ||
        space_add_knob_words(space, "w", words, 2, NULL) || space_seal(space, NULL))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);

    if (!space)
        make_space();
    if (!text)
        return 0;
    if (n)
        memcpy(text, data, n);
    text[n] = '\0';
    try_expression(text);
    try_constraint(text);
    try_config(text, n);
    try_file(text, n);
    free(text);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static const char *const seeds[] = {
    "32 <= a * b <= 1024 and c == 0",
    "not (a in {1, 2, 3}) or d == 'vec' && !b",
    "min(a, b, -c) // 3 % ceil_div(a, 2) / 4.5e1",
    "a not in [1, (2)] != 3 < 4 >= a",
    "((((a))))+-+-1",
    "a=1 w=x",
    "a=-4 w=y",
    "{\"a\":2.5,\"w\":\"x\"}",
    "a * b * c <= 1 or d != 'x' and a // b in {0, c}",
    "{\"params\":[{\"name\":\"a\",\"values\":[1,2,4]},{\"name\":\"b\",\"values\":[3,5]}],\"restrictions\":[\"a*b<9\"]}",
    "{\"ConfigurationSpace\":{\"TuningParameters\":[{\"Name\":\"a\",\"Values\":\"['x','y']\"}],\"Conditions\":[]}}",
};
#define N_SEEDS (sizeof seeds / sizeof seeds[0])

static const char alphabet[] = "abcdw0129.e+-*/%()<>=!&|{}[],'\" \t\n\\:xyzandornotin\x80\xff";

static size_t mutate(struct rng *rng, char *text, size_t n)
{
    const size_t at = rng_below(rng, n + 1), other = rng_below(rng, n + 1);
    const char c = alphabet[rng_below(rng, sizeof alphabet - 1)];

    switch (rng_below(rng, 4)) {
    case 0: /* insert */
        if (n + 1 >= MAX_TEXT)
            return n;
        memmove(text + at + 1, text + at, n - at);
        text[at] = c;
        return n + 1;
    case 1: /* overwrite */
        if (at < n)
            text[at] = c;
        return n;
    case 2: /* drop the rest from one place, or a piece */
        if (at < other) {
            memmove(text + at, text + other, n - other);
            return n - (other - at);
        }
        return n;
    default: /* say a piece again */
        if (at >= other || n + (other - at) >= MAX_TEXT)
            return n;
        memmove(text + other + (other - at), text + other, n - other);
        memcpy(text + other, text + at, other - at);
        return n + (other - at);
    }
}

int main(int argc, char **argv)
{
    const long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    char text[MAX_TEXT];
    struct rng rng;

    rng_init(&rng, seed);
    for (long i = 0; i < iterations; i++) {
        const char *from = seeds[rng_below(&rng, N_SEEDS)];
        size_t n = strlen(from);

        memcpy(text, from, n);
        for (uint64_t k = rng_below(&rng, 12); k > 0; k--)
            n = mutate(&rng, text, n);
        LLVMFuzzerTestOneInput((const uint8_t *)text, n);
    }
    space_free(space);
    printf("%ld mutated inputs\n", iterations);
    return 0;
}
#endif
