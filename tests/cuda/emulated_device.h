/* SPDX-License-Identifier: MIT */
/* emulated_device.h - CUDA C++ as g++ sees it in emulated modules: what NVRTC knows without any include, as far as
 * kernels of this project use it. TUNE_EMULATED is defined, so that texts put calls of tune_emu_* in the place of their
 * inline PTX. Shared memory: statics (filled with NaN before each block); one block runs after the other, in some
 * order. */
#ifndef TUNE_TESTS_CUDA_EMULATED_DEVICE_H
#define TUNE_TESTS_CUDA_EMULATED_DEVICE_H

#include "emulated_abi.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __constant__
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define __managed__

extern "C" {
extern struct emu_module tune_emu_module;
/* A thread's place is always the same to itself: constant for the compiler, a variable for the scheduler. */
struct emu_place tune_emu_place __attribute__((visibility("hidden")));
extern const struct emu_place tune_emu_here __asm__("tune_emu_place") __attribute__((visibility("hidden")));
const struct emu_services *tune_emu_services __attribute__((visibility("hidden")));
unsigned char tune_emu_dynamic[EMU_DYNAMIC_BYTES] __attribute__((aligned(1024), visibility("hidden")));
char tune_emu_sm[] __attribute__((visibility("hidden"))) = EMU_SM_MARK "000";
}

#define threadIdx (tune_emu_here.thread)
#define blockIdx (tune_emu_here.block)
#define blockDim (tune_emu_here.block_size)
#define gridDim (tune_emu_here.grid)
#define warpSize 32

typedef struct emu_dim uint3;
typedef struct emu_dim dim3;
typedef unsigned long size_t;

#ifdef __SANITIZE_THREAD__
/* g++ calls these at each access to memory that others may reach: those to shared memory and to buffers are passed on.
 */
#define TUNE_EMU_NOT_WATCHED __attribute__((no_sanitize("thread")))
static TUNE_EMU_NOT_WATCHED inline void tune_emu_access(const void *at, size_t n, int writes)
{
    if ((size_t)at - (size_t)tune_emu_place.shared < tune_emu_place.n_shared)
        tune_emu_services->access(at, n, writes);
    else if ((size_t)at - (size_t)tune_emu_place.buffers < tune_emu_place.n_buffers)
        tune_emu_services->access_global(at, n, writes);
}
#define TUNE_EMU_ACCESS(name, n)                                                                                       \
    __attribute__((visibility("hidden"))) TUNE_EMU_NOT_WATCHED void __tsan_read##name(void *at)                        \
    {                                                                                                                  \
        tune_emu_access(at, n, 0);                                                                                     \
    }                                                                                                                  \
    __attribute__((visibility("hidden"))) TUNE_EMU_NOT_WATCHED void __tsan_write##name(void *at)                       \
    {                                                                                                                  \
        tune_emu_access(at, n, 1);                                                                                     \
    }                                                                                                                  \
    __attribute__((visibility("hidden"))) TUNE_EMU_NOT_WATCHED void __tsan_unaligned_read##name(void *at)              \
    {                                                                                                                  \
        tune_emu_access(at, n, 0);                                                                                     \
    }                                                                                                                  \
    __attribute__((visibility("hidden"))) TUNE_EMU_NOT_WATCHED void __tsan_unaligned_write##name(void *at)             \
    {                                                                                                                  \
        tune_emu_access(at, n, 1);                                                                                     \
    }
extern "C" {
TUNE_EMU_ACCESS(1, 1)
TUNE_EMU_ACCESS(2, 2)
TUNE_EMU_ACCESS(4, 4)
TUNE_EMU_ACCESS(8, 8)
TUNE_EMU_ACCESS(16, 16)
__attribute__((visibility("hidden"))) TUNE_EMU_NOT_WATCHED void __tsan_read_range(void *at, long n)
{
    tune_emu_access(at, n, 0);
}
__attribute__((visibility("hidden"))) TUNE_EMU_NOT_WATCHED void __tsan_write_range(void *at, long n)
{
    tune_emu_access(at, n, 1);
}
__attribute__((visibility("hidden"))) TUNE_EMU_NOT_WATCHED void __tsan_init(void)
{
}
}
#else
#define TUNE_EMU_NOT_WATCHED
#endif

