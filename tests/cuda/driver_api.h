/* SPDX-License-Identifier: MIT */
/* driver_api.h - the part of the CUDA driver API that the emulated driver has. Names, order of parameters and numbers
 * are NVIDIA's interface; see its public reference for what the functions do. */
#ifndef TUNE_TESTS_CUDA_DRIVER_API_H
#define TUNE_TESTS_CUDA_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph, *CUgraphExec;
typedef struct {
    char bytes[16];
} CUuuid;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_ASSERT = 710,
    CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
    CUDA_ERROR_CAPTURED_EVENT = 907,
};

#define API __attribute__((visibility("default")))

/* Beside CUDA's calls: the barriers of kernels' texts, counted from 0 in the order of the text. Lent, for the process
 * and those that it forks; noted from the first call on. */
#define EMULATED_MAX_BARRIERS 256
struct emulated_barriers {
    int left_out;                     /* this one nobody waits at, as if it were not written; -1 = none */
    int lines[EMULATED_MAX_BARRIERS]; /* of the source, of those that a block has come to; 0 = not yet */
    int times[EMULATED_MAX_BARRIERS]; /* at the most, that a block has come to it */
};
API struct emulated_barriers *emulatedBarriers(void); /* NULL without memory */

API CUresult cuInit(unsigned flags);
API CUresult cuDriverGetVersion(int *version);
API CUresult cuGetExportTable(const void **table, const void *id);
API CUresult cuGetErrorName(CUresult e, const char **name);
API CUresult cuGetErrorString(CUresult e, const char **text);
API CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status);
API CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);

API CUresult cuDeviceGet(CUdevice *device, int ordinal);
API CUresult cuDeviceGetCount(int *n);
API CUresult cuDeviceGetName(char *name, int n, CUdevice d);
API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice d);
API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice d);
API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice d);
API CUresult cuDeviceTotalMem_v2(size_t *n_bytes, CUdevice d);
API CUresult cuDeviceGetPCIBusId(char *id, int n, CUdevice d);

API CUresult cuCtxCreate_v2(CUcontext *c, unsigned flags, CUdevice d);
API CUresult cuCtxCreate_v4(CUcontext *c, void *params, unsigned flags, CUdevice d);
API CUresult cuCtxDestroy_v2(CUcontext c);
API CUresult cuCtxSetCurrent(CUcontext c);
API CUresult cuCtxGetCurrent(CUcontext *c);
API CUresult cuCtxPushCurrent_v2(CUcontext c);
API CUresult cuCtxPopCurrent_v2(CUcontext *c);
API CUresult cuCtxGetDevice(CUdevice *d);
API CUresult cuCtxSynchronize(void);
API CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d);
API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d);

API CUresult cuMemGetInfo_v2(size_t *n_free, size_t *n_total);
API CUresult cuMemAlloc_v2(CUdeviceptr *to, size_t n_bytes);
API CUresult cuMemFree_v2(CUdeviceptr at);
API CUresult cuMemHostAlloc(void **to, size_t n_bytes, unsigned flags);
API CUresult cuMemAllocHost_v2(void **to, size_t n_bytes);
API CUresult cuMemFreeHost(void *at);
API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n_bytes);
API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n_bytes);
API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n_bytes);
API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n_bytes, CUstream s);
API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n_bytes, CUstream s);
API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n_bytes, CUstream s);
API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n);
API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n);
API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n);
API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream s);
API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream s);
API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream s);

API CUresult cuModuleLoadData(CUmodule *m, const void *image);
API CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, int *options, void **values);
API CUresult cuModuleUnload(CUmodule m);
API CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name);
API CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *n_bytes, CUmodule m, const char *name);
API CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f);
API CUresult cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *n_bytes);
API CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value);
API CUresult cuFuncSetCacheConfig(CUfunction f, int config);
API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int n_threads, size_t dynamic_bytes);
API CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned dynamic_bytes, CUstream s, void **params, void **extra);
API CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                       unsigned bz, unsigned dynamic_bytes, CUstream s, void **params);

API CUresult cuStreamCreate(CUstream *s, unsigned flags);
API CUresult cuStreamCreateWithPriority(CUstream *s, unsigned flags, int priority);
API CUresult cuStreamDestroy_v2(CUstream s);
API CUresult cuStreamSynchronize(CUstream s);
API CUresult cuStreamQuery(CUstream s);
API CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags);
API CUresult cuEventCreate(CUevent *e, unsigned flags);
API CUresult cuEventDestroy_v2(CUevent e);
API CUresult cuEventRecord(CUevent e, CUstream s);
API CUresult cuEventSynchronize(CUevent e);
API CUresult cuEventQuery(CUevent e);
API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to);
API CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to);

API CUresult cuStreamBeginCapture_v2(CUstream s, int mode);
API CUresult cuStreamEndCapture(CUstream s, CUgraph *g);
API CUresult cuStreamIsCapturing(CUstream s, int *status);
API CUresult cuGraphInstantiateWithFlags(CUgraphExec *x, CUgraph g, uint64_t flags);
API CUresult cuGraphInstantiate_v2(CUgraphExec *x, CUgraph g, void *node, char *log, size_t n);
API CUresult cuGraphUpload(CUgraphExec x, CUstream s);
API CUresult cuGraphLaunch(CUgraphExec x, CUstream s);
API CUresult cuGraphExecDestroy(CUgraphExec x);
API CUresult cuGraphDestroy(CUgraph g);

#endif
