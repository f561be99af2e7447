/* deploy_layer.h - a best record made into a deployable layer: its program built again and held against the record. */
#ifndef TUNE_TUNER_DEPLOY_LAYER_H
#define TUNE_TUNER_DEPLOY_LAYER_H

#include "core/blobs.h"
#include "logs/record.h"
#include "runtime/device_desc.h"
#include "runtime/program.h"

#define DEPLOY_SYMBOL_BYTES 256

struct deploy_layer {
    struct record record;
    struct device_desc device; /* that the record was measured on */
    struct program program;
    struct blobs blobs;               /* sources and expected values of the program */
    char symbol[DEPLOY_SYMBOL_BYTES]; /* workload as a C identifier: "dense_f32_m64_n2048_k512" */
};

/* Builds the record's program anew through its template. Copies `r`. ERR_INPUT for a record that is not a tuned one
 * (status not ok, no template, no device description), ERR_UNSUPPORTED for a device without kernels (replay), ERR_STALE
 * when the template makes another program than the one that was measured; each in words naming the workload. */
enum err deploy_layer_init(struct deploy_layer *l, const struct record *r, struct why *why);

/* Accepts what a failed init left. */
void deploy_layer_fini(struct deploy_layer *l);

/* Writes a workload's text as a C identifier: other characters than letters and digits become '_', '=' goes away.
 * ERR_LIMIT. */
enum err deploy_symbol(const char *workload, char *out, size_t n_out);

#endif
