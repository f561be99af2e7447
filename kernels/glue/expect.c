/* SPDX-License-Identifier: MIT */
#include "kernels/glue/glue.h"

#include "core/err.h"

#include <assert.h>
#include <stdlib.h>

#define MOST_ALL ((int64_t)1 << 20) /* outputs of which all are compared */

enum err glue_data_make(struct expected *e, const char *const names[GLUE_MAX_TENSORS], struct glue_data *out)
{
    *out = (struct glue_data){{{NULL}}};
    for (int pass = 0; pass < 1 + e->has_exact; pass++)
        for (int i = 0; i < GLUE_MAX_TENSORS; i++) {
            const struct tensor *t = names[i] ? expected_tensor(e, names[i]) : NULL;

            out->of[pass][i] = t ? expected_data(t, pass, NULL) : NULL;
            if (t && !out->of[pass][i])
                return ERR_NOMEM;
        }
    return ERR_OK;
}

void glue_data_fini(struct glue_data *d)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < GLUE_MAX_TENSORS; i++)
            free(d->of[pass][i]);
    *d = (struct glue_data){{{NULL}}};
}

/* The value that y holds. */
static double stored(enum dtype t, double v)
{
    char one[8];

    dtype_store(t, one, 0, v);
    return dtype_load(t, one, 0);
}

static void project(const struct expected_output *o, enum dtype t, glue_element *element, const void *arg)
{
    double ignored;
    int64_t at = 0;

    for (int64_t outer = 0; outer < o->outer; outer++)
        for (int64_t a = 0; a < o->axis; a++)
            for (int64_t i = 0; i < o->inner; i++)
                for (int64_t lane = 0; lane < o->lanes; lane++)
                    o->project[outer * o->inner + i] += program_project_weight(SEED_PROJECT, a * o->lanes + lane) *
                                                        stored(t, element(arg, true, at++, &ignored));
}

enum err glue_expect(const struct images *y, double terms, glue_element *element, const void *arg, struct expected *e)
{
    const struct tensor *x = expected_tensor(e, "x");
    const int64_t n = y->n * y->c * y->h * y->w;
    struct program_fold planes = {0};
    struct expected_output *o = &e->outputs[0];
    double ignored;
    enum err failed;

    assert(y->c % y->lanes == 0);
    if (e->mode == EXPECT_FOLDED && !x->random.fold.of) /* whose owner folds nothing */
        return ERR_OK;
    if (x && x->random.fold.of) { /* planes repeat a few, in x as its owner has it */
        planes = x->random.fold;
        planes.inner = y->h * y->w * y->lanes;
    }
    e->n_outputs = 1;
    *o = (struct expected_output){.tensor = "y",
                                  .n_samples = sample_count(terms, n),
                                  .outer = y->n,
                                  .axis = y->c / y->lanes,
                                  .inner = y->h * y->w,
                                  .lanes = y->lanes};
    if (planes.of)
        expected_folded(o, &planes, 1);
    else if (expected_in_full(e) && n <= MOST_ALL)
        expected_all(o, n);
    failed = expected_alloc(e);
    if (failed)
        return failed;
    images_choose_samples(y, e, o->n_samples, o->indices);
    for (size_t i = 0; e->has_exact && i < o->n_samples; i++)
        o->exact[i] = element(arg, true, (int64_t)o->indices[i], &ignored);
    for (size_t i = 0; i < o->n_random; i++)
        o->random[i] = element(arg, false, (int64_t)expected_random_at(o, i), &o->scale[i]);
    if (o->project)
        project(o, expected_tensor(e, "y")->dtype, element, arg);
    return ERR_OK;
}
