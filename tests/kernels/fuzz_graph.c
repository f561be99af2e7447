/* Feeds mutated graphs to the reader: `fuzz_graph [iterations [seed]]`, or, built with -fsanitize=fuzzer
 * -DFUZZ_LIBFUZZER, as a libFuzzer target. What is read has nodes that read earlier ones and sizes above 0. */
#include "core/rng.h"
#include "kernels/graph.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct graph g;
    struct why why;

    if (graph_parse("fuzz", (const char *)data, n, &g, &why))
        return 0;
    for (size_t i = 0; i < g.n_nodes; i++) {
        const struct graph_node *t = &g.nodes[i];

        if (t->x >= (int)i || t->residual >= (int)i || (t->x < 0) != (i == 0) || t->key[GRAPH_C] < 1 ||
            t->key[GRAPH_H] < 1 || t->key[GRAPH_W] < 1)
            abort();
    }
    graph_fini(&g);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static const char sample[] =
    "x = input c=3 h=8 w=8\na = conv2d x k=8 r=3 s=3 pad=1 relu\nb = conv2d a + a k=8 r=1 s=1\n"
    "c = depthwise_conv2d b r=3 s=3 stride=2 pad=1\np = pool2d c avg global\nq = dense p n=10\n"
    "s = softmax q\n";

int main(int argc, char **argv)
{
    const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
    struct rng r;

    rng_init(&r, argc > 2 ? (uint64_t)strtoull(argv[2], NULL, 10) : 1);
    for (long i = 0; i < n; i++) {
        uint8_t bytes[sizeof sample];
        size_t n_bytes = sizeof sample - 1, changes = rng_below(&r, 4);

        memcpy(bytes, sample, n_bytes);
        while (changes--)
            bytes[rng_below(&r, n_bytes)] =
                rng_below(&r, 4) ? (uint8_t) "0123456789 =+\nxabcpqshwkr"[rng_below(&r, 25)] : (uint8_t)rng_next(&r);
        if (rng_below(&r, 4) == 0)
            n_bytes = rng_below(&r, n_bytes);
        LLVMFuzzerTestOneInput(bytes, n_bytes);
    }
    return 0;
}
#endif
