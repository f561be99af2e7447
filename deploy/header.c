/* SPDX-License-Identifier: MIT */
/* header.c - NAME.h, and the functions of layers that it declares. */
#include "deploy/functions.h"
#include "core/err.h"
#include "deploy/network.h"
#include "deploy/text.h"

#include <assert.h>
#include <string.h>

bool deploy_is_tensor(const struct program_buffer *b)
{
    return b->role == ROLE_INPUT || b->role == ROLE_WEIGHT || b->role == ROLE_OUTPUT;
}

static const char *c_type(enum dtype t)
{
    static const char *const types[N_DTYPES] = {
        [DTYPE_F32] = "float",   [DTYPE_F16] = "uint16_t", [DTYPE_I8] = "int8_t",
        [DTYPE_I32] = "int32_t", [DTYPE_U8] = "uint8_t",   [DTYPE_BF16] = "uint16_t"};
    assert(types[t]); /* no operator has tensors of f64 */
    return types[t];
}

static void parameter(const struct program_buffer *b, struct buf *out)
{
    char name[DEPLOY_SYMBOL_BYTES] = "";
    (void)deploy_parameter(b->id, name, sizeof name);
    buf_puts(out, name);
}

/* The caller's queue and its device buffers, as the two interfaces have them. */
static const char *queue_type(const struct deploy_set *s)
{
    return deploy_set_is_cuda(s) ? "struct CUstream_st *stream" : "cl_command_queue queue";
}

static void mem_type(const struct deploy_set *s, struct buf *out)
{
    if (deploy_set_is_cuda(s))
        buf_printf(out, "%s_mem", s->name);
    else
        buf_puts(out, "cl_mem");
}

static void buffers_of_role(const struct deploy_set *s, const struct program *p, enum buffer_role role, struct buf *out)
{
    for (size_t i = 0; i < p->n_buffers; i++) {
        if (p->buffers[i].role == role) {
            buf_puts(out, ", ");
            mem_type(s, out);
            buf_puts(out, " ");
            parameter(&p->buffers[i], out);
        }
    }
}

static void prototype_pack(const struct deploy_set *s, const struct deploy_call *c, struct buf *out)
{
    const struct program *p = &s->layers[c->i_layer].program;
    buf_printf(out, "int %s_%s_pack(%s", s->name, c->symbol, queue_type(s));
    for (size_t i = 0; i < p->n_buffers; i++) {
        if (p->buffers[i].role == ROLE_WEIGHT) {
            buf_printf(out, ", const %s *", c_type(p->buffers[i].dtype));
            parameter(&p->buffers[i], out);
        }
    }
    buf_printf(out, ", struct %s_weights **out)", s->name);
}

static void prototype_run(const struct deploy_set *s, const struct deploy_call *c, struct buf *out)
{
    const struct program *p = &s->layers[c->i_layer].program;
    buf_printf(out, "int %s_%s(%s", s->name, c->symbol, queue_type(s));
    buffers_of_role(s, p, ROLE_INPUT, out);
    buf_printf(out, ", const struct %s_weights *packed", s->name);
    buffers_of_role(s, p, ROLE_OUTPUT, out);
    buf_puts(out, ")");
}

/* ---- the functions of a layer ---- */

/* "TYPE list[] = {a, b};" of the weights, or of the other tensors; nothing where there are none. */
static void argument_list(const struct deploy_set *s, const struct program *p, bool weights, struct buf *out)
{
    bool any = false;
    for (size_t i = 0; i < p->n_buffers; i++) {
        const struct program_buffer *b = &p->buffers[i];
        if (!deploy_is_tensor(b) || (b->role == ROLE_WEIGHT) != weights)
            continue;
        if (any) {
            buf_puts(out, ", ");
        } else {
            buf_puts(out, weights ? "    const void *const" : "    const ");
            if (!weights)
                mem_type(s, out);
            buf_puts(out, " list[] = {");
        }
        parameter(b, out);
        any = true;
    }
    buf_puts(out, any ? "};\n" : "");
}

static bool has_weights(const struct program *p)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].role == ROLE_WEIGHT)
            return true;
    return false;
}

