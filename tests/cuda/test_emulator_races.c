/* SPDX-License-Identifier: MIT */
/* What the emulated CUDA calls a race: kernels that are right and kernels that are wrong, in several orders of threads,
 * and orders alone, for texts that were compiled without telling their accesses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/device_checks.h"
#include "tests/cuda/emulated.h"

#define N_THREADS 96 /* three warps */
#define N_SEEDS 4

struct sample {
    const char *what, *body; /* of a kernel: t this thread, y[96] */
};

/* s[96] floats, c[96] bytes, v[24] vectors of 16 bytes, h[4 * 64] halves, of shared memory. */
static const char head[] =
    "struct wide { float e[12]; };\n"
    "#define BEGIN(name) extern \"C\" __global__ void name(float *y) { const int t = threadIdx.x;\\\n"
    "    __shared__ float s[96]; __shared__ unsigned char c[96]; __shared__ uint4 v[96]; __shared__ wide w[96];\\\n"
    "    __shared__ __align__(16) unsigned short h[256]; __shared__ int sum; (void)s; (void)c; (void)v; (void)w;\\\n"
    "    extern __shared__ float dynamic[]; y += 96 * blockIdx.x;\n";

static const struct sample right[] = {
    {"a word for each", "s[t] = t; y[t] = s[t];"},
    {"a barrier between", "s[t] = t; __syncthreads(); y[t] = s[95 - t];"},
    {"dynamic memory too", "dynamic[t] = t; __syncthreads(); y[t] = dynamic[95 - t];"},
    {"bytes of one word", "c[t] = t; y[t] = c[t];"},
    {"many readers", "if (t == 5) s[0] = 1; __syncthreads(); y[t] = s[0]; __syncthreads(); if (t == 7) s[0] = y[t];"},
    {"a barrier before and behind", "s[t] = t; __syncthreads(); y[t] = s[95 - t]; __syncthreads(); s[t] = y[t];"},
    {"a warp that meets", "s[t] = t; __syncwarp(); y[t] = s[t ^ 1]; __syncwarp(); s[t] = 0;"},
    {"half a warp that meets",
     "s[t] = t; if (t % 32 < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000); y[t] = s[t ^ 15];"},
    {"what was handed on", "if (t == 0) s[0] = 1; __syncwarp(); if (t == 1) s[1] = s[0]; __syncwarp();\n"
                           "if (t == 2) { s[0] = s[1]; s[2] = s[0]; } __syncthreads(); if (t == 95) y[t] = s[2];"},
    {"atomics", "if (t == 0) sum = 0; __syncthreads(); atomicAdd(&sum, t); __syncthreads(); y[t] = sum;"},
    {"a copy that was waited for",
     "if (t < 24) tune_emu_cp_async(&v[t], y + 4 * t, 16); tune_emu_cp_async_commit(); tune_emu_cp_async_wait(0);\n"
     "__syncthreads(); y[t] = ((float *)v)[95 - t];"},
    {"the same copy twice", "tune_emu_cp_async(s + t, y + t, 4); tune_emu_cp_async(s + t, y + t, 4); "
                            "tune_emu_cp_async_wait(-1); y[t] = s[t];"},
    {"rows of others behind a barrier",
     "for (int i = t; i < 256; i += 96) h[i] = i; __syncthreads();\n"
     "unsigned r[4]; tune_emu_ldmatrix_x4(r, h + t % 32 * 8); y[t] = r[3]; __syncthreads(); h[t] = 0;"},
};

