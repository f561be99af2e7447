/* SPDX-License-Identifier: MIT */
#include "kernels/attention/attention.h"

#include "core/err.h"
#include "kernels/images.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define MAX_HEAD 512
#define MAX_KEYS ((int64_t)1 << 20)
#define EXACT_GAP 128 /* e to its negative is nothing in f32 */
#define EXACT_V 7
#define EXACT_MASK 61440 /* a half beyond all scaled products of the exact pass */
#define MAX_EXACT_HALF 16384

/* The letters of the mask's axes. */
static const char *const masks[] = {"none", "k", "qk", "bk", "bqk", "hqk", "bhqk", NULL};
static const char *const layouts[] = {"bhld", "blhd", NULL};

static const struct operator_key keys[] = {
    {"b", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "batch"},
    {"heads", KEY_INT, true, 1, IMAGES_MAX_SIZE, 0, NULL, "heads of queries"},
    {"q", KEY_INT, true, 1, MAX_KEYS, 0, NULL, "queries"},
    {"k", KEY_INT, true, 1, MAX_KEYS, 0, NULL, "keys and values, those of a cache among them"},
    {"d", KEY_INT, true, 1, MAX_HEAD, 0, NULL, "numbers of a query and of a key"},
    {"dv", KEY_INT, false, 0, MAX_HEAD, 0, NULL, "numbers of a value; 0: as many as d"},
    {"group", KEY_INT, false, 1, IMAGES_MAX_SIZE, 1, NULL, "heads of queries that share a head of keys"},
    {"causal", KEY_INT, false, 0, 1, 0, NULL, "query i sees keys 0 to i + past"},
    {"past", KEY_INT, false, 0, MAX_KEYS, 0, NULL, "keys in front of the first query's"},
    {"mask", KEY_WORD, false, 0, 0, 0, masks, "axes of what is added to scaled products"},
    {"lengths", KEY_INT, false, 0, 1, 0, NULL, "1: how many keys there are is told for each of the batch"},
    {"scale", KEY_FRACTION, false, 0, 1000000000, 0, NULL, "factor of the products; 0: 1 / sqrt(d)"},
    {"layout", KEY_WORD, false, 0, 0, 0, layouts, "order of axes: heads outside the sequence, or inside"},
    {0},
};

struct attention_shape attention_shape_of(const struct workload *w)
{
    const char *mask = masks[workload_get(w, "mask")];
    const int64_t d = workload_get(w, "d"), dv = workload_get(w, "dv"), scale = workload_get(w, "scale");
    const bool has_mask = strcmp(mask, "none") != 0;

    return (struct attention_shape){.b = workload_get(w, "b"),
                                    .heads = workload_get(w, "heads"),
                                    .group = workload_get(w, "group"),
                                    .q = workload_get(w, "q"),
                                    .k = workload_get(w, "k"),
                                    .d = d,
                                    .dv = dv ? dv : d,
                                    .past = workload_get(w, "past"),
                                    .causal = workload_get(w, "causal"),
                                    .lengths = workload_get(w, "lengths"),
                                    .rows_first = workload_get(w, "layout"),
                                    .mask = has_mask,
                                    .mask_b = has_mask && strchr(mask, 'b'),
                                    .mask_h = has_mask && strchr(mask, 'h'),
                                    .mask_q = has_mask && strchr(mask, 'q'),
                                    .scale = scale ? (double)scale / 1e6 : 1 / sqrt((double)d)};
}

int64_t attention_seen(const struct attention_shape *s, int64_t i)
{
    return s->causal && i + s->past + 1 < s->k ? i + s->past + 1 : s->k;
}

double attention_pairs(const struct attention_shape *s)
{
    const int64_t short_rows = !s->causal || s->k <= s->past ? 0
                               : s->k - s->past - 1 < s->q   ? s->k - s->past - 1
                                                             : s->q;
    const double rows = (double)short_rows; /* of past + 1, past + 2 .. keys */

    return rows * ((double)s->past + (rows + 1) / 2) + ((double)s->q - rows) * (double)s->k;
}

