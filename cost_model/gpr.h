/* SPDX-License-Identifier: MIT */
/* gpr.h - Gaussian process regression for some hundred measurements at the most: where rows are few it ranks better
 * than trees, and it knows where it knows nothing. Matern 5/2 with a length for each column; lengths, noise and scale
 * are the most probable ones under weak priors (Rasmussen and Williams 2006, chapters 2 and 5). */
#ifndef TUNE_COST_MODEL_GPR_H
#define TUNE_COST_MODEL_GPR_H

#include "core/err.h"

#include <stddef.h>

#define GPR_MAX_ROWS 512
#define GPR_MAX_COLUMNS 256

struct gpr;

/* Columns should span about [0, 1]. ERR_LIMIT for none or more than GPR_MAX_COLUMNS, ERR_NOMEM. */
enum err gpr_new(struct gpr **out, size_t n_columns);
void gpr_free(struct gpr *g);

/* Sets the measured rows[n][n_columns] and their targets[n] (of mean about 0 and deviation about 1), after n_steps of
 * improving lengths, noise and scale on them; 0 keeps these. Rows that are the first ones of the last fit cost nothing
 * anew then. ERR_INPUT for no rows or what is not finite, ERR_LIMIT beyond GPR_MAX_ROWS, ERR_NOMEM: the old fit may be
 * gone then. */
enum err gpr_fit(struct gpr *g, const float *rows, const double *targets, size_t n, size_t n_steps);

size_t gpr_n_rows(const struct gpr *g);

/* The mean of one row[n_columns]; 0 before any fit. */
double gpr_mean_of(const struct gpr *g, const float *row);

/* A table of rows that is asked about again and again: a new measurement costs one pass over it, as long as the lengths
 * stay. */
struct gpr_view;

/* Keeps `g` and rows[n][n_columns]. ERR_NOMEM. */
enum err gpr_view_new(struct gpr_view **out, const struct gpr *g, const float *rows, size_t n);
void gpr_view_free(struct gpr_view *v);

/* Brings the view up to the last fit; before the calls below. ERR_NOMEM. */
enum err gpr_view_update(struct gpr_view *v);

/* mean[n] of each row, for any targets[gpr_n_rows] of the measured ones: those of the fit (NULL), or another quantity
 * that is as smooth. */
void gpr_view_mean(const struct gpr_view *v, const double *targets, float *mean);

/* sd[n] > 0, of the fit's own targets, without the noise. */
void gpr_view_sd(const struct gpr_view *v, float *sd);

#endif
