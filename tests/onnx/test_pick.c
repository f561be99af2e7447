/* SPDX-License-Identifier: MIT */
/* Elements taken and replaced by indices: which rows of which table are asked for. The numbers are counted by hand. */
#include "tests/onnx/check_import.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#define HEAD "opset 18\ninput x 2 3\n" /* elements 0 1 2, 3 4 5 */
#define X_LINE "x = input shape=2,3\n"

static void elements_are_taken_by_indices_along_an_axis(void **state)
{
    (void)state;
    check_graph(HEAD "ints i 2 2 = 2 0 -1 1\nnode GatherElements x i -> y axis=1\noutput y\n",
                X_LINE "y = constant shape=2,2\ny_2 = eltwise y f=a\nx_3 = reshape x shape=1,6,1\n"
                       "y_4 = reshape y_2 shape=4\ny_5 = gather x_3 + y_4\ny_6 = reshape y_5 shape=2,2\n");
    check_weights(HEAD "ints i 2 2 = 2 0 -1 1\nnode GatherElements x i -> y axis=1\noutput y\n",
                  (const float[]){2, 0, 5, 4}, 4, "y_2 a 0 16\n");
    check_weights(HEAD "ints i 1 3 = 1 0 -1\nnode GatherElements x i -> y\noutput y\n", (const float[]){3, 1, 5}, 3,
                  "y_2 a 0 12\n");
    /* computed: 3 columns a row, so that 3 times the row is 0 0 3 3 */
    check_graph(HEAD "input i:7 2 2\nnode GatherElements x i -> y axis=1\noutput y\n",
                X_LINE "i = input shape=2,2\ny = constant shape=2,2\n"
                       "y_3 = eltwise i + y f=add(mul(where(less(a,0),add(a,3),a),1),b)\n"
                       "x_4 = reshape x shape=1,6,1\ny_5 = reshape y_3 shape=4\ny_6 = gather x_4 + y_5\n"
                       "y_7 = reshape y_6 shape=2,2\n");
    check_weights(HEAD "input i:7 2 2\nnode GatherElements x i -> y axis=1\noutput y\n", (const float[]){0, 0, 3, 3}, 4,
                  "y_3 b 0 16\n");
    check_refused(HEAD "ints i 2 1 = 0 3\nnode GatherElements x i -> y axis=1\noutput y\n", "GatherElements",
                  "an index outside");
}

/* Indices may have fewer places than the tensor along every axis, and more along that of the operator. */
static void indices_may_be_fewer_than_elements(void **state)
{
    static const struct {
        const char *nodes;
        float places[10];
        size_t n;
        const char *weights;
    } cases[] = {
        {"ints i 1 2 = 2 0\nnode GatherElements x i -> y axis=1\noutput y\n", {2, 0}, 2, "y_2 a 0 8\n"},
        {"ints i 2 2 = 1 0 0 1\nnode GatherElements x i -> y axis=0\noutput y\n", {3, 1, 0, 4}, 4, "y_2 a 0 16\n"},
        {"ints i 1 5 = 2 1 0 1 2\nnode GatherElements x i -> y axis=1\noutput y\n", {2, 1, 0, 1, 2}, 5, "y_2 a 0 20\n"},
        {"input u 1 2\nints i 1 2 = 2 0\nnode ScatterElements x i u -> y axis=1\noutput y\n",
         {7, 1, 6, 3, 4, 5},
         6,
         "y_5 a 0 24\n"},
    };
    static const char *const more[] = {"ints i 3 1 = 0 1 2\nnode GatherElements x i -> y axis=1\noutput y\n",
                                       "ints i 1 4 = 0 1 0 1\nnode GatherElements x i -> y axis=0\noutput y\n"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char lines[256];

        snprintf(lines, sizeof lines, HEAD "%s", cases[i].nodes);
        check_weights(lines, cases[i].places, cases[i].n, cases[i].weights);
    }
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        char lines[256];

        snprintf(lines, sizeof lines, HEAD "%s", more[i]);
        check_refused(lines, "GatherElements", "other dimensions");
    }
}

