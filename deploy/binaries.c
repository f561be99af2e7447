/* SPDX-License-Identifier: MIT */
#include "deploy/binaries.h"

#include "core/err.h"
#include "core/vec.h"
#include "exec/common.h"
#include "runtime/device.h"
#include "runtime/opencl_binary.h"
#include "deploy/cuda.h"
#include "deploy/set.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINARY_MAX_BYTES ((size_t)64 << 20)

/* ---- what is asked for ---- */

static enum err parse_word(const char *word, size_t n_word, struct deploy_ahead *w, struct why *why)
{
    char text[16] = "";
    int sm = 0, n_read = 0;
    (void)snprintf(text, sizeof text, "%.*s", (int)(n_word < sizeof text ? n_word : sizeof text - 1), word);
    if (strcmp(text, "device") == 0) {
        w->device = true;
        return ERR_OK;
    }
    if (sscanf(text, "sm_%3d%n", &sm, &n_read) != 1 || (size_t)n_read != n_word || sm < 10) {
        return why_set(why, ERR_INPUT, "--binaries: '%.*s': expected device, or an architecture as sm_75", (int)n_word,
                       word);
    }
    for (size_t i = 0; i < w->n_sms; i++)
        if (w->sms[i] == sm)
            return ERR_OK;
    if (w->n_sms == DEPLOY_MAX_SMS)
        return why_set(why, ERR_LIMIT, "--binaries: at most %d architectures", DEPLOY_MAX_SMS);
    assert(w->n_sms < DEPLOY_MAX_SMS);
    w->sms[w->n_sms++] = sm;
    return ERR_OK;
}

enum err deploy_ahead_parse(const char *text, struct deploy_ahead *out, struct why *why)
{
    enum err e = ERR_OK;
    memset(out, 0, sizeof *out);
    while (text && e == ERR_OK) {
        const size_t n = strcspn(text, ",");
        e = parse_word(text, n, out, why);
        text = text[n] == ',' ? text + n + 1 : NULL;
    }
    return e;
}

/* ---- code of a module ---- */

void deploy_code_fini(struct deploy_code *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free((void *)(uintptr_t)c->list[i].target);
        free((void *)(uintptr_t)c->list[i].bytes);
    }
    free(c->list);
    memset(c, 0, sizeof *c);
}

enum err deploy_code_add(struct deploy_code *c, const char *target, const void *bytes, size_t n_bytes)
{
    char *name = strdup(target);
    unsigned char *copy = malloc(n_bytes + 1);
    if (VEC_ROOM(c->list, c->cap, c->n + 1, VEC_ANY) != ERR_OK || !name || !copy) {
        free(name);
        free(copy);
        return ERR_NOMEM;
    }
    memcpy(copy, bytes, n_bytes);
    c->list[c->n].target = name;
    c->list[c->n].bytes = copy;
    c->list[c->n].n_bytes = n_bytes;
    c->list[c->n++].sum = exec_sum(copy, n_bytes);
    return ERR_OK;
}

const char *deploy_code_ending(const struct exec_binary *b)
{
    if (strncmp(b->target, "compute_", 8) == 0)
        return "ptx";
    return strncmp(b->target, "sm_", 3) == 0 ? "cubin" : "bin";
}

/* ---- OpenCL: one run of each layer, then what the driver has made ---- */

struct opened {
    const struct device_ops *ops;
    struct device *device;
};

/* `tuned`: what the records are of; PoCL's device depends on its number of threads. */
static enum err open_device(const char *name, const struct device_desc *tuned, struct opened *out, struct why *why)
{
    const char *selector = "";
    char threads[24];
    (void)snprintf(threads, sizeof threads, "%lld", (long long)tuned->threads);
    if (tuned->threads > 0)
        (void)setenv("POCL_MAX_PTHREAD_COUNT", threads, 1);
    enum err e = device_parse(name, &out->ops, &selector, why);
    if (e == ERR_OK && strcmp(out->ops->name, "opencl") != 0)
        e = why_set(why, ERR_INPUT, "--binaries device: the records are of OpenCL, --device is %s", name);
    return e == ERR_OK ? out->ops->open(selector, &out->device, why) : e;
}

/* Layers without a record of their own have none either. */
static struct sha256 fingerprint_of(const struct deploy_layer *l)
{
    return l->record.fingerprint.hex[0] != '\0' ? l->record.fingerprint : device_desc_fingerprint(&l->device);
}

