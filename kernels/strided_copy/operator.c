/* SPDX-License-Identifier: MIT */
#include "kernels/strided_copy/strided_copy.h"

#include "core/err.h"

#include <stdio.h>
#include <string.h>

#define MOST ((int64_t)INT32_MAX)

static const char *const modes[] = {"constant", "edge", "reflect", "wrap", NULL};

#define DIM(name, required, help)                                                                                      \
    {                                                                                                                  \
        name, KEY_PAIR, required, -MOST, MOST, 1, NULL, help                                                           \
    }
#define PAD(name, help)                                                                                                \
    {                                                                                                                  \
        name, KEY_PAIR, false, 0, MOST, 0, NULL, help                                                                  \
    }

static const struct operator_key keys[] = {
    {"x", KEY_INT, true, 1, MOST, 0, NULL, "elements of x"},
    {"at", KEY_INT, false, 0, MOST, 0, NULL, "the element of x at the first place"},
    DIM("d0", true, "innermost dimension: places, and elements of x from one to the next, which may be 0 or less"),
    DIM("d1", false, "the next one"),
    DIM("d2", false, "the next one"),
    DIM("d3", false, "the next one"),
    DIM("d4", false, "the next one"),
    DIM("d5", false, "outermost dimension"),
    PAD("p0", "put before and behind the places of d0"),
    PAD("p1", "of d1"),
    PAD("p2", "of d2"),
    PAD("p3", "of d3"),
    PAD("p4", "of d4"),
    PAD("p5", "of d5"),
    {"mode", KEY_WORD, false, 0, 0, 0, modes, "what is put there: fill, the nearest place, places back, round again"},
    {"fill", KEY_INT, false, 0, UINT32_MAX, 0, NULL, "mode=constant: the value, as the bits of an f32"},
    {0},
};

struct strided_copy strided_copy_of(const struct workload *w)
{
    struct strided_copy s = {
        workload_get(w, "x"), workload_get(w, "at"), {{0}}, (enum strided_copy_mode)workload_get(w, "mode")};

    for (int k = 0; k < STRIDED_COPY_RANK; k++) {
        const char d[] = {'d', (char)('0' + k), '\0'}, p[] = {'p', (char)('0' + k), '\0'};

        s.dim[k] = (struct strided_dim){workload_part(w, d, 0), workload_part(w, d, 1), workload_part(w, p, 0),
                                        workload_part(w, p, 1)};
    }
    return s;
}

int64_t strided_copy_length(const struct strided_copy *s, int dim)
{
    return s->dim[dim].n + s->dim[dim].before + s->dim[dim].after;
}

int64_t strided_copy_elems(const struct strided_copy *s)
{
    int64_t n = 1;

    for (int k = 0; k < STRIDED_COPY_RANK; k++)
        n *= strided_copy_length(s, k);
    return n;
}

/* How much may be put around a dimension: of a mode that reads x there. */
static int64_t most_around(const struct strided_copy *s, const struct strided_dim *d)
{
    return s->mode == COPY_REFLECT ? d->n - 1 : s->mode == COPY_WRAP ? d->n : MOST;
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct strided_copy s = strided_copy_of(w);
    int64_t low = s.at, high = s.at, n = 1;

    for (int k = 0; k < STRIDED_COPY_RANK; k++) {
        const struct strided_dim *d = &s.dim[k];
        const int64_t reach = (d->n - 1) * d->stride; /* 62 bits */

        if (d->n < 1)
            return why_set(why, ERR_INPUT, "strided_copy: d%d=%lld: expected 1 place or more", k, (long long)d->n);
        if (d->before > most_around(&s, d) || d->after > most_around(&s, d))
            return why_set(why, ERR_INPUT, "strided_copy: p%d: mode=%s puts at most %lld places around %lld", k,
                           modes[s.mode], (long long)most_around(&s, d), (long long)d->n);
        if (strided_copy_length(&s, k) > MOST / n)
            return why_set(why, ERR_LIMIT, "strided_copy: y has more than %lld elements", (long long)MOST);
        n *= strided_copy_length(&s, k);
        low += reach < 0 ? reach < -MOST ? -MOST - 1 : reach : 0;
        high += reach > 0 ? reach > MOST ? MOST : reach : 0;
    }
    return low >= 0 && high < s.n_x
               ? ERR_OK
               : why_set(why, ERR_INPUT, "strided_copy: its places are elements %lld to %lld of x, which has %lld",
                         (long long)low, (long long)high, (long long)s.n_x);
}

/* None: an element that is moved counts as one. */
static double flops(const struct workload *w)
{
    const struct strided_copy s = strided_copy_of(w);

    return (double)strided_copy_elems(&s);
}

