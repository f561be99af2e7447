/* SPDX-License-Identifier: MIT */
/* ref.c - expected outputs of attention from the definition, in double. A row of y is made as a whole: its logits,
 * their largest, the powers, the weighted values. */
#include "kernels/attention/attention.h"

#include "core/err.h"
#include "core/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FLOPS 1e9              /* up to which every row is computed */
#define MOST_ALL ((int64_t)1 << 18) /* elements that are compared one by one */
#define FEW_FLOPS 4e7               /* of sampled rows */
#define MASKED_OUT 1e39             /* infinite in f32 and f16 */
#define MASKED_FAR (-2e35)          /* finite, and alone what is left of a logit in f32 */
#define SUBNORMAL 0x1p-17           /* as halves */
#define TINY 0x1p-10                /* queries whose logits are near each other */
#define LARGE_F16 0x1p13            /* of whole values: their means are halves, their sums are not */
#define STEP_OF_LOGITS 9            /* most of it: e to its negative is 1e-4 */
#define HARDLY 0.03125              /* differ queries and keys */

/* Tensors of one pass, and room for a row. */
struct rows {
    struct attention_shape s;
    float *q, *k, *v, *mask, *lengths;
    double *logit, *size, *y, *scale; /* [k], [k], [dv], [dv] */
    double least;                     /* of a scale */
    double lost;                      /* of a power, in units of the tolerance */
    int64_t row;                      /* whose y and scale these are, as (b, h, i) counted; -1 = none */
};

static int64_t place(const struct attention_shape *s, int64_t b, int64_t h, int64_t l, int64_t heads, int64_t rows)
{
    return s->rows_first ? (b * rows + l) * heads + h : (b * heads + h) * rows + l;
}

static double mask_of(const struct rows *r, int64_t b, int64_t h, int64_t i, int64_t j)
{
    const struct attention_shape *s = &r->s;
    int64_t at = s->mask_b ? b : 0;

    if (!r->mask)
        return 0;
    at = at * (s->mask_h ? s->heads : 1) + (s->mask_h ? h : 0);
    at = at * (s->mask_q ? s->q : 1) + (s->mask_q ? i : 0);
    return (double)r->mask[at * s->k + j];
}

/* Logits, and the sums of magnitudes that they are; tells how many. */
static int64_t make_logits(struct rows *r, int64_t b, int64_t h, int64_t i)
{
    const struct attention_shape *s = &r->s;
    const float *q = r->q + place(s, b, h, i, s->heads, s->q) * s->d;
    int64_t n = attention_seen(s, i);

    if (r->lengths)
        n = (int64_t)r->lengths[b] < n ? (int64_t)r->lengths[b] : n;
    for (int64_t j = 0; j < n; j++) {
        const float *k = r->k + place(s, b, h / s->group, j, s->heads / s->group, s->k) * s->d;
        const double mask = mask_of(r, b, h, i, j);
        double sum = 0, size = 0;

        for (int64_t c = 0; c < s->d; c++) {
            const double product = (double)q[c] * (double)k[c];

            sum += product;
            size += fabs(product);
        }
        r->logit[j] = s->scale * sum + mask;
        r->size[j] = s->scale * size + fabs(mask);
        if (mask <= MASKED_FAR / 2 && isfinite(mask)) {
            r->logit[j] = mask;
            r->size[j] = 0;
        }
    }
    return n;
}

/* The powers of the n logits in their place; their sum. */
static double make_powers(double *logit, int64_t n)
{
    double top = -INFINITY, sum = 0;

    for (int64_t j = 0; j < n; j++)
        top = fmax(top, logit[j]);
    for (int64_t j = 0; j < n; j++) {
        logit[j] = top > -INFINITY ? exp(logit[j] - top) : 0;
        sum += logit[j];
    }
    return sum;
}

/* y, and what its errors are a part of: of powers p that are each wrong by `size` of them, sum of p * v / sum of p is
 * wrong by sum of p * |v - y| * size / sum of p at the most, and by the sum's own rounding; powers below f32's are
 * lost, of halves those that may be rounded to half. */
