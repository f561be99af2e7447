/* SPDX-License-Identifier: MIT */
#include "libtune/tune_parts.h"

#include "core/err.h"
#include "exec/exec_cu.h"
#include "runtime/given.h"
#include "runtime/nvrtc.h"

#include <assert.h>

TUNE_EXECUTOR(exec_cu)

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

/* ---- opening ---- */

static enum tune_status open_session(struct tune *t, void *context, void *device, int threads)
{
    struct exec_words words = {""};
    struct exec_cu_device on;
    struct exec_cu *session = NULL;
    struct why why = {""};
    const enum exec_status s = exec_cu_open(context, &words, &session);
    enum err e;

    (void)device;
    (void)threads;
    if (s != EXEC_OK)
        return tune_fail_exec(s, &words);
    t->session = session;
    exec_cu_device(session, &on);
    e = given_cuda(on.ordinal, &t->device, &why);
    return e ? tune_fail(TUNE_NO_DEVICE, "%s", why.text) : TUNE_OK;
}

static const struct tune_backend backend = {
    .api = "cuda", .open = open_session, .compile = compile, TUNE_EXECUTOR_CALLS};

enum tune_status tune_open_cuda(const char *log, struct CUctx_st *context, const struct tune_options *options,
                                struct tune **out)
{
    if (!out)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_open_cuda: expected where to give the open log to");
    return tune_open_with(&backend, log, context, NULL, options, out);
}

enum tune_status tune_pack_cuda(struct tune_plan *plan, struct CUstream_st *stream, const unsigned long long *weights,
                                size_t n, struct tune_weights **out)
{
    return tune_pack(plan, &backend, stream, weights, n, out);
}

enum tune_status tune_execute_cuda(struct tune_plan *plan, struct CUstream_st *stream,
                                   const unsigned long long *tensors, size_t n, const struct tune_weights *weights)
{
    return tune_execute(plan, &backend, stream, tensors, n, weights);
}