/* Elements of x that are read may be fewer than x has. */
static double bytes_min(const struct workload *w)
{
    const struct strided_copy s = strided_copy_of(w);
    double read = 1;

    for (int k = 0; k < STRIDED_COPY_RANK; k++)
        read *= s.dim[k].stride ? (double)s.dim[k].n : 1;
    return ((double)strided_copy_elems(&s) + read) * (double)dtype_bytes(w->dtype);
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct strided_copy s = strided_copy_of(w);

    out[0] = (struct tensor){.name = "x",
                             .role = ROLE_INPUT,
                             .dtype = w->dtype,
                             .n_dims = 1,
                             .shape = {s.n_x},
                             .n_elems = s.n_x,
                             .layout = ""};
    out[1] = (struct tensor){.name = "y",
                             .role = ROLE_OUTPUT,
                             .dtype = w->dtype,
                             .n_dims = STRIDED_COPY_RANK,
                             .n_elems = strided_copy_elems(&s),
                             .layout = ""};
    for (int k = 0; k < STRIDED_COPY_RANK; k++)
        out[1].shape[STRIDED_COPY_RANK - 1 - k] = strided_copy_length(&s, k);
    if (dtype_is_bytes(w->dtype))
        byte_fills(&out[0], SEED_X);
    else
        tensor_fills(&out[0], SEED_X, 1000, 1);
    return 2;
}

/* The f32 that is put around, as an element of a dtype: its bits. */
static uint32_t fill_bits(const struct workload *w)
{
    const uint32_t bits = (uint32_t)workload_get(w, "fill");
    uint32_t stored = 0;
    float f;

    memcpy(&f, &bits, sizeof f);
    dtype_store(w->dtype, &stored, 0, (double)f);
    return stored;
}

struct copy_ref {
    struct strided_copy s;
    double fill;
    struct glue_data data;
};

/* The place of x at place i of a dimension of y; -1: fill. */
static int64_t place(const struct strided_copy *s, const struct strided_dim *d, int64_t i)
{
    const int64_t at = i - d->before;

    if (at >= 0 && at < d->n)
        return at;
    switch (s->mode) {
    case COPY_EDGE:
        return at < 0 ? 0 : d->n - 1;
    case COPY_REFLECT:
        return at < 0 ? -at : 2 * (d->n - 1) - at;
    case COPY_WRAP:
        return at < 0 ? at + d->n : at - d->n;
    default:
        return -1;
    }
}

static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct copy_ref *ref = arg;
    int64_t at = ref->s.at;
    bool outside = false;

    *scale = 1;
    for (int k = 0; k < STRIDED_COPY_RANK; k++) {
        const int64_t n = strided_copy_length(&ref->s, k), i = place(&ref->s, &ref->s.dim[k], index % n);

        outside = outside || i < 0;
        at += i * ref->s.dim[k].stride;
        index /= n;
    }
    return outside ? ref->fill : (double)ref->data.of[is_exact][0][at];
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const uint32_t fill = fill_bits(w);
    struct copy_ref ref = {strided_copy_of(w), dtype_load(w->dtype, &fill, 0), {{{NULL}}}};
    const int64_t d0 = strided_copy_length(&ref.s, 0), d1 = strided_copy_length(&ref.s, 1);
    const int64_t axis = d1 <= 4096 ? d1 : 1; /* of the projection */
    const struct images y = {strided_copy_elems(&ref.s) / d0 / axis, axis, 1, d0, 1};
    enum err failed = glue_data_make(e, (const char *const[GLUE_MAX_TENSORS]){"x"}, &ref.data);

    (void)data;
    if (!failed)
        failed = glue_expect(&y, 1, element, &ref, e);
    glue_data_fini(&ref.data);
    return failed;
}

void strided_copy_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group)
{
    const struct strided_copy s = strided_copy_of(b->w);
    const int64_t grid[] = {n_groups, 1, 1}, block[] = {group, 1, 1};

    build_define(b, "AT", s.at);
    build_define(b, "MODE", s.mode);
    build_define(b, "FILL", fill_bits(b->w));
    for (int k = 0; k < STRIDED_COPY_RANK; k++) {
        char name[8];

        snprintf(name, sizeof name, "N%d", k);
        build_define(b, name, s.dim[k].n);
        snprintf(name, sizeof name, "S%d", k);
        build_define(b, name, s.dim[k].stride);
        snprintf(name, sizeof name, "B%d", k);
        build_define(b, name, s.dim[k].before);
        snprintf(name, sizeof name, "L%d", k);
        build_define(b, name, strided_copy_length(&s, k));
    }
    build_launch(b, PHASE_RUN, kernel, grid, block, (const int[]){0, 1, -1});
}

static const struct template *const templates[] = {&strided_copy_tile, &strided_copy_naive, NULL};

const struct operator_desc operator_strided_copy = {
    .name = "strided_copy",
    .summary = "elements of x in another order, some of them, or repeated, with something around",
    .formula = "y[i5..i0] = x[at + sum over k of stride_k * (ik - before_k)], outside of the places as `mode` says",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16 | 1u << DTYPE_I8 | 1u << DTYPE_U8,
    .check = check,
    .flops = flops,
    .bytes_min = bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
