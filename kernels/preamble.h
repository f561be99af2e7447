/* preamble.h - the dialect of every kernel file: OpenCL C 1.2 or CUDA C behind the same names. Pasted in front of a
 * kernel. Kernels use C99 scalars, these names and their own -D parameters, nothing else. Vectors: VT has VEC lanes (2
 * 4 8 16). */
#ifndef VEC
#define VEC 4
#endif
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
#define UNROLL _Pragma("unroll")
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define UNROLL_BY(n) _Pragma(TEXT(unroll n))
#ifdef TUNE_CUDA
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define GLOBAL
#define LOCAL_ARRAY __shared__
#define RESTRICT __restrict__
#define BARRIER() __syncthreads()
#define LID(d) ((int)((d) == 0 ? threadIdx.x : (d) == 1 ? threadIdx.y : threadIdx.z))
#define GRP(d) ((int)((d) == 0 ? blockIdx.x : (d) == 1 ? blockIdx.y : blockIdx.z))
#define WG_SIZE(x, y, z) __launch_bounds__((x) * (y) * (z))
#define FMA1(a, b, c) fmaf((a), (b), (c))
struct VT {
    float v[VEC];
};
DEVICE VT VSET(float a)
{
    VT r;
    UNROLL for (int i = 0; i < VEC; i++) r.v[i] = a;
    return r;
}
DEVICE VT VLOAD(const float *p)
{
    VT r;
    UNROLL for (int i = 0; i < VEC; i++) r.v[i] = p[i];
    return r;
}
DEVICE void VSTORE(VT a, float *p)
{
    UNROLL for (int i = 0; i < VEC; i++) p[i] = a.v[i];
}
DEVICE VT VFMA(VT a, VT b, VT c)
{
    UNROLL for (int i = 0; i < VEC; i++) c.v[i] = fmaf(a.v[i], b.v[i], c.v[i]);
    return c;
}
DEVICE VT VADD(VT a, VT b)
{
    UNROLL for (int i = 0; i < VEC; i++) a.v[i] += b.v[i];
    return a;
}
#define PRIVATE_STORE(a, p) VSTORE(a, p)
#else
#define KERNEL __kernel void
#define DEVICE static inline
#define GLOBAL __global
#define LOCAL_ARRAY __local
#define RESTRICT restrict
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define LID(d) ((int)get_local_id(d))
#define GRP(d) ((int)get_group_id(d))
#define WG_SIZE(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))
#define FMA1(a, b, c) fma((a), (b), (c))
#if VEC == 1
#define VT float
#define VLOAD(p) (*(p))
#define VSTORE(a, p) (*(p) = (a))
#else
#define VT CAT(float, VEC)
#define VLOAD(p) CAT(vload, VEC)(0, (p))
#define VSTORE(a, p) CAT(vstore, VEC)((a), 0, (p))
#endif
#define VSET(a) ((VT)(a))
#define VFMA(a, b, c) fma((a), (b), (c))
#define VADD(a, b) ((a) + (b))
#define PRIVATE_STORE(a, p) VSTORE(a, p)
#endif
