/* preamble.h - the dialect of every kernel file: OpenCL C 1.2 or CUDA C behind the same names. Pasted in front of a
 * kernel. Kernels use C99 scalars, these names and their own -D parameters, nothing else.
 * DT: type of inputs and weights, 0 f32, 1 f16, 2 i8. ELEM: such an element in memory; SUM: what sums are made in
 * (float; half with SUM_HALF; int for i8); OUT: an element of y. VT: a vector of VEC (1 2 4 8 16) SUMs.
 * LOAD1(p) STORE1(p, v): one ELEM as SUM; VLOAD(p) VSTORE(v, p): VEC of them; p is a GLOBAL ELEM pointer.
 * SUM_VLOAD SUM_VSTORE: VEC SUMs in global memory; LOCAL_*, PRIVATE_*: in local and private arrays of SUM.
 * POISON_LOCAL(array, n, item, items): debugging (TUNE_POISON): work-item `item` of `items` fills its part of a local
 * array of SUM with what no sum survives; nothing else. Stands in front of the first write of every local array. y and
 * what the epilogue adds are declared by Y_PARAMS (last in a kernel's list) and written by STORE_Y(i, k, sum): element
 * i of y, channel k; STORE_YK(i, k, v): VEC elements i.. of channels k..; STORE_YQ(i, k, v): VEC elements i.. of
 * channel k. */
#ifndef VEC
#define VEC 4
#endif
#ifndef DT
#define DT 0
#endif
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define UNROLL_BY(n) _Pragma(TEXT(unroll n))
#ifdef TUNE_POISON
#define POISON_LOCAL(array, n, item, items)                                                                            \
    for (int at_ = (item); at_ < (n); at_ += (items))                                                                  \
        (array)[at_] = POISON;                                                                                         \
    BARRIER()
