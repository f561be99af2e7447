/* SPDX-License-Identifier: MIT */
/* program_names.h - words of a program's text form, shared by its reader and its writer; indexed by the enums. */
#ifndef TUNE_RUNTIME_PROGRAM_NAMES_H
#define TUNE_RUNTIME_PROGRAM_NAMES_H

#include "runtime/program.h"

static const char *const program_lang_names[N_LANGS] = {"opencl-c", "cuda-c", "ptx", "cubin", "clbin", "c", "c++"};
static const char *const program_role_names[N_ROLES] = {"input", "weight", "packed", "output", "state", "scratch"};
static const char *const program_fill_names[N_FILLS] = {"none",   "zero",     "value",   "int",  "normal", "blob",
                                                        "wide",   "edges",    "floats",  "rows", "turns",  "bands",
                                                        "pixels", "prefixes", "filters", "near", "picks",  "ties"};
static const char *const program_op_names[N_LAUNCH_OPS] = {"kernel", "fill", "copy", "symbol"};
static const char *const program_phase_names[N_PHASES] = {"pack", "run", "reference"};
static const char *const program_arg_names[N_ARGS] = {"buf", "i32", "u32", "i64", "f32", "local", "f64", "b8", "b16"};
static const char *const program_relative_names[N_RELATIVES] = {"", "each", "peak"};
static const char *const program_check_names[N_CHECKS] = {"sample", "project", "buffer"};

#endif
