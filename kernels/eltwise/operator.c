/* SPDX-License-Identifier: MIT */
#include "kernels/eltwise/eltwise.h"

#include "core/buf.h"
#include "core/err.h"
#include "kernels/images.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define MAX_ELEMS (((int64_t)1 << 31) - 1)

_Static_assert(ELTWISE_MAX_TEXT == WORKLOAD_MAX_WORD - 1, "the expression is the workload's text key");

static const char *const weights[] = {"none", "a",  "b",   "ab", "c",   "ac",  "bc",   "abc", "d",
                                      "ad",   "bd", "abd", "cd", "acd", "bcd", "abcd", NULL}; /* by bits */

static const struct operator_key keys[] = {
    {"y", KEY_SIZES, true, 1, MAX_ELEMS, 0, NULL, "shape of y"},
    {"a", KEY_SIZES, false, 1, MAX_ELEMS, 0, NULL, "shape of a where it is not that of y: 1 or y's size each"},
    {"b", KEY_SIZES, false, 1, MAX_ELEMS, 0, NULL, "shape of b"},
    {"c", KEY_SIZES, false, 1, MAX_ELEMS, 0, NULL, "shape of c"},
    {"d", KEY_SIZES, false, 1, MAX_ELEMS, 0, NULL, "shape of d"},
    {"f", KEY_TEXT, true, 0, 0, 0, NULL, "calls of functions, like mul(a,sigmoid(b))"},
    {"weights", KEY_WORD, false, 0, 0, 0, weights, "inputs that stay the same from run to run"},
    {0},
};
static const char *const names[] = {"a", "b", "c", "d"};

/* Of an input left out: y's. */
static int64_t size_of(const struct workload *w, int i_input, int i_dim)
{
    const int64_t size = workload_part(w, names[i_input], i_dim);

    return size ? size : workload_part(w, "y", i_dim);
}

static bool is_broadcast(const struct workload *w, int i_input, int i_dim)
{
    return size_of(w, i_input, i_dim) != workload_part(w, "y", i_dim);
}

static enum err check_input(const struct workload *w, int i, int n_inputs, struct why *why)
{
    const int n = workload_n_sizes(w, names[i]), n_y = workload_n_sizes(w, "y");
    int n_less = 0;

    if (!n)
        return ERR_OK;
    if (i >= n_inputs)
        return why_set(why, ERR_INPUT, "eltwise: %s has a shape, but f does not have it", names[i]);
    if (n != n_y)
        return why_set(why, ERR_INPUT, "eltwise: %s has %d sizes and y %d; expected as many", names[i], n, n_y);
    for (int k = 0; k < n; k++) {
        n_less += is_broadcast(w, i, k);
        if (is_broadcast(w, i, k) && size_of(w, i, k) != 1)
            return why_set(why, ERR_INPUT, "eltwise: size %d of %s is %lld; expected 1 or %lld as of y", k + 1,
                           names[i], (long long)size_of(w, i, k), (long long)workload_part(w, "y", k));
    }
    return n_less ? ERR_OK : why_set(why, ERR_INPUT, "eltwise: %s has the shape of y; expected none then", names[i]);
}

/* So that the same work has one text. */
static enum err check_merged(const struct workload *w, int n_inputs, struct why *why)
{
    const int n = workload_n_sizes(w, "y");

    for (int k = 0; n > 1 && k < n; k++)
        if (workload_part(w, "y", k) == 1)
            return why_set(why, ERR_INPUT, "eltwise: size %d of y is 1; expected it to be left out of all shapes",
                           k + 1);
    for (int k = 0; k < n; k++) {
        bool alike = k + 1 < n;

        for (int i = 0; i < n_inputs; i++)
            alike = alike && is_broadcast(w, i, k) == is_broadcast(w, i, k + 1);
        if (alike)
            return why_set(why, ERR_INPUT,
                           "eltwise: sizes %d and %d are broadcast alike in all inputs; expected their product instead",
                           k + 1, k + 2);
    }
    return ERR_OK;
}

static enum err check_elems(const struct workload *w, struct why *why)
{
    int64_t n = 1;

    for (int k = 0; k < workload_n_sizes(w, "y"); k++)
        if (__builtin_mul_overflow(n, workload_part(w, "y", k), &n) || n > MAX_ELEMS)
            return why_set(why, ERR_LIMIT, "eltwise: y has more than %lld elements", (long long)MAX_ELEMS);
    return ERR_OK;
}

