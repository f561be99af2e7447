/* SPDX-License-Identifier: MIT */
#include "libtune/tune_parts.h"

#include "exec/exec_cl.h"
#include "runtime/given.h"

static enum exec_status op_open(void *session, const struct exec_plan *plan, struct exec_words *words, void **out)
{
    struct exec_cl_op *op = NULL;
    const enum exec_status s = exec_cl_op_open(session, plan, words, &op);

    *out = op;
    return s;
}

static void op_close(void *op)
{
    exec_cl_op_close(op);
}

static enum exec_status pack(void *op, void *queue, const void *weights, struct exec_words *words, void **out)
{
    struct exec_cl_weights *packed = NULL;
    const enum exec_status s = exec_cl_pack(op, queue, weights, words, &packed);

    *out = packed;
    return s;
}

static enum exec_status run(void *op, void *queue, const void *tensors, const void *packed, struct exec_words *words)
{
    return exec_cl_run(op, queue, tensors, packed, words);
}

static void packed_free(void *packed)
{
    exec_cl_weights_free(packed);
}

static void close_session(void *session)
{
    exec_cl_close(session);
}

const struct tune_backend tune_backend_cl = {
    .api = "opencl",
    .op_open = op_open,
    .op_close = op_close,
    .pack = pack,
    .run = run,
    .packed_free = packed_free,
    .close = close_session,
};

static enum tune_status describe(struct tune *t, cl_context context, cl_device_id device, int threads)
{
    struct why why = {""};
    const enum err e = given_opencl(context, device, threads, &t->device, &why);

    return e ? tune_fail(e == ERR_INPUT ? TUNE_BAD_ARGUMENT : TUNE_NO_DEVICE, "%s", why.text) : TUNE_OK;
}

static enum tune_status open_session(struct tune *t, cl_context context, cl_device_id device)
{
    struct exec_words words = {""};
    struct exec_cl *session = NULL;
    const enum exec_status s = exec_cl_open(context, device, t->fingerprint.hex, &words, &session);

    t->session = session;
    return tune_fail_exec(s, &words);
}

enum tune_status tune_open_cl(const char *log, cl_context context, cl_device_id device,
                              const struct tune_options *options, struct tune **out)
{
    struct tune_options o;
    struct tune *t;
    enum tune_status s;

    if (!context || !device || !out)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_open_cl: expected an OpenCL context, one of its devices and where to "
                                            "give the open log to");
    s = tune_take_options(options, &o);
    if (s != TUNE_OK)
        return s;
    t = tune_new(&tune_backend_cl);
    if (!t)
        return TUNE_NO_MEMORY;
    s = describe(t, context, device, o.threads);
    if (s == TUNE_OK)
        s = tune_begin(t, log, &o);
    if (s == TUNE_OK)
        s = open_session(t, context, device);
    if (s == TUNE_OK)
        *out = t;
    else
        tune_release(t);
    return s;
}

enum tune_status tune_pack_cl(struct tune_plan *plan, cl_command_queue queue, const cl_mem *weights, size_t n,
                              struct tune_weights **out)
{
    if (!queue)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_pack_cl: expected a queue, not NULL");
    return tune_pack(plan, &tune_backend_cl, queue, weights, n, out);
}

enum tune_status tune_execute_cl(struct tune_plan *plan, cl_command_queue queue, const cl_mem *tensors, size_t n,
                                 const struct tune_weights *weights)
{
    if (!queue)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_execute_cl: expected a queue, not NULL");
    return tune_execute(plan, &tune_backend_cl, queue, tensors, n, weights);
}
