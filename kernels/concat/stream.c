/* SPDX-License-Identifier: MIT */
#include "kernels/concat/concat.h"
#include "core/err.h"
#include "kernels/glue/stream.h"

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return stream_space(w, concat_elems(w), d, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    return stream_fallback(w, concat_elems(w), d, s, out);
}

static void program(struct build *b)
{
    build_module(b, "concat/stream.cl");
    concat_launch(b, "concat_stream", build_int(b, "groups"), build_int(b, "wg"));
}

const struct template concat_stream = {
    .id = "concat/stream",
    .version = 1,
    .summary = "one long array: runs of vectors a work-item",
    .fit = fit_anywhere,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = numerics_exact,
};