static const struct sample wrong[] = {
    {"no barrier", "s[t] = t; y[t] = s[95 - t];"},
    {"no barrier, dynamic memory", "dynamic[t] = t; y[t] = dynamic[95 - t];"},
    {"written while others read", "s[t] = t; __syncthreads(); y[t] = s[95 - t]; s[t] = 0;"},
    {"the same word by all", "s[0] = t; __syncthreads(); y[t] = s[0];"},
    {"the same value by all", "s[0] = 1; __syncthreads(); y[t] = s[0];"},
    {"a warp meets, the others do not", "s[t] = t; __syncwarp(); y[t] = s[(t + 32) % 96];"},
    {"half a warp meets",
     "s[t] = t; if (t % 32 < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000); y[t] = s[t ^ 16];"},
    {"an instruction of the warp is no barrier", "s[t] = t; tune_emu_warp(); y[t] = s[t ^ 1];"},
    {"a shuffle is no barrier", "s[t] = t; y[t] = __shfl_xor_sync(0xffffffffu, t, 1) + s[t ^ 1];"},
    {"a byte of a vector", "v[t].w = t; __syncthreads(); ((unsigned char *)v)[16 * t + 15] = 1; y[t] = v[95 - t].w;"},
    {"a byte of a word", "c[t] = t; if (t % 4 == 0) y[t] = *(unsigned *)(c + t);"},
    {"a large struct", "wide a; for (int i = 0; i < 12; i++) a.e[i] = t; w[t] = a; a = w[95 - t]; y[t] = a.e[t % 12];"},
    {"behind a barrier of others' past", "if (t == 0) s[0] = 1; __syncthreads(); if (t == 40) s[0] = 2; y[t] = s[0];"},
    {"a copy into what others read",
     "s[t] = t; __syncthreads(); y[t] = s[95 - t]; tune_emu_cp_async(s + t, y, 4); tune_emu_cp_async_wait(-1);"},
    {"a copy that nobody waited for",
     "tune_emu_cp_async(s + t, y, 4); tune_emu_cp_async_commit(); __syncthreads(); y[t] = s[95 - t];"},
    {"an own copy not waited for", "tune_emu_cp_async(s + t, y, 4); y[t] = s[t];"},
    {"two copies of other bytes", "y[t] = t + 1; tune_emu_cp_async(s + t, y + t, 4);\n"
                                  "tune_emu_cp_async(s + t, y + t, 4, 0); tune_emu_cp_async_wait(-1); y[t] = s[t];"},
    {"the same copy twice, in two groups",
     "tune_emu_cp_async(s + t, y + t, 4); tune_emu_cp_async_commit(); tune_emu_cp_async(s + t, y + t, 4);\n"
     "tune_emu_cp_async_wait(-1); y[t] = s[t];"},
    {"a group too few waited for",
     "tune_emu_cp_async(s + t, y, 4); tune_emu_cp_async_commit(); tune_emu_cp_async_wait(1); y[t] = s[t];"},
    {"a copy waited for, no barrier",
     "tune_emu_cp_async(s + t, y + t, 4); tune_emu_cp_async_commit(); tune_emu_cp_async_wait(0); y[t] = s[95 - t];"},
    {"rows of others", "for (int i = t; i < 256; i += 96) h[i] = i;\nunsigned r[4]; tune_emu_ldmatrix_x4(r, h + t % 32 "
                       "* 8); y[t] = r[3];"},
    {"rows written while others read",
     "for (int i = t; i < 256; i += 96) h[i] = i; __syncthreads();\n"
     "unsigned r[4]; tune_emu_ldmatrix_x4(r, h + t % 32 * 8); y[t] = r[3]; h[t] = 0;"},
};

/* A warpgroup and a warp more; tiles[2 * 8192], of which BRING fills the first with a box that `full` counts; `empty`
 * takes four arrivals. PRODUCTS reads that box. */
