/* SPDX-License-Identifier: MIT */
/* tvm.h - AutoTVM's tasks in our words: task and arguments <-> workload, entities <-> knobs, TVM's own space and index.
 * The templates of TVM 0.9's topi that one of ours answers to, one to one; docs/tvm.md. Entities are JSON as in a log:
 * [["tile_co","sp",[-1,8,4]], ...]. */
#ifndef TUNE_FORMATS_KNOBS_TVM_H
#define TUNE_FORMATS_KNOBS_TVM_H

#include "core/err.h"
#include "core/json.h"
#include "kernels/template.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tvm_task;

const struct tvm_task *tvm_task_find(const char *name); /* by TVM's name; NULL when there is none */
const char *tvm_task_name(const struct tvm_task *t);    /* "conv2d_nchw.cuda" */
const struct template *tvm_task_template(const struct tvm_task *t);

/* The task that a template's configs for `w` are written as; NULL when TVM has none. */
const struct tvm_task *tvm_task_of(const char *template_id, const struct workload *w);

/* The positional arguments of a task as a workload: ERR_INPUT names the argument and what was expected, ERR_UNSUPPORTED
 * what tune has no word for (a transposed factor, an output of another type). out_dtype float16 is acc=f16. */
enum err tvm_workload(const struct tvm_task *t, const cJSON *args, struct workload *out, struct why *why);

/* And back, as TVM 0.9 writes them; gives. ERR_UNSUPPORTED for what its task cannot say (an epilogue, a layout). */
enum err tvm_args(const struct tvm_task *t, const struct workload *w, cJSON **out, struct why *why);

/* A config of TVM's as a valid one of our template's space for `w` on `d`; gives {"co_t":8,..}. Values that come to the
 * same here become the one of them that our space has (an unrolling beyond its limit, an order of loops of one pass).
 * ERR_INPUT for an entity of an unknown kind or name, one that lacks or has too many parts, a split that does not
 * divide; ERR_UNSUPPORTED for a config outside of our space, naming the knob or the constraint. */
enum err tvm_knobs(const struct tvm_task *t, const struct workload *w, const struct device_desc *d,
                   const cJSON *entities, cJSON **out, struct why *why);

/* And back, in TVM 0.9's order with -1 for the leading part; gives. ERR_UNSUPPORTED for what TVM's space lacks: tiles
 * that do not divide, another m of Winograd's, sums in parts. */
enum err tvm_entities(const struct tvm_task *t, const struct workload *w, const cJSON *knobs, cJSON **out,
                      struct why *why);

/* TVM's index of a config, mixed radix over the candidates of its knobs in the order of `entities`, the first the least
 * significant; and the size of that space. ERR_INPUT for entities that are not in it. */
enum err tvm_index(const struct tvm_task *t, const struct workload *w, const cJSON *entities, uint64_t *index,
                   uint64_t *size, struct why *why);

/* A target ("opencl -device=mali -model=rk3399", "cuda -model=1080ti") as a device and the farm's slug for it: a
 * description from data sheets where the model is known, else what any device of that kind has (*known false).
 * ERR_UNSUPPORTED for other kinds (llvm). */
#define TVM_KEY_BYTES 64
enum err tvm_device(const char *target, struct device_desc *out, char key[TVM_KEY_BYTES], bool *known, struct why *why);

/* The target that a task's record on this device is written for: opencl -device=mali for tasks of Mali, else cuda or
 * opencl by the device's API; -model is TVM's name where it knows the device, else the farm's slug. */
void tvm_target(const struct device_desc *d, const char *task, const char *key, char *out, size_t n_out);

#endif
