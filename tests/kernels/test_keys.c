/* SPDX-License-Identifier: MIT */
/* Each key of a workload means something: left out, tensors, counts or programs are others. And the ends of what keys
 * may be: the last that is taken, the first that is refused. */
#include "core/buf.h"
#include "kernels/template.h"
#include "tests/kernels/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MAX_SEEN 512

static const struct device_desc devices[] = {{.api = "opencl",
                                              .kind = DEVICE_CPU,
                                              .max_work_group = 4096,
                                              .max_local = {4096, 4096, 4096},
                                              .local_bytes = 1 << 20,
                                              .fp16 = true,
                                              .vector_bits = 256},
                                             {.api = "opencl",
                                              .kind = DEVICE_GPU,
                                              .max_work_group = 1024,
                                              .max_local = {1024, 1024, 64},
                                              .local_bytes = 49152,
                                              .fp16 = true}};

/* ---- keys ---- */

static bool same_tensors(const struct workload *a, const struct workload *b)
{
    struct tensor of[2][OPERATOR_MAX_TENSORS];
    const size_t n = a->op->tensors(a, of[0]);
    bool same = b->op->tensors(b, of[1]) == n;

    for (size_t i = 0; i < n && same; i++) {
        const struct tensor *x = &of[0][i], *y = &of[1][i];

        same = strcmp(x->name, y->name) == 0 && x->role == y->role && x->dtype == y->dtype && x->n_dims == y->n_dims &&
               x->n_elems == y->n_elems && strcmp(x->layout, y->layout) == 0 &&
               memcmp(x->shape, y->shape, (size_t)x->n_dims * sizeof x->shape[0]) == 0;
    }
    return same;
}

/* The default program as text, without the workload's own; empty where the template does not compute it. */
static void put_program(const struct template *t, const struct workload *w, const struct device_desc *d,
                        struct buf *out)
{
    struct space *s = NULL;
    struct config c;
    struct program p;
    struct blobs blobs;

    if (t->fit(w, d, NULL) == FIT_NONE)
        return;
    blobs_init(&blobs, (size_t)1 << 28);
    assert_int_equal(template_space(t, w, d, &s, NULL), ERR_OK);
    assert_int_equal(t->fallback(w, d, s, &c), ERR_OK);
    assert_int_equal(template_kernels(t, w, d, s, &c, &p, &blobs, NULL), ERR_OK);
    if (p.workload)
        p.workload[0] = '\0';
    assert_int_equal(program_to_json(&p, out), ERR_OK);
    program_fini(&p);
    blobs_fini(&blobs);
    space_free(s);
}

static bool same_programs(const struct workload *a, const struct workload *b)
{
    bool same = true;

    for (size_t d = 0; d < sizeof devices / sizeof devices[0] && same; d++)
        for (const struct template *const *t = a->op->templates; *t && same; t++) {
            struct buf of[2];

            buf_init(&of[0], (size_t)1 << 22);
            buf_init(&of[1], (size_t)1 << 22);
            put_program(*t, a, &devices[d], &of[0]);
            put_program(*t, b, &devices[d], &of[1]);
            same = strcmp(buf_text(&of[0]), buf_text(&of[1])) == 0;
            buf_fini(&of[0]);
            buf_fini(&of[1]);
        }
    return same;
}

static bool same_meaning(const struct workload *a, const struct workload *b)
{
    return same_tensors(a, b) && a->op->flops(a) == b->op->flops(b) && a->op->bytes_min(a) == b->op->bytes_min(b) &&
           same_programs(a, b);
}

/* The key as if it had been left out; false: it was, or cannot be, or the rest makes no sense without it. */
static bool leave_out(struct workload *w, size_t i)
{
    const struct operator_key *key = &w->op->keys[i];
    const struct workload before = *w;

    if (key->required || key->kind == KEY_TEXT)
        return false;
    for (int part = 0; part < WORKLOAD_MAX_PARTS; part++)
        w->key[i].v[part] = key->kind == KEY_HASH || key->kind == KEY_SIZES ? 0
                            : part < (key->kind == KEY_PAIR  ? 2
                                      : key->kind == KEY_PAD ? 4
                                                             : 1)
                                ? key->otherwise
                                : before.key[i].v[part];
    return memcmp(w->key[i].v, before.key[i].v, sizeof w->key[i].v) != 0 && w->op->check(w, NULL) == ERR_OK;
}