static const char ring_head[] =
    "#define MADE if (t == 0) { tune_emu_barrier_init(&full, 1); tune_emu_barrier_init(&empty, 4);\\\n"
    "    tune_emu_tensor_map(map, x, 6, 128, 64); FENCE } __syncthreads();\n"
    "#define FENCE tune_emu_fence_async();\n"
    "#define WRITE ((float *)tiles)[t] = t;\n"
    "#define USE tune_emu_barrier_arrive(&full, 8192); tune_emu_bring_box(tiles, map, 0, 0, &full);\n"
    "#define BRING tune_emu_see_map(map); USE\n"
    "#define FULL(phase) tune_emu_barrier_wait(&full, phase);\n"
    "#define EMPTY tune_emu_barrier_wait(&empty, 0);\n"
    "#define GIVE_BACK if (t % 32 == 0) tune_emu_barrier_arrive(&empty);\n"
    "#define GET y[t % 96] = ((float *)tiles)[t];\n"
    "#define PRODUCTS tune_emu_wgmma(TUNE_EMU_WGMMA_S8, d, 64, 1ull << 62 | 64ull << 32, 1ull << 62 | 64ull << 32, "
    "0);\\\n"
    "    tune_emu_wgmma_commit();\n"
    "#define WAIT tune_emu_wgmma_wait(0);\n"
    "#define BEGIN(name) extern \"C\" __global__ void name(float *y) { const int t = threadIdx.x; float *x = y, "
    "d[32];\\\n"
    "    extern __shared__ __align__(1024) unsigned char tiles[]; __shared__ unsigned long long full, empty;\\\n"
    "    __shared__ __align__(64) unsigned char map[128]; __shared__ float word; (void)word; (void)d;\\\n"
    "    y += 96 * blockIdx.x; MADE\n";

static const struct sample right_rings[] = {
    {"each waits for the box", "if (t == 0) { BRING } FULL(0) GET"},
    {"one waits, then a barrier", "if (t == 0) { BRING FULL(0) } __syncthreads(); GET"},
    {"a word before the arrival",
     "if (t == 150) { word = 1; tune_emu_barrier_arrive(&full); } FULL(0) y[t % 96] = word;"},
    {"given back by each warp, filled again",
     "if (t == 128) { BRING EMPTY BRING } if (t < 128) { FULL(0) GET __syncwarp(); GIVE_BACK FULL(1) GET }"},
    {"products of two boxes", "if (t == 128) { BRING EMPTY BRING }\n"
                              "if (t < 128) { FULL(0) PRODUCTS WAIT GIVE_BACK FULL(1) PRODUCTS WAIT }"},
    {"products of what each wrote and fenced", "WRITE FENCE __syncthreads(); if (t < 128) { PRODUCTS WAIT }"},
    {"products of what others wrote, fenced by each that asks",
     "WRITE __syncthreads(); if (t < 128) { FENCE PRODUCTS WAIT }"},
    {"a box over what each wrote and fenced", "WRITE FENCE __syncthreads(); if (t == 0) { BRING } FULL(0) GET"},
    {"a box over what others wrote, fenced by who brings it",
     "WRITE __syncthreads(); if (t == 0) { FENCE BRING } FULL(0) GET"},
    {"fenced, and known by a barrier in shared memory",
     "if (t < 128) { WRITE FENCE __syncwarp(); GIVE_BACK } if (t == 128) { EMPTY BRING } if (t < 128) { FULL(0) GET }"},
    {"written behind a box, read by those who write",
     "if (t == 0) { BRING } FULL(0) GET __syncthreads(); WRITE y[t % 96] = ((float *)tiles)[t];"},
    {"one thread for the products of its warpgroup", "if (t == 128) { BRING EMPTY BRING }\n"
                                                     "if (t < 128) { FULL(0) PRODUCTS WAIT if (t == 40) for (int i = "
                                                     "0; i < 4; i++) tune_emu_barrier_arrive(&empty); }"},
};

