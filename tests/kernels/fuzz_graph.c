/* SPDX-License-Identifier: MIT */
/* Feeds graphs of networks to the reader. What is read has nodes that read earlier ones and sizes above 0. */
#include "kernels/graph.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static void check(const struct graph *g)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct graph_node *t = &g->nodes[i];

        if (t->x >= (int)i || t->residual >= (int)i || (t->x < 0) != (i == 0) || t->key[GRAPH_C] < 1 ||
            t->key[GRAPH_H] < 1 || t->key[GRAPH_W] < 1)
            fuzz_die("node %zu does not hold together", i);
    }
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
        graph_fini(&g);
    }
    free(text);
    return 0;
}
