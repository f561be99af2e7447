/* SPDX-License-Identifier: MIT */
/* by_step.h - a network carried out on a device from host memory, one step after the other, so that every tensor of it
 * can be looked at: each kernel is its template's default, nothing is measured. */
#ifndef TUNE_DEPLOY_BY_STEP_H
#define TUNE_DEPLOY_BY_STEP_H

#include "core/buf.h"
#include "core/err.h"
#include "kernels/graph.h"

#include <stdbool.h>

struct by_step;

/* Lowers a graph of f32 (bytes in it stay bytes), builds the kernels of all steps on a device ("opencl:0.1") and packs
 * weights: bytes and a list of them as weights.bin and weights.txt (docs/networks.md). Keeps `g`. ERR_INPUT: weights
 * that are not the graph's; ERR_NOT_FOUND, ERR_DEVICE, ERR_COMPILE, ERR_LIMITS, ERR_NOMEM, in words with the step. */
enum err by_step_open(const struct graph *g, const char *device, const struct buf *bytes, const struct buf *list,
                      struct by_step **out, struct why *why);
void by_step_close(struct by_step *r); /* accepts NULL */

/* Carries all steps out. inputs: of each input of the graph, in the order of the nodes, all elements, images in nchw.
 * ERR_DEVICE, ERR_LIMITS. */
enum err by_step_run(struct by_step *r, const float *const *inputs, struct why *why);

/* What node `i_node` gave in the last run into room for all its elements, images in nchw; bytes as numbers from 0 to
 * 255. A node of constants gives nothing: false. */
bool by_step_read(const struct by_step *r, int i_node, float *out);

#endif