static const struct sample wrong_rings[] = {
    {"one waits, all read", "if (t == 0) { BRING FULL(0) } GET"},
    {"one waits, its warp reads", "if (t == 0) { BRING FULL(0) } if (t < 32) { GET }"},
    {"one warp waits, another reads", "if (t == 0) { BRING } if (t < 32) { FULL(0) GET } else { GET }"},
    {"a word behind the arrival",
     "if (t == 150) { tune_emu_barrier_arrive(&full); word = 1; } FULL(0) y[t % 96] = word;"},
    {"filled again at once",
     "if (t == 128) { BRING } FULL(0) GET if (t == 128) tune_emu_bring_box(tiles, map, 0, 0, &empty);"},
    {"given back before it is read", "if (t == 128) { BRING EMPTY BRING } if (t < 128) { FULL(0) GIVE_BACK GET }"},
    {"given back by a lane that does not know of its warp",
     "if (t == 128) { BRING EMPTY BRING } if (t < 128) { FULL(0) GET GIVE_BACK }"},
    {"given back while products read it",
     "if (t == 128) { BRING EMPTY BRING } if (t < 128) { FULL(0) PRODUCTS GIVE_BACK WAIT }"},
    {"products of a box that nobody waits for", "if (t == 128) { BRING } if (t < 128) { PRODUCTS WAIT }"},
    {"one warp of the warpgroup waits for the box",
     "if (t == 128) { BRING } if (t < 128) { if (t < 32) { FULL(0) } PRODUCTS WAIT }"},
    {"products of what others write", "((float *)tiles)[t] = t; if (t < 128) { PRODUCTS WAIT }"},
    {"written while products read it",
     "if (t == 128) { BRING } if (t < 128) { FULL(0) PRODUCTS ((float *)tiles)[t] = 1; WAIT }"},
    {"an own word, written behind the products' call", "if (t < 128) { PRODUCTS ((float *)tiles)[t] = 1; WAIT }"},
};

static const struct sample unfenced[] = {
    {"products of what each wrote, without a fence", "WRITE __syncthreads(); if (t < 128) { PRODUCTS WAIT }"},
    {"a fence before the write", "FENCE WRITE __syncthreads(); if (t < 128) { PRODUCTS WAIT }"},
    {"a fence behind the products' call", "WRITE __syncthreads(); if (t < 128) { PRODUCTS FENCE WAIT }"},
    {"one warp without a fence", "WRITE if (t / 32 != 1) FENCE __syncthreads(); if (t < 128) { PRODUCTS WAIT }"},
    {"a fence of a warp that asks for nothing, a barrier too late",
     "WRITE __syncthreads(); if (t >= 128) { FENCE } if (t < 128) { PRODUCTS WAIT }"},
    {"a box over what each wrote, without a fence", "WRITE __syncthreads(); if (t == 0) { BRING } FULL(0) GET"},
    {"known by a barrier in shared memory, without a fence",
     "if (t < 128) { WRITE __syncwarp(); GIVE_BACK } if (t == 128) { EMPTY BRING } if (t < 128) { FULL(0) GET }"},
    {"a box that a barrier made without a fence counts",
     "if (t == 0) { tune_emu_barrier_init(&full, 1); BRING } __syncthreads(); FULL(0) GET"},
};

/* USE: as BRING, but for the map, which is made before. */
static const struct sample unseen_maps[] = {
    {"nobody", "if (t == 0) { USE } FULL(0) GET"},
    {"another thread", "tune_emu_see_map(map + 128 * (t == 0)); __syncthreads(); if (t == 0) { USE } FULL(0) GET"},
    {"made anew since",
     "if (t == 0) { tune_emu_see_map(map); tune_emu_tensor_map(map, x, 6, 128, 64); USE } FULL(0) GET"},
};

/* All samples as kernels k0, k1 ... of one text: compiled once. */
static char *text_of(const char *head_of, const struct sample *samples, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    fputs(head_of, f);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "BEGIN(k%zu)\n%s }\n", i, samples[i].body);
    fclose(f);
    return text;
}

/* What two blocks of kernel k`i` end with. */
static CUresult run_threads(const char *text, size_t i, int seed, unsigned n_threads, unsigned dynamic,
                            float y[N_THREADS])
{
    char name[16], seed_text[16];
    CUcontext c;
    float both[2 * N_THREADS] = {0};
    CUdeviceptr dy;
    CUfunction f;
    CUresult e;

    snprintf(name, sizeof name, "k%zu", i);
    snprintf(seed_text, sizeof seed_text, "%d", seed);
    setenv("TUNE_CUDA_SEED", seed_text, 1);
    c = emulated_start("80");
    unsetenv("TUNE_CUDA_SEED");
    f = emulated_kernel(text, name);
    dy = emulated_buffer(both, sizeof both);
    e = cuda.cuLaunchKernel(f, 2, 1, 1, n_threads, 1, 1, dynamic, NULL, (void *[]){&dy}, NULL);
    if (!e)
        e = cuda.cuCtxSynchronize();
    if (!e)
        emulated_read(y, dy, N_THREADS * sizeof *y);
    assert_int_equal(cuda.cuCtxDestroy_v2(c), 0);
    return e;
}

