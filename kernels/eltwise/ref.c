/* SPDX-License-Identifier: MIT */
/* ref.c - expected values of element-wise chains, in double, with a bound of a device's error carried along: what each
 * function adds, and how much its result moves when its arguments are off by theirs. */
#include "kernels/eltwise/eltwise.h"

#include "core/err.h"

#include <math.h>
#include <stdlib.h>

#define UNIT 0x1p-24     /* half a last place of a float at 1 */
#define LEAST 0x1p-100   /* of a scale: results that are next to nothing */
#define FLUSHED 0x1p-101 /* in UNITs: numbers below 2^-125, which devices may flush; powers of e end at e^-87 */
#define MAX_TRIES 64     /* for an element whose result is a number, and not next to the largest */
#define PROJECT_AXIS 256 /* at the most: sums below 2^53 */

struct ref {
    struct eltwise chain;
    struct eltwise_shape shape;
    enum dtype dtype;
    float *of[2][ELTWISE_MAX_INPUTS]; /* data of the inputs: [1] of the exact pass */
};

/* A value, and by how much a device's may differ, in UNITs. */
struct bounded {
    double v, error;
};

/* Infinite where the function has no result there, so that its result here is not sure. */
static double moved_by(const struct eltwise_function *f, const double *x, int i, double step, double v)
{
    double shifted[3] = {x[0], x[1], x[2]}, d;

    shifted[i] += step;
    d = fabs(f->of(shifted) - v);
    return isnan(d) ? INFINITY : d;
}

static struct bounded call(const struct eltwise_function *f, const struct bounded *args)
{
    const double x[3] = {args[0].v, args[1].v, args[2].v}, v = f->of(x);
    struct bounded r = {v, f->relative * fabs(v) + f->absolute + (f->exact == EXACT_NEVER ? FLUSHED : 0)};

    for (int i = 0; i < f->n_args; i++)
        if (args[i].error > 0) {
            const double step = args[i].error * UNIT;

            r.error += fmax(moved_by(f, x, i, step, v), moved_by(f, x, i, -step, v)) / UNIT;
        }
    return r;
}

static double input_at(const struct ref *ref, bool is_exact, int i_input, int64_t index)
{
    int64_t at = 0;

    for (int k = ELTWISE_DIMS - 1; k >= 0; k--) {
        at += index % ref->shape.y[k] * ref->shape.stride[i_input][k];
        index /= ref->shape.y[k];
    }
    return (double)ref->of[is_exact][i_input][at];
}

/* As the type of y has it: beyond its largest infinite; NaN where that is not sure. */
static struct bounded as_stored(enum dtype t, struct bounded y)
{
    const double most = t == DTYPE_F16 ? 65520 : 0x1.ffffffp127, size = fabs(y.v);
    const double off = isfinite(y.v) ? 2 * y.error * UNIT + size * (t == DTYPE_F16 ? 0x1p-9 : 1e-4) : 0;

    if (!(size + off < most))
        return (struct bounded){size - off >= most ? copysign(INFINITY, y.v) : (double)NAN, 0};
    return y;
}

static struct bounded element(const struct ref *ref, bool is_exact, int64_t index)
{
    struct bounded all[ELTWISE_MAX_NODES];

    for (int i = 0; i < ref->chain.n_nodes; i++) {
        const struct eltwise_node *node = &ref->chain.nodes[i];
        struct bounded args[3] = {{0, 0}, {0, 0}, {0, 0}};

        for (int k = 0; k < 3 && node->args[k] >= 0; k++)
            args[k] = all[node->args[k]];
        all[i] = node->input >= 0     ? (struct bounded){input_at(ref, is_exact, node->input, index), 0}
                 : node->function < 0 ? (struct bounded){(double)node->number, 0}
                                      : call(&eltwise_functions[node->function], args);
    }
    return as_stored(ref->dtype, all[ref->chain.n_nodes - 1]);
}

/* f16: half a last place of y (2^-11 of it), which the tolerance is twice of. */
static double scale_of(const struct ref *ref, struct bounded y)
{
    if (isinf(y.v))
        return 1;
    return ref->dtype == DTYPE_F16 ? fabs(y.v) + 0x1p-14 + y.error * 0x1p-13 : y.error + LEAST;
}

static enum err load(struct expected *e, struct ref *ref)
{
    static const char *const names[] = {"a", "b", "c", "d"};

    for (int pass = 0; pass < 1 + e->has_exact; pass++)
        for (int i = 0; i < ref->chain.n_inputs; i++) {
            ref->of[pass][i] = expected_data(expected_tensor(e, names[i]), pass, NULL);
            if (!ref->of[pass][i])
                return ERR_NOMEM;
        }
    return ERR_OK;
}

/* First and last elements, those round the middle, others at random; of the random pass such as have a sure result. */
static uint64_t choose(const struct ref *ref, const struct expected *e, size_t i, size_t n, int64_t n_elems)
{
    uint64_t index = (uint64_t)i;

    if ((int64_t)n == n_elems)
        index = (uint64_t)i;
    else if (i >= 48)
        index = expected_pick(e, i) % (uint64_t)n_elems;
    else if (i >= 16)
        index = (uint64_t)(i < 32 ? n_elems - 1 - (int64_t)(i - 16) : n_elems / 2 + (int64_t)(i - 32));
    for (uint64_t t = 1; t < MAX_TRIES && isnan(element(ref, false, (int64_t)index).v); t++)
        index = expected_pick(e, i + t * n) % (uint64_t)n_elems;
    return index;
}

/* y seen as [outer][axis][inner]: sums over many elements that stay exact. */
static void see_as(const struct ref *ref, struct expected_output *o)
{
    const int64_t n = ref->shape.rows * ref->shape.inner;

    o->axis = 1;
    for (int64_t k = 2; k <= PROJECT_AXIS; k++)
        if (n % k == 0)
            o->axis = k;
    o->outer = n / o->axis;
    o->inner = o->lanes = 1;
}

static enum err expect(const struct ref *ref, struct expected *e)
{
    const int64_t n_elems = ref->shape.rows * ref->shape.inner;
    struct expected_output *o = &e->outputs[0];
    enum err failed;

    e->n_outputs = 1;
    *o = (struct expected_output){.tensor = "y", .n_samples = sample_count(ref->chain.n_nodes, n_elems)};
    see_as(ref, o);
    failed = expected_alloc(e);
    if (failed)
        return failed;
    for (size_t i = 0; i < o->n_samples; i++) {
        o->indices[i] = choose(ref, e, i, o->n_samples, n_elems);
        o->random[i] = element(ref, false, (int64_t)o->indices[i]).v;
        o->scale[i] = scale_of(ref, element(ref, false, (int64_t)o->indices[i]));
        if (e->has_exact)
            o->exact[i] = element(ref, true, (int64_t)o->indices[i]).v;
    }
    for (int64_t i = 0; o->project && i < n_elems; i++)
        o->project[i / o->axis] += program_project_weight(SEED_PROJECT, i % o->axis) * element(ref, true, i).v;
    return ERR_OK;
}

enum err eltwise_reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    struct ref ref = {.dtype = w->dtype};
    enum err failed;

    (void)data;
    if (e->mode == EXPECT_FOLDED) /* nothing repeats */
        return ERR_OK;
    eltwise_of(w, &ref.chain, &ref.shape);
    failed = load(e, &ref);
    if (!failed)
        failed = expect(&ref, e);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < ELTWISE_MAX_INPUTS; i++)
            free(ref.of[pass][i]);
    return failed;
}
