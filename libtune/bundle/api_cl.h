/* SPDX-License-Identifier: MIT */

/* The devices that a context for `device` is made of, in `out` (at most `most` of them), `device` first; returns how
 * many. It is alone but for PoCL's device basic, of which POCL_DEVICES="basic basic" gives two: with a context of both
 * the bundle splits its launches between the caller's thread and one of its own, where it was built with CAPS_TEAM. */
int NAME_devices(cl_device_id device, int most, cl_device_id *out);

/* Makes the bundle ready for a device (retaining the context): once, before all else. CAPS_OTHER_DEVICE, and nothing is
 * open, when it is not the device that the kernels were tuned on: the name, platform, driver, units, threads and
 * extensions are compared. NAME_init_any takes any device; NAME_words then tells the difference, or "". */
int NAME_init(cl_context context, cl_device_id device);
int NAME_init_any(cl_context context, cl_device_id device);

/* The same as a layer's own functions below, for code that loops over NAME_layers. Weights are in device buffers or in
 * host memory, in the order of the layer's tensors of that role; `tensors` are its inputs and outputs in their order.
 * Packing reads host memory before it returns; it builds the layer's kernels when no equal layer has done so yet.
 * Both enqueue on the caller's in-order queue and do not wait for the device. */
int NAME_layer_pack(const struct NAME_layer *layer, cl_command_queue queue, const void *const *weights,
                    struct NAME_weights **out);
int NAME_layer_pack_buffers(const struct NAME_layer *layer, cl_command_queue queue, const cl_mem *weights,
                            struct NAME_weights **out);
int NAME_layer_run(const struct NAME_layer *layer, cl_command_queue queue, const cl_mem *tensors,
                   const struct NAME_weights *weights);
