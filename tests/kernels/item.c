/* SPDX-License-Identifier: MIT */
#include "tests/kernels/item.h"

#include "core/rng.h"
#include "tests/kernels/draw.h"

#include <math.h>
#include <stdio.h>

#define N_SMALL 16
#define MAX_SOURCES ((size_t)256 << 10) /* bytes of text of a random config: compilers take minutes for more */
#define N_DRAWS 20

uint64_t item_data_seed(void)
{
    const char *given = getenv("TUNE_DATA_SEED");

    return given ? strtoull(given, NULL, 10) : 20261122;
}

void item_dtype(const struct workload *w, char out[24])
{
    const bool half = workload_has(w, "acc") && workload_get(w, "acc") == 1;

    snprintf(out, 24, "%s%s", dtype_name(w->dtype), half ? "+" : "");
}

void item_label(const struct long_test *t, const struct item *item, struct long_items *items, size_t i)
{
    struct sample_labels *labels = &items->labels[i];
    struct workload w;

    if (workload_parse(item->shape, &w, NULL))
        abort(); /* a case that is no workload: test_templates tells it */
    item_dtype(&w, items->column[i]);
    snprintf(labels->of[0], SAMPLE_LABEL_BYTES, "%s", item->t->id);
    snprintf(labels->of[1], SAMPLE_LABEL_BYTES, "%s %s", item->t->id, items->column[i]);
    if (item->config == CONFIG_TEXT) {
        snprintf(labels->of[2], SAMPLE_LABEL_BYTES, "named");                                  /* one column for all, */
        snprintf(labels->of[3], SAMPLE_LABEL_BYTES, "%s, config of item %zu", item->t->id, i); /* but each is taken */
    } else if (t->d[item->i_device].sm)
        snprintf(labels->of[2], SAMPLE_LABEL_BYTES, "sm_%d", (int)t->d[item->i_device].sm);
}

/* How far a config's numbers are from 2, in powers of two. */
static double bulk(const struct space *s, const struct config *c)
{
    double sum = 0;

    for (size_t i = 0; i < space_n_knobs(s); i++) {
        const struct value v = space_value(s, c, i);

        if (!v.text && v.number > 0)
            sum += fabs(log2(v.number) - 1);
    }
    return sum;
}

static enum err choose_small(const struct space *s, uint64_t seed, struct config *out)
{
    struct draw draw = {s, NULL};
    struct config c;
    struct rng rng;
    bool found = false;

    rng_init(&rng, seed);
    for (int i = 0; i < N_SMALL && draw_config(&draw, &rng, &c) == ERR_OK; i++)
        if (!found || bulk(s, &c) < bulk(s, out)) {
            *out = c;
            found = true;
        }
    draw_fini(&draw);
    return found ? ERR_OK : ERR_NOT_FOUND;
}

static enum err choose(const struct item *item, const struct workload *w, const struct device_desc *d,
                       const struct space *s, struct config *out)
{
    struct draw draw = {s, NULL};
    struct rng rng;
    enum err e = ERR_NOT_FOUND;

    rng_init(&rng, item->seed);
    if (item->config == CONFIG_TEXT)
        return space_config_parse(s, item->text, out, NULL);
    if (item->config == CONFIG_SMALL)
        e = choose_small(s, item->seed, out);
    else if (item->config == CONFIG_RANDOM && space_size(s) > 1)
        for (int i = 0; i <= item->nth; i++)
            e = draw_config(&draw, &rng, out);
    draw_fini(&draw);
    return e ? item->t->fallback(w, d, s, out) : ERR_OK;
}

enum err item_build_plain(struct program *p)
{
    for (size_t i = 0; i < p->n_modules; i++) {
        char text[256];

        if (p->modules[i].lang != LANG_OPENCL_C)
            continue;
        snprintf(text, sizeof text, "%.200s -cl-opt-disable", p->modules[i].options ? p->modules[i].options : "");
        free(p->modules[i].options);
        p->modules[i].options = strdup(text);
        if (!p->modules[i].options)
            return ERR_NOMEM;
    }
    return ERR_OK;
}

/* The verdict on a program: kept, or made now. */
static enum err verify(struct long_test *t, const struct program *p, const struct blobs *blobs, int i_device,
                       bool *was_kept, struct why *why)
{
    struct sha256 key;
    const bool keeps = long_test_key(t, "right", p, i_device, &key);
    enum err e;

    *was_kept = keeps && verdicts_find(&t->verdicts, key.hex);
    if (*was_kept)
        return ERR_OK;
    want_device(&t->under, i_device);
    e = load_and_verify(t->under.ops, t->under.list[i_device], p, blobs, why);
    if (e)
        lose_device(&t->under, i_device);
    if (!e && keeps)
        (void)verdicts_keep(&t->verdicts, key.hex, "");
    return e;
}

static size_t source_bytes(const struct program *p, const struct blobs *blobs)
{
    size_t sum = 0;

    for (size_t i = 0; i < p->n_modules; i++)
        sum += blobs_get(blobs, p->modules[i].source.hex)->n_bytes;
    return sum;
}

/* The program of the item's config, which goes to *c; of random ones the first whose code is no longer than
 * MAX_SOURCES. */
static enum err make_program(const struct item *item, const struct workload *w, const struct device_desc *d,
                             const struct space *s, struct config *c, struct program *p, struct blobs *blobs,
                             struct why *why)
{
    struct item at = *item;
    enum err e;

    for (int i = 0;; i++, at.nth++) {
        e = choose(&at, w, d, s, c);
        if (e)
            return e;
        e = template_program(item->t, w, d, s, c, p, blobs, why);
        if (item->config != CONFIG_RANDOM || i == N_DRAWS ||
            (e != ERR_LIMIT && (e || source_bytes(p, blobs) <= MAX_SOURCES)))
            return e;
        program_fini(p);
    }
}

void item_verify(struct long_test *t, const struct item *item, struct buf *answer)
{
    const struct device_desc *d = &t->d[item->i_device];
    struct space *s = NULL;
    struct workload w;
    struct config c;
    struct program p;
    struct blobs blobs;
    struct buf text;
    struct why why = {""};
    bool was_kept = false;
    enum err e = workload_parse(item->shape, &w, &why);

    buf_init(&text, 1 << 16);
    blobs_init(&blobs, (size_t)1 << 28);
    program_init(&p);
    if (!e)
        e = template_space(item->t, &w, d, &s, &why);
    if (!e)
        e = make_program(item, &w, d, s, &c, &p, &blobs, &why);
    if (!e)
        e = template_add_sheet(item->t, &w, d, s, &c, item_data_seed(), &p, &blobs, &why);
    if (!e)
        e = space_config_text(s, &c, &text);
    if (!e && item->is_plain)
        e = item_build_plain(&p);
    if (!e)
        e = verify(t, &p, &blobs, item->i_device, &was_kept, &why);
    if (e)
        buf_printf(answer, "on %s: %s | %s: %s (%s)", d->name, item->shape, buf_text(&text), why.text, err_words(e));
    else
        buf_printf(answer, "%s %s", was_kept ? "kept" : "ok", buf_text(&text));
    program_fini(&p);
    blobs_fini(&blobs);
    space_free(s);
    buf_fini(&text);
}
