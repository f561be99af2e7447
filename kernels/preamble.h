/* SPDX-License-Identifier: MIT */
/* preamble.h - the dialect of every kernel file: OpenCL C 1.2 or CUDA C behind the same names. Pasted in front of a
 * kernel, and behind it preamble_opencl.h or preamble_cuda.h, and preamble_store.h. Kernels use C99 scalars, these
 * names and their own -D parameters, nothing else.
 *
 * DT: type of inputs and weights, 0 f32, 1 f16, 2 bytes, 5 bf16. ELEM: such an element in memory; SUM: what sums are
 * made in (float; half with SUM_HALF; int for bytes); OUT: an element of y. UNSIGNED: inputs and outputs are unsigned
 * bytes with zero points, weights (WEIGHT: an element) signed ones; elsewhere WEIGHT is ELEM and ZERO_OF(i), zero point
 * i, is 0. HOLD_ZEROS(held): all of them in private memory, for kernels that define ZERO_OF anew: compilers load them
 * at each store. VT: a vector of VEC (1 2 4 8 16) SUMs; with VEC 1 a VT is a SUM.
 *
 * LOAD1(p) STORE1(p, v): one ELEM as SUM; VLOAD(p) VSTORE(v, p): VEC of them; p is a GLOBAL ELEM pointer.
 * SUM_VLOAD SUM_VSTORE: VEC SUMs in global memory; LOCAL_*, PRIVATE_*: in local and private arrays of SUM.
 *
 * POISON_LOCAL(array, n, item, items): debugging (TUNE_POISON): work-item `item` of `items` fills its part of a local
 * array of SUM with what no sum survives; nothing else. Stands in front of the first write of every local array.
 *
 * y and what the epilogue adds are declared by Y_PARAMS (last in a kernel's list) and written by STORE_Y(i, k, sum):
 * element i of y, channel k; STORE_YK(i, k, v): VEC elements i.. of channels k..; STORE_YQ(i, k, v): VEC elements i..
 * of channel k.
 *
 * Wide moves, where an address is known to be a multiple of what is moved (16 bytes at the most): VLOAD_ALIGNED(p)
 * LOCAL_VLOAD_ALIGNED(p) VSTORE_ALIGNED SUM_VSTORE_ALIGNED STORE_YK_ALIGNED STORE_YQ_ALIGNED: as those without
 * _ALIGNED; HOLD(n, p, held): n ELEMs (1 2 4 8 16) on their way through registers, HELD held[n]; HELD_PUT(n, held, p):
 * as SUMs into local memory, HELD_SUM(held[i]) one of them; HOLD1(p) HOLD_ZERO: one ELEM, none; LOCAL_GET(n, p, out): n
 * SUMs of local memory into a private array. Such local arrays are declared LOCAL_ALIGNED instead of LOCAL_ARRAY.
 *
 * Both dialects define: KERNEL DEVICE GLOBAL CONSTANT LOCAL LOCAL_ARRAY RESTRICT BARRIER BARRIER_ALL LID GRP WG_SIZE;
 * FMA1 VFMA VSET VADD VSUB VMUL VDIV VCLAMP VSTEP VRELU VEVEN VODD VZIP_LOW VZIP_HIGH; PREFETCH1 PREFETCH2;
 * CONSTANT_FLOATS(name) {...}; an array of constants at file scope, CONSTANT_AT(name, i) one of them, i a literal. */
#ifndef VEC
#define VEC 4
#endif
#ifndef DT
#define DT 0
#endif
#ifdef UNSIGNED
#define LEAST_BYTE 0
#define ZERO_OF(i) zero[i] /* of x, of what is requantised, of a join's residual, of its sum */
#ifdef EPI_JOIN
#define HOLD_ZEROS(held) const int held[] = {zero[0], zero[1], zero[2], zero[3]}
#elif defined(OUT_BYTES)
#define HOLD_ZEROS(held) const int held[] = {zero[0], zero[1]}
#else
#define HOLD_ZEROS(held) const int held[] = {zero[0]}
#endif
#else
#define LEAST_BYTE (-128)
#define ZERO_OF(i) 0
#endif
#define LEAST(zero) ((float)(LEAST_BYTE - (zero))) /* of bytes, without their zero point */
#define MOST(zero) ((float)(LEAST_BYTE + 255 - (zero)))
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
