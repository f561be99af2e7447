/* SPDX-License-Identifier: MIT */
/* source.c - NAME.c: the executor, the plans, the list of layers, the functions. */
#include "deploy/functions.h"
#include "core/err.h"
#include "deploy/network.h"
#include "deploy/text.h"

#include <assert.h>
#include <string.h>

#define TEAM "+" /* in front of a file: for builds with threads only */

/* Files of exec/ in the order in which they lean on each other, then those of libtune/bundle. */
static const char *const opencl_parts[] = {
    "plan.h",           "device.h",         "common.h",         "common.c",
    "exec_cl.h",        TEAM "team_cl.h",   TEAM "team_cl.c",   "exec_cl_launch.h",
    "exec_cl_launch.c", "exec_cl_parts.h",  "exec_cl.c",        "exec_cl_op.c",
    "exec_cl_run.c",    "exec_cl_device.h", "exec_cl_device.c", NULL};
static const char *const cuda_parts[] = {
    "plan.h",           "device.h",        "common.h",         "common.c",         "exec_cu.h", "exec_cu_driver.h",
    "exec_cu_launch.h", "exec_cu_parts.h", "exec_cu_driver.c", "exec_cu_launch.c", "exec_cu.c", "exec_cu_code.c",
    "exec_cu_op.c",     "exec_cu_run.c",   "exec_cu_device.h", "exec_cu_device.c", NULL};

static void comma_string(const char *text, struct buf *out)
{
    deploy_text_string(text, out);
    buf_puts(out, ", ");
}

static void tensor(const struct deploy_set *s, const struct program_buffer *b, struct buf *out)
{
    static const char *const roles[N_ROLES] = {
        [ROLE_INPUT] = "INPUT", [ROLE_WEIGHT] = "WEIGHT", [ROLE_OUTPUT] = "OUTPUT"};
    buf_puts(out, "    {");
    comma_string(b->id, out);
    comma_string(dtype_name(b->dtype), out);
    comma_string(b->layout, out);
    buf_printf(out, "%s_%s, %d, {", s->capitals, roles[b->role], b->n_dims);
    for (int d = 0; d < b->n_dims; d++)
        buf_printf(out, "%s%lld", d > 0 ? ", " : "", (long long)b->shape[d]);
    buf_printf(out, "%s}, %lluu},\n", b->n_dims == 0 ? "0" : "",
               (unsigned long long)b->n_elems * dtype_bytes(b->dtype));
}

/* Has the layer functions? What only the one call of a network runs has none, and no table of tensors either. */
static bool is_called(const struct deploy_set *s, size_t i_layer)
{
    for (size_t i = 0; i < s->n_calls; i++)
        if (s->calls[i].i_layer == i_layer)
            return true;
    return false;
}

static size_t tensors(const struct deploy_set *s, size_t i_layer, struct buf *out)
{
    const struct program *p = &s->layers[i_layer].program;
    size_t n = 0;
    buf_printf(out, "static const struct %s_tensor p%zu_tensors[] = {\n", s->name, i_layer);
    for (size_t i = 0; i < p->n_buffers; i++) {
        if (deploy_is_tensor(&p->buffers[i])) {
            tensor(s, &p->buffers[i], out);
            n++;
        }
    }
    buf_puts(out, "};\n");
    return n;
}

static void layer_entry(const struct deploy_set *s, const struct deploy_call *c, struct buf *out)
{
    assert(c->i_layer < s->n_layers);
    const struct deploy_layer *l = &s->layers[c->i_layer];
    const struct record *r = &l->record;
    struct buf knobs;
    buf_init(&knobs, 65536);
    (void)deploy_layer_knobs(l, &knobs);
    buf_puts(out, "    {");
    comma_string(c->symbol, out);
    comma_string(c->called, out);
    comma_string(l->workload, out);
    comma_string(r->template_id, out);
    buf_printf(out, "%lld, ", (long long)r->template_version);
    comma_string(buf_text(&knobs), out);
    comma_string(r->program.hex, out);
    comma_string(deploy_origin_name(l->origin), out);
    comma_string(l->origin == DEPLOY_DEFAULT ? "" : status_name(r->status), out);
    comma_string(r->purpose, out);
    comma_string(r->proposed_by, out);
    buf_printf(out, "%.17g, %.17g, %.6g, p%zu_tensors, (int)(sizeof p%zu_tensors / sizeof p%zu_tensors[0]), %zu},\n",
               l->program.flops, r->time_ns, record_gflops(r), c->i_layer, c->i_layer, c->i_layer, c->i_layer);
    buf_fini(&knobs);
}

