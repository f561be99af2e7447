/* SPDX-License-Identifier: MIT */
#include "tests/bench/ops/onednn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err dnn_status(dnnl_status_t status, const char *call, struct why *why)
{
    if (status == dnnl_success)
        return ERR_OK;
    return why_set(why, status == dnnl_unimplemented ? ERR_UNSUPPORTED : ERR_DEVICE, "oneDNN's %s answers %d", call,
                   (int)status);
}

dnnl_memory_desc_t dnn_desc(struct dnn *d, int n_dims, const int64_t *dims, dnnl_data_type_t type,
                            dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t out = NULL;
    dnnl_dims_t all = {0};

    memcpy(all, dims, (size_t)n_dims * sizeof *dims);
    if (d->n_descs == DNN_MAX_DESCS || dnnl_memory_desc_create_with_tag(&out, n_dims, all, type, tag) != dnnl_success)
        return NULL;
    return d->descs[d->n_descs++] = out;
}

dnnl_data_type_t dnn_type(enum dtype t)
{
    return t == DTYPE_F16 ? dnnl_f16 : t == DTYPE_I8 ? dnnl_s8 : t == DTYPE_U8 ? dnnl_u8 : dnnl_f32;
}

static enum err run(struct contender *c, struct why *why)
{
    struct dnn *d = c->own;
    dnnl_status_t status = dnnl_success;

    if (d->before.primitive)
        status = dnnl_primitive_execute(d->before.primitive, d->stream, 2, d->before.args);
    if (status == dnnl_success)
        status = dnnl_primitive_execute(d->primitive, d->stream, d->n_args, d->args);
    if (status == dnnl_success && d->after.primitive)
        status = dnnl_primitive_execute(d->after.primitive, d->stream, 2, d->after.args);
    if (status == dnnl_success)
        status = dnnl_stream_wait(d->stream);
    return dnn_status(status, "dnnl_primitive_execute", why);
}

static enum err reorder_primitive(struct dnn *d, dnnl_memory_t from, dnnl_memory_t to, dnnl_primitive_t *out,
                                  struct why *why)
{
    const_dnnl_memory_desc_t from_desc, to_desc;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t status = dnnl_memory_get_memory_desc(from, &from_desc);

    if (status == dnnl_success)
        status = dnnl_memory_get_memory_desc(to, &to_desc);
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(&pd, from_desc, d->engine, to_desc, d->engine, NULL);
    if (status == dnnl_success)
        status = dnnl_primitive_create(out, pd);
    if (pd)
        dnnl_primitive_desc_destroy(pd);
    return dnn_status(status, "reorder", why);
}

/* from -> to, whatever their layouts and types. */
static enum err reorder(struct dnn *d, dnnl_memory_t from, dnnl_memory_t to, struct why *why)
{
    dnnl_primitive_t primitive = NULL;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    enum err e = reorder_primitive(d, from, to, &primitive, why);

    if (!e)
        e = dnn_status(dnnl_primitive_execute(primitive, d->stream, 2, args), "reorder", why);
    if (!e)
        e = dnn_status(dnnl_stream_wait(d->stream), "dnnl_stream_wait", why);
    if (primitive)
        dnnl_primitive_destroy(primitive);
    return e;
}

enum err dnn_reorders(struct dnn *d, dnnl_memory_desc_t x, dnnl_memory_desc_t y, struct why *why)
{
    enum err e =
        dnn_status(dnnl_memory_create(&d->x_outside, x, d->engine, DNNL_MEMORY_ALLOCATE), "dnnl_memory_create", why);

    if (!e)
        e = dnn_status(dnnl_memory_create(&d->y_outside, y, d->engine, DNNL_MEMORY_ALLOCATE), "dnnl_memory_create",
                       why);
    if (!e)
        e = reorder(d, d->x, d->x_outside, why);
    if (!e)
        e = reorder_primitive(d, d->x_outside, d->x, &d->before.primitive, why);
    if (!e)
        e = reorder_primitive(d, d->y, d->y_outside, &d->after.primitive, why);
    d->before.args[0] = (dnnl_exec_arg_t){DNNL_ARG_FROM, d->x_outside};
    d->before.args[1] = (dnnl_exec_arg_t){DNNL_ARG_TO, d->x};
    d->after.args[0] = (dnnl_exec_arg_t){DNNL_ARG_FROM, d->y};
    d->after.args[1] = (dnnl_exec_arg_t){DNNL_ARG_TO, d->y_outside};
    return e;
}

static enum err output(struct contender *c, float *y, struct why *why)
{
    struct dnn *d = c->own;
    dnnl_memory_t plain = NULL;
    enum err e = dnn_status(dnnl_memory_create(&plain, d->y_plain, d->engine, y), "dnnl_memory_create", why);

    if (!e)
        e = reorder(d, d->y, plain, why);
    if (plain)
        dnnl_memory_destroy(plain);
    return e;
}

