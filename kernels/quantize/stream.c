/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/glue/stream.h"
#include "kernels/quantize/quantize.h"
#include "kernels/workload.h"

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    return stream_space(w, workload_get(w, "n"), d, s, why);
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    return stream_fallback(w, workload_get(w, "n"), d, s, out);
}

static void program(struct build *b)
{
    build_module(b, "quantize/stream.cl");
    quantize_launch(b, "quantize_stream", build_int(b, "groups"), build_int(b, "wg"));
}

const struct template quantize_stream = {
    .id = "quantize/stream",
    .version = 1,
    .summary = "one long array: runs of vectors a work-item",
    .fit = fit_anywhere,
    .space = space,
    .fallback = fallback,
    .program = program,
    .numerics = numerics_exact,
};
