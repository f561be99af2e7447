/* SPDX-License-Identifier: MIT */
/* Seeded bugs: mutants of each template's text are called wrong by the check that the farm uses. A sample that the seed
 * draws, with a mutant of every template and of every class (what is wrong with it), on every architecture (and of
 * templates for some architectures on each of theirs); or all (--full). A mutant may write anywhere: the death of the
 * process that runs it is a find as well. */
#include "core/rng.h"
#include "runtime/cuda_arch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/cases.h"
#include "tests/kernels/item.h"

#define MAX_ITEMS 4000
#define N_OTHERS 24 /* random configs tried where the default one does without the code that has the bug */

static struct long_test under;

static struct {
    const struct mutant *m;
    int i_device;
} list[MAX_ITEMS];
static size_t n_items;

/* Where the text begins that not all kernels have: that of an activation, or behind it the template's own. */
static const char *own_text(const struct blob *text)
{
    static const char mark[] = "#line 1\n", activation[] = "#undef RELU1\n";
    const char *at = memmem(text->data, text->n_bytes, activation, sizeof activation - 1);

    if (!at)
        at = memmem(text->data, text->n_bytes, mark, sizeof mark - 1);

    return at ? at : (const char *)text->data;
}

/* Replaces every `from` of the template's own text by `to`, or where it has none of what all kernels have; false when
 * there is none. */
static bool patch_text(const struct blob *text, const struct mutant *m, struct buf *out)
{
    const char *at = own_text(text), *end = (const char *)text->data + text->n_bytes, *hit;
    bool found = false;

    if (!memmem(at, (size_t)(end - at), m->from, strlen(m->from)))
        at = (const char *)text->data;
    buf_append(out, text->data, (size_t)(at - (const char *)text->data));
    while ((hit = memmem(at, (size_t)(end - at), m->from, strlen(m->from)))) {
        buf_append(out, at, (size_t)(hit - at));
        buf_puts(out, m->to);
        at = hit + strlen(m->from);
        found = true;
    }
    buf_append(out, at, (size_t)(end - at));
    return found;
}

/* The mutant's program of one config. ERR_NOT_FOUND: the text has nothing to patch. */
static enum err make_mutant(const struct mutant *m, const struct template *t, const struct workload *w,
                            const struct device_desc *d, const struct space *s, const struct config *c,
                            struct program *p, struct blobs *blobs, struct why *why)
{
    struct buf text;
    enum err e = template_program(t, w, d, s, c, p, blobs, why);

    if (!e)
        e = template_add_sheet(t, w, d, s, c, item_data_seed(), p, blobs, why);
    buf_init(&text, (size_t)1 << 20);
    if (!e && !patch_text(blobs_get(blobs, p->modules[0].source.hex), m, &text))
        e = why_set(why, ERR_NOT_FOUND, "no \"%s\" to patch", m->from);
    if (!e)
        e = blobs_put(blobs, buf_text(&text), text.len, &p->modules[0].source);
    buf_fini(&text);
    return e ? e : item_build_plain(p); /* the text is on trial, not the compiler */
}

/* A wrong answer; a device that finds an access out of bounds may say that. */
static bool is_found(enum err e)
{
    return e == ERR_WRONG || (e == ERR_DEVICE && strcmp(under.backend, "cuda") == 0);
}

/* What the check says of one config of the mutant; *was_kept: said so before. */
static enum err verify_mutant(size_t i, const struct template *t, const struct workload *w, const struct space *s,
                              const struct config *c, bool *was_kept, struct why *why)
{
    const int i_device = list[i].i_device;
    struct program p;
    struct blobs blobs;
    struct sha256 key;
    enum err e;
    bool keeps;

    blobs_init(&blobs, (size_t)1 << 28);
    e = make_mutant(list[i].m, t, w, &under.d[i_device], s, c, &p, &blobs, why);
    keeps = !e && long_test_key(&under, "wrong", &p, i_device, &key);
    *was_kept = keeps && verdicts_find(&under.verdicts, key.hex);
    if (*was_kept) {
        e = ERR_WRONG;
    } else if (!e) {
        want_device(&under.under, i_device);
        e = load_and_verify(under.under.ops, under.under.list[i_device], &p, &blobs, why);
        if (keeps && is_found(e))
            (void)verdicts_keep(&under.verdicts, key.hex, "");
        if (e == ERR_DEVICE)
            lose_device(&under.under, i_device);
    }
    program_fini(&p);
    blobs_fini(&blobs);
    return e;
}

/* The mutant's own config, or the default. GPUs' defaults may do without the code that has the bug, or have no y in the
 * kernel where it is put (parts of sums are written elsewhere): others then, and one of them must be called wrong. */
