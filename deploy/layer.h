/* SPDX-License-Identifier: MIT */
/* layer.h - a record made into a deployable layer: its program built again and held against the record. */
#ifndef TUNE_DEPLOY_LAYER_H
#define TUNE_DEPLOY_LAYER_H

#include "core/blobs.h"
#include "core/buf.h"
#include "core/err.h"
#include "libtune/choice.h"
#include "runtime/plan_of.h"
#include "logs/record.h"
#include "runtime/device_desc.h"
#include "runtime/program.h"

#include <stdbool.h>

/* Where a layer's config is from. */
enum deploy_origin {
    DEPLOY_RECORD,  /* measured by a farm, for this very workload */
    DEPLOY_FOREIGN, /* from another tuner's file: not measured by a farm */
    DEPLOY_NEAREST, /* the record of another workload */
    DEPLOY_DEFAULT, /* the template's default */
    N_DEPLOY_ORIGINS
};
const char *deploy_origin_name(enum deploy_origin o); /* "record" "foreign" "nearest" "default" */

struct deploy_layer {
    enum deploy_origin origin;
    double distance; /* DEPLOY_NEAREST: to the workload that `record` is of */
    /* The record that was asked; of DEPLOY_DEFAULT only template, knobs, program and device are filled. Its program is
     * always the one below. */
    struct record record;
    char *workload;            /* what the layer computes; of DEPLOY_NEAREST another than the record's */
    struct device_desc device; /* that the record was measured on */
    struct program program;
    struct blobs blobs; /* sources and expected values of the program */
    struct exec_plan *plan;
};

/* Builds the record's program anew through its template. Copies `r`. A record without a program hash whose protocol is
 * a foreign format is another tuner's: DEPLOY_FOREIGN. ERR_INPUT for a record that is not a tuned one (status not ok,
 * no template or another operator's, no device description, no program hash), ERR_UNSUPPORTED for a device without
 * kernels (replay), ERR_STALE when the template makes another program than the one that was measured; each in words
 * naming the workload. */
enum err deploy_layer_init(struct deploy_layer *l, const struct record *r, struct why *why);

/* From a choice for a workload without a record of its own (DEPLOY_NEAREST, DEPLOY_DEFAULT). `vectors`: with expected
 * values for test vectors, which may take seconds to compute. Errors as above. */
enum err deploy_layer_init_choice(struct deploy_layer *l, const struct choice *c, const struct workload *w,
                                  const struct device_desc *d, bool vectors, struct why *why);

/* Accepts what a failed init left. */
void deploy_layer_fini(struct deploy_layer *l);

/* A layer's knobs as people read them: "vc=4 vw=4". */
enum err deploy_layer_knobs(const struct deploy_layer *l, struct buf *out);

#endif