static void make_row(struct rows *r, int64_t b, int64_t h, int64_t i)
{
    const struct attention_shape *s = &r->s;
    const int64_t n = make_logits(r, b, h, i);
    const double sum = make_powers(r->logit, n);
    const float *v = r->v + place(s, b, h / s->group, 0, s->heads / s->group, s->k) * s->dv;
    const int64_t step = s->rows_first ? s->heads / s->group * s->dv : s->dv;

    for (int64_t c = 0; c < s->dv; c++) {
        double y = 0, error = 0, all = 0;

        for (int64_t j = 0; j < n; j++)
            y += r->logit[j] * (double)v[j * step + c];
        y = sum > 0 ? y / sum : 0;
        for (int64_t j = 0; j < n; j++) {
            const double value = (double)v[j * step + c];

            error += r->logit[j] * (fabs(value) + fabs(value - y) * (1 + r->size[j]));
            all += fabs(value);
        }
        r->y[c] = y;
        r->scale[c] = (sum > 0 ? error / sum : 0) + r->lost * all + r->least;
    }
}

static void rows_fini(struct rows *r)
{
    free(r->q);
    free(r->k);
    free(r->v);
    free(r->mask);
    free(r->lengths);
    free(r->logit);
    free(r->size);
    free(r->y);
    free(r->scale);
}

static float *data_of(struct expected *e, const char *name, bool exact)
{
    const struct tensor *t = expected_tensor(e, name);

    return t ? expected_data(t, exact, NULL) : NULL;
}

static enum err rows_init(struct rows *r, const struct attention_shape *s, struct expected *e, bool exact)
{
    *r = (struct rows){.s = *s,
                       .q = data_of(e, "q", exact),
                       .k = data_of(e, "k", exact),
                       .v = data_of(e, "v", exact),
                       .mask = data_of(e, "mask", exact),
                       .lengths = data_of(e, "lengths", exact),
                       .logit = malloc((size_t)s->k * sizeof *r->logit),
                       .size = malloc((size_t)s->k * sizeof *r->size),
                       .y = malloc((size_t)s->dv * sizeof *r->y),
                       .scale = malloc((size_t)s->dv * sizeof *r->scale),
                       .least = expected_tensor(e, "y")->dtype == DTYPE_F16 ? 0x1p-14 : 0x1p-100,
                       .lost = expected_tensor(e, "y")->dtype == DTYPE_F16 ? 0x1p-16 : 0x1p-108,
                       .row = -1};
    return r->q && r->k && r->v && (r->mask || !s->mask) && (r->lengths || !s->lengths) && r->logit && r->size &&
                   r->y && r->scale
               ? ERR_OK
               : ERR_NOMEM;
}

/* Element `at` of y as stored. */
static double element(struct rows *r, uint64_t at, double *scale)
{
    const struct attention_shape *s = &r->s;
    const int64_t row = (int64_t)at / s->dv, c = (int64_t)at % s->dv;

    if (r->row != row) {
        const int64_t outer = row / (s->heads * s->q), inner = row % (s->heads * s->q);

        make_row(r, outer, s->rows_first ? inner % s->heads : inner / s->q,
                 s->rows_first ? inner / s->heads : inner % s->q);
        r->row = row;
    }
    *scale = r->scale[c];
    return r->y[c];
}

/* Keys and values that no length reaches are NaN. */
static void hide(struct tensor *t, double part)
{
    t->exact.plane = t->n_elems / t->shape[0];
    if (strcmp(t->layout, "bhld") == 0)
        t->exact.plane /= t->shape[1];
    t->exact.seen = (int64_t)rint(part * (double)t->exact.plane);
}

/* Lengths of the exact pass: of every second of a batch none, of the others one that is drawn, odd and less than all:
 * no vector ends there. */
static void end_keys(const struct workload *w, struct expected *e, struct tensor *lengths)
{
    const int64_t n_keys = workload_get(w, "k"), n_odd = n_keys > 1 ? n_keys / 2 : 1;
    const int64_t n = 1 + 2 * (int64_t)(rng_at(e->seed, SEED_OFFSET) % (uint64_t)n_odd);

    lengths->exact =
        (struct program_fill){.kind = FILL_TURNS, .lo = lengths->n_elems > 1 ? 0 : (double)n, .hi = (double)n};
    hide(expected_tensor(e, "k"), (double)n / (double)n_keys);
    hide(expected_tensor(e, "v"), (double)n / (double)n_keys);
}

