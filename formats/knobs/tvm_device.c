/* SPDX-License-Identifier: MIT */
/* Targets of TVM's and the devices behind them. Descriptions are from data sheets (ARM's of the Mali-T860, the CUDA C++
 * programming guide by compute capability, NVIDIA's product pages for multiprocessors and memory), never measured. */
#include "formats/knobs/tvm.h"
#include "runtime/cuda_arch.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *model, *key, *name;
    int sm, units; /* sm 0 = a Mali */
    int memory_gib;
    int cache_kib;
} models[] = {
    {"rk3399", "rk3399-mali", "Mali-T860", 0, 4, 2, 256},
    {"1080", "gtx1080", "GeForce GTX 1080", 61, 20, 8, 2048},
    {"1080ti", "gtx1080ti", "GeForce GTX 1080 Ti", 61, 28, 11, 2816},
    {"titanx", "titanx", "GeForce GTX TITAN X", 52, 24, 12, 3072},
    {"v100", "v100", "Tesla V100", 70, 80, 16, 6144},
    {"t4", "t4", "Tesla T4", 75, 40, 16, 4096},
    {"tx2", "tx2", "Jetson TX2", 62, 2, 8, 512},
    {"jetson-nano", "jetson-nano", "Jetson Nano", 53, 1, 4, 256},
};

#define N_MODELS (sizeof models / sizeof models[0])

/* One word of a target: "-key=value" by key, or the first word, the kind, by "". */
static bool target_word(const char *target, const char *key, char *out, size_t n_out)
{
    const size_t n_key = strlen(key);

    for (const char *at = target; *at;) {
        const size_t n = strcspn(at, " ");
        const char *value = at;
        size_t n_value = n;

        if (*key && n > n_key + 2 && at[0] == '-' && strncmp(at + 1, key, n_key) == 0 && at[n_key + 1] == '=') {
            value = at + n_key + 2;
            n_value = n - n_key - 2;
        } else if (*key || n == 0 || at[0] == '-') {
            n_value = 0;
        }
        if (n_value && n_value < n_out) {
            memcpy(out, value, n_value);
            out[n_value] = '\0';
            return true;
        }
        at += n + strspn(at + n, " ");
    }
    return false;
}

static void describe_mali(struct device_desc *out)
{
    *out = (struct device_desc){.api = "opencl",
                                .kind = DEVICE_MALI,
                                .platform = "ARM Platform",
                                .vendor = "ARM",
                                .name = "Mali",
                                .extensions = "cl_khr_fp16",
                                .units = 4,
                                .max_work_group = 256,
                                .max_local = {256, 256, 256},
                                .local_bytes = 32768,
                                .constant_bytes = 65536,
                                .global_bytes = (int64_t)2 << 30,
                                .max_alloc_bytes = (int64_t)1 << 29,
                                .vector_bits = 128,
                                .fp16 = true,
                                .shares_host = true};
}

static void describe_model(size_t i, struct device_desc *out)
{
    if (models[i].sm)
        cuda_arch_describe(cuda_arch_find(models[i].sm), models[i].units, out);
    else
        describe_mali(out);
    snprintf(out->name, sizeof out->name, "%s", models[i].name);
    out->units = models[i].units;
    out->global_bytes = (int64_t)models[i].memory_gib << 30;
    out->max_alloc_bytes = out->global_bytes / 4;
    out->cache_bytes = models[i].sm ? (int64_t)models[i].cache_kib << 10 : 0;
}

/* Of an OpenCL device that is no Mali; TVM's target for it assumes as much. */
static void describe_opencl(struct device_desc *out)
{
    *out = (struct device_desc){.api = "opencl",
                                .kind = DEVICE_GPU,
                                .units = 16,
                                .max_work_group = 1024,
                                .max_local = {1024, 1024, 1024},
                                .local_bytes = 49152,
                                .constant_bytes = 65536,
                                .global_bytes = (int64_t)4 << 30,
                                .max_alloc_bytes = (int64_t)1 << 30,
                                .vector_bits = 128};
}

/* Kinds of targets, and what a device of that kind has at least. CUDA: sm_61, for its products of int8. */
static enum err describe_kind(const char *kind, const char *device, const char *model, struct device_desc *out,
                              char key[TVM_KEY_BYTES])
{
    const char *name = "CUDA device";

    snprintf(key, TVM_KEY_BYTES, "%s", *model ? model : kind);
    if (strcmp(kind, "cuda") == 0) {
        cuda_arch_describe(cuda_arch_find(61), 20, out);
    } else if (strcmp(kind, "opencl") == 0 && strcmp(device, "mali") == 0) {
        name = "Mali";
        describe_mali(out);
        if (!*model)
            snprintf(key, TVM_KEY_BYTES, "mali");
    } else if (strcmp(kind, "opencl") == 0) {
        name = "OpenCL device";
        describe_opencl(out);
    } else {
        return ERR_UNSUPPORTED;
    }
    snprintf(out->name, sizeof out->name, "%s%s%s", name, *model ? " " : "", model);
    return ERR_OK;
}

enum err tvm_device(const char *target, struct device_desc *out, char key[TVM_KEY_BYTES], bool *known, struct why *why)
{
    char kind[32] = "", model[48] = "", device[32] = "";

    target_word(target, "", kind, sizeof kind);
    target_word(target, "model", model, sizeof model);
    target_word(target, "device", device, sizeof device);
    *known = false;
    if (describe_kind(kind, device, model, out, key))
        return why_set(why, ERR_UNSUPPORTED, "target \"%.80s\": expected cuda, opencl or opencl -device=mali", target);
    for (size_t i = 0; i < N_MODELS; i++)
        if (strcmp(models[i].model, model) == 0 && (models[i].sm ? out->sm > 0 : out->kind == DEVICE_MALI)) {
            *known = true;
            describe_model(i, out);
            snprintf(key, TVM_KEY_BYTES, "%s", models[i].key);
        }
    return ERR_OK;
}

/* TVM's name of a model, by ours. */
static const char *model_of(const struct device_desc *d)
{
    for (size_t i = 0; i < N_MODELS; i++) {
        const size_t n = strlen(models[i].name), n_name = strlen(d->name);

        if (models[i].sm == d->sm && n_name >= n && strcmp(d->name + n_name - n, models[i].name) == 0)
            return models[i].model;
    }
    return NULL;
}

void tvm_target(const struct device_desc *d, const char *task, const char *key, char *out, size_t n_out)
{
    const char *dot = strrchr(task, '.'), *model = model_of(d);
    const bool mali = dot && strcmp(dot, ".mali") == 0;
    char slug[TVM_KEY_BYTES];
    size_t n = 0;

    for (const char *from = *key ? key : d->name; *from && n + 1 < sizeof slug; from++)
        slug[n++] = (char)(isalnum((unsigned char)*from) ? tolower((unsigned char)*from) : '-');
    slug[n] = '\0';
    snprintf(out, n_out, "%s -model=%s",
             mali                          ? "opencl -device=mali"
             : strcmp(d->api, "cuda") == 0 ? "cuda"
                                           : "opencl",
             model ? model
             : n   ? slug
                   : "unknown");
}
