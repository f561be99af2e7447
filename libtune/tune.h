/* SPDX-License-Identifier: MIT */
/* tune.h - the public face of libtune: fast kernels for deep-learning layers, out of a log that `tune run` has written.
 *
 * The habit is FFTW's: open a log, make a plan for a workload, execute it as often as you like, destroy it.
 *
 *     struct tune *t;
 *     struct tune_plan *plan;
 *     struct tune_weights *weights;
 *
 *     tune_open_cl("resnet.best.jsonl", context, device, NULL, &t);
 *     tune_plan_make(t, "dense f32 m=1 n=1000 k=512", 0, &plan);
 *     tune_pack_cl(plan, queue, &w, 1, &weights);                        once
 *     tune_execute_cl(plan, queue, (cl_mem[]){x, y}, 2, weights);        enqueued, not waited for
 *     clFinish(queue);
 *     tune_weights_free(weights); tune_plan_destroy(plan); tune_close(t);
 *
 * A workload is one line of text: operator, dtype, sizes (docs/operators.md). Which kernel is run: that of the
 * workload's own record; without one that of the nearest recorded workload of the same operator, dtype and device whose
 * kernel can do these sizes; else a template's default. tune_plan_about tells which, tune_missing what was not in the
 * log.
 *
 * Errors. What can fail returns a tune_status; out-parameters are untouched when it is not TUNE_OK. tune_words gives
 * one line of words for the calling thread's last failure. Nothing is ever printed. Ownership. An object that a
 * function gives through an out-parameter is freed with the function named there; plans keep their library alive,
 * weights their plan: they may be freed in any order. Strings that are lent live as long as the object they were asked
 * of. Threads. Every function may be called from several threads at once, also with the same object, but an object must
 * not be freed while another call uses it. Calls that reach one device take their turns within a `struct tune`:
 * executing only enqueues and holds the others up for microseconds, making a plan holds them up for as long as the
 * device's compiler takes. Runs of one `struct tune` share scratch memory: on different queues or streams they wait for
 * one another on the device. Make two (tune_open_..) where runs must overlap.
 *
 * Structs. The first member of each is `size`, which the caller sets before a call:
 *
 *     struct tune_info info = {.size = sizeof info};
 *
 * By it applications and libraries of different versions understand each other while the library keeps its soname:
 * members are only added at a struct's end; what an older application has no place for is not written, what an older
 * library does not know is 0. A size that cannot be one is TUNE_BAD_ARGUMENT.
 *
 * C99 and C++11. No other header is needed: OpenCL's and CUDA's handles are pointers to the structs named below. */
#ifndef TUNE_H
#define TUNE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TUNE_API __attribute__((visibility("default")))
#else
#define TUNE_API
#endif

struct _cl_context;       /* cl_context       = struct _cl_context * */
struct _cl_device_id;     /* cl_device_id     = struct _cl_device_id * */
struct _cl_command_queue; /* cl_command_queue = struct _cl_command_queue * */
struct _cl_mem;           /* cl_mem           = struct _cl_mem * */
struct CUctx_st;          /* CUcontext        = struct CUctx_st * */
struct CUstream_st;       /* CUstream         = struct CUstream_st * */

/* Numbers are fixed for ever. */
enum tune_status {
    TUNE_OK = 0,
    TUNE_NO_MEMORY = 1,     /* of the host */
    TUNE_NO_DEVICE = 2,     /* no driver, or a device that lacks what the kernels need */
    TUNE_BUILD_FAILED = 3,  /* the compiler refused a kernel, or there is no compiler */
    TUNE_DEVICE_FAILED = 4, /* a call of OpenCL or CUDA failed */
    TUNE_BAD_ARGUMENT = 5,  /* NULL, a wrong count, a buffer too small, a plan of the other API */
    TUNE_NOT_PACKED = 6,    /* executed without weights, or with those of another plan */
    TUNE_OTHER_DEVICE = 7,  /* the log was measured on another device */
    TUNE_NO_LOG = 8,        /* the log cannot be read */
    TUNE_NO_RECORD = 9,     /* the log has no good record at all, or none of the workload where one was demanded */
    TUNE_BAD_WORKLOAD = 10, /* the workload's text: words name the key and what was expected */
    TUNE_UNSUPPORTED = 11,  /* no template computes the workload on this device */
    TUNE_CANNOT_WRITE = 12  /* a file could not be written */
};

/* Lends fixed words, e.g. "out of memory"; "unknown status" for other numbers. */
TUNE_API const char *tune_status_words(enum tune_status status);

