/* SPDX-License-Identifier: MIT */
/* load.h - a program on a device, as far as backends that run kernels do it alike: buffers with their bands, filled,
 * read and guarded, in the order of loading. What differs is a table of calls. Included by the backends only. */
#ifndef TUNE_RUNTIME_LOAD_H
#define TUNE_RUNTIME_LOAD_H

#include "core/err.h"
#include "runtime/device_checks.h"
#include "runtime/plan_of.h"

#include <stddef.h>

/* Parts of a buffer's memory. Pristine: a copy apart of what a buffer with reset_each_run starts with. */
enum load_part { PART_BUFFER, PART_BEFORE, PART_BEHIND, PART_PRISTINE };

/* A backend's struct loaded begins with it. */
struct load {
    const struct load_api *api;
    struct program program; /* own copy */
    struct exec_plan *plan; /* its launches */
    int guards, poison;     /* enum poison: in the bands; of runs */
};

struct load_api {
    size_t bytes; /* of the backend's struct loaded */
    /* What is known to be too much before anything is built. ERR_LIMITS. */
    enum err (*check)(const struct device_desc *d, const struct program *p, struct why *why);
    /* Room for its tables, and queues; `l` is zeroed behind its head. */
    enum err (*begin)(struct loaded *l, struct device *d, struct why *why);
    enum err (*build)(struct loaded *l, size_t i_module, const struct blobs *blobs, const char *cache_dir,
                      struct load_report *report, struct why *why);
    /* Memory of a buffer with bands of GUARD_BYTES, and its pristine copy where it needs one. ERR_LIMITS, ERR_DEVICE.
     */
    enum err (*make)(struct loaded *l, size_t i_buffer, struct why *why);
    /* Whole parts to and from the host; waits. */
    enum err (*put)(struct loaded *l, size_t i_buffer, enum load_part part, const void *data, struct why *why);
    enum err (*get)(struct loaded *l, size_t i_buffer, enum load_part part, void *data, struct why *why);
    /* Kernels, once modules are built and buffers there. */
    enum err (*make_launches)(struct loaded *l, struct load_report *report, struct why *why);
    void (*drop)(struct loaded *l); /* all of these, as far as they were made */
};

/* device_ops.load */
enum err load_program(const struct load_api *api, struct device *d, const struct device_desc *desc,
                      const struct program *p, const struct blobs *blobs, const char *cache_dir, struct loaded **out,
                      struct load_report *report, struct why *why);

/* Members of device_ops. */
void load_unload(struct loaded *l);
enum err load_write(struct loaded *l, int i_buffer, const void *data, struct why *why);
enum err load_read(struct loaded *l, int i_buffer, void *data, struct why *why);
enum err load_poison(struct loaded *l, int byte, struct why *why);
enum err load_check_guards(struct loaded *l, struct why *why);

/* Bytes of a part. */
size_t load_part_bytes(const struct load *l, size_t i_buffer, enum load_part part);

/* What became of making launches: `status` and words of the executor on launch i. */
enum err load_failed(const struct load *l, int i_launch, enum exec_status status, const struct exec_words *words,
                     struct why *why);

#endif
