/* SPDX-License-Identifier: MIT */
/* Instructions of warps in the emulated CUDA against plain products: fragments are loaded and stored element by element
 * with the row and column that the PTX ISA writes down for each shape, as kernels for a device would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/dtype.h"
#include "tests/cuda/emulated.h"

/* One shape: rows and columns of element i, with g and t as the PTX ISA's groupID and threadID_in_group. */
struct form {
    const char *call;    /* of emulated_device.h */
    int m, k;            /* n is 8 */
    const char *element; /* what A and B are moved as */
    int lanes;           /* elements in a register */
    const char *sum;     /* type of C and D */
    const char *a_row, *a_column, *b_row;
    double tolerance;
};

static const struct form forms[] = {
    {"mma_m16n8k16_f16", 16, 16, "unsigned short", 2, "float", "(i < 2 || (i >= 4 && i < 6)) ? g : g + 8",
     "t * 2 + (i & 1) + (i < 4 ? 0 : 8)", "t * 2 + (i & 1) + (i < 2 ? 0 : 8)", 1e-5},
    {"mma_m16n8k16_bf16", 16, 16, "unsigned short", 2, "float", "(i < 2 || (i >= 4 && i < 6)) ? g : g + 8",
     "t * 2 + (i & 1) + (i < 4 ? 0 : 8)", "t * 2 + (i & 1) + (i < 2 ? 0 : 8)", 1e-5},
    {"mma_m16n8k8_f16", 16, 8, "unsigned short", 2, "float", "i < 2 ? g : g + 8", "t * 2 + (i & 1)", "t * 2 + i", 1e-5},
    {"mma_m16n8k8_bf16", 16, 8, "unsigned short", 2, "float", "i < 2 ? g : g + 8", "t * 2 + (i & 1)", "t * 2 + i",
     1e-5},
    {"mma_m16n8k16_f16_f16", 16, 16, "unsigned short", 2, "unsigned short", "(i < 2 || (i >= 4 && i < 6)) ? g : g + 8",
     "t * 2 + (i & 1) + (i < 4 ? 0 : 8)", "t * 2 + (i & 1) + (i < 2 ? 0 : 8)", 2e-3},
    {"mma_m16n8k8_f16_f16", 16, 8, "unsigned short", 2, "unsigned short", "i < 2 ? g : g + 8", "t * 2 + (i & 1)",
     "t * 2 + i", 2e-3},
    {"mma_m8n8k16_s8", 8, 16, "signed char", 4, "int", "g", "t * 4 + i", "t * 4 + i", 0},
    {"mma_m16n8k16_s8", 16, 16, "signed char", 4, "int", "i < 4 ? g : g + 8", "t * 4 + (i & 3)", "t * 4 + i", 0},
    {"mma_m16n8k32_s8", 16, 32, "signed char", 4, "int", "(i < 4 || (i >= 8 && i < 12)) ? g : g + 8",
     "t * 4 + (i & 3) + (i < 8 ? 0 : 16)", "t * 4 + (i & 3) + (i < 4 ? 0 : 16)", 0},
    {"mma_m8n8k16_u8_s8", 8, 16, "unsigned char", 4, "int", "g", "t * 4 + i", "t * 4 + i", 0},
    {"mma_m16n8k32_u8_s8", 16, 32, "unsigned char", 4, "int", "(i < 4 || (i >= 8 && i < 12)) ? g : g + 8",
     "t * 4 + (i & 3) + (i < 8 ? 0 : 16)", "t * 4 + (i & 3) + (i < 4 ? 0 : 16)", 0},
};

