/* SPDX-License-Identifier: MIT */
/* ---- the whole network over CUDA ---- */

#define NETWORK(thing) exec_net_cu##thing

static int bundle_net_check(struct CUstream_st *stream)
{
    (void)stream; /* NULL: the default one */
    return EXEC_OK;
}

static int bundle_net_make(struct CUstream_st *stream, struct exec_net_cu **out)
{
    (void)stream;
    return (int)exec_net_cu_open(bundle.session, &network, bundle.ops, &bundle.words, out);
}