static CUresult run(const char *text, size_t i, int seed, float y[N_THREADS])
{
    return run_threads(text, i, seed, N_THREADS, N_THREADS * 4, y);
}

static bool log_tells(const char *path, const char *words)
{
    char line[400];
    bool told = false;
    FILE *log = fopen(path, "r");

    assert_non_null(log);
    while (fgets(line, sizeof line, log))
        told |= strstr(line, words) != NULL;
    fclose(log);
    return told;
}

/* In each order of threads: all are right (NULL), or each ends with these words. */
static void check(const char *head_of, const struct sample *samples, size_t n, const char *words)
{
    const bool ring = head_of == ring_head;
    char *text = text_of(head_of, samples, n);

    for (size_t i = 0; i < n; i++)
        for (int seed = 0; seed < N_SEEDS; seed++) {
            char path[] = "/tmp/emulated-XXXXXX";
            const int fd = mkstemp(path);
            float y[N_THREADS] = {0};
            CUresult e;

            assert_true(fd >= 0);
            close(fd);
            setenv("TUNE_CUDA_LOG", path, 1);
            e = run_threads(text, i, seed, ring ? 160 : N_THREADS, ring ? 2 * 8192 : N_THREADS * 4, y);
            unsetenv("TUNE_CUDA_LOG");
            if (e != (words ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS) || (words && !log_tells(path, words)))
                fail_msg("%s, seed %d: %d", samples[i].what, seed, (int)e);
            unlink(path);
        }
    free(text);
}

static void kernels_that_are_right_have_no_race(void **state)
{
    (void)state;
    check(head, right, sizeof right / sizeof *right, NULL);
    check(ring_head, right_rings, sizeof right_rings / sizeof *right_rings, NULL);
}

static void races_are_told_in_every_order_of_threads(void **state)
{
    (void)state;
    check(head, wrong, sizeof wrong / sizeof *wrong, "race: ");
}

static void races_of_boxes_and_products_are_told(void **state)
{
    (void)state;
    check(ring_head, wrong_rings, sizeof wrong_rings / sizeof *wrong_rings, "race: ");
}

static void plain_writes_need_a_fence_for_the_copy_engine(void **state)
{
    (void)state;
    check(ring_head, unfenced, sizeof unfenced / sizeof *unfenced, "no fence.proxy.async between");
}

static void a_map_is_asked_for_by_each_thread_that_uses_it(void **state)
{
    (void)state;
    check(ring_head, unseen_maps, sizeof unseen_maps / sizeof *unseen_maps, "without fence.proxy.tensormap");
}

static void races_are_told_with_threads_and_lines(void **state)
{
    static const struct sample sample = {"", "\n#line 70\n__syncthreads(); if (t == 33) s[4] = 1;\n__syncthreads();\n"
                                             "if (t == 3) s[4] = 1; if (t == 34) y[t] = s[4]; __syncthreads();"};
    char path[] = "/tmp/emulated-XXXXXX", line[300], *text = text_of(head, &sample, 1);
    const int fd = mkstemp(path);
    float y[N_THREADS] = {0};
    bool told = false;
    FILE *log;

    (void)state;
    assert_true(fd >= 0);
    setenv("TUNE_CUDA_LOG", path, 1);
    assert_int_equal(run(text, 0, 0, y), CUDA_ERROR_LAUNCH_FAILED);
    unsetenv("TUNE_CUDA_LOG");
    log = fopen(path, "r");
    assert_non_null(log);
    while (fgets(line, sizeof line, log))
        told |= strstr(line, "race: ") && strstr(line, "thread (34,0,0) ") && strstr(line, "thread (3,0,0) ") &&
                strstr(line, "behind line 71,");
    fclose(log);
    unlink(path);
    free(text);
    assert_true(told);
}