/* D[M][8] = A[M][K] B[K][8] + C[M][8]; registers: arrays of elements seen as unsigned. */
static const char mma_text[] =
    "extern \"C\" __global__ void k(const T *a, const T *b, const S *c, S *d)\n"
    "{\n"
    "    const int lane = threadIdx.x % 32, g = lane >> 2, t = lane % 4;\n"
    "    __align__(4) T ea[M * K / 32], eb[8 * K / 32];\n"
    "    __align__(4) S sum[M * 8 / 32];\n"
    "    for (int i = 0; i < M * K / 32; i++) ea[i] = a[(A_ROW) * K + (A_COLUMN)];\n"
    "    for (int i = 0; i < 8 * K / 32; i++) eb[i] = b[(B_ROW) * 8 + g];\n"
    "    for (int i = 0; i < M / 4; i++) sum[i] = c[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)];\n"
    "    CALL(*(REGISTER(*)[sizeof sum / 4])sum, *(const unsigned(*)[sizeof ea / 4])ea,\n"
    "         *(const unsigned(*)[sizeof eb / 4])eb, *(const REGISTER(*)[sizeof sum / 4])sum);\n"
    "    for (int i = 0; i < M / 4; i++) d[(i < 2 ? g : g + 8) * 8 + t * 2 + (i & 1)] = sum[i];\n"
    "}\n";

static bool is_half_sum(const struct form *f)
{
    return strcmp(f->sum, "unsigned short") == 0;
}

static CUfunction make_mma(const struct form *f)
{
    char text[4000];

    snprintf(text, sizeof text,
             "#define M %d\n#define K %d\n#define T %s\n#define S %s\n#define REGISTER %s\n#define A_ROW %s\n"
             "#define A_COLUMN %s\n#define B_ROW %s\n#define CALL tune_emu_%s\n%s",
             f->m, f->k, f->element, f->sum, is_half_sum(f) ? "unsigned" : f->sum, f->a_row, f->a_column, f->b_row,
             f->call, mma_text);
    return emulated_kernel(text, "k");
}

static enum dtype operand_of(const struct form *f)
{
    return f->lanes == 4 ? DTYPE_I8 : strstr(f->call, "bf16") ? DTYPE_BF16 : DTYPE_F16;
}

static enum dtype sum_of(const struct form *f)
{
    return is_half_sum(f) ? DTYPE_F16 : f->lanes == 4 ? DTYPE_I32 : DTYPE_F32;
}

/* A small number as element i of `to`: signed, and with fractions where there are any. Its value. */
static double put(const struct form *f, void *to, int i, int number)
{
    const double x = f->lanes == 4 ? number % 255 - 127 : (number % 41 - 20) / 4.0;

    dtype_store(operand_of(f), to, (size_t)i, x);
    return x;
}

static double put_unsigned(void *to, int i, int number)
{
    dtype_store(DTYPE_U8, to, (size_t)i, number % 256);
    return number % 256;
}

static void check_form(const struct form *f)
{
    CUcontext context = emulated_start("80");
    CUfunction kernel = make_mma(f);
    unsigned char a[16 * 32 * 2], b[32 * 8 * 2], c[16 * 8 * 4], d[16 * 8 * 4];
    double va[16 * 32], vb[32 * 8];
    CUdeviceptr da, db, dc, dd;

    for (int i = 0; i < f->m * f->k; i++)
        va[i] = strstr(f->call, "u8") ? put_unsigned(a, i, 7 * i + i * i) : put(f, a, i, 7 * i + i * i);
    for (int i = 0; i < f->k * 8; i++)
        vb[i] = put(f, b, i, 13 * i + 5 + i * i);
    for (int i = 0; i < f->m * 8; i++)
        dtype_store(sum_of(f), c, (size_t)i, i % 19 - 9);
    da = emulated_buffer(a, sizeof a);
    db = emulated_buffer(b, sizeof b);
    dc = emulated_buffer(c, sizeof c);
    dd = emulated_buffer(NULL, sizeof d);
    assert_int_equal(cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&da, &db, &dc, &dd}, NULL), 0);
    emulated_read(d, dd, sizeof d);
    for (int i = 0; i < f->m * 8; i++) {
        const double y = dtype_load(sum_of(f), d, (size_t)i);
        double sum = i % 19 - 9, scale = 9;

        for (int k = 0; k < f->k; k++) {
            sum += va[i / 8 * f->k + k] * vb[k * 8 + i % 8];
            scale += 25;
        }
        if (!(y - sum <= f->tolerance * scale && sum - y <= f->tolerance * scale))
            fail_msg("%s: row %d, column %d: %g, expected %g", f->call, i / 8, i % 8, y, sum);
    }
    assert_int_equal(cuda.cuCtxDestroy_v2(context), 0);
}

