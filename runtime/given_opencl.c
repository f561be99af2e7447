/* SPDX-License-Identifier: MIT */
#include "runtime/given.h"

#include "runtime/opencl.h"

#include <string.h>

enum err given_opencl(cl_context context, cl_device_id device, int64_t threads, struct device_desc *out,
                      struct why *why)
{
    cl_platform_id platform = NULL;
    enum err e = opencl_api_load(why);
    cl_int error;

    if (e)
        return e;
    error = clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    if (error != CL_SUCCESS)
        return opencl_failed(why, ERR_INPUT, "asking the OpenCL device for its platform", error);
    opencl_describe(platform, device, out);
    if (threads > 0 && out->threads)
        out->threads = threads;
    opencl_probe_dots(context, device, out);
    return ERR_OK;
}
