#include "cost_model/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The same function for wider vectors where the processor has them. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define CLONES
#endif

/* Sums over the rows of one node that have one code in one column. */
struct cell {
    double target, weight;
};

struct tree_grower {
    struct tree_data data;
    struct tree_options options;
    size_t *n_codes;    /* per column: 1 + its largest code */
    size_t *first_cell; /* per column: where its cells begin */
    size_t n_cells;
    struct cell *cells; /* [max_depth + 1][n_cells]: one histogram for each level of the recursion */
    struct cell *rows;  /* what each row adds to the cells it falls in */
    uint32_t *spare;    /* rows on their way to the right */
    const bool *use;
    double *gains;
    struct tree_node nodes[TREE_MAX_LEAVES];
    float leaves[TREE_MAX_LEAVES];
    size_t n_nodes, n_leaves;
};

struct split {
    double gain;
    size_t i_column;
    uint8_t threshold, shift;
};

enum err tree_grower_new(struct tree_grower **out, const struct tree_data *data, const struct tree_options *options)
{
    struct tree_grower *g = calloc(1, sizeof(*g));

    assert(options->max_depth <= TREE_MAX_DEPTH);
    if (!g)
        return ERR_NOMEM;
    g->data = *data;
    g->options = *options;
    g->n_codes = calloc(data->n_columns + 1, sizeof(*g->n_codes));
    g->first_cell = calloc(data->n_columns + 1, sizeof(*g->first_cell));
    g->spare = malloc(data->n * sizeof(*g->spare));
    g->rows = malloc(data->n * sizeof(*g->rows));
    for (size_t i = 0; g->n_codes && g->first_cell && i < data->n_columns; i++) {
        const uint8_t *codes = data->codes + i * data->n;
        uint8_t most = 0;

        for (size_t j = 0; j < data->n; j++)
            most = codes[j] > most ? codes[j] : most;
        g->n_codes[i] = (size_t)most + 1;
        g->first_cell[i] = g->n_cells;
        g->n_cells += g->n_codes[i];
    }
    g->cells = malloc((options->max_depth + 1) * (g->n_cells + 1) * sizeof(*g->cells));
    if (!g->n_codes || !g->first_cell || !g->spare || !g->rows || !g->cells) {
        tree_grower_free(g);
        return ERR_NOMEM;
    }
    *out = g;
    return ERR_OK;
}

void tree_grower_free(struct tree_grower *g)
{
    if (!g)
        return;
    free(g->n_codes);
    free(g->first_cell);
    free(g->cells);
    free(g->spare);
    free(g->rows);
    free(g);
}

static struct cell sum_rows(const struct tree_grower *g, const uint32_t *rows, size_t n)
{
    struct cell sum = {0, 0};

    for (size_t i = 0; i < n; i++) {
        sum.target += g->rows[rows[i]].target;
        sum.weight += g->rows[rows[i]].weight;
    }
    return sum;
}

static void fill_cells(const struct tree_grower *g, const uint32_t *rows, size_t n, struct cell *cells)
{
    memset(cells, 0, g->n_cells * sizeof(*cells));
    for (size_t i = 0; i < g->data.n_columns; i++) {
        const uint8_t *codes = g->data.codes + i * g->data.n;
        struct cell *own = cells + g->first_cell[i];

        if (!g->use[i])
            continue;
        for (size_t j = 0; j < n; j++) {
            struct cell *cell = &own[codes[rows[j]]];

            cell->target += g->rows[rows[j]].target;
            cell->weight += g->rows[rows[j]].weight;
        }
    }
}

static double score(const struct tree_grower *g, struct cell c)
{
    return c.target * c.target / (c.weight + g->options.l2);
}

/* Is left | all - left better than what `best` holds? */
static void consider(const struct tree_grower *g, struct cell all, struct cell left, struct split found,
                     struct split *best)
{
    const struct cell right = {all.target - left.target, all.weight - left.weight};

    if (left.weight < g->options.min_child || right.weight < g->options.min_child)
        return;
    found.gain = score(g, left) + score(g, right) - score(g, all);
    if (found.gain > best->gain)
        *best = found;
}

/* Tries all thresholds of one column, with the missing values on either side; while none was seen, they will go to the
 * heavier side. */
