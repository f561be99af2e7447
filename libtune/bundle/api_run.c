/* SPDX-License-Identifier: MIT */
int NAME_run_list(NAME_queue queue, const NAME_buffer *arguments)
{
    const int status = bundle_net_open(queue);
    return status == EXEC_OK ? (int)NETWORK(_run)(bundle_net, queue, arguments, &bundle.words) : status;
}
