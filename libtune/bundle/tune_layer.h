/* tune_layer.h - running tuned layers: open a device, open a layer, pack its weights once, run it. C99 over OpenCL 1.2.
 * Part of a bundle written by `tune deploy`; the bundle's own functions, one per workload, are in tune_bundle.h.
 * Not thread-safe per object: one thread at a time for a context and all of its layers. */
#ifndef TUNE_LAYER_H
#define TUNE_LAYER_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return; the numbers are fixed. */
enum tune_status {
    TUNE_OK = 0,
    TUNE_NO_MEMORY = 1,     /* on the host */
    TUNE_NO_DEVICE = 2,     /* no OpenCL device that fits */
    TUNE_BUILD_FAILED = 3,  /* the device's compiler refused a kernel: see tune_words */
    TUNE_DEVICE_FAILED = 4, /* an OpenCL call failed: see tune_words */
    TUNE_BAD_ARGUMENT = 5,  /* NULL, an unknown tensor, a wrong size */
    TUNE_NOT_PACKED = 6     /* run before the weights were given */
};

/* What a tensor is to the caller. */
enum tune_role { TUNE_INPUT, TUNE_WEIGHT, TUNE_OUTPUT, TUNE_INTERNAL };

/* A tensor of a layer: dense, in `layout` order, elements of `dtype`. */
struct tune_tensor {
    const char *name, *dtype, *layout;
    enum tune_role role;
    int n_dims;
    int64_t shape[8];
    size_t n_bytes;
};

/* One tuned layer as it stands in the bundle. */
struct tune_layer {
    const char *workload;    /* its identity: "conv2d f32 n=1 c=256 ..." */
    const char *symbol;      /* the part of its functions' names behind "tune_" */
    const char *template_id; /* "conv2d/direct_cpu" */
    int template_version;
    const char *knobs;       /* "vc=4 vw=4": the config that won */
    const char *program;     /* sha256 of the program that was measured; the bundle's text is the same */
    const char *device;      /* name of the device it was measured on */
    const char *fingerprint; /* sha256 over that device, its driver and compiler */
    const char *status, *purpose, *proposed_by; /* of the record: a tuned layer says ok */
    double flops;                               /* of one run */
    double time_ns, gflops;                     /* as measured when it was tuned */
    const struct tune_tensor *tensors;
    int n_tensors;
    const struct tune_plan *plan; /* kernels and launches; tune_plan.h */
};

/* A device with a queue; layers live in it. */
struct tune_context;

/* A layer built for a context: its kernels, buffers and packed weights. */
struct tune_op;

/* Words for a status, never NULL. */
const char *tune_status_words(enum tune_status s);

/* Opens the OpenCL device whose name equals `device_name`, or the first device when it is NULL. */
enum tune_status tune_context_open(const char *device_name, struct tune_context **out);

/* The same over the caller's own objects, which are retained; the queue must be in order. */
enum tune_status tune_context_use(cl_context context, cl_device_id device, cl_command_queue queue,
                                  struct tune_context **out);

/* Accepts NULL; close the layers first. */
void tune_context_close(struct tune_context *c);

/* Name of the device; and words on the last failure in this context ("" when there was none). Both lent. */
const char *tune_context_device(const struct tune_context *c);
const char *tune_words(const struct tune_context *c);

/* Builds the layer's kernels and allocates its buffers. Keeps `layer` and `c`. */
enum tune_status tune_op_open(struct tune_context *c, const struct tune_layer *layer, struct tune_op **out);
void tune_op_close(struct tune_op *op);

/* Copies a whole tensor to the device. A weight takes effect with the next tune_op_pack. */
enum tune_status tune_op_write(struct tune_op *op, const char *tensor, const void *data, size_t n_bytes);

/* Brings the weights into the layer's own layout: once after they were written, not for every run. Waits. */
enum tune_status tune_op_pack(struct tune_op *op);

/* Computes the outputs from the inputs on the device, and waits. */
enum tune_status tune_op_run(struct tune_op *op);

/* Copies a whole tensor to the host. */
enum tune_status tune_op_read(struct tune_op *op, const char *tensor, void *data, size_t n_bytes);

/* Lends the device buffer of a tensor, to chain layers without the host; NULL when there is no such tensor. */
cl_mem tune_op_buffer(struct tune_op *op, const char *tensor);

/* The layer's tensor of that name; NULL when there is none. */
const struct tune_tensor *tune_layer_tensor(const struct tune_layer *layer, const char *name);

#ifdef __cplusplus
}
#endif

#endif
