/* SPDX-License-Identifier: MIT */
#include "libtune/tune_parts.h"

#include "exec/exec_cu.h"
#include "runtime/given.h"
#include "runtime/nvrtc.h"

#include <assert.h>

static enum exec_status op_open(void *session, const struct exec_plan *plan, struct exec_words *words, void **out)
{
    struct exec_cu_op *op = NULL;
    const enum exec_status s = exec_cu_op_open(session, plan, words, &op);

    *out = op;
    return s;
}

static void op_close(void *op)
{
    exec_cu_op_close(op);
}

static enum exec_status pack(void *op, void *queue, const void *weights, struct exec_words *words, void **out)
{
    struct exec_cu_weights *packed = NULL;
    const enum exec_status s = exec_cu_pack(op, queue, weights, words, &packed);

    *out = packed;
    return s;
}

static enum exec_status run(void *op, void *queue, const void *tensors, const void *packed, struct exec_words *words)
{
    return exec_cu_run(op, queue, tensors, packed, words);
}

static void packed_free(void *packed)
{
    exec_cu_weights_free(packed);
}

static void close_session(void *session)
{
    exec_cu_close(session);
}

/* ---- code ---- */

/* The NVRTC that serves device and driver, opened by the first plan. */
static enum tune_status want_nvrtc(struct tune *t)
{
    struct why why = {""};
    enum err e = ERR_OK;

    pthread_mutex_lock(&t->lock);
    if (!t->nvrtc)
        e = nvrtc_open_for(NULL, (int)t->device.sm, given_cuda_version(), &t->nvrtc, &why);
    pthread_mutex_unlock(&t->lock);
    return e ? tune_fail(TUNE_BUILD_FAILED, "%s", why.text) : TUNE_OK;
}

static enum err compile_module(const struct tune *t, struct program_module *m, struct blobs *blobs, struct why *why)
{
    int sm = (int)t->device.sm;
    struct nvrtc_built built;
    bool as_ptx = false;
    enum err e;

    if (m->lang != LANG_CUDA_C)
        return ERR_OK;
    assert(t->nvrtc && sm > 0);
    if (!nvrtc_target(t->nvrtc, sm, &sm, &as_ptx))
        return nvrtc_supports(t->nvrtc, sm, why);
    e = nvrtc_build(t->nvrtc, m, blobs, sm, as_ptx, &built, why);
    if (!e)
        e = blobs_put(blobs, built.code.data, built.code.len, &m->source);
    if (!e)
        m->lang = as_ptx ? LANG_PTX : LANG_CUBIN;
    nvrtc_built_fini(&built);
    return e;
}

/* CUDA C becomes cubins, or PTX where the device is newer than NVRTC. */
static enum tune_status compile(struct tune *t, struct program *p, struct blobs *blobs)
{
    struct why why = {""};
    enum tune_status s = want_nvrtc(t);
    enum err e = ERR_OK;

    for (size_t i = 0; s == TUNE_OK && !e && i < p->n_modules; i++)
        e = compile_module(t, &p->modules[i], blobs, &why);
    if (s != TUNE_OK || !e)
        return s;
    return tune_fail(e == ERR_NOMEM ? TUNE_NO_MEMORY : TUNE_BUILD_FAILED, "%s: %s", p->workload,
                     why.text[0] ? why.text : err_words(e));
}

const struct tune_backend tune_backend_cuda = {
    .api = "cuda",
    .compile = compile,
    .op_open = op_open,
    .op_close = op_close,
    .pack = pack,
    .run = run,
    .packed_free = packed_free,
    .close = close_session,
};

/* ---- opening ---- */

static enum tune_status open_session(struct tune *t, struct CUctx_st *context)
{
    struct exec_words words = {""};
    struct exec_cu_device device;
    struct exec_cu *session = NULL;
    struct why why = {""};
    const enum exec_status s = exec_cu_open(context, &words, &session);
    enum err e;

    if (s != EXEC_OK)
        return tune_fail_exec(s, &words);
    t->session = session;
    exec_cu_device(session, &device);
    e = given_cuda(device.ordinal, &t->device, &why);
    return e ? tune_fail(TUNE_NO_DEVICE, "%s", why.text) : TUNE_OK;
}

enum tune_status tune_open_cuda(const char *log, struct CUctx_st *context, const struct tune_options *options,
                                struct tune **out)
{
    struct tune_options o;
    struct tune *t;
    enum tune_status s;

    if (!out)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_open_cuda: expected where to give the open log to");
    s = tune_take_options(options, &o);
    if (s != TUNE_OK)
        return s;
    t = tune_new(&tune_backend_cuda);
    if (!t)
        return TUNE_NO_MEMORY;
    s = open_session(t, context);
    if (s == TUNE_OK)
        s = tune_begin(t, log, &o);
    if (s == TUNE_OK)
        *out = t;
    else
        tune_release(t);
    return s;
}

enum tune_status tune_pack_cuda(struct tune_plan *plan, struct CUstream_st *stream, const unsigned long long *weights,
                                size_t n, struct tune_weights **out)
{
    return tune_pack(plan, &tune_backend_cuda, stream, weights, n, out);
}

enum tune_status tune_execute_cuda(struct tune_plan *plan, struct CUstream_st *stream,
                                   const unsigned long long *tensors, size_t n, const struct tune_weights *weights)
{
    return tune_execute(plan, &tune_backend_cuda, stream, tensors, n, weights);
}
