/* SPDX-License-Identifier: MIT */
/* ---- the whole network over OpenCL ---- */

static int bundle_net_check(cl_command_queue queue)
{
    return (int)exec_cl_check_queue(bundle.session, queue, &bundle.words);
}

static int bundle_net_make(cl_command_queue queue, struct NETWORK() * *out)
{
    cl_context context = NULL;
    (void)clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    return (int)NETWORK(_open)(context, &network, bundle.ops, &bundle.words, out);
}