static void fini(struct contender *c)
{
    struct dnn *d = c->own;

    const dnnl_primitive_t primitives[] = {d->primitive, d->before.primitive, d->after.primitive};
    const dnnl_memory_t outside[] = {d->x_outside, d->y_outside};

    for (int i = 0; i < d->n_args; i++)
        dnnl_memory_destroy(d->args[i].memory);
    for (int i = 0; i < 2; i++)
        if (outside[i])
            dnnl_memory_destroy(outside[i]);
    for (int i = 0; i < 3; i++)
        if (primitives[i])
            dnnl_primitive_destroy(primitives[i]);
    if (d->pd)
        dnnl_primitive_desc_destroy(d->pd);
    if (d->attr)
        dnnl_primitive_attr_destroy(d->attr);
    for (int i = 0; i < d->n_descs; i++)
        dnnl_memory_desc_destroy(d->descs[i]);
    if (d->stream)
        dnnl_stream_destroy(d->stream);
    if (d->engine)
        dnnl_engine_destroy(d->engine);
    free(d);
}

enum err dnn_begin(const struct task *t, struct contender *out, struct dnn **d, struct why *why)
{
    struct dnn *new = calloc(1, sizeof *new);
    enum err e;

    if (!new)
        return ERR_NOMEM;
    new->task = t;
    out->own = new;
    out->run = run;
    out->fini = fini;
    e = dnn_status(dnnl_engine_create(&new->engine, dnnl_cpu, 0), "dnnl_engine_create", why);
    if (!e)
        e = dnn_status(dnnl_stream_create(&new->stream, new->engine, dnnl_stream_default_flags), "dnnl_stream_create",
                       why);
    *d = new;
    return e;
}

enum err dnn_arg(struct dnn *d, int arg, dnnl_query_t what, int index, dnnl_memory_desc_t plain, const float *data,
                 struct why *why)
{
    const_dnnl_memory_desc_t wanted = dnnl_primitive_desc_query_md(d->pd, what, index);
    dnnl_memory_t memory = NULL, from = NULL;
    void *content = NULL;
    enum err e =
        dnn_status(dnnl_memory_create(&memory, wanted, d->engine, DNNL_MEMORY_ALLOCATE), "dnnl_memory_create", why);

    if (e)
        return e;
    d->args[d->n_args++] = (dnnl_exec_arg_t){arg, memory};
    if (arg == DNNL_ARG_SRC)
        d->x = memory;
    if (arg == DNNL_ARG_DST) {
        d->y = memory;
        d->y_plain = plain;
    }
    if (!data) {
        e = dnn_status(dnnl_memory_get_data_handle(memory, &content), "dnnl_memory_get_data_handle", why);
        if (!e && content)
            memset(content, 0, dnnl_memory_desc_get_size(wanted));
        return e;
    }
    /* oneDNN takes a pointer that it only reads here */
    e = dnn_status(dnnl_memory_create(&from, plain, d->engine, (void *)(uintptr_t)data), "dnnl_memory_create", why);
    if (!e)
        e = reorder(d, from, memory, why);
    if (from)
        dnnl_memory_destroy(from);
    return e;
}

enum err dnn_requantised(struct dnn *d, int scales, bool relu, struct why *why)
{
    dnnl_post_ops_t after = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&d->attr);

    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scales_mask(d->attr, DNNL_ARG_WEIGHTS, (1 << scales) - 1);
    if (status == dnnl_success && relu)
        status = dnnl_post_ops_create(&after);
    if (status == dnnl_success && relu)
        status = dnnl_post_ops_append_eltwise(after, dnnl_eltwise_relu, 0, 0);
    if (status == dnnl_success && relu)
        status = dnnl_primitive_attr_set_post_ops(d->attr, after);
    if (after)
        dnnl_post_ops_destroy(after);
    return dnn_status(status, "dnnl_primitive_attr", why);
}

enum err dnn_scales(struct dnn *d, int64_t k, struct why *why)
{
    dnnl_memory_t memory = NULL;
    void *content = NULL;
    enum err e =
        dnn_status(dnnl_memory_create(&memory, dnn_desc(d, 1, &k, dnnl_f32, dnnl_a), d->engine, DNNL_MEMORY_ALLOCATE),
                   "dnnl_memory_create", why);

    if (e)
        return e;
    d->args[d->n_args++] = (dnnl_exec_arg_t){DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, memory};
    e = dnn_status(dnnl_memory_get_data_handle(memory, &content), "dnnl_memory_get_data_handle", why);
    for (int64_t i = 0; !e && i < k; i++)
        ((float *)content)[i] = 1.0f / 64;
    return e;
}

enum err dnn_finish(struct dnn *d, struct contender *out, struct why *why)
{
    const char *kernel = NULL;
    const enum err e = dnn_status(dnnl_primitive_create(&d->primitive, d->pd), "dnnl_primitive_create", why);

    (void)dnnl_primitive_desc_query(d->pd, dnnl_query_impl_info_str, 0, (void *)&kernel);
    snprintf(out->note, sizeof out->note, "%d.%d.%d %s", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH,
             kernel ? kernel : "");
    if (d->y_plain)
        out->output = output;
    return e;
}
