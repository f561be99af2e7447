/* SPDX-License-Identifier: MIT */
/* cuda_libs.h - NVIDIA's libraries as peers: loaded when the bench runs on a CUDA device, called on a stream of their
 * own in the context of our kernels, which is the primary one. Only built where the toolkit's headers are. */
#ifndef TUNE_TESTS_BENCH_OPS_CUDA_LIBS_H
#define TUNE_TESTS_BENCH_OPS_CUDA_LIBS_H

#include "tests/bench/ops/contender.h"

#include "runtime/cuda_gate.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <cusparse.h>

#define CUDART_FUNCTIONS(X)                                                                                            \
    X(cudaMalloc)                                                                                                      \
    X(cudaFree)                                                                                                        \
    X(cudaMemcpy)                                                                                                      \
    X(cudaMemset)                                                                                                      \
    X(cudaGetLastError)                                                                                                \
    X(cudaGetErrorString)                                                                                              \
    X(cudaStreamCreate)                                                                                                \
    X(cudaStreamDestroy)                                                                                               \
    X(cudaStreamSynchronize)                                                                                           \
    X(cudaStreamBeginCapture)                                                                                          \
    X(cudaStreamEndCapture)                                                                                            \
    X(cudaGraphInstantiate)                                                                                            \
    X(cudaGraphLaunch)                                                                                                 \
    X(cudaGraphExecDestroy)                                                                                            \
    X(cudaGraphDestroy)                                                                                                \
    X(cudaEventCreate)                                                                                                 \
    X(cudaEventRecord)                                                                                                 \
    X(cudaEventSynchronize)                                                                                            \
    X(cudaEventElapsedTime)                                                                                            \
    X(cudaEventDestroy)
#define CUBLAS_FUNCTIONS(X)                                                                                            \
    X(cublasCreate_v2)                                                                                                 \
    X(cublasDestroy_v2)                                                                                                \
    X(cublasSetStream_v2)                                                                                              \
    X(cublasSetWorkspace_v2)                                                                                           \
    X(cublasSetMathMode)                                                                                               \
    X(cublasSgemv_v2)                                                                                                  \
    X(cublasGemmStridedBatchedEx)                                                                                      \
    X(cublasGetStatusString)
#define CUDNN_FUNCTIONS(X)                                                                                             \
    X(cudnnCreate)                                                                                                     \
    X(cudnnDestroy)                                                                                                    \
    X(cudnnSetStream)                                                                                                  \
    X(cudnnGetErrorString)                                                                                             \
    X(cudnnGetVersion)                                                                                                 \
    X(cudnnCreateTensorDescriptor)                                                                                     \
    X(cudnnSetTensor4dDescriptor)                                                                                      \
    X(cudnnSetTensorNdDescriptor)                                                                                      \
    X(cudnnDestroyTensorDescriptor)                                                                                    \
    X(cudnnCreateFilterDescriptor)                                                                                     \
    X(cudnnSetFilter4dDescriptor)                                                                                      \
    X(cudnnDestroyFilterDescriptor)                                                                                    \
    X(cudnnCreateConvolutionDescriptor)                                                                                \
    X(cudnnSetConvolution2dDescriptor)                                                                                 \
    X(cudnnSetConvolutionGroupCount)                                                                                   \
    X(cudnnSetConvolutionReorderType)                                                                                  \
    X(cudnnSetConvolutionMathType)                                                                                     \
    X(cudnnDestroyConvolutionDescriptor)                                                                               \
    X(cudnnFindConvolutionForwardAlgorithmEx)                                                                          \
    X(cudnnConvolutionForward)                                                                                         \
    X(cudnnCreateRNNDescriptor)                                                                                        \
    X(cudnnDestroyRNNDescriptor)                                                                                       \
    X(cudnnSetRNNDescriptor_v8)                                                                                        \
    X(cudnnGetRNNWeightSpaceSize)                                                                                      \
    X(cudnnGetRNNTempSpaceSizes)                                                                                       \
    X(cudnnCreateRNNDataDescriptor)                                                                                    \
    X(cudnnDestroyRNNDataDescriptor)                                                                                   \
    X(cudnnSetRNNDataDescriptor)                                                                                       \
    X(cudnnRNNForward)                                                                                                 \
    X(cudnnCreateDropoutDescriptor)                                                                                    \
    X(cudnnDestroyDropoutDescriptor)                                                                                   \
    X(cudnnSetDropoutDescriptor)