static void scan_column(const struct tree_grower *g, const struct cell *cells, size_t i_column, struct cell all,
                        struct split *best)
{
    const struct cell *own = cells + g->first_cell[i_column], missing = own[BINS_MISSING];
    const struct split missing_left = {0, i_column, 0, 0};
    struct cell left = {0, 0};

    for (size_t code = 1; code < g->n_codes[i_column]; code++) {
        const struct split with_left = {0, i_column, (uint8_t)code, 0},
                           with_right = {0, i_column, (uint8_t)(code - 1), 1};

        if (own[code].weight == 0)
            continue;
        left.target += own[code].target;
        left.weight += own[code].weight;
        if (missing.weight == 0) {
            consider(g, all, left, 2 * left.weight >= all.weight ? with_left : with_right, best);
            continue;
        }
        consider(g, all, left, with_right, best);
        consider(g, all, (struct cell){left.target + missing.target, left.weight + missing.weight}, with_left, best);
    }
    if (missing.weight > 0)
        consider(g, all, missing, missing_left, best);
}

/* Puts the rows that go left first, both sides in their old order; returns their number. */
static size_t divide(struct tree_grower *g, uint32_t *rows, size_t n, const struct split *s)
{
    const uint8_t *codes = g->data.codes + s->i_column * g->data.n;
    size_t n_left = 0, n_right = 0;

    for (size_t i = 0; i < n; i++) {
        if ((uint8_t)(codes[rows[i]] - s->shift) > s->threshold)
            g->spare[n_right++] = rows[i];
        else
            rows[n_left++] = rows[i];
    }
    memcpy(rows + n_left, g->spare, n_right * sizeof(*rows));
    return n_left;
}

static uint8_t add_leaf(struct tree_grower *g, struct cell all)
{
    g->leaves[g->n_leaves] = (float)(g->options.rate * all.target / (all.weight + g->options.l2));
    return (uint8_t)g->n_leaves++;
}

/* One node of the recursion: its rows, their sums, and the histogram that it owns. */
struct part {
    uint32_t *rows;
    size_t n, depth;
    struct cell all;
    struct cell *cells; /* filled by the parent */
    struct cell *free;  /* unused histograms behind it */
};

static bool is_deep_enough(const struct tree_grower *g, const struct part *p)
{
    return p->depth == g->options.max_depth || p->n < 2 || p->all.weight < 2 * g->options.min_child;
}

/* Histograms of both sides: the smaller one is counted, the larger one is the parent's less that. */
static void share_cells(const struct tree_grower *g, const struct part *parent, struct part *small, struct part *large)
{
    small->cells = parent->free;
    large->cells = parent->cells;
    small->free = large->free = parent->free + g->n_cells;
    if (is_deep_enough(g, small) && is_deep_enough(g, large))
        return;
    fill_cells(g, small->rows, small->n, small->cells);
    for (size_t i = 0; i < g->n_cells; i++) {
        large->cells[i].target -= small->cells[i].target;
        large->cells[i].weight -= small->cells[i].weight;
    }
}

static uint8_t grow(struct tree_grower *g, struct part *p, bool *is_leaf);

static uint8_t grow_node(struct tree_grower *g, struct part *p, const struct split *s)
{
    const uint8_t i_node = (uint8_t)g->n_nodes++;
    struct tree_node *node = &g->nodes[i_node];
    struct part left = {.depth = p->depth + 1}, right = {.depth = p->depth + 1};

    left.rows = p->rows;
    left.n = divide(g, p->rows, p->n, s);
    right.rows = p->rows + left.n;
    right.n = p->n - left.n;
    left.all = sum_rows(g, left.rows, left.n);
    right.all = sum_rows(g, right.rows, right.n);
    share_cells(g, p, left.n <= right.n ? &left : &right, left.n <= right.n ? &right : &left);
    *node = (struct tree_node){.i_column = (uint16_t)s->i_column, .threshold = s->threshold, .shift = s->shift};
    g->gains[s->i_column] += s->gain;
    if (left.n <= right.n) { /* the smaller side first: its histogram is free again for the other */
        node->left = grow(g, &left, &node->left_is_leaf);
        node->right = grow(g, &right, &node->right_is_leaf);
    } else {
        node->right = grow(g, &right, &node->right_is_leaf);
        node->left = grow(g, &left, &node->left_is_leaf);
    }
    return i_node;
}

