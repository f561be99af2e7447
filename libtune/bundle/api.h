/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return; the numbers are fixed. */
enum NAME_status {
    CAPS_OK = 0,
    CAPS_NO_MEMORY = 1,     /* on the host */
    CAPS_NO_DEVICE = 2,     /* a device that lacks what the kernels need */
    CAPS_BUILD_FAILED = 3,  /* the device's compiler or driver refused a kernel */
    CAPS_DEVICE_FAILED = 4, /* a call of OpenCL or CUDA failed */
    CAPS_BAD_ARGUMENT = 5,  /* NULL, a buffer that is too small, NAME_init not called */
    CAPS_NOT_PACKED = 6,    /* weights that were not packed for this layer */
    CAPS_OTHER_DEVICE = 7   /* not the device that the kernels were tuned on */
};

/* What a tensor is to the caller. */
enum NAME_role { CAPS_INPUT, CAPS_WEIGHT, CAPS_OUTPUT };

/* A tensor of a layer: dense, in `layout` order, elements of `dtype`. */
struct NAME_tensor {
    const char *name, *dtype, *layout;
    enum NAME_role role;
    int n_dims;
    int64_t shape[8];
    size_t n_bytes;
};

/* One layer and what is known of its kernel. */
struct NAME_layer {
    const char *name;        /* the part of its functions' names behind "NAME_" */
    const char *called;      /* its name in the network; "" = the bundle has no network */
    const char *workload;    /* what it computes: "conv2d f32 n=1 c=256 ..." */
    const char *template_id; /* "conv2d/direct_tile" */
    int template_version;
    const char *knobs;   /* "vc=4 vw=4": the config */
    const char *program; /* sha256 of the program that was measured; the bundle's text is the same */
    const char *choice;  /* "record": of this very workload; "foreign": from another tuner's file, not measured by a
                            farm of tune; "nearest", "default": not measured for this workload */
    const char *status, *purpose, *proposed_by; /* of the record; "" = there is none */
    double flops;                               /* of one run */
    double time_ns, gflops;                     /* as measured when it was tuned; 0 = it was not */
    const struct NAME_tensor *tensors;
    int n_tensors;
    int i_plan; /* layers of equal workload share one plan and its kernels */
};

/* The layers of the bundle, and the device they were tuned on. */
extern const struct NAME_layer NAME_layers[CAPS_N_LAYERS];
extern const char NAME_device[], NAME_fingerprint[];
extern const int NAME_threads; /* host threads that PoCL ran kernels with: POCL_MAX_PTHREAD_COUNT; 0 = no such device */

/* The first layer of a workload's text; NULL when the bundle has no kernel for it. */
const struct NAME_layer *NAME_find(const char *workload);

/* One set of weights, packed for a layer. */
struct NAME_weights;

/* Ends it; weights are freed before. Harmless when nothing is open. */
void NAME_fini(void);

/* Words on the last failure, the compiler's log among them; "" when there was none. Lent until the next call. */
const char *NAME_words(void);
void NAME_weights_free(struct NAME_weights *weights); /* accepts NULL */
