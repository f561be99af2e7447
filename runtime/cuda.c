/* SPDX-License-Identifier: MIT */
/* cuda.c - the CUDA backend: opens devices through the driver API, in each device's primary context: libraries over the
 * run time API share it, and a second context would be switched to. A kernel which breaks it breaks this process. */
#include "runtime/cuda.h"

#include "core/err.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SELECTOR 128

/* Which device, and how. */

struct choice {
    char device[MAX_SELECTOR]; /* an index, a UUID, or "" = the first */
    enum graph_mode graph;
    bool cold, clocks;
};

static enum err read_option(const char *word, struct choice *c, struct why *why)
{
    static const struct {
        const char *word;
        enum graph_mode mode;
    } modes[] = {{"graph=auto", GRAPH_AUTO}, {"graph=on", GRAPH_ON}, {"graph=off", GRAPH_OFF}};

    if (strcmp(word, "cold") == 0) {
        c->cold = true;
        return ERR_OK;
    }
    if (strcmp(word, "clocks") == 0) {
        c->clocks = true;
        return ERR_OK;
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(word, modes[i].word) == 0) {
            c->graph = modes[i].mode;
            return ERR_OK;
        }
    return why_set(why, ERR_INPUT, "unknown option '%s' of a CUDA device, expected cold, clocks or graph=auto|on|off",
                   word);
}

/* "INDEX or UUID[,OPTION]..." */
static enum err read_selector(const char *selector, struct choice *c, struct why *why)
{
    char text[MAX_SELECTOR], *rest = text, *word;
    enum err e = ERR_OK;

    *c = (struct choice){.graph = GRAPH_AUTO};
    if (snprintf(text, sizeof text, "%s", selector) >= (int)sizeof text)
        return why_set(why, ERR_INPUT, "'%.40s...' is too long for a CUDA device", selector);
    word = strsep(&rest, ",");
    snprintf(c->device, sizeof c->device, "%s", word);
    while (!e && (word = strsep(&rest, ",")))
        e = read_option(word, c, why);
    return e;
}

static enum err count_devices(int *n, struct why *why)
{
    enum err e = cuda_driver_load(why);
    cuda_result error;

    if (e)
        return e;
    error = cuda.cuDeviceGetCount(n);
    if (!error && *n == 0)
        error = CUDA_NO_DEVICE;
    return error ? cuda_failed(why, "counting CUDA devices", error) : ERR_OK;
}

static enum err describe_nth(int i, cuda_device *id, struct device_desc *d, char uuid[CUDA_UUID_BYTES], struct why *why)
{
    const cuda_result error = cuda.cuDeviceGet(id, i);

    return error ? cuda_failed(why, "cuDeviceGet", error) : cuda_describe_device(*id, d, uuid, why);
}

static enum err pick_by_uuid(const char *wanted, int n, struct device *d, struct why *why)
{
    for (int i = 0; i < n; i++)
        if (describe_nth(i, &d->id, &d->desc, d->uuid, NULL) == ERR_OK && strcasecmp(d->uuid, wanted) == 0)
            return ERR_OK;
    return why_set(why, ERR_NOT_FOUND, "no CUDA device %s (%d device%s)", wanted, n, n == 1 ? "" : "s");
}

static enum err pick(const char *wanted, struct device *d, struct why *why)
{
    char *end = NULL;
    long i = 0;
    int n = 0;
    enum err e = count_devices(&n, why);

    if (e)
        return e;
    if (strncasecmp(wanted, "GPU-", 4) == 0)
        return pick_by_uuid(wanted, n, d, why);
    if (*wanted)
        i = strtol(wanted, &end, 10);
    if (*wanted && (!isdigit((unsigned char)*wanted) || *end))
        return why_set(why, ERR_INPUT, "'%s' is no CUDA device, expected a number from 0 or a GPU-UUID", wanted);
    if (i >= n)
        return why_set(why, ERR_NOT_FOUND, "no CUDA device %ld: there %s %d, numbered from 0", i, n == 1 ? "is" : "are",
                       n);
    return describe_nth((int)i, &d->id, &d->desc, d->uuid, why);
}

/* Opening. */

/* Records of a cold cache and of a warm one are not to be mixed: the word is in the fingerprint. */
static enum err make_cold(struct device *d, struct why *why)
{
    const size_t n = strlen(d->desc.extensions);
    cuda_result error;

    d->flush_bytes = 2 * (size_t)(d->desc.cache_bytes > 0 ? d->desc.cache_bytes : (int64_t)32 << 20);
    error = cuda.cuMemAlloc_v2(&d->flush, d->flush_bytes);
    if (error)
        return cuda_failed(why, "memory to flush the cache with", error);
    snprintf(d->desc.extensions + n, sizeof d->desc.extensions - n, "%scold", n ? " " : "");
    return ERR_OK;
}

