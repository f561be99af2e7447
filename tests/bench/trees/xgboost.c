/* SPDX-License-Identifier: MIT */
/* XGBoost through its C API (https://xgboost.readthedocs.io/en/stable/c.html). */
#include "contender.h"

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct api {
    int (*matrix_create)(const float *data, uint64_t n_rows, uint64_t n_columns, float missing, void **out);
    int (*matrix_set)(void *matrix, const char *field, const float *data, uint64_t n);
    int (*matrix_free)(void *matrix);
    int (*create)(void *const matrices[], uint64_t n, void **out);
    int (*set)(void *booster, const char *name, const char *value);
    int (*update)(void *booster, int round, void *matrix);
    int (*predict)(void *booster, const char *values, const char *config, void *matrix, const uint64_t **shape,
                   uint64_t *n_dimensions, const float **out);
    int (*free)(void *booster);
};

static struct api api;

static bool open(const char *path)
{
    const struct {
        const char *name;
        void *to;
    } symbols[] = {{"XGDMatrixCreateFromMat", &api.matrix_create},
                   {"XGDMatrixSetFloatInfo", &api.matrix_set},
                   {"XGDMatrixFree", &api.matrix_free},
                   {"XGBoosterCreate", &api.create},
                   {"XGBoosterSetParam", &api.set},
                   {"XGBoosterUpdateOneIter", &api.update},
                   {"XGBoosterPredictFromDense", &api.predict},
                   {"XGBoosterFree", &api.free}};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
        void *symbol = library ? dlsym(library, symbols[i].name) : NULL;

        if (!symbol) {
            fprintf(stderr, "xgboost: %s\n", dlerror());
            return false;
        }
        *(void **)symbols[i].to = symbol;
    }
    return true;
}

static void set_number(void *booster, const char *name, double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.9g", value);
    api.set(booster, name, text);
}

static void *train(const struct table *t, const struct shape *shape)
{
    void *matrix = NULL, *booster = NULL;
    bool good = api.matrix_create(t->rows, t->n, t->n_features, NAN, &matrix) == 0 &&
                api.matrix_set(matrix, "label", t->targets, t->n) == 0 && api.create(&matrix, 1, &booster) == 0;

    if (good) {
        api.set(booster, "tree_method", "hist");
        api.set(booster, "objective", "reg:squarederror");
        api.set(booster, "nthread", "1");
        api.set(booster, "verbosity", "0");
        set_number(booster, "max_depth", (double)shape->depth);
        set_number(booster, "eta", shape->rate);
    }
    for (size_t i = 0; good && i < shape->n_trees; i++)
        good = api.update(booster, (int)i, matrix) == 0;
    api.matrix_free(matrix);
    return booster;
}

static bool predict(void *model, const struct table *t, size_t first, size_t n, float *scores)
{
    char values[160];
    const uint64_t *shape;
    const float *result;
    uint64_t n_dimensions;

    snprintf(values, sizeof(values), "{\"data\":[%llu,true],\"shape\":[%zu,%zu],\"typestr\":\"<f4\",\"version\":3}",
             (unsigned long long)(uintptr_t)(t->rows + first * t->n_features), n, t->n_features);
    if (api.predict(model, values,
                    "{\"type\":0,\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,\"strict_shape\":false,"
                    "\"cache_id\":0,\"missing\":NaN}",
                    NULL, &shape, &n_dimensions, &result))
        return false;
    for (size_t i = 0; i < n; i++)
        scores[i] = result[i];
    return true;
}

static void drop(void *model)
{
    api.free(model);
}

const struct contender xgboost = {"xgboost hist", open, train, predict, drop};
