/* SPDX-License-Identifier: MIT */
/* Feeds models to the reader. What is read takes no more memory than was promised, tells a table, and gives a graph
 * that graph_parse takes or words why there is none. */
#include "onnx/file.h"
#include "onnx/import.h"
#include "kernels/graph.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static void check_memory(const void *bytes, size_t n)
{
    struct onnx_file f;
    struct why why = {""};

    if (onnx_file_parse(bytes, n, &f, &why)) {
        fuzz_check_words("model", why.text);
        return;
    }
    if (f.memory.used > f.memory.most || f.memory.most > ONNX_MEMORY_BASE + ONNX_MEMORY_PER_BYTE * n)
        fuzz_die("%zu bytes of memory, at most %zu, for a file of %zu", f.memory.used, f.memory.most, n);
    onnx_file_close(&f);
}

static void check_graph(const struct onnx_import *m)
{
    struct buf text;
    struct graph g;
    struct why why = {""};

    buf_init(&text, GRAPH_MAX_BYTES);
    if (onnx_import_graph(m, &text, &why)) {
        fuzz_check_words("graph of a model", why.text);
    } else {
        if (graph_parse("fuzz", buf_text(&text), text.len, &g, &why))
            fuzz_die("a graph that is none: %s", why.text);
        graph_fini(&g);
    }
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    void *bytes = fuzz_copy(data, n);
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf table;

    check_memory(bytes, n);
    if (onnx_import_parse(bytes, n, NULL, &m, &why)) {
        fuzz_check_words("import", why.text);
    } else {
        buf_init(&table, (size_t)1 << 24);
        onnx_import_describe(m, &table);
        buf_fini(&table);
        check_graph(m);
        onnx_import_close(m);
    }
    free(bytes);
    return 0;
}
