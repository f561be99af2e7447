/* SPDX-License-Identifier: MIT */
/* source_spec.c - one arm: the configs of a person's own kernel, of job.spec with all its files. */
#include "core/err.h"
#include "core/json.h"
#include "kernels/spec/spec.h"
#include "tuner/source.h"
#include "tuner/task.h"

#include <string.h>

static enum err open(struct task *t, const struct job *j, size_t i_layer, struct why *why)
{
    struct arm *a = task_add_arm(t, &source_spec, "", 0);
    enum err e = spec_open(j->spec, strlen(j->spec), &j->spec_files, &a->of.spec, why);

    (void)i_layer;
    if (!e)
        e = spec_fits(a->of.spec, &t->device, why);
    if (e)
        return e;
    a->space = spec_space(a->of.spec);
    a->version = spec_version(a->of.spec);
    a->has_fallback = spec_default(a->of.spec, &a->fallback);
    return task_set_text(t, spec_workload(a->of.spec), "", 1, why);
}

static void close(struct arm *a)
{
    spec_free(a->of.spec);
}

static enum err program(const struct task *t, const struct arm *a, const struct config *c, struct program *out,
                        struct blobs *blobs, struct why *why)
{
    (void)t;
    return spec_program(a->of.spec, c, out, blobs, why);
}

static cJSON *metrics(const struct arm *a, const struct config *c, double time_ns)
{
    return spec_metrics(a->of.spec, c, time_ns);
}

const struct source_ops source_spec = {.open = open, .close = close, .program = program, .metrics = metrics};
