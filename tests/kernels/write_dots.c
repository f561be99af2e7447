/* SPDX-License-Identifier: MIT */
/* Writes the kernel texts of int8 layers as an Arm CPU with dot products, and a GPU with those of OpenCL's extensions,
 * would get them into a directory, with the language's standard and their defines in front, a file named by the
 * instruction: sdot-0.cl, khr-3.cl ... No such device is here, so a compiler's opinion and what it makes of them are
 * all that can be had (dots.sh). */
#include "kernels/template.h"
#include "kernels/workload.h"

#include <stdio.h>
#include <string.h>

static const struct device_desc arm_cpu = {.api = "opencl",
                                           .platform = "Portable Computing Language",
                                           .name = "cortex",
                                           .kind = DEVICE_CPU,
                                           .units = 1,
                                           .threads = 1,
                                           .max_work_group = 4096,
                                           .max_local = {4096, 4096, 4096},
                                           .local_bytes = 65536,
                                           .vector_bits = 128,
                                           .dots = "tune_sdot tune_usdot"};

static const struct device_desc gpu = {.api = "opencl",
                                       .platform = "ARM Platform",
                                       .platform_version = "OpenCL 3.0",
                                       .name = "Mali-G610",
                                       .extensions = "cl_khr_integer_dot_product cl_arm_integer_dot_product_int8",
                                       .kind = DEVICE_GPU,
                                       .units = 4,
                                       .max_work_group = 1024,
                                       .max_local = {1024, 1024, 1024},
                                       .local_bytes = 32768,
                                       .vector_bits = 128};

static const struct device_desc nvidia = {.api = "opencl",
                                          .platform = "NVIDIA CUDA",
                                          .platform_version = "OpenCL 3.0 CUDA",
                                          .name = "GTX 1080",
                                          .dots = "tune_dp4a",
                                          .kind = DEVICE_GPU,
                                          .units = 20,
                                          .max_work_group = 1024,
                                          .max_local = {1024, 1024, 64},
                                          .local_bytes = 49152,
                                          .vector_bits = 32};

static const struct {
    const struct device_desc *d;
    const char *template_id, *workload;
} cases[] = {
    {&arm_cpu, "conv2d/i8_tile",
     "conv2d i8 n=1 c=32 h=9 w=9 k=32 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_relu_requant"},
    {&arm_cpu, "conv2d/i8_tile",
     "conv2d u8 n=1 c=32 h=9 w=9 k=32 r=1 s=1 layout=nchw16c epilogue=bias_requant_add_relu"},
    {&arm_cpu, "conv2d/i8_tile",
     "conv2d u8 n=1 c=32 h=9 w=9 k=32 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_relu_requant"},
    {&arm_cpu, "dense/dense_i8_tile", "dense u8 m=4 n=64 k=64 epilogue=bias"},
    {&gpu, "conv2d/i8", "conv2d i8 n=1 c=32 h=9 w=9 k=32 r=3 s=3 pad=1 layout=nchw4c epilogue=bias_relu_requant"},
    {&gpu, "dense/dense_i8", "dense i8 m=4 n=64 k=64"},
    {&gpu, "conv2d/i8", "conv2d u8 n=1 c=32 h=9 w=9 k=32 r=3 s=3 pad=1 layout=nchw4c epilogue=bias_relu_requant"},
    {&nvidia, "dense/dense_i8", "dense i8 m=4 n=64 k=64"},
    {&nvidia, "conv2d/i8", "conv2d u8 n=1 c=32 h=9 w=9 k=32 r=3 s=3 pad=1 layout=nchw4c epilogue=bias_relu_requant"},
    {&nvidia, "conv2d/implicit_gemm", "conv2d u8 n=1 c=6 h=9 w=9 k=10 r=3 s=3 pad=1"},
};

static bool write_module(const char *path, const struct program *p, const struct blobs *blobs)
{
    const struct program_module *m = &p->modules[0];
    const struct blob *text = blobs_get(blobs, m->source.hex);
    FILE *f = fopen(path, "w");

    if (!f)
        return false;
    fprintf(f, "/* %s */\n", p->std);
    for (size_t i = 0; i < m->n_defines; i++)
        fprintf(f, "#define %s %s\n", m->defines[i].name, m->defines[i].value);
    fwrite(text->data, 1, text->n_bytes, f);
    return fclose(f) == 0;
}

/* The default of the workload's template with one instruction. */
static bool write_dot(const char *dir, const struct device_desc *d, const struct workload *w, const struct template *t,
                      const struct space *s, struct config c, size_t i_word, int number)
{
    const size_t dot = (size_t)space_find_knob(s, "dot");
    struct program p;
    struct blobs blobs;
    struct why why = {""};
    char path[4096];
    bool ok;

    c.choice[dot] = (uint16_t)i_word;
    blobs_init(&blobs, (size_t)1 << 26);
    ok = template_kernels(t, w, d, s, &c, &p, &blobs, &why) == ERR_OK;
    snprintf(path, sizeof path, "%s/%s-%d.cl", dir, space_knob_value(s, dot, i_word).text, number);
    if (ok)
        ok = write_module(path, &p, &blobs);
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, why.text);
    program_fini(&p);
    blobs_fini(&blobs);
    return ok;
}

/* Of the words of `dot`, those that are instructions: before "fma" and "mul4". */
static bool write_case(const char *dir, size_t number)
{
    const struct device_desc *d = cases[number].d;
    const struct template *t = template_find(cases[number].template_id);
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct why why = {""};
    bool ok = !workload_parse(cases[number].workload, &w, &why) && !template_space(t, &w, d, &s, &why) &&
              !t->fallback(&w, d, s, &c);

    if (!ok)
        fprintf(stderr, "%s: %s\n", cases[number].workload, why.text);
    for (size_t i = 0; ok && !strpbrk(space_knob_value(s, (size_t)space_find_knob(s, "dot"), i).text, "fl"); i++)
        ok = write_dot(dir, d, &w, t, s, c, i, (int)number);
    space_free(s);
    return ok;
}

int main(int argc, char **argv)
{
    bool ok = argc == 2;

    for (size_t i = 0; ok && i < sizeof cases / sizeof cases[0]; i++)
        ok = write_case(argv[1], i);
    return ok ? 0 : 1;
}
