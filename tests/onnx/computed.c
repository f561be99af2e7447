/* SPDX-License-Identifier: MIT */
#include "tests/onnx/computed.h"
#include "core/buf.h"
#include "core/file.h"
#include "kernels/graph.h"
#include "network_ref.h"
#include "onnx/import.h"
#include "tests/onnx/check_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MAX_ELEMS 4096

/* Weights as they were written, which is done when the first are asked for. */
struct written {
    struct onnx_import *of;
    struct buf list, bytes;
    double v[2][MAX_ELEMS]; /* w, bias */
};

static void write_weights(struct written *at)
{
    struct why why = {""};

    if (onnx_import_weights(at->of, folder_path(), DTYPE_F32, &why) ||
        file_read(below("weights.bin"), &at->bytes, &why) || file_read(below("weights.txt"), &at->list, &why))
        fail_msg("%s", why.text);
}

static const double *weights_of(const char *layer, const char *tensor, int64_t n, void *arg)
{
    struct written *at = arg;
    char key[128];
    double *out = at->v[tensor[0] == 'b'];
    const char *line;
    long long from, n_bytes;

    if (!at->list.len)
        write_weights(at);
    snprintf(key, sizeof key, "%s %s ", layer, tensor);
    line = strstr(buf_text(&at->list), key);
    assert_non_null(line);
    assert_int_equal(sscanf(line + strlen(key), "%lld %lld", &from, &n_bytes), 2);
    assert_int_equal(n_bytes, n * 4);
    assert_true(n <= MAX_ELEMS);
    for (int64_t i = 0; i < n; i++) {
        float v;

        memcpy(&v, at->bytes.data + from + i * 4, sizeof v);
        out[i] = (double)v;
    }
    return out;
}

void compute_model(const char *lines, double *const *arguments)
{
    struct written written;
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct graph g;
    struct buf text;

    buf_init(&text, MAX_MODEL);
    buf_init(&written.list, MAX_MODEL);
    buf_init(&written.bytes, MAX_MODEL);
    if (import_lines(lines, NULL, 0, &m, &why) || onnx_import_graph(m, &text, &why) ||
        graph_parse("model", buf_text(&text), text.len, &g, &why))
        fail_msg("%s%s", lines, why.text);
    written.of = m;
    ref_network(&g, DTYPE_F32, arguments, weights_of, &written);
    graph_fini(&g);
    onnx_import_close(m);
    buf_fini(&text);
    buf_fini(&written.list);
    buf_fini(&written.bytes);
}
