/* SPDX-License-Identifier: MIT */
int NAME_run_list(NAME_queue queue, size_t size, const NAME_buffer *arguments)
{
    const int status = bundle_net_open(queue);
    return status == EXEC_OK ? (int)NETWORK(_run)(bundle_net, queue, size, arguments, &bundle.words) : status;
}

size_t NAME_argument_bytes(int i, size_t size)
{
    const struct NAME_place *p = i >= 0 && i < CAPS_N_ARGUMENTS ? &NAME_places[i] : NULL;
    const size_t n = p ? size + p->more : 0;
    if (!p || size + 1 < CAPS_LEAST + 1 || size > CAPS_MOST)
        return 0;
    return p->n_axes ? p->outer * p->inner * n * (p->n_axes > 1 ? n : 1) : NAME_arguments[i].n_bytes;
}
