/* SPDX-License-Identifier: MIT */
#include "cost_model/grow.h"

#include "core/clones.h"
#include "core/err.h"
#include "cost_model/histogram.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW_ROWS 32                        /* a node of so many is summed afresh, without cells kept for its children */
#define CELLS_A_ROW 36                     /* and one with so many cells for each row */
#define MAX_CELLS_BYTES ((size_t)64 << 20) /* of cells kept for open nodes; beyond it children are summed afresh */

/* A node not yet split: its rows stand together in one of the buffers. */
struct part {
    struct row_span rows;
    size_t depth, first; /* first: place of its rows in the buffer */
    int i_buffer;        /* where its children's rows will stand */
    cell_t sum;
    cell_t *cells; /* or NULL */
    struct split best;
    double gain;   /* of the best split; 0 = none */
    int16_t *slot; /* where its parent keeps its number; NULL for the root */
};

/* A node as rows are led through it while they are packed. */
struct packed_node {
    struct packed_test test;
    int16_t child[2];
};

struct grower {
    struct packed *p;
    const struct bins *bins;
    struct grow_options options;
    struct histogram histogram;
    uint8_t *buffers[2]; /* records on their way down the tree */
    cell_t **free_cells; /* cells nobody uses */
    size_t n_free, n_cells_made;
    double gradient_unit, weight_unit; /* whole numbers = floats * unit */
    struct scan_rule rule;
    struct part open[TREE_MAX_LEAVES + 1];
    size_t n_open;
    struct tree_node nodes[TREE_MAX_LEAVES];
    struct packed_node packed_nodes[TREE_MAX_LEAVES];
    float leaves[TREE_MAX_LEAVES];
    size_t n_nodes, n_leaves;
    float *answers;
    double *gains;
};

enum err grower_new(struct grower **out, struct packed *rows, const struct bins *bins,
                    const struct grow_options *options)
{
    struct grower *g = calloc(1, sizeof(*g));
    enum err e = g ? histogram_init(&g->histogram, rows) : ERR_NOMEM;

    if (e) {
        free(g);
        return e;
    }
    g->p = rows;
    g->bins = bins;
    g->options = *options;
    for (int i = 0; i < 2; i++)
        g->buffers[i] = malloc(rows->n * rows->stride);
    g->free_cells = calloc(TREE_MAX_LEAVES + 2, sizeof(*g->free_cells));
    if (!g->buffers[0] || !g->buffers[1] || !g->free_cells) {
        grower_free(g);
        return ERR_NOMEM;
    }
    *out = g;
    return ERR_OK;
}

void grower_free(struct grower *g)
{
    if (!g)
        return;
    histogram_fini(&g->histogram);
    free(g->buffers[0]);
    free(g->buffers[1]);
    for (size_t i = 0; g->free_cells && i < g->n_free; i++)
        free(g->free_cells[i]);
    free(g->free_cells);
    free(g);
}

/* NULL when memory or the limit is reached: then the children are summed afresh. */
static cell_t *take_cells(struct grower *g)
{
    const size_t bytes = (g->p->n_cells + 1) * sizeof(cell_t);
    cell_t *cells;

    if (g->n_free > 0)
        return g->free_cells[--g->n_free];
    if (g->n_cells_made > TREE_MAX_LEAVES || (g->n_cells_made > 0 && (g->n_cells_made + 1) * bytes > MAX_CELLS_BYTES))
        return NULL;
    cells = malloc(bytes);
    g->n_cells_made += cells != NULL;
    return cells;
}

static void put_cells(struct grower *g, cell_t *cells)
{
    assert(g->n_free <= g->n_cells_made);
    if (cells)
        g->free_cells[g->n_free++] = cells;
}