/* "op key value" of what was found to mean something. */
static char seen[MAX_SEEN][96];
static size_t n_seen;

static bool is_new(const char *text)
{
    for (size_t i = 0; i < n_seen; i++)
        if (strcmp(seen[i], text) == 0)
            return false;
    assert_true(n_seen < MAX_SEEN);
    snprintf(seen[n_seen++], sizeof seen[0], "%s", text);
    return true;
}

static void every_key_means_something(void **state)
{
    (void)state;
    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const char *const *shape = (*cases)->shapes; *shape; shape++) {
            struct workload w, other;

            assert_int_equal(workload_parse(*shape, &w, NULL), ERR_OK);
            for (size_t i = 0; w.op->keys[i].name; i++) {
                const struct operator_key *key = &w.op->keys[i];
                char text[96];

                other = w;
                snprintf(text, sizeof text, "%s %s %s %s", w.op->name, dtype_name(w.dtype), key->name,
                         key->kind == KEY_WORD ? key->words[w.key[i].v[0]] : "");
                if (leave_out(&other, i) && is_new(text) && same_meaning(&w, &other))
                    fail_msg("%s: %s changes nothing", *shape, key->name);
            }
        }
    assert_true(n_seen > 50);
}

/* ---- ends ---- */

/* The last that is taken and the first that is not; words of the refusal. */
static void check_end(const char *taken, const char *refused, const char *words)
{
    struct workload w;
    struct why why = {""};

    if (workload_parse(taken, &w, &why))
        fail_msg("%s: %s", taken, why.text);
    if (!workload_parse(refused, &w, &why))
        fail_msg("%s is taken", refused);
    if (!strstr(why.text, words))
        fail_msg("%s: '%s', expected '%s'", refused, why.text, words);
}

#define RESIZE "resize2d f32 n=1 c=1 h=4 w=4 "

/* 2^31 - 1 units: of places, first and last, on either side, and of the elements themselves; of rows and of columns. */
static void places_of_a_resize_fit_32_bits(void **state)
{
    (void)state;
    check_end(RESIZE "size=2,1 step=2147483647,1", RESIZE "size=3,1 step=2147483647,1", "places");
    check_end(RESIZE "size=1,2 step=1,-2147483647", RESIZE "size=1,3 step=1,-2147483647", "places");
    check_end(RESIZE "size=2,1 step=7,1 first=2147483640,0", RESIZE "size=2,1 step=8,1 first=2147483640,0", "places");
    check_end(RESIZE "size=1,2 step=1,7 first=0,2147483640", RESIZE "size=1,2 step=1,8 first=0,2147483640", "places");
    check_end(RESIZE "size=2,1 step=-7,1 first=-2147483640,0", RESIZE "size=2,1 step=-8,1 first=-2147483640,0",
              "places");
    check_end(RESIZE "size=1,2 step=1,1 unit=1,536870911", RESIZE "size=1,2 step=1,1 unit=1,536870912", "places");
    check_end(RESIZE "size=2,1 step=1,1 unit=536870911,1", RESIZE "size=2,1 step=1,1 unit=536870912,1", "places");
}

/* Numbers of rows are whole in the type that they come in. */
static void numbers_of_rows_fit_their_type(void **state)
{
    (void)state;
    check_end("gather f16 n=2048 m=3", "gather f16 n=2049 m=3", "n=2048");
    check_end("gather f32 n=2049 m=3", "gather f32 n=16777217 m=3", "n=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_means_something),
        cmocka_unit_test(places_of_a_resize_fit_32_bits),
        cmocka_unit_test(numbers_of_rows_fit_their_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
