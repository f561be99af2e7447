/* SPDX-License-Identifier: MIT */
/* cl_calls.h - the OpenCL calls in use, from libOpenCL.so.1 loaded at run time: one binary starts anywhere and says
 * what is missing. Nothing of the tree is linked with the library; a bundle, which has no part of this, is. */
#ifndef TUNE_EXEC_CL_CALLS_H
#define TUNE_EXEC_CL_CALLS_H

#include "exec/plan.h"

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#define OPENCL_CALLS(X)                                                                                                \
    X(clBuildProgram)                                                                                                  \
    X(clCreateBuffer)                                                                                                  \
    X(clCreateCommandQueue)                                                                                            \
    X(clCreateContext)                                                                                                 \
    X(clCreateKernel)                                                                                                  \
    X(clCreateProgramWithBinary)                                                                                       \
    X(clCreateProgramWithSource)                                                                                       \
    X(clCreateSubBuffer)                                                                                               \
    X(clEnqueueBarrierWithWaitList)                                                                                    \
    X(clEnqueueCopyBuffer)                                                                                             \
    X(clEnqueueCopyBufferRect)                                                                                         \
    X(clEnqueueFillBuffer)                                                                                             \
    X(clEnqueueMapBuffer)                                                                                              \
    X(clEnqueueMarkerWithWaitList)                                                                                     \
    X(clEnqueueNDRangeKernel)                                                                                          \
    X(clEnqueueReadBuffer)                                                                                             \
    X(clEnqueueUnmapMemObject)                                                                                         \
    X(clEnqueueWriteBuffer)                                                                                            \
    X(clFinish)                                                                                                        \
    X(clFlush)                                                                                                         \
    X(clGetCommandQueueInfo)                                                                                           \
    X(clGetContextInfo)                                                                                                \
    X(clGetDeviceIDs)                                                                                                  \
    X(clGetDeviceInfo)                                                                                                 \
    X(clGetEventInfo)                                                                                                  \
    X(clGetEventProfilingInfo)                                                                                         \
    X(clGetKernelInfo)                                                                                                 \
    X(clGetKernelWorkGroupInfo)                                                                                        \
    X(clGetMemObjectInfo)                                                                                              \
    X(clGetPlatformIDs)                                                                                                \
    X(clGetPlatformInfo)                                                                                               \
    X(clGetProgramBuildInfo)                                                                                           \
    X(clGetProgramInfo)                                                                                                \
    X(clReleaseCommandQueue)                                                                                           \
    X(clReleaseContext)                                                                                                \
    X(clReleaseEvent)                                                                                                  \
    X(clReleaseKernel)                                                                                                 \
    X(clReleaseMemObject)                                                                                              \
    X(clReleaseProgram)                                                                                                \
    X(clRetainCommandQueue)                                                                                            \
    X(clRetainContext)                                                                                                 \
    X(clRetainEvent)                                                                                                   \
    X(clRetainMemObject)                                                                                               \
    X(clSetKernelArg)

struct opencl_calls {
#define X(name) __typeof__(&name) name;
    OPENCL_CALLS(X)
#undef X
};
extern struct opencl_calls opencl_calls;

/* Finds all of them, once a process: those that are there already (a library preloaded, as Oclgrind's is), else in
 * TUNE_OPENCL_LIBRARY or libOpenCL.so.1. Thread-safe. EXEC_NO_DEVICE, naming what is missing and the package that has
 * it. Before it no call may be made. */
enum exec_status exec_cl_load(struct exec_words *words);

/* From here on the calls' names mean what was loaded. */
#define clBuildProgram opencl_calls.clBuildProgram
#define clCreateBuffer opencl_calls.clCreateBuffer
#define clCreateCommandQueue opencl_calls.clCreateCommandQueue
#define clCreateContext opencl_calls.clCreateContext
#define clCreateKernel opencl_calls.clCreateKernel
#define clCreateProgramWithBinary opencl_calls.clCreateProgramWithBinary
#define clCreateProgramWithSource opencl_calls.clCreateProgramWithSource
#define clCreateSubBuffer opencl_calls.clCreateSubBuffer
#define clEnqueueBarrierWithWaitList opencl_calls.clEnqueueBarrierWithWaitList
#define clEnqueueCopyBuffer opencl_calls.clEnqueueCopyBuffer
#define clEnqueueCopyBufferRect opencl_calls.clEnqueueCopyBufferRect
#define clEnqueueFillBuffer opencl_calls.clEnqueueFillBuffer
#define clEnqueueMapBuffer opencl_calls.clEnqueueMapBuffer
#define clEnqueueMarkerWithWaitList opencl_calls.clEnqueueMarkerWithWaitList
#define clEnqueueNDRangeKernel opencl_calls.clEnqueueNDRangeKernel
#define clEnqueueReadBuffer opencl_calls.clEnqueueReadBuffer
#define clEnqueueUnmapMemObject opencl_calls.clEnqueueUnmapMemObject
#define clEnqueueWriteBuffer opencl_calls.clEnqueueWriteBuffer
#define clFinish opencl_calls.clFinish
#define clFlush opencl_calls.clFlush
#define clGetCommandQueueInfo opencl_calls.clGetCommandQueueInfo
#define clGetContextInfo opencl_calls.clGetContextInfo
#define clGetDeviceIDs opencl_calls.clGetDeviceIDs
#define clGetDeviceInfo opencl_calls.clGetDeviceInfo
#define clGetEventInfo opencl_calls.clGetEventInfo
#define clGetEventProfilingInfo opencl_calls.clGetEventProfilingInfo
#define clGetKernelInfo opencl_calls.clGetKernelInfo
#define clGetKernelWorkGroupInfo opencl_calls.clGetKernelWorkGroupInfo
#define clGetMemObjectInfo opencl_calls.clGetMemObjectInfo
#define clGetPlatformIDs opencl_calls.clGetPlatformIDs
#define clGetPlatformInfo opencl_calls.clGetPlatformInfo
#define clGetProgramBuildInfo opencl_calls.clGetProgramBuildInfo
#define clGetProgramInfo opencl_calls.clGetProgramInfo
#define clReleaseCommandQueue opencl_calls.clReleaseCommandQueue
#define clReleaseContext opencl_calls.clReleaseContext
#define clReleaseEvent opencl_calls.clReleaseEvent
#define clReleaseKernel opencl_calls.clReleaseKernel
#define clReleaseMemObject opencl_calls.clReleaseMemObject
#define clReleaseProgram opencl_calls.clReleaseProgram
#define clRetainCommandQueue opencl_calls.clRetainCommandQueue
#define clRetainContext opencl_calls.clRetainContext
#define clRetainEvent opencl_calls.clRetainEvent
#define clRetainMemObject opencl_calls.clRetainMemObject
#define clSetKernelArg opencl_calls.clSetKernelArg

#endif
