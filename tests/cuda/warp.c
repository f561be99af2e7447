/* SPDX-License-Identifier: MIT */
/* warp.c - instructions of a whole warp by their definition: mma.sync and ldmatrix, fragments as in the PTX ISA
 * ("Warp level matrix instructions"). With g = lane / 4 and t = lane % 4, E elements in a register:
 * A: register r holds row g + 8 * (r % 2), columns 4 * E * (r / 2) + E * t + 0 .. E-1;
 * B: register r holds rows 4 * E * r + E * t + 0 .. E-1 of column g;
 * C and D: row g + 8 * (i / 2), column 2 * t + i % 2 is element i. */
#include "tests/cuda/block.h"

#include "runtime/dtype.h"
#include "tests/cuda/races.h"

#include <string.h>

enum operand { F16, BF16, S8, U8 };

static const struct form {
    int m, k;
    enum operand type; /* of A; of B, too, but S8 beside U8 */
    bool half_sums;
} forms[EMU_N_MMA] = {
    [EMU_MMA_M16N8K8_F16] = {16, 8, F16, false},     [EMU_MMA_M16N8K16_F16] = {16, 16, F16, false},
    [EMU_MMA_M16N8K16_BF16] = {16, 16, BF16, false}, [EMU_MMA_M16N8K8_BF16] = {16, 8, BF16, false},
    [EMU_MMA_M16N8K8_F16_F16] = {16, 8, F16, true},  [EMU_MMA_M16N8K16_F16_F16] = {16, 16, F16, true},
    [EMU_MMA_M8N8K16_S8] = {8, 16, S8, false},       [EMU_MMA_M16N8K16_S8] = {16, 16, S8, false},
    [EMU_MMA_M16N8K32_S8] = {16, 32, S8, false},     [EMU_MMA_M8N8K16_U8_S8] = {8, 16, U8, false},
    [EMU_MMA_M16N8K32_U8_S8] = {16, 32, U8, false},
};

#define N 8
#define MAX_M 16
#define MAX_K 32

/* A lane's registers. */
struct fragments {
    unsigned *d;
    const unsigned *a, *b, *c;
};

static bool is_bytes(enum operand type)
{
    return type == S8 || type == U8;
}

/* Element e of a register. */
static double element(enum operand type, unsigned reg, int e)
{
    if (type == U8)
        return (unsigned char)(reg >> 8 * e);
    if (type == S8)
        return (signed char)(reg >> 8 * e);
    return (double)(type == F16 ? half_to_float : bf16_to_float)((uint16_t)(reg >> 16 * e));
}

static int per_register(enum operand type)
{
    return is_bytes(type) ? 4 : 2;
}

static void gather_a(const struct form *f, void *const *lanes, double a[MAX_M][MAX_K])
{
    const int e_max = per_register(f->type), n_rows = f->m / 8, n = n_rows * f->k / (4 * e_max);

    for (int lane = 0; lane < EMU_WARP; lane++)
        for (int r = 0; r < n; r++)
            for (int e = 0; e < e_max; e++)
                a[lane / 4 + 8 * (r % n_rows)][4 * e_max * (r / n_rows) + e_max * (lane % 4) + e] =
                    element(f->type, ((const struct fragments *)lanes[lane])->a[r], e);
}

static void gather_b(const struct form *f, void *const *lanes, double b[MAX_K][N])
{
    const int e_max = per_register(f->type), n = f->k / (4 * e_max);

    for (int lane = 0; lane < EMU_WARP; lane++)
        for (int r = 0; r < n; r++)
            for (int e = 0; e < e_max; e++)
                b[4 * e_max * r + e_max * (lane % 4) + e][lane / 4] =
                    element(f->type == U8 ? S8 : f->type, ((const struct fragments *)lanes[lane])->b[r], e);
}

static double get_sum(const struct form *f, const unsigned *c, int i)
{
    float x;

    if (f->half_sums)
        return element(F16, c[i / 2], i % 2);
    if (is_bytes(f->type))
        return (int)c[i];
    memcpy(&x, &c[i], sizeof x);
    return (double)x;
}

static void put_sum(const struct form *f, unsigned *d, int i, double sum)
{
    const float x = (float)sum;

    if (f->half_sums)
        d[i / 2] = (d[i / 2] & (i % 2 ? 0xffffu : 0xffff0000u)) | (unsigned)half_from_float(x) << 16 * (i % 2);
    else if (is_bytes(f->type))
        d[i] = (unsigned)(int64_t)sum; /* wraps, as without .satfinite */
    else
        memcpy(&d[i], &x, sizeof x);
}

/* Sums in double: exact for bytes and close to whatever order a device takes for the others. */
static void multiply(void *const *lanes, void *arg)
{
    const struct form *f = arg;
    double a[MAX_M][MAX_K], b[MAX_K][N], sums[4];

    gather_a(f, lanes, a);
    gather_b(f, lanes, b);
    for (int lane = 0; lane < EMU_WARP; lane++) {
        const struct fragments *mine = lanes[lane];

        for (int i = 0; i < f->m / 4; i++) {
            sums[i] = get_sum(f, mine->c, i);
            for (int k = 0; k < f->k; k++)
                sums[i] += a[lane / 4 + 8 * (i / 2)][k] * b[k][2 * (lane % 4) + i % 2];
        }
        for (int i = 0; i < f->m / 4; i++)
            put_sum(f, mine->d, i, sums[i]);
    }
}

void warp_mma(enum emu_mma form, unsigned *d, const unsigned *a, const unsigned *b, const unsigned *c, int line)
{
    struct fragments mine = {d, a, b, c};

    block_warp(multiply, &mine, (void *)(uintptr_t)&forms[form], 0xffffffffu, 1, line);
}

/* ldmatrix. */

struct rows {
    unsigned *to;
    const unsigned short *row; /* of matrix lane / 8, row lane % 8 */
    int n;
    bool transposed;
};

static void load_rows(void *const *lanes, void *arg)
{
    (void)arg;
    for (int lane = 0; lane < EMU_WARP; lane++) {
        const struct rows *mine = lanes[lane];

        for (int i = 0; i < mine->n; i++) {
            unsigned short e[2];

            for (int k = 0; k < 2; k++) {
                const int row = mine->transposed ? 2 * (lane % 4) + k : lane / 4;
                const int column = mine->transposed ? lane / 4 : 2 * (lane % 4) + k;

                e[k] = ((const struct rows *)lanes[8 * i + row])->row[column];
            }
            mine->to[i] = e[0] | (unsigned)e[1] << 16;
        }
    }
}

void warp_load_matrix(unsigned *to, const void *row, int n, int transposed, int line)
{
    struct rows mine = {to, row, n, transposed != 0};

    if ((uintptr_t)row % 16 && block_thread() % EMU_WARP < 8 * n)
        block_fail(716, "ldmatrix with an address that is no multiple of 16");
    if (block_thread() % EMU_WARP < 8 * n)
        races_access(row, 16, 0);
    block_warp(load_rows, &mine, NULL, 0xffffffffu, 1, line);
}
