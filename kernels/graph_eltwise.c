/* SPDX-License-Identifier: MIT */
/* graph_eltwise.c - element-wise chains in graphs: the shape that inputs are repeated to, and sizes of the workload. */
#include "core/buf.h"
#include "core/err.h"
#include "kernels/eltwise/expression.h"
#include "kernels/graph_ops.h"
#include "kernels/images.h"

#include <string.h>

#define MAX_DIMS (GRAPH_MAX_RANK + 1) /* channels in blocks are two */

/* As many inputs as the calls have; what else is wrong with them the workload's parser tells. */
static enum err check_inputs(const struct graph_node *n, struct why *why)
{
    struct eltwise chain;

    if (strncmp(n->words, "f=", 2) != 0 || eltwise_parse(n->words + 2, &chain, NULL) || chain.n_inputs == n->n_in)
        return ERR_OK;
    return why_set(why, ERR_INPUT, "%d tensors, but f has %d inputs", n->n_in, chain.n_inputs);
}

enum err graph_eltwise_shape(struct graph_node *n, const struct graph_shape *const in[], struct why *why)
{
    char a[128], b[128];

    if (check_inputs(n, why))
        return ERR_INPUT;
    n->shape = *in[0];
    for (int k = 1; k < n->n_in; k++) {
        graph_shape_words(&n->shape, a, sizeof a);
        graph_shape_words(in[k], b, sizeof b);
        if (!graph_broadcast(&n->shape, in[k], &n->shape))
            return why_set(why, ERR_INPUT, "a tensor of %s and one of %s: expected sizes that are equal or 1", a, b);
    }
    return ERR_OK;
}

/* Blocks of channels can be made of inputs that have none, or theirs alone, or are images; not of constants. */
bool graph_eltwise_fits(const struct graph *g, size_t i, int lanes)
{
    const struct graph_node *n = &g->nodes[i];
    bool fits = n->shape.rank == 4 && n->shape.dim[1] % lanes == 0;

    for (int k = 0; k < n->n_in; k++) {
        const struct graph_shape *s = &g->nodes[n->in[k]].shape;

        if (s->rank >= 3 && s->dim[s->rank - 3] > 1)
            fits = fits && g->nodes[n->in[k]].op != GRAPH_CONSTANT && s->dim[s->rank - 3] % lanes == 0 &&
                   (s->rank == 4 || s->dim[s->rank - 2] * s->dim[s->rank - 1] == 1);
    }
    return fits;
}

/* Sizes of a tensor, in front of which stand as many of 1 as y has more; with blocks n, c / lanes, h, w, lanes. */
static void spread(const struct graph_shape *s, int rank, int64_t lanes, int64_t out[MAX_DIMS])
{
    for (int k = 0; k < rank; k++)
        out[k] = k < rank - s->rank ? 1 : s->dim[k - (rank - s->rank)];
    out[rank] = 1;
    if (lanes > 1 && out[1] > 1) {
        out[rank] = lanes;
        out[1] /= lanes;
    }
}

static unsigned repeats(int64_t all[][MAX_DIMS], int n_in, int k)
{
    unsigned bits = 0;

    for (int i = 1; i <= n_in; i++)
        bits |= (unsigned)(all[i][k] != all[0][k]) << i;
    return bits;
}

/* Joins dimensions that are broadcast alike and drops those of 1; how many are left. all[0] is y. */
static int merge(int64_t all[][MAX_DIMS], int n_in, int n_dims)
{
    int n = 0;

    for (int k = 0; k < n_dims; k++) {
        const bool joins = n && repeats(all, n_in, n - 1) == repeats(all, n_in, k);

        if (all[0][k] == 1)
            continue;
        for (int i = 0; i <= n_in; i++)
            all[i][joins ? n - 1 : n] = joins ? all[i][n - 1] * all[i][k] : all[i][k];
        n += !joins;
    }
    for (int i = 0; !n && i <= n_in; i++)
        all[i][0] = 1;
    return n ? n : 1;
}

void graph_eltwise_sizes(const struct graph *g, size_t i, enum dtype t, int layout, struct buf *out)
{
    const struct graph_node *node = &g->nodes[i];
    int64_t all[GRAPH_MAX_INPUTS + 1][MAX_DIMS];
    const int64_t lanes = node->shape.rank == 4 ? images_lanes(layout, node->shape.dim[1]) : 1;
    bool has_weights = false;
    int n;

    (void)t;
    spread(&node->shape, node->shape.rank, lanes, all[0]);
    for (int k = 0; k < node->n_in; k++)
        spread(&g->nodes[node->in[k]].shape, node->shape.rank, lanes, all[k + 1]);
    n = merge(all, node->n_in, node->shape.rank + 1);
    for (int k = 0; k <= node->n_in; k++)
        if (k == 0 || memcmp(all[k], all[0], (size_t)n * sizeof all[0][0]) != 0) {
            buf_printf(out, " %c=", k ? 'a' + k - 1 : 'y');
            for (int d = 0; d < n; d++)
                buf_printf(out, "%s%lld", d ? "x" : "", (long long)all[k][d]);
        }
    for (int k = 0; k < node->n_in; k++)
        if (g->nodes[node->in[k]].op == GRAPH_CONSTANT) {
            buf_printf(out, "%s%c", has_weights ? "" : " weights=", 'a' + k);
            has_weights = true;
        }
}
