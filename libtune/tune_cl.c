/* SPDX-License-Identifier: MIT */
#include "libtune/tune_parts.h"

#include "core/err.h"
#include "exec/exec_cl.h"
#include "runtime/given.h"

TUNE_EXECUTOR(exec_cl)

static enum tune_status open_session(struct tune *t, void *context, void *device, int threads)
{
    struct exec_words words = {""};
    struct exec_cl *session = NULL;
    struct why why = {""};
    const enum err e = given_opencl(context, device, threads, &t->device, &why);
    enum exec_status s;

    if (e)
        return tune_fail(e == ERR_INPUT ? TUNE_BAD_ARGUMENT : TUNE_NO_DEVICE, "%s", why.text);
    s = exec_cl_open(context, device, device_desc_fingerprint(&t->device).hex, &words, &session);
    t->session = session;
    return tune_fail_exec(s, &words);
}

const struct tune_backend tune_backend_cl = {.api = "opencl", .open = open_session, TUNE_EXECUTOR_CALLS};

enum tune_status tune_open_cl(const char *log, cl_context context, cl_device_id device,
                              const struct tune_options *options, struct tune **out)
{
    if (!context || !device || !out)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_open_cl: expected an OpenCL context, one of its devices and where to "
                                            "give the open log to");
    return tune_open_with(&tune_backend_cl, log, context, device, options, out);
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
