/* SPDX-License-Identifier: MIT */
/* Feeds graphs of networks to the reader. What is read has nodes that read earlier ones and sizes above 0. */
#include "kernels/graph.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static void check(const struct graph *g)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct graph_node *t = &g->nodes[i];

        if (graph_elems(&t->shape) < 1 || t->shape.rank < 1)
            fuzz_die("node %zu has no shape", i);
        for (int k = 0; k < t->n_in; k++)
            if (t->in[k] < 0 || t->in[k] >= (int)i)
                fuzz_die("node %zu reads no earlier one", i);
    }
}

/* Its text is that of a graph with as many nodes and outputs. */
static void check_text(const struct graph *g)
{
    struct buf text;
    struct why why = {""};
    struct graph again;

    buf_init(&text, 2 * GRAPH_MAX_BYTES);
    if (graph_text(g, &text) == ERR_OK && text.len <= GRAPH_MAX_BYTES) {
        if (graph_parse("again", buf_text(&text), text.len, &again, &why))
            fuzz_die("its text is refused: %s", why.text);
        if (again.n_nodes != g->n_nodes || again.n_outputs != g->n_outputs)
            fuzz_die("its text is another graph");
        graph_fini(&again);
    }
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_copy(data, n);
    struct why why = {""};
    struct graph g;

    if (graph_parse("fuzz", text, n, &g, &why)) {
        fuzz_check_words("graph", why.text);
    } else {
        check(&g);
        check_text(&g);
        graph_fini(&g);
    }
    free(text);
    return 0;
}