static enum err check(const struct workload *w, struct why *why)
{
    struct eltwise chain;
    enum err e = eltwise_parse(w->text, &chain, why);

    if (!e && workload_get(w, "weights") >> chain.n_inputs)
        e = why_set(why, ERR_INPUT, "eltwise: weights=%s, but f has %d inputs", weights[workload_get(w, "weights")],
                    chain.n_inputs);
    for (int i = 0; !e && i < ELTWISE_MAX_INPUTS; i++)
        e = check_input(w, i, chain.n_inputs, why);
    if (!e)
        e = check_merged(w, chain.n_inputs, why);
    return e ? e : check_elems(w, why);
}

void eltwise_of(const struct workload *w, struct eltwise *chain, struct eltwise_shape *shape)
{
    const int n = workload_n_sizes(w, "y"), ones = ELTWISE_DIMS - n;
    const enum err e = eltwise_parse(w->text, chain, NULL);

    assert(!e);
    (void)e;
    *shape = (struct eltwise_shape){.rows = 1};
    for (int k = 0; k < ELTWISE_DIMS; k++)
        shape->y[k] = k < ones ? 1 : workload_part(w, "y", k - ones);
    for (int i = 0; i < chain->n_inputs; i++) {
        int64_t step = 1;

        for (int k = ELTWISE_DIMS - 1; k >= ones; k--) {
            const int64_t size = size_of(w, i, k - ones);

            shape->stride[i][k] = size == shape->y[k] && size > 1 ? step : 0;
            step *= size;
        }
    }
    for (int k = 0; k < ELTWISE_DIMS - 1; k++)
        shape->rows *= shape->y[k];
    shape->inner = shape->y[ELTWISE_DIMS - 1];
}

static double flops(const struct workload *w)
{
    struct eltwise chain;
    struct eltwise_shape shape;
    int n = 0;

    eltwise_of(w, &chain, &shape);
    for (int i = 0; i < chain.n_nodes; i++)
        n += chain.nodes[i].function >= 0;
    return (double)n * (double)shape.rows * (double)shape.inner;
}

/* Results of arguments that are rounded: how often, in the worst path (2 = more than once, or over a step). */
static int roundings(const struct eltwise *chain, const struct eltwise_node *node, const int *of)
{
    const struct eltwise_function *f = &eltwise_functions[node->function];
    int most = 0;

    for (int i = 0; i < f->n_args; i++)
        most = of[node->args[i]] > most ? of[node->args[i]] : most;
    (void)chain;
    if (f->exact == EXACT_ALWAYS)
        return most;
    return f->exact == EXACT_STEPS ? 2 * (most > 0) : f->exact == EXACT_ROUNDED && most == 0 ? 1 : 2;
}

static int roundings_of_all(const struct eltwise *chain)
{
    int of[ELTWISE_MAX_NODES];

    for (int i = 0; i < chain->n_nodes; i++)
        of[i] = chain->nodes[i].function < 0 ? 0 : roundings(chain, &chain->nodes[i], of);
    return of[chain->n_nodes - 1];
}

bool eltwise_is_rounded_once(const struct eltwise *chain)
{
    return roundings_of_all(chain) < 2;
}

bool eltwise_is_whole(const struct eltwise *chain, enum dtype t, double most)
{
    double of[ELTWISE_MAX_NODES] = {0};

    for (int i = 0; i < chain->n_nodes; i++) {
        const struct eltwise_node *node = &chain->nodes[i];
        const struct eltwise_function *f = node->function < 0 ? NULL : &eltwise_functions[node->function];
        double x[3] = {0}, largest = 0;

        of[i] = node->input >= 0 ? most : fabs((double)node->number);
        for (int k = 0; f && k < f->n_args; k++)
            largest = fmax(largest, x[k] = of[node->args[k]]);
        if (f)
            of[i] = f->bound ? f->bound(x) : largest;
        if ((f && f->exact == EXACT_NEVER) || of[i] > 16777216 || rint((double)node->number) != (double)node->number)
            return false;
    }
    return of[chain->n_nodes - 1] <= (t == DTYPE_F16 ? 2048 : 16777216);
}

bool eltwise_only_compares(const struct workload *w)
{
    struct eltwise_shape shape;
    struct eltwise chain;

    eltwise_of(w, &chain, &shape);
    return roundings_of_all(&chain) == 0;
}

