/* SPDX-License-Identifier: MIT */
/* tune_network_read.h - a bundle of a network, as `tune deploy` writes it, made the tables that the executor takes. */
#ifndef TUNE_LIBTUNE_TUNE_NETWORK_READ_H
#define TUNE_LIBTUNE_TUNE_NETWORK_READ_H

#include "core/hash.h"
#include "core/json.h"
#include "exec/network.h"
#include "exec/plan.h"
#include "libtune/tune.h"

#include <stddef.h>

#define NETWORK_MAX_RANK 8

/* All of it is the object's own; strings lie in the tree. */
struct network_files {
    cJSON *plans; /* plan.json */
    struct exec_network tables;
    struct exec_plan **list; /* [tables.n_plans] */
    struct exec_value *values;
    struct exec_step *steps;
    int *operands; /* of all steps */
    size_t *slots;
    struct tune_tensor *arguments; /* [tables.n_arguments] */
    struct tune_tensor *weights;   /* named "LAYER WEIGHT", as in weights.txt */
    size_t n_weights;
    char (*words)[3][160];     /* of weights: name, dtype, layout */
    struct sha256 fingerprint; /* of the device that it was tuned on */
    char device[128];          /* its name */
};

/* Reads and checks a folder: nothing in the tables leads outside of them afterwards. TUNE_NO_LOG: no bundle, or one
 * that is damaged, of a newer schema, without a network, or for another API than `api`; TUNE_UNSUPPORTED,
 * TUNE_NO_MEMORY. network_files_fini also after failure. */
enum tune_status network_files_read(const char *dir, const char *api, struct network_files *out);
void network_files_fini(struct network_files *f);

#endif