static void mma_is_a_product_of_matrices(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        check_form(&forms[i]);
}

/* What a kernel with one buffer of n floats does, in one block. */
static CUresult run(const char *text, unsigned block, float *y, size_t n)
{
    CUcontext c = emulated_start("80");
    CUfunction f = emulated_kernel(text, "k");
    CUdeviceptr dy = emulated_buffer(y, n * sizeof *y);
    CUresult e = cuda.cuLaunchKernel(f, 1, 1, 1, block, 1, 1, 0, NULL, (void *[]){&dy}, NULL);

    if (!e)
        e = cuda.cuCtxSynchronize();
    if (!e)
        emulated_read(y, dy, n * sizeof *y);
    assert_int_equal(cuda.cuCtxDestroy_v2(c), 0);
    return e;
}

#define KERNEL "extern \"C\" __global__ void k(float *y)\n"

static void mma_needs_whole_warps(void **state)
{
    static const char text[] = KERNEL "{ int d[2] = {0, 0}; const unsigned a[1] = {1}, b[1] = {2};\n"
                                      "  if (BAD) tune_emu_mma_m8n8k16_s8(d, a, b, d);\n  y[threadIdx.x] = d[0]; }";
    char with[400];
    float y[64];

    (void)state;
    snprintf(with, sizeof with, "#define BAD threadIdx.x < 40\n%s",
             text); /* some lanes of the second warp are not there */
    assert_int_equal(run(with, 64, y, 64), 719);
    snprintf(with, sizeof with, "#define BAD true\n%s", text);
    assert_int_equal(run(with, 48, y, 64), 719); /* half a warp */
    assert_int_equal(run(with, 64, y, 64), 0);
    assert_true(y[63] == 8.0f);
}

/* 8 x 8 matrices of b16 in shared memory: element (r, c) of matrix m is 64 * m + 8 * r + c. */
static void matrices_are_loaded_from_rows(void **state)
{
    static const char text[] =
        KERNEL "{ __shared__ __align__(16) unsigned short s[4 * 64];\n"
               "  for (int i = threadIdx.x; i < 256; i += 32) s[i] = i;\n"
               "  __syncthreads();\n"
               "  unsigned r[4]; tune_emu_ldmatrix_x4(r, s + 8 * threadIdx.x, TRANS);\n"
               "  for (int i = 0; i < 8; i++) y[threadIdx.x * 8 + i] = r[i / 2] >> 16 * (i % 2) & 0xffff; }";

    (void)state;
    for (int trans = 0; trans < 2; trans++) {
        char with[800];
        float y[256];

        snprintf(with, sizeof with, "#define TRANS %d\n%s", trans, text);
        assert_int_equal(run(with, 32, y, 256), 0);
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < 8; i++) {
                const int row = lane / 4, column = lane % 4 * 2 + i % 2;
                const int expected = 64 * (i / 2) + (trans ? 8 * column + row : 8 * row + column);

                assert_int_equal((int)y[8 * lane + i], expected);
            }
    }
}

/* A copy that is under way: what is read before the wait is not what was copied (compiled without calls at accesses,
 * which would say that it is a race). */