/* The last one to let go of the context takes all in it along. */
static void leave_context(struct device *d)
{
    if (d->flush && cuda.cuCtxSetCurrent(d->context) == 0)
        cuda.cuMemFree_v2(d->flush);
    if (cuda.cuDevicePrimaryCtxRelease_v2)
        cuda.cuDevicePrimaryCtxRelease_v2(d->id);
    else if (cuda.cuDevicePrimaryCtxRelease)
        cuda.cuDevicePrimaryCtxRelease(d->id);
}

static enum err take_context(struct device *d, struct why *why)
{
    cuda_result error = cuda.cuDevicePrimaryCtxRetain(&d->context, d->id);
    char what[256];

    if (!error)
        error = cuda.cuCtxSetCurrent(d->context);
    if (!error)
        return ERR_OK;
    snprintf(what, sizeof what, "a context on %s", d->desc.name);
    return cuda_failed(why, what, error);
}

static void close_device(struct device *d)
{
    const struct nvml_hold own = {0, 0};

    if (!d)
        return;
    (void)cuda_hold(d, &own, NULL);
    if (d->context)
        leave_context(d);
    nvrtc_close(d->nvrtc);
    free(d);
}

static enum err open_chosen(const struct choice *c, struct device *d, struct why *why)
{
    enum err e = pick(c->device, d, why);
    int khz = 0;

    if (!e)
        e = take_context(d, why);
    if (e)
        return e;
    d->graph = c->graph;
    d->gate.clock_khz = cuda.cuDeviceGetAttribute(&khz, CUDA_CLOCK_KHZ, d->id) == 0 && khz > 0 ? khz : 0;
    nvml_find(d->uuid, &d->nvml);
    if (c->clocks)
        e = nvml_hold(&d->nvml, &d->hold, why); /* as it is without us, whoever was killed before */
    d->may_hold = c->clocks && !e;
    return e || !c->cold ? e : make_cold(d, why);
}

static enum err cuda_open(const char *selector, struct device **out, struct why *why)
{
    struct choice c;
    struct device *d;
    enum err e = read_selector(selector, &c, why);

    if (e)
        return e;
    d = calloc(1, sizeof *d);
    e = d ? open_chosen(&c, d, why) : ERR_NOMEM;
    if (e)
        close_device(d);
    else
        *out = d;
    return e;
}

static enum err cuda_list(bool (*each)(const char *selector, const struct device_desc *d, void *arg), void *arg,
                          struct why *why)
{
    int n = 0;
    enum err e = count_devices(&n, why);

    for (int i = 0; !e && i < n; i++) {
        char selector[16], uuid[CUDA_UUID_BYTES];
        struct device_desc d;
        cuda_device id;

        snprintf(selector, sizeof selector, "%d", i);
        e = describe_nth(i, &id, &d, uuid, why);
        if (!e && !each(selector, &d, arg))
            break;
        if (e == ERR_UNSUPPORTED && n > 1)
            e = ERR_OK; /* an old card beside the one that is meant */
    }
    return e;
}

static const struct device_desc *cuda_describe(const struct device *d)
{
    return &d->desc;
}

static enum err cuda_sense(struct device *d, struct sense *out)
{
    nvml_sense(&d->nvml, out);
    return ERR_OK;
}

static const struct loaded *lost_by(const struct device *d)
{
    return d->lost_by;
}

enum err cuda_enter(const struct device *d, struct why *why)
{
    cuda_result error;

    if (d->lost_by)
        return why_set(why, ERR_DEVICE, "an earlier kernel has broken this process's CUDA context");
    error = cuda.cuCtxSetCurrent(d->context);
    return error ? cuda_failed(why, "cuCtxSetCurrent", error) : ERR_OK;
}

enum err cuda_blame(struct device *d, const struct loaded *l, struct why *why, const char *what, cuda_result error)
{
    if (cuda_is_sticky(error) && !d->lost_by)
        d->lost_by = l;
    return cuda_failed(why, what, error);
}

const struct device_ops cuda_device_ops = {
    .name = "cuda",
    .summary =
        "NVIDIA devices through libcuda.so.1 and NVRTC: cuda[:INDEX or GPU-UUID][,graph=auto|on|off][,cold][,clocks]",
    .list = cuda_list,
    .open = cuda_open,
    .close = close_device,
    .describe = cuda_describe,
    .check = cuda_check_limits,
    .compile = cuda_compile,
    .load = cuda_load,
    .unload = load_unload,
    .run = cuda_run,
    .write = load_write,
    .read = load_read,
    .poison = load_poison,
    .check_guards = load_check_guards,
    .sense = cuda_sense,
    .lost_by = lost_by,
};
