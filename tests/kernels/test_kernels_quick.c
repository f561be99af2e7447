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
#define MAX_FLOPS 4e6 /* computing what is expected of larger ones takes longer than the kernel */

static struct long_test under;
static struct item list[MAX_ITEMS];
static size_t n_items;

/* How much a shape asks: its words that are not left out as defaults, and its lengths that no vector divides. */
static int demands(const struct workload *w)
{
    struct buf text;
    int n = 0;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    (void)workload_text(w, &text);
    for (const char *at = buf_text(&text); (at = strchr(at, '=')); at++) {
        const long length = strtol(at + 1, NULL, 10);

        n += 2 + (length > 1 && length % 2 == 1);
    }
    buf_fini(&text);
    return n;
}

/* The most demanding shape of each type. */
static void add_template(const struct template *t)
{
    const char *shapes[2 * N_DTYPES] = {NULL};
    int most[2 * N_DTYPES] = {0};

    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape; shape++) {
            struct workload w;
            char type[24];
            int at, n;

            assert_int_equal(workload_parse(*shape, &w, NULL), ERR_OK);
            if (!template_computes(t, w.op) || w.op->flops(&w) > MAX_FLOPS || t->fit(&w, &under.d[0], NULL) == FIT_NONE)
                continue;
            item_dtype(&w, type);
            at = 2 * (int)w.dtype + (strchr(type, '+') != NULL);
            n = demands(&w);
            if (n > most[at]) {
                most[at] = n;
                shapes[at] = *shape;
            }
        }
    for (size_t i = 0; i < 2 * N_DTYPES; i++)
        if (shapes[i]) {
            assert_true(n_items < MAX_ITEMS);
            list[n_items++] =
                (struct item){.t = t, .shape = shapes[i], .config = CONFIG_SMALL, .seed = 1, .is_plain = true};
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

    if (!long_test_begin(&under, "opencl", argc, argv))
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    long_test_end(&under);
    return failed;
}
