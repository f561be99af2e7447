/* run_opencl.h - what the OpenCL tests of kernels share: one open device, verification of a program. */
#ifndef TUNE_TESTS_KERNELS_RUN_OPENCL_H
#define TUNE_TESTS_KERNELS_RUN_OPENCL_H

#include "kernels/template.h"
#include "runtime/device.h"
#include "runtime/verify.h"

#include <stdlib.h>
#include <string.h>

/* The first OpenCL device; NULL (and words on stdout) when there is none. One thread, for the other tests' sake. */
static inline struct device *open_first(const struct device_ops *ops)
{
    struct device *d = NULL;
    struct why why = {""};

    setenv("POCL_MAX_PTHREAD_COUNT", "1", 0);
    if (ops->open("", &d, &why))
        printf("skipped: %s\n", why.text);
    return d;
}

/* Part i of n of a long test, from the argument "i/n" (no argument: all of it): true when the next item is of it. */
struct part {
    unsigned long i, n, at;
};

static inline struct part part_of(int argc, char **argv)
{
    struct part p = {0, 1, 0};

    if (argc > 1 && sscanf(argv[1], "%lu/%lu", &p.i, &p.n) != 2)
        p = (struct part){0, 1, 0};
    p.n += p.n == 0;
    return p;
}

static inline bool part_has_next(struct part *p)
{
    return p->at++ % p->n == p->i;
}

/* While working on one template: TUNE_ONLY=conv2d/direct leaves the others out. */
static inline bool is_wanted(const char *template_id)
{
    const char *only = getenv("TUNE_ONLY");

    return !only || strcmp(only, template_id) == 0;
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
