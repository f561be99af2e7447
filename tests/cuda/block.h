/* SPDX-License-Identifier: MIT */
/* block.h - runs one block of an emulated kernel: every thread is a fiber that runs until the next place where it must
 * wait for others, and every warp goes on alone until it must wait for the block. The order of warps and of the threads
 * in them changes from block to block and from barrier to barrier. */
#ifndef TUNE_TESTS_CUDA_BLOCK_H
#define TUNE_TESTS_CUDA_BLOCK_H

#include "tests/cuda/blocks_apart.h"
#include "tests/cuda/emulated_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_MAX_THREADS 1024

/* A kernel about to run: lent for the launch. */
struct block_launch {
    const struct emu_module *module;
    const struct emu_kernel *kernel;
    void **params;
    struct emu_dim grid, size;
    size_t dynamic_bytes;
    /* Shared memory of the module: filled with NaN before each block. [n_shared] */
    const struct block_shared {
        unsigned char *at;
        size_t n_bytes;
    } * shared;
    size_t n_shared;
    const struct apart_buffer *buffers; /* watched [n_buffers] */
    size_t n_buffers;
    uint64_t seed;
    bool together; /* a cooperative launch: blocks may wait for each other */
    int64_t only;  /* 0, or runs this block alone, counted from 1 */
};

/* Runs all blocks one after the other, in an order that the seed gives. 0, or the CUresult with words on thread and
 * place (700 illegal address, 715 trap, 716 misaligned, 719 divergent barrier and the like). One launch at a time in a
 * process. */
int block_run_all(const struct block_launch *l, char words[256]);

/* The same one after the other, whatever `together` says; and at the same time, a process a block (grid.c): buffers are
 * shared memory. */
int block_run_blocks(const struct block_launch *l, char words[256]);
int grid_run(const struct block_launch *l, char words[256]);

extern const struct emu_services block_services;

/* For the instructions of warps (warp.c): the services above, and fiber-local things of the running thread. */
void block_warp(void (*op)(void *const *lanes, void *arg), void *mine, void *arg, unsigned mask, int whole, int line);
void block_fail(int error, const char *words);
int block_thread(void);                          /* index of the running thread in its block */
void block_describe(int thread, char words[80]); /* index, and the last barrier that it came to */
void warp_mma(enum emu_mma form, unsigned *d, const unsigned *a, const unsigned *b, const unsigned *c, int line);
void warp_load_matrix(unsigned *to, const void *row, int n, int transposed, int line);
/* The running thread goes on when ready(arg) says so, asked while nobody else can go on. */
void block_wait(bool (*ready)(const void *arg), const void *arg, int line);
unsigned char *
block_dynamic(void); /* shared memory of the running block: where addresses in shared memory count from */
/* Warpgroups (wgmma.c), and copies of boxes that barriers count (bulk.c); start: nothing is pending. */
void wgmma_start(int n_threads);
void wgmma_add(enum emu_wgmma form, unsigned *d, int n, unsigned long long a, unsigned long long b, int add);
void wgmma_commit(void);
void wgmma_wait(int n_pending, int line);
void bulk_start(void);
void bulk_barrier_init(void *b, int count);
void bulk_barrier_arrive(void *b, int expected_bytes);
void bulk_barrier_wait(void *b, int parity, int line);
void bulk_map(void *map, const struct emu_map *tensor);
void bulk_map_see(const void *map);
void bulk_bring(void *to, const void *map, const int at[EMU_MAP_DIMS], void *barrier);
/* cp.async (copies.c); start: nothing is pending; end: false when a thread ends with copies that nobody waited for. */
void copies_start(int n_threads);
void copies_add(void *to, const void *from, int n, int n_from);
void copies_commit(void);
void copies_wait(int n_pending);

#endif
