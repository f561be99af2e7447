/* SPDX-License-Identifier: MIT */
/* binaries.h - code made ahead that goes into a bundle beside the texts: program binaries of an OpenCL device,
 * PTX and cubins for CUDA. */
#ifndef TUNE_DEPLOY_BINARIES_H
#define TUNE_DEPLOY_BINARIES_H

#include "core/buf.h"
#include "core/err.h"
#include "core/hash.h"
#include "exec/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define DEPLOY_MAX_SMS 16

struct deploy_set;

/* What --binaries asks for. */
struct deploy_ahead {
    bool device;             /* of the device that the records are of: it must be here for OpenCL */
    int sms[DEPLOY_MAX_SMS]; /* cubins for these architectures */
    size_t n_sms;
};

/* Parses "device,sm_61,sm_75"; NULL = nothing. ERR_INPUT with words. */
enum err deploy_ahead_parse(const char *text, struct deploy_ahead *out, struct why *why);

/* Code of one module. The caller's memory, zeroed; fini accepts half-made ones. */
struct deploy_code {
    struct exec_binary *list; /* target and bytes are owned; "sm_61", "compute_61" or a fingerprint */
    size_t n, cap;
};
void deploy_code_fini(struct deploy_code *c);

/* Appends copies. ERR_NOMEM. */
enum err deploy_code_add(struct deploy_code *c, const char *target, const void *bytes, size_t n_bytes);

/* Ending of the file that a binary is kept in: "ptx", "cubin", "bin". */
const char *deploy_code_ending(const struct exec_binary *b);

/* How binaries are made. */
struct deploy_makers {
    const char *device; /* "opencl:0.0": where OpenCL binaries are made */
    const char *nvrtc;  /* libnvrtc or its folder; NULL = found */
};

/* Makes the code of every module of a set whose modules are shared (deploy_set_share), replacing what was there: for
 * CUDA always PTX for the records' device, and cubins as asked; for OpenCL, where `device` is asked for, program
 * binaries after one run of each layer on that device. ERR_NOT_FOUND: no NVRTC, no device; ERR_UNSUPPORTED: the
 * compiler knows an architecture not, the driver gives no binaries, cubins of OpenCL texts; ERR_INPUT: another device
 * than that of the records; ERR_COMPILE and errors of devices; all with words. */
enum err deploy_binaries_make(struct deploy_set *s, const struct deploy_ahead *w, const struct deploy_makers *m,
                              struct why *why);

#endif