static enum err check(const struct workload *w, struct why *why)
{
    const struct attention_shape s = attention_shape_of(w);
    enum err e;

    if (s.heads % s.group)
        return why_set(why, ERR_INPUT, "attention: group=%lld does not divide heads=%lld", (long long)s.group,
                       (long long)s.heads);
    if (s.past && !s.causal)
        return why_set(why, ERR_INPUT, "attention: past= is for causal=1; without it every query sees all keys");
    if (workload_get(w, "dv") == s.d)
        return why_set(why, ERR_INPUT, "attention: dv=%lld is d: leave it out", (long long)s.d);
    e = images_check_elems(w, "q", (const int64_t[]){s.b, s.heads, s.q, s.d}, why);
    if (!e)
        e = images_check_elems(w, "k", (const int64_t[]){s.b, s.heads / s.group, s.k, s.d}, why);
    if (!e)
        e = images_check_elems(w, "v", (const int64_t[]){s.b, s.heads / s.group, s.k, s.dv}, why);
    if (!e)
        e = images_check_elems(w, "y", (const int64_t[]){s.b, s.heads, s.q, s.dv}, why);
    if (!e && s.mask)
        e = images_check_elems(
            w, "mask", (const int64_t[]){s.mask_b ? s.b : 1, s.mask_h ? s.heads : 1, s.mask_q ? s.q : 1, s.k}, why);
    return e;
}

static double flops(const struct workload *w)
{
    const struct attention_shape s = attention_shape_of(w);

    return 2.0 * (double)s.b * (double)s.heads * attention_pairs(&s) * (double)(s.d + s.dv);
}

static struct tensor heads_tensor(const struct workload *w, const char *name, enum buffer_role role, int64_t heads,
                                  int64_t rows, int64_t d)
{
    const struct attention_shape s = attention_shape_of(w);
    struct tensor t = {.name = name, .role = role, .dtype = w->dtype, .n_dims = 4, .shape = {s.b, heads, rows, d}};

    if (s.rows_first) {
        t.shape[1] = rows;
        t.shape[2] = heads;
    }
    t.n_elems = s.b * heads * rows * d;
    t.layout = layouts[s.rows_first];
    return t;
}

static struct tensor mask_tensor(const struct workload *w)
{
    const struct attention_shape s = attention_shape_of(w);
    struct tensor t = {.name = "mask", .role = ROLE_INPUT, .dtype = w->dtype, .n_elems = 1};

    t.layout = masks[workload_get(w, "mask")];
    for (const char *axis = t.layout; *axis; axis++) {
        const int64_t n = *axis == 'b' ? s.b : *axis == 'h' ? s.heads : *axis == 'q' ? s.q : s.k;

        t.shape[t.n_dims++] = n;
        t.n_elems *= n;
    }
    tensor_fills(&t, SEED_BIAS, 0, 1);
    t.exact.lo = -1;
    t.exact.step = EXACT_MASK;
    return t;
}

void attention_exact_steps(const struct workload *w, double *of_q, double *of_k)
{
    const struct attention_shape s = attention_shape_of(w);
    double step = 1;

    while (step * s.scale < EXACT_GAP)
        step *= 2;
    *of_k = w->dtype == DTYPE_F16 && step > MAX_EXACT_HALF ? step / MAX_EXACT_HALF : 1;
    *of_q = step / *of_k;
}