/* Grows what hangs below one part: gives the number of a node, or of a leaf. */
static uint8_t grow(struct tree_grower *g, struct part *p, bool *is_leaf)
{
    struct split best = {.gain = g->options.min_gain};

    if (!is_deep_enough(g, p))
        for (size_t i = 0; i < g->data.n_columns; i++)
            if (g->use[i])
                scan_column(g, p->cells, i, p->all, &best);
    *is_leaf = best.gain <= g->options.min_gain;
    return *is_leaf ? add_leaf(g, p->all) : grow_node(g, p, &best);
}

/* Copies the grown tree out of the grower. */
static enum err take(const struct tree_grower *g, struct tree *out)
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

enum err tree_grow(struct tree_grower *g, uint32_t *rows, size_t n_rows, const bool *use, double *gains,
                   struct tree *out)
{
    struct part all = {.rows = rows, .n = n_rows, .cells = g->cells, .free = g->cells + g->n_cells};
    bool is_leaf;

    g->use = use;
    g->gains = gains;
    g->n_nodes = g->n_leaves = 0;
    for (size_t i = 0; i < n_rows; i++) {
        const double weight = g->data.weights ? (double)g->data.weights[rows[i]] : 1.0;

        g->rows[rows[i]] = (struct cell){weight * (double)g->data.targets[rows[i]], weight};
    }
    all.all = sum_rows(g, rows, n_rows);
    fill_cells(g, rows, n_rows, all.cells);
    grow(g, &all, &is_leaf);
    return take(g, out);
}

void tree_fini(struct tree *t)
{
    if (!t)
        return;
    free(t->nodes);
    free(t->leaves);
    *t = (struct tree){0};
}

void tree_scratch_init(struct tree_scratch *s)
{
    for (size_t i = 0; i < TREE_MAX_LEAVES; i++)
        memset(s->fixed[i], (int)i, BINS_BLOCK);
}

/* What each row reaches by one node: whole numbers only, so that every vector width gives the same. */
static inline void choose_sides(struct tree_node node, const uint8_t *restrict codes, const uint8_t *restrict left,
                                const uint8_t *restrict right, uint8_t *restrict out)
{
    for (size_t j = 0; j < BINS_BLOCK; j++) {
        const uint8_t l = left[j], r = right[j];
        const uint8_t mask = (uint8_t) - ((uint8_t)(codes[j] - node.shift) > node.threshold);

        out[j] = (uint8_t)((r & mask) | (l & (uint8_t)~mask));
    }
}

/* Which leaf each row reaches: children stand behind their node, so one pass from the last node to the first replaces
 * every pointer by the leaves below it; 64 rows side by side and no branch, which compilers turn into vectors. */
CLONES static const uint8_t *leaves_of_block(const struct tree *t, const uint8_t *codes, struct tree_scratch *s)
{
    for (size_t i = t->n_nodes; i-- > 0;) {
        const struct tree_node node = t->nodes[i];

        choose_sides(node, codes + (size_t)node.i_column * BINS_BLOCK,
                     node.left_is_leaf ? s->fixed[node.left] : s->reached[node.left],
                     node.right_is_leaf ? s->fixed[node.right] : s->reached[node.right], s->reached[i]);
    }
    return t->n_nodes > 0 ? s->reached[0] : s->fixed[0];
}

void tree_add_block(const struct tree *t, const uint8_t *codes, struct tree_scratch *s, float *sums)
{
    const uint8_t *reached = leaves_of_block(t, codes, s);

    for (size_t j = 0; j < BINS_BLOCK; j++)
        sums[j] += t->leaves[reached[j]];
}

float tree_at(const struct tree *t, const uint8_t *codes, size_t n, size_t i)
{
    const struct tree_node *node = t->nodes;
    bool right;

    if (t->n_nodes == 0)
        return t->leaves[0];
    for (;;) {
        right = (uint8_t)(codes[(size_t)node->i_column * n + i] - node->shift) > node->threshold;
        if (right ? node->right_is_leaf : node->left_is_leaf)
            return t->leaves[right ? node->right : node->left];
        node = &t->nodes[right ? node->right : node->left];
    }
}
