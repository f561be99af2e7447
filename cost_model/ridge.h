/* SPDX-License-Identifier: MIT */
/* ridge.h - linear regression with an L2 penalty on standardised features: the plain model others are measured against.
 * (Hoerl and Kennard 1970.) Missing values count as the mean. Its spread is 0: it has no parts that could disagree. */
#ifndef TUNE_COST_MODEL_RIDGE_H
#define TUNE_COST_MODEL_RIDGE_H

#include "cost_model/model.h"

#define RIDGE_MAX_FEATURES 1024u

extern const struct model_ops ridge_ops;

#endif
