/* SPDX-License-Identifier: MIT */
#include "cost_model/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS 16                            /* partners drawn for each row in a round of pairwise ranking */
#define LEAST_CURVE 1e-6f                   /* of a row that counts: a leaf of such rows must not blow up */
#define LN2_HIGH 6.93147180369123816490e-01 /* ln 2 in two parts: the first has zeros at its end */
#define LN2_LOW 1.90821492927058770002e-10

double loss_exp(double x)
{
    double n, r, term = 1, sum = 1;
    uint64_t bits;

    if (x < -700)
        return 0;
    x = x > 700 ? 700 : x;
    n = (double)(int)(x / (LN2_HIGH + LN2_LOW) + (x < 0 ? -0.5 : 0.5));
    r = (x - n * LN2_HIGH) - n * LN2_LOW;
    for (int i = 1; i <= 13; i++) { /* |r| <= .35 */
        term *= r / i;
        sum += term;
    }
    bits = (uint64_t)((int64_t)n + 1023) << 52;
    memcpy(&r, &bits, sizeof(r));
    return sum * r;
}

/* ln x = 2 artanh((m - 1) / (m + 1)) + e ln 2 with x = m 2^e, m around 1 */
double loss_log(double x)
{
    uint64_t bits;
    int64_t e;
    double m, s, square, term, sum = 0;

    memcpy(&bits, &x, sizeof(bits));
    e = (int64_t)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    memcpy(&m, &bits, sizeof(m));
    if (m > 1.4142135623730951) {
        m /= 2;
        e++;
    }
    s = (m - 1) / (m + 1);
    square = s * s;
    term = s;
    for (int i = 1; i < 40; i += 2) {
        sum += term / i;
        term *= square;
    }
    return 2 * sum + (double)e * (LN2_HIGH + LN2_LOW);
}

static double weight_of(const struct loss_rows *r, uint32_t row)
{
    return r->weights ? (double)r->weights[row] : 1;
}

/* Squared error. */

static enum err squared_slopes(const struct loss_rows *r, const float *scores, struct rng *rng, float *gradients,
                               float *curvatures)
{
    (void)rng;
    (void)curvatures;
    for (size_t i = 0; i < r->n; i++) {
        const uint32_t row = r->rows[i];

        gradients[row] = r->targets[row] - scores[row];
        if (r->weights)
            gradients[row] *= r->weights[row];
    }
    return ERR_OK;
}

static enum err squared_value(const struct loss_rows *r, const float *scores, double *out)
{
    double sum = 0;

    for (size_t i = 0; i < r->n; i++) {
        const double off = (double)r->targets[r->rows[i]] - (double)scores[r->rows[i]];

        sum += 0.5 * weight_of(r, r->rows[i]) * off * off;
    }
    *out = sum;
    return ERR_OK;
}

/* Pairwise ranking: ln(1 + e^(faster - slower)) over pairs of rows with different targets, by the product of their
 * weights (Burges et al. 2005). Each round draws PAIRS partners for a row. */

/* Moves both rows of a pair apart; nothing for equal targets. */
static void add_pair(const struct loss_rows *r, const float *scores, uint32_t a, uint32_t b, float *gradients,
                     float *curvatures)
{
    const uint32_t fast = r->targets[a] < r->targets[b] ? a : b, slow = fast == a ? b : a;
    const double weight = weight_of(r, a) * weight_of(r, b);
    const double wrong = 1 / (1 + loss_exp((double)scores[slow] - (double)scores[fast]));
    const float slope = (float)(weight * wrong), curve = (float)(weight * wrong * (1 - wrong));

    if (!(r->targets[a] < r->targets[b] || r->targets[b] < r->targets[a]))
        return;
    gradients[fast] -= slope;
    gradients[slow] += slope;
    curvatures[fast] += curve;
    curvatures[slow] += curve;
}

static void add_all_pairs(const struct loss_rows *r, const float *scores, float *gradients, float *curvatures)
{
    for (size_t i = 0; i < r->n; i++)
        for (size_t j = 0; j < i; j++)
            add_pair(r, scores, r->rows[i], r->rows[j], gradients, curvatures);
}

static enum err pairwise_slopes(const struct loss_rows *r, const float *scores, struct rng *rng, float *gradients,
                                float *curvatures)
{
    for (size_t i = 0; i < r->n; i++)
        gradients[r->rows[i]] = curvatures[r->rows[i]] = 0;
    if (r->n <= 2 * PAIRS)
        add_all_pairs(r, scores, gradients, curvatures);
    for (size_t i = 0; r->n > 2 * PAIRS && i < r->n; i++)
        for (size_t j = 0; j < PAIRS; j++)
            add_pair(r, scores, r->rows[i], r->rows[rng_below(rng, r->n)], gradients, curvatures);
    for (size_t i = 0; i < r->n; i++)
        curvatures[r->rows[i]] += LEAST_CURVE;
    return ERR_OK;
}