/* Of what is compiled without calls at its accesses only the order of threads tells: the third warp is given what the
 * others hold at their first step, which one that ran ahead or stayed behind no longer or not yet has. */
static void warps_run_ahead_of_each_other(void **state)
{
    static const struct sample sample = {"",
                                         "s[t / 32] = 0; __syncthreads();\n"
                                         "for (int step = 1; step <= 3; step++) { s[t / 32] = step; tune_emu_warp();\n"
                                         "    if (s[(t / 32 + 1) % 3] != step) y[t] = 1; BARRIER; }"};
    char *text = text_of(head, &sample, 1), with[4000];
    int n_wrong = 0;

    (void)state;
    setenv("TUNE_NVRTC_FLAGS", "-O1", 1);
    for (int seed = 0; seed < N_SEEDS; seed++) {
        float y[N_THREADS] = {0};

        snprintf(with, sizeof with, "#define BARRIER\n%s", text);
        assert_int_equal(run(with, 0, seed, y), CUDA_SUCCESS);
        for (int t = 0; t < N_THREADS; t++)
            n_wrong += y[t] != 0.0f;
    }
    unsetenv("TUNE_NVRTC_FLAGS");
    free(text);
    assert_int_equal(n_wrong, N_SEEDS * N_THREADS);
}

/* Two kernels of 2 x 3 blocks of 8 threads with x[48] = i / 8 and y[48] = 0. */
static CUresult run_blocks(const char *body, int seed, const char *flags, int y[48])
{
    char text[800], seed_text[16];
    int x[48];
    CUcontext c;
    CUdeviceptr dx, dy;
    CUresult e;

    for (int i = 0; i < 48; i++) {
        x[i] = i / 8;
        y[i] = 0;
    }
    snprintf(text, sizeof text,
             "extern \"C\" __global__ void k(int *x, int *y)\n"
             "{ const int b = blockIdx.x + 2 * blockIdx.y, t = threadIdx.x; %s }",
             body);
    snprintf(seed_text, sizeof seed_text, "%d", seed);
    setenv("TUNE_CUDA_SEED", seed_text, 1);
    if (flags)
        setenv("TUNE_NVRTC_FLAGS", flags, 1);
    c = emulated_start("80");
    dx = emulated_buffer(x, sizeof x);
    dy = emulated_buffer(y, 48 * sizeof *y);
    e = cuda.cuLaunchKernel(emulated_kernel(text, "k"), 2, 3, 1, 8, 1, 1, 0, NULL, (void *[]){&dx, &dy}, NULL);
    if (!e)
        e = cuda.cuCtxSynchronize();
    if (!e)
        emulated_read(y, dy, 48 * sizeof *y);
    assert_int_equal(cuda.cuCtxDestroy_v2(c), 0);
    unsetenv("TUNE_CUDA_SEED");
    unsetenv("TUNE_NVRTC_FLAGS");
    return e;
}

static void blocks_that_touch_what_others_write_are_told(void **state)
{
    static const struct {
        const char *what, *body;
        CUresult expected;
    } samples[] = {
        {"each its own", "y[8 * b + t] = x[8 * b + t];", 0},
        {"all read the same", "y[8 * b + t] = x[t] + x[47 - t];", 0},
        {"own memory, read and written", "y[8 * b + t] = 1; __syncthreads(); y[8 * b + 7 - t] += x[8 * b + t];", 0},
        {"atomics", "atomicAdd(y, t);", 0},
        {"the same once more", "y[8 * b + t] = 3; y[t] = 3;", 0},
        {"the same word by all", "y[t] = x[8 * b + t];", 719},
        {"a byte of another's word", "y[8 * b + t] = 1; ((unsigned char *)y)[(32 * b + 32) % 192] = 1 + b;", 719},
        {"what another writes", "y[8 * b + t] = y[(8 * b + 8) % 48];", 719},
        {"what another writes, by a copy",
         "__shared__ int s[8]; y[8 * b + t] = 1; tune_emu_cp_async(s + t, y + (8 * b + 8 + t) % 48, 4);\n"
         "tune_emu_cp_async_wait(-1); x[8 * b + t] = s[t];",
         719},
        {"what another reads", "x[(8 * b + 8 + t) % 48] = x[8 * b + t];", 719},
    };

    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (int seed = 0; seed < N_SEEDS; seed++) {
            int y[48];
            const CUresult e = run_blocks(samples[i].body, seed, NULL, y);

            if (e != samples[i].expected)
                fail_msg("%s, seed %d: %d, expected %d", samples[i].what, seed, (int)e, (int)samples[i].expected);
        }
}

