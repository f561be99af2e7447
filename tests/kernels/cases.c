#include "tests/kernels/cases.h"

#include <stddef.h>

extern const struct cases cases_conv2d, cases_conv2d_gpu, cases_dense, cases_depthwise, cases_rnn;

const struct cases *const cases_table[] = {&cases_conv2d, &cases_conv2d_gpu, &cases_dense, &cases_depthwise, &cases_rnn, NULL};
