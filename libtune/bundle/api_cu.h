/* SPDX-License-Identifier: MIT */

struct CUctx_st; /* a CUcontext is a pointer to it, a CUstream one to CUstream_st: cuda.h may be included too */
struct CUstream_st;
typedef unsigned long long NAME_mem; /* a CUdeviceptr */

/* Makes the bundle ready for a CUDA context; NULL: the one that is current in this thread. Once, before all else.
 * CAPS_OTHER_DEVICE, and nothing is open, when it is not of the device that the kernels were tuned on: name,
 * architecture, units, versions of CUDA and (where the system tells it) of the driver are compared. NAME_init_any takes
 * any device; NAME_words then tells the difference, or "". Without a driver: CAPS_NO_DEVICE. */
int NAME_init(struct CUctx_st *context);
int NAME_init_any(struct CUctx_st *context);

/* The same as a layer's own functions below, for code that loops over NAME_layers. Weights are in host memory, which is
 * read before the call returns, or in device memory that has to stay until the packed weights are freed; in the order
 * of the layer's tensors of that role. `tensors` are its inputs and outputs in their order. Packing loads the layer's
 * kernels when no equal layer has done so yet, and waits; runs do not wait, and may be captured into graphs after every
 * layer has been packed. `stream` NULL: the default one. */
int NAME_layer_pack(const struct NAME_layer *layer, struct CUstream_st *stream, const void *const *weights,
                    struct NAME_weights **out);
int NAME_layer_pack_buffers(const struct NAME_layer *layer, struct CUstream_st *stream, const NAME_mem *weights,
                            struct NAME_weights **out);
int NAME_layer_run(const struct NAME_layer *layer, struct CUstream_st *stream, const NAME_mem *tensors,
                   const struct NAME_weights *weights);
