/* SPDX-License-Identifier: MIT */
/* LSTM, GRU and RNN: layers rnn with the gates' rows in the operator's order, backwards where the model says so. */
#include "tests/onnx/check_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define X "opset 14\ninput x 5 1 1\n" /* 5 steps of one number */
#define LSTM_W "const w 1 4 1 = 1 2 3 4\nconst r 1 4 1 = 5 6 7 8\nconst b 1 8 = 9 10 11 12 13 14 15 16\n"

/* One number each: rows of i o f c become i f g o. */
static void gates_of_an_lstm_are_put_in_order(void **state)
{
    static const float expected[] = {0, 1, 3, 4, 2, 5, 7, 8, 6, 9, 11, 12, 10, 13, 15, 16, 14};

    (void)state;
    check_weights(X LSTM_W "node LSTM x w r b -> y hidden_size=1\noutput y\n", expected, 17,
                  "zeros_2 a 0 4\ny w 4 16\ny r 20 16\ny bias 36 32\n");
}

/* z r h become r, what keeps the state, n. */
static void gates_of_a_gru_are_put_in_order(void **state)
{
    static const float expected[] = {0, 2, 1, 3, 5, 4, 6, 8, 7, 9, 11, 10, 12};

    (void)state;
    check_weights(X "const w 1 3 1 = 1 2 3\nconst r 1 3 1 = 4 5 6\nconst b 1 6 = 7 8 9 10 11 12\n"
                    "node GRU x w r b -> y hidden_size=1 linear_before_reset=1\noutput y\n",
                  expected, 13, "zeros_2 a 0 4\ny w 4 12\ny r 16 12\ny bias 28 24\n");
}

/* Three steps of two sequences of one number: the batch becomes the fastest axis, steps are taken from the last. */
static void a_reversed_sequence_is_read_and_written_backwards(void **state)
{
    (void)state;
    check_graph("opset 14\ninput x 3 2 1\nconst w 1 2 1 = 1 2\nconst r 1 2 2 = 1 2 3 4\nconst h 1 2 2 = 0 1 2 3\n"
                "node RNN x w r - - h -> y hidden_size=2 direction='reverse' activations=['Relu']\noutput y\n",
                "x = input shape=3,2,1\n"
                "x_1 = strided_copy x shape=3,1,2 at=4 d0=2,1 d1=3,-2\n"
                "h = constant shape=1,2,2\n"
                "h_3 = eltwise h f=a\n"
                "h_4 = strided_copy h_3 shape=1,2,2 at=0 d0=2,2 d1=2,1\n"
                "y = rnn x_1 + h_4 shape=3,2,2 cell=relu h=2\n"
                "y_6 = strided_copy y shape=3,1,2,2 at=8 d0=2,2 d1=2,1 d2=3,-4\n");
}

/* Both directions side by side; a state is an output of its own. */
static void two_directions_are_two_layers(void **state)
{
    (void)state;
    check_graph("opset 14\ninput x 2 1 1\nconst w 2 1 1 = 1 2\nconst r 2 1 1 = 1 2\n"
                "node RNN x w r -> - s hidden_size=1 direction='bidirectional'\noutput s\n",
                "x = input shape=2,1,1\n"
                "zeros = constant shape=1,1,1\n"
                "zeros_2 = eltwise zeros f=a\n"
                "t = rnn x + zeros_2 shape=2,1,1 cell=tanh h=1\n"
                "x_4 = strided_copy x shape=2,1,1 at=1 d0=2,-1\n"
                "t_5 = rnn x_4 + zeros_2 shape=2,1,1 cell=tanh h=1\n"
                "t_6 = state t hn\n"
                "t_7 = state t_5 hn\n"
                "t_8 = concat t_6 + t_7\n"
                "s = reshape t_8 shape=2,1,1\n");
}

