/* SPDX-License-Identifier: MIT */
/* fake_opencl.h - OpenCL calls that do nothing but note what they were asked: takes the place of the loaded ones, so
 * that descriptions, builds, launches and releases are tested without a device, and each call can be made to fail. */
#ifndef TUNE_TESTS_RUNTIME_FAKE_OPENCL_H
#define TUNE_TESTS_RUNTIME_FAKE_OPENCL_H

#include "runtime/opencl.h"

#define FAKE_MAX_EVENTS 64
#define FAKE_MAX_NOTES 16384

/* What a device says; the address is its cl_device_id. */
struct fake_device {
    const char *vendor, *name, *driver, *extensions;
    cl_device_type type;
    cl_uint units, float_width, major, minor;
    size_t group, sides[3];
    cl_ulong local, constant, global, alloc;
    cl_bool unified;
    bool silent; /* every question is an error */
};

struct fake_platform {
    const char *name, *version;
    struct fake_device *devices[4];
    cl_uint n_devices;
};

extern struct fake_opencl {
    struct fake_platform *platforms[4];
    cl_uint n_platforms;
    char notes[FAKE_MAX_NOTES]; /* one line a call that makes, starts, writes or releases something */
    int n_calls, fail_at;       /* calls so far; which one fails, from 1 on, 0 = none */
    int n_live;                 /* objects made and not released */
    cl_int build_error;         /* of clBuildProgram */
    const char *log;            /* of a build */
    cl_ulong start_ns[FAKE_MAX_EVENTS], end_ns[FAKE_MAX_EVENTS]; /* of events, in the order in which they are made */
    cl_int state[FAKE_MAX_EVENTS];
    int n_events;
    cl_uint n_kernel_args;
    size_t kernel_group, kernel_fixed[3]; /* what the built kernel allows, and is made for */
    cl_ulong kernel_local;
} fake;

/* Puts all calls in place; everything else is empty, kernels take what they are given. */
void fake_opencl_begin(void);

/* A device of the backend that runs on the fake, described by hand. */
struct device fake_opencl_device(struct fake_device *d);

#endif