static void runs_are_taken_by_tuples_of_indices(void **state)
{
    (void)state;
    check_weights("opset 18\ninput x 2 3 4\nints i 2 2 = 0 2 -1 1\nnode GatherND x i -> y\noutput y\n",
                  (const float[]){2, 4}, 2, "y_2 a 0 8\n"); /* rows of 4: 3 of them a block */
    check_graph("opset 18\ninput x 2 3 4\nints i 2 1 = 2 -3\nnode GatherND x i -> y batch_dims=1\noutput y\n",
                "x = input shape=2,3,4\ny = constant shape=2\ny_2 = eltwise y f=a\nx_3 = reshape x shape=1,6,4\n"
                "y_4 = gather x_3 + y_2\ny_5 = reshape y_4 shape=2,4\n");
    check_weights("opset 18\ninput x 2 3 4\nints i 2 1 = 2 -3\nnode GatherND x i -> y batch_dims=1\noutput y\n",
                  (const float[]){2, 3}, 2, "y_2 a 0 8\n"); /* of block 0 row 2, of block 1 row 0 */
    check_refused(HEAD "input i:7 2 4\nnode GatherND x i -> y\noutput y\n", "GatherND", "indices that do not fit");
    check_refused(HEAD "ints i 1 2 = 0 3\nnode GatherND x i -> y\noutput y\n", "GatherND", "an index outside");
}

/* Computed: of 3 x 4 rows those of the second dimension are 1 apart, those of the first 4; of batches each begins where
 * its block does. */
static void tuples_that_are_computed_are_sums_of_places(void **state)
{
    static const char nodes[] = "opset 18\ninput x 3 4 5\ninput i:7 2 2\nnode GatherND x i -> y\noutput y\n";
    static const char batches[] =
        "opset 18\ninput x 3 4 5\ninput i:7 3 1\nnode GatherND x i -> y batch_dims=1\noutput y\n";

    (void)state;
    check_graph(nodes, "x = input shape=3,4,5\ni = input shape=2,2\ny = constant shape=2\ny_3 = constant shape=2\n"
                       "y_4 = eltwise i + y + y_3 f=mul(where(less(a,0),add(a,b),a),c)\n"
                       "y_5 = reshape y_4 shape=2,2,1\ny_6 = reduce y_5 kind=sum\n"
                       "x_7 = reshape x shape=1,12,5\ny_8 = reshape y_6 shape=2\ny_9 = gather x_7 + y_8\n"
                       "y_10 = reshape y_9 shape=2,5\n");
    check_weights(nodes, (const float[]){3, 4, 4, 1}, 4, "y_4 b 0 8\ny_4 c 8 8\n");
    check_weights(batches, (const float[]){0, 4, 8}, 3, "y_6 b 0 12\n");
}

/* The first steps of each sequence, as many as it has, in the other order; what is behind them stays. */
static void sequences_are_turned_round(void **state)
{
    (void)state;
    check_graph("opset 10\ninput x 3 2 4\nints n 2 = 3 2\nnode ReverseSequence x n -> y\noutput y\n",
                "x = input shape=3,2,4\ny = constant shape=6\ny_2 = eltwise y f=a\nx_3 = reshape x shape=1,6,4\n"
                "y_4 = gather x_3 + y_2\ny_5 = reshape y_4 shape=3,2,4\n");
    check_weights("opset 10\ninput x 3 2 4\nints n 2 = 3 2\nnode ReverseSequence x n -> y\noutput y\n",
                  (const float[]){4, 3, 2, 1, 0, 5}, 6, "y_2 a 0 24\n");
    check_weights("opset 10\ninput x 2 3\nints n 2 = 0 3\nnode ReverseSequence x n -> y batch_axis=0 time_axis=1\n"
                  "output y\n",
                  (const float[]){0, 1, 2, 5, 4, 3}, 6, "y_2 a 0 24\n");
    check_refused("opset 10\ninput x 3 2 4\nints n 2 = 3 4\nnode ReverseSequence x n -> y\noutput y\n",
                  "ReverseSequence", "a length outside of 0 to 3");
    check_refused("opset 10\ninput x 3 2 4\nints n 3 = 1 1 1\nnode ReverseSequence x n -> y\noutput y\n",
                  "ReverseSequence", "do not fit");
    check_graph("opset 10\ninput x 3 2 4\ninput n:7 2\nnode ReverseSequence x n -> y\noutput y\n",
                "x = input shape=3,2,4\nn = input shape=2\nn_2 = reshape n shape=1,2\ny = constant shape=3,1\n"
                "y_4 = constant shape=1,2\n" /* of step a and length b: 2 runs a step, and from c on */
                "y_5 = eltwise y + n_2 + y_4 f=add(mul(where(less(a,b),sub(sub(b,1),a),a),2),c)\n"
                "x_6 = reshape x shape=1,6,4\ny_7 = reshape y_5 shape=6\ny_8 = gather x_6 + y_7\n"
                "y_9 = reshape y_8 shape=3,2,4\n");
    check_refused("opset 10\ninput x 3 2 4\nints n 2 = 3 2\nnode ReverseSequence x n -> y time_axis=1\noutput y\n",
                  "ReverseSequence", "the first two");
}