static enum err check_device(const struct opened *o, const struct deploy_layer *l, struct why *why)
{
    const struct device_desc *here = o->ops->describe(o->device);
    const struct sha256 fingerprint = device_desc_fingerprint(here), tuned = fingerprint_of(l);
    if (device_desc_has(here, &tuned))
        return ERR_OK;
    return why_set(why, ERR_INPUT,
                   "--binaries device: the records are of '%s' (fingerprint %.12s), the device here is '%s' (%.12s): "
                   "deploy there, or leave --binaries out",
                   l->device.name, tuned.hex, here->name, fingerprint.hex);
}

static bool lacks_code(const struct deploy_set *s, const struct deploy_layer *l)
{
    for (size_t i = 0; i < l->program.n_modules; i++)
        if (s->modules[deploy_set_module(s, l, i)].code.n == 0)
            return true;
    return false;
}

static enum err take_binaries(struct deploy_set *s, const struct deploy_layer *l, struct loaded *loaded,
                              struct why *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < l->program.n_modules && e == ERR_OK; i++) {
        struct deploy_code *code = &s->modules[deploy_set_module(s, l, i)].code;
        const struct sha256 fingerprint = fingerprint_of(l);
        struct buf bytes;
        if (code->n > 0)
            continue;
        buf_init(&bytes, BINARY_MAX_BYTES);
        e = opencl_binary(loaded, i, &bytes, why);
        if (e == ERR_OK && deploy_code_add(code, fingerprint.hex, bytes.data, bytes.len) != ERR_OK)
            e = why_set(why, ERR_NOMEM, "out of memory");
        buf_fini(&bytes);
    }
    return e;
}

static enum err make_layer(struct deploy_set *s, const struct deploy_layer *l, const struct opened *o, struct why *why)
{
    struct loaded *loaded = NULL;
    struct load_report report = {0};
    enum err e = o->ops->load(o->device, &l->program, &l->blobs, NULL, &loaded, &report, why);
    if (e == ERR_OK) {
        e = o->ops->run(loaded, PHASE_PACK, NULL, NULL, why);
        e = e == ERR_OK ? o->ops->run(loaded, PHASE_RUN, NULL, NULL, why) : e;
        e = e == ERR_OK ? take_binaries(s, l, loaded, why) : e;
        o->ops->unload(loaded);
    }
    free(report.log);
    return e == ERR_OK ? ERR_OK : why_prefix(why, e, "%s", l->workload);
}

static enum err make_opencl(struct deploy_set *s, const struct deploy_makers *m, struct why *why)
{
    struct opened o = {NULL, NULL};
    enum err e = s->n_layers > 0 ? open_device(m->device, &s->layers[0].device, &o, why) : ERR_OK;
    for (size_t i = 0; i < s->n_layers && e == ERR_OK; i++) {
        e = check_device(&o, &s->layers[i], why);
        if (e == ERR_OK && lacks_code(s, &s->layers[i]))
            e = make_layer(s, &s->layers[i], &o, why);
    }
    if (o.device)
        o.ops->close(o.device);
    return e;
}

/* ---- CUDA ---- */

static enum err make_cuda(struct deploy_set *s, const struct deploy_ahead *w, const struct deploy_makers *m,
                          struct why *why)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->n_layers; i++) {
        const struct deploy_layer *l = &s->layers[i];
        for (size_t j = 0; j < l->program.n_modules && e == ERR_OK; j++) {
            struct deploy_code *code = &s->modules[deploy_set_module(s, l, j)].code;
            if (code->n == 0) {
                e = deploy_cuda_code(&l->program.modules[j], &l->blobs, &l->device, w, m->nvrtc, code, why);
                e = e == ERR_OK ? ERR_OK : why_prefix(why, e, "%s", l->workload);
            }
        }
    }
    return e;
}

enum err deploy_binaries_make(struct deploy_set *s, const struct deploy_ahead *w, const struct deploy_makers *m,
                              struct why *why)
{
    for (size_t i = 0; i < s->n_modules; i++)
        deploy_code_fini(&s->modules[i].code);
    if (deploy_set_is_cuda(s))
        return make_cuda(s, w, m, why);
    if (w->n_sms > 0)
        return why_set(why, ERR_UNSUPPORTED, "--binaries sm_%d: the records are of OpenCL, expected device", w->sms[0]);
    return w->device ? make_opencl(s, m, why) : ERR_OK;
}
