/* tune_plan.h - a tuned layer's kernels, buffers and launches as constant tables: what `tune deploy` writes into
 * tune_bundle.c and tune_layer.c carries out. */
#ifndef TUNE_PLAN_H
#define TUNE_PLAN_H

#include "tune_layer.h"

enum tune_plan_fill { TUNE_FILL_NONE, TUNE_FILL_VALUE, TUNE_FILL_BYTES };
enum tune_plan_op { TUNE_OP_KERNEL, TUNE_OP_FILL, TUNE_OP_COPY };
enum tune_plan_arg_kind { TUNE_ARG_BUFFER, TUNE_ARG_I32, TUNE_ARG_U32, TUNE_ARG_I64, TUNE_ARG_F32, TUNE_ARG_LOCAL };

struct tune_plan_module {
    const char **lines; /* OpenCL C, each with its newline */
    int n_lines;
    const char *options; /* for clBuildProgram */
};

struct tune_plan_buffer {
    const char *id;
    size_t n_bytes;
    enum tune_plan_fill fill;
    unsigned char pattern[4]; /* one element, for TUNE_FILL_VALUE */
    size_t n_pattern;
    const unsigned char *bytes; /* content, for TUNE_FILL_BYTES */
    int each_run;               /* filled anew before every run, not only at first */
};

#define TUNE_PLAN_NEST 3 /* loops around a launch */

struct tune_plan_arg {
    enum tune_plan_arg_kind kind;
    int64_t integer; /* buffer index, number, or bytes of local memory */
    double real;
    int64_t bump[TUNE_PLAN_NEST]; /* added an iteration of each loop around the launch, outermost first */
};

struct tune_plan_launch {
    enum tune_plan_op op;
    int pack; /* with the weights, not with every run */
    int i_module;
    const char *kernel;
    size_t grid[3], block[3]; /* work-groups, work-items in a group */
    const struct tune_plan_arg *args;
    int n_args;
};

/* Launches first .. last run `count` times. Loops lie within one another or apart, by their first launch, the outer one
 * first. */
struct tune_plan_loop {
    int first, last;
    int64_t count;
};

/* Launches run in this order on one queue. */
struct tune_plan {
    const struct tune_plan_module *modules;
    int n_modules;
    const struct tune_plan_buffer *buffers;
    int n_buffers;
    const struct tune_plan_launch *launches;
    int n_launches;
    const struct tune_plan_loop *loops; /* one more behind the last, of count 0 */
    int n_loops;
};

#endif
