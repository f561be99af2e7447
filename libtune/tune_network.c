/* SPDX-License-Identifier: MIT */
/* tune_network.c - whole networks out of a bundle's folder, over OpenCL. */
#include "exec/network_cl.h"
#include "libtune/tune_network_read.h"
#include "libtune/tune_parts.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tune_network {
    struct tune *t; /* the session, its lock, no log */
    cl_context context;
    struct network_files files;
    struct exec_cl_op **ops; /* [n_plans] */
    struct exec_net_cl *net;
};

static enum tune_status no_memory(void)
{
    return tune_fail(TUNE_NO_MEMORY, "out of memory");
}

/* ---- opening ---- */

static enum tune_status check_device(const struct tune_network *n, const struct tune_options *o)
{
    if ((o && o->any_device) || device_desc_has(&n->t->device, &n->files.fingerprint))
        return TUNE_OK;
    return tune_fail(
        TUNE_OTHER_DEVICE, "%s was tuned on %s (%.12s); this one is %s (%.12s), and any_device was not asked for",
        n->files.tables.name, n->files.device, n->files.fingerprint.hex, n->t->device.name, n->t->fingerprint.hex);
}

static enum tune_status open_ops(struct tune_network *n)
{
    const struct exec_network *tables = &n->files.tables;
    enum exec_status s = EXEC_OK;
    struct exec_words words = {""};

    n->ops = calloc((size_t)tables->n_plans + 1, sizeof(*n->ops));
    if (!n->ops)
        return no_memory();
    for (int i = 0; i < tables->n_plans && s == EXEC_OK; i++) /* all: the executor asks the first for its session */
        s = exec_cl_op_open(n->t->session, tables->plans[i], &words, &n->ops[i]);
    if (s == EXEC_OK)
        s = exec_net_cl_open(n->context, tables, n->ops, &words, &n->net);
    return tune_fail_exec(s, &words);
}

enum tune_status tune_network_open_cl(const char *folder, cl_context context, cl_device_id device,
                                      const struct tune_options *options, struct tune_network **out)
{
    struct tune_options o = {.size = sizeof o};
    struct tune_network *n;
    enum tune_status s = TUNE_OK;

    if (!folder || !context || !device || !out)
        return tune_fail(TUNE_BAD_ARGUMENT,
                         "tune_network_open_cl: expected a bundle's folder, an OpenCL context, one of "
                         "its devices and where to give the network to");
    if (options)
        s = tune_take_sized("tune_options", options, &o, sizeof o);
    if (s == TUNE_OK && (o.key || o.fingerprint))
        s = tune_fail(TUNE_BAD_ARGUMENT,
                      "tune_network_open_cl: key and fingerprint choose records, and there are none");
    if (s != TUNE_OK)
        return s;
    n = calloc(1, sizeof *n);
    if (!n)
        return no_memory();
    s = tune_open_with(&tune_backend_cl, NULL, context, device, &o, &n->t);
    n->context = context; /* the session keeps it */
    if (s == TUNE_OK)
        s = network_files_read(folder, "opencl", &n->files);
    if (s == TUNE_OK)
        s = check_device(n, &o);
    if (s == TUNE_OK)
        s = open_ops(n);
    if (s == TUNE_OK)
        *out = n;
    else
        tune_network_close(n);
    return s;
}

void tune_network_close(struct tune_network *n)
{
    if (!n)
        return;
    exec_net_cl_close(n->net);
    for (int i = 0; n->ops && i < n->files.tables.n_plans; i++)
        exec_cl_op_close(n->ops[i]);
    free(n->ops);
    network_files_fini(&n->files);
    tune_release(n->t);
    free(n);
}

/* ---- telling ---- */

enum tune_status tune_network_about(const struct tune_network *n, struct tune_network_info *out)
{
    struct tune_network_info info;

    if (!n || !out)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_network_about: expected a network and where to write to");
    info = (struct tune_network_info){.name = n->files.tables.name,
                                      .device = n->files.device,
                                      .n_arguments = (size_t)n->files.tables.n_arguments,
                                      .n_weights = n->files.n_weights,
                                      .n_steps = (size_t)n->files.tables.n_steps};
    for (int i = 0; i < n->files.tables.n_steps; i++)
        info.time_ns += n->files.steps[i].time_ns;
    for (size_t i = 0; i < info.n_arguments; i++)
        info.n_inputs += n->files.arguments[i].role == TUNE_INPUT;
    return tune_give_sized("tune_network_info", &info, sizeof info, out);
}

enum tune_status tune_network_tensor(const struct tune_network *n, int is_weight, size_t i, struct tune_tensor *out)
{
    size_t most;

    if (!n || !out)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_network_tensor: expected a network and where to write to");
    most = is_weight ? n->files.n_weights : (size_t)n->files.tables.n_arguments;
    if (i >= most)
        return tune_fail(TUNE_BAD_ARGUMENT, "%s has %zu %s: there is no tensor %zu", n->files.tables.name, most,
                         is_weight ? "weights" : "inputs and outputs", i);
    return tune_give_sized("tune_tensor", is_weight ? &n->files.weights[i] : &n->files.arguments[i], sizeof *out, out);
}

/* ---- weights ---- */

