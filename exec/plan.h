/* SPDX-License-Identifier: MIT */
/* plan.h - a program as plain tables: what `tune deploy` writes into a bundle and what libtune makes in memory, carried
 * out by exec_cl.c (OpenCL) or exec_cu.c (CUDA). C99, needs nothing. */
#ifndef TUNE_EXEC_PLAN_H
#define TUNE_EXEC_PLAN_H

#include <stddef.h>
#include <stdint.h>

#ifndef EXEC_API
#define EXEC_API /* a bundle says static */
#endif

/* What executors return; the numbers are fixed, a bundle's NAME_... codes are the same. */
enum exec_status {
    EXEC_OK = 0,
    EXEC_NO_MEMORY = 1,     /* on the host */
    EXEC_NO_DEVICE = 2,     /* no device, or one that lacks what the kernels need */
    EXEC_BUILD_FAILED = 3,  /* the device's compiler refused a kernel */
    EXEC_DEVICE_FAILED = 4, /* a call of OpenCL or CUDA failed */
    EXEC_BAD_ARGUMENT = 5,  /* NULL, an unknown tensor, a wrong size */
    EXEC_NOT_PACKED = 6,    /* run before the weights were given */
    EXEC_OTHER_DEVICE = 7   /* not the device that the kernels were tuned on */
};

/* Words of the last failure; the caller's memory. */
struct exec_words {
    char text[4096];
};

enum exec_role { EXEC_INPUT, EXEC_WEIGHT, EXEC_OUTPUT, EXEC_PACKED, EXEC_STATE, EXEC_SCRATCH };
enum exec_fill { EXEC_FILL_NONE, EXEC_FILL_VALUE, EXEC_FILL_BYTES };
enum exec_op { EXEC_KERNEL, EXEC_FILL, EXEC_COPY, EXEC_SYMBOL };
/* run: with every run; pack: with the weights; reference: only where a program is verified. */
enum exec_phase { EXEC_RUN, EXEC_PACK, EXEC_REFERENCE, EXEC_N_PHASES };
enum exec_arg_kind {
    EXEC_ARG_BUFFER,
    EXEC_ARG_I32,
    EXEC_ARG_U32,
    EXEC_ARG_I64,
    EXEC_ARG_F32,
    EXEC_ARG_LOCAL,
    EXEC_ARG_F64,
    EXEC_ARG_B8, /* the low 8 or 16 bits of `integer`: char, short, half and their like */
    EXEC_ARG_B16
};

/* Code made for one device; tried before the text. */
struct exec_binary {
    const char *target; /* OpenCL: fingerprint of the device; CUDA: "sm_61" (cubin) or "compute_61" (PTX) */
    const unsigned char *bytes;
    size_t n_bytes;
    uint64_t sum; /* FNV-1a, 64 bits, of the bytes: drivers may crash on damaged ones; 0 = not known */
};

/* Modules of equal text and options are one entry of a bundle. */
struct exec_module {
    const char *const *lines; /* text, each line with its newline: OpenCL C; CUDA has its PTX among the binaries */
    int n_lines;
    const char *options; /* of the compiler, defines included */
    const struct exec_binary *binaries;
    int n_binaries;
};

struct exec_buffer {
    const char *id; /* "x" "w" "y" of the caller's tensors */
    enum exec_role role;
    size_t n_bytes;
    enum exec_fill fill; /* of buffers that are not the caller's */
    unsigned char pattern[8];
    size_t n_pattern;           /* bytes of one element, EXEC_FILL_VALUE: 1, 2 or 4 */
    const unsigned char *bytes; /* content, EXEC_FILL_BYTES */
    int each_run;               /* filled anew before every run, not only once */
};

#define EXEC_NEST 3   /* loops around a launch */
#define EXEC_QUEUES 8 /* that launches can name */
#define EXEC_MAX_AFTER 32

struct exec_arg {
    enum exec_arg_kind kind;
    int64_t integer; /* buffer index, number, or bytes of local memory */
    double real;
    int64_t bump[EXEC_NEST]; /* added an iteration of each loop around the launch, outermost first */
};

struct exec_launch {
    enum exec_op op;
    enum exec_phase phase;
    int i_module;
    const char *kernel;
    size_t grid[3], block[3];    /* work-groups, work-items in a group */
    const struct exec_arg *args; /* fill: {buffer, i64 one element, little-endian, i64 its bytes}; copy: {to, from, i64
                                    bytes}; symbol (CUDA; `kernel` names a variable of the module): {from, i64 bytes} */
    int n_args;
    int64_t dyn_local; /* CUDA: bytes of dynamic shared memory */
    int cooperative;   /* CUDA: all groups at the same time */
    int queue;         /* below EXEC_QUEUES; launches of one queue run in order */
    const int *after;  /* launches of the same phase, on any queue, whose latest start must have ended */
    int n_after;
};

/* Launches first .. last run `count` times. Loops lie within one another or apart, by their first launch, the outer one
 * first. */
struct exec_loop {
    int first, last;
    int64_t count;
};

/* Launches start in this order. */
struct exec_plan {
    const char *workload;
    const struct exec_module *const *modules;
    int n_modules;
    const struct exec_buffer *buffers;
    int n_buffers;
    const struct exec_launch *launches;
    int n_launches;
    const struct exec_loop *loops;
    int n_loops;
};

#endif
