/* SPDX-License-Identifier: MIT */
int NAME_devices(cl_device_id device, int most, cl_device_id *out)
{
    cl_uint n = 0;
    if (!device || most < 1 || !out)
        return 0;
#ifdef CAPS_TEAM
    exec_cl_team_devices(device, (cl_uint)most, out, &n);
#endif
    if (n == 0)
        out[n++] = device;
    return (int)n;
}

static int bundle_init(cl_context context, cl_device_id device, int any)
{
    enum exec_status status;
    bundle.words.text[0] = '\0';
    if (bundle.session)
        return exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "NAME is open already: call NAME_fini first");
    if (!context || !device)
        return exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "expected an OpenCL context and one of its devices");
    status = exec_cl_same_device(device, &tunedon, &bundle.words);
    if (status != EXEC_OK && !any)
        return status;
    bundle.generation++;
    return exec_cl_open(context, device, status == EXEC_OK ? tunedon.fingerprint : "", &bundle.words, &bundle.session);
}

int NAME_init(cl_context context, cl_device_id device)
{
    return bundle_init(context, device, 0);
}

int NAME_init_any(cl_context context, cl_device_id device)
{
    return bundle_init(context, device, 1);
}

int NAME_layer_pack_buffers(const struct NAME_layer *layer, cl_command_queue queue, const cl_mem *weights,
                            struct NAME_weights **out)
{
    struct exec_cl_op *op = NULL;
    struct NAME_weights *w = NULL;
    int status = bundle_begin_pack(layer, out, &op, &w);
    if (status != EXEC_OK)
        return status;
    status = exec_cl_pack(op, queue, weights, &bundle.words, &w->packed);
    if (status != EXEC_OK) {
        free(w);
        return status;
    }
    *out = w;
    return EXEC_OK;
}

/* Device copies of a layer's weights. */
static int bundle_upload(const struct NAME_layer *layer, cl_context context, const void *const *weights, cl_mem *mems)
{
    int n = 0;
    for (int i = 0; i < layer->n_tensors; i++) {
        const struct NAME_tensor *t = &layer->tensors[i];
        cl_int code = CL_SUCCESS;
        if (t->role != CAPS_WEIGHT)
            continue;
        if (!weights || !weights[n])
            return exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "%s: weight %s is NULL", layer->name, t->name);
        mems[n] =
            clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, t->n_bytes, (void *)weights[n], &code);
        if (code != CL_SUCCESS) {
            mems[n] = NULL;
            return exec_fail(&bundle.words, EXEC_DEVICE_FAILED, "%s: weight %s of %zu bytes: OpenCL error %d",
                             layer->name, t->name, t->n_bytes, (int)code);
        }
        n++;
    }
    return EXEC_OK;
}

int NAME_layer_pack(const struct NAME_layer *layer, cl_command_queue queue, const void *const *weights,
                    struct NAME_weights **out)
{
    cl_mem mems[MAX_TENSORS] = {NULL};
    cl_context context = NULL;
    int status;
    if (!layer || !queue ||
        clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
        return exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "expected a layer and an OpenCL queue");
    status = bundle_upload(layer, context, weights, mems);
    status = status == EXEC_OK ? NAME_layer_pack_buffers(layer, queue, mems, out) : status;
    for (int i = 0; i < MAX_TENSORS; i++)
        if (mems[i])
            clReleaseMemObject(mems[i]); /* packing that is under way keeps it */
    return status;
}

int NAME_layer_run(const struct NAME_layer *layer, cl_command_queue queue, const cl_mem *tensors,
                   const struct NAME_weights *weights)
{
    struct exec_cl_op *op = NULL;
    const int status = bundle_begin_run(layer, weights, &op);
    return status == EXEC_OK ? (int)exec_cl_run(op, queue, tensors, weights->packed, &bundle.words) : status;
}
