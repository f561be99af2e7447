/* SPDX-License-Identifier: MIT */
/* preamble_cuda.h - the dialect in CUDA C++; see preamble.h. NVRTC has no include path here: f16 goes by PTX. With
 * TUNE_EMULATED the same text is compiled for a CPU, for tests, and instructions are replaced by their meaning.
 * Lanes of vectors are reached by lane(v, i), here only; kernels use the names of preamble.h. */
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define MEMBER __device__ __forceinline__
#define GLOBAL
#define CONSTANT __constant__ /* of variables at file scope, not of pointers */
#ifdef TUNE_EMULATED
#define CONSTANT_FLOATS(name) extern "C" CONSTANT float name[] =
#define CONSTANT_AT(name, i) name[i]
#else
/* Read by instructions of their own: a compiler that knows what thousands of loads read takes minutes. */
#define CONSTANT_FLOATS(name)                                                                                          \
    template <int I> DEVICE float name##_at()                                                                          \
    {                                                                                                                  \
        float value;                                                                                                   \
        asm volatile("ld.const.f32 %0, [" #name "+%1];" : "=f"(value) : "n"(4 * I));                                   \
        return value;                                                                                                  \
    }                                                                                                                  \
    extern "C" CONSTANT float name[] =
#define CONSTANT_AT(name, i) name##_at<i>()
#endif
#define LOCAL
#define LOCAL_ARRAY __shared__
#define RESTRICT __restrict__
#define BARRIER() __syncthreads()
#define BARRIER_ALL() __syncthreads() /* orders global memory within the block too */
#ifdef TUNE_EMULATED
#define GRID_WAIT() __nanosleep(200000)
#else
#define GRID_WAIT() ((void)0)
#endif
/* All groups of a cooperative launch have come here n / groups times: what they wrote before is seen behind it.
 * `arrived`: an int that was 0 before the launch. */
#define GRID_BARRIER(arrived, n)                                                                                       \
    do {                                                                                                               \
        __syncthreads();                                                                                               \
        if (threadIdx.x == 0) {                                                                                        \
            __threadfence();                                                                                           \
            atomicAdd((arrived), 1);                                                                                   \
            while (*(volatile int *)(arrived) < (n))                                                                   \
                GRID_WAIT();                                                                                           \
            __threadfence();                                                                                           \
        }                                                                                                              \
        __syncthreads();                                                                                               \
    } while (0)
#define LID(d) ((int)((d) == 0 ? threadIdx.x : (d) == 1 ? threadIdx.y : threadIdx.z))
#define GRP(d) ((int)((d) == 0 ? blockIdx.x : (d) == 1 ? blockIdx.y : blockIdx.z))
#define WG_SIZE(x, y, z) __launch_bounds__((x) * (y) * (z))
#define PREFETCH1(p) ((void)0)
#define PREFETCH2(p) ((void)0)
typedef unsigned uint;
typedef unsigned char uchar;
#ifdef TUNE_EMULATED
DEVICE float float_of_half(unsigned short bits)
{
    _Float16 h;
    __builtin_memcpy(&h, &bits, 2);
    return (float)h;
}
DEVICE unsigned short half_of_float(float x)
{
    const _Float16 h = (_Float16)x;
    unsigned short bits;
    __builtin_memcpy(&bits, &h, 2);
    return bits;
}
#else
DEVICE float float_of_half(unsigned short bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
DEVICE unsigned short half_of_float(float x)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#endif
/* An f16 in memory, and where sums are made in half a number. */
struct half_t {
    unsigned short bits;
    half_t() = default;
    MEMBER half_t(float x) : bits(half_of_float(x))
    {
    }
    MEMBER half_t(double x) : bits(half_of_float((float)x))
    {
    }
    MEMBER half_t(int x) : bits(half_of_float((float)x))
    {
    }
    MEMBER explicit operator float() const
    {
        return float_of_half(bits);
    }
};
/* A bfloat16 in memory: the upper half of a float, rounded to nearest even. */
struct bf16_t {
    unsigned short bits;
    bf16_t() = default;
    MEMBER explicit bf16_t(float x)
    {
        const unsigned all = __float_as_uint(x);

        bits = (unsigned short)(x == x ? (all + 0x7fff + (all >> 16 & 1)) >> 16 : 0x7fff);
    }
    MEMBER explicit operator float() const
    {
        return __uint_as_float((unsigned)bits << 16);
    }
};
#if DT == 0
typedef float ELEM;
#elif DT == 1
typedef half_t ELEM;
#elif DT == 5
typedef bf16_t ELEM;
#elif defined(UNSIGNED)
typedef unsigned char ELEM;
#define WEIGHT signed char
#else
typedef signed char ELEM;
#endif
#ifndef WEIGHT
#define WEIGHT ELEM
#endif
#if DT == 2
typedef int SUM;
#define POISON 0x5a5a5a5a
#elif defined(SUM_HALF)
typedef half_t SUM;
#define POISON half_t(nanf(""))
#else
typedef float SUM;
#define POISON nanf("")
#endif
#if DT == 2 && !defined(OUT_BYTES)
typedef int OUT;
#else
typedef ELEM OUT;
#endif
/* Arithmetic in half: pairs where there are two, by the instructions of sm_53 and up. */
#if defined(SUM_HALF) && !defined(TUNE_EMULATED)
#define HALF_OP(name, op)                                                                                              \
    DEVICE half_t name(half_t a, half_t b)                                                                             \
    {                                                                                                                  \
        half_t r;                                                                                                      \
        asm(op ".f16 %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits));                                          \
        return r;                                                                                                      \
    }
HALF_OP(operator+, "add.rn")
HALF_OP(operator-, "sub.rn")
HALF_OP(operator*, "mul.rn")
DEVICE half_t fma_sum(half_t a, half_t b, half_t c)
{
    asm("fma.rn.f16 %0, %1, %2, %0;" : "+h"(c.bits) : "h"(a.bits), "h"(b.bits));
    return c;
}
#elif defined(SUM_HALF)
DEVICE half_t operator+(half_t a, half_t b)
{
    return half_t((float)a + (float)b);
}
DEVICE half_t operator-(half_t a, half_t b)
{
    return half_t((float)a - (float)b);
}
DEVICE half_t operator*(half_t a, half_t b)
{
    return half_t((float)a * (float)b);
}
DEVICE half_t fma_sum(half_t a, half_t b, half_t c)
{
    return half_t((double)(float)a * (float)b + (float)c);
}
#elif DT != 2
DEVICE float fma_sum(float a, float b, float c)
{
    return fmaf(a, b, c);
}
#endif
#ifdef SUM_HALF
DEVICE half_t operator/(half_t a, half_t b)
{
    return half_t((float)a / (float)b);
}
DEVICE bool operator>(half_t a, half_t b)
{
    return (float)a > (float)b;
}
DEVICE bool operator<(half_t a, half_t b)
{
    return (float)a < (float)b;
}
DEVICE half_t &operator+=(half_t &a, half_t b)
{
    return a = a + b;
}
#endif
#if DT == 2
DEVICE int fma_sum(int a, int b, int c)
{
    return a * b + c;
}
#endif
#define FMA1(a, b, c) fma_sum((a), (b), (c))
/* Vectors: a number for VEC 1, else a struct of lanes with + - * / << >> by lane. */
template <class T_, int N_> struct lanes {
    T_ v[N_];
    lanes() = default;
    MEMBER explicit lanes(T_ a)
    {
        UNROLL for (int i = 0; i < N_; i++) v[i] = a;
    }
};
#define LANES_OP(op)                                                                                                   \
    template <class T_, int N_> DEVICE lanes<T_, N_> operator op(lanes<T_, N_> a, lanes<T_, N_> b)                     \
    {                                                                                                                  \
        UNROLL for (int i = 0; i < N_; i++) a.v[i] = a.v[i] op b.v[i];                                                 \
        return a;                                                                                                      \
    }                                                                                                                  \
    template <class T_, int N_> DEVICE lanes<T_, N_> &operator op##=(lanes<T_, N_> &a, lanes<T_, N_> b)                \
    {                                                                                                                  \
        UNROLL for (int i = 0; i < N_; i++) a.v[i] = a.v[i] op b.v[i];                                                 \
        return a;                                                                                                      \
    }
LANES_OP(+)
LANES_OP(-)
LANES_OP(*)
LANES_OP(/)
#define LANES_SHIFT(op)                                                                                                \
    template <class T_, int N_> DEVICE lanes<T_, N_> operator op(lanes<T_, N_> a, int by)                              \
    {                                                                                                                  \
        UNROLL for (int i = 0; i < N_; i++) a.v[i] = a.v[i] op by;                                                     \
        return a;                                                                                                      \
    }
LANES_SHIFT(<<)
LANES_SHIFT(>>)
template <class T_, int N_> struct vector_of {
    typedef lanes<T_, N_> type;
};
template <class T_> struct vector_of<T_, 1> {
    typedef T_ type;
};
typedef vector_of<SUM, VEC>::type VT;
/* Lane i of a vector or of a number. */
template <class T_, int N_> DEVICE T_ &lane(lanes<T_, N_> &a, int i)
{
    return a.v[i];
}
template <class T_> DEVICE T_ &lane(T_ &a, int)
{
    return a;
}
#define LANES_OF(name, expression)                                                                                     \
    DEVICE VT name(VT a)                                                                                               \
    {                                                                                                                  \
        UNROLL for (int i = 0; i < VEC; i++)                                                                           \
        {                                                                                                              \
            const SUM x = lane(a, i);                                                                                  \
            lane(a, i) = expression;                                                                                   \
        }                                                                                                              \
        return a;                                                                                                      \
    }
LANES_OF(VSTEP, x > (SUM)0 ? (SUM)1 : (SUM)0)
LANES_OF(VRELU, x > (SUM)0 ? x : (SUM)0)
DEVICE VT VSET(SUM a)
{
    return (VT)a;
}
DEVICE VT VFMA(VT a, VT b, VT c)
{
#if defined(SUM_HALF) && VEC > 1 && !defined(TUNE_EMULATED)
    UNROLL for (int i = 0; i < VEC; i += 2)
    {
        unsigned x, y, z;
        asm("mov.b32 %0, {%1, %2};" : "=r"(x) : "h"(a.v[i].bits), "h"(a.v[i + 1].bits));
        asm("mov.b32 %0, {%1, %2};" : "=r"(y) : "h"(b.v[i].bits), "h"(b.v[i + 1].bits));
        asm("mov.b32 %0, {%1, %2};" : "=r"(z) : "h"(c.v[i].bits), "h"(c.v[i + 1].bits));
        asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(z) : "r"(x), "r"(y));
        asm("mov.b32 {%0, %1}, %2;" : "=h"(c.v[i].bits), "=h"(c.v[i + 1].bits) : "r"(z));
    }
#else
    UNROLL for (int i = 0; i < VEC; i++) lane(c, i) = fma_sum(lane(a, i), lane(b, i), lane(c, i));
#endif
    return c;
}
DEVICE VT VCLAMP(VT a, SUM lo, SUM hi)
{
    UNROLL for (int i = 0; i < VEC; i++)
    {
        const SUM x = lane(a, i);
        lane(a, i) = x < lo ? lo : x > hi ? hi : x;
    }
    return a;
}
#define VADD(a, b) ((a) + (b))
#define VSUB(a, b) ((a) - (b))
#define VMUL(a, b) ((a) * (b))
#define VDIV(a, b) ((a) / (b))
/* Lane i of the result is lane (from) of a, or, from VEC on, of b. */
#define LANES_SHUFFLE(name, from)                                                                                      \
    DEVICE VT name(VT a, VT b)                                                                                         \
    {                                                                                                                  \
        VT r;                                                                                                          \
        UNROLL for (int i = 0; i < VEC; i++) lane(r, i) = (from) < VEC ? lane(a, (from)) : lane(b, (from)-VEC);        \
        return r;                                                                                                      \
    }
LANES_SHUFFLE(VEVEN, 2 * i)
LANES_SHUFFLE(VODD, 2 * i + 1)
LANES_SHUFFLE(VZIP_LOW, i % 2 ? VEC + i / 2 : i / 2)
LANES_SHUFFLE(VZIP_HIGH, i % 2 ? VEC + (VEC + i) / 2 : (VEC + i) / 2)
/* Memory. Pointers need no more than the alignment of one element. */
template <class V_, class T_> DEVICE V_ load_lanes(const T_ *p)
{
    V_ r;
    UNROLL for (int i = 0; i < (int)(sizeof(V_) / sizeof(T_)); i++) lane(r, i) = p[i];
    return r;
}
template <class V_, class T_> DEVICE void store_lanes(V_ a, T_ *p)
{
    UNROLL for (int i = 0; i < (int)(sizeof(V_) / sizeof(T_)); i++) p[i] = lane(a, i);
}
/* Functions: a comma between template arguments would part those of a macro around them. */
DEVICE VT SUM_VLOAD(const SUM *p)
{
    return load_lanes<VT, SUM>(p);
}
DEVICE void SUM_VSTORE(VT a, SUM *p)
{
    store_lanes<VT, SUM>(a, p);
}
#define LOCAL_VLOAD(p) SUM_VLOAD(p)
#define LOCAL_VSTORE(a, p) SUM_VSTORE(a, p)
#define PRIVATE_VLOAD(p) SUM_VLOAD(p)
#define PRIVATE_VSTORE(a, p) SUM_VSTORE(a, p)
DEVICE SUM sum_of_elem(ELEM a)
{
    return (SUM)a;
}
DEVICE ELEM elem_of_sum(SUM a)
{
    return (ELEM)a;
}
#ifdef UNSIGNED
DEVICE SUM sum_of_elem(WEIGHT a)
{
    return a;
}
#endif
#define LOAD1(p) sum_of_elem(*(p))
#define STORE1(p, a) (*(p) = elem_of_sum(a))
DEVICE VT VLOAD(const ELEM *p)
{
    VT r;
    UNROLL for (int i = 0; i < VEC; i++) lane(r, i) = sum_of_elem(p[i]);
    return r;
}
DEVICE void VSTORE(VT a, ELEM *p)
{
    UNROLL for (int i = 0; i < VEC; i++) p[i] = elem_of_sum(lane(a, i));
}
/* Wide moves: N_ elements, 1 2 4 8 16, at an address that is a multiple of them (of 16 bytes at the most). */
template <int N_> struct wide_of;
#define WIDE_OF(n, type)                                                                                               \
    template <> struct wide_of<n> {                                                                                    \
        typedef type is;                                                                                               \
    };
WIDE_OF(1, unsigned char)
WIDE_OF(2, unsigned short)
WIDE_OF(4, unsigned)
WIDE_OF(8, uint2)
WIDE_OF(16, uint4)
template <int N_, class T_> union wide {
    enum { bytes = N_ * (int)sizeof(T_), step = bytes < 16 ? bytes : 16, pieces = bytes / step };
    typedef typename wide_of<step>::is piece;
    piece p[pieces];
    T_ e[N_];
};
template <int N_, class T_> DEVICE wide<N_, T_> load_wide(const T_ *p)
{
    typedef wide<N_, T_> W_;
    W_ r;
    UNROLL for (int i = 0; i < W_::pieces; i++) r.p[i] = ((const typename W_::piece *)p)[i];
    return r;
}
template <int N_, class T_> DEVICE void store_wide(const wide<N_, T_> &a, T_ *p)
{
    typedef wide<N_, T_> W_;
    UNROLL for (int i = 0; i < W_::pieces; i++)((typename W_::piece *)p)[i] = a.p[i];
}
DEVICE VT VLOAD_ALIGNED(const ELEM *p)
{
    const wide<VEC, ELEM> from = load_wide<VEC, ELEM>(p);
    VT r;
    UNROLL for (int i = 0; i < VEC; i++) lane(r, i) = sum_of_elem(from.e[i]);
    return r;
}
DEVICE void VSTORE_ALIGNED(VT a, ELEM *p)
{
    wide<VEC, ELEM> to;
    UNROLL for (int i = 0; i < VEC; i++) to.e[i] = elem_of_sum(lane(a, i));
    store_wide<VEC, ELEM>(to, p);
}
DEVICE void SUM_VSTORE_ALIGNED(VT a, SUM *p)
{
    wide<VEC, SUM> to;
    UNROLL for (int i = 0; i < VEC; i++) to.e[i] = lane(a, i);
    store_wide<VEC, SUM>(to, p);
}
DEVICE VT LOCAL_VLOAD_ALIGNED(const SUM *p)
{
    const wide<VEC, SUM> from = load_wide<VEC, SUM>(p);
    VT r;
    UNROLL for (int i = 0; i < VEC; i++) lane(r, i) = from.e[i];
    return r;
}
#define HELD ELEM
template <int N_> DEVICE void hold_elems(const ELEM *p, ELEM *held)
{
    const wide<N_, ELEM> from = load_wide<N_, ELEM>(p);
    UNROLL for (int i = 0; i < N_; i++) held[i] = from.e[i];
}
template <int N_> DEVICE void put_held(const ELEM *held, SUM *p)
{
    wide<N_, SUM> to;
    UNROLL for (int i = 0; i < N_; i++) to.e[i] = sum_of_elem(held[i]);
    store_wide<N_, SUM>(to, p);
}
template <int N_> DEVICE void get_sums(const SUM *p, SUM *out)
{
    const wide<N_, SUM> from = load_wide<N_, SUM>(p);
    UNROLL for (int i = 0; i < N_; i++) out[i] = from.e[i];
}
#define HOLD(n, p, held) hold_elems<(n)>((p), (held))
#define HOLD1(p) (*(p))
#define HOLD_ZERO ((ELEM)0.0f)
#define HELD_PUT(n, held, p) put_held<(n)>((held), (p))
#define HELD_SUM(held) sum_of_elem(held)
#define LOCAL_GET(n, p, out) get_sums<(n)>((p), (out))
#define LOCAL_ALIGNED __shared__ __align__(16)
/* Requantisation: round to nearest even, saturate to bytes with a zero point; ROUNDED1: without it. */
#define LIMITED1(f, least, zero) fminf(fmaxf(rintf(f), (least)), MOST(zero))
#define ROUNDED1(f, zero) LIMITED1((f), LEAST(zero), (zero))
#define REQUANTISED1(f, least, zero) ((ELEM)((int)LIMITED1((f), (least), (zero)) + (zero)))
#define SUM_OF_SCALED1(a, b, s) fmaf((b), (s)[1], (a) * (s)[0])
#if DT == 2
template <class T_> DEVICE SUM lane_of(T_ v, int i)
{
    return lane(v, i);
}
#endif
