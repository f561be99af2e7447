/* gp.h - Gaussian process regression for some hundred measurements at the most: where rows are few it ranks better than
 * trees, and it knows where it knows nothing. Matern 5/2 with a length for each column; lengths, noise and scale are
 * the most probable ones under weak priors (Rasmussen and Williams 2006, chapters 2 and 5). */
#ifndef TUNE_COST_MODEL_GP_H
#define TUNE_COST_MODEL_GP_H

#include "core/err.h"

#include <stddef.h>

#define GP_MAX_ROWS 512
#define GP_MAX_COLUMNS 256

struct gp;

/* Columns should span about [0, 1]. ERR_LIMIT for none or more than GP_MAX_COLUMNS, ERR_NOMEM. */
enum err gp_new(struct gp **out, size_t n_columns);
void gp_free(struct gp *g);

/* Sets the measured rows[n][n_columns] and their targets[n] (of mean about 0 and deviation about 1), after n_steps of
 * improving lengths, noise and scale on them; 0 keeps these. Rows that are the first ones of the last fit cost nothing
 * anew then. ERR_INPUT for no rows or what is not finite, ERR_LIMIT beyond GP_MAX_ROWS, ERR_NOMEM: the old fit may be
 * gone then. */
enum err gp_fit(struct gp *g, const float *rows, const double *targets, size_t n, size_t n_steps);

size_t gp_n_rows(const struct gp *g);

/* A table of rows that is asked about again and again: a new measurement costs one pass over it, as long as the lengths
 * stay. */
struct gp_view;

/* Keeps `g` and rows[n][n_columns]. ERR_NOMEM. */
enum err gp_view_new(struct gp_view **out, const struct gp *g, const float *rows, size_t n);
void gp_view_free(struct gp_view *v);

/* Brings the view up to the last fit; before the calls below. ERR_NOMEM. */
enum err gp_view_update(struct gp_view *v);

/* mean[n] of each row, for any targets[gp_n_rows] of the measured ones: those of the fit (NULL), or another quantity
 * that is as smooth. */
void gp_view_mean(const struct gp_view *v, const double *targets, float *mean);

/* sd[n] > 0, of the fit's own targets, without the noise. */
void gp_view_sd(const struct gp_view *v, float *sd);

#endif
