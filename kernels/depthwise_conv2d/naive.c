/* The text of conv2d/naive: a depthwise convolution is one in as many groups as there are input channels. */
#include "kernels/conv2d/conv2d.h"
#include "kernels/depthwise_conv2d/depthwise_conv2d.h"

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    return conv2d_naive.fit(w, d, why);
}

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return conv2d_naive.space(w, d, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    return conv2d_naive.fallback(w, d, s, out);
}

static void program(struct build *b)
{
    conv2d_naive.program(b);
}

const struct template depthwise_naive = {
    .id = "depthwise_conv2d/naive",
    .version = 1,
    .summary = "one output a work-item, from the definition: the baseline",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
