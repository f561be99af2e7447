/* SPDX-License-Identifier: MIT */
/* source.h - where the candidates of a task come from, by table: templates, a person's own kernel, a recorded space. */
#ifndef TUNE_TUNER_SOURCE_H
#define TUNE_TUNER_SOURCE_H

#include "core/blobs.h"
#include "core/err.h"
#include "core/json.h"
#include "kernels/template.h"
#include "runtime/program.h"
#include "search_space/space.h"
#include "tuner/job.h"

#include <stdbool.h>
#include <stddef.h>

struct task;
struct arm;

struct source_ops {
    /* The best measured again tell nothing new. */
    bool repeats_itself;
    /* Sets text, name and count of a task that has its device, and adds its arms (task_add_arm) with what they search,
     * but no strategies. What was added is closed by task_fini also on failure. ERR_INPUT, ERR_NOT_FOUND,
     * ERR_UNSUPPORTED with words. */
    enum err (*open)(struct task *t, const struct job *j, size_t i_layer, struct why *why);
    /* Frees what open made for one arm. */
    void (*close)(struct arm *a);
    /* What task_program does. */
    enum err (*program)(const struct task *t, const struct arm *a, const struct config *c, struct program *out,
                        struct blobs *blobs, struct why *why);
    /* The class of a config's arithmetic, and the floating-point operations that every run of it has to do (0 = nothing
     * is known). NULL, both: nothing is known of its arithmetic. */
    struct numerics (*numerics)(const struct task *t, const struct arm *a, const struct config *c);
    double (*least_flops)(const struct task *t, const struct arm *a, const struct config *c);
    /* Numbers by name that its author wants to read of a config and its time, {} = none; NULL on lack of memory, and so
     * is the member where no source has any. */
    cJSON *(*metrics)(const struct arm *a, const struct config *c, double time_ns);
};

extern const struct source_ops source_template, source_spec, source_recorded;

/* The source of a job's tasks; never NULL. */
const struct source_ops *source_of(const struct job *j);

#endif
