/* SPDX-License-Identifier: MIT */
/* graph_parsed.h - graphs for tests, out of their text. */
#ifndef TUNE_TESTS_KERNELS_GRAPH_PARSED_H
#define TUNE_TESTS_KERNELS_GRAPH_PARSED_H

#include "kernels/graph.h"

/* The graph of a text, for the caller to end with graph_fini(); fails the test that runs, in words, where it is none.
 */
struct graph graph_parsed(const char *text);

#endif