/* Lends one line about the last failure of a libtune call in the calling thread, until the thread's next failure; ""
 * when there was none. */
TUNE_API const char *tune_words(void);

/* Lends the version of the library, e.g. "0.2.0". */
TUNE_API const char *tune_version(void);

/* ---- opening ---- */

/* An open log on an open device. */
struct tune;

/* All members but the size may be 0. One that is not 0 and that the library does not know is refused. */
struct tune_options {
    size_t size;             /* sizeof(struct tune_options) */
    const char *key;         /* only records of this device key, e.g. "rk3399-mali"; NULL = any */
    const char *fingerprint; /* only records of the device whose fingerprint begins so; NULL = this very device */
    int any_device; /* not 0: records of another device are taken too; what they say of speed is a guess then */
    int threads;    /* a CPU under PoCL: its host threads, where they were set by other means than
                     * POCL_MAX_PTHREAD_COUNT; 0 = ask. They are part of a device's fingerprint. */
};

/* Opens a log for a device of the caller's OpenCL context (1.2 or newer); both are retained until the last object made
 * from it is freed. `log`: a file of `tune run -o` (its .best.jsonl is read faster), or NULL for none: every plan is
 * then a default. `options` may be NULL. Damaged lines are skipped and counted (tune_about). Reads and checks the whole
 * log; may build and run one small kernel to learn what the device can do.
 * TUNE_NO_LOG, TUNE_NO_RECORD, TUNE_OTHER_DEVICE (unless any_device), TUNE_NO_DEVICE, TUNE_BAD_ARGUMENT,
 * TUNE_NO_MEMORY. Gives *out: tune_close. */
TUNE_API enum tune_status tune_open_cl(const char *log, struct _cl_context *context, struct _cl_device_id *device,
                                       const struct tune_options *options, struct tune **out);

/* The same for a CUDA context, NULL = the calling thread's current one; it must outlive all objects made from it. The
 * CUDA driver and NVRTC (which makes the code, when plans are made) are loaded at run time; the environment's
 * TUNE_NVRTC names another NVRTC than the newest found. */
TUNE_API enum tune_status tune_open_cuda(const char *log, struct CUctx_st *context, const struct tune_options *options,
                                         struct tune **out);

/* Accepts NULL. Memory and device objects go when the last plan and weights made from it are freed too. */
TUNE_API void tune_close(struct tune *t);

struct tune_info {
    size_t size;                 /* sizeof(struct tune_info) */
    const char *api;             /* "opencl", "cuda" */
    const char *device;          /* its name, as the driver tells it */
    const char *fingerprint;     /* 64 hex digits: this device, driver and number of units */
    const char *log_key;         /* the device key that the records have; "" without records */
    const char *log_fingerprint; /* of the device that they were measured on; "" without records */
    size_t n_records;            /* workloads that the log answers */
    size_t n_left_out;     /* best records that do not: of templates that are not known here or have changed since */
    long long n_bad_lines; /* damaged, foreign, or of a newer schema */
    const char *bad_line;  /* the first of them: "x.jsonl:12: words"; "" = none */
};

/* Lends strings in *out as long as `t` lives. TUNE_BAD_ARGUMENT: NULL, no size. */
TUNE_API enum tune_status tune_about(const struct tune *t, struct tune_info *out);

/* ---- plans ---- */

/* How a workload is computed on the device, its kernels built. */
struct tune_plan;

enum tune_flags {
    TUNE_RECORDED =
        1 /* only with the workload's own record; without one: TUNE_NO_RECORD. Nothing is noted as missing */
};

/* Chooses a config for the workload, renders and builds its kernels (equal ones once for a `struct tune`): milliseconds
 * to seconds. `flags`: 0 or a sum of tune_flags. What has no record of its own is noted (tune_missing).
 * TUNE_BAD_WORKLOAD, TUNE_UNSUPPORTED, TUNE_NO_RECORD, TUNE_BUILD_FAILED, TUNE_NO_DEVICE, TUNE_DEVICE_FAILED,
 * TUNE_BAD_ARGUMENT, TUNE_NO_MEMORY. Gives *out: tune_plan_destroy. */
TUNE_API enum tune_status tune_plan_make(struct tune *t, const char *workload, unsigned flags, struct tune_plan **out);

/* Accepts NULL. Does not wait: what is enqueued already runs to its end. */
TUNE_API void tune_plan_destroy(struct tune_plan *plan);

