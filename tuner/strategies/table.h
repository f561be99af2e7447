/* table.h - the strategies, for strategy.c alone. */
#ifndef TUNE_TUNER_STRATEGIES_TABLE_H
#define TUNE_TUNER_STRATEGIES_TABLE_H

#include "tuner/strategy.h"

extern const struct strategy_ops auto_ops, model_strategy_ops, random_ops, grid_ops, genetic_ops, annealing_ops,
    diffevo_ops, pso_ops, ils_ops;

#endif
