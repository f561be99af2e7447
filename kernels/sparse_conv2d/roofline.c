/* SPDX-License-Identifier: MIT */
/* The roofline of generated sparse kernels as quantities of the space: features of the cost model, and what is printed
 * beside a measured time. A work-item computes k_t channels at one place; an input is loaded when one of its k_t
 * weights is not zero, with probability 1 - p^k_t: formula (1) of the sparse paper, with what x_r * y_r outputs share,
 * and a term for the code, since each product is an instruction that is fetched for every vector of outputs. */
#include "kernels/sparse_conv2d/plan.h"

#include <math.h>

/* What is moved in the time of one FLOP at the device's peak. CPUs: two vectors of 16 floats are multiplied and added
 * in a cycle, in which one vector that straddles two lines is loaded, and 16 bytes of code are decoded, 8 where the
 * code is larger than 32 KiB. GPUs: a multiprocessor multiplies and adds 128 numbers in a cycle, in which it loads 128
 * bytes from its first cache (L2: the same order) and fetches 128 bytes of code, 32 where the code is larger than the
 * 128 KiB that it keeps of it; an FMA of 32 lanes with what it takes beside it is 22 bytes of code with its value as an
 * immediate, 34 with a constant (compiled sizes). Other devices: no term for the code. */
#define CPU_LOAD_BYTES 1.0
#define OTHER_LOAD_BYTES 0.0625
#define GPU_LOAD_BYTES 0.5
#define MEMORY_BYTES 0.08

static const char *const quantities[][2] = {
    {"loads", "loaded * size_cg * (size_r + y_r - 1) * (size_s + x_r - 1) * n_r"},
    {"products", "nnz_per_output * k_t * tile"},
    {"oi", "2 * products / (4 * (loads + k_t * tile))"},
    {"product_bytes", "is_gpu * (22 + 12 * (values == \"const\")) + (1 - is_gpu) * (8 + 11 * loads / products)"},
    {"unit_bytes", "unit_fmas * product_bytes"},
    {"kernels_n", "ceil_div(total_fmas, unroll_cap)"},
    {"floor_flops", "2 * nnz_per_output * size_k * size_n * size_p * size_q"},
    {"work", "floor_flops * waste"},
    {"work_loads", "work / oi / load_bytes"},
    {"work_code",
     "is_cpu * work * product_bytes * max(lanes, 1) / vec / (4 + 4 * (unit_bytes <= 32768)) + is_gpu * work * "
     "product_bytes / 64 / (.125 + .375 * (min(unroll_cap, total_fmas) * product_bytes <= 131072))"},
    {"work_memory", "4 * size_n * (size_c * size_h * size_w + size_k * size_p * size_q) / memory_bytes"},
    {"predicted_flops", "max(work, work_loads, work_code, work_memory)"},
    {NULL, NULL},
};

/* 1 - p^k_t of each value of k_t, as an expression. */
static enum err add_loaded(struct space *s, double density, struct why *why)
{
    const size_t i = (size_t)space_find_knob(s, "k_t");
    struct buf text;
    enum err e;

    buf_init(&text, 4096);
    for (size_t v = 0; v < space_n_values(s, i); v++) {
        const double k_t = space_knob_value(s, i, v).number;

        buf_printf(&text, "%s(k_t == %g) * %.6f", v ? " + " : "", k_t, 1 - pow(1 - density, k_t));
    }
    e = text.failed ? text.failed : space_add_quantity(s, "loaded", buf_text(&text), why);
    buf_fini(&text);
    return e;
}

enum err sparse_roofline(const struct device_desc *d, double density, struct space *s, struct why *why)
{
    const bool cpu = d->kind == DEVICE_CPU, gpu = d->kind == DEVICE_GPU;
    const struct build_named constants[] = {{"is_cpu", cpu},
                                            {"is_gpu", gpu},
                                            {"load_bytes", cpu   ? CPU_LOAD_BYTES
                                                           : gpu ? GPU_LOAD_BYTES
                                                                 : OTHER_LOAD_BYTES},
                                            {"memory_bytes", MEMORY_BYTES},
                                            {NULL, 0}};
    enum err e = build_constants(s, constants, why);

    if (!e)
        e = add_loaded(s, density, why);
    return e ? e : build_quantities(s, quantities, why);
}