#else
#define POISON_LOCAL(array, n, item, items)
#endif
#ifdef TUNE_CUDA
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define GLOBAL
#define CONSTANT
#define LOCAL
#define LOCAL_ARRAY __shared__
#define RESTRICT __restrict__
#define BARRIER() __syncthreads()
#define BARRIER_ALL() __syncthreads()
#define LID(d) ((int)((d) == 0 ? threadIdx.x : (d) == 1 ? threadIdx.y : threadIdx.z))
#define GRP(d) ((int)((d) == 0 ? blockIdx.x : (d) == 1 ? blockIdx.y : blockIdx.z))
#define WG_SIZE(x, y, z) __launch_bounds__((x) * (y) * (z))
#define FMA1(a, b, c) fmaf((a), (b), (c))
#define POISON __int_as_float(0x7fffffff)
typedef float ELEM;
typedef float SUM;
typedef float OUT;
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
DEVICE VT VSUB(VT a, VT b)
{
    UNROLL for (int i = 0; i < VEC; i++) a.v[i] -= b.v[i];
    return a;
}
DEVICE VT VMUL(VT a, VT b)
{
    UNROLL for (int i = 0; i < VEC; i++) a.v[i] *= b.v[i];
    return a;
}
DEVICE VT VDIV(VT a, VT b)
{
    UNROLL for (int i = 0; i < VEC; i++) a.v[i] /= b.v[i];
    return a;
}
DEVICE VT VCLAMP(VT a, float lo, float hi)
{
    UNROLL for (int i = 0; i < VEC; i++) a.v[i] = fminf(fmaxf(a.v[i], lo), hi);
    return a;
}
DEVICE VT VSTEP(VT a)
{
    UNROLL for (int i = 0; i < VEC; i++) a.v[i] = a.v[i] > 0.0f ? 1.0f : 0.0f;
    return a;
}
DEVICE VT VRELU(VT a)
{
    UNROLL for (int i = 0; i < VEC; i++) a.v[i] = fmaxf(a.v[i], 0.0f);
    return a;
}
#define LOAD1(p) (*(p))
#define STORE1(p, v) (*(p) = (v))
#define SUM_VLOAD(p) VLOAD(p)
#define SUM_VSTORE(a, p) VSTORE(a, p)
#define LOCAL_VLOAD(p) VLOAD(p)
#define LOCAL_VSTORE(a, p) VSTORE(a, p)
#define PRIVATE_VLOAD(p) VLOAD(p)
#define PRIVATE_VSTORE(a, p) VSTORE(a, p)
#define PREFETCH1(p) ((void)0)
#define PREFETCH2(p) ((void)0)
DEVICE VT VZIP_LOW(VT a, VT b)
{
    VT r;
    UNROLL for (int i = 0; i < VEC; i++) r.v[i] = i % 2 ? b.v[i / 2] : a.v[i / 2];
    return r;
}
DEVICE VT VZIP_HIGH(VT a, VT b)
{
    VT r;
    UNROLL for (int i = 0; i < VEC; i++) r.v[i] = i % 2 ? b.v[(VEC + i) / 2] : a.v[(VEC + i) / 2];
    return r;
}
#else
#define KERNEL __kernel void
#define DEVICE static inline
#define GLOBAL __global
#define CONSTANT __constant
#define LOCAL __local
#define LOCAL_ARRAY __local
#define RESTRICT restrict
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define BARRIER_ALL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE) /* local and global memory */
#define LID(d) ((int)get_local_id(d))
#define GRP(d) ((int)get_group_id(d))
#define WG_SIZE(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))
#if DT == 0
#define ELEM float
#elif DT == 1
#define ELEM half
#else
#define ELEM char
#endif
#if DT == 2
#define SUM int
#elif defined(SUM_HALF)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define SUM half
#else
#define SUM float
#endif
#if VEC == 1
#define VT SUM
#else
#define VT CAT(SUM, VEC)
#endif
#if DT == 2
#define POISON 0x5a5a5a5a
#else
#define POISON NAN
#endif
#if DT == 2
#define FMA1(a, b, c) ((a) * (b) + (c))
#define VFMA(a, b, c) ((a) * (b) + (c))
#else
#define FMA1(a, b, c) fma((a), (b), (c))
#define VFMA(a, b, c) fma((a), (b), (c))
#endif
#define VSET(a) ((VT)(a))
#define VADD(a, b) ((a) + (b))
#define VSUB(a, b) ((a) - (b))
#define VMUL(a, b) ((a) * (b))
#define VDIV(a, b) ((a) / (b))
#define VCLAMP(a, lo, hi) clamp((a), (SUM)(lo), (SUM)(hi))
#define VSTEP(a) (VSET(1) - step((a), VSET(0))) /* 1 where a > 0, else 0 */
#define VRELU(a) max((a), VSET(0))
#define VEVEN(a, b) ((VT)((a).even, (b).even)) /* VEC > 1 */
#define VODD(a, b) ((VT)((a).odd, (b).odd))
/* Vectors in memory. PoCL's vloadn is a call that costs its compiler seconds where there are many; vectors of lower
 * alignment behind a pointer are the same code in a tenth of the time. */
