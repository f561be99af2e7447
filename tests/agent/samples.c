/* SPDX-License-Identifier: MIT */
#include "samples.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                                           \
    "__kernel void f(__global const float *x, __global float *y, int n)\n{\n    const int i = get_global_id(0);\n"

const char sample_good[] = HEAD "    y[i] = x[i] + 1.0f;\n}\n";
const char sample_slower[] =
    HEAD "    float s = 0;\n    for (int k = 0; k < 2000; k++)\n        s = fma(s, 0.5f, x[i]);\n"
         "    y[i] = s == 1234.5f ? s : x[i] + 1.0f;\n}\n";
const char sample_wrong[] = HEAD "    y[i] = x[i] + (i == 77 ? 2.0f : 1.0f);\n}\n";
/* Of a device that counts, wrong in its second run alone. */
const char sample_second[] = HEAD "    y[i] = x[i] + 1.0f; /* second */\n}\n";
/* Of a device that counts, writes nothing in every eighth run. */
const char sample_lapse[] = HEAD "    y[i] = x[i] + 1.0f; /* lapse */\n}\n";
/* Of a device that computes it, writes nothing where y begins with 0. */
const char sample_blank[] = HEAD "    y[i] = x[i] + 1.0f; /* blank */\n}\n";
/* Keeps what stands there when it is smaller. */
const char sample_stale[] = HEAD "    if (!(y[i] <= x[i] + 1.0f))\n        y[i] = x[i] + 1.0f;\n}\n";
const char sample_broken[] = HEAD "    y[i] = x[i] + no_such_name;\n}\n";
const char sample_endless[] = HEAD "    volatile int go = 1;\n    while (go)\n        ;\n    y[i] = x[i] + 1.0f;\n}\n";
const char sample_wild[] = HEAD "    __global float *p = (__global float *)((size_t)y & 0xfff);\n    p[i] = 1.0f;\n"
                                "    y[i] = x[i] + 1.0f;\n}\n";
/* Right at first, and writes nothing after some 40 runs: `n` is the run counter kept in y's last element's neighbour.
 */
const char sample_lazy[] =
    "__kernel void f(__global const float *x, __global float *y, int n, __global int *runs)\n{\n"
    "    const int i = get_global_id(0);\n    if (runs[i]++ < 12)\n        y[i] = x[i] + 1.0f;\n}\n";
/* Dies once it has run often: verified well, kills whoever times it. */
const char sample_bomb[] = "__kernel void f(__global const float *x, __global float *y, int n, __global int *runs)\n{\n"
                           "    const int i = get_global_id(0);\n    if (runs[i]++ > 12)\n"
                           "        ((__global float *)((size_t)y & 0xfff))[i] = 1.0f;\n    y[i] = x[i] + 1.0f;\n}\n";

static void add_reference_values(struct sample *m)
{
    static double values[SAMPLE_N];
    const struct program_fill fill = m->p.buffers[0].fill;
    struct program_pass *pass = program_add_pass(&m->p, "exact");
    struct program_check *c = program_pass_check_add(pass, CHECK_SAMPLE, 1);

    for (int i = 0; i < SAMPLE_N; i++)
        values[i] = fill_elem(&fill, DTYPE_F32, i) + 1;
    c->n = SAMPLE_N;
    blobs_put(&m->blobs, values, sizeof values, &c->values);
}

void sample_make(struct sample *m, const char *source, int64_t block)
{
    const int64_t grid[3] = {SAMPLE_N / block, 1, 1}, group[3] = {block, 1, 1};
    struct program_buffer *x, *y, *runs;
    struct program_module *module;
    struct program_launch *l;

    program_init(&m->p);
    blobs_init(&m->blobs, 1 << 26);
    m->p.workload = strdup("test f32 n=4096");
    m->p.template_id = strdup("");
    m->p.flops = SAMPLE_N;
    strcpy(m->p.api, "opencl");
    x = program_add_buffer(&m->p, "x", ROLE_INPUT, DTYPE_F32, SAMPLE_N);
    x->fill = (struct program_fill){.kind = FILL_INT, .seed = 1, .lo = -8, .hi = 8};
    y = program_add_buffer(&m->p, "y", ROLE_OUTPUT, DTYPE_F32, SAMPLE_N);
    y->fill.kind = FILL_NONE;
    module = program_add_module(&m->p, "m", LANG_OPENCL_C, "");
    blobs_put(&m->blobs, source, strlen(source), &module->source);
    if (strstr(source, "runs")) {
        runs = program_add_buffer(&m->p, "runs", ROLE_STATE, DTYPE_I32, SAMPLE_N);
        runs->fill.kind = FILL_ZERO;
    }
    l = program_add_kernel(&m->p, PHASE_RUN, 0, "f", grid, group);
    program_arg_buffer(l, 0);
    program_arg_buffer(l, 1);
    program_arg_int(l, ARG_I32, SAMPLE_N);
    if (strstr(source, "runs"))
        program_arg_buffer(l, 2);
    add_reference_values(m);
}

void sample_fini(struct sample *m)
{
    program_fini(&m->p);
    blobs_fini(&m->blobs);
}

struct sha256 sample_seal(struct sample *m)
{
    struct sha256 name = {""};
    struct buf text;

    buf_init(&text, PROGRAM_MAX_BYTES);
    if (program_to_json(&m->p, &text) || blobs_put(&m->blobs, text.data, text.len, &name))
        abort();
    buf_fini(&text);
    return name;
}

struct sha256 sample_sheet(struct sample *m, double first, double second, int i_wrong, bool second_is_last)
{
    const double from[] = {first, second};
    struct sha256 name;
    struct buf text;

    sample_make(m, sample_good, 64);
    program_drop_passes(&m->p);
    for (int i = 0; i < 2; i++) {
        const struct program_fill x = {.kind = FILL_VALUE, .lo = from[i]};
        struct program_pass *pass = program_add_pass(&m->p, i ? "second" : "first");
        struct program_check *c = program_pass_check_add(pass, CHECK_SAMPLE, 1);
        double values[10];

        for (int k = 0; k < 10; k++)
            values[k] = from[i] + (i == i_wrong && k == 9 ? 2 : 1);
        c->n = 10;
        pass->is_last = i && second_is_last;
        program_pass_fill_add(pass, 0, &x);
        blobs_put(&m->blobs, values, sizeof values, &c->values);
    }
    buf_init(&text, PROGRAM_MAX_BYTES);
    if (program_sheet_write(&m->p, &text) || blobs_put(&m->blobs, buf_text(&text), text.len, &name))
        abort();
    buf_fini(&text);
    return name;
}