/* Logits about alike, of the last eighth of the keys larger by a step, whatever the blocks of a kernel: what was summed
 * up of the earlier ones is small beside what follows, and more than a float's last places. */
static void part_keys(const struct workload *w, struct tensor *q, struct tensor *k, struct tensor *v)
{
    const struct attention_shape s = attention_shape_of(w);
    const double size = sqrt(STEP_OF_LOGITS / (s.scale * (double)s.d));
    const int64_t key = s.rows_first ? k->shape[2] * s.d : s.d; /* elements from one to the next */

    q->random = (struct program_fill){.kind = FILL_NORMAL, .seed = q->random.seed, .lo = size, .hi = size * HARDLY};
    k->random = (struct program_fill){.kind = FILL_WIDE,
                                      .seed = k->random.seed,
                                      .lo = -size,
                                      .hi = size * HARDLY,
                                      .block = (s.k + 7) / 8 * key,
                                      .plane = s.k * key};
    v->random = (struct program_fill){.kind = FILL_NORMAL, .seed = v->random.seed, .lo = 1, .hi = 1};
}

/* The exact pass in modes of a run's own: all products below 0; the mask is -infinity throughout, or but for the first
 * keys, some, all or one of them. The random one: rows of
 * queries that are larger by powers of two or so small that logits hardly differ, values too; masks far from 0, whose
 * largest is not found by luck, or that leave nothing else of a logit; zeros in rows; lengths. */
static void change_fills(const struct workload *w, struct expected *e)
{
    struct tensor *q = expected_tensor(e, "q"), *k = expected_tensor(e, "k"), *v = expected_tensor(e, "v");
    struct tensor *mask = expected_tensor(e, "mask"), *lengths = expected_tensor(e, "lengths");
    const bool half = w->dtype == DTYPE_F16;
    const double sd = q->random.hi, unit = half ? 1 : TINY;

    q->exact.lo = -2;
    q->exact.hi = -1;
    k->exact.lo = 1;
    k->exact.hi = 2;
    if (half)
        v->exact.step = LARGE_F16;
    q->random = (struct program_fill){.kind = FILL_WIDE,
                                      .seed = q->random.seed,
                                      .lo = -2 * sd * unit,
                                      .hi = sd * unit,
                                      .step = (half ? 64 : 1024) / unit,
                                      .block = q->shape[3]};
    k->random = (struct program_fill){.kind = FILL_NORMAL, .seed = k->random.seed, .lo = 2 * sd, .hi = sd};
    v->random = (struct program_fill){
        .kind = FILL_WIDE, .seed = v->random.seed, .hi = 1, .step = half ? 0x1p12 : 0x1p24, .block = v->shape[3]};
    if (e->mode == EXPECT_SPECIAL && half)
        v->random = (struct program_fill){.kind = FILL_NORMAL, .seed = v->random.seed, .hi = SUBNORMAL};
    q->random.zeros = q->shape[3];
    k->random.zeros = k->shape[3];
    v->random.zeros = v->shape[3];
    if (e->mode == EXPECT_SPECIAL && !half)
        part_keys(w, q, k, v);
    if (mask) {
        const int64_t n = mask->shape[mask->n_dims - 1];

        mask->exact =
            (struct program_fill){.kind = FILL_VALUE,
                                  .seed = mask->random.seed,
                                  .lo = -MASKED_OUT,
                                  .hi = n == mask->n_elems, /* keys here and there; of the others few or none */
                                  .zeros = n};
        mask->random = (struct program_fill){.kind = FILL_ROWS,
                                             .seed = mask->random.seed,
                                             .lo = half ? -30000 : MASKED_FAR,
                                             .hi = 1,
                                             .block = mask->shape[mask->n_dims - 1]};
    }
    if (lengths)
        lengths->random = lengths->exact;
    if (lengths)
        end_keys(w, e, lengths);
}

/* Queries, keys and values of which each second one begins like the one before it, in time and of the next head. */
static void liken(struct expected *e)
{
    static const char *const names[] = {"q", "k", "v"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct tensor *t = expected_tensor(e, names[i]);

        if (t->exact.plane) /* some are not to be seen */
            continue;
        t->exact.kind = FILL_PREFIXES;
        t->exact.block = t->shape[3];
        t->exact.plane = t->shape[2] * t->shape[3];
    }
    expected_tensor(e, "k")->exact.lo = -2; /* what is left has a say in which key is nearest */
}