/* Kernels as one kind of function: arguments from an array of addresses. */
template <int... I> struct tune_emu_list {
};
template <class F> struct tune_emu_caller;
template <class... A> struct tune_emu_caller<void(A...)> {
    static constexpr int n_params = sizeof...(A);
    static constexpr unsigned short bytes[sizeof...(A) + 1] = {sizeof(A)..., 0};
    template <void (*f)(A...), int... I> static void spread(void **params, tune_emu_list<I...>)
    {
        f(*(A *)params[I]...);
    }
    template <void (*f)(A...)> static void call(void **params)
    {
        spread<f>(params, tune_emu_list<__integer_pack(sizeof...(A))...>());
    }
};
#define TUNE_EMU_KERNEL(name, max_threads)                                                                             \
    {                                                                                                                  \
#name, tune_emu_caller < decltype(name)> ::call < name>, tune_emu_caller < decltype(name)> ::bytes,            \
            tune_emu_caller < decltype(name)> ::n_params, max_threads                                                  \
    }

/* Vector types: aligned as NVRTC's are, so that what would be misaligned on a device is found here. */
#define TUNE_EMU_VECTORS(T, name, a2, a4)                                                                              \
    struct name##1                                                                                                     \
    {                                                                                                                  \
        T x;                                                                                                           \
    };                                                                                                                 \
    struct __attribute__((aligned(a2))) name##2                                                                        \
    {                                                                                                                  \
        T x, y;                                                                                                        \
    };                                                                                                                 \
    struct name##3                                                                                                     \
    {                                                                                                                  \
        T x, y, z;                                                                                                     \
    };                                                                                                                 \
    struct __attribute__((aligned(a4))) name##4                                                                        \
    {                                                                                                                  \
        T x, y, z, w;                                                                                                  \
    };                                                                                                                 \
    static inline name##2 make_##name##2(T x, T y)                                                                     \
    {                                                                                                                  \
        return {x, y};                                                                                                 \
    }                                                                                                                  \
    static inline name##3 make_##name##3(T x, T y, T z)                                                                \
    {                                                                                                                  \
        return {x, y, z};                                                                                              \
    }                                                                                                                  \
    static inline name##4 make_##name##4(T x, T y, T z, T w)                                                           \
    {                                                                                                                  \
        return {x, y, z, w};                                                                                           \
    }
TUNE_EMU_VECTORS(signed char, char, 2, 4)
TUNE_EMU_VECTORS(unsigned char, uchar, 2, 4)
TUNE_EMU_VECTORS(short, short, 4, 8)
TUNE_EMU_VECTORS(unsigned short, ushort, 4, 8)
TUNE_EMU_VECTORS(int, int, 8, 16)
struct uint1 {
    unsigned x;
};
struct __attribute__((aligned(8))) uint2 {
    unsigned x, y;
};
struct __attribute__((aligned(16))) uint4 {
    unsigned x, y, z, w;
};
static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}
TUNE_EMU_VECTORS(float, float, 8, 16)
TUNE_EMU_VECTORS(double, double, 16, 16)
struct __attribute__((aligned(16))) longlong2 {
    long long x, y;
};
struct __attribute__((aligned(16))) ulonglong2 {
    unsigned long long x, y;
};