enum tune_choice {
    TUNE_EXACT = 0,   /* the workload's own record */
    TUNE_NEAREST = 1, /* the record of another size */
    TUNE_DEFAULT = 2  /* no record: the template's default */
};

struct tune_plan_info {
    size_t size;          /* sizeof(struct tune_plan_info) */
    const char *workload; /* in canonical text */
    enum tune_choice choice;
    const char *recorded; /* the record's workload; "" for a default */
    double distance;      /* of that workload: 0 = the same sizes, 1 = one size twice as large; a default: infinity */
    const char *template_id; /* "conv2d/direct_tile" */
    const char *knobs;       /* "vc=4 vw=4 unroll=1" */
    double time_ns;          /* expected of one run: measured (exact), scaled by FLOPs (nearest), NAN (default) */
    double flops;            /* of one run */
    double bytes;            /* inputs, weights and outputs once */
    size_t n_weights;        /* tensors that tune_pack_.. takes */
    size_t n_tensors;        /* inputs and outputs, that tune_execute_.. takes */
};

/* Lends strings in *out as long as the plan lives. TUNE_BAD_ARGUMENT: NULL, no size. */
TUNE_API enum tune_status tune_plan_about(const struct tune_plan *plan, struct tune_plan_info *out);

enum tune_role { TUNE_INPUT = 0, TUNE_WEIGHT = 1, TUNE_OUTPUT = 2 };

struct tune_tensor {
    size_t size;      /* sizeof(struct tune_tensor) */
    const char *name; /* "x" "w" "y" "bias" .. */
    enum tune_role role;
    const char *dtype;  /* "f32" "f16" "bf16" "i8" "i32" .. */
    const char *layout; /* "nchw", "nchw4c", "kcrs", "nk"; "" = rows */
    int n_dims;
    long long shape[8]; /* elements in each dimension, the last one contiguous */
    unsigned long long n_elems, n_bytes;
};

/* Tensor `i` of the inputs and outputs (is_weight 0: n_tensors of them, in the order that tune_execute_.. takes), or of
 * the weights (is_weight not 0: n_weights, in the order of tune_pack_..). Lends strings as long as the plan lives.
 * TUNE_BAD_ARGUMENT: NULL, no size, or no such tensor. */
TUNE_API enum tune_status tune_plan_tensor(const struct tune_plan *plan, int is_weight, size_t i,
                                           struct tune_tensor *out);

/* ---- weights ---- */

/* One set of weights in the form that a plan's kernels read; a plan may have many, one for each layer of equal sizes.
 */
struct tune_weights;

/* Packs: `weights` has the buffers of the plan's weights, in their order and layouts, each at least n_bytes large; n
 * must be n_weights. Enqueues on the caller's in-order queue, does not wait. The buffers are retained where runs read
 * them unpacked: their content must not change then. TUNE_BAD_ARGUMENT, TUNE_DEVICE_FAILED, TUNE_NO_MEMORY. Gives *out:
 * tune_weights_free. */
TUNE_API enum tune_status tune_pack_cl(struct tune_plan *plan, struct _cl_command_queue *queue,
                                       struct _cl_mem *const *weights, size_t n, struct tune_weights **out);

/* The same on a stream of the context, with device addresses (CUdeviceptr). The memory must outlive the result where
 * runs read it unpacked. */
TUNE_API enum tune_status tune_pack_cuda(struct tune_plan *plan, struct CUstream_st *stream,
                                         const unsigned long long *weights, size_t n, struct tune_weights **out);

/* Accepts NULL. Does not wait for runs that are enqueued. */
TUNE_API void tune_weights_free(struct tune_weights *weights);

/* ---- executing ---- */

/* Enqueues one run on the caller's in-order queue of the context; does not wait. `tensors`: the buffers of the plan's
 * inputs and outputs in their order, each at least n_bytes large; n must be n_tensors. `weights`: of this plan, NULL
 * for a plan without weights. TUNE_BAD_ARGUMENT, TUNE_NOT_PACKED, TUNE_DEVICE_FAILED, TUNE_NO_MEMORY. */
TUNE_API enum tune_status tune_execute_cl(struct tune_plan *plan, struct _cl_command_queue *queue,
                                          struct _cl_mem *const *tensors, size_t n, const struct tune_weights *weights);

/* The same on a stream (NULL = the default stream), with device addresses. May be captured into a graph. */
TUNE_API enum tune_status tune_execute_cuda(struct tune_plan *plan, struct CUstream_st *stream,
                                            const unsigned long long *tensors, size_t n,
                                            const struct tune_weights *weights);

