/* SPDX-License-Identifier: MIT */
#include "kernels/gather/gather.h"

#include "core/err.h"
#include "kernels/glue/glue.h"

#include <math.h>

#define MOST_F16 2048 /* whole numbers up to it are halves */

static const char *const weights[] = {"none", "x", NULL};

static const struct operator_key keys[] = {
    {"outer", KEY_INT, false, 1, IMAGES_MAX_SIZE, 1, NULL, "tables"},
    {"n", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "rows of a table"},
    {"m", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "rows that are taken of each table"},
    {"inner", KEY_INT, false, 1, IMAGES_MAX_SIZE, 1, NULL, "elements of a row"},
    {"weights", KEY_WORD, false, 0, 0, 0, weights, "x: the tables stay the same from run to run"},
    {0},
};

static int64_t get(const struct workload *w, const char *key)
{
    return workload_get(w, key);
}

static enum err check(const struct workload *w, struct why *why)
{
    enum err e = images_check_elems(w, "x", (const int64_t[]){1, get(w, "outer"), get(w, "n"), get(w, "inner")}, why);

    if (!e)
        e = images_check_elems(w, "y", (const int64_t[]){1, get(w, "outer"), get(w, "m"), get(w, "inner")}, why);
    if (!e && w->dtype == DTYPE_F16 && get(w, "n") > MOST_F16)
        e = why_set(why, ERR_INPUT, "gather: f16 numbers rows up to n=%d, not n=%lld", MOST_F16,
                    (long long)get(w, "n"));
    return e;
}

/* None: an element that is moved counts as one. */
static double flops(const struct workload *w)
{
    return (double)get(w, "outer") * (double)get(w, "m") * (double)get(w, "inner");
}

/* Rows that are read may be fewer than the table has. */
static double bytes_min(const struct workload *w)
{
    return (2 * flops(w) + (double)get(w, "m")) * (double)dtype_bytes(w->dtype);
}

static struct tensor tensor_of(const struct workload *w, const char *name, enum buffer_role role, int64_t outer,
                               int64_t rows, int64_t inner)
{
    return (struct tensor){.name = name,
                           .role = role,
                           .dtype = w->dtype,
                           .n_dims = 3,
                           .shape = {outer, rows, inner},
                           .n_elems = outer * rows * inner,
                           .layout = ""};
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const int64_t outer = get(w, "outer"), inner = get(w, "inner"), n = get(w, "n");

    out[0] = tensor_of(w, "x", get(w, "weights") ? ROLE_WEIGHT : ROLE_INPUT, outer, n, inner);
    out[1] = tensor_of(w, "at", ROLE_INPUT, 1, get(w, "m"), 1);
    out[2] = tensor_of(w, "y", ROLE_OUTPUT, outer, get(w, "m"), inner);
    tensor_fills(&out[0], SEED_X, 1000, 1);
    out[1].exact = out[1].random =
        (struct program_fill){.kind = FILL_INT, .seed = SEED_OFFSET, .lo = (double)-n, .hi = (double)(n - 1)};
    out[1].random.kind = FILL_EDGES; /* -n, -1, 0 and n - 1 are there */
    out[1].random.seed += SEED_RANDOM;
    return 3;
}

struct gather_ref {
    int64_t n, m, inner;
    struct glue_data data;
};

static double element(const void *arg, bool is_exact, int64_t index, double *scale)
{
    const struct gather_ref *ref = arg;
    float *const *of = ref->data.of[is_exact];
    const int64_t row = index / ref->inner, number = (int64_t)of[1][row % ref->m];
    const int64_t from_begin = number < 0 ? number + ref->n : number;
    const int64_t place = from_begin < 0 ? 0 : from_begin < ref->n ? from_begin : ref->n - 1;

    *scale = 1;
    return (double)of[0][(row / ref->m * ref->n + place) * ref->inner + index % ref->inner];
}

/* Numbers that no row has, of a run's own data. */
static void pass_ends(struct tensor *at)
{
    const double beyond = 3 + floor(at->exact.hi / 4);

    at->exact.lo = at->random.lo -= beyond;
    at->exact.hi = at->random.hi += beyond;
}

static enum err reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    struct gather_ref ref = {get(w, "n"), get(w, "m"), get(w, "inner"), {{{NULL}}}};
    const int64_t axis = ref.m <= 4096 ? ref.m : 1; /* of the projection */
    const struct images y = {get(w, "outer") * ref.m / axis, axis, 1, ref.inner, 1};
    enum err failed;

    if (e->mode != EXPECT_PROGRAM)
        pass_ends(expected_tensor(e, "at"));
    failed = glue_data_make(e, (const char *const[GLUE_MAX_TENSORS]){"x", "at"}, &ref.data);

    (void)data;
    if (!failed)
        failed = glue_expect(&y, 1, element, &ref, e);
    glue_data_fini(&ref.data);
    return failed;
}

void gather_launch(struct build *b, const char *kernel, int64_t n_groups, int64_t group)
{
    const int64_t grid[] = {n_groups, 1, 1}, block[] = {group, 1, 1};

    build_define(b, "OUTER", get(b->w, "outer"));
    build_define(b, "N", get(b->w, "n"));
    build_define(b, "M", get(b->w, "m"));
    build_define(b, "INNER", get(b->w, "inner"));
    build_launch(b, PHASE_RUN, kernel, grid, block, (const int[]){0, 1, 2, -1});
}

static const struct template *const templates[] = {&gather_rows, &gather_naive, NULL};

const struct operator_desc operator_gather = {
    .name = "gather",
    .summary = "rows of a table by their numbers",
    .formula = "y[o,m,i] = x[o,at[m],i], at[m] + n where it is below 0",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16,
    .check = check,
    .flops = flops,
    .bytes_min = bytes_min,
    .tensors = tensors,
    .reference = reference,
    .templates = templates,
};