/* All pairs while they are few, else each row with PAIRS others at fixed distances. */
static enum err pairwise_value(const struct loss_rows *r, const float *scores, double *out)
{
    const size_t step = r->n <= 2 * PAIRS ? 1 : r->n / PAIRS;
    double sum = 0;

    for (size_t i = 0; i < r->n; i++)
        for (size_t j = 1; j * step < r->n; j++) {
            const uint32_t a = r->rows[i], b = r->rows[(i + j * step) % r->n];

            if (r->targets[a] < r->targets[b])
                sum +=
                    weight_of(r, a) * weight_of(r, b) * loss_log(1 + loss_exp((double)scores[a] - (double)scores[b]));
        }
    *out = sum;
    return ERR_OK;
}

/* Listwise ranking: the likelihood of the true order when the next row is drawn by softmax of minus the scores
 * (Plackett 1975, Luce 1959; as a loss Xia et al. 2008). Position k counts 1 / (k + 1) of the whole: the head of the
 * list matters most. Equal rows share a position, failed rows only stand behind all others. */

struct place {
    float target;
    uint32_t row;
};

static int by_target(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->target < y->target || y->target < x->target)
        return x->target < y->target ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

struct list {
    struct place *places; /* by target */
    double *likes;        /* e^(least score - score) */
    double *rests;        /* sum of likes from the first row of the same target on */
    size_t n;
};

static void list_fini(struct list *l)
{
    free(l->places);
    free(l->likes);
    free(l->rests);
}

static enum err list_init(struct list *l, const struct loss_rows *r, const float *scores)
{
    float least = INFINITY;
    double sum = 0;

    *l = (struct list){malloc(r->n * sizeof(*l->places) + 1), malloc(r->n * sizeof(double) + 1),
                       malloc(r->n * sizeof(double) + 1), r->n};
    if (!l->places || !l->likes || !l->rests) {
        list_fini(l);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < l->n; i++) {
        l->places[i] = (struct place){r->targets[r->rows[i]], r->rows[i]};
        least = scores[r->rows[i]] < least ? scores[r->rows[i]] : least;
    }
    qsort(l->places, l->n, sizeof(*l->places), by_target);
    for (size_t i = l->n; i-- > 0;) {
        l->likes[i] = weight_of(r, l->places[i].row) * loss_exp((double)least - (double)scores[l->places[i].row]);
        sum += l->likes[i];
        l->rests[i] = sum;
    }
    for (size_t i = 1; i < l->n; i++)
        if (!(l->places[i - 1].target < l->places[i].target))
            l->rests[i] = l->rests[i - 1];
    return ERR_OK;
}

/* What position i counts; 0 for failed rows. */
static double share_of(const struct list *l, const struct loss_rows *r, size_t i)
{
    return isfinite(l->places[i].target) && l->rests[i] > 0 ? weight_of(r, l->places[i].row) / (double)(i + 1) : 0;
}

static enum err listwise_slopes(const struct loss_rows *r, const float *scores, struct rng *rng, float *gradients,
                                float *curvatures)
{
    struct list l;
    double first = 0, second = 0; /* sums over positions so far of share / rest and share / rest^2 */
    enum err e = list_init(&l, r, scores);

    (void)rng;
    if (e)
        return e;
    for (size_t i = 0, end; i < l.n; i = end) { /* rows of one target together */
        for (end = i; end < l.n && !(l.places[i].target < l.places[end].target); end++)
            if (share_of(&l, r, end) > 0) {
                first += share_of(&l, r, end) / l.rests[end];
                second += share_of(&l, r, end) / (l.rests[end] * l.rests[end]);
            }
        for (size_t j = i; j < end; j++) {
            const double like = l.likes[j];

            gradients[l.places[j].row] = (float)(like * first - share_of(&l, r, j));
            curvatures[l.places[j].row] = (float)(like * first - like * like * second) + LEAST_CURVE;
        }
    }
    list_fini(&l);
    return ERR_OK;
}

static enum err listwise_value(const struct loss_rows *r, const float *scores, double *out)
{
    struct list l;
    double sum = 0, least = INFINITY;
    enum err e = list_init(&l, r, scores);

    if (e)
        return e;
    for (size_t i = 0; i < l.n; i++)
        least = fmin(least, (double)scores[l.places[i].row]);
    for (size_t i = 0; i < l.n; i++)
        if (share_of(&l, r, i) > 0)
            sum += share_of(&l, r, i) * (loss_log(l.rests[i]) + (double)scores[l.places[i].row] - least);
    list_fini(&l);
    *out = sum;
    return ERR_OK;
}

static const struct loss squared = {"squared", "squared error", false, true, true, squared_slopes, squared_value};
static const struct loss pairwise = {
    "pairwise", "logistic loss over pairs of rows", true, false, false, pairwise_slopes, pairwise_value};
static const struct loss listwise = {
    "listwise", "likelihood of the whole order, its head first", true, false, false, listwise_slopes, listwise_value};

const struct loss *const loss_table[] = {&squared, &pairwise, &listwise, NULL};
