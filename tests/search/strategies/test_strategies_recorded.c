/* SPDX-License-Identifier: MIT */
/* The model strategy on recorded spaces: a short run that is the same on every machine. Skips without TUNE_TEST_DATA.
 */
#include "search_space/recorded.h"
#include "search/strategy.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUDGET 64
#define BATCH 8
#define SEEDS 2

/* optimum / best of one run. */
static double share_of_optimum(const struct strategy_ops *ops, const struct recorded *r, uint64_t seed)
{
    const struct strategy_options o = {.seed = seed, .budget = BUDGET};
    struct strategy *s = NULL;
    double best_ms = INFINITY;

    assert_int_equal(ops->init(&s, recorded_space(r), &o), ERR_OK);
    for (size_t n = 0; n < BUDGET; n += BATCH) {
        struct proposal p[BATCH];
        struct outcome told[BATCH];
        size_t n_out = 0;

        assert_int_equal(ops->ask(s, BATCH, p, &n_out), ERR_OK);
        for (size_t i = 0; i < n_out; i++) {
            const int64_t i_row = recorded_find(r, &p[i].config);
            double time_ms;

            assert_true(i_row >= 0);
            time_ms = recorded_row(r, (size_t)i_row)->time_ms;
            best_ms = fmin(best_ms, time_ms);
            told[i] = (struct outcome){.config = p[i].config, .value = log(time_ms)};
        }
        assert_int_equal(ops->tell(s, told, n_out), ERR_OK);
    }
    ops->fini(s);
    return recorded_optimum_ms(r) / best_ms;
}

struct tally {
    size_t n_spaces, n_won;
    double model, random;
};

static void compare(const char *path, struct tally *t)
{
    double model = 0, random = 0;
    struct recorded *r = NULL;
    struct why why = {""};

    if (recorded_open(path, &r, &why))
        fail_msg("%s: %s", path, why.text);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        model += share_of_optimum(strategy_find("model"), r, seed) / SEEDS;
        random += share_of_optimum(strategy_find("random"), r, seed) / SEEDS;
    }
    t->n_spaces++;
    t->n_won += model >= random;
    t->model += model;
    t->random += random;
    recorded_close(r);
}

static void model_beats_random_on_recorded_spaces(void **state)
{
    const char *root = getenv("TUNE_TEST_DATA");
    struct tally t = {0};
    char folder[4096], path[8192];
    struct dirent *entry;
    DIR *dir;

    (void)state;
    snprintf(folder, sizeof(folder), "%s/replay", root);
    dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        const size_t n = strlen(entry->d_name);

        if (n < 5 || strcmp(entry->d_name + n - 5, ".json") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        compare(path, &t);
    }
    if (dir)
        closedir(dir);
    if (t.n_spaces == 0)
        skip();
    printf("%zu spaces, %d evaluations: model %.4f, random %.4f of the optimum; model not behind on %zu\n", t.n_spaces,
           BUDGET, t.model / (double)t.n_spaces, t.random / (double)t.n_spaces, t.n_won);
    assert_true(t.model > t.random);
    assert_true(4 * t.n_won >= 3 * t.n_spaces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(model_beats_random_on_recorded_spaces)};
    const char *root = getenv("TUNE_TEST_DATA");

    if (!root || !*root) {
        printf("skipped: TUNE_TEST_DATA is not set\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