/* Sums of absolute values, in four strands of fixed order. */
static double sum_magnitudes(const float *values, size_t n)
{
    double sum[4] = {0};
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        for (size_t j = 0; j < 4; j++)
            sum[j] += fabs((double)values[i + j]);
    for (; i < n; i++)
        sum[0] += fabs((double)values[i]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The largest unit at which no sum of rounded values leaves 31 bits. */
static double unit_of(const float *values, size_t n)
{
    const double sum = sum_magnitudes(values, n);

    return sum > 0 ? ((double)HISTOGRAM_MOST - (double)n) / sum : 1;
}

/* The nearest whole numbers of values * unit. */
CLONES static void round_all(const float *restrict values, size_t n, double unit, int32_t *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        const double v = (double)values[i] * unit;

        out[i] = (int32_t)(v + copysign(0.5, v));
    }
}

#define ROUNDED 256 /* values at once */

/* Writes gradients and weights into the records. */
static void put_gradients(struct grower *g, const struct grow_round *round)
{
    const size_t n = g->p->n, stride = g->p->stride;
    uint8_t *at = g->p->records;

    g->gradient_unit = unit_of(round->gradients, n);
    g->weight_unit = round->weights ? unit_of(round->weights, n) : 1;
    for (size_t i = 0; i < n; i += ROUNDED) {
        const size_t n_some = n - i < ROUNDED ? n - i : ROUNDED;
        int32_t gradients[ROUNDED], weights[ROUNDED];

        round_all(round->gradients + i, n_some, g->gradient_unit, gradients);
        if (round->weights)
            round_all(round->weights + i, n_some, g->weight_unit, weights);
        for (size_t j = 0; j < n_some; j++, at += stride) {
            const cell_t own = cell_of(gradients[j], round->weights ? weights[j] : 1);

            memcpy(at, &own, sizeof(own));
        }
    }
    g->rule.l2 = (float)(g->options.l2 * g->weight_unit);
    g->rule.min_weight = (int32_t)fmin(fmax(ceil(g->options.min_child * g->weight_unit - 1e-6), 1), HISTOGRAM_MOST);
}

static double squares(const struct grower *g, cell_t c)
{
    const double gradient = cell_gradient(c), weight = (double)cell_weight(c) + (double)g->rule.l2;

    return weight > 0 ? gradient * gradient / weight : 0;
}

/* The loss reduction of the part's best split, in units of the loss. */
static double gain_of(const struct grower *g, const struct part *p)
{
    const double unit = g->weight_unit / (g->gradient_unit * g->gradient_unit);

    if (p->best.score == 0)
        return 0;
    return (squares(g, p->best.left) + squares(g, p->sum - p->best.left) - squares(g, p->sum)) * unit;
}

static bool is_deep_enough(const struct grower *g, const struct part *p)
{
    return (g->options.max_depth > 0 && p->depth >= g->options.max_depth) || p->rows.n < 2 ||
           cell_weight(p->sum) < 2 * (int64_t)g->rule.min_weight;
}

/* Few enough to be scanned without cells. */
static bool are_few(const struct grower *g, const struct row_span *rows)
{
    return rows->n <= FEW_ROWS || rows->n < g->p->n_cells / CELLS_A_ROW;
}

/* Finds the best split; cells of the part, when it has any, are filled. */
static void judge(struct grower *g, struct part *p)
{
    if (p->cells) {
        p->best = histogram_scan(&g->histogram, p->cells, p->sum, g->rule);
    } else if (!are_few(g, &p->rows) && (p->cells = take_cells(g))) {
        histogram_fill(&g->histogram, &p->rows, p->cells);
        p->best = histogram_scan(&g->histogram, p->cells, p->sum, g->rule);
    } else {
        p->best = histogram_scan_rows(&g->histogram, &p->rows, p->sum, g->rule);
    }
    p->gain = gain_of(g, p);
}

static float value_of(const struct grower *g, cell_t sum)
{
    const double weight = (double)cell_weight(sum) + (double)g->rule.l2;

    if (!(weight > 0))
        return 0;
    return (float)(g->options.rate * (double)cell_gradient(sum) / weight * (g->weight_unit / g->gradient_unit));
}

static uint32_t row_of(const uint8_t *record)
{
    uint32_t row;

    memcpy(&row, record + sizeof(cell_t), sizeof(row));
    return row;
}

static int16_t add_leaf(struct grower *g, float value)
{
    assert(g->n_leaves < TREE_MAX_LEAVES);
    g->leaves[g->n_leaves] = value;
    return (int16_t)~g->n_leaves++;
}

static void end_in_leaf(struct grower *g, struct part *p)
{
    const float value = value_of(g, p->sum);
    const int16_t leaf = add_leaf(g, value);

    for (size_t i = 0; i < p->rows.n; i++)
        g->answers[row_of(p->rows.base + (p->rows.list ? p->rows.list[i] : i) * g->p->stride)] += value;
    if (p->slot)
        *p->slot = leaf;
    put_cells(g, p->cells);
}

/* The table's threshold in the gap between two codes of the packed column: where the cut is nearest to the middle. */
static uint8_t middle(const struct bin_column *column, uint8_t below, uint8_t above)
{
    const float target = 0.5f * (column->high[below] + column->low[above]);
    uint8_t best = below;

    for (uint8_t code = below; code < above; code++)
        if (fabsf(column->cuts[code - 1] - target) < fabsf(column->cuts[best - 1] - target))
            best = code;
    return best;
}

/* Writes the node of a split for the table and for packed rows. */
static void add_node(struct grower *g, const struct split *s, bool heavy_right)
{
    const struct packed_column *c = &g->p->columns[s->i_column];
    struct tree_node *node = &g->nodes[g->n_nodes];
    struct packed_node *packed = &g->packed_nodes[g->n_nodes];
    const uint8_t below = c->table_code[s->below], above = c->table_code[s->above];
    size_t code = s->below;

    assert(g->n_nodes + 1 < TREE_MAX_LEAVES && s->below < s->above && s->above < c->n_codes);
    g->n_nodes++;
    *node = (struct tree_node){.i_column = (uint16_t)c->i_column};
    node->missing_right = c->missing_high || (!c->has_missing && heavy_right);
    if (below == BINS_MISSING)
        node->threshold = BINS_MISSING;
    else if (above == BINS_MISSING)
        node->threshold = BINS_MAX;
    else
        node->threshold = middle(&g->bins->columns[c->i_column], below, above);
    while (code + 1 < s->above && c->table_code[code + 1] <= node->threshold && c->table_code[code + 1] != BINS_MISSING)
        code++;
    packed->test = packed_test_of(g->p, s->i_column, code);
}

static inline void copy_record(uint8_t *to, const uint8_t *from, size_t stride)
{
    for (size_t i = 0; i < stride; i += 8)
        memcpy(to + i, from + i, 8);
}

/* Copies the rows that go left to the front of their part of the buffer and the others to its end; returns the number
 * of the first. */
static inline size_t divide_by(const struct part *p, uint8_t *to, struct packed_test test, size_t stride)
{
    const uint8_t *base = p->rows.base;
    const uint32_t *list = p->rows.list;
    size_t n_left = 0, end = p->rows.n;

    for (size_t i = 0; i < p->rows.n; i++) {
        const uint8_t *record = base + (list ? list[i] : i) * stride;
        const size_t right = packed_is_right(test, record); /* 0 or 1, and no branch to guess */

        end -= right;
        copy_record(to + (n_left ^ ((n_left ^ end) & -right)) * stride, record, stride);
        n_left += 1 - right;
    }
    return n_left;
}

static size_t divide(const struct part *p, uint8_t *to, struct packed_test test, size_t stride)
{
    switch (stride) { /* the usual ones are copied without a loop */
    case 24:
        return divide_by(p, to, test, 24);
    case 32:
        return divide_by(p, to, test, 32);
    case 40:
        return divide_by(p, to, test, 40);
    default:
        return divide_by(p, to, test, stride);
    }
}

/* Both sides are leaves: their rows need not be moved any more. */
static void end_in_two_leaves(struct grower *g, struct part *p, struct tree_node *node, cell_t left)
{
    const float values[2] = {value_of(g, left), value_of(g, p->sum - left)};
    const struct packed_test test = g->packed_nodes[node - g->nodes].test;
    const size_t stride = g->p->stride;

    node->child[0] = add_leaf(g, values[0]);
    node->child[1] = add_leaf(g, values[1]);
    for (size_t i = 0; i < p->rows.n; i++) {
        const uint8_t *record = p->rows.base + (p->rows.list ? p->rows.list[i] : i) * stride;

        g->answers[row_of(record)] += values[packed_is_right(test, record)];
    }
    put_cells(g, p->cells);
}

/* Hands the parent's cells down: the smaller side is summed, the larger one is the rest. */
static void share_cells(struct grower *g, cell_t *cells, struct part *small, struct part *large)
{
    if (!cells || is_deep_enough(g, large) || are_few(g, &large->rows)) {
        put_cells(g, cells);
        return;
    }
    small->cells = take_cells(g);
    if (!small->cells) {
        put_cells(g, cells);
        return;
    }
    histogram_fill(&g->histogram, &small->rows, small->cells);
    histogram_subtract(&g->histogram, cells, small->cells);
    large->cells = cells;
}

static void open_part(struct grower *g, struct part *p)
{
    if (is_deep_enough(g, p)) {
        end_in_leaf(g, p);
        return;
    }
    judge(g, p);
    assert(g->n_open <= TREE_MAX_LEAVES && p->rows.n >= 2);
    if (p->gain > g->options.min_gain)
        g->open[g->n_open++] = *p;
    else
        end_in_leaf(g, p);
}

static bool ends_by_depth(const struct grower *g, const struct part *p)
{
    return g->options.max_depth > 0 && p->depth + 1 >= g->options.max_depth;
}

static void split_part(struct grower *g, struct part *p)
{
    const size_t stride = g->p->stride;
    const cell_t left_sum = p->best.left, right_sum = p->sum - left_sum;
    struct tree_node *node = &g->nodes[g->n_nodes];
    uint8_t *to = g->buffers[p->i_buffer] + p->first * stride;
    struct part side[2];
    size_t n_left;

    add_node(g, &p->best, cell_weight(right_sum) > cell_weight(left_sum));
    if (p->slot)
        *p->slot = (int16_t)(node - g->nodes);
    g->gains[g->p->columns[p->best.i_column].i_column] += p->gain;
    if (ends_by_depth(g, p)) {
        end_in_two_leaves(g, p, node, left_sum);
        return;
    }
    n_left = divide(p, to, g->packed_nodes[node - g->nodes].test, stride);
    assert(n_left > 0 && n_left < p->rows.n);
    for (int i = 0; i < 2; i++)
        side[i] = (struct part){.rows = {to + (i ? n_left * stride : 0), NULL, i ? p->rows.n - n_left : n_left},
                                .depth = p->depth + 1,
                                .first = p->first + (i ? n_left : 0),
                                .i_buffer = 1 - p->i_buffer,
                                .sum = i ? right_sum : left_sum,
                                .slot = &node->child[i]};
    share_cells(g, p->cells, &side[n_left > p->rows.n - n_left], &side[n_left <= p->rows.n - n_left]);
    open_part(g, &side[0]);
    open_part(g, &side[1]);
}

/* The part to split next: the last one, or the one that gains most. */
static struct part next_part(struct grower *g)
{
    size_t i_next = g->n_open - 1;
    struct part next;

    for (size_t i = 0; g->options.leaf_wise && i < g->n_open; i++)
        if (g->open[i].gain > g->open[i_next].gain)
            i_next = i;
    next = g->open[i_next];
    g->open[i_next] = g->open[--g->n_open];
    return next;
}

/* Adds the tree's answers for rows outside the sample. */
static enum err answer_others(struct grower *g, const struct grow_round *round)
{
    const struct packed *p = g->p;
    bool *in = calloc(p->n, sizeof(*in));

    assert(g->n_leaves == g->n_nodes + 1);
    if (!in)
        return ERR_NOMEM;
    for (size_t i = 0; i < round->n_rows; i++)
        in[round->rows[i]] = true;
    for (size_t i = 0; i < p->n; i++) {
        const uint8_t *record = p->records + i * p->stride;
        int16_t at = g->n_nodes > 0 ? 0 : ~0;

        if (in[i])
            continue;
        while (at >= 0)
            at = g->packed_nodes[at].child[packed_is_right(g->packed_nodes[at].test, record)];
        g->answers[i] += g->leaves[~at];
    }
    free(in);
    return ERR_OK;
}

/* Copies the grown tree out of the grower. */
static enum err take(struct grower *g, struct tree *out)
{
    struct tree t = {malloc((g->n_nodes + 1) * sizeof(*t.nodes)), malloc(g->n_leaves * sizeof(*t.leaves)), g->n_nodes,
                     g->n_leaves};

    if (!t.nodes || !t.leaves) {
        tree_fini(&t);
        return ERR_NOMEM;
    }
    memcpy(t.nodes, g->nodes, g->n_nodes * sizeof(*t.nodes));
    memcpy(t.leaves, g->leaves, g->n_leaves * sizeof(*t.leaves));
    *out = t;
    return ERR_OK;
}

static void grow(struct grower *g, const struct grow_round *round)
{
    struct part root = {.rows = {g->p->records, round->rows, round->rows ? round->n_rows : g->p->n}};

    g->n_open = g->n_nodes = g->n_leaves = 0;
    root.sum = histogram_sum(g->p, &root.rows);
    open_part(g, &root);
    while (g->n_open > 0) {
        struct part p = next_part(g);

        if (g->n_open + g->n_leaves + 2 > g->options.max_leaves)
            end_in_leaf(g, &p);
        else
            split_part(g, &p);
    }
    assert(g->n_leaves == g->n_nodes + 1 && g->n_leaves <= g->options.max_leaves);
}

enum err grower_grow(struct grower *g, const struct grow_round *round, float *answers, double *gains, struct tree *out)
{
    enum err e = ERR_OK;

    g->answers = answers;
    g->gains = gains;
    histogram_use(&g->histogram, round->use);
    put_gradients(g, round);
    grow(g, round);
    for (size_t i = 0; i < g->n_nodes; i++)
        memcpy(g->packed_nodes[i].child, g->nodes[i].child, sizeof(g->nodes[i].child));
    if (round->rows && round->n_rows < g->p->n)
        e = answer_others(g, round);
    return e ? e : take(g, out);
}
