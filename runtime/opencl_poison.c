/* SPDX-License-Identifier: MIT */
/* opencl_poison.c - local memory starts with what it held last: a kernel before the one on trial fills it. Drivers that
 * clear it, or give groups another place each time, lose nothing by it. */
#include "runtime/opencl.h"

#define GROUPS_PER_UNIT 16  /* so that every unit gets one */
#define GROUPS_PER_THREAD 2 /* they wait */
#define GPU_GROUP 64

/* Volatile: nobody reads what is stored. A CPU's threads wait for one another, or one that is awake would take all the
 * groups; the first that has waited for some 10 ms lets all go on. */
static const char source[] =
    "__kernel void poison(volatile __local uint *at, uint n, uint value, volatile __global int *arrived, int all)\n"
    "{\n"
    "    for (uint i = get_local_id(0); i < n; i += get_local_size(0))\n"
    "        at[i] = value;\n"
    "    if (all > 1) {\n"
    "        atomic_inc(arrived);\n"
    "        for (int i = 0; i < 3000000 && *arrived < all; i++)\n"
    "            if (i == 2999999)\n"
    "                atomic_add(arrived, all);\n"
    "    }\n"
    "}\n";

static void build(struct device *d)
{
    const char *text = source;
    const size_t n = sizeof source - 1;
    cl_int error = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(d->context, 1, &text, &n, &error);

    if (error == CL_SUCCESS && clBuildProgram(program, 1, &d->id, "-cl-opt-disable", NULL, NULL) == CL_SUCCESS)
        d->arrived = clCreateBuffer(d->context, CL_MEM_READ_WRITE, sizeof(cl_int), NULL, &error);
    if (d->arrived)
        d->poison = program;
    else if (program)
        clReleaseProgram(program);
}

static cl_int threads_of(const struct device *d)
{
    return (cl_int)(d->desc.threads > 0 ? d->desc.threads : d->desc.units > 0 ? d->desc.units : 1);
}

static cl_int set_args(const struct device *d, cl_kernel kernel, size_t n, int byte)
{
    const cl_uint words = (cl_uint)(n / 4), value = 0x01010101u * (cl_uint)byte;
    const cl_int all = d->desc.kind == DEVICE_CPU ? threads_of(d) : 1;
    cl_int error = clSetKernelArg(kernel, 0, n, NULL);

    if (error == CL_SUCCESS)
        error = clSetKernelArg(kernel, 1, sizeof words, &words);
    if (error == CL_SUCCESS)
        error = clSetKernelArg(kernel, 2, sizeof value, &value);
    if (error == CL_SUCCESS)
        error = clSetKernelArg(kernel, 3, sizeof d->arrived, &d->arrived);
    return error == CL_SUCCESS ? clSetKernelArg(kernel, 4, sizeof all, &all) : error;
}

cl_int opencl_poison_local(struct device *d, cl_command_queue queue, size_t n, int byte)
{
    const bool cpu = d->desc.kind == DEVICE_CPU;
    const size_t local = cpu ? 1 : GPU_GROUP;
    const size_t global = local * (cpu ? GROUPS_PER_THREAD : GROUPS_PER_UNIT) * (size_t)threads_of(d);
    const cl_int none = 0;
    cl_int error = CL_SUCCESS;
    cl_kernel kernel;

    if (!d->poison_tried)
        build(d);
    d->poison_tried = true;
    if (!d->poison)
        return CL_SUCCESS;
    kernel = clCreateKernel(d->poison, "poison", &error);
    if (error != CL_SUCCESS)
        return error;
    error = set_args(d, kernel, n, byte);
    if (error == CL_SUCCESS)
        error = clEnqueueFillBuffer(queue, d->arrived, &none, sizeof none, 0, sizeof none, 0, NULL, NULL);
    if (error == CL_SUCCESS)
        error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    clReleaseKernel(kernel); /* kept by the driver until it has run */
    return error;
}

void opencl_poison_close(struct device *d)
{
    if (d->poison)
        clReleaseProgram(d->poison);
    if (d->arrived)
        clReleaseMemObject(d->arrived);
    d->poison = NULL;
    d->arrived = NULL;
}