bool eltwise_takes_any(const struct workload *w)
{
    struct eltwise_shape shape;
    struct eltwise chain;

    eltwise_of(w, &chain, &shape);
    return eltwise_is_whole(&chain, w->dtype, 1) && eltwise_is_rounded_once(&chain);
}

#define MOST_INSIDE 0x1p125 /* of results that are arguments: no infinity meets another */
#define WIDE_LO (-30)       /* where the powers of e round 0 are 1 */
#define WIDE_LO_F16 (-14)
#define WIDE_HI 17        /* beyond what powers of e reach, and where angles have few digits left */
#define WIDE_HI_WHOLE 62  /* of sums and products alone */
#define WIDE_HI_F16 9     /* beyond the root of the largest power of e, and what is 1 or 0 behind it */
#define MOST_OF_EXP 88.7  /* whose power of e is a float, which is not so of 88.73 */
#define MOST_BASE 8.0     /* of powers whose exponents are numbers, too */
#define MOST_ANGLE 0x1p18 /* of what a sine is taken: beyond, an argument's last place is a part of a turn */

/* Has the function a period, so that it is not sure where its argument is rounded and large? */
static bool is_of_angle(const struct eltwise_function *f)
{
    return strcmp(f->name, "sin") == 0 || strcmp(f->name, "cos") == 0 || strcmp(f->name, "tan") == 0;
}

/* The largest |f| where arguments are up to x: at the corners, and not below an argument. */
static double most_of(const struct eltwise_function *f, const double *x)
{
    double most = 0;

    for (int corner = 0; corner < 8; corner++) {
        double at[3];

        for (int k = 0; k < 3; k++)
            at[k] = corner >> k & 1 ? -x[k] : x[k];
        most = fmax(most, fabs(f->of(at)));
    }
    for (int k = 0; k < f->n_args; k++)
        most = fmax(most, x[k]);
    return most;
}

/* Is every result but the last, which may be infinite, far from that where inputs are up to `most`, and no angle large?
 */
static bool stays_inside(const struct eltwise *chain, double most)
{
    double of[ELTWISE_MAX_NODES];

    for (int i = 0; i < chain->n_nodes; i++) {
        const struct eltwise_node *node = &chain->nodes[i];
        double x[3] = {0};

        of[i] = node->input >= 0 ? most : fabs((double)node->number);
        if (node->function < 0)
            continue;
        for (int k = 0; k < eltwise_functions[node->function].n_args; k++)
            x[k] = of[node->args[k]];
        if (is_of_angle(&eltwise_functions[node->function]) && x[0] > MOST_ANGLE)
            return false;
        of[i] = most_of(&eltwise_functions[node->function], x);
        if (!(of[i] <= MOST_INSIDE) && i + 1 < chain->n_nodes)
            return false;
    }
    return true;
}

/* Is it a power of any number: a whole exponent, not below 0 but where an input's power is the result? */
static bool is_whole_power(const struct eltwise *chain, int i)
{
    const struct eltwise_node *node = &chain->nodes[i];
    const struct eltwise_node *exponent = &chain->nodes[node->args[1] >= 0 ? node->args[1] : 0];

    if (strcmp(eltwise_functions[node->function].name, "pow") != 0)
        return false;
    if (exponent->input >= 0)
        return i + 1 == chain->n_nodes && chain->nodes[node->args[0]].input >= 0;
    return exponent->function < 0 && exponent->number >= 0 &&
           rint((double)exponent->number) == (double)exponent->number;
}

/* The result where all inputs are `at`; NAN where one on the way is no number. */
static double result_at(const struct eltwise *chain, double at)
{
    double of[ELTWISE_MAX_NODES];

    for (int i = 0; i < chain->n_nodes; i++) {
        const struct eltwise_node *node = &chain->nodes[i];
        double x[3] = {0};

        of[i] = node->input >= 0 ? at : (double)node->number;
        if (node->function < 0)
            continue;
        for (int k = 0; k < eltwise_functions[node->function].n_args; k++)
            x[k] = of[node->args[k]];
        of[i] = eltwise_functions[node->function].of(x);
        if (!isfinite(of[i]))
            return NAN;
    }
    return of[chain->n_nodes - 1];
}

/* Is every result a number where inputs are 0? Logarithms and quotients are not. */
static bool is_finite_at_0(const struct eltwise *chain)
{
    return isfinite(result_at(chain, 0));
}

/* Exponents of positive or other numbers, the widest first: logarithms, roots and quotients take any above 0, arcs
 * below 1, acosh above. */