static enum err verify_configs(size_t i, const struct template *t, const struct workload *w, const struct space *s,
                               bool *was_kept, struct why *why)
{
    const char *own = list[i].m->config;
    const int n_others = !own && strcmp(under.backend, "cuda") == 0 ? N_OTHERS : 0;
    struct config c;
    struct rng rng;
    enum err e = own ? space_config_parse(s, own, &c, why) : t->fallback(w, &under.d[list[i].i_device], s, &c);

    rng_init(&rng, 1);
    if (!e)
        e = verify_mutant(i, t, w, s, &c, was_kept, why);
    for (int n = 0; (!e || e == ERR_COMPILE) && n < n_others && !space_sample(s, &rng, 1000000, &c); n++)
        e = verify_mutant(i, t, w, s, &c, was_kept, why);
    return e;
}

static void work(size_t i, struct buf *answer, void *arg)
{
    const struct mutant *m = list[i].m;
    const struct template *t = template_find(m->template_id);
    const struct device_desc *d = &under.d[list[i].i_device];
    struct workload w;
    struct space *s = NULL;
    struct why why = {""};
    bool was_kept = false;
    enum err e = workload_parse(m->workload, &w, &why);

    (void)arg;
    if (!e)
        e = template_space(t, &w, d, &s, &why);
    if (!e)
        e = verify_configs(i, t, &w, s, &was_kept, &why);
    space_free(s);
    if (is_found(e))
        buf_puts(answer, was_kept ? "kept" : "ok");
    else
        buf_printf(answer, "%s on %s: %s (%s), expected a wrong answer", m->name, d->name, err_words(e), why.text);
}

static bool has(const struct device_desc *d, const char *need)
{
    return strcmp(need, "cpu") == 0 ? d->kind == DEVICE_CPU : cuda_arch_has(d, need);
}

/* False where the device cannot show it. */
static bool add(const struct mutant *m, int i_device)
{
    struct workload w;

    assert_int_equal(workload_parse(m->workload, &w, NULL), ERR_OK);
    if (template_find(m->template_id)->fit(&w, &under.d[i_device], NULL) == FIT_NONE) /* of CUDA alone, say */
        return false;
    if (m->needs && !has(&under.d[i_device], m->needs))
        return false;
    assert_true(n_items < MAX_ITEMS);
    list[n_items].m = m;
    list[n_items++].i_device = i_device;
    return true;
}

/* All of them, on all devices for a sample to choose from, on one each where all are run. */
static void add_mutants(void)
{
    int turn = 0;

    for (const struct cases *const *cases = cases_table; *cases; cases++)
        for (const struct mutant *m = (*cases)->mutants; m->template_id; m++, turn++) {
            if (!template_find(m->template_id))
                fail_msg("%s: no such template", m->template_id);
            for (int i = 0; is_wanted(m->template_id) && i < under.n_devices; i++)
                if (add(m, (turn + i) % under.n_devices) && under.is_full)
                    break;
        }
}

/* A template of some architectures alone has instructions of theirs. */
static bool is_for_some(const struct mutant *m)
{
    struct workload w;
    bool refused = false;

    if (workload_parse(m->workload, &w, NULL))
        return false;
    for (int i = 0; i < under.n_devices; i++)
        refused |= template_find(m->template_id)->fit(&w, &under.d[i], NULL) == FIT_NONE;
    return refused;
}

static void label(struct long_items *items)
{
    for (size_t i = 0; i < n_items; i++) {
        struct sample_labels *l = &items->labels[i];

        snprintf(l->of[0], SAMPLE_LABEL_BYTES, "%s", list[i].m->template_id);
        snprintf(l->of[1], SAMPLE_LABEL_BYTES, "class: %s", list[i].m->name);
        if (under.d[list[i].i_device].sm)
            snprintf(l->of[2], SAMPLE_LABEL_BYTES, "sm_%d", (int)under.d[list[i].i_device].sm);
        if (under.d[list[i].i_device].sm && is_for_some(list[i].m))
            snprintf(l->of[3], SAMPLE_LABEL_BYTES, "%s on sm_%d", list[i].m->template_id,
                     (int)under.d[list[i].i_device].sm);
        snprintf(items->column[i], sizeof items->column[i], "mutants");
    }
}

static void print_classes(const struct long_items *items)
{
    struct coverage table = {.n_rows = 0};

    for (size_t i = 0; i < items->n; i++)
        coverage_add(&table, items->labels[i].of[1], "mutants", items->done[i]);
    coverage_print(&table, "classes");
    coverage_fini(&table);
}

static void every_class_of_mutant_is_called_wrong(void **state)
{
    struct long_items items;
    int n_failed;
    size_t n_uncovered;

    (void)state;
    add_mutants();
    long_items_init(&items, n_items);
    label(&items);
    long_items_choose(&under, &items, 0);
    n_failed = long_test_run(&under, &items, true, work, NULL);
    n_uncovered = long_test_covered(&under, &items, "mutants that are called wrong");
    if (!under.is_part)
        print_classes(&items);
    long_items_fini(&items);
    assert_int_equal(n_failed, 0);
    assert_int_equal(n_uncovered, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_class_of_mutant_is_called_wrong)};
    int failed;

    setenv("TUNE_FENCE", "1", 1); /* as what verifies a user's config: reads beside a buffer are seen */
    if (!long_test_begin(&under, BACKEND, argc, argv))
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    long_test_end(&under);
    return failed;
}
