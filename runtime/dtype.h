/* SPDX-License-Identifier: MIT */
/* dtype.h - element types of buffers. */
#ifndef TUNE_RUNTIME_DTYPE_H
#define TUNE_RUNTIME_DTYPE_H

#include <stddef.h>
#include <stdint.h>

/* X(number, NAME, "name", bytes) */
#define DTYPE_MAP(X)                                                                                                   \
    X(0, F32, "f32", 4)                                                                                                \
    X(1, F16, "f16", 2)                                                                                                \
    X(2, I8, "i8", 1)                                                                                                  \
    X(3, I32, "i32", 4)                                                                                                \
    X(4, U8, "u8", 1)                                                                                                  \
    X(5, BF16, "bf16", 2)                                                                                              \
    X(6, F64, "f64", 8)

enum dtype {
#define X(number, NAME, name, bytes) DTYPE_##NAME = number,
    DTYPE_MAP(X)
#undef X
        N_DTYPES
};

const char *dtype_name(enum dtype t);
size_t dtype_bytes(enum dtype t);
int dtype_by_name(const char *name); /* -1 when there is none */

/* Reads element `i` of a buffer as a double; writes one (rounding to nearest, saturating integers). */
double dtype_load(enum dtype t, const void *data, size_t i);
void dtype_store(enum dtype t, void *data, size_t i, double value);

/* IEEE binary16 <-> binary32, round to nearest even. */
float half_to_float(uint16_t h);
uint16_t half_from_float(float f);

/* bfloat16 (the upper half of a binary32) <-> binary32, round to nearest even; NaN stays NaN. */
float bf16_to_float(uint16_t b);
uint16_t bf16_from_float(float f);

#endif