enum tune_status tune_network_set_cl(struct tune_network *n, cl_command_queue queue, const char *layer,
                                     const char *name, const void *data, size_t n_bytes)
{
    struct exec_words words = {""};
    enum exec_status s;

    if (!n)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_network_set_cl: expected a network, not NULL");
    pthread_mutex_lock(&n->t->lock);
    s = exec_net_cl_set(n->net, queue, layer, name, data, n_bytes, &words);
    pthread_mutex_unlock(&n->t->lock);
    return tune_fail_exec(s, &words);
}

/* A tensor of `bin` by its line of weights.txt. */
static enum tune_status load_line(struct tune_network *n, cl_command_queue queue, char *line, FILE *bin)
{
    char layer[128], name[64];
    unsigned long n_bytes = 0;
    enum tune_status s;
    void *data;
    long at = 0;
    int end = 0;

    line[strcspn(line, "\r\n")] = '\0';
    if (sscanf(line, "%127s %63s %ld %lu %n", layer, name, &at, &n_bytes, &end) != 4 || line[end] || at < 0 || !n_bytes)
        return tune_fail(TUNE_BAD_ARGUMENT, "weights.txt: expected layer, name, offset, bytes, not '%.60s'", line);
    if (fseek(bin, 0, SEEK_END) != 0 || ftell(bin) < at || n_bytes > (unsigned long)(ftell(bin) - at))
        return tune_fail(TUNE_BAD_ARGUMENT, "weights.bin: no %lu bytes at %ld, which %s %s is to have", n_bytes, at,
                         layer, name);
    data = malloc(n_bytes);
    if (!data)
        return no_memory();
    s = fseek(bin, at, SEEK_SET) == 0 && fread(data, 1, n_bytes, bin) == n_bytes
            ? tune_network_set_cl(n, queue, layer, name, data, n_bytes)
            : tune_fail(TUNE_BAD_ARGUMENT, "weights.bin: cannot read %lu bytes at %ld", n_bytes, at);
    free(data);
    return s;
}

static FILE *open_file(const char *folder, const char *name, const char *mode)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path ? fopen(path, mode) : NULL;
}

enum tune_status tune_network_load_cl(struct tune_network *n, cl_command_queue queue, const char *folder)
{
    enum tune_status s = TUNE_OK;
    FILE *list, *bin;
    char line[512];

    if (!n || !queue || !folder)
        return tune_fail(TUNE_BAD_ARGUMENT,
                         "tune_network_load_cl: expected a network, a queue and a folder of weights");
    list = open_file(folder, "weights.txt", "re");
    bin = open_file(folder, "weights.bin", "rbe");
    if (!list || !bin)
        s = tune_fail(TUNE_BAD_ARGUMENT, "%s: expected weights.txt and weights.bin, as tune import writes them",
                      folder);
    while (s == TUNE_OK && fgets(line, sizeof line, list))
        s = load_line(n, queue, line, bin);
    if (list)
        fclose(list);
    if (bin)
        fclose(bin);
    return s;
}

/* ---- running ---- */

/* Is each argument's buffer large enough, and of the queue's context? What a step reads is checked by the executor,
 * too, but not each is read. */
static enum tune_status check_arguments(const struct tune_network *n, cl_command_queue queue, const cl_mem *arguments,
                                        size_t n_arguments)
{
    cl_context wanted = NULL;

    if (clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof wanted, &wanted, NULL) != CL_SUCCESS)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_network_run_cl: expected an OpenCL queue");
    if (n_arguments != (size_t)n->files.tables.n_arguments || !arguments)
        return tune_fail(TUNE_BAD_ARGUMENT, "%s: %zu buffers given, expected %d: its inputs, then its outputs",
                         n->files.tables.name, arguments ? n_arguments : 0, n->files.tables.n_arguments);
    for (size_t i = 0; i < n_arguments; i++) {
        cl_context context = NULL;
        size_t n_bytes = 0;

        if (!arguments[i] ||
            clGetMemObjectInfo(arguments[i], CL_MEM_SIZE, sizeof n_bytes, &n_bytes, NULL) != CL_SUCCESS ||
            n_bytes < n->files.arguments[i].n_bytes)
            return tune_fail(TUNE_BAD_ARGUMENT, "%s: %s: expected an OpenCL buffer of %llu bytes", n->files.tables.name,
                             n->files.arguments[i].name, n->files.arguments[i].n_bytes);
        if (clGetMemObjectInfo(arguments[i], CL_MEM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS ||
            context != wanted)
            return tune_fail(TUNE_BAD_ARGUMENT, "%s: %s: the buffer is of another context than the queue",
                             n->files.tables.name, n->files.arguments[i].name);
    }
    return TUNE_OK;
}

enum tune_status tune_network_run_cl(struct tune_network *n, cl_command_queue queue, const cl_mem *arguments,
                                     size_t n_arguments)
{
    struct exec_words words = {""};
    enum exec_status failed;
    enum tune_status s;

    if (!n || !queue)
        return tune_fail(TUNE_BAD_ARGUMENT, "tune_network_run_cl: expected a network and a queue");
    s = check_arguments(n, queue, arguments, n_arguments);
    if (s != TUNE_OK)
        return s;
    pthread_mutex_lock(&n->t->lock);
    failed = exec_net_cl_run(n->net, queue, arguments, &words);
    pthread_mutex_unlock(&n->t->lock);
    return tune_fail_exec(failed, &words);
}