void deploy_functions(const struct deploy_set *s, size_t i_call, struct buf *out)
{
    const struct deploy_call *c = &s->calls[i_call];
    const struct program *p = &s->layers[c->i_layer].program;
    const char *queue = deploy_set_is_cuda(s) ? "stream" : "queue";
    buf_puts(out, "\n");
    prototype_pack(s, c, out);
    buf_puts(out, "\n{\n");
    argument_list(s, p, true, out);
    buf_printf(out, "    return %s_layer_pack(&%s_layers[%zu], %s, %s, out);\n}\n\n", s->name, s->name, i_call, queue,
               has_weights(p) ? "list" : "NULL");
    prototype_run(s, c, out);
    buf_puts(out, "\n{\n");
    argument_list(s, p, false, out);
    buf_printf(out, "    return %s_layer_run(&%s_layers[%zu], %s, list, packed);\n}\n", s->name, s->name, i_call,
               queue);
}

/* ---- NAME.h ---- */

static void describe_tensors(const struct program *p, struct buf *out)
{
    for (size_t i = 0; i < p->n_buffers; i++) {
        const struct program_buffer *b = &p->buffers[i];
        if (!deploy_is_tensor(b))
            continue;
        buf_printf(out, " *   %s: %s %s [", b->id, dtype_name(b->dtype), b->layout);
        for (int d = 0; d < b->n_dims; d++)
            buf_printf(out, "%s%lld", d > 0 ? "," : "", (long long)b->shape[d]);
        buf_puts(out, "]\n");
    }
}

static void describe_time(const struct deploy_layer *l, struct buf *out)
{
    static const char *const how[N_DEPLOY_ORIGINS] = {[DEPLOY_RECORD] = "when it was tuned",
                                                      [DEPLOY_FOREIGN] =
                                                          "by another tuner's file, not measured by a farm of tune"};
    if (how[l->origin]) {
        buf_printf(out, " * %s, %.4g ms, %.1f GFLOPS %s. */\n", l->program.template_id, l->record.time_ns / 1e6,
                   record_gflops(&l->record), how[l->origin]);
    } else {
        buf_printf(out, " * %s, config of %s: not measured for this workload. */\n", l->program.template_id,
                   l->origin == DEPLOY_NEAREST ? l->record.workload : "the template's default");
    }
}

static void declare(const struct deploy_set *s, const struct deploy_call *c, struct buf *out)
{
    const struct deploy_layer *l = &s->layers[c->i_layer];
    buf_printf(out, "\n/* %s%s%s\n", c->called, c->called[0] != '\0' ? ": " : "", l->workload);
    describe_tensors(&l->program, out);
    describe_time(l, out);
    prototype_pack(s, c, out);
    buf_puts(out, ";\n");
    prototype_run(s, c, out);
    buf_puts(out, ";\n");
}

enum err deploy_text_header(const struct deploy_set *s, struct buf *out, struct why *why)
{
    buf_printf(out,
               "/* %s.h - tuned layers, written by `tune deploy`. %s_init opens the bundle for a device. Then for each "
               "layer two\n * functions: %s_X_pack builds its kernels and packs its weights from host memory, once; "
               "%s_X enqueues a run on the\n * caller's in-order queue or stream, with tensors in device buffers, and "
               "does not "
               "wait. All return an enum %s_status. One\n * thread at a time. */\n#ifndef %s_H\n#define %s_H\n\n",
               s->name, s->name, s->name, s->name, s->name, s->capitals, s->capitals);
    buf_printf(out, "#define %s_N_LAYERS %zu\n\n", s->capitals, s->n_calls);
    const bool cuda = deploy_set_is_cuda(s);
    enum err e = cuda ? ERR_OK : deploy_text_part(s, "include_cl.h", out, why);
    e = e == ERR_OK ? deploy_text_part(s, "api.h", out, why) : e;
    e = e == ERR_OK ? deploy_text_part(s, cuda ? "api_cu.h" : "api_cl.h", out, why) : e;
    for (size_t i = 0; i < s->n_calls && e == ERR_OK; i++)
        declare(s, &s->calls[i], out);
    e = e == ERR_OK ? deploy_network_header(s, out, why) : e;
    buf_puts(out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    return e == ERR_OK ? out->failed : e;
}
