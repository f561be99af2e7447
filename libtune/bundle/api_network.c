/* SPDX-License-Identifier: MIT */
/* ---- functions of the whole network ---- */

static struct NETWORK() * bundle_net;

static void bundle_net_close(void)
{
    NETWORK(_close)(bundle_net);
    bundle_net = NULL;
}

/* The network, opened with the plans of its steps when it is first asked for. */
static int bundle_net_open(NAME_queue queue)
{
    struct EXECUTOR(_op) *op = NULL;
    int status;
    if (!bundle.session)
        return exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "NAME is not open: call NAME_init first");
    status = bundle_net_check(queue);
    if (status != EXEC_OK || bundle_net)
        return status;
    status = bundle_op(0, &op); /* of which the executor takes the session */
    for (int k = 0; k < N_NETWORKS; k++)
        for (int i = 0; status == EXEC_OK && i < networks[k]->n_steps; i++)
            status = bundle_op(networks[k]->steps[i].i_plan, &op);
    bundle.end = bundle_net_close;
    return status == EXEC_OK ? bundle_net_make(queue, &bundle_net) : status;
}

int NAME_set_weights(NAME_queue queue, const char *layer, const char *name, const void *data, size_t n_bytes)
{
    const int status = bundle_net_open(queue);
    return status == EXEC_OK ? (int)NETWORK(_set)(bundle_net, queue, layer, name, data, n_bytes, &bundle.words)
                             : status;
}

/* A tensor of `bin` by its line of weights.txt. */
static int bundle_load_line(NAME_queue queue, const char *line, FILE *bin)
{
    char layer[128], name[64];
    unsigned long n;
    long at;
    void *data;
    int status;
    if (sscanf(line, "%127s %63s %ld %lu", layer, name, &at, &n) != 4 || at < 0 || !n)
        return exec_fail(&bundle.words, EXEC_BAD_ARGUMENT,
                         "weights.txt: expected layer, name, offset, bytes, not '%.60s'", line);
    data = malloc(n);
    if (!data)
        return exec_fail(&bundle.words, EXEC_NO_MEMORY, "out of memory");
    status = bin && fseek(bin, at, SEEK_SET) == 0 && fread(data, 1, n, bin) == n
                 ? NAME_set_weights(queue, layer, name, data, n)
                 : (int)exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "weights.bin: no %lu bytes at %ld", n, at);
    free(data);
    return status;
}

static FILE *bundle_open_file(const char *folder, const char *name, const char *mode)
{
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n >= 0 && (size_t)n < sizeof path ? fopen(path, mode) : NULL;
}

int NAME_load_weights(NAME_queue queue, const char *folder)
{
    FILE *list = bundle_open_file(folder, "weights.txt", "r"), *bin = bundle_open_file(folder, "weights.bin", "rb");
    char line[512];
    int status =
        list ? EXEC_OK : (int)exec_fail(&bundle.words, EXEC_BAD_ARGUMENT, "cannot read weights.txt in %.200s", folder);
    while (status == EXEC_OK && fgets(line, sizeof line, list))
        status = bundle_load_line(queue, line, bin);
    if (list)
        (void)fclose(list);
    if (bin)
        (void)fclose(bin);
    return status;
}
