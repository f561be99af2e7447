/* SPDX-License-Identifier: MIT */
/* plan_of.h - from a program to the plan that executors carry out: in memory for libtune, printed by `tune deploy`. */
#ifndef TUNE_RUNTIME_PLAN_OF_H
#define TUNE_RUNTIME_PLAN_OF_H

#include "core/buf.h"
#include "core/err.h"
#include "exec/plan.h"
#include "runtime/program.h"

/* A plan of the program's pack and run launches (references and verification are left out). Buffers keep their ids and
 * order. Copies what it needs; plan_free frees it. Module i of the plan is module i of the program; the
 * text of OpenCL C and CUDA C becomes its lines, and PTX or cubin its one binary, whose target is "".
 * ERR_NOT_FOUND: a source or a content is not among the blobs. ERR_UNSUPPORTED: OpenCL binaries as modules, a text with
 * NUL bytes. ERR_NOMEM. */
enum err plan_of_program(const struct program *p, const struct blobs *blobs, struct exec_plan **out, struct why *why);
/* What a device needs of it to start the launches: those of all phases, launch i of the program as launch i, over
 * buffers without content and modules that are others' business. ERR_NOMEM. */
enum err plan_of_launches(const struct program *p, struct exec_plan **out, struct why *why);
enum exec_phase plan_phase(enum launch_phase phase);
void plan_free(struct exec_plan *plan); /* accepts NULL */

/* The compiler's options of a module as the measuring device gave them: standard, own options, defines. */
enum err plan_options(const struct program *p, const struct program_module *m, struct buf *out);

#endif