#define CUSPARSE_FUNCTIONS(X)                                                                                          \
    X(cusparseCreate)                                                                                                  \
    X(cusparseDestroy)                                                                                                 \
    X(cusparseSetStream)                                                                                               \
    X(cusparseGetErrorString)                                                                                          \
    X(cusparseCreateCsr)                                                                                               \
    X(cusparseCreateDnMat)                                                                                             \
    X(cusparseDestroySpMat)                                                                                            \
    X(cusparseDestroyDnMat)                                                                                            \
    X(cusparseSpMM_bufferSize)                                                                                         \
    X(cusparseSpMM_preprocess)                                                                                         \
    X(cusparseSpMM)

struct cuda_libs {
#define X(name) __typeof__(&name) name;
    CUDART_FUNCTIONS(X) CUBLAS_FUNCTIONS(X) CUDNN_FUNCTIONS(X) CUSPARSE_FUNCTIONS(X)
#undef X
};
extern struct cuda_libs cuda_libs; /* functions of what has been loaded */

/* Loads one library (and the run time with it) once. ERR_NOT_FOUND with its name. */
enum err cuda_libs_runtime(struct why *why);
enum err cuda_libs_cublas(struct why *why);
enum err cuda_libs_cudnn(struct why *why);
enum err cuda_libs_cusparse(struct why *why);

#define CUDA_PEER_BUFFERS 12

/* What peers share: a stream, memory, and the work as a CUDA graph where it can be captured. */
struct cuda_peer {
    const struct task *task;
    cudaStream_t stream;
    cudaGraphExec_t graph; /* NULL: enqueued anew each time */
    cudaEvent_t from, to;
    struct cuda_gate gate;
    void *buffers[CUDA_PEER_BUFFERS]; /* freed with the peer */
    int n_buffers;
    float *y; /* plain f32 output, lent from buffers; NULL = not the task's data */
    enum err (*enqueue)(struct cuda_peer *p, struct why *why);
    void (*fini)(struct cuda_peer *p); /* of the library's own things; may be NULL */
};

/* Does the task run on a CUDA device, and is its dtype one of `dtypes` (bits)? ERR_UNSUPPORTED. */
enum err cuda_peer_fits(const struct task *t, unsigned dtypes, struct why *why);

/* Makes stream and events of a zeroed peer, and the contender's functions. out->own is `p`, freed by out->fini. */
enum err cuda_peer_begin(struct cuda_peer *p, const struct task *t, struct contender *out, struct why *why);

/* Memory of n_bytes, filled from `data` or with zeros. NULL with words on failure. */
void *cuda_peer_buffer(struct cuda_peer *p, const void *data, size_t n_bytes, struct why *why);

/* n elements of `data`, stored as dtype `t`. NULL with words on failure. */
void *cuda_peer_tensor(struct cuda_peer *p, const float *data, int64_t n, enum dtype t, struct why *why);

/* `y` holds the task's output as plain f32: it is compared with the others'. */
void cuda_peer_outputs(struct cuda_peer *p, float *y, struct contender *out);

/* Runs the work once and waits: ns between events around it, behind a gate as our own (runtime/cuda_gate.h), so that
 * what the host takes to hand it over is in nobody's time. */
enum err cuda_peer_call(struct cuda_peer *p, double *ns, struct why *why);

/* The least of a few such calls behind one that loads what is loaded lazily: to choose among a library's algorithms. */
enum err cuda_peer_least(struct cuda_peer *p, double *ns, struct why *why);

/* Captures the work into a graph, when that works. */
void cuda_peer_capture(struct cuda_peer *p);

enum err cuda_status(cudaError_t error, const char *call, struct why *why);

make_contender cublas, cudnn_conv, cudnn_rnn, cusparse;

#endif
