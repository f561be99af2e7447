/* SPDX-License-Identifier: MIT */
/* cuda.c - CUDA texts to PTX and cubins. */
#include "deploy/cuda.h"

#include "core/err.h"
#include "runtime/nvrtc.h"

#include <limits.h>
#include <stdio.h>

/* 12040 of "CUDA 12.4"; what is not told takes everything. */
static int driver_of(const struct device_desc *d)
{
    int major = 0, minor = 0;
    const int n = sscanf(d->platform_version, "CUDA %d.%d", &major, &minor);
    return n == 2 && major > 0 && major < 1000 ? 1000 * major + 10 * minor : INT_MAX;
}

static enum err build_with(struct nvrtc *n, const struct program_module *m, const struct blobs *blobs, int sm,
                           bool as_ptx, struct deploy_code *out, struct why *why)
{
    struct nvrtc_built built;
    char target[24];
    enum err e = nvrtc_build(n, m, blobs, sm, as_ptx, &built, why);
    (void)snprintf(target, sizeof target, "%s_%d", as_ptx ? "compute" : "sm", sm);
    if (e == ERR_OK && deploy_code_add(out, target, built.code.data, built.code.len) != ERR_OK)
        e = why_set(why, ERR_NOMEM, "out of memory");
    nvrtc_built_fini(&built);
    return e == ERR_OK ? ERR_OK : why_prefix(why, e, "code for %s", target);
}

static enum err build(const struct program_module *m, const struct blobs *blobs, int sm, int driver, bool as_ptx,
                      const char *nvrtc, struct deploy_code *out, struct why *why)
{
    struct nvrtc *n = NULL;
    enum err e = nvrtc_open_for(nvrtc, sm, driver, &n, why);
    if (e != ERR_OK)
        return why_prefix(why, e, "bundles of CUDA kernels hold PTX, which NVRTC makes");
    e = build_with(n, m, blobs, sm, as_ptx, out, why);
    nvrtc_close(n);
    return e;
}

enum err deploy_cuda_code(const struct program_module *m, const struct blobs *blobs, const struct device_desc *d,
                          const struct deploy_ahead *w, const char *nvrtc, struct deploy_code *out, struct why *why)
{
    const int own = (int)d->sm;
    if (m->lang != LANG_CUDA_C)
        return why_set(why, ERR_UNSUPPORTED, "module '%s' is not CUDA C", m->id);
    enum err e = build(m, blobs, own, driver_of(d), true, nvrtc, out, why);
    if (e == ERR_OK && w->device)
        e = build(m, blobs, own, driver_of(d), false, nvrtc, out, why);
    for (size_t i = 0; i < w->n_sms && e == ERR_OK; i++)
        if (!w->device || w->sms[i] != own)
            e = build(m, blobs, w->sms[i], INT_MAX, false, nvrtc, out, why);
    return e;
}
