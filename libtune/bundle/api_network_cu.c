/* SPDX-License-Identifier: MIT */
/* ---- the whole network over CUDA ---- */

static int bundle_net_check(struct CUstream_st *stream)
{
    (void)stream; /* NULL: the default one */
    return EXEC_OK;
}

static int bundle_net_make(struct CUstream_st *stream, struct NETWORK() * *out)
{
    (void)stream;
    return (int)NETWORK(_open)(bundle.session, &network, bundle.ops, &bundle.words, out);
}
