/* SPDX-License-Identifier: MIT */
/* calibrate.h - an imported model of floats quantised by what it computes of given inputs. */
#ifndef TUNE_CLI_CALIBRATE_H
#define TUNE_CLI_CALIBRATE_H

#include "core/buf.h"
#include "core/err.h"
#include "onnx/import.h"

#include <stddef.h>

struct calibration {
    const char
        *inputs; /* a .npz file: of each input of the model one run behind the other, along the first dimension */
    const char *device;      /* that computes both networks: "opencl:0.1" */
    const char *const *keep; /* layers that stay floats: names, "first", "last" */
    size_t n_keep;
    double percentile; /* of each tensor's numbers that its range holds, as many are cut off at both ends: 50 to 100 */
};

/* Runs the network of floats over all inputs, quantises `m` by the ranges that its tensors had, runs that as well and
 * appends a report: each output beside that of floats, and the layers that are off most. ERR_INPUT: inputs that are not
 * the model's, of another shape, or not finite; errors of by_step (deploy/by_step.h) and onnx_quantise. */
enum err calibrate(struct onnx_import *m, const struct calibration *c, struct buf *report, struct why *why);

#endif