/* Barriers and warps. */
#define __syncthreads() tune_emu_services->barrier(__LINE__, __COUNTER__)
#define __syncwarp(...) tune_emu_services->sync_warp(tune_emu_mask(__VA_ARGS__), __LINE__)
static TUNE_EMU_NOT_WATCHED inline void __threadfence() /* blocks of a cooperative launch are processes */
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#define __threadfence_block() ((void)0)
#define __activemask() 0xffffffffu
static inline unsigned tune_emu_mask(unsigned mask = 0xffffffffu)
{
    return mask;
}
static inline unsigned tune_emu_lane(void)
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % EMU_WARP;
}
static inline void tune_emu_nothing(void *const *, void *)
{
}
template <class T> struct tune_emu_shuffle {
    T value, result;
    int from;
    static void op(void *const *lanes, void *)
    {
        for (int i = 0; i < EMU_WARP; i++)
            if (lanes[i]) {
                tune_emu_shuffle *mine = (tune_emu_shuffle *)lanes[i];
                tune_emu_shuffle *other = (tune_emu_shuffle *)lanes[mine->from % EMU_WARP];
                mine->result = other ? other->value : mine->value;
            }
    }
};
template <class T> static inline T tune_emu_shuffled(unsigned mask, T value, int from, int line)
{
    tune_emu_shuffle<T> mine = {value, value, from};
    tune_emu_services->warp(tune_emu_shuffle<T>::op, &mine, 0, mask, 0, line);
    return mine.result;
}
/* The lane that a shuffle reads: within its part of `width` lanes, else its own. */
static inline int tune_emu_down(int delta, int width)
{
    const int lane = (int)tune_emu_lane();
    return lane % width + delta < width ? lane + delta : lane;
}
static inline int tune_emu_up(int delta, int width)
{
    const int lane = (int)tune_emu_lane();
    return lane % width - delta >= 0 ? lane - delta : lane;
}
static inline int tune_emu_xor(int bits, int width)
{
    const int lane = (int)tune_emu_lane(), other = lane ^ bits;
    return other / width <= lane / width ? other : lane;
}
static inline int tune_emu_at(int from, int width)
{
    const int lane = (int)tune_emu_lane();
    return lane - lane % width + from % width;
}
static inline int tune_emu_width(int width = EMU_WARP)
{
    return width;
}
#define __shfl_sync(m, v, i, ...) tune_emu_shuffled(m, v, tune_emu_at(i, tune_emu_width(__VA_ARGS__)), __LINE__)
#define __shfl_down_sync(m, v, i, ...) tune_emu_shuffled(m, v, tune_emu_down(i, tune_emu_width(__VA_ARGS__)), __LINE__)
#define __shfl_up_sync(m, v, i, ...) tune_emu_shuffled(m, v, tune_emu_up(i, tune_emu_width(__VA_ARGS__)), __LINE__)
#define __shfl_xor_sync(m, v, i, ...) tune_emu_shuffled(m, v, tune_emu_xor(i, tune_emu_width(__VA_ARGS__)), __LINE__)
struct tune_emu_vote {
    int yes;
    unsigned ballot, present;
    static void op(void *const *lanes, void *)
    {
        unsigned ballot = 0, present = 0;
        for (int i = 0; i < EMU_WARP; i++)
            if (lanes[i]) {
                present |= 1u << i;
                ballot |= ((tune_emu_vote *)lanes[i])->yes ? 1u << i : 0;
            }
        for (int i = 0; i < EMU_WARP; i++)
            if (lanes[i]) {
                ((tune_emu_vote *)lanes[i])->ballot = ballot;
                ((tune_emu_vote *)lanes[i])->present = present;
            }
    }
};
static inline tune_emu_vote tune_emu_voted(unsigned mask, int yes, int line)
{
    tune_emu_vote mine = {yes, 0, 0};
    tune_emu_services->warp(tune_emu_vote::op, &mine, 0, mask, 0, line);
    return mine;
}
#define __ballot_sync(m, yes) (tune_emu_voted(m, (yes) != 0, __LINE__).ballot)
#define __any_sync(m, yes) (tune_emu_voted(m, (yes) != 0, __LINE__).ballot != 0)
#define __all_sync(m, yes) (tune_emu_voted(m, (yes) == 0, __LINE__).ballot == 0)

/* Instructions of warps; fragments in registers of 32 bits as the PTX ISA lays them out. */
#define TUNE_EMU_MMA(name, FORM, D, A, B)                                                                              \
    static inline void tune_emu_##name(unsigned(&d)[D], const unsigned(&a)[A], const unsigned(&b)[B],                  \
                                       const unsigned(&c)[D], int line = __builtin_LINE())                             \
    {                                                                                                                  \
        tune_emu_services->mma(FORM, d, a, b, c, line);                                                                \
    }
