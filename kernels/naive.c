/* SPDX-License-Identifier: MIT */
#include "kernels/naive.h"

#include "core/err.h"

enum err naive_space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const int64_t wg = build_max_group(d) < NAIVE_GROUP ? build_max_group(d) : NAIVE_GROUP;

    (void)w;
    return space_add_knob_ints(s, "wg", why, 1, &wg);
}

enum err naive_fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                        struct config *out)
{
    (void)w;
    (void)d;
    (void)s;
    *out = (struct config){{0}};
    return ERR_OK;
}

enum fit naive_fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    if (w->dtype == DTYPE_BF16 && !d->sm) {
        why_set(why, ERR_UNSUPPORTED, "bf16 is computed on CUDA devices only");
        return FIT_NONE;
    }
    return FIT_BASELINE;
}
