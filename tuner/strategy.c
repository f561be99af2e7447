#include "tuner/strategy.h"

#include "tuner/strategies/table.h"

#include <string.h>

const struct strategy_ops *const strategy_table[] = {&model_strategy_ops, &random_ops, &grid_ops, &genetic_ops, NULL};

const struct strategy_ops *strategy_find(const char *name)
{
    for (size_t i = 0; strategy_table[i]; i++)
        if (strcmp(strategy_table[i]->name, name) == 0)
            return strategy_table[i];
    return NULL;
}
