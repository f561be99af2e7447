/* SPDX-License-Identifier: MIT */
/* forge.h - a child without a device that compiles programs for NVIDIA devices: of a builder, and of an agent whose
 * device runs what others of its children compile. One thread at a time for each forge, but for forge_kill. */
#ifndef TUNE_AGENT_FORGE_H
#define TUNE_AGENT_FORGE_H

#include "agent/built.h"
#include "agent/sandbox.h"
#include "core/buf.h"
#include "core/err.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FORGE_MAX 32          /* of one agent */
#define FORGE_CHILD_BUILDS 64 /* after which a child is replaced */

struct forge_options {
    const char *dir;         /* the agent's work directory, in which each forge has a folder of its own */
    int i;                   /* its number among the agent's */
    const char *wrapper;     /* as struct rig_options */
    const struct cage *cage; /* what its child is shut into; NULL = nothing */
    const int *cpus;         /* where it may run; NULL = as the agent */
    int n_cpus;
    const atomic_bool *stop;
    const struct sandbox_ops *sandbox; /* what children are; NULL = processes */
    void *sandbox_arg;
};

struct forge {
    struct forge_options options;
    struct sandbox child;
    char cache[PATH_MAX + 32];
    int n_built; /* by this child */
};

/* What to compile: all CUDA C of a program whose sources are in the work directory. */
struct forge_order {
    const char *program; /* its blob */
    int sm;              /* 10 * major + minor */
    int cuda_version;    /* the newest CUDA that has to take the code (12040 = 12.4); INT_MAX = any */
    double build_s;
    int64_t memory_bytes;
};

/* The caller's memory, no child yet. Keeps what `options` points at. */
void forge_init(struct forge *f, const struct forge_options *options);

/* Ends its child; nothing to do when there is none. */
void forge_fini(struct forge *f);

/* From any thread, with the stop flag set. */
void forge_kill(struct forge *f);

/* What a child finds: the compiler ("NVRTC 12.9"), where it lies, and what its cage lacks. */
struct forge_compiler {
    char name[33], path[500];
    struct cage_report caged;
};

/* Starts a child and asks it which compiler serves these architectures. ERR_UNSUPPORTED: none does, in words;
 * ERR_CHILD, ERR_IO. */
enum err forge_ask_compiler(struct forge *f, const int *sms, int n_sms, struct forge_compiler *out, struct why *why);

/* Compiles in the child, which is started, or replaced, as needed; when it dies, or its folder goes, once more in a
 * fresh one. `out`: what came of it, failures too, but for `by`; `code`: the bytes of out->files, PROGRAM_MAX_MODULES
 * buffers with their limits. ERR_CANCELLED: the agent stops; others when no child can be started, which is no fault of
 * the program. */
enum err forge_compile(struct forge *f, const struct forge_order *order, struct built *out, struct buf *code,
                       struct why *why);

#endif
