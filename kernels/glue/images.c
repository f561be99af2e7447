/* SPDX-License-Identifier: MIT */
#include "kernels/glue/glue.h"

#include <assert.h>

struct conv_shape glue_images(const struct workload *w, int64_t x_lanes, int64_t y_lanes)
{
    const int64_t c = workload_get(w, "c"), height = workload_get(w, "h"), width = workload_get(w, "w");

    assert(x_lanes > 0 && y_lanes > 0);
    return (struct conv_shape){.n = workload_get(w, "n"),
                               .c = c,
                               .h = height,
                               .w = width,
                               .k = c,
                               .r = 1,
                               .s = 1,
                               .stride_h = 1,
                               .stride_w = 1,
                               .dil_h = 1,
                               .dil_w = 1,
                               .groups = c,
                               .p = height,
                               .q = width,
                               .x_lanes = x_lanes,
                               .y_lanes = y_lanes};
}

enum err glue_check_layout(const struct workload *w, const char *key, struct why *why)
{
    const int64_t word = workload_get(w, key), lanes = conv_layout_lanes(word), c = workload_get(w, "c");

    if (c % lanes == 0)
        return ERR_OK;
    return why_set(why, ERR_INPUT, "%s: %s=%s needs c in multiples of %lld, not c=%lld", w->op->name, key,
                   conv_layouts[word], (long long)lanes, (long long)c);
}
