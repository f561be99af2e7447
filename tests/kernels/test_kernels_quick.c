/* SPDX-License-Identifier: MIT */
/* Every template once in each of its types, on the first OpenCL device: of the shapes that it computes the one that
 * asks most of it, a small config, built without optimisation. So that a unit test sees a fault in a kernel's text or
 * its launch; test_kernels.c proves the rest. */
#include "tests/kernels/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/item.h"

#define MAX_ITEMS 1000
#define MAX_TRAITS 64
#define N_MORE 2      /* shapes of a template beside one a type */
#define MAX_FLOPS 4e6 /* computing what is expected of larger ones takes longer than the kernel */

static struct long_test under;
static struct item list[MAX_ITEMS];
static size_t n_items;

/* The words of a workload that templates branch on: keys of numbers ("stride"), or of several that differ ("stride,"),
 * words with their value ("layout=nchw4c").
 */
struct traits {
    char of[MAX_TRAITS][SAMPLE_LABEL_BYTES];
    size_t n;
};

static bool has_trait(const struct traits *t, const char *trait)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->of[i], trait) == 0)
            return true;
    return false;
}

/* How many of the shape's traits are new to `seen`, which gets them when `take` says so. */
static int new_traits(const struct workload *w, struct traits *seen, bool take)
{
    struct buf text;
    char *rest;
    int n = 0;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    (void)workload_text(w, &text);
    rest = text.data;
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');

        if (value && strspn(value + 1, "0123456789.,") == strlen(value + 1))
            strcpy(value, strchr(value + 1, ',') ? "," : "");
        if (has_trait(seen, word))
            continue;
        n++;
        if (take && seen->n < MAX_TRAITS)
            snprintf(seen->of[seen->n++], SAMPLE_LABEL_BYTES, "%s", word);
    }
    buf_fini(&text);
    return n;
}

/* Lengths that no vector divides. */
static int odd_lengths(const struct workload *w)
{
    struct buf text;
    int n = 0;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    (void)workload_text(w, &text);
    for (const char *at = buf_text(&text); (at = strchr(at, '=')); at++) {
        const long length = strtol(at + 1, NULL, 10);

        n += length > 1 && length % 2 == 1;
    }
    buf_fini(&text);
    return n;
}

static bool computes(const struct template *t, const struct workload *w)
{
    /* sums in half are sums in float where the device has no half */
    return template_computes(t, w->op) && w->op->flops(w) <= MAX_FLOPS && t->fit(w, &under.d[0], NULL) != FIT_NONE &&
           (under.d[0].fp16 || !workload_has(w, "acc") || workload_get(w, "acc") != 1);
}

/* The shape that has most traits not seen so far, of a type (N_DTYPES: any); NULL when none has any. */
static const char *most_demanding(const struct template *t, int dtype, struct traits *seen)
{
    const char *found = NULL;
    int most = 0;

    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape; shape++) {
            struct workload w;
            int n;

            assert_int_equal(workload_parse(*shape, &w, NULL), ERR_OK);
            if (!computes(t, &w) || (dtype != N_DTYPES && (int)w.dtype != dtype))
                continue;
            n = 8 * new_traits(&w, seen, false);
            n += n > 0 || dtype != N_DTYPES ? 1 + odd_lengths(&w) : 0;
            if (n > most) {
                most = n;
                found = *shape;
            }
        }
    return found;
}

static void add(const struct template *t, const char *shape, enum item_config config, struct traits *seen)
{
    struct workload w;

    assert_int_equal(workload_parse(shape, &w, NULL), ERR_OK);
    (void)new_traits(&w, seen, true);
    assert_true(n_items < MAX_ITEMS);
    list[n_items] =
        (struct item){.t = t, .shape = shape, .config = config, .seed = under.seed + n_items, .is_plain = true};
    n_items++;
}

/* Of each type the shape that asks most, in a small config; then shapes with other traits, in random ones. */
static void add_template(const struct template *t)
{
    struct traits seen = {.n = 0};
    const char *shape;

    for (int dtype = 0; dtype < N_DTYPES; dtype++)
        if ((shape = most_demanding(t, dtype, &seen)))
            add(t, shape, CONFIG_SMALL, &seen);
    for (int i = 0; i < N_MORE && (shape = most_demanding(t, N_DTYPES, &seen)); i++)
        add(t, shape, CONFIG_RANDOM, &seen);
}

/* What neither a small config nor a draw is sure to meet: the last vector of a row of windows that are apart, and of
 * hidden units of one column. */
static void add_ragged_rows(void)
{
    static const struct {
        const char *id, *shape, *config;
    } rows[] = {
        {"pool2d/rows", "pool2d f32 n=1 c=5 h=11 w=37 r=3 s=3 stride=2 pad=1", "vec=4 rows=2"},
        {"pool2d/rows", "pool2d f32 n=1 c=3 h=5 w=50 r=3 s=5 stride=3,4 pad=1,2", "vec=4 rows=2"},
        {"rnn/lanes", "rnn f32 i=3 h=5 b=1 t=2", "persist=1 vec=4 nv=1 cols=1 ku=1 in_rows=1"},
        {"rnn/lanes", "rnn f32 cell=gru i=2 h=6 l=2 b=1 t=2", "persist=0 vec=4 nv=2 cols=1 ku=1 in_rows=2"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!is_wanted(rows[i].id))
            continue;
        assert_true(n_items < MAX_ITEMS);
        list[n_items++] = (struct item){.t = template_find(rows[i].id),
                                        .shape = rows[i].shape,
                                        .config = CONFIG_TEXT,
                                        .text = rows[i].config,
                                        .is_plain = true};
    }
}

static void work(size_t i, struct buf *answer, void *arg)
{
    (void)arg;
    item_verify(&under, &list[i], answer);
}

static void every_template_is_right_once_in_every_type(void **state)
{
    struct long_items items;
    int n_failed;
    size_t n_uncovered;

    (void)state;
    for (size_t i = 0; operator_table[i]; i++)
        for (const struct template *const *t = operator_table[i]->templates; *t; t++)
            if (is_wanted((*t)->id))
                add_template(*t);
    add_ragged_rows();
    long_items_init(&items, n_items);
    for (size_t i = 0; i < n_items; i++)
        item_label(&under, &list[i], &items, i);
    memset(items.chosen, 1, n_items);
    n_failed = long_test_run(&under, &items, false, work, NULL);
    n_uncovered = long_test_covered(&under, &items, "configs that are right");
    long_items_fini(&items);
    assert_int_equal(n_failed, 0);
    assert_int_equal(n_uncovered, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_template_is_right_once_in_every_type)};
    int failed;

    setenv("TUNE_FENCE", "1", 1); /* as what verifies a user's config: reads beside a buffer are seen */
    if (!long_test_begin(&under, "opencl", argc, argv))
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    long_test_end(&under);
    return failed;
}
