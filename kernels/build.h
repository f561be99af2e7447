/* SPDX-License-Identifier: MIT */
/* build.h - helpers of the templates: spaces and programs in few lines. */
#ifndef TUNE_KERNELS_BUILD_H
#define TUNE_KERNELS_BUILD_H

#include "core/buf.h"
#include "core/err.h"
#include "kernels/template.h"

#include <stdbool.h>
#include <stdint.h>

struct build_define {
    const char *name;
    int64_t value;
};

/* A program under construction, for a template's program(). The first error is kept in `e` and later calls do nothing,
 * so a template lists its parts and never asks. The operator's tensors are there already, buffers 0 .. n-1 in the
 * operator's order. */
struct build {
    const struct workload *w;
    const struct device_desc *d;
    const struct space *s;
    const struct config *c;
    struct program *p;
    struct blobs *blobs;
    struct why *why;
    enum err e;
    int bias; /* the buffer that is added as bias in place of the workload's own; 0: none */
};

/* A knob's or quantity's value in this config. */
int64_t build_int(const struct build *b, const char *name);

const char *build_word(const struct build *b, const char *name); /* of a knob of words */

/* The index of a tensor's buffer by name ("y", "bias"); -1 when the workload has none. */
int build_tensor(const struct build *b, const char *name);

/* The type of SUM in the kernel: f32, f16 where sums are made in half, i32 for i8. */
enum dtype build_sums(const struct build *b);

/* Adds a buffer of role PACKED or SCRATCH without content and tells its index. ERR_LIMIT beyond 2^31-1 elements. */
int build_buffer(struct build *b, const char *id, enum buffer_role role, enum dtype t, int64_t n_elems);

/* Adds a module from a kernel file with its defines: every knob whose value is a number under its name in capitals
 * (vc -> VC), DT, SUM_HALF and the EPI_* of the workload, OUT_I8. */
void build_module(struct build *b, const char *name);

/* The same, with text behind the file's that was made for the workload. */
void build_module_behind(struct build *b, const char *name, const struct buf *more);

/* Defines of the module added last, up to the entry with name == NULL; or one. */
void build_defines(struct build *b, const struct build_define *list);
void build_define(struct build *b, const char *name, int64_t value);

/* Compiles the module added last for what only its architecture has, and no later one (sm_90a). */
void build_arch_specific(struct build *b);

/* Adds a launch of the module added last over buffers (`buffers` ends with -1). Its groups may not be larger than the
 * device allows: ERR_LIMIT. */
void build_launch(struct build *b, enum launch_phase phase, const char *kernel, const int64_t grid[3],
                  const int64_t block[3], const int *buffers);

/* The same for the kernel that writes the output through STORE_Y*: appends what Y_PARAMS declares (y and the epilogue's
 * tensors) to its buffers. */
void build_last_launch(struct build *b, const char *kernel, const int64_t grid[3], const int64_t block[3],
                       const int *buffers);

/* Of bytes with a zero point, in a module with gemm/fold_zero.clh: what has to be added to sums of x times w, [n_rows]
 * of n_terms products, in place of the bias; tells the buffer of AROUND_PARAM. -1 for other dtypes, which need nothing.
 */
int build_fold_zero(struct build *b, int64_t n_rows, int64_t n_terms);

struct build_named {
    const char *name;
    double value;
};
struct build_knob {
    const char *name;
    int64_t values[40]; /* ascending or in any order, ended by BUILD_END */
};
#define BUILD_END INT64_MIN

/* Constants, knobs and texts up to the entry with name (or text) NULL. Quantities: pairs {name, expression}. */
enum err build_constants(struct space *s, const struct build_named *list, struct why *why);
enum err build_knobs(struct space *s, const struct build_knob *list, struct why *why);
enum err build_quantities(struct space *s, const char *const (*list)[2], struct why *why);
enum err build_constraints(struct space *s, const char *const *list, struct why *why);

/* A knob over the divisors of n and the powers of two, up to min(n, most): one part of a split of an axis of n
 * (AutoTVM's splits are those whose product divides n; with others the last tile is not full). */
enum err build_split_knob(struct space *s, const char *name, int64_t n, int64_t most, struct why *why);

/* The same for several axes, up to the entry with name NULL. */
struct build_split {
    const char *name;
    int64_t n, most;
};
enum err build_split_knobs(struct space *s, const struct build_split *list, struct why *why);