static void asynchronous_copies_come_with_the_wait(void **state)
{
    static const char text[] =
        KERNEL "{ __shared__ __align__(16) float s[2][128]; const int t = threadIdx.x;\n"
               "  tune_emu_cp_async(&s[0][4 * t], y + 4 * t, 16); tune_emu_cp_async_commit();\n"
               "  tune_emu_cp_async(&s[1][4 * t], y + 4 * t, 16, 8); tune_emu_cp_async_commit();\n"
               "  WAIT; __syncthreads();\n"
               "  const float a = s[0][127 - t], b = s[1][127 - t]; __syncthreads();\n"
               "  y[t] = a; y[t + 32] = b; }";
    static const char *const waits[] = {"tune_emu_cp_async_wait(0)", "tune_emu_cp_async_wait(1)", "(void)0"};

    (void)state;
    setenv("TUNE_NVRTC_FLAGS", "-O1", 1);
    for (int n = 0; n < 3; n++) {
        char with[800];
        float y[128];

        for (int i = 0; i < 128; i++)
            y[i] = (float)i;
        snprintf(with, sizeof with, "#define WAIT %s\n%s", waits[n], text);
        assert_int_equal(run(with, 32, y, 128), 0);
        for (int t = 0; t < 32; t++) {
            const int from = 127 - t;

            if (n < 2)
                assert_true(y[t] == (float)from);
            else
                assert_true(y[t] != y[t]);
            if (n == 0)
                assert_true(y[t + 32] == (from % 4 < 2 ? (float)from : 0.0f)); /* two of four, then zeros */
            else
                assert_true(y[t + 32] != y[t + 32]);
        }
    }
    unsetenv("TUNE_NVRTC_FLAGS");
}

static void lanes_shuffle_and_vote(void **state)
{
    static const char text[] =
        KERNEL "{ const int t = threadIdx.x; float x = t;\n"
               "  for (int d = 16; d; d /= 2) x += __shfl_xor_sync(0xffffffff, x, d);\n"
               "  y[t] = x;\n"
               "  y[64 + t] = __shfl_down_sync(0xffffffff, t, 3);\n"
               "  y[128 + t] = __shfl_up_sync(0xffffffff, t, 2, 8);\n"
               "  y[192 + t] = __shfl_sync(0xffffffff, t, 5, 16);\n"
               "  y[256 + t] = __popc(__ballot_sync(0xffffffff, t % 3 == 0)) + 100 * __any_sync(0xffffffff, t == 40)\n"
               "      + 1000 * __all_sync(0xffffffff, t < 32); }";
    float y[320];

    (void)state;
    assert_int_equal(run(text, 64, y, 320), 0);
    for (int t = 0; t < 64; t++) {
        const int warp = t / 32 * 32;

        assert_true(y[t] == (float)(t < 32 ? 496 : 496 + 1024));
        assert_true(y[64 + t] == (float)(t % 32 < 29 ? t + 3 : t));
        assert_true(y[128 + t] == (float)(t % 8 < 2 ? t : t - 2));
        assert_true(y[192 + t] == (float)(t - t % 16 + 5));
        assert_true(y[256 + t] == (float)(warp ? 11 + 100 : 11 + 1000));
    }
}

static void bytes_are_multiplied_in_fours(void **state)
{
    float y[1];

    (void)state;
    assert_int_equal(run(KERNEL "{ y[0] = __dp4a((int)0x80ff7f01, (int)0x7f02ff03, 10); }", 1, y, 1), 0);
    assert_true(y[0] == (float)(-128 * 127 + -1 * 2 + 127 * -1 + 1 * 3 + 10));
}

/* Of a warpgroup: rows of 128 bytes in shared memory, written as the PTX ISA lays out 128-byte swizzle (chunk c of row
 * r at c ^ r % 8), and descriptors field by field. y[row * 64 + column]: 64 rows of a, 64 of b, one piece of 32 bytes
 * of k after another. */
