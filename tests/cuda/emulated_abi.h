/* SPDX-License-Identifier: MIT */
/* emulated_abi.h - what emulated CUDA code and the emulated driver know of each other. C and C++: the driver is C, a
 * "cubin" is a shared object that g++ made of CUDA C++ text (emulated_device.h in front of it), bound at load. */
#ifndef TUNE_TESTS_CUDA_EMULATED_ABI_H
#define TUNE_TESTS_CUDA_EMULATED_ABI_H

#define EMU_MAGIC 0x54454d55         /* "TEMU" */
#define EMU_MODULE "tune_emu_module" /* the symbol of struct emu_module */
#define EMU_SM_MARK "TUNE-SM-"       /* in front of the architecture's three digits in the object's bytes */
#define EMU_DYNAMIC_BYTES 237568     /* room for dynamic shared memory and a band behind it */
#define EMU_WARP 32

struct emu_dim {
    unsigned x, y, z;
};

/* What the running thread reads as threadIdx, blockIdx, blockDim, gridDim: one place in the object, written by the
 * scheduler whenever a thread goes on; and where accesses are told to emu_services.access: n bytes from each of two
 * places, shared memory and what lies around the buffers. */
struct emu_place {
    struct emu_dim thread, block, block_size, grid;
    const unsigned char *shared, *buffers;
    unsigned long n_shared, n_buffers; /* bytes */
};

/* mma.sync of the PTX ISA, by shape and types of the operands. */
enum emu_mma {
    EMU_MMA_M16N8K8_F16,      /* f16 x f16 + f32 */
    EMU_MMA_M16N8K16_F16,     /* f16 x f16 + f32 */
    EMU_MMA_M16N8K16_BF16,    /* bf16 x bf16 + f32 */
    EMU_MMA_M16N8K8_BF16,     /* bf16 x bf16 + f32 */
    EMU_MMA_M16N8K8_F16_F16,  /* f16 x f16 + f16 */
    EMU_MMA_M16N8K16_F16_F16, /* f16 x f16 + f16 */
    EMU_MMA_M8N8K16_S8,       /* s8 x s8 + s32 */
    EMU_MMA_M16N8K16_S8,      /* s8 x s8 + s32 */
    EMU_MMA_M16N8K32_S8,      /* s8 x s8 + s32 */
    EMU_MMA_M8N8K16_U8_S8,    /* u8 x s8 + s32 */
    EMU_MMA_M16N8K32_U8_S8,   /* u8 x s8 + s32 */
    EMU_N_MMA
};

/* wgmma.mma_async of m64: types of the operands. */
enum emu_wgmma { TUNE_EMU_WGMMA_F16, TUNE_EMU_WGMMA_BF16, TUNE_EMU_WGMMA_S8, TUNE_EMU_WGMMA_U8_S8 };

/* A tensor in global memory, dimension 0 innermost and counted in bytes, and the box that is brought of it: `box`
 * elements of each dimension, of which every step-th. */
#define EMU_MAP_DIMS 4
struct emu_map {
    const void *base;
    int dims[EMU_MAP_DIMS], box[EMU_MAP_DIMS], step[EMU_MAP_DIMS];
    long strides[EMU_MAP_DIMS]; /* bytes; of dimension 0: 1 */
};

/* Functions of the driver for emulated code. `line`: of the source, so that threads that meet in different barriers are
 * told. */
struct emu_services {
    void (*barrier)(int line, int number); /* number: of the barriers in the text, from 0 */
    void (*sync_warp)(unsigned mask, int line);
    /* The running thread reads or writes n bytes of shared memory; of what may be a buffer's. */
    void (*access)(const void *at, unsigned long n, int writes);
    void (*access_global)(const void *at, unsigned long n, int writes);
    /* All lanes of `mask` arrive, each lending a struct of its own; then `op` runs once over all of them (lanes[i] is
     * NULL where lane i is not in the mask or does not exist) and everybody goes on. `whole`: all 32 lanes must be
     * there. */
    void (*warp)(void (*op)(void *const *lanes, void *arg), void *mine, void *arg, unsigned mask, int whole, int line);
    /* d = a * b + c: the registers of this lane, as the PTX ISA lays them out. d may be c. */
    void (*mma)(enum emu_mma form, unsigned *d, const unsigned *a, const unsigned *b, const unsigned *c, int line);
    /* ldmatrix.m8n8.xN.b16: row addresses of this lane in `row`, n of 1 2 4. */
    void (*load_matrix)(unsigned *to, const void *row, int n, int transposed, int line);
    /* cp.async: `to` sees the bytes (n_from of them, then zeros up to n) when a wait says so, not before. */
    void (*copy_async)(void *to, const void *from, int n, int n_from);
    void (*copy_commit)(void);
    void (*copy_wait)(int n_pending); /* groups that may still be under way; < 0: everything is done, uncommitted too */
    void (*fail)(int error, const char *words); /* ends the launch with a CUresult; does not return */
    float (*half_to_float)(unsigned short bits);
    unsigned short (*float_to_half)(float x);
    /* d = a * b, plus d where `add`, of this thread's warpgroup: a and b as matrix descriptors, d[n / 2] in 32 bits.
     * Read and written when a wait says so, of committed ones all but the last n_pending groups. */
    void (*wgmma)(enum emu_wgmma form, unsigned *d, int n, unsigned long long a, unsigned long long b, int add);
    void (*wgmma_commit)(void);
    void (*wgmma_wait)(int n_pending, int line);
    /* mbarriers, 8 bytes of shared memory: to end a phase takes `count` arrivals and all bytes that are expected. */
    void (*barrier_init)(void *b, int count);
    void (*barrier_arrive)(void *b, int expected_bytes);
    void (*barrier_wait)(void *b, int parity, int line);
    /* cp.async.bulk.tensor of a box by a map of 128 bytes: rows of 128 bytes, with 128-byte swizzle. */
    void (*tensor_map)(void *map, const struct emu_map *tensor);
    void (*tensor_map_see)(const void *map); /* fence.proxy.tensormap, acquire: by each thread that uses the map */
    /* fence.proxy.async: what this thread and those it has met wrote is there for boxes, barriers' bytes and wgmma. */
    void (*fence_async)(void);
    void (*bring_box)(void *to, const void *map, const int at[EMU_MAP_DIMS], void *barrier);
};

struct emu_kernel {
    const char *name;
    void (*call)(void **params); /* reads its arguments from params[0..n_params-1] */
    const unsigned short *param_bytes;
    int n_params;
    int max_threads; /* __launch_bounds__, 0 = not given */
};

struct emu_module {
    unsigned magic;
    const char *sm; /* EMU_SM_MARK and three digits */
    struct emu_place *place;
    const struct emu_services **services;
    unsigned char *dynamic; /* dynamic shared memory of the running block [EMU_DYNAMIC_BYTES] */
    const struct emu_kernel *kernels;
    int n_kernels;
};

#endif
