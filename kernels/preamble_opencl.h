/* SPDX-License-Identifier: MIT */
/* preamble_opencl.h - the dialect in OpenCL C 1.2; see preamble.h. */
#define KERNEL __kernel void
#define DEVICE static inline
#define GLOBAL __global
#define CONSTANT __constant
#define CONSTANT_FLOATS(name) CONSTANT float name[] =
#define CONSTANT_AT(name, i) name[i]
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
#elif defined(UNSIGNED)
#define ELEM uchar
#define WEIGHT char
#else
#define ELEM char
#endif
#ifndef WEIGHT
#define WEIGHT ELEM
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
#elif defined(POCL_DEVICE_ADDRESS_BITS)
/* PoCL 3.1 takes the address for a multiple of the vector where it keeps what it loaded: by way of a private copy. */
typedef ushort half_bits __attribute__((ext_vector_type(VEC), aligned(2)));
DEVICE VT half_vload(GLOBAL const half *p)
{
    const CAT(ushort, VEC) bits = *(GLOBAL const half_bits *)p;

    return CAT(vload_half, VEC)(0, (const __private half *)&bits);
}
DEVICE void half_vstore(VT a, GLOBAL half *p)
{
    CAT(ushort, VEC) bits;

    CAT(vstore_half, VEC)(a, 0, (__private half *)&bits);
    *(GLOBAL half_bits *)p = bits;
}
#define VLOAD(p) half_vload(p)
#define VSTORE(a, p) half_vstore((a), (p))
#else
#define VLOAD(p) CAT(vload_half, VEC)(0, (p))
#define VSTORE(a, p) CAT(vstore_half, VEC)((a), 0, (p))
#endif
#else
#define LOAD1(p) ((int)*(p))
#define STORE1(p, v) (*(p) = (ELEM)(v))
#if VEC == 1
#define VLOAD(p) LOAD1(p)
#define VSTORE(a, p) STORE1(p, a)
#elif defined(POCL_DEVICE_ADDRESS_BITS) /* whose conversions go lane by lane */
typedef ELEM byte_lanes __attribute__((ext_vector_type(VEC), aligned(1)));
#define VLOAD(p) __builtin_convertvector(*(GLOBAL const byte_lanes *)(p), VT)
#define VSTORE(a, p) (*(GLOBAL byte_lanes *)(p) = __builtin_convertvector((a), byte_lanes))
#else
#define VLOAD(p) CAT(convert_int, VEC)(CAT(vload, VEC)(0, (p)))
#define VSTORE(a, p) CAT(vstore, VEC)(CAT(CAT(convert_, ELEM), VEC)(a), 0, (p))
#endif
#endif
/* Wide moves: compilers of OpenCL know the alignment themselves, or do not gain by it. */
#define VLOAD_ALIGNED(p) VLOAD(p)
#define VSTORE_ALIGNED(a, p) VSTORE(a, p)
#define SUM_VSTORE_ALIGNED(a, p) SUM_VSTORE(a, p)
#define LOCAL_VLOAD_ALIGNED(p) LOCAL_VLOAD(p)
#define HELD SUM
#define HOLD(n, p, held)                                                                                               \
    UNROLL                                                                                                             \
    for (int at_ = 0; at_ < (n); at_++)                                                                                \
    (held)[at_] = LOAD1((p) + at_)
#define HOLD1(p) LOAD1(p)
#define HOLD_ZERO ((SUM)0)
#define HELD_PUT(n, held, p)                                                                                           \
    UNROLL                                                                                                             \
    for (int at_ = 0; at_ < (n); at_++)                                                                                \
    (p)[at_] = (held)[at_]
#define HELD_SUM(held) (held)
#define LOCAL_GET(n, p, out)                                                                                           \
    UNROLL                                                                                                             \
    for (int at_ = 0; at_ < (n); at_++)                                                                                \
    (out)[at_] = (p)[at_]
#define LOCAL_ALIGNED __local
/* Outputs. */
#if DT == 2 && !defined(OUT_BYTES)
#define OUT int
#else
#define OUT ELEM
#endif
/* Requantisation: round to nearest even, saturate to bytes with a zero point. A float that 3 * 2^22 was added to has
 * its whole part, rounded so, in its lowest bits: PoCL's own conversion with rounding and saturation goes lane by lane,
 * and its clamp looks for NaN where the bounds are no constants. */
#define LIMITED(name, T)                                                                                               \
    DEVICE T name(T f, float least, float most)                                                                        \
    {                                                                                                                  \
        f = f > (T)least ? f : (T)least;                                                                               \
        return (f < (T)most ? f : (T)most) + 12582912.0f;                                                              \
    }
LIMITED(limited1, float)
#define ROUNDED1(f, zero) (limited1((f), LEAST(zero), MOST(zero)) - 12582912.0f) /* without the zero point */
#define REQUANTISED1(f, least, zero) ((ELEM)(as_int(limited1((f), (least), MOST(zero))) + (zero)))
#define SUM_OF_SCALED1(a, b, s) fma((b), (s)[1], (a) * (s)[0])
#if DT == 2 && VEC > 1
#define FLOAT_LANES CAT(float, VEC)
LIMITED(limited, FLOAT_LANES)
#define ROUNDED(f, zero) (limited((f), LEAST(zero), MOST(zero)) - 12582912.0f)
#define STORE_REQUANTISED(f, least, zero, p) VSTORE(CAT(as_int, VEC)(limited((f), (least), MOST(zero))) + (zero), (p))
#define FLOATS_OF(v) CAT(convert_float, VEC)(v)
#define FLOATS_LOAD(p) CAT(vload, VEC)(0, (p))
#define SUM_OF_SCALED(a, b, s) fma((b), (FLOAT_LANES)((s)[1]), (a) * (s)[0])
#elif DT == 2
#define STORE_REQUANTISED(f, least, zero, p) (*(p) = REQUANTISED1((f), (least), (zero)))
#endif
