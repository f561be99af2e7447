/* SPDX-License-Identifier: MIT */
#include "core/err.h"
#include "kernels/conv/ref.h"
#include "kernels/deformable_conv2d/deformable_conv2d.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct data {
    struct conv_data conv;
    float *offset;
};

/* One pass of a workload, ready to be asked. */
struct view {
    struct conv_shape s;
    int64_t n_groups;
    const struct data *d;
};

/* Where sample (n, c, r, t) of output pixel (p, q) lies, in f32 as the operator defines it. */
static void position(const struct view *v, int64_t n, int64_t c, int64_t rt, int64_t p, int64_t q, float *y, float *x)
{
    const struct conv_shape *s = &v->s;
    const int64_t group = c / (s->c / v->n_groups), taps = s->r * s->s, plane = s->p * s->q;
    const float *offset = v->d->offset + ((n * v->n_groups + group) * 2 * taps + 2 * rt) * plane + p * s->q + q;

    *y = (float)(p * s->stride_h - s->top + rt / s->s * s->dil_h) + offset[0];
    *x = (float)(q * s->stride_w - s->left + rt % s->s * s->dil_w) + offset[plane];
}

/* Bilinear between the four pixels round (y, x), the far ones clamped to the last; 0 outside. The same of the pixels'
 * magnitudes. */
static double sample(const struct conv_shape *s, const float *image, float y, float x, double *magnitude)
{
    const bool inside = y >= 0 && x >= 0 && y < (float)s->h && x < (float)s->w;
    double value = 0;

    *magnitude = 0;
    for (int64_t i = 0; inside && i < 4; i++) {
        const int64_t near_y = (int64_t)y, near_x = (int64_t)x;
        const int64_t at_y = near_y + i / 2 < s->h ? near_y + i / 2 : s->h - 1;
        const int64_t at_x = near_x + i % 2 < s->w ? near_x + i % 2 : s->w - 1;
        const double fy = (double)y - (double)near_y, fx = (double)x - (double)near_x;
        const double share = (i / 2 ? fy : 1 - fy) * (i % 2 ? fx : 1 - fx);

        value += share * (double)image[at_y * s->w + at_x];
        *magnitude += share * fabs((double)image[at_y * s->w + at_x]);
    }
    return value;
}

static double sample_of(const struct view *v, int64_t n, int64_t c, int64_t rt, int64_t p, int64_t q, double *magnitude)
{
    float y, x;

    position(v, n, c, rt, p, q, &y, &x);
    return sample(&v->s, v->d->conv.x + (n * v->s.c + c) * v->s.h * v->s.w, y, x, magnitude);
}

static double element(const struct view *v, int64_t index, double *scale)
{
    const struct conv_shape *s = &v->s;
    const int64_t q = index % s->q, p = index / s->q % s->p, k = index / (s->q * s->p) % s->k;
    const int64_t n = index / (s->q * s->p * s->k), taps = s->r * s->s;
    double sum = 0, magnitudes = 0;

    assert(n < s->n && s->c % v->n_groups == 0);
    for (int64_t i = 0; i < s->c * taps; i++) {
        const double weight = (double)v->d->conv.w[k * s->c * taps + i];
        double magnitude;

        sum += sample_of(v, n, i / taps, i % taps, p, q, &magnitude) * weight;
        magnitudes += magnitude * fabs(weight);
    }
    *scale = magnitudes;
    return sum;
}

/* All channels at once, which is right because y is linear in w. */
static enum err project(const struct view *v, double *out)
{
    const struct conv_shape *s = &v->s;
    const int64_t n_w = s->c * s->r * s->s, plane = s->p * s->q;
    double *weights = calloc((size_t)n_w, sizeof *weights), ignored;

    for (int64_t k = 0; weights && k < s->k; k++)
        for (int64_t i = 0; i < n_w; i++)
            weights[i] += program_project_weight(SEED_PROJECT, k) * (double)v->d->conv.w[k * n_w + i];
    for (int64_t at = 0; weights && at < s->n * plane; at++)
        for (int64_t i = 0; i < n_w; i++)
            out[at] += weights[i] * sample_of(v, at / plane, i / (s->r * s->s), i % (s->r * s->s), at % plane / s->q,
                                              at % s->q, &ignored);
    free(weights);
    return weights ? ERR_OK : ERR_NOMEM;
}

static enum err compute(const struct view *exact, const struct view *random, struct expected *e)
{
    const struct conv_shape *s = &exact->s;
    const struct images y = conv_output(s);
    const struct program_fold *fold = &expected_tensor(e, "w")->random.fold;
    struct expected_output *o = &e->outputs[0];
    enum err failed;
    double ignored;

    e->n_outputs = 1;
    *o = (struct expected_output){.tensor = "y",
                                  .n_samples = sample_count(4 * conv_terms(s), s->n * s->k * s->p * s->q),
                                  .outer = s->n,
                                  .axis = s->k,
                                  .inner = s->p * s->q};
    if (fold->of)
        expected_folded(o, &(struct program_fold){s->p * s->q, s->k, fold->of, fold->seed}, s->n);
    failed = expected_alloc(e);
    if (failed)
        return failed;
    images_choose_samples(&y, e, o->n_samples, o->indices);
    for (size_t i = 0; e->has_exact && i < o->n_samples; i++)
        o->exact[i] = element(exact, (int64_t)o->indices[i], &ignored);
    for (size_t i = 0; i < o->n_random; i++)
        o->random[i] = element(random, (int64_t)expected_random_at(o, i), &o->scale[i]);
    return o->project ? project(exact, o->project) : ERR_OK;
}

static enum err data_make(struct expected *e, const struct conv_shape *s, bool exact, struct data *d)
{
    const enum err failed = conv_data_make(e, s, exact, &d->conv);

    d->offset = failed ? NULL : expected_data(expected_tensor(e, "offset"), exact, NULL);
    return failed ? failed : d->offset ? ERR_OK : ERR_NOMEM;
}

static void data_fini(struct data *d)
{
    conv_data_fini(&d->conv);
    free(d->offset);
}

enum err deformable_reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const struct conv_shape s = conv_shape_of(w);
    struct data exact = {.offset = NULL}, random = {.offset = NULL};
    const struct view of_exact = {s, workload_get(w, "deformable_groups"), &exact};
    const struct view of_random = {s, of_exact.n_groups, &random};
    enum err failed;

    (void)data;
    if (w->dtype == DTYPE_F32 && exact_bound(conv_terms(&s), (double)s.k) < 1)
        return ERR_LIMIT;
    if (expected_in_full(e) && e->mode != EXPECT_FOLDED)
        conv_fold_channels(w, &s, e);
    failed = data_make(e, &s, true, &exact);
    if (!failed)
        failed = data_make(e, &s, false, &random);
    if (!failed)
        failed = compute(&of_exact, &of_random, e);
    data_fini(&exact);
    data_fini(&random);
    return failed;
}
