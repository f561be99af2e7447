/* SPDX-License-Identifier: MIT */
/* The text of conv2d/naive: a depthwise convolution is one in as many groups as there are input channels. */
#include "core/err.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"
#include "kernels/naive.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return conv2d_naive.fit(w, d, why);
}

static void program(struct build *b)
{
    conv2d_naive.program(b);
}

const struct template depthwise_naive = {
    .id = "depthwise_conv2d/naive",
    .version = 2,
    .summary = "one output a work-item, from the definition: the baseline",
    .fit = fit,
    .space = naive_space,
    .fallback = naive_fallback,
    .program = program,
};
