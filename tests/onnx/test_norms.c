/* SPDX-License-Identifier: MIT */
/* Normalizations of rows are one layer, of nodes that say so and of those that exporters write; what is added behind a
 * product is in its kernel. */
#include "core/buf.h"
#include "core/err.h"
#include "onnx/import.h"
#include "tests/onnx/check_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define X "opset 17\ninput x 2 3 4\n"
#define X_LINES "x = input shape=2,3,4\nx_1 = reshape x shape=6,4\n"

static void nodes_are_layers(void **unused)
{
    (void)unused;
    check_graph(X "const f 4 = 1 2 3 4\nconst t 4 = 5 6 7 8\nnode LayerNormalization x f t -> y\noutput y\n",
                X_LINES "y = norm x_1 epsilon=10000000\ny_3 = reshape y shape=2,3,4\n");
    check_graph("opset 23\ninput x 2 3 4\nconst f 3 4 = 1 2 3 4 5 6 7 8 9 1 2 3\n"
                "node RMSNormalization x f -> y axis=1 epsilon=0.25\noutput y\n",
                "x = input shape=2,3,4\nx_1 = reshape x shape=2,12\n"
                "y = norm x_1 epsilon=250000000000 kind=rms\ny_3 = reshape y shape=2,3,4\n");
    check_weights(X "const f 4 = 1 2 3 4\nconst t 4 = 5 6 7 8\nnode LayerNormalization x f t -> y\noutput y\n",
                  (const float[]){1, 2, 3, 4, 5, 6, 7, 8}, 8, "y w 0 16\ny bias 16 16\n");
}

#define SQUARE "const two 1 = 2\nconst e 1 = 1e-6\nconst one 1 = 1\nconst f 4 = 1 2 3 4\nconst t 4 = 5 6 7 8\n"
#define CENTRED "node ReduceMean x -> m axes=[-1]\nnode Sub x m -> d\n"
#define ROOT(of) "node Pow " of " two -> s\nnode ReduceMean s -> v axes=[-1]\nnode Add v e -> ve\nnode Sqrt ve -> r\n"

/* What scales the rows and is added behind it are its weights; rms has no place for what is added. */
static void chains_are_layers(void **unused)
{
    (void)unused;
    check_graph(X SQUARE CENTRED ROOT("d") "node Div d r -> y\noutput y\n",
                "x = input shape=2,3,4\nx_11 = reshape x shape=6,4\ny = norm x_11 epsilon=1000000\n"
                "y_13 = reshape y shape=2,3,4\n");
    check_weights(X SQUARE CENTRED ROOT("d") "node Div d r -> q\nnode Mul q f -> p\nnode Add p t -> y\noutput y\n",
                  (const float[]){1, 2, 3, 4, 5, 6, 7, 8}, 8, "q w 0 16\nq bias 16 16\n");
    check_weights(X SQUARE ROOT("x") "node Div one r -> i\nnode Mul x i -> q\nnode Mul f q -> y\noutput y\n",
                  (const float[]){1, 2, 3, 4}, 4, "q w 0 16\n");
    check_weights(X SQUARE ROOT("x") "node Reciprocal r -> i\nnode Mul i x -> q\nnode Add q t -> y\noutput y\n",
                  (const float[]){1, 1, 1, 1, 1, 1, 1, 1, 5, 6, 7, 8}, 12, "q w 0 16\ny w 16 16\ny bias 32 16\n");
}

static bool has_norm(const char *lines)
{
    struct onnx_import *m = NULL;
    struct why why = {""};
    struct buf text;
    bool has;

    buf_init(&text, MAX_MODEL);
    if (import_lines(lines, NULL, 0, &m, &why) || onnx_import_graph(m, &text, &why))
        fail_msg("%s: %s", lines, why.text);
    has = strstr(buf_text(&text), "= norm ") != NULL;
    buf_fini(&text);
    onnx_import_close(m);
    return has;
}

/* Another axis, another power, the mean of another tensor, what is divided is not what was squared, scales that are
 * computed. */
static void what_is_another_stays(void **unused)
{
    (void)unused;
    assert_true(has_norm(X SQUARE ROOT("x") "node Div x r -> y\noutput y\n"));
    assert_false(has_norm(X SQUARE "node Pow x two -> s\nnode ReduceMean s -> v axes=[1]\nnode Add v e -> ve\n"
                                   "node Sqrt ve -> r\nnode Div x r -> y\noutput y\n"));
    assert_false(has_norm(X SQUARE "node Pow x one -> s\nnode ReduceMean s -> v axes=[-1]\nnode Add v e -> ve\n"
                                   "node Sqrt ve -> r\nnode Div x r -> y\noutput y\n"));
    assert_false(has_norm(X SQUARE "input z 2 3 4\n" ROOT("z") "node Div x r -> y\noutput y\n"));
    assert_false(has_norm(X SQUARE ROOT("x") "node Div r x -> y\noutput y\n"));
    assert_false(has_norm(X "input f 4\nnode LayerNormalization x f -> y\noutput y\n"));
    assert_false(has_norm(X "const f 4 = 1 2 3 4\nnode LayerNormalization x f - -> y mean\noutput y\noutput mean\n"));
}

/* Of another differences the root is another norm: of the differences themselves, without a mean. */
static void a_mean_of_another_is_no_centre(void **unused)
{
    (void)unused;
    check_graph(X SQUARE "input z 2 3 4\nnode ReduceMean z -> m axes=[-1]\nnode Sub x m -> d\n" ROOT(
                    "d") "node Div d r -> y\noutput y\n",
                "x = input shape=2,3,4\nz = input shape=2,3,4\nz_2 = reshape z shape=6,4,1\nm = reduce z_2 kind=mean\n"
                "m_4 = reshape m shape=2,3,1\nd = eltwise x + m_4 f=sub(a,b)\nd_12 = reshape d shape=6,4\n"
                "y = norm d_12 epsilon=1000000 kind=rms\ny_14 = reshape y shape=2,3,4\n");
}

#define W "const w 4 2 = 1 2 3 4 5 6 7 8\nconst b 2 = 1 2\n"

static void sums_are_in_the_products_kernel(void **unused)
{
    (void)unused;
    check_graph(X W "input z 2 3 2\nnode MatMul x w -> p\nnode Add b p -> q\nnode Add z q -> y\noutput y\n",
                "x = input shape=2,3,4\nz = input shape=2,3,2\nx_2 = reshape x shape=6,4\nz_4 = reshape z shape=6,2\n"
                "p = dense x_2 + z_4 n=2\ny = reshape p shape=2,3,2\n");
    /* of two products the later takes the other; a product that somebody else reads takes none */
    check_graph(X W "node MatMul x w -> p\nnode MatMul x w -> q\nnode Add p q -> y\noutput y\n",
                "x = input shape=2,3,4\nx_1 = reshape x shape=6,4\np = dense x_1 n=2\nx_3 = reshape x shape=6,4\n"
                "q = dense x_3 + p n=2\n"
                "y = reshape q shape=2,3,2\n");
    check_graph(X W "node MatMul x w -> p\nnode Add p p -> y\noutput y\n",
                "x = input shape=2,3,4\nx_1 = reshape x shape=6,4\np = dense x_1 n=2\np_3 = reshape p shape=2,3,2\n"
                "y = eltwise p_3 f=add(a,a)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_layers),
        cmocka_unit_test(chains_are_layers),
        cmocka_unit_test(what_is_another_stays),
        cmocka_unit_test(a_mean_of_another_is_no_centre),
        cmocka_unit_test(sums_are_in_the_products_kernel),
    };
    int failed;

    if (!folder_open("test-onnx-norms"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