/* Knobs over the values of their lists, and on a device that is no CPU also over the divisors of the lengths (up to two
 * of them, 0 = none) up to `most`: TVM cuts an axis into divisors only, and no list has them all. `knobs` and `axes` up
 * to the entry with name NULL, in the same order. */
struct build_axis {
    const char *name;
    int64_t lengths[2], most;
};
enum err build_knobs_or_divisors(struct space *s, const struct device_desc *d, const struct build_knob *knobs,
                                 const struct build_axis *axes, struct why *why);

/* All four, in this order, stopping at the first error. */
enum err build_space(struct space *s, const struct build_named *constants, const struct build_knob *knobs,
                     const char *const (*quantities)[2], const char *const *constraints, struct why *why);

/* Constants of the device: lanes (build_vector), max_group, max_x, max_y, max_z (build_max_side), max_local. */
enum err build_limits(struct space *s, const struct device_desc *d, struct why *why);

/* build_space, and before it build_limits. */
enum err build_space_on(const struct device_desc *d, struct space *s, const struct build_named *constants,
                        const struct build_knob *knobs, const char *const (*quantities)[2],
                        const char *const *constraints, struct why *why);

/* Sets knobs to the listed values where the space has them, else to the nearest smaller value (words: left as they
 * are). */
void build_choose(const struct space *s, const struct build_define *list, struct config *out);

/* Lowers knobs in the order of `names` (NULL-ended, again from the front) one value at a time until the config is
 * valid; ERR_NOT_FOUND when all are at their first value and it is not. */
enum err build_make_valid(const struct space *s, const char *const *names, struct config *c);

/* The same choice where what comes of it is valid; else nothing changes: false. */
bool build_choose_if_valid(const struct space *s, const struct build_define *list, struct config *c);

/* For GPUs that take one row of n of m with wg work-items: vectors of at most 4, 256 items; where that is less than 64,
 * so many rows a group that there are as many items. */
struct build_rows {
    int64_t vec, wg, rows;
};
struct build_rows build_rows_of(int64_t m, int64_t n);

/* The device's natural float vector: 16 8 4, or 1 for unknown. */
int64_t build_vector(const struct device_desc *d);

/* Work-items that a device runs in step; a group of fewer leaves lanes idle. 1 on CPUs and on Mali's Midgard (Mali-T),
 * which have their vectors within an item; by the name 4 or 8 on Bifrost and 16 on Valhall and later (Arm's GPU
 * datasheet, "warp width"); 32 elsewhere. */
int64_t build_warp(const struct device_desc *d);

/* A knob "vec": the powers of two that divide a block's lanes, themselves one. */
struct build_knob build_vectors(int64_t lanes);

/* Host threads (a CPU) or compute units that run work-groups side by side; at least 1. */
int64_t build_threads(const struct device_desc *d);

/* The work-items of a default: their number, and the cycles of a core that a whole one takes, roughly: its arithmetic,
 * and what smaller items repeat (copies of input, reading weights). */
struct build_items {
    int64_t n;
    double cycles;
    double whole; /* the share of their work that is there, where edges cut some, among whole ones; 0 = all */
};

/* Cycles until the items are done on the threads of `d`, each of which makes as many, or one less; the last thread,
 * which comes late, is waited for. Items that edges cut count as whole ones where a thread has few. With one thread the
 * sum of n * cycles. */
double build_makespan(const struct device_desc *d, struct build_items items);

/* Of an item: what the runtime takes; of one f32 weight that it reads, out of so many bytes in all: from the cache that
 * holds them. */
#define BUILD_ITEM_CYCLES 500
double build_weight_cycles(double bytes);

/* The work-items where the blocking knobs of a default have the values `v`. */
typedef struct build_items build_items_fn(const int64_t *v, const void *arg);

/* Makes the items of a default smaller where that keeps the threads of `d` busy: of all values of `knobs` (up to 4,
 * NULL-ended; their values ascend) that are at most those of the valid config `c`, takes the valid ones whose
 * items end first, larger ones where two are equal. With one thread `c` stays as it is. */
void build_spread(const struct space *s, const struct device_desc *d, const char *const *knobs, build_items_fn *items,
                  const void *arg, struct config *c);

/* Threads of a work-group and bytes of local memory that the device allows; defaults (256, 32 KiB) where it does not
 * say. */
int64_t build_max_group(const struct device_desc *d);
int64_t build_max_side(const struct device_desc *d, int axis); /* of one side of a group */
int64_t build_max_local(const struct device_desc *d);

#define CEIL(a, b) (((a) + (b)-1) / (b))

#endif
