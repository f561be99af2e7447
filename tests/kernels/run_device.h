/* SPDX-License-Identifier: MIT */
/* run_device.h - what the tests of kernels on devices share: open devices of a backend, verification of a program. */
#ifndef TUNE_TESTS_KERNELS_RUN_DEVICE_H
#define TUNE_TESTS_KERNELS_RUN_DEVICE_H

#include "kernels/template.h"
#include "runtime/device.h"
#include "runtime/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 8

/* The devices that a test runs on. */
struct devices_under_test {
    const struct device_ops *ops;
    struct device *list[MAX_DEVICES];
    bool lost[MAX_DEVICES]; /* a kernel has broken it */
    int n;
};

/* Emulated GPUs of four architectures (tests/cuda), unless another driver is named, e.g.
 * TUNE_CUDA_LIBRARY=libcuda.so.1: then that one, and the machine's NVRTC. */
static inline void choose_cuda(void)
{
#ifdef EMULATED_CUDA
    if (getenv("TUNE_CUDA_LIBRARY"))
        return;
    setenv("TUNE_CUDA_LIBRARY", EMULATED_CUDA, 0);
    setenv("TUNE_NVRTC", EMULATED_NVRTC, 0);
    setenv("TUNE_NVRTC_VERSION", "12.8", 0); /* an emulated one that knows them all */
    setenv("TUNE_CUDA_SM", "61,75,80,90", 0);
#endif
}

/* "opencl": the first device, with one thread, for the other tests' sake. "cuda": all of them. False (and words on
 * stdout) when there is none. */
static inline bool open_devices(const char *backend, struct devices_under_test *d)
{
    const bool all = strcmp(backend, "cuda") == 0;
    struct why why = {""};

    setenv("POCL_MAX_PTHREAD_COUNT", "1", 0);
    if (all)
        choose_cuda();
    *d = (struct devices_under_test){.ops = device_find(backend)};
    for (int i = 0; d->ops && i < (all ? MAX_DEVICES : 1); i++) {
        char selector[16] = "";

        if (all)
            snprintf(selector, sizeof selector, "%d", i);
        if (d->ops->open(selector, &d->list[i], &why))
            break;
        d->n++;
    }
    if (!d->n)
        printf("skipped: %s\n", d->ops ? why.text : "not built in");
    return d->n > 0;
}

static inline void close_devices(struct devices_under_test *d)
{
    for (int i = 0; i < d->n; i++)
        d->ops->close(d->list[i]);
}

/* A kernel that went astray takes the context with it. */
static inline void lose_device(struct devices_under_test *d, int i)
{
    d->lost[i] = strcmp(d->ops->name, "cuda") == 0;
}

/* Before a kernel: a new context, where one has broken the old. A real driver may not give one until the process ends;
 * so on a GPU the parts are to be small (scripts/gpu_check.sh). */
static inline void want_device(struct devices_under_test *d, int i)
{
    char selector[16];
    struct why why = {""};

    if (!d->lost[i])
        return;
    snprintf(selector, sizeof selector, "%d", i);
    d->ops->close(d->list[i]);
    if (d->ops->open(selector, &d->list[i], &why)) {
        printf("FAILED: device %d is lost, the rest of this part was not run: %s\n", i, why.text);
        exit(1);
    }
    d->lost[i] = false;
}

/* While working on one template: TUNE_ONLY=conv2d/direct leaves the others out. */
static inline bool is_wanted(const char *template_id)
{
    const char *only = getenv("TUNE_ONLY");

    return !only || strcmp(only, template_id) == 0;
}

/* Replaces the first `from` in the program's source; false when there is none, or no memory. */
static inline bool patch_source(struct program *p, struct blobs *blobs, const char *from, const char *to)
{
    const struct blob *text = blobs_get(blobs, p->modules[0].source.hex);
    const char *begin = (const char *)text->data, *at = memmem(begin, text->n_bytes, from, strlen(from));
    struct buf out;
    bool ok;

    if (!at)
        return false;
    buf_init(&out, (size_t)1 << 20);
    buf_append(&out, begin, (size_t)(at - begin));
    buf_puts(&out, to);
    buf_append(&out, at + strlen(from), text->n_bytes - (size_t)(at - begin) - strlen(from));
    ok = !out.failed && !blobs_put(blobs, buf_text(&out), out.len, &p->modules[0].source);
    buf_fini(&out);
    return ok;
}

/* Loads and verifies; the error of either step. */
static inline enum err load_and_verify(const struct device_ops *ops, struct device *d, const struct program *p,
                                       const struct blobs *blobs, struct why *why)
{
    struct load_report report = {0};
    struct loaded *l = NULL;
    enum err e = ops->load(d, p, blobs, NULL, &l, &report, why);

    if (!e) {
        e = verify_program(ops, l, p, blobs, NULL, why);
        ops->unload(l);
    } else if (report.log) {
        printf("%s\n", report.log);
    }
    free(report.log);
    return e;
}

#endif
