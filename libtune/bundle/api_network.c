/* SPDX-License-Identifier: MIT */
/* ---- functions of the whole network ---- */

static struct exec_net_cl *bundle_net;

static void bundle_net_close(void)
{
    exec_net_cl_close(bundle_net);
    bundle_net = NULL;
}

/* The network, opened with the plans of its steps when it is first asked for. */
static int bundle_net_open(cl_command_queue queue)
{
    cl_context context = NULL;
    struct exec_cl_op *op = NULL;
    int status;
    if (!bundle.session)
        return exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "NAME is not open: call NAME_init first");
    status = (int)exec_cl_check_queue(bundle.session, queue, &bundle.words);
    if (status != EXEC_OK || bundle_net)
        return status;
    (void)clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    for (int i = 0; status == EXEC_OK && i < network.n_steps; i++)
        status = bundle_op(network.steps[i].i_plan, &op);
    bundle.end = bundle_net_close;
    return status == EXEC_OK ? (int)exec_net_cl_open(context, &network, bundle.ops, &bundle.words, &bundle_net)
                             : status;
}

int NAME_set_weights(cl_command_queue queue, const char *layer, const char *name, const void *data, size_t n_bytes)
{
    const int status = bundle_net_open(queue);
    return status == EXEC_OK ? (int)exec_net_cl_set(bundle_net, queue, layer, name, data, n_bytes, &bundle.words)
                             : status;
}

int NAME_run_list(cl_command_queue queue, const cl_mem *arguments)
{
    const int status = bundle_net_open(queue);
    return status == EXEC_OK ? (int)exec_net_cl_run(bundle_net, queue, arguments, &bundle.words) : status;
}
