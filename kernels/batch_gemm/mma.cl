/* mma.cl - y[b][m,n] = sum over k of x[b][m,k] * w[b][n,k] by tensor cores: gemm/mma_gemm.clh. */
#include "gemm/mma_gemm.clh"
