/* SPDX-License-Identifier: MIT */
static enum exec_status bundle_open(struct CUctx_st *context, int any)
{
    struct exec_cu *session = NULL;
    enum exec_status status = exec_cu_open(context, &bundle.words, &session);
    if (status != EXEC_OK)
        return status;
    status = exec_cu_same_device(session, &tunedon, &bundle.words);
    if (status != EXEC_OK && !any) {
        exec_cu_close(session);
        return status;
    }
    bundle.generation++;
    bundle.session = session;
    return EXEC_OK;
}

static int bundle_init(struct CUctx_st *context, int any)
{
    bundle.words.text[0] = '\0';
    if (bundle.session)
        return exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "NAME is open already: call NAME_fini first");
    return bundle_open(context, any);
}

int NAME_init(struct CUctx_st *context)
{
    return bundle_init(context, 0);
}

int NAME_init_any(struct CUctx_st *context)
{
    return bundle_init(context, 1);
}

/* Weights are packed by one of the two; the other is NULL. */
static int bundle_pack(const struct NAME_layer *layer, struct CUstream_st *stream, const void *const *host,
                       const NAME_mem *device, struct NAME_weights **out)
{
    struct exec_cu_op *op = NULL;
    struct NAME_weights *w = NULL;
    int status = bundle_begin_pack(layer, out, &op, &w);
    if (status != EXEC_OK)
        return status;
    status = device ? exec_cu_pack(op, stream, device, &bundle.words, &w->packed)
                    : exec_cu_pack_host(op, stream, host, &bundle.words, &w->packed);
    if (status != EXEC_OK) {
        free(w);
        return status;
    }
    *out = w;
    return EXEC_OK;
}

int NAME_layer_pack(const struct NAME_layer *layer, struct CUstream_st *stream, const void *const *weights,
                    struct NAME_weights **out)
{
    return bundle_pack(layer, stream, weights, NULL, out);
}

int NAME_layer_pack_buffers(const struct NAME_layer *layer, struct CUstream_st *stream, const NAME_mem *weights,
                            struct NAME_weights **out)
{
    return bundle_pack(layer, stream, NULL, weights, out);
}

int NAME_layer_run(const struct NAME_layer *layer, struct CUstream_st *stream, const NAME_mem *tensors,
                   const struct NAME_weights *weights)
{
    struct exec_cu_op *op = NULL;
    const int status = bundle_begin_run(layer, weights, &op);
    return status == EXEC_OK ? (int)exec_cu_run(op, stream, tensors, weights->packed, &bundle.words) : status;
}