/* ---- what was missing ---- */

/* Writes one line, without newline, about the workloads that plans were made for and that have no record of their own,
 * into text[n_bytes], cut where it is too long; "" when there are none. `text` may be NULL when n_bytes is 0. Returns
 * how many such workloads there are, each counted once; 0 also for NULL. */
TUNE_API size_t tune_missing(const struct tune *t, char *text, size_t n_bytes);

/* Writes their list to a file, which `tune submit --missing FILE` makes a job of: a line each, with what was run
 * instead behind a '#'. Beside the file first, then renamed; an older list is replaced. TUNE_CANNOT_WRITE,
 * TUNE_BAD_ARGUMENT, TUNE_NO_MEMORY. */
TUNE_API enum tune_status tune_missing_write(const struct tune *t, const char *path);

/* ---- whole networks ---- */

/* A network out of the folder that `tune deploy --network` has written, its kernels built. */
struct tune_network;

/* Opens such a bundle for a device of the caller's OpenCL context, which is retained; nothing of the folder is read
 * later. Builds the kernels: seconds, where the driver has not met them before. `options` may be NULL; key and
 * fingerprint are for logs. TUNE_NO_LOG: no bundle, a damaged one, or one of single layers; TUNE_OTHER_DEVICE (unless
 * any_device), TUNE_BUILD_FAILED, TUNE_NO_DEVICE, TUNE_DEVICE_FAILED, TUNE_BAD_ARGUMENT, TUNE_NO_MEMORY. Gives *out:
 * tune_network_close. */
TUNE_API enum tune_status tune_network_open_cl(const char *folder, struct _cl_context *context,
                                               struct _cl_device_id *device, const struct tune_options *options,
                                               struct tune_network **out);

/* Accepts NULL. Runs that are enqueued must have ended. */
TUNE_API void tune_network_close(struct tune_network *network);

struct tune_network_info {
    size_t size; /* sizeof(struct tune_network_info) */
    const char *name;
    const char *device;           /* that it was tuned on */
    size_t n_inputs, n_arguments; /* inputs; inputs and outputs */
    size_t n_weights;             /* tensors */
    size_t n_steps;               /* kernels of workloads, one behind the other */
    double time_ns;               /* the sum of the steps' recorded times */
};

/* Lends strings in *out as long as the network lives. TUNE_BAD_ARGUMENT: NULL, no size. */
TUNE_API enum tune_status tune_network_about(const struct tune_network *network, struct tune_network_info *out);

/* Tensor `i` of the inputs and then outputs (is_weight 0: n_arguments), in the order of tune_network_run_cl, dense,
 * images in nchw; or of the weights (is_weight not 0: n_weights), named "LAYER WEIGHT". Lends strings as long as the
 * network lives. TUNE_BAD_ARGUMENT: NULL, no size, or no such tensor. */
TUNE_API enum tune_status tune_network_tensor(const struct tune_network *network, int is_weight, size_t i,
                                              struct tune_tensor *out);

/* Gives one tensor of weights from host memory, which may be reused at once. A layer is packed when its last one is
 * given; to change weights give all of the layer's again. TUNE_BAD_ARGUMENT: no such layer or tensor, another size. */
TUNE_API enum tune_status tune_network_set_cl(struct tune_network *network, struct _cl_command_queue *queue,
                                              const char *layer, const char *name, const void *data, size_t n_bytes);

/* Gives all that stand in weights.txt of a folder, as `tune import` writes it: a line a tensor, layer, name, offset and
 * bytes in its weights.bin. TUNE_BAD_ARGUMENT: a file that cannot be read, or as of tune_network_set_cl. */
TUNE_API enum tune_status tune_network_load_cl(struct tune_network *network, struct _cl_command_queue *queue,
                                               const char *folder);

/* Enqueues the whole network on the caller's in-order queue; does not wait. `arguments`: the buffers of inputs and
 * outputs, each at least n_bytes large; n must be n_arguments. Several threads may call it with queues and buffers of
 * their own: runs of one network wait for one another on the device. TUNE_NOT_PACKED names a layer whose weights are
 * missing; TUNE_BAD_ARGUMENT, TUNE_DEVICE_FAILED, TUNE_NO_MEMORY. */
TUNE_API enum tune_status tune_network_run_cl(struct tune_network *network, struct _cl_command_queue *queue,
                                              struct _cl_mem *const *arguments, size_t n);

#ifdef __cplusplus
}
#endif

#endif
