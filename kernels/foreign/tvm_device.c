/* Targets of TVM's and the devices behind them. Descriptions are from data sheets (ARM's of the Mali-T860, the CUDA C++
 * programming guide by compute capability, NVIDIA's product pages for multiprocessors and memory), never measured. */
#include "kernels/foreign/tvm.h"
#include "runtime/cuda_arch.h"

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

/* What every CUDA device that TVM meets has: sm_52, with int8 products by dp4a since those tasks ask for them. */
static void describe_cuda(int sm, int units, struct device_desc *out)
{
    cuda_arch_describe(cuda_arch_find(sm), units, out);
}

static void describe_model(size_t i, struct device_desc *out)
{
    if (models[i].sm)
        describe_cuda(models[i].sm, models[i].units, out);
    else
        describe_mali(out);
    snprintf(out->name, sizeof out->name, "%s", models[i].name);
    out->units = models[i].units;
    out->global_bytes = (int64_t)models[i].memory_gib << 30;
    out->max_alloc_bytes = out->global_bytes / 4;
    out->cache_bytes = models[i].sm ? (int64_t)models[i].cache_kib << 10 : 0;
}

enum err tvm_device(const char *target, struct device_desc *out, char key[TVM_KEY_BYTES], bool *known, struct why *why)
{
    char kind[32] = "", model[48] = "", device[32] = "";
    bool mali, cuda;

    target_word(target, "", kind, sizeof kind);
    target_word(target, "model", model, sizeof model);
    target_word(target, "device", device, sizeof device);
    cuda = strcmp(kind, "cuda") == 0;
    mali = strcmp(kind, "opencl") == 0 && strcmp(device, "mali") == 0;
    *known = false;
    for (size_t i = 0; i < N_MODELS; i++)
        if (strcmp(models[i].model, model) == 0 && (models[i].sm ? cuda : mali)) {
            *known = true;
            describe_model(i, out);
            snprintf(key, TVM_KEY_BYTES, "%s", models[i].key);
            return ERR_OK;
        }
    if (!mali && !cuda)
        return why_set(why, ERR_UNSUPPORTED, "target \"%.80s\": expected cuda or opencl -device=mali", target);
    if (mali)
        describe_mali(out);
    else
        describe_cuda(61, 20, out);
    snprintf(out->name, sizeof out->name, "%s %s", mali ? "Mali" : "CUDA", *model ? model : "of no named model");
    snprintf(key, TVM_KEY_BYTES, "%s", mali ? "mali" : "cuda");
    return ERR_OK;
}

void tvm_target(const struct device_desc *d, char *out, size_t n_out)
{
    const bool cuda = strcmp(d->api, "cuda") == 0, mali = d->kind == DEVICE_MALI;
    const char *model = NULL;

    for (size_t i = 0; i < N_MODELS && (cuda || mali); i++) {
        const char *at = strstr(d->name, models[i].name);

        if (at && at[strlen(models[i].name)] == '\0' && (models[i].sm == d->sm))
            model = models[i].model;
    }
    *out = '\0';
    if (cuda)
        snprintf(out, n_out, model ? "cuda -model=%s" : "cuda", model);
    else if (mali)
        snprintf(out, n_out, model ? "opencl -device=mali -model=%s" : "opencl -device=mali", model);
}
