/* SPDX-License-Identifier: MIT */
/* common.h - what the executors of plans share: words, which memory a buffer lives in, launches in their order. */
#ifndef TUNE_EXEC_COMMON_H
#define TUNE_EXEC_COMMON_H

#include "exec/plan.h"

/* Sets the words (may be NULL) and gives the status back. */
EXEC_API enum exec_status exec_fail(struct exec_words *words, enum exec_status s, const char *format, ...);

/* Which memory a buffer of a plan lives in. */
enum exec_place {
    EXEC_NOWHERE,    /* no launch uses it */
    EXEC_TENSOR,     /* the caller's: `index` among the weights, or among inputs and outputs */
    EXEC_OF_OP,      /* lives as long as the op: filled once, or a state */
    EXEC_OF_WEIGHTS, /* written while weights are packed, read by runs: each set has its own */
    EXEC_OF_SESSION  /* scratch: slot `index` of the session's arena, for the time of one pack or run */
};

struct exec_spot {
    enum exec_place place;
    int index;
    int in_pack, in_run; /* launches of this phase use it */
};

struct exec_layout {
    struct exec_spot *spots; /* one a buffer */
    int n_weights, n_tensors, n_slots;
    int64_t n_run, n_pack; /* launches of each phase, each as often as its loops repeat it */
};

/* EXEC_NO_MEMORY. `out` is freed by exec_layout_fini, which accepts a zeroed one. */
EXEC_API enum exec_status exec_layout_init(const struct exec_plan *plan, struct exec_layout *out);
EXEC_API void exec_layout_fini(struct exec_layout *l);

/* Calls `each` for every launch of one phase in order, as often as its loops repeat it; iteration: [EXEC_NEST] of the
 * loops around it, outermost first, the rest 0. Stops at the first status but EXEC_OK. */
EXEC_API enum exec_status exec_walk(const struct exec_plan *plan, int pack,
                                    enum exec_status (*each)(int i_launch, const int64_t *iteration, void *arg),
                                    void *arg);

/* FNV-1a of 64 bits. Is code as it was when it was made? */
EXEC_API uint64_t exec_sum(const unsigned char *bytes, size_t n_bytes);
EXEC_API int exec_is_whole(const struct exec_binary *b);

/* A whole number's value in an iteration; does it change at all? */
EXEC_API int64_t exec_arg_value(const struct exec_arg *a, const int64_t *iteration);
EXEC_API int exec_arg_bumps(const struct exec_arg *a);

#endif