/* Behind the 6 elements of x stand those of the updates: 6, 7 .. */
static void elements_are_replaced_at_indices(void **state)
{
    (void)state;
    check_graph(HEAD "input u 1 3\nints i 1 1 = 1\nnode ScatterND x i u -> y\noutput y\n",
                X_LINE "u = input shape=1,3\nx_2 = reshape x shape=1,6\ny = concat x_2 + u\ny_4 = constant shape=2\n"
                       "y_5 = eltwise y_4 f=a\ny_6 = reshape y shape=1,3,3\ny_7 = gather y_6 + y_5\n"
                       "y_8 = reshape y_7 shape=2,3\n");
    check_weights(HEAD "input u 1 3\nints i 1 1 = 1\nnode ScatterND x i u -> y\noutput y\n", (const float[]){0, 2}, 2,
                  "y_5 a 0 8\n"); /* rows of 3: 0, 1 of x, 2 of the updates */
    check_weights(HEAD "input u 2 2\nints i 2 2 = 2 0 -2 1\nnode ScatterElements x i u -> y axis=1\noutput y\n",
                  (const float[]){7, 1, 6, 3, 9, 5}, 6, "y_6 a 0 24\n"); /* of two for one place the last: 9, not 8 */
    check_refused(HEAD "input u 1 3\nints i 1 1 = 1\nnode ScatterND x i u -> y reduction=\"add\"\noutput y\n",
                  "ScatterND", "a reduction");
    check_refused(HEAD "input u 2 3\nints i 1 1 = 1\nnode ScatterND x i u -> y\noutput y\n", "ScatterND", "do not fit");
}

static void one_place_is_another_number(void **state)
{
    (void)state;
    check_graph("opset 18\ninput x:7 2\nints d = 3\nconst v 2 = -1 5\nnode OneHot x d v -> y\noutput y\n",
                "x = input shape=2\nx_1 = reshape x shape=2,1\ny = constant shape=3\n"
                "y_3 = eltwise x_1 + y f=where(equal(where(less(a,0),add(a,3),a),b),5,-1)\n");
    check_graph("opset 18\ninput x:7 2\nints d = 3\nconst v 2 = 0 1\nnode OneHot x d v -> y axis=0\noutput y\n",
                "x = input shape=2\nx_1 = reshape x shape=1,2\ny = constant shape=3,1\n"
                "y_3 = eltwise x_1 + y f=where(equal(where(less(a,0),add(a,3),a),b),1,0)\n");
    check_refused("opset 18\ninput x:7 2\ninput d:7 1\nconst v 2 = 0 1\nnode OneHot x d v -> y\noutput y\n", "OneHot",
                  "a constant depth");
    check_weights(HEAD "node EyeLike x -> e k=1\nnode Add x e -> y\noutput y\n",
                  (const float[]){1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 1}, 12, "y w 0 24\ny bias 24 24\n");
}