/* One thread of a kernel that is told of the middle of x, 48 floats between the bands of runtime/cuda_load.c. */
static CUresult run_between_bands(const char *body)
{
    const size_t n_bytes = 48 * sizeof(float) + 2 * GUARD_BYTES;
    void *bytes = calloc(1, n_bytes);
    float y[4] = {0};
    char text[400];
    CUcontext c;
    CUdeviceptr dx, dy, within;
    CUresult e;

    assert_non_null(bytes);
    snprintf(text, sizeof text, "extern \"C\" __global__ void k(float *x, float *y) { __shared__ float s[4]; %s }",
             body);
    c = emulated_start("80");
    dx = emulated_buffer(bytes, n_bytes);
    dy = emulated_buffer(y, sizeof y);
    within = dx + GUARD_BYTES;
    e = cuda.cuLaunchKernel(emulated_kernel(text, "k"), 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&within, &dy}, NULL);
    if (!e)
        e = cuda.cuCtxSynchronize();
    assert_int_equal(cuda.cuCtxDestroy_v2(c), 0);
    free(bytes);
    return e;
}

static void reads_of_bands_are_illegal(void **state)
{
    static const struct {
        const char *body;
        CUresult expected;
    } samples[] = {
        {"y[0] = x[0] + x[47]; x[48] = x[-1] = 1;", 0}, /* writes are for who laid the bands */
        {"tune_emu_cp_async(s, x + 44, 16); tune_emu_cp_async(s, x + 48, 16, 0); tune_emu_cp_async_wait(-1);", 0},
        {"y[0] = x[48];", 700},
        {"y[0] = x[-1];", 700},
        {"y[0] = x[30000] * 0;", 700},
        {"y[0] = ((double *)(x + 47))[0];", 716},
        {"y[0] = ((uint4 *)x)[12].w;", 700},
        {"tune_emu_cp_async(s, x + 48, 4); tune_emu_cp_async_wait(-1);", 700},
    };

    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const CUresult e = run_between_bands(samples[i].body);

        if (e != samples[i].expected)
            fail_msg("%s: %d, expected %d", samples[i].body, (int)e, (int)samples[i].expected);
    }
}

/* Each block adds to what the one before has written: right only if blocks come from the first to the last. */
static void blocks_come_in_any_order(void **state)
{
    int n_wrong = 0;

    (void)state;
    for (int seed = 0; seed < N_SEEDS; seed++) {
        int y[48];

        assert_int_equal(run_blocks("if (t == 0) y[b + 1] = y[b] + 1;", seed, "-O1", y), 0);
        for (int i = 1; i < 7; i++)
            assert_true(y[i] > 0); /* every block has run */
        n_wrong += y[6] != 6;
    }
    assert_in_range(n_wrong, 1, N_SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_that_are_right_have_no_race),
        cmocka_unit_test(races_are_told_in_every_order_of_threads),
        cmocka_unit_test(races_of_boxes_and_products_are_told),
        cmocka_unit_test(plain_writes_need_a_fence_for_the_copy_engine),
        cmocka_unit_test(a_map_is_asked_for_by_each_thread_that_uses_it),
        cmocka_unit_test(races_are_told_with_threads_and_lines),
        cmocka_unit_test(warps_run_ahead_of_each_other),
        cmocka_unit_test(blocks_that_touch_what_others_write_are_told),
        cmocka_unit_test(reads_of_bands_are_illegal),
        cmocka_unit_test(blocks_come_in_any_order),
    };
    const int e = emulated_open();

    return e ? e : cmocka_run_group_tests(tests, NULL, NULL);
}
