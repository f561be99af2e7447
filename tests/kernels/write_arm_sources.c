/* SPDX-License-Identifier: MIT */
/* Writes the kernel texts of int8 layers as an Arm CPU with dot products would get them into a directory, with their
 * defines in front, a file named by the instruction: sdot-0.cl ... No such device is here, so a compiler's opinion and
 * what it makes of them are all that can be had (arm_dots.sh). */
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

static const char *const workloads[] = {
    "conv2d i8 n=1 c=32 h=9 w=9 k=32 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_relu_requant",
    "conv2d u8 n=1 c=32 h=9 w=9 k=32 r=1 s=1 layout=nchw16c epilogue=bias_requant_add_relu",
    "conv2d u8 n=1 c=32 h=9 w=9 k=32 r=3 s=3 pad=1 layout=nchw16c epilogue=bias_relu_requant",
    "dense u8 m=4 n=64 k=64 epilogue=bias",
};

static bool write_module(const char *path, const struct program_module *m, const struct blobs *blobs)
{
    const struct blob *text = blobs_get(blobs, m->source.hex);
    FILE *f = fopen(path, "w");

    if (!f)
        return false;
    for (size_t i = 0; i < m->n_defines; i++)
        fprintf(f, "#define %s %s\n", m->defines[i].name, m->defines[i].value);
    fwrite(text->data, 1, text->n_bytes, f);
    return fclose(f) == 0;
}

/* The default of the workload's template with one instruction. */
static bool write_dot(const char *dir, const struct workload *w, const struct template *t, const struct space *s,
                      struct config c, size_t i_word, int number)
{
    const size_t dot = (size_t)space_find_knob(s, "dot");
    struct program p;
    struct blobs blobs;
    struct why why = {""};
    char path[4096];
    bool ok;

    c.choice[dot] = (uint16_t)i_word;
    blobs_init(&blobs, (size_t)1 << 26);
    ok = template_kernels(t, w, &arm_cpu, s, &c, &p, &blobs, &why) == ERR_OK;
    snprintf(path, sizeof path, "%s/%s-%d.cl", dir, space_knob_value(s, dot, i_word).text, number);
    if (ok)
        ok = write_module(path, &p.modules[0], &blobs);
    if (!ok)
        fprintf(stderr, "%s: %s\n", path, why.text);
    program_fini(&p);
    blobs_fini(&blobs);
    return ok;
}

static bool write_workload(const char *dir, const char *text, int number)
{
    struct workload w;
    struct space *s = NULL;
    struct config c;
    struct why why = {""};
    bool ok = workload_parse(text, &w, &why) == ERR_OK;
    const struct template *t = template_find(ok && w.op->name[0] == 'd' ? "dense/dense_i8_tile" : "conv2d/i8_tile");

    ok = ok && !template_space(t, &w, &arm_cpu, &s, &why) && !t->fallback(&w, &arm_cpu, s, &c);
    if (!ok)
        fprintf(stderr, "%s: %s\n", text, why.text);
    for (size_t i = 0; ok && space_knob_value(s, (size_t)space_find_knob(s, "dot"), i).text[0] != 'f'; i++)
        ok = write_dot(dir, &w, t, s, c, i, number);
    space_free(s);
    return ok;
}

int main(int argc, char **argv)
{
    bool ok = argc == 2;

    for (int i = 0; ok && i < (int)(sizeof workloads / sizeof workloads[0]); i++)
        ok = write_workload(argv[1], workloads[i], i);
    return ok ? 0 : 1;
}
