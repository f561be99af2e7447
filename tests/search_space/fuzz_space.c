/* SPDX-License-Identifier: MIT */
/* Feeds expressions, configs, JSON and descriptions of spaces to the parsers. What compiles must evaluate without a
 * fault, and the set of valid configs must be what the constraint says of each. */
#include "search_space/expr.h"
#include "search_space/space.h"
#include "search_space/space_file.h"
#include "search_space/valid_set.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

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
    if (expr_eval(e, slots, &v) == ERR_OK && v - v != 0)
        fuzz_die("not finite: %s", text);
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
        if (space_at(s, i, &c) != ERR_OK || valid_set_has(v, &c) != space_is_valid(s, &c, NULL))
            fuzz_die("the set and the constraint differ at %llu", (unsigned long long)i);
        n += valid_set_has(v, &c);
    }
    if (n != valid_set_count(v))
        fuzz_die("%llu valid configs, the set counts %llu", (unsigned long long)n,
                 (unsigned long long)valid_set_count(v));
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
        fuzz_die("no space with %s", text);
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
        fuzz_die("a config out of range: %s", text);
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
        fuzz_die("no space");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);

    if (!space)
        make_space();
    try_expression(text);
    try_constraint(text);
    try_config(text, n);
    try_file(text, n);
    free(text);
    return 0;
}
