/* SPDX-License-Identifier: MIT */
/* wgmma.c - products of warpgroups by their definition (PTX ISA, "Asynchronous warpgroup level matrix instructions"):
 * both factors in shared memory, with k contiguous and 128-byte swizzle. They are carried out when the thread waits for
 * them: so a missing wait shows, and a factor that is overwritten too early, which is told as a race, too. */
#include "tests/cuda/block.h"

#include "runtime/dtype.h"
#include "tests/cuda/races.h"

#include <string.h>

#define GROUP_THREADS 128
#define GROUP_WARPS (GROUP_THREADS / EMU_WARP)
#define MAX_PENDING 256
#define K_BYTES 32 /* of an instruction */
#define MAX_K 32
#define MAX_N 256

struct product {
    enum emu_wgmma form;
    unsigned *d;
    int n;
    unsigned long long a, b;
    int add, group; /* group: counted by commits */
};

static struct pending {
    struct product list[MAX_PENDING];
    int n, n_groups;
    long n_waits; /* that this thread has come through */
} threads[BLOCK_MAX_THREADS];

void wgmma_start(int n_threads)
{
    for (int i = 0; i < n_threads; i++)
        threads[i].n = threads[i].n_groups = 0, threads[i].n_waits = 0;
}

void wgmma_add(enum emu_wgmma form, unsigned *d, int n, unsigned long long a, unsigned long long b, int add)
{
    struct pending *p = &threads[block_thread()];

    if (n < 8 || n > MAX_N || n % 8 || p->n == MAX_PENDING)
        block_fail(715, "wgmma of a shape that there is not, or too many of them");
    races_products_asked();
    p->list[p->n++] = (struct product){form, d, n, a, b, add, p->n_groups};
}

void wgmma_commit(void)
{
    threads[block_thread()].n_groups++;
}

/* Byte k of row `row` of a factor: bits 0-13 of its descriptor are the address in 16s, 32-45 the bytes from eight rows
 * to the next in 16s, 49-51 an offset of the swizzle, 62-63 the swizzle, 1 = chunks of 16 by bits 7 to 9 of the
 * address. */
static const unsigned char *byte_of(unsigned long long d, int row, int k)
{
    const size_t start = (size_t)(d & 0x3fff) << 4, eight = (size_t)(d >> 32 & 0x3fff) << 4;
    const size_t plain = start + (size_t)(row / 8) * eight + (size_t)(row % 8) * 128 + (size_t)k;

    if (d >> 62 != 1 || (d >> 49 & 7))
        block_fail(715, "wgmma of a layout that is not emulated: 128-byte swizzle, no offset");
    return block_dynamic() + (plain ^ (plain >> 7 & 7) << 4);
}

static bool is_bytes(enum emu_wgmma form)
{
    return form == TUNE_EMU_WGMMA_S8 || form == TUNE_EMU_WGMMA_U8_S8;
}

static double element(enum emu_wgmma form, unsigned long long d, int row, int k)
{
    uint16_t bits;

    if (form == TUNE_EMU_WGMMA_U8_S8)
        return (double)*byte_of(d, row, k);
    if (form == TUNE_EMU_WGMMA_S8)
        return (double)(signed char)*byte_of(d, row, k);
    memcpy(&bits, byte_of(d, row, 2 * k), sizeof bits);
    return (double)(form == TUNE_EMU_WGMMA_F16 ? half_to_float : bf16_to_float)(bits);
}

static double get_sum(enum emu_wgmma form, unsigned bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return is_bytes(form) ? (double)(int)bits : (double)x;
}

static unsigned bits_of_sum(enum emu_wgmma form, double sum)
{
    const float x = (float)sum;
    unsigned bits;

    memcpy(&bits, &x, sizeof bits);
    return is_bytes(form) ? (unsigned)(int64_t)sum : bits;
}

struct rows {
    struct pending *p;
    int warp; /* of its block */
};

/* Rows `first` to `end` of a factor, 32 bytes each, whose chunks of 16 bytes lie apart. */
static void note_rows(int warp, unsigned long long d, int first, int end)
{
    for (int row = first; row < end; row++)
        for (int k = 0; k < K_BYTES; k += 16)
            races_products_read(warp, byte_of(d, row, k), 16);
}

/* 16 rows of one product, those of a warp: element i of lane l is row l / 4 + i / 2 % 2 * 8, column i / 4 * 8 + l % 4 *
 * 2
 * + i % 2. */
static void multiply(const struct product *x, void *const *lanes, int i_product)
{
    static double a[16][MAX_K], b[MAX_N][MAX_K];
    const struct rows *first = lanes[0];
    const int n_k = is_bytes(x->form) ? K_BYTES : K_BYTES / 2, row0 = first->warp % GROUP_WARPS * 16;

    note_rows(first->warp, x->a, row0, row0 + 16);
    note_rows(first->warp, x->b, 0, x->n);
    for (int k = 0; k < n_k; k++) {
        for (int row = 0; row < 16; row++)
            a[row][k] = element(x->form, x->a, row0 + row, k);
        for (int column = 0; column < x->n; column++)
            b[column][k] = element(x->form == TUNE_EMU_WGMMA_U8_S8 ? TUNE_EMU_WGMMA_S8 : x->form, x->b, column, k);
    }
    for (int lane = 0; lane < EMU_WARP; lane++) {
        const struct product *mine = &((const struct rows *)lanes[lane])->p->list[i_product];

        if (mine->a != x->a || mine->b != x->b || mine->n != x->n || mine->form != x->form || !mine->add != !x->add)
            block_fail(719, "lanes that ask for different products");
        for (int i = 0; i < x->n / 2; i++) {
            const double *row = a[lane / 4 + i / 2 % 2 * 8], *column = b[i / 4 * 8 + lane % 4 * 2 + i % 2];
            double sum = x->add ? get_sum(x->form, mine->d[i]) : 0.0;

            for (int k = 0; k < n_k; k++)
                sum += row[k] * column[k];
            mine->d[i] = bits_of_sum(x->form, sum);
        }
    }
}

static void finish(void *const *lanes, void *arg)
{
    const int n_pending = *(const int *)arg;
    const struct rows *first = lanes[0];
    int n = 0;

    races_products_begin(first->warp);
    while (n < first->p->n && first->p->list[n].group < first->p->n_groups - n_pending) {
        multiply(&first->p->list[n], lanes, n);
        n++;
    }
    for (int lane = 0; lane < EMU_WARP; lane++) {
        struct pending *p = ((const struct rows *)lanes[lane])->p;

        p->n -= n;
        memmove(p->list, p->list + n, (size_t)p->n * sizeof *p->list);
        p->n_waits++;
    }
}

/* Has the whole warpgroup of this thread come through as many waits? */
static bool have_waited(const void *arg)
{
    const int mine = *(const int *)arg, first = mine - mine % GROUP_THREADS;

    for (int i = first; i < first + GROUP_THREADS; i++)
        if (threads[i].n_waits < threads[mine].n_waits)
            return false;
    return true;
}

void wgmma_wait(int n_pending, int line)
{
    const int mine = block_thread(), first = mine - mine % GROUP_THREADS;
    struct rows rows = {&threads[mine], mine / EMU_WARP};

    block_warp(finish, &rows, &n_pending, 0xffffffffu, 1, line);
    block_wait(have_waited, &mine, line);
    for (int i = first; i < first + GROUP_THREADS; i += EMU_WARP)
        races_products_done(i / EMU_WARP, threads[i].n_waits - threads[mine].n_waits);
}
