/* SPDX-License-Identifier: MIT */
/* transfer_gp.h - a Gaussian process over shares of throughput whose mean is what sources say: u(x) = sum_k w_k s_k(x)
 * + d(x), w_k around 1/K, d smooth over the knobs. How smooth, how noisy, and whether the sources count at all is not
 * chosen: every answer is an average over such hypotheses, weighted by how well each explains the measurements.
 * (Rasmussen and Williams 2006, ch. 2 and 5; Kennedy and O'Hagan 2000 for the sum; Hoeting et al. 1999 for the
 * average.) */
#ifndef TUNE_SEARCH_LEARN_TRANSFER_GP_H
#define TUNE_SEARCH_LEARN_TRANSFER_GP_H

#include "core/err.h"

#include <stdbool.h>
#include <stddef.h>

#define GP_MAX_ROWS 256
#define GP_MAX_PARTS 4 /* hypotheses that answers are made of */

/* places[n][n_dims], in units of each knob's spread; a dimension of words only tells equal from not. sources: what each
 * source says, [n][n_sources]; targets[n], on the same scale. */
struct gp_data {
    const float *places, *sources;
    const double *targets;
    const bool *words;    /* [n_dims] */
    const double *priors; /* [n_sources] belief in each before it is looked at, in (0, 1] */
    size_t n, n_dims, n_sources;
};

/* One hypothesis with its fit. */
struct gp_part {
    double weight;
    size_t i_shape;  /* of the table of kernels */
    double slope_sd; /* of the sources' weights around their mean; 0 with no sources */
    size_t i_mean;   /* GP_MEAN_NONE, GP_MEAN_ALL, or 2 + a source */
    double scale;    /* variance of the process */
    double *factor;  /* [n][n], lower Cholesky factor */
    double *alpha;   /* [n] */
    double *slopes;  /* [n_sources], what was learned to add to the mean's weights */
};

#define GP_MEAN_NONE 0
#define GP_MEAN_ALL 1

struct gp {
    struct gp_part parts[GP_MAX_PARTS];
    size_t n_parts, n, n_dims, n_sources;
    float *places; /* [n_dims][n]: the rows it learned from, by dimension */
    float *sources;
    bool *words;
    double *trust; /* [n_sources], in [0, 1] */
    double belief; /* in hypotheses that use sources at all */
};

/* Learns from data->n >= 1 rows, at most GP_MAX_ROWS (asserted). ERR_NOMEM leaves `g` empty. */
enum err gp_fit(struct gp *g, const struct gp_data *data);
void gp_fini(struct gp *g);

/* mean[n] and, when not NULL, sd[n] > 0 of u at places[n][n_dims] with sources[n][n_sources]. */
enum err gp_predict(const struct gp *g, const float *places, const float *sources, size_t n, double *mean, double *sd);

#endif