static const char wgmma_text[] =
    KERNEL "{ extern __shared__ __align__(1024) unsigned char s[];\n"
           "  const int t = threadIdx.x;\n"
           "  for (int i = t; i < 2 * 64 * 128 / SIZE; i += 128) {\n"
           "    const int row = i / (128 / SIZE), k = i % (128 / SIZE), at = k * SIZE;\n"
           "    *(T *)(s + row * 128 + ((at / 16 ^ row % 8) * 16) + at % 16) = MAKE(VALUE(row, k)); }\n"
           "  tune_emu_fence_async(); __syncthreads();\n"
           "  const unsigned long long layout = 1ull << 62 | 64ull << 32;\n"
           "  S d[32]; for (int i = 0; i < 32; i++) d[i] = 1000;\n"
           "  for (int k = 0; k < 4; k++)\n"
           "    tune_emu_wgmma(FORM, d, 64, layout | (unsigned long long)(2 * k), layout | (unsigned long long)(512 + "
           "2 * k), k > 0);\n"
           "  tune_emu_wgmma_commit(); WAIT;\n"
           "  for (int i = 0; i < 32; i++)\n"
           "    y[(t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + t % 4 * 2 + i % 2] = d[i]; }";

static int wgmma_value(int row, int k)
{
    return (row * 7 + k * 3 + row * k) % 11 - 5;
}

static CUresult run_dynamic(const char *text, unsigned block, unsigned dynamic, float *y, size_t n)
{
    CUcontext c = emulated_start("90");
    CUfunction f = emulated_kernel(text, "k");
    CUdeviceptr dy = emulated_buffer(y, n * sizeof *y);
    CUresult e = cuda.cuLaunchKernel(f, 1, 1, 1, block, 1, 1, dynamic, NULL, (void *[]){&dy}, NULL);

    if (!e)
        e = cuda.cuCtxSynchronize();
    if (!e)
        emulated_read(y, dy, n * sizeof *y);
    assert_int_equal(cuda.cuCtxDestroy_v2(c), 0);
    return e;
}

static void warpgroups_multiply_swizzled_rows(void **state)
{
    enum { UNSIGNED_A = 3 };
    static const struct {
        const char *form, *type, *sum, *make;
        int size;
    } types[] = {
        {"TUNE_EMU_WGMMA_F16", "unsigned short", "float", "tune_emu_float_to_half(x)", 2},
        {"TUNE_EMU_WGMMA_BF16", "unsigned short", "float", "__float_as_uint(x) >> 16", 2},
        {"TUNE_EMU_WGMMA_S8", "signed char", "int", "x", 1},
        {"TUNE_EMU_WGMMA_U8_S8", "signed char", "int", "x", 1},
    };
    static float y[64 * 64];

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int wait = 0; wait < 2; wait++) {
            char with[3000];

            snprintf(with, sizeof with,
                     "#define FORM %s\n#define T %s\n#define S %s\n#define SIZE %d\n#define WAIT %s\n#define MAKE(x) "
                     "(T)(%s)\n"
                     "#define VALUE(row, k) (((row) * 7 + (k) * 3 + (row) * (k)) %% 11 - 5)\n%s",
                     types[i].form, types[i].type, types[i].sum, types[i].size,
                     wait ? "tune_emu_wgmma_wait(0)" : "tune_emu_wgmma_wait(1)", types[i].make, wgmma_text);
            assert_int_equal(run_dynamic(with, 128, 2 * 64 * 128, y, 64 * 64), 0);
            for (int m = 0; m < 64; m++)
                for (int n = 0; n < 64; n++) {
                    int sum = 0;

                    for (int k = 0; k < 128 / types[i].size; k++)
                        sum += (i == UNSIGNED_A ? wgmma_value(m, k) & 255 : wgmma_value(m, k)) * wgmma_value(64 + n, k);
                    if (y[m * 64 + n] != (float)(wait ? sum : 1000))
                        fail_msg("%s: row %d, column %d: %g, expected %d", types[i].form, m, n, (double)y[m * 64 + n],
                                 wait ? sum : 1000);
                }
        }
}