TUNE_EMU_MMA(mma_m16n8k16_f16_f16, EMU_MMA_M16N8K16_F16_F16, 2, 4, 2)
TUNE_EMU_MMA(mma_m16n8k8_f16_f16, EMU_MMA_M16N8K8_F16_F16, 2, 2, 1)
#undef TUNE_EMU_MMA
#define TUNE_EMU_MMA(name, FORM, T, D, A, B)                                                                           \
    static inline void tune_emu_##name(T(&d)[D], const unsigned(&a)[A], const unsigned(&b)[B], const T(&c)[D],         \
                                       int line = __builtin_LINE())                                                    \
    {                                                                                                                  \
        tune_emu_services->mma(FORM, (unsigned *)d, a, b, (const unsigned *)c, line);                                  \
    }
TUNE_EMU_MMA(mma_m16n8k16_f16, EMU_MMA_M16N8K16_F16, float, 4, 4, 2)
TUNE_EMU_MMA(mma_m16n8k8_f16, EMU_MMA_M16N8K8_F16, float, 4, 2, 1)
TUNE_EMU_MMA(mma_m16n8k16_bf16, EMU_MMA_M16N8K16_BF16, float, 4, 4, 2)
TUNE_EMU_MMA(mma_m16n8k8_bf16, EMU_MMA_M16N8K8_BF16, float, 4, 2, 1)
TUNE_EMU_MMA(mma_m8n8k16_s8, EMU_MMA_M8N8K16_S8, int, 2, 1, 1)
TUNE_EMU_MMA(mma_m16n8k16_s8, EMU_MMA_M16N8K16_S8, int, 4, 2, 1)
TUNE_EMU_MMA(mma_m16n8k32_s8, EMU_MMA_M16N8K32_S8, int, 4, 4, 2)
TUNE_EMU_MMA(mma_m8n8k16_u8_s8, EMU_MMA_M8N8K16_U8_S8, int, 2, 1, 1)
TUNE_EMU_MMA(mma_m16n8k32_u8_s8, EMU_MMA_M16N8K32_U8_S8, int, 4, 4, 2)
#undef TUNE_EMU_MMA
/* ldmatrix.sync.aligned.m8n8.xN(.trans).shared.b16: `row` is the address that this lane gives (generic pointer). */
static inline void tune_emu_ldmatrix_x1(unsigned (&to)[1], const void *row, int transposed = 0,
                                        int line = __builtin_LINE())
{
    tune_emu_services->load_matrix(to, row, 1, transposed, line);
}
static inline void tune_emu_ldmatrix_x2(unsigned (&to)[2], const void *row, int transposed = 0,
                                        int line = __builtin_LINE())
{
    tune_emu_services->load_matrix(to, row, 2, transposed, line);
}
static inline void tune_emu_ldmatrix_x4(unsigned (&to)[4], const void *row, int transposed = 0,
                                        int line = __builtin_LINE())
{
    tune_emu_services->load_matrix(to, row, 4, transposed, line);
}
static inline void tune_emu_warp(int line = __builtin_LINE()) /* all 32 lanes of the warp meet */
{
    int mine = 0;
    tune_emu_services->warp(tune_emu_nothing, &mine, 0, 0xffffffffu, 1, line);
}
/* cp.async: n of 4, 8, 16 bytes; n_from of them from memory, zeros behind. Written when the wait says so. */
static inline void tune_emu_cp_async(void *to, const void *from, int n, int n_from)
{
    tune_emu_services->copy_async(to, from, n, n_from);
}
static inline void tune_emu_cp_async(void *to, const void *from, int n)
{
    tune_emu_services->copy_async(to, from, n, n);
}
static inline void tune_emu_cp_async_commit(void)
{
    tune_emu_services->copy_commit();
}
static inline void tune_emu_cp_async_wait(int n_pending) /* cp.async.wait_group; < 0: wait_all */
{
    tune_emu_services->copy_wait(n_pending);
}
/* Warpgroups, barriers in shared memory and boxes of rows: emu_services says what they do. */
template <class T, int N>
static inline void tune_emu_wgmma(enum emu_wgmma form, T (&d)[N], int n, unsigned long long a, unsigned long long b,
                                  int add)
{
    static_assert(sizeof(T) == 4, "sums of 32 bits");
    if (n != 2 * N)
        tune_emu_services->fail(715, "wgmma with another number of sums");
    tune_emu_services->wgmma(form, (unsigned *)d, n, a, b, add);
}
static inline void tune_emu_wgmma_commit(void)
{
    tune_emu_services->wgmma_commit();
}
static inline void tune_emu_wgmma_wait(int n_pending, int line = __builtin_LINE())
{
    tune_emu_services->wgmma_wait(n_pending, line);
}
static inline void tune_emu_barrier_init(void *b, int count)
{
    tune_emu_services->barrier_init(b, count);
}
static inline void tune_emu_barrier_arrive(void *b, int expected_bytes = 0)
{
    tune_emu_services->barrier_arrive(b, expected_bytes);
}
static inline void tune_emu_barrier_wait(void *b, int parity, int line = __builtin_LINE())
{
    tune_emu_services->barrier_wait(b, parity, line);
}
static inline void tune_emu_fence_async()
{
    tune_emu_services->fence_async();
}
static inline void tune_emu_see_map(const void *map)
{
    tune_emu_services->tensor_map_see(map);
}
static inline void tune_emu_tensor_map(void *map, const void *rows, int n_rows, int row_bytes, int box_rows)
{
    const struct emu_map tensor = {
        rows, {row_bytes, n_rows, 1, 1}, {128, box_rows, 1, 1}, {1, 1, 1, 1}, {1, row_bytes, 0, 0}};
    tune_emu_services->tensor_map(map, &tensor);
}
/* Images [n][h][w][bytes], of which boxes of images, rows and columns are brought, these every step-th. */
static inline void tune_emu_image_map(void *map, const void *x, int bytes, int w, int h, int n, int box_w, int box_h,
                                      int box_n, int step_w, int step_h)
{
    const struct emu_map tensor = {x,
                                   {bytes, w, h, n},
                                   {128, box_w * step_w, box_h * step_h, box_n},
                                   {1, step_w, step_h, 1},
                                   {1, bytes, (long)w * bytes, (long)h * w * bytes}};
    tune_emu_services->tensor_map(map, &tensor);
}
static inline void tune_emu_bring_box(void *to, const void *map, int at, int row, void *barrier)
{
    const int place[EMU_MAP_DIMS] = {at, row, 0, 0};
    tune_emu_services->bring_box(to, map, place, barrier);
}
static inline void tune_emu_bring_images(void *to, const void *map, int at, int w, int h, int n, void *barrier)
{
    const int place[EMU_MAP_DIMS] = {at, w, h, n};
    tune_emu_services->bring_box(to, map, place, barrier);
}
static inline int tune_emu_dp4a(int a, int b, int c)
{
    for (int i = 0; i < 4; i++)
        c += (int)(signed char)(a >> 8 * i) * (int)(signed char)(b >> 8 * i);
    return c;
}
#define __dp4a(a, b, c) tune_emu_dp4a(a, b, c)
static inline float tune_emu_half_to_float(unsigned short bits)
{
    return tune_emu_services->half_to_float(bits);
}
static inline unsigned short tune_emu_float_to_half(float x)
{
    return tune_emu_services->float_to_half(x);
}

