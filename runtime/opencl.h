/* SPDX-License-Identifier: MIT */
/* opencl.h - what the files of the OpenCL backend share. Nobody else includes this. */
#ifndef TUNE_RUNTIME_OPENCL_H
#define TUNE_RUNTIME_OPENCL_H

#include "core/buf.h"
#include "core/err.h"
#include "exec/cl_calls.h"
#include "exec/team_cl.h"
#include "runtime/device.h"

#include <stdbool.h>
#include <stddef.h>

struct device {
    cl_platform_id platform;
    cl_device_id id;
    cl_context context;
    struct exec_cl_team *team; /* NULL but where the platform has several devices `basic` */
    struct device_desc desc;
    bool pocl;         /* keeps its own cache of binaries in POCL_CACHE_DIR */
    cl_program poison; /* built when local memory is poisoned first; NULL */
    cl_mem arrived;    /* a whole number for it */
    bool poison_tried;
};

/* Loads the OpenCL library, once a process. ERR_NOT_FOUND, naming what is missing. */
enum err opencl_api_load(struct why *why);

/* "CL_OUT_OF_RESOURCES" or "CL error -123". */
const char *opencl_error_name(cl_int error);

/* `e` with the call's and the error's names. */
enum err opencl_failed(struct why *why, enum err e, const char *call, cl_int error);

/* Finds device "p.d" ("" = 0.0); ERR_NOT_FOUND, ERR_INPUT. */
enum err opencl_pick(const char *selector, cl_platform_id *platform, cl_device_id *device, struct why *why);

/* Facts of a device; what a driver does not tell stays empty or zero. */
void opencl_describe(cl_platform_id platform, cl_device_id device, struct device_desc *out);

/* Fills `dots` of a described device: instructions that no extension names are tried once a process. */
void opencl_probe_dots(cl_context context, cl_device_id device, struct device_desc *d);

enum err opencl_list(bool (*each)(const char *selector, const struct device_desc *d, void *arg), void *arg,
                     struct why *why);

/* ---- opencl_poison.c ---- */

/* Enqueues a kernel that leaves n bytes of each unit's local memory filled with `byte`, on the queue, n a multiple of
 * 4. A device that cannot build it goes without. */
cl_int opencl_poison_local(struct device *d, cl_command_queue queue, size_t n, int byte);
void opencl_poison_close(struct device *d);

/* Builds one module of `p`: gives a program. build_cached and log are updated; ERR_COMPILE with the log's first error.
 */
enum err opencl_build(struct device *d, const struct program_module *m, const struct program *p,
                      const struct blobs *blobs, const char *cache_dir, cl_program *out, struct load_report *report,
                      struct why *why);

/* Appends the binary of a program built for one device. ERR_UNSUPPORTED: the driver has none to give; ERR_LIMIT,
 * ERR_DEVICE. */
enum err opencl_take_binary(cl_program program, struct buf *out, struct why *why);

#endif
