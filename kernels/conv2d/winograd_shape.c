/* SPDX-License-Identifier: MIT */
#include "kernels/conv2d/winograd_shape.h"

#include "core/err.h"

#include <string.h>

enum err winograd_within(const char *id, unsigned caps, const struct workload *w, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    enum err e = conv_within(id, caps, w, why);

    if (e)
        return e;
    if (z.r != 3 || z.s != 3)
        return why_set(why, ERR_UNSUPPORTED, "%s computes windows of 3 x 3, not %lld x %lld", id, (long long)z.r,
                       (long long)z.s);
    if (z.stride_h != 1 || z.stride_w != 1)
        return why_set(why, ERR_UNSUPPORTED, "%s computes stride=1, not stride=%lld,%lld", id, (long long)z.stride_h,
                       (long long)z.stride_w);
    if (z.dil_h != 1 || z.dil_w != 1)
        return why_set(why, ERR_UNSUPPORTED, "%s computes dilation=1, not dilation=%lld,%lld", id, (long long)z.dil_h,
                       (long long)z.dil_w);
    if (z.top > 2 || z.left > 2 || z.bottom > 2 || z.right > 2)
        return why_set(why, ERR_UNSUPPORTED,
                       "%s computes pad=0 to 2, not more: sums of zeros only would not be exactly 0", id);
    return ERR_OK;
}

/* The exact pass has x in -1..1 and weights 576 times that (m = 4). The largest partial sums, in the last row of the
 * output transform, have a standard deviation of 36,200 sqrt(c): 2^24 is seven of them at c = 4096; halves end at 2^11,
 * with m = 2 nine times 13.5 sqrt(c) at c = 256. Beyond there are the tolerances only. */
static enum exact_data data_of(const struct conv_shape *z, int64_t m, bool half)
{
    if (m == 2)
        return half && z->c > 256 ? EXACT_NONE : EXACT_WINOGRAD2;
    return z->c > 4096 ? EXACT_NONE : EXACT_WINOGRAD4;
}

void winograd_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t m = space_int(s, c, "m");
    const bool half = strcmp(inout->name, "f16") == 0;

    inout->data = data_of(&z, m, half);
    if (w->dtype == DTYPE_F32)
        *inout = (struct numerics){
            .name = m == 2 ? "f32-winograd2" : "f32-winograd4", .data = inout->data, .tolerance = m == 2 ? 4e-6 : 2e-5};
    else if (half && m == 4) /* measured: 2e-2 of the sums of magnitudes */
        *inout = (struct numerics){.name = "f16-winograd4", .data = EXACT_NONE, .tolerance = 1e-1};
    else
        inout->name = half ? "f16-winograd2" : "f16-f32-winograd2";
    inout->saved = m == 2 ? 16.0 / 36 : 36.0 / 144; /* products, those with padding too */
}
