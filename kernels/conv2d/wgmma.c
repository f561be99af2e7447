/* SPDX-License-Identifier: MIT */
/* A convolution in nhwc as an implicit matrix product by warpgroups. */
#include "kernels/gemm/wgmma.h"
#include "core/err.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/gemm/gemm.h"
#include "runtime/cuda_arch.h"

#include <stdint.h>

#define STEP_BYTES 128 /* of channels */
#define PIXEL_ALIGNED 16
#define MOST_STEP 8 /* of the window: what the copy engine takes */
#define MOST_BOX 256

static int64_t pixel_bytes(const struct workload *w, const struct conv_shape *z)
{
    return z->c * (int64_t)dtype_bytes(w->dtype);
}

/* Do windows reach beyond the image? */
static bool reaches_out(const struct conv_shape *z)
{
    return z->top > 0 || z->left > 0 || (z->p - 1) * z->stride_h + (z->r - 1) * z->dil_h - z->top >= z->h ||
           (z->q - 1) * z->stride_w + (z->s - 1) * z->dil_w - z->left >= z->w;
}

static enum fit fit(const struct workload *w, const struct device_desc *d, struct why *why)
{
    const char *const id = "conv2d/wgmma";
    const struct conv_shape z = conv_shape_of(w);

    if (conv_within(id, CONV_F16 | CONV_BF16 | CONV_I8 | CONV_U8 | CONV_NHWC | CONV_EPILOGUE, w, why))
        return FIT_NONE;
    if (w->dtype == DTYPE_F32)
        why_set(why, ERR_UNSUPPORTED, "%s computes f16, bf16, i8 and u8, not f32", id);
    else if (z.layout != IMAGES_NHWC)
        why_set(why, ERR_UNSUPPORTED, "%s computes layout=nhwc", id);
    else if (w->dtype == DTYPE_U8 && reaches_out(&z))
        why_set(why, ERR_UNSUPPORTED, "%s computes u8 without padding: around images its boxes have zeros", id);
    else if (!cuda_arch_has(d, "wgmma"))
        why_set(why, ERR_UNSUPPORTED, "%s needs a CUDA device of sm_90, with products of warpgroups", id);
    else if (pixel_bytes(w, &z) % PIXEL_ALIGNED)
        why_set(why, ERR_UNSUPPORTED, "%s needs pixels of whole %d bytes, not %lld", id, PIXEL_ALIGNED,
                (long long)pixel_bytes(w, &z));
    else if (z.stride_h > MOST_STEP || z.stride_w > MOST_STEP)
        why_set(why, ERR_UNSUPPORTED, "%s takes strides of up to %d", id, MOST_STEP);
    else /* few channels leave most of a step empty */
        return pixel_bytes(w, &z) < STEP_BYTES / 2 ? FIT_POSSIBLE : FIT_GOOD;
    return FIT_NONE;
}