/* Scaled products have a deviation of 3: a few of many keys matter. Lengths are whole where it is timed. */
static size_t tensors(const struct workload *w, struct tensor out[OPERATOR_MAX_TENSORS])
{
    const struct attention_shape s = attention_shape_of(w);
    const double sd = sqrt(3 / (s.scale * sqrt((double)s.d)));
    size_t n = 3;

    out[0] = heads_tensor(w, "q", ROLE_INPUT, s.heads, s.q, s.d);
    out[1] = heads_tensor(w, "k", ROLE_INPUT, s.heads / s.group, s.k, s.d);
    out[2] = heads_tensor(w, "v", ROLE_INPUT, s.heads / s.group, s.k, s.dv);
    tensor_fills(&out[0], SEED_X, 1, sd);
    tensor_fills(&out[1], SEED_W, 1, sd);
    tensor_fills(&out[2], SEED_RESIDUAL, EXACT_V, 1);
    attention_exact_steps(w, &out[0].exact.step, &out[1].exact.step);
    if (s.mask)
        out[n++] = mask_tensor(w);
    if (s.lengths)
        out[n++] = (struct tensor){.name = "lengths",
                                   .role = ROLE_INPUT,
                                   .dtype = DTYPE_I32,
                                   .n_dims = 1,
                                   .shape = {s.b},
                                   .n_elems = s.b,
                                   .layout = "b",
                                   .exact = {.kind = FILL_INT, .seed = SEED_OFFSET, .lo = 0, .hi = (double)s.k},
                                   .random = {.kind = FILL_VALUE, .lo = (double)s.k}};
    out[n++] = heads_tensor(w, "y", ROLE_OUTPUT, s.heads, s.q, s.dv);
    return n;
}

/* Of what ref.c has as scale: the first-order bound of Blanchard, Higham, Higham, "Accurately computing the log-sum-exp
 * and softmax functions" (2021), for logits that are sums in f32. */
void attention_numerics(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout)
{
    (void)s, (void)c;
    *inout = w->dtype == DTYPE_F16
                 ? (struct numerics){.name = "f16-f32-attention", .data = EXACT_PLAIN, .tolerance = 2e-3}
                 : (struct numerics){.name = "f32-attention", .data = EXACT_PLAIN, .tolerance = 4e-6};
}

/* A float's bits, which a define can hold. */
static int64_t bits_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

void attention_define(struct build *b)
{
    const struct attention_shape s = attention_shape_of(b->w);

    build_defines(b, (const struct build_define[]){{"BATCH", s.b},
                                                   {"HEADS", s.heads},
                                                   {"GROUP", s.group},
                                                   {"Q", s.q},
                                                   {"K", s.k},
                                                   {"D", s.d},
                                                   {"DV", s.dv},
                                                   {"CAUSAL", s.causal},
                                                   {"PAST", s.past},
                                                   {"LENGTHS", s.lengths},
                                                   {"ROWS_FIRST", s.rows_first},
                                                   {"MASK", s.mask},
                                                   {"MASK_B", s.mask_b},
                                                   {"MASK_H", s.mask_h},
                                                   {"MASK_Q", s.mask_q},
                                                   {"SCALE_BITS", bits_of((float)s.scale)},
                                                   {NULL, 0}});
}

void attention_launch(struct build *b, const char *kernel, const int64_t grid[3], const int64_t block[3],
                      const int *more)
{
    int buffers[OPERATOR_MAX_TENSORS + 8], n = 0;

    while (n <= build_tensor(b, "y")) { /* the last of the tensors */
        buffers[n] = n;
        n++;
    }
    for (; more && *more >= 0; more++)
        buffers[n++] = *more;
    assert(n < OPERATOR_MAX_TENSORS + 8);
    buffers[n] = -1;
    build_launch(b, PHASE_RUN, kernel, grid, block, buffers);
}

static const struct template *const templates[] = {&attention_packed, &attention_tiled, &attention_naive, NULL};

const struct operator_desc operator_attention = {
    .name = "attention",
    .summary = "values weighted by the softmax of scaled products of queries and keys",
    .formula = "y[b,h,i,:] = sum over j of p[j] * v[b,h/group,j,:], p = softmax over the keys j that i sees of scale * "
               "q[b,h,i,:] . k[b,h/group,j,:] + mask",
    .keys = keys,
    .dtypes = 1u << DTYPE_F32 | 1u << DTYPE_F16,
    .check = check,
    .flops = flops,
    .flops_least = flops,
    .bytes_min = operator_bytes_min,
    .tensors = tensors,
    .reference = attention_reference,
    .templates = templates,
};
