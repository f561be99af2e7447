#include "kernels/operator.h"

#include "kernels/conv2d/conv2d.h"
#include "kernels/dense/dense.h"

#include <string.h>

const struct operator* const operator_table[] = {&operator_conv2d, &operator_dense, NULL};

const struct operator* operator_find(const char *name)
{
    for (size_t i = 0; operator_table[i]; i++)
        if (strcmp(operator_table[i]->name, name) == 0)
            return operator_table[i];
    return NULL;
}