/* Behind the transposition and the reshape that exporters put between two layers no copy is left but the reversal. */
static void directions_are_joined_in_the_order_of_the_layer_behind(void **state)
{
    (void)state;
    check_graph("opset 14\ninput x 3 1 1\nconst w 2 2 1 = 1 2 3 4\nconst r 2 2 2 = 1 2 3 4 5 6 7 8\n"
                "const v 1 2 4 = 1 2 3 4 5 6 7 8\nconst u 1 2 2 = 1 2 3 4\nints shape 3 = 3 1 4\n"
                "node RNN x w r -> t hidden_size=2 direction='bidirectional'\nnode Transpose t -> p perm=[0,2,1,3]\n"
                "node Reshape p shape -> q\nnode RNN q v u -> - s hidden_size=2\noutput s\n",
                "x = input shape=3,1,1\n"
                "zeros = constant shape=1,2,1\n"
                "zeros_2 = eltwise zeros f=a\n"
                "t = rnn x + zeros_2 shape=3,2,1 cell=tanh h=2\n"
                "x_4 = strided_copy x shape=3,1,1 at=2 d0=3,-1\n"
                "t_5 = rnn x_4 + zeros_2 shape=3,2,1 cell=tanh h=2\n"
                "t_6 = reshape t shape=3,2\n"
                "t_7 = strided_copy t_5 shape=3,2 at=4 d0=2,1 d1=3,-2\n"
                "t_8 = concat t_6 + t_7\n"
                "q = reshape t_8 shape=3,4,1\n"
                "t_10 = rnn q + zeros_2 shape=3,2,1 cell=tanh h=2\n"
                "t_11 = state t_10 hn\n"
                "s = reshape t_11 shape=1,1,2\n");
}

/* Steps behind a sequence's end are 0; the last state is the sum of those that are the last of one. */
static void sequences_may_have_lengths(void **state)
{
    (void)state;
    check_graph("opset 14\ninput x 3 2 1\ninput n:6 2\nconst w 1 2 1 = 1 2\nconst r 1 2 2 = 1 2 3 4\n"
                "node RNN x w r - n -> y h hidden_size=2\noutput y\noutput h\n",
                "x = input shape=3,2,1\nn = input shape=2\nx_2 = reshape x shape=3,1,2\nzeros = constant shape=1,2,2\n"
                "zeros_4 = eltwise zeros f=a\ny = rnn x_2 + zeros_4 shape=3,2,2 cell=tanh h=2\n"
                "y_6 = constant shape=3,1,1\ny_7 = eltwise y_6 + n + y f=where(equal(add(a,1),b),c,0)\n"
                "y_8 = reshape y_7 shape=1,3,4\ny_9 = reduce y_8 kind=sum\ny_10 = reshape y_9 shape=2,2\n"
                "y_11 = constant shape=3,1,1\ny_12 = eltwise y_11 + n + y f=where(less(a,b),c,0)\n"
                "y_13 = strided_copy y_12 shape=3,1,2,2 at=0 d0=2,2 d1=2,1 d2=3,4\n"
                "y_14 = reshape y_13 shape=3,1,2,2\nh = strided_copy y_10 shape=1,2,2 at=0 d0=2,2 d1=2,1\n"
                "output y_14\noutput h\n");
}

static void what_the_operator_lacks_is_refused_by_name(void **state)
{
    static const struct {
        const char *node, *op, *words;
    } cases[] = {
        {"node LSTM x w r b -> y hidden_size=1 clip=3.0", "LSTM", "clip or input_forget"},
        {"const p 1 3 = 1 2 3\nnode LSTM x w r b - - - p -> y hidden_size=1", "LSTM", "peepholes"},
        {"ints n:6 1 = 4\nnode LSTM x w r b n -> y - c hidden_size=1\noutput c", "LSTM",
         "the cell behind sequences of several lengths (Y_c)"},
        {"ints n:6 2 = 4 5\nnode LSTM x w r b n -> y hidden_size=1", "LSTM", "expected a length for each sequence"},
        {"node LSTM x w r b -> y hidden_size=1 activations=['Sigmoid','Tanh','Relu']", "LSTM",
         "activations other than its usual ones"},
        {"node LSTM x w r -> y hidden_size=1 direction='bidirectional'", "LSTM",
         "expected constant weights and biases that fit the input"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char lines[1024];

        snprintf(lines, sizeof lines, X LSTM_W "%s\noutput y\n", cases[i].node);
        check_refused(lines, cases[i].op, cases[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_of_an_lstm_are_put_in_order),
        cmocka_unit_test(gates_of_a_gru_are_put_in_order),
        cmocka_unit_test(a_reversed_sequence_is_read_and_written_backwards),
        cmocka_unit_test(two_directions_are_two_layers),
        cmocka_unit_test(directions_are_joined_in_the_order_of_the_layer_behind),
        cmocka_unit_test(sequences_may_have_lengths),
        cmocka_unit_test(what_the_operator_lacks_is_refused_by_name),
    };
    int failed;

    if (!folder_open("recurrent"))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    folder_close();
    return failed;
}
