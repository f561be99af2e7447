/* SPDX-License-Identifier: MIT */
/* blocks_apart.h - which block of a launch wrote and read each byte of global memory: nothing orders blocks, so one
 * must not touch what another writes, unless it writes the same once more (tiles that overlap). What finds that ends
 * the launch by block_fail(719). Blocks of a cooperative launch, which may wait for each other, are processes and so
 * not seen. */
#ifndef TUNE_TESTS_CUDA_BLOCKS_APART_H
#define TUNE_TESTS_CUDA_BLOCKS_APART_H

#include <stddef.h>
#include <stdint.h>

/* The blocks that touched a byte: the last writer, and of the readers of a launch the first. 0 = none. */
struct touch {
    uint32_t writer, reader;
};

/* A buffer; touches[n_bytes] are kept with it and begin as zeros. Its first and last n_band bytes are not the kernel's,
 * which gets a pointer behind the first: what it reads there is an error 700. (What it writes there is seen by who laid
 * the bands.) */
struct apart_buffer {
    const unsigned char *at;
    size_t n_bytes;
    struct touch *touches;
    size_t n_band;
};

/* A launch begins, its buffers [n] are lent until the next; then each of its blocks, and ends. */
void apart_launch(const struct apart_buffer *buffers, size_t n);
void apart_block(void);
void apart_block_ends(void);

/* Where it lies, seen from the beginning of its buffer, which devices align to 256 bytes and the emulated one to 16; of
 * what lies in none the address. */
uintptr_t apart_place(const void *at);

/* The running block reads or writes; what lies in no buffer is nobody's affair. */
void apart_access(const void *at, size_t n, int writes);

#endif
