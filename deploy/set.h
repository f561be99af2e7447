/* SPDX-License-Identifier: MIT */
/* set.h - what goes into a bundle: layers, the functions that call them, and what layers share. */
#ifndef TUNE_DEPLOY_SET_H
#define TUNE_DEPLOY_SET_H

#include "core/err.h"
#include "deploy/binaries.h"
#include "deploy/layer.h"
#include "deploy/names.h"

#include <stdbool.h>
#include <stddef.h>

struct deploy_network;
struct deploy_range;

/* Two functions of the bundle, for one layer of the network (or one workload). */
struct deploy_call {
    char symbol[DEPLOY_SYMBOL_BYTES]; /* "conv3_2": behind "NAME_" */
    char *called;                     /* the layer's name in the network; "" = none */
    size_t i_layer;
};

/* A module of one or more layers: equal text and options. */
struct deploy_module {
    const struct exec_module *module; /* of the first layer that has it */
    const struct blob *source;
    size_t i_text;           /* modules of equal text and other options share it */
    struct deploy_code code; /* made ahead by deploy_binaries_make; else empty */
};

struct deploy_set {
    char name[DEPLOY_NAME_BYTES], capitals[DEPLOY_NAME_BYTES];
    struct deploy_layer *layers; /* one a workload */
    size_t n_layers, cap_layers;
    struct deploy_call *calls;
    size_t n_calls, cap_calls;
    struct deploy_network *network; /* one call for all of it (deploy/network.h), owned; NULL = none */
    struct deploy_range *range;     /* the same at smaller sizes of a dimension (deploy/range.h), owned; NULL = none */
    /* Made by deploy_set_share. */
    struct deploy_module *modules;
    size_t n_modules;
    const struct blob **texts;
    size_t n_texts;
};

/* `name`: what a person or a network calls the bundle. ERR_INPUT as deploy_bundle_name. */
enum err deploy_set_init(struct deploy_set *s, const char *name, struct why *why);
void deploy_set_fini(struct deploy_set *s);

/* The layer of a workload that is there already; NULL when there is none. */
const struct deploy_layer *deploy_set_find(const struct deploy_set *s, const char *workload);

/* Takes an initialised layer (fini is the set's now, whatever is returned). ERR_NOMEM. */
enum err deploy_set_take(struct deploy_set *s, struct deploy_layer *l, struct why *why);

/* Adds functions for the layer of a workload that is in the set; `called`: its name in a network, "" = named after its
 * workload. A name that is taken gets "_2", "_3" ... behind it. ERR_NOT_FOUND: no such layer. */
enum err deploy_set_call(struct deploy_set *s, const char *called, const char *workload, struct why *why);

/* Finds out which modules and texts layers share; after the last layer. */
enum err deploy_set_share(struct deploy_set *s, struct why *why);

/* Are these kernels for CUDA? OpenCL else. */
bool deploy_set_is_cuda(const struct deploy_set *s);

/* Index among `modules` of module i of a layer. */
size_t deploy_set_module(const struct deploy_set *s, const struct deploy_layer *l, size_t i);

#endif
