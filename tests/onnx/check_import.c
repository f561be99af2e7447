/* SPDX-License-Identifier: MIT */
#include "tests/onnx/check_import.h"
#include "core/buf.h"
#include "core/file.h"
#include "tests/onnx/wire.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char dir[PATH_MAX]; /* of this program's files */

bool folder_open(const char *name)
{
    struct why why = {""};

    if (!dir_temporary(name, dir, sizeof dir, &why))
        return true;
    printf("%s\n", why.text);
    return false;
}

const char *folder_path(void)
{
    return dir;
}

void folder_close(void)
{
    dir_remove(dir);
}

const char *below(const char *name)
{
    static char path[2][PATH_MAX + 64];
    static int i;

    i = !i;
    snprintf(path[i], sizeof path[i], "%s/%s", dir, name);
    return path[i];
}

void write_file(const char *name, const void *bytes, size_t n)
{
    assert_int_equal(file_replace(below(name), bytes, n, 0644, NULL), ERR_OK);
}

enum err import_lines(const char *lines, const struct onnx_dim *dims, size_t n_dims, struct onnx_import **out,
                      struct why *why)
{
    struct buf model;
    enum err e;

    buf_init(&model, MAX_MODEL);
    wire_model(lines, &model);
    e = onnx_import_parse(buf_text(&model), model.len, &(struct onnx_options){.dims = dims, .n_dims = n_dims}, out,
                          why);
    buf_fini(&model);
    return e;
}

void check_graph(const char *lines, const char *graph)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf text;

    buf_init(&text, MAX_MODEL);
    if (import_lines(lines, NULL, 0, &m, &why) || onnx_import_graph(m, &text, &why))
        fail_msg("%s: %s", lines, why.text);
    if (strcmp(buf_text(&text), graph) != 0)
        fail_msg("%sgave\n%sexpected\n%s", lines, buf_text(&text), graph);
    buf_fini(&text);
    onnx_import_close(m);
}

void check_nodes(const char *nodes, const char *graph)
{
    struct buf lines, text;

    buf_init(&lines, MAX_MODEL);
    buf_init(&text, MAX_MODEL);
    buf_printf(&lines, OF_IMAGE "%soutput y\n", nodes);
    buf_printf(&text, IMAGE_LINE "%s", graph);
    assert_true(!lines.failed && !text.failed);
    check_graph(buf_text(&lines), buf_text(&text));
    buf_fini(&lines);
    buf_fini(&text);
}

void check_weights_of(struct onnx_import *m, const float *expected, size_t n, const char *list)
{
    struct why why = {""};
    struct buf bytes, text;

    buf_init(&bytes, MAX_MODEL);
    buf_init(&text, MAX_MODEL);
    if (onnx_import_weights(m, folder_path(), DTYPE_F32, &why) || file_read(below("weights.bin"), &bytes, &why) ||
        file_read(below("weights.txt"), &text, &why))
        fail_msg("%s", why.text);
    assert_string_equal(buf_text(&text), list);
    assert_int_equal(bytes.len, n * sizeof *expected);
    for (size_t i = 0; i < n; i++) {
        float v;

        memcpy(&v, bytes.data + i * sizeof v, sizeof v);
        if (!(v >= expected[i] - 1e-6F && v <= expected[i] + 1e-6F))
            fail_msg("weight %zu is %g, expected %g", i, (double)v, (double)expected[i]);
    }
    buf_fini(&bytes);
    buf_fini(&text);
}

void check_weights(const char *lines, const float *expected, size_t n, const char *list)
{
    struct onnx_import *m = NULL;
    struct why why = {""};

    if (import_lines(lines, NULL, 0, &m, &why))
        fail_msg("%s", why.text);
    check_weights_of(m, expected, n, list);
    onnx_import_close(m);
}

const struct onnx_row *row_of(const struct onnx_import *m, const char *op)
{
    size_t n = 0;
    const struct onnx_row *rows = onnx_import_rows(m, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].op, op) == 0)
            return &rows[i];
    fail_msg("no row of %s", op);
    return NULL;
}

void check_refused(const char *lines, const char *op, const char *words)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    const struct onnx_row *row;

    if (import_lines(lines, NULL, 0, &m, &why))
        fail_msg("%s: %s", lines, why.text);
    row = row_of(m, op);
    if (row->n[ONNX_UNSUPPORTED] != 1 || !strstr(row->words, words))
        fail_msg("%s: '%s', expected '%s'", lines, row->words ? row->words : "fine", words);
    onnx_import_close(m);
}
