/* SPDX-License-Identifier: MIT */
/* write_sample_log LOG WORKLOAD... - a log of the first OpenCL device with a record of each workload. Exit code 77, and
 * words, without a device. */
#include "runtime/given.h"
#include "tests/libtune/sample_log.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdio.h>

static bool describe(struct device_desc *out)
{
    struct why why = {""};
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_int error;

    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return false;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (error != CL_SUCCESS || given_opencl(context, device, 0, out, &why))
        return false;
    return clReleaseContext(context) == CL_SUCCESS;
}

int main(int argc, char **argv)
{
    struct device_desc d;

    if (argc < 3)
        return 2;
    if (!describe(&d)) {
        puts("skipped: no OpenCL device");
        return 77;
    }
    for (int i = 2; i < argc; i++)
        if (!sample_log_add(argv[1], &d, argv[i], "", 5, 1e5))
            return 1;
    return 0;
}