/* How many come before a number is its place; of equal ones the first comes first. */
static void the_largest_are_those_with_few_before_them(void **state)
{
    (void)state;
    check_graph(HEAD "ints k 1 = 2\nnode TopK x k -> v i\nnode Add v i -> y\noutput y\n",
                X_LINE "x_1 = reshape x shape=2,3,1,1\nx_2 = reshape x shape=2,1,3,1\nv = constant shape=3,3,1\n"
                       "v_4 = eltwise x_1 + x_2 + v f=add(less(a,b),mul(equal(a,b),c))\n"
                       "v_5 = reshape v_4 shape=6,3,1\nv_6 = reduce v_5 kind=sum\n" /* how many before each */
                       "v_7 = constant shape=3,1\nv_8 = reshape v_6 shape=2,1,3,1\nv_9 = constant shape=2,1,1\n"
                       "v_10 = eltwise v_8 + v_9 + v_7 f=where(equal(a,b),c,0)\nv_11 = reshape v_10 shape=4,3,1\n"
                       "v_12 = reduce v_11 kind=sum\n" /* where they stand */
                       "x_13 = reshape x shape=2,1,3,1\nv_14 = reshape v_6 shape=2,1,3,1\n"
                       "v_15 = constant shape=2,1,1\nv_16 = eltwise v_14 + v_15 + x_13 f=where(equal(a,b),c,0)\n"
                       "v_17 = reshape v_16 shape=4,3,1\nv_18 = reduce v_17 kind=sum\n"
                       "v_19 = reshape v_18 shape=2,2\ni = reshape v_12 shape=2,2\ny = eltwise v_19 + i f=add(a,b)\n");
    /* [j][i]: is i before j; then the ranks 0 and 1 */
    check_weights(HEAD "ints k 1 = 2\nnode TopK x k -> v i\noutput v\n",
                  (const float[]){0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1}, 11, "v_4 c 0 36\nv_16 b 36 8\n");
    check_refused(HEAD "ints k 1 = 4\nnode TopK x k -> v i\noutput v\n", "TopK", "4 of 3 numbers");
    check_refused("opset 18\ninput x 2049\nints k 1 = 1\nnode TopK x k -> v i\noutput v\n", "TopK", "up to 2048");
}

static void products_have_a_third_matrix_added(void **state)
{
    (void)state;
    check_graph(HEAD "const w 3 2 = 0.5 ...\ninput c 2 2\nnode Gemm x w c -> y beta=0.5\noutput y\n",
                X_LINE "c = input shape=2,2\ny = dense x n=2\ny_3 = eltwise y + c f=add(a,mul(b,0.5))\n");
    check_graph(HEAD "input w 3 2\ninput c 2\nnode Gemm x w c -> y alpha=2.0\noutput y\n",
                X_LINE "w = input shape=3,2\nc = input shape=2\nx_3 = reshape x shape=1,2,3\n"
                       "w_4 = strided_copy w shape=1,2,3 at=0 d0=3,2 d1=2,1\ny = batch_gemm x_3 + w_4\n"
                       "y_6 = reshape y shape=2,2\ny_8 = eltwise y_6 + c f=add(mul(a,2),b)\n");
    check_refused(HEAD "const w 3 2 = 0.5 ...\ninput c 3 2 2\nnode Gemm x w c -> y\noutput y\n", "Gemm",
                  "a third matrix that does not fit");
}

static int open_folder(void **state)
{
    (void)state;
    return !folder_open("test_pick");
}

static int close_folder(void **state)
{
    (void)state;
    folder_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_taken_by_indices_along_an_axis),
        cmocka_unit_test(indices_may_be_fewer_than_elements),
        cmocka_unit_test(runs_are_taken_by_tuples_of_indices),
        cmocka_unit_test(tuples_that_are_computed_are_sums_of_places),
        cmocka_unit_test(sequences_are_turned_round),
        cmocka_unit_test(elements_are_replaced_at_indices),
        cmocka_unit_test(one_place_is_another_number),
        cmocka_unit_test(the_largest_are_those_with_few_before_them),
        cmocka_unit_test(products_have_a_third_matrix_added),
    };

    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