#if VEC == 1
#define SUM_VLOAD(p) (*(p))
#define SUM_VSTORE(a, p) (*(p) = (a))
#define LOCAL_VLOAD(p) (*(p))
#define LOCAL_VSTORE(a, p) (*(p) = (a))
#define PRIVATE_VLOAD(p) (*(p))
#define PRIVATE_VSTORE(a, p) (*(p) = (a))
#elif defined(POCL_DEVICE_ADDRESS_BITS)
typedef SUM sum_vector __attribute__((ext_vector_type(VEC), aligned(sizeof(SUM))));
#define SUM_VLOAD(p) (*(GLOBAL const sum_vector *)(p))
#define SUM_VSTORE(a, p) (*(GLOBAL sum_vector *)(p) = (a))
#define LOCAL_VLOAD(p) (*(LOCAL const sum_vector *)(p))
#define LOCAL_VSTORE(a, p) (*(LOCAL sum_vector *)(p) = (a))
#define PRIVATE_VLOAD(p) (*(const __private sum_vector *)(p))
#define PRIVATE_VSTORE(a, p) (*(__private sum_vector *)(p) = (a))
#else
#define SUM_VLOAD(p) CAT(vload, VEC)(0, (p))
#define SUM_VSTORE(a, p) CAT(vstore, VEC)((a), 0, (p))
#define LOCAL_VLOAD(p) SUM_VLOAD(p)
#define LOCAL_VSTORE(a, p) SUM_VSTORE(a, p)
#define PRIVATE_VLOAD(p) SUM_VLOAD(p)
#define PRIVATE_VSTORE(a, p) SUM_VSTORE(a, p)
#endif
/* VZIP_LOW, VZIP_HIGH: the lower (upper) halves of two vectors, interleaved: a0 b0 a1 b1 ... */
#if VEC == 2
#define VZIP_LOW(a, b) ((VT)((a).s0, (b).s0))
#define VZIP_HIGH(a, b) ((VT)((a).s1, (b).s1))
#elif VEC == 4
#define VZIP_LOW(a, b) ((VT)((a).s0, (b).s0, (a).s1, (b).s1))
#define VZIP_HIGH(a, b) ((VT)((a).s2, (b).s2, (a).s3, (b).s3))
#elif VEC == 8
#define VZIP_LOW(a, b) ((VT)((a).s0, (b).s0, (a).s1, (b).s1, (a).s2, (b).s2, (a).s3, (b).s3))
#define VZIP_HIGH(a, b) ((VT)((a).s4, (b).s4, (a).s5, (b).s5, (a).s6, (b).s6, (a).s7, (b).s7))
#elif VEC == 16
#define VZIP_LOW(a, b)                                                                                                 \
    ((VT)((a).s0, (b).s0, (a).s1, (b).s1, (a).s2, (b).s2, (a).s3, (b).s3, (a).s4, (b).s4, (a).s5, (b).s5, (a).s6,      \
          (b).s6, (a).s7, (b).s7))
#define VZIP_HIGH(a, b)                                                                                                \
    ((VT)((a).s8, (b).s8, (a).s9, (b).s9, (a).sa, (b).sa, (a).sb, (b).sb, (a).sc, (b).sc, (a).sd, (b).sd, (a).se,      \
          (b).se, (a).sf, (b).sf))
