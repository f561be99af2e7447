/* SPDX-License-Identifier: MIT */
/* graph_mend.h - nodes of a graph at one size of a range that would look at what lies behind the places that are there,
 * made exact: they read tensors that say how many there are (enum range_made), which a run is given behind its inputs.
 */
#ifndef TUNE_KERNELS_GRAPH_MEND_H
#define TUNE_KERNELS_GRAPH_MEND_H

#include "core/err.h"
#include "kernels/graph_range.h"

#include <stdbool.h>
#include <stddef.h>

enum mend_kind {
    MEND_LENGTHS, /* attention does not look at keys behind them */
    MEND_BLANK,   /* what is behind is another number, which changes nothing: `blank` */
    MEND_LAST,    /* a strided_copy of the last place: gather takes it, the copy what that gives */
    MEND_BACK,    /* a strided_copy backwards: forwards, and gather turns round what is there */
    MEND_STATE,   /* the state behind the last step: the last place of all outputs */
    MEND_JOIN,    /* a concat behind a cache: gather takes what is there of both, one behind the other */
    MEND_ROWS,    /* numbers of rows, of which those below 0 are counted from the last that is there */
    N_MEND_KINDS
};

struct mend {
    enum mend_kind kind;
    size_t i_node;          /* in the graph as it was */
    int which;              /* MEND_BLANK: the input; MEND_BACK: the copy's dimension */
    const char *blank;      /* MEND_BLANK: a number as an eltwise has it */
    struct range_axis axis; /* the dimension in what is read; MEND_BACK, MEND_JOIN: in what the node gives */
};

/* Carries all mends out, by the order of their nodes; b->places are those of its graph, and are afterwards. ERR_LIMIT,
 * ERR_NOMEM; ERR_UNSUPPORTED: attention with lengths of its own, places of two lengths. */
enum err graph_mend_all(struct range_bucket *b, const struct mend *list, size_t n, struct why *why);

#endif