static const struct range {
    int lo, hi;
} ranges[] = {{-120, 120}, {-60, 60}, {-30, 30}, {-14, 14}, {-6, 6}, {-3, 3},
              {-40, -1},   {-14, -1}, {1, 120},  {1, 60},   {1, 10}},
  small = {-14, -1}, large = {1, 10}; /* of differences, whose inputs are not alike */
#define N_RANGES (sizeof ranges / sizeof ranges[0])
#define N_TRIED 1024

static struct program_fill spread(struct range r, bool has_sign, uint64_t seed)
{
    return (struct program_fill){.kind = FILL_FLOATS,
                                 .seed = seed,
                                 .lo = r.lo,
                                 .hi = r.hi,
                                 .step = has_sign ? FILL_FLOATS_NOT_0 : FILL_FLOATS_ABOVE_0};
}

/* Is each result of the i-th elements of the inputs' data a number, those that are arguments neither far from 1 nor
 * next to 0, and no angle large? */
static bool has_results(const struct eltwise *chain, const struct program_fill *data, int64_t i)
{
    double of[ELTWISE_MAX_NODES];

    for (int k = 0; k < chain->n_nodes; k++) {
        const struct eltwise_node *node = &chain->nodes[k];
        const bool is_last = k + 1 == chain->n_nodes;
        double x[3] = {0};

        of[k] = node->input >= 0 ? fill_elem(&data[node->input], DTYPE_F32, i) : (double)node->number;
        if (node->function < 0)
            continue;
        for (int a = 0; a < eltwise_functions[node->function].n_args; a++)
            x[a] = of[node->args[a]];
        if (is_of_angle(&eltwise_functions[node->function]) && fabs(x[0]) > MOST_ANGLE)
            return false;
        of[k] = eltwise_functions[node->function].of(x);
        if (isnan(of[k]) || (!is_last && of[k] != 0 && !(fabs(of[k]) <= MOST_INSIDE && fabs(of[k]) >= 1 / MOST_INSIDE)))
            return false;
    }
    return true;
}

static bool takes_each(const struct eltwise *chain, const struct program_fill *data, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!has_results(chain, data, i))
            return false;
    return true;
}

static bool takes(const struct eltwise *chain, const struct program_fill *data)
{
    return takes_each(chain, data, N_TRIED);
}

/* One range for all inputs; with either sign wherever there are results throughout, too. */
static bool takes_range(const struct eltwise *chain, struct range r, struct program_fill *data)
{
    for (int i = 0; i < chain->n_inputs; i++)
        data[i] = spread(r, false, (uint64_t)i);
    if (!takes(chain, data))
        return false;
    for (int i = 0; i < chain->n_inputs; i++) {
        data[i] = spread(r, true, (uint64_t)i);
        if (!takes(chain, data))
            data[i] = spread(r, false, (uint64_t)i);
    }
    return true;
}

/* Data of all inputs, but for seeds: the widest range that has results throughout, else large numbers in some inputs
 * and small ones in the others, as the root of a difference wants; false where none of it has. */
static bool find_spread(const struct eltwise *chain, enum dtype t, struct program_fill *data)
{
    const int most = t == DTYPE_F16 ? 14 : 120;
    bool found = false;

    for (size_t k = 0; k < N_RANGES && !found; k++)
        found = ranges[k].lo >= -most && ranges[k].hi <= most && takes_range(chain, ranges[k], data);
    for (unsigned larger = 1; larger + 1 < 1u << chain->n_inputs && !found; larger++) {
        for (int i = 0; i < chain->n_inputs; i++)
            data[i] = spread(larger >> i & 1 ? large : small, false, (uint64_t)i);
        found = takes(chain, data);
    }
    return found;
}

static int widest(const struct eltwise *chain, enum dtype t)
{
    if (t == DTYPE_F16)
        return WIDE_HI_F16;
    return eltwise_is_whole(chain, t, 1) ? WIDE_HI_WHOLE : WIDE_HI;
}

struct program_fill eltwise_wide_fill(const struct workload *w, int i_input, const struct program_fill *normal)
{
    struct eltwise_shape shape;
    struct eltwise chain;
    struct program_fill data[ELTWISE_MAX_INPUTS], f;
    bool takes_all = true, powers = false;

