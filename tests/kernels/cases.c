#include "tests/kernels/cases.h"

#include <stddef.h>

extern const struct cases cases_conv2d, cases_conv2d_gpu, cases_dense;

const struct cases *const cases_table[] = {&cases_conv2d, &cases_conv2d_gpu, &cases_dense, NULL};
