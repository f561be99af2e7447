/* SPDX-License-Identifier: MIT */
/* LightGBM through its C API (https://lightgbm.readthedocs.io/en/stable/C-API.html): with 31 leaves, as it comes, and
 * with as many as depth 6 has. */
#include "contender.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FLOAT32 0 /* C_API_DTYPE_FLOAT32 */

struct api {
    int (*data_create)(const void *data, int type, int32_t n_rows, int32_t n_columns, int is_row_major,
                       const char *parameters, void *reference, void **out);
    int (*data_set)(void *data, const char *field, const void *values, int n, int type);
    int (*data_free)(void *data);
    int (*create)(void *data, const char *parameters, void **out);
    int (*update)(void *booster, int *is_finished);
    int (*predict)(void *booster, const void *data, int type, int32_t n_rows, int32_t n_columns, int is_row_major,
                   int kind, int first_round, int n_rounds, const char *parameters, int64_t *n_out, double *out);
    int (*free)(void *booster);
};

static struct api api;

/* A booster needs its data as long as it lives. */
struct trained {
    void *booster, *data;
};

static bool open(const char *path)
{
    const struct {
        const char *name;
        void *to;
    } symbols[] = {{"LGBM_DatasetCreateFromMat", &api.data_create},
                   {"LGBM_DatasetSetField", &api.data_set},
                   {"LGBM_DatasetFree", &api.data_free},
                   {"LGBM_BoosterCreate", &api.create},
                   {"LGBM_BoosterUpdateOneIter", &api.update},
                   {"LGBM_BoosterPredictForMat", &api.predict},
                   {"LGBM_BoosterFree", &api.free}};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        void *symbol = library ? dlsym(library, symbols[i].name) : NULL;

        if (!symbol) {
            fprintf(stderr, "lightgbm: %s\n", dlerror());
            return false;
        }
        *(void **)symbols[i].to = symbol;
    }
    return true;
}

static void drop(void *model)
{
    struct trained *m = model;

    if (m->booster)
        api.free(m->booster);
    if (m->data)
        api.data_free(m->data);
    free(m);
}

static void *train_leaves(const struct table *t, const struct shape *shape, const char *leaves)
{
    struct trained *m = calloc(1, sizeof(*m));
    char parameters[256];
    bool good = m != NULL;

    if (!m)
        return NULL;
    snprintf(parameters, sizeof(parameters),
             "objective=regression num_threads=1 verbosity=-1 learning_rate=%g max_depth=%zu %s", shape->rate,
             shape->depth, leaves);
    good =
        api.data_create(t->rows, FLOAT32, (int32_t)t->n, (int32_t)t->n_features, 1, parameters, NULL, &m->data) == 0 &&
        api.data_set(m->data, "label", t->targets, (int)t->n, FLOAT32) == 0 &&
        api.create(m->data, parameters, &m->booster) == 0;
    for (size_t i = 0; good && i < shape->n_trees; i++) {
        int is_finished;

        good = api.update(m->booster, &is_finished) == 0;
    }
    if (good)
        return m;
    drop(m);
    return NULL;
}

static void *train_31(const struct table *t, const struct shape *shape)
{
    return train_leaves(t, shape, "num_leaves=31 min_data_in_leaf=1 min_sum_hessian_in_leaf=1");
}

static void *train_64(const struct table *t, const struct shape *shape)
{
    return train_leaves(t, shape, "num_leaves=64 min_data_in_leaf=1 min_sum_hessian_in_leaf=1");
}

static bool predict(void *model, const struct table *t, size_t first, size_t n, float *scores)
{
    const struct trained *m = model;
    double *out = malloc(n * sizeof(*out));
    int64_t n_out = 0;
    bool good;

    good = out && api.predict(m->booster, t->rows + first * t->n_features, FLOAT32, (int32_t)n, (int32_t)t->n_features,
                              1, 0, 0, -1, "num_threads=1", &n_out, out) == 0;
    for (size_t i = 0; good && i < n; i++)
        scores[i] = (float)out[i];
    free(out);
    return good;
}

const struct contender lightgbm_31 = {"lightgbm 31 leaves", open, train_31, predict, drop};
const struct contender lightgbm_64 = {"lightgbm 64 leaves", open, train_64, predict, drop};