/* Scalars. */
extern "C" {
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int usleep(unsigned);
float fmaf(float, float, float);
float fmaxf(float, float);
float fminf(float, float);
float fabsf(float);
float floorf(float);
float ceilf(float);
float rintf(float);
float truncf(float);
float roundf(float);
float expf(float);
float exp2f(float);
float logf(float);
float log2f(float);
float tanhf(float);
float sqrtf(float);
float powf(float, float);
float acosf(float);
float acoshf(float);
float asinf(float);
float asinhf(float);
float atanf(float);
float atanhf(float);
float cosf(float);
float coshf(float);
float sinf(float);
float sinhf(float);
float tanf(float);
float erff(float);
float copysignf(float, float);
float nanf(const char *);
double fma(double, double, double);
double fabs(double);
double floor(double);
double sqrt(double);
double exp(double);
double tanh(double);
}
template <class T, class F> static inline T tune_emu_bits(F from)
{
    static_assert(sizeof(T) == sizeof(F), "as many bits");
    T to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
static inline float __int_as_float(int x)
{
    return tune_emu_bits<float>(x);
}
static inline int __float_as_int(float x)
{
    return tune_emu_bits<int>(x);
}
static inline float __uint_as_float(unsigned x)
{
    return tune_emu_bits<float>(x);
}
static inline unsigned __float_as_uint(float x)
{
    return tune_emu_bits<unsigned>(x);
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline float __fadd_rn(float a, float b)
{
    return a + b;
}
static inline float __fmul_rn(float a, float b)
{
    return a * b;
}
static inline float __fdividef(float a, float b)
{
    return a / b;
}
static inline float __expf(float x)
{
    return expf(x);
}
static inline float __saturatef(float x)
{
    return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f;
}
static inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}
static inline int tune_emu_saturated(float x)
{
    return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x < -2147483648.0f ? -2147483647 - 1 : (int)x;
}
static inline int __float2int_rn(float x)
{
    return tune_emu_saturated(rintf(x));
}
static inline int __float2int_rz(float x)
{
    return tune_emu_saturated(x);
}
static inline int __float2int_rd(float x)
{
    return tune_emu_saturated(floorf(x));
}
static inline float __int2float_rn(int x)
{
    return (float)x;
}
static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline int __mulhi(int a, int b)
{
    return (int)(((long long)a * b) >> 32);
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)(((unsigned long long)a * b) >> 32);
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
    const unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned to = 0;
    for (int i = 0; i < 4; i++)
        to |= (unsigned)(both >> 8 * (s >> 4 * i & 7) & 0xff) << 8 * i;
    return to;
}
static inline int min(int a, int b)
{
    return a < b ? a : b;
}
static inline int max(int a, int b)
{
    return a > b ? a : b;
}
static inline unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}
static inline unsigned max(unsigned a, unsigned b)
{
    return a > b ? a : b;
}
static inline float min(float a, float b)
{
    return fminf(a, b);
}
static inline float max(float a, float b)
{
    return fmaxf(a, b);
}
static inline int abs(int x)
{
    return x < 0 ? -x : x;
}
template <class T> static inline T __ldg(const T *p)
{
    return *p;
}
template <class T> static inline T __ldcg(const T *p)
{
    return *p;
}
template <class T> static inline T __ldcs(const T *p)
{
    return *p;
}
template <class T> static inline void __stcs(T *p, T v)
{
    *p = v;
}
template <class T> static inline void __stcg(T *p, T v)
{
    *p = v;
}
/* One thread of a process runs at a time, but the blocks of a cooperative launch are processes. That what is atomic
 * races with plain accesses is not seen. */
#define TUNE_EMU_ATOMIC(p, next)                                                                                       \
    T old = *(volatile T *)(p), to;                                                                                    \
    do                                                                                                                 \
        to = (next);                                                                                                   \
    while (!__atomic_compare_exchange((p), &old, &to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));                     \
    return old
template <class T> static TUNE_EMU_NOT_WATCHED T atomicAdd(T *p, T v)
{
    TUNE_EMU_ATOMIC(p, old + v);
}
template <class T> static TUNE_EMU_NOT_WATCHED T atomicMax(T *p, T v)
{
    TUNE_EMU_ATOMIC(p, v > old ? v : old);
}
template <class T> static TUNE_EMU_NOT_WATCHED T atomicExch(T *p, T v)
{
    TUNE_EMU_ATOMIC(p, v);
}
template <class T> static TUNE_EMU_NOT_WATCHED T atomicCAS(T *p, T expected, T v)
{
    TUNE_EMU_ATOMIC(p, old == expected ? v : old);
}
#define __trap() tune_emu_services->fail(715, "trap")
#define assert(x) ((x) ? (void)0 : tune_emu_services->fail(710, "assert(" #x ")"))
#define __nanosleep(n) usleep((n) / 1000) /* for blocks that wait for each other */

#endif