/* A tile of output pixels: columns, rows, images. */
static const struct build_knob knobs[] = {
    {"bw", {4, 8, 16, 32, 64, 128, BUILD_END}},
    {"bh", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {"bn", {1, 2, 4, 8, 16, 32, BUILD_END}},
    {0},
};

static const char *const quantities[][2] = {
    {"mt", "bw * bh * bn"},
    {"m_tiles", "ceil_div(size_q, bw) * ceil_div(size_p, bh) * ceil_div(size_n, bn)"},
    {NULL, NULL},
};

static const char *const constraints[] = {
    "mt == 64 or mt == 128 or mt == 256",
    "mt == 64 or ((bw == 4 or bw < 2 * size_q) and (bh == 1 or bh < 2 * size_p) and (bn == 1 or bn < 2 * size_n))",
    "bw * stride_w <= max_box and bh * stride_h <= max_box",
    NULL,
};

static enum err space(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why)
{
    const struct conv_shape z = conv_shape_of(w);
    const int64_t taps = z.r * z.s, bytes = pixel_bytes(w, &z);
    const struct wgmma_shape shape = {
        1, z.n * z.p * z.q, z.k, taps * bytes, taps * CEIL(bytes, STEP_BYTES), (int64_t)dtype_bytes(w->dtype)};
    const struct wgmma_tiles tiles = {knobs, quantities, constraints};
    const struct build_named constants[] = {{"size_q", (double)z.q},
                                            {"size_p", (double)z.p},
                                            {"size_n", (double)z.n},
                                            {"stride_w", (double)z.stride_w},
                                            {"stride_h", (double)z.stride_h},
                                            {"max_box", MOST_BOX},
                                            {NULL, 0}};
    const enum err e = build_constants(s, constants, why);

    return e ? e : wgmma_space(&shape, &tiles, d, s, why);
}

struct box {
    int64_t w, h, n;
};

static int64_t tiles_of(const struct box *b, const struct conv_shape *z)
{
    return CEIL(z->q, b->w) * CEIL(z->p, b->h) * CEIL(z->n, b->n);
}

/* Of `pixels` the box with the fewest tiles, the widest of those. */
static struct box box_for(int64_t pixels, const struct conv_shape *z)
{
    struct box best = {0, 0, 0};

    for (int64_t w = 128; w >= 4; w /= 2)
        for (int64_t h = 32; h >= 1; h /= 2) {
            const struct box b = {w, h, pixels / (w * h)};
            const bool fits = w * h * b.n == pixels && b.n >= 1 && b.n <= 32 && (w == 4 || w < 2 * z->q) &&
                              (h == 1 || h < 2 * z->p) && (b.n == 1 || b.n < 2 * z->n) && w * z->stride_w <= MOST_BOX &&
                              h * z->stride_h <= MOST_BOX;

            if (fits && (!best.w || tiles_of(&b, z) < tiles_of(&best, z)))
                best = b;
        }
    return best;
}

static enum err fallback(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out)
{
    const struct conv_shape z = conv_shape_of(w);
    struct wgmma_tile t = wgmma_tile_for(1, z.n * z.p * z.q, z.k, d);
    struct box b = box_for(t.m, &z);

    if (!b.w) { /* an image of few pixels */
        t = (struct wgmma_tile){64, t.n < 128 ? t.n : 128, 1};
        b = box_for(t.m, &z);
    }
    if (!b.w) /* fewer than any tile has */
        b = (struct box){8, 8, 1};
    *out = (struct config){{0}};
    build_choose(s, (const struct build_define[]){{"bw", b.w}, {"bh", b.h}, {"bn", b.n}, {NULL, 0}}, out);
    return wgmma_choose(&t, tiles_of(&b, &z), z.k, (int64_t)dtype_bytes(w->dtype), s, out);
}

static void program(struct build *b)
{
    const struct conv_shape z = conv_shape_of(b->w);
    const int64_t packed = z.k * build_int(b, "steps") * STEP_BYTES / (int64_t)dtype_bytes(b->w->dtype);
    const int wp = build_buffer(b, "wp", ROLE_PACKED, b->w->dtype, packed);

    build_module(b, "conv2d/wgmma.cl");
    conv_define_shape(b, &z);
    build_launch(b, PHASE_PACK, "conv_wgmma_pack", (const int64_t[]){CEIL(packed, 128), 1, 1},
                 (const int64_t[]){128, 1, 1}, (const int[]){1, wp, -1});
    (void)build_fold_zero(b, z.k, z.c * z.r * z.s);
    wgmma_launch(b, wp, z.k);
}

const struct template conv2d_wgmma = {
    .id = "conv2d/wgmma",
    .version = 1,
    .summary = "CUDA, sm_90: nhwc by warpgroups on f16, bf16, i8 and u8, boxes of pixels brought by the copy engine",
    .fit = fit,
    .space = space,
    .fallback = fallback,
    .program = program,
};