static void layers(const struct deploy_set *s, struct buf *out)
{
    size_t n_most = 1;
    buf_puts(out, "\n/* ---- layers ---- */\n\n");
    for (size_t i = 0; i < s->n_layers; i++) {
        const size_t n = is_called(s, i) ? tensors(s, i, out) : 0;
        n_most = n > n_most ? n : n_most;
    }
    buf_printf(out, "#define MAX_TENSORS %zu /* of a layer */\n\nconst struct %s_layer %s_layers[%s_N_LAYERS] = {\n",
               n_most, s->name, s->name, s->capitals);
    for (size_t i = 0; i < s->n_calls; i++)
        layer_entry(s, &s->calls[i], out);
    buf_puts(out, "};\n");
}

static void device(const struct deploy_set *s, struct buf *out)
{
    const struct deploy_layer *l = &s->layers[0];
    const struct device_desc *d = &l->device;
    const char *fingerprint = l->record.fingerprint.hex;
    buf_printf(out, "\n/* ---- the device ---- */\n\nconst char %s_device[] = ", s->name);
    deploy_text_string(d->name, out);
    buf_printf(out, ";\nconst char %s_fingerprint[] = ", s->name);
    deploy_text_string(fingerprint, out);
    buf_printf(out, ";\nconst int %s_threads = %lld", s->name, (long long)d->threads);
    buf_puts(out, ";\nstatic const struct exec_device tunedon = {\n    ");
    comma_string(fingerprint, out);
    comma_string(d->platform, out);
    comma_string(d->platform_version, out);
    comma_string(d->vendor, out);
    comma_string(d->name, out);
    comma_string(d->driver, out);
    buf_puts(out, "\n    ");
    comma_string(d->extensions, out);
    comma_string(d->dots, out);
    buf_printf(out, "%lld, %lld, %lld};\n", (long long)d->units, (long long)d->threads, (long long)d->sm);
}

static enum err parts(const struct deploy_set *s, const char *const *names, struct buf *out, struct why *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; names[i] && e == ERR_OK; i++) {
        const bool of_team = names[i][0] == TEAM[0];
        if (of_team)
            buf_printf(out, "#ifdef %s_TEAM /* needs C11 and threads */\n", s->capitals);
        e = deploy_text_part(s, names[i] + of_team, out, why);
        buf_puts(out, of_team ? "#endif\n\n" : "\n");
    }
    return e;
}

enum err deploy_text_source(const struct deploy_set *s, struct buf *out, struct why *why)
{
    const bool cuda = deploy_set_is_cuda(s);
    const char *const api_parts[] = {"api.c", cuda ? "api_cu.c" : "api_cl.c", NULL};
    buf_printf(out,
               "/* %s.c - tuned layers, written by `tune deploy`: what carries plans out, then the plans as tables, "
               "then the functions\n * of %s.h. C99, needs the %s and nothing else. */\n%s#include "
               "\"%s.h\"\n\n#include <math.h>\n#include <stdlib.h>\n#include <string.h>\n\n"
               "#if defined(__GNUC__)\n#define EXEC_API static __attribute__((unused))\n#else\n"
               "#define EXEC_API static\n#endif\n#define EXECUTOR(thing) exec_%s##thing\n\n",
               s->name, s->name, cuda ? "CUDA driver" : "OpenCL loader",
               cuda ? "" : "#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue */\n", s->name,
               cuda ? "cu" : "cl");
    enum err e = parts(s, cuda ? cuda_parts : opencl_parts, out, why);
    if (e != ERR_OK)
        return e;
    deploy_text_plans(s, out);
    layers(s, out);
    device(s, out);
    e = parts(s, api_parts, out, why);
    for (size_t i = 0; i < s->n_calls && e == ERR_OK; i++)
        deploy_functions(s, i, out);
    e = e == ERR_OK ? deploy_network_source(s, out, why) : e;
    return e == ERR_OK ? out->failed : e;
}