    eltwise_of(w, &chain, &shape);
    for (int i = 0; i < chain.n_nodes; i++)
        if (chain.nodes[i].function >= 0 && eltwise_functions[chain.nodes[i].function].domain) {
            powers = true;
            takes_all = takes_all && is_whole_power(&chain, i);
        }
    if (takes_all && powers && stays_inside(&chain, MOST_BASE))
        return (struct program_fill){.kind = FILL_INT, .seed = normal->seed, .lo = -MOST_BASE, .hi = MOST_BASE};
    for (int hi = widest(&chain, w->dtype); takes_all && !powers && hi >= 0; hi--)
        if (stays_inside(&chain, ldexp(1, hi + 1)))
            return (struct program_fill){.kind = FILL_FLOATS,
                                         .seed = normal->seed,
                                         .lo = w->dtype == DTYPE_F16 ? WIDE_LO_F16 : WIDE_LO,
                                         .hi = hi,
                                         .step = ldexp(1, hi) >= MOST_OF_EXP / 2 ? MOST_OF_EXP : 0};
    f = find_spread(&chain, w->dtype, data) ? data[i_input] : *normal;
    f.seed = normal->seed;
    f.zeros = chain.n_inputs == 1 && is_finite_at_0(&chain) ? shape.inner : 0;
    return f;
}

#define LEAST_NEAR (1 << 22) /* whole numbers with all digits of a float, */
#define LEAST_NEAR_F16 (1 << 9)
#define TINY_NEAR 0x1p-80  /* of what is compared: differences below all floats */
#define N_TRIED_PICKS 8192 /* where each pair of numbers comes up */
#define OTHERWISE 0.7
#define BISECTIONS 60

/* Up to which the result is a number of the type by far, where it is not for all numbers; else any number. What an
 * infinite number on the way there makes of it is seen at its end alone. */
static double end_of(const struct eltwise *chain, enum dtype t)
{
    const double most = t == DTYPE_F16 ? 60000 : 3e38;
    double within = 1, beyond = most;

    for (int i = 0; i < chain->n_nodes; i++)
        if (chain->nodes[i].function >= 0 && is_of_angle(&eltwise_functions[chain->nodes[i].function]))
            return OTHERWISE;
    if (!(fabs(result_at(chain, within)) <= most) || fabs(result_at(chain, beyond)) <= most)
        return OTHERWISE;
    for (int i = 0; i < BISECTIONS; i++) {
        const double middle = sqrt(within * beyond);

        if (fabs(result_at(chain, middle)) <= most)
            within = middle;
        else
            beyond = middle;
    }
    return within;
}

/* The chain's first two numbers. */
static void numbers_of(const struct eltwise *chain, double out[2])
{
    int n = 0;

    for (int i = 0; i < chain->n_nodes && n < 2; i++)
        if (chain->nodes[i].function < 0 && chain->nodes[i].input < 0)
            out[n++] = (double)chain->nodes[i].number;
}