/* y: 6 rows of 48 floats (192 bytes), of which a box of 8 rows by 128 bytes is brought from row 2, byte 128 on. */
static void boxes_of_rows_come_swizzled_when_their_barrier_says_so(void **state)
{
    static const char text[] = KERNEL
        "{ extern __shared__ __align__(1024) unsigned char s[]; const int t = threadIdx.x;\n"
        "  __shared__ __align__(8) unsigned long long b; __shared__ __align__(64) unsigned char map[128];\n"
        "  if (t == 0) { tune_emu_barrier_init(&b, 1); tune_emu_tensor_map(map, y, 6, 192, 8); tune_emu_see_map(map);\n"
        "    tune_emu_fence_async();\n"
        "    tune_emu_barrier_arrive(&b, EXPECTED); tune_emu_bring_box(s, map, 128, 2, &b); }\n"
        "  __syncthreads(); WAIT;\n"
        "  float v[8]; for (int i = 0; i < 8; i++) v[i] = ((float *)s)[t * 8 + i];\n"
        "  __syncthreads(); for (int i = 0; i < 8; i++) y[t * 8 + i] = v[i]; }";
    static const char *const waits[] = {"tune_emu_barrier_wait(&b, 0)", "(void)0"};
    float y[288];

    (void)state;
    for (int n = 0; n < 2; n++) {
        char with[1500];

        for (int i = 0; i < 288; i++)
            y[i] = (float)i;
        snprintf(with, sizeof with, "#define EXPECTED 1024\n#define WAIT %s\n%s", waits[n], text);
        assert_int_equal(run_dynamic(with, 32, 1024, y, 288), n == 0 ? 0 : 719); /* a race */
        for (int row = 0; row < 8 && n == 0; row++)
            for (int i = 0; i < 32; i++)
                assert_true(y[row * 32 + (i / 4 ^ row) * 4 + i % 4] ==
                            (row < 4 && i < 16 ? (float)((2 + row) * 48 + 32 + i) : 0.0f));
    }
}

/* A buffer of 208 bytes, which the emulated driver aligns to 16 and others to 256. */
static void a_tensor_map_is_aligned_in_its_buffer(void **state)
{
    static const int places[] = {0, 64, 16};
    float y[52];

    (void)state;
    for (int n = 0; n < 3; n++) {
        char text[300];

        snprintf(text, sizeof text,
                 KERNEL "{ __shared__ __align__(16) float rows[32]; if (threadIdx.x == 0)\n"
                        "    tune_emu_tensor_map((unsigned char *)y + %d, rows, 1, 128, 1); }",
                 places[n]);
        assert_int_equal(run(text, 32, y, 52), places[n] % 64 ? 716 : 0);
    }
}

static void a_barrier_that_nobody_completes_ends_the_launch(void **state)
{
    static const char text[] = KERNEL "{ __shared__ __align__(8) unsigned long long b;\n"
                                      "  if (threadIdx.x == 0) tune_emu_barrier_init(&b, 64);\n  __syncthreads();\n"
                                      "  if (threadIdx.x > 0 || ALL) tune_emu_barrier_arrive(&b);\n"
                                      "  tune_emu_barrier_wait(&b, 0);\n  y[threadIdx.x] = 7; }";
    char with[600];
    float y[64];

    (void)state;
    snprintf(with, sizeof with, "#define ALL 1\n%s", text);
    assert_int_equal(run(with, 64, y, 64), 0);
    assert_true(y[63] == 7.0f);
    snprintf(with, sizeof with, "#define ALL 0\n%s", text);
    assert_int_equal(run(with, 64, y, 64), 719);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mma_is_a_product_of_matrices),
        cmocka_unit_test(mma_needs_whole_warps),
        cmocka_unit_test(matrices_are_loaded_from_rows),
        cmocka_unit_test(asynchronous_copies_come_with_the_wait),
        cmocka_unit_test(warpgroups_multiply_swizzled_rows),
        cmocka_unit_test(boxes_of_rows_come_swizzled_when_their_barrier_says_so),
        cmocka_unit_test(a_tensor_map_is_aligned_in_its_buffer),
        cmocka_unit_test(a_barrier_that_nobody_completes_ends_the_launch),
        cmocka_unit_test(lanes_shuffle_and_vote),
        cmocka_unit_test(bytes_are_multiplied_in_fours),
    };
    const int e = emulated_open();

    return e ? e : cmocka_run_group_tests(tests, NULL, NULL);
}
