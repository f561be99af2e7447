/* SPDX-License-Identifier: MIT */
/* computed.h - what the imported graph of a model computes, by the graph's own definition (network_ref.h), for tests
 * that hold it against ONNX's. */
#ifndef TUNE_TESTS_ONNX_COMPUTED_H
#define TUNE_TESTS_ONNX_COMPUTED_H

/* Imports the model of the lines and computes it: arguments are values of each input, then room for each output, in
 * the graph's order. Fails the test where it is refused. A tensor of weights has 4096 numbers at most. */
void compute_model(const char *lines, double *const *arguments);

#endif
