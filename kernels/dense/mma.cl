/* mma.cl - y[m,n] = sum over k of x[m,k] * w[n,k] by tensor cores: gemm/mma_gemm.clh. */
#include "gemm/mma_gemm.clh"
