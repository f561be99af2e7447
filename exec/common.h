/* SPDX-License-Identifier: MIT */
/* common.h - what the executors of plans share: words, which memory a buffer lives in, launches in their order. */
#ifndef TUNE_EXEC_COMMON_H
#define TUNE_EXEC_COMMON_H

#include "exec/device.h"
#include "exec/plan.h"

#include <stddef.h>
#include <stdint.h>

/* Sets the words (may be NULL) and gives the status back. */
EXEC_API enum exec_status exec_fail(struct exec_words *words, enum exec_status s, const char *format, ...);

/* Of a device that differs from the one that kernels were tuned on; EXEC_OK where a text is the same. known: is enough
 * known of that one to tell? */
EXEC_API enum exec_status exec_same(const struct exec_device *tuned, const char *what, const char *here,
                                    const char *there, struct exec_words *words);
EXEC_API enum exec_status exec_known(const struct exec_device *tuned, struct exec_words *words);

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
};

/* EXEC_NO_MEMORY. `out` is freed by exec_layout_fini, which accepts a zeroed one. */
EXEC_API enum exec_status exec_layout_init(const struct exec_plan *plan, struct exec_layout *out);
EXEC_API void exec_layout_fini(struct exec_layout *l);

/* Is the content of a buffer put anew before this phase, since others have had its memory or its runs change it? */
EXEC_API int exec_is_filled(const struct exec_plan *plan, const struct exec_layout *l, int i, enum exec_phase phase);

/* Calls `each` for every launch of one phase in order, as often as its loops repeat it; iteration: [EXEC_NEST] of the
 * loops around it, outermost first, the rest 0. Stops at the first that gives something else than 0, and gives it. */
EXEC_API int exec_walk(const struct exec_plan *plan, enum exec_phase phase,
                       int (*each)(int i_launch, const int64_t *iteration, void *arg), void *arg);
/* How many times that is. */
EXEC_API int64_t exec_count(const struct exec_plan *plan, enum exec_phase phase);

/* The queues of a plan's launches as bits; 1 = only the first. */
EXEC_API unsigned exec_queues(const struct exec_plan *plan);
/* out: [n_launches]: 1 where some launch waits for this one, one of another queue where `others` says so; else 0. */
EXEC_API void exec_mark_awaited(const struct exec_plan *plan, int others, char *out);

/* FNV-1a of 64 bits. Is code as it was when it was made? */
EXEC_API uint64_t exec_sum(const unsigned char *bytes, size_t n_bytes);
EXEC_API int exec_is_whole(const struct exec_binary *b);

/* Does a number change with the iteration at all? */
EXEC_API int exec_arg_bumps(const struct exec_arg *a);

/* A number's bytes as kernels take them, and how many those are; 0 for buffers and local memory, which are the API's.
 */
union exec_number {
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    float f32;
    double f64;
    uint8_t b8;
    uint16_t b16;
    unsigned long long address; /* of a buffer, CUDA */
};
EXEC_API size_t exec_arg_pack(const struct exec_arg *a, const int64_t *iteration, union exec_number *out);

/* The element that a fill sets; gives its bytes. */
EXEC_API size_t exec_fill_element(const struct exec_launch *fill, unsigned char out[8]);

#endif
