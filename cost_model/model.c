/* SPDX-License-Identifier: MIT */
#include "cost_model/model.h"

#include "cost_model/data.h"

#include <math.h>
#include <string.h>

/* Each a file of this folder. */
extern const struct model_ops gbdt_ops, ridge_ops;

const struct model_ops *const model_table[] = {
    &gbdt_ops,
    &ridge_ops,
    /* the next one here */
    NULL,
};

const struct model_ops *model_find(const char *name)
{
    for (size_t i = 0; model_table[i]; i++)
        if (strcmp(model_table[i]->name, name) == 0)
            return model_table[i];
    return NULL;
}

const char *model_name_at(size_t i)
{
    return model_table[i] ? model_table[i]->name : NULL;
}

enum err model_data_check(const struct model_data *data)
{
    double sum = 0;

    if (data->n == 0 || data->n_features == 0)
        return ERR_INPUT;
    if (data->n > MODEL_MAX_ROWS || data->n_features > MODEL_MAX_FEATURES)
        return ERR_LIMIT;
    for (size_t i = 0; i < data->n; i++) {
        const double weight = data->weights ? (double)data->weights[i] : 1.0;

        if (!isfinite(data->targets[i]) || !isfinite(weight) || weight < 0)
            return ERR_INPUT;
        sum += weight;
    }
    return sum > 0 ? ERR_OK : ERR_INPUT;
}

double model_data_mean(const struct model_data *data)
{
    double sum = 0, sum_weights = 0;

    for (size_t i = 0; i < data->n; i++) {
        const double weight = data->weights ? (double)data->weights[i] : 1.0;

        sum += weight * (double)data->targets[i];
        sum_weights += weight;
    }
    return sum / sum_weights;
}