#endif
/* Ask for the cache line at p, into the first or the second level. */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define PREFETCH1(p) __builtin_prefetch((const void *)(size_t)(p), 0, 3)
#define PREFETCH2(p) __builtin_prefetch((const void *)(size_t)(p), 0, 2)
#else
#define PREFETCH1(p) ((void)0)
#define PREFETCH2(p) ((void)0)
#endif
/* Elements as sums: f16 is stored in half and summed in float where there is no arithmetic in half. */
#if DT == 0 || defined(SUM_HALF)
#define LOAD1(p) (*(p))
#define STORE1(p, v) (*(p) = (v))
#define VLOAD(p) SUM_VLOAD(p)
#define VSTORE(a, p) SUM_VSTORE(a, p)
#elif DT == 1
#define LOAD1(p) vload_half(0, (p))
#define STORE1(p, v) vstore_half((v), 0, (p))
#if VEC == 1
#define VLOAD(p) LOAD1(p)
#define VSTORE(a, p) STORE1(p, a)
#else
#define VLOAD(p) CAT(vload_half, VEC)(0, (p))
#define VSTORE(a, p) CAT(vstore_half, VEC)((a), 0, (p))
#endif
#else
#define LOAD1(p) ((int)*(p))
#define STORE1(p, v) (*(p) = (char)(v))
#if VEC == 1
#define VLOAD(p) LOAD1(p)
#define VSTORE(a, p) STORE1(p, a)
#else
#define VLOAD(p) CAT(convert_int, VEC)(CAT(vload, VEC)(0, (p)))
#define VSTORE(a, p) CAT(vstore, VEC)(CAT(convert_char, VEC)(a), 0, (p))
#endif
#endif
/* Outputs. */
#if DT == 2 && !defined(OUT_I8)
#define OUT int
#elif DT == 2
#define OUT char
#else
#define OUT ELEM
#endif
#endif
/* The epilogue: bias, residual, ReLU, requantisation, in this order. */
#if DT == 2
#define WIDE int /* type of bias and residual in memory */
#define WIDE_LOAD1(p) (*(p))
#define WIDE_VLOAD(p) SUM_VLOAD(p)
#else
#define WIDE ELEM
#define WIDE_LOAD1(p) LOAD1(p)
#define WIDE_VLOAD(p) VLOAD(p)
#endif
#ifdef EPI_BIAS
#define BIAS_PARAM , GLOBAL const WIDE *RESTRICT bias
#define BIAS_ARG , bias
#define ADD_BIAS(v, k) ((v) + WIDE_LOAD1(bias + (k)))
#define VADD_BIAS_K(v, k) VADD((v), WIDE_VLOAD(bias + (k)))
#define VADD_BIAS_Q(v, k) VADD((v), VSET(WIDE_LOAD1(bias + (k))))
#else
#define BIAS_PARAM
#define BIAS_ARG
#define ADD_BIAS(v, k) (v)
#define VADD_BIAS_K(v, k) (v)
#define VADD_BIAS_Q(v, k) (v)
#endif
#ifdef EPI_ADD
#define RESIDUAL_PARAM , GLOBAL const WIDE *RESTRICT residual
#define RESIDUAL_ARG , residual
#define ADD_RESIDUAL(v, i) ((v) + WIDE_LOAD1(residual + (i)))
#define VADD_RESIDUAL(v, i) VADD((v), WIDE_VLOAD(residual + (i)))
#else
#define RESIDUAL_PARAM
#define RESIDUAL_ARG
#define ADD_RESIDUAL(v, i) (v)
#define VADD_RESIDUAL(v, i) (v)
#endif
#ifdef EPI_RELU
#define RELU1(v) ((v) > 0 ? (v) : (SUM)0)
#define VRELU_IF(v) VRELU(v)
#else
#define RELU1(v) (v)
#define VRELU_IF(v) (v)
#endif
#ifdef OUT_I8
#define SCALE_PARAM , GLOBAL const float *RESTRICT scale
#define SCALE_ARG , scale
#else
#define SCALE_PARAM
#define SCALE_ARG
#endif
#define Y_PARAMS GLOBAL OUT *RESTRICT y BIAS_PARAM RESIDUAL_PARAM SCALE_PARAM
#define Y_ARGS y BIAS_ARG RESIDUAL_ARG SCALE_ARG /* to hand Y_PARAMS on to a DEVICE function */
#define EPILOGUE1(i, k, v) RELU1(ADD_RESIDUAL(ADD_BIAS((v), (k)), (i)))
#define EPILOGUE_K(i, k, v) VRELU_IF(VADD_RESIDUAL(VADD_BIAS_K((v), (k)), (i)))
#define EPILOGUE_Q(i, k, v) VRELU_IF(VADD_RESIDUAL(VADD_BIAS_Q((v), (k)), (i)))
#ifdef OUT_I8
#define STORE_Y(i, k, v) y[i] = convert_char_sat_rte((float)EPILOGUE1(i, k, v) * scale[k])
#elif DT == 2
#define STORE_Y(i, k, v) y[i] = EPILOGUE1(i, k, v)
#else
#define STORE_Y(i, k, v) STORE1(y + (i), EPILOGUE1(i, k, v))
#endif
#if VEC == 1
#define STORE_YK(i, k, v) STORE_Y(i, k, v)
#define STORE_YQ(i, k, v) STORE_Y(i, k, v)
#elif defined(OUT_I8)
#define FLOAT_VT(v) CAT(convert_float, VEC)(v)
#define REQUANTISED(v) CAT(CAT(convert_char, VEC), _sat_rte)(v)
#define STORE_YK(i, k, v)                                                                                              \
    CAT(vstore, VEC)(REQUANTISED(FLOAT_VT(EPILOGUE_K(i, k, v)) * CAT(vload, VEC)(0, scale + (k))), 0, y + (i))
#define STORE_YQ(i, k, v) CAT(vstore, VEC)(REQUANTISED(FLOAT_VT(EPILOGUE_Q(i, k, v)) * scale[k]), 0, y + (i))
#elif DT == 2
#define STORE_YK(i, k, v) SUM_VSTORE(EPILOGUE_K(i, k, v), y + (i))
#define STORE_YQ(i, k, v) SUM_VSTORE(EPILOGUE_Q(i, k, v), y + (i))
#else
#define STORE_YK(i, k, v) VSTORE(EPILOGUE_K(i, k, v), y + (i))
#define STORE_YQ(i, k, v) VSTORE(EPILOGUE_Q(i, k, v), y + (i))
#endif