/* Numbers that somebody thinks of, the widest that have results throughout; false where there are none. */
static bool find_picks(const struct eltwise *chain, enum dtype t, struct program_fill *data)
{
    static const double sizes[] = {3e38, 1e30, 0x1p64, 60000, 1000, 100, 4, 1};
    static const int signs[] = {0, 2, 1}; /* any, not below 0, above */
    double numbers[2] = {0.1, end_of(chain, t)};

    numbers_of(chain, numbers);
    for (size_t k = t == DTYPE_F16 ? 3 : 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (size_t s = 0; s < sizeof signs / sizeof signs[0]; s++) {
            for (int i = 0; i < chain->n_inputs; i++)
                data[i] = (struct program_fill){.kind = FILL_PICKS,
                                                .seed = (uint64_t)i,
                                                .lo = numbers[0],
                                                .hi = numbers[1],
                                                .step = sizes[k],
                                                .block = signs[s]};
            if (takes_each(chain, data, N_TRIED_PICKS))
                return true;
        }
    return false;
}

struct program_fill eltwise_special_fill(const struct workload *w, int i_input, const struct program_fill *normal)
{
    struct eltwise_shape shape;
    struct eltwise chain;
    struct program_fill data[ELTWISE_MAX_INPUTS], f = *normal;

    eltwise_of(w, &chain, &shape);
    if (chain.n_inputs > 1 && eltwise_takes_any(w))
        return (struct program_fill){.kind = FILL_NEAR,
                                     .seed = normal->seed,
                                     .lo = w->dtype != DTYPE_F16 && eltwise_only_compares(w) ? TINY_NEAR : 1,
                                     .hi = i_input,
                                     .block = w->dtype == DTYPE_F16 ? LEAST_NEAR_F16 : LEAST_NEAR};
    if (chain.n_inputs <= 2 && find_picks(&chain, w->dtype, data))
        f = data[i_input];
    f.seed = normal->seed;
    return f;
}

/* What the exact pass is filled with: whole numbers up to it. */
static double whole_bound(const struct eltwise *chain, enum dtype t)
{
    for (double most = 1000; most >= 3; most = floor(most / 3))
        if (eltwise_is_whole(chain, t, most))
            return most;
    return 0;
}

/* Random data: normal; round 2 and above 0.5 where roots and quotients are taken, else within -1 and 1 where arcs are;
 * spread where that has results throughout and these have not, for outputs are numbers. */
static void fill(const struct eltwise *chain, struct tensor *inputs)
{
    static const uint64_t seeds[] = {SEED_X, SEED_RESIDUAL, SEED_BIAS, SEED_OFFSET};
    const double most = whole_bound(chain, inputs->dtype);
    struct program_fill data[ELTWISE_MAX_INPUTS];
    bool of[3] = {false}, has_domain;

    for (int i = 0; i < chain->n_nodes; i++)
        if (chain->nodes[i].function >= 0)
            of[eltwise_functions[chain->nodes[i].function].domain] = true;
    has_domain = of[DOMAIN_POSITIVE] || of[DOMAIN_WITHIN_1];
    for (int i = 0; i < chain->n_inputs; i++) {
        tensor_fills(&inputs[i], seeds[i], most > 0 ? most : 1, has_domain ? 0.25 : 1);
        inputs[i].random.lo = of[DOMAIN_POSITIVE] ? 2 : 0;
        data[i] = inputs[i].random;
    }
    if (!has_domain || takes(chain, data) || !find_spread(chain, inputs->dtype, data))
        return;
    for (int i = 0; i < chain->n_inputs; i++) {
        data[i].seed = inputs[i].random.seed;
        inputs[i].random = data[i];
    }
}

static struct tensor tensor_of(const struct workload *w, const char *name, enum buffer_role role, const int64_t *sizes,
                               int n)
{
    struct tensor t = {.name = name, .role = role, .dtype = w->dtype, .n_dims = n, .n_elems = 1, .layout = ""};

    for (int k = 0; k < n; k++)
        t.n_elems *= t.shape[k] = sizes[k];
    return t;
}

static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const int n = workload_n_sizes(w, "y");
    struct eltwise_shape shape;
    struct eltwise chain;
    int i = 0;

    eltwise_of(w, &chain, &shape);
    for (; i < chain.n_inputs; i++) {
        int64_t sizes[ELTWISE_DIMS];

        for (int k = 0; k < n; k++)
            sizes[k] = size_of(w, i, k);
        out[i] = tensor_of(w, names[i], workload_get(w, "weights") >> i & 1 ? ROLE_WEIGHT : ROLE_INPUT, sizes, n);
    }
    fill(&chain, out);
    out[i] = tensor_of(w, "y", ROLE_OUTPUT, shape.y + ELTWISE_DIMS - n, n);
    return (size_t)i + 1;
}

/* Scales are bounds of the error: f32 in units of 2^-24, of which twice as many are allowed; f16 with what is lost when
 * it is stored. */
void eltwise_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout)
{
    const bool is_half = w->dtype == DTYPE_F16;
    struct eltwise_shape shape;
    struct eltwise chain;
    bool whole;

    (void)s;
    (void)c;
    eltwise_of(w, &chain, &shape);
    whole = whole_bound(&chain, w->dtype) > 0;
    *inout = (struct numerics){.name = is_half ? "f16-f32-eltwise" : "f32-eltwise",
                               .data = whole ? EXACT_PLAIN : EXACT_NONE,
                               .tolerance = is_half ? 0x1p-10 : 0x1p-23};
    if (whole && eltwise_is_rounded_once(&chain))
        *inout = (struct numerics){.name = "exact", .data = EXACT_PLAIN, .tolerance = 0};
}

static const struct template *const templates[] = {&eltwise_rows, &eltwise_naive, NULL};

const struct operator_desc operator_eltwise = {
    .name = "eltwise",
    .summary = "functions of up to four tensors, element by element, with broadcasting",
    .formula = "y[i] = f(a[i], b[i], c[i], d[i])",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16,
    .check = check,
    .flops = flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = eltwise_reference,
    .templates = templates,
};