/* Queries repeat a few in the random pass, where all see the same keys. */
static void fold_queries(const struct workload *w, const struct attention_shape *s, struct expected *e,
                         struct expected_output *o)
{
    const int64_t heads_inside = s->rows_first ? s->heads : 1;
    const struct program_fold fold =
        expected_fold(e, s->dv * heads_inside, s->q, w->op->flops(w) / (double)s->q, (double)(s->b * s->heads * s->dv));
    struct tensor *q = expected_tensor(e, "q"), *mask = expected_tensor(e, "mask");

    if (!fold.of)
        return;
    q->random.fold = fold;
    q->random.fold.inner = s->d * heads_inside;
    if (mask && s->mask_q) {
        mask->random.fold = fold;
        mask->random.fold.inner = s->k;
    }
    expected_folded(o, &fold, s->b * (s->rows_first ? 1 : s->heads));
}

static struct expected_output output_of(const struct workload *w, const struct attention_shape *s, struct expected *e)
{
    const int64_t n_rows = s->b * s->heads * s->q, n = n_rows * s->dv;
    const bool all = n <= MOST_ALL && w->op->flops(w) <= MOST_FLOPS;
    double rows = FEW_FLOPS / (2 * (double)(s->k * (s->d + s->dv)));
    struct expected_output o = {.tensor = "y"};

    rows = fmin(fmin(fmax(rows, 8), (double)(EXPECT_MAX_SAMPLES / s->dv)), (double)n_rows);
    o.n_samples = (size_t)(all ? n : (int64_t)rows * s->dv);
    if (expected_in_full(e) && !s->causal)
        fold_queries(w, s, e, &o);
    else if (expected_in_full(e) && all)
        expected_all(&o, n);
    return o;
}

/* All, or the first row, the last, and any. */
static void choose(const struct attention_shape *s, const struct expected *e, size_t n, uint64_t *indices)
{
    const uint64_t dv = (uint64_t)s->dv, n_rows = (uint64_t)(s->b * s->heads * s->q), n_chosen = n / dv;

    for (uint64_t i = 0; i < n_chosen; i++) {
        const uint64_t row = n_chosen == n_rows ? i : i == 0 ? 0 : i == 1 ? n_rows - 1 : expected_pick(e, i) % n_rows;

        for (uint64_t c = 0; c < dv; c++)
            indices[i * dv + c] = row * dv + c;
    }
}

static enum err put_exact(const struct attention_shape *s, struct expected *e)
{
    struct expected_output *o = &e->outputs[0];
    struct rows r;
    enum err failed = rows_init(&r, s, e, true);
    double ignored;

    for (size_t i = 0; !failed && i < o->n_samples; i++)
        o->exact[i] = (double)(float)element(&r, o->indices[i], &ignored); /* a quotient rounded to f32 */
    rows_fini(&r);
    return failed;
}

static enum err put_random(const struct attention_shape *s, struct expected *e)
{
    struct expected_output *o = &e->outputs[0];
    struct rows r;
    enum err failed = rows_init(&r, s, e, false);

    for (size_t i = 0; !failed && i < o->n_random; i++)
        o->random[i] = element(&r, expected_random_at(o, i), &o->scale[i]);
    rows_fini(&r);
    return failed;
}

enum err attention_reference(const struct workload *w, enum exact_data data, struct expected *e)
{
    const struct attention_shape s = attention_shape_of(w);
    enum err failed;

    (void)data;
    if (e->mode != EXPECT_PROGRAM)
        change_fills(w, e);
    if (e->mode == EXPECT_LIKE)
        liken(e);
    e->no_sums = true; /* quotients */
    e->n_outputs = 1;
    e->outputs[0] = output_of(w, &s, e);
    failed = expected_alloc(e);
    if (failed)
        return failed;
    choose(&s, e, e->outputs[0].n_samples, e->outputs[0].indices);
    if (e->has_exact)
        failed = put_exact(&s, e);
    return failed || e->mode == EXPECT_LIKE ? failed : put_random(&s, e);
}
