/* SPDX-License-Identifier: MIT */
/* template.h - templates by table: one way to compute an operator on a class of device. */
#ifndef TUNE_KERNELS_TEMPLATE_H
#define TUNE_KERNELS_TEMPLATE_H

#include "core/blobs.h"
#include "core/buf.h"
#include "core/err.h"
#include "kernels/operator.h"
#include "kernels/workload.h"
#include "runtime/device_desc.h"
#include "runtime/program.h"
#include "search_space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct build;

/* Class of a config's arithmetic: what its results may be compared with, and how closely. */
struct numerics {
    const char *name;     /* "f32" "f16" "f16-f32" (stored, summed) "exact" "f32-winograd4"; at most 23 of a-z 0-9 - */
    enum exact_data data; /* of the exact pass */
    double tolerance;     /* of the random pass, in sums of magnitudes: knobs.md section 11; 0 = bit for bit */
    double
        saved; /* the arithmetic does with this part of the operator's FLOPs, as Winograd's; 0 = the operator's least */
};

/* How well a template suits a device: templates with the best fit are searched when none is named; baselines never. */
enum fit { FIT_NONE, FIT_BASELINE, FIT_POSSIBLE, FIT_GOOD };

struct template
{
    const char *id;      /* "conv2d/spatial_pack": the operator's name, and the way */
    int version;         /* raised when the text or the meaning of a knob changes; records carry it */
    const char *summary; /* one line for `tune spaces` */
    bool stages;         /* its default keeps operands in local memory: nothing for Mali, see template_fit */
    /* May this template compute `w` on `d`? With words when not. */
    enum fit (*fit)(const struct workload *w, const struct device_desc *d, struct why *why);
    /* Knobs, derived quantities and constraints, sealed by the caller. */
    enum err (*space)(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why);
    /* The default config: valid, sensible on `d` without any measuring (at least 10x the naive template on a CPU). */
    enum err (*fallback)(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out);
    /* Buffers, modules, launches, needs through kernels/build.h; everything but the operator's tensors, passes, names
     * and knobs, which template_program adds before and after. */
    void (*program)(struct build * b);
    /* May be NULL: numerics_of(w, d), the plain class of the workload's dtype and acc. Changes what it must. */
    void (*numerics)(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout);
};

/* f32: 2e-6; f16 summed in f32: 2e-3; f16 summed in f16 where the workload permits and the device can: 1e-2;
 * bf16 summed in f32: 8e-3, four times the rounding of an output as for f16; i8: 0. */
struct numerics numerics_of(const struct workload *w, const struct device_desc *d);

/* template->fit of what computes everything of its operator on every device. */
enum fit fit_anywhere(const struct workload *w, const struct device_desc *d, struct why *why);

/* template->numerics of what moves elements, or sums them as the reference does: bit for bit. */
void numerics_exact(const struct workload *w, const struct space *s, const struct config *c, struct numerics *inout);

/* The class of one config. */
struct numerics template_numerics(const struct template *t, const struct workload *w, const struct device_desc *d,
                                  const struct space *s, const struct config *c);

/* Floating-point operations, or of whole numbers, that every run of a config has to do: the operator's least, of
 * Winograd's its part of them. 0 = nothing is known. */
double template_least_flops(const struct template *t, const struct workload *w, const struct device_desc *d,
                            const struct space *s, const struct config *c);

/* Sums in half: dtype f16, acc=f16, and the device has arithmetic in half. */
bool sums_in_half(const struct workload *w, const struct device_desc *d);

/* t->fit, but on Mali, whose local memory lies in the memory that staging would spare: FIT_NONE, with words, for a
 * template that stages where another one does without. What is offered when no template is named. */
enum fit template_fit(const struct template *t, const struct workload *w, const struct device_desc *d, struct why *why);

/* Is it one of the operator's templates? */
bool template_computes(const struct template *t, const struct operator_desc *op);

/* By id, among the templates of all operators; NULL when there is none. */
const struct template *template_find(const char *id);
const char *template_id_at(size_t i); /* of all operators; NULL behind the last */

/* Builds and seals the space. */
enum err template_space(const struct template *t, const struct workload *w, const struct device_desc *d,
                        struct space **out, struct why *why);

/* The whole program of one config, checked and with its verification passes. `out` is initialised by this call. */
enum err template_program(const struct template *t, const struct workload *w, const struct device_desc *d,
                          const struct space *s, const struct config *c, struct program *out, struct blobs *blobs,
                          struct why *why);

/* Adds to such a program the passes that a run with this seed (1 .. 2^53 - 1) has of its own: kernels/expect.h,
 * expect_sheet. The product makes both apart (expect_sheet alone comes again with each run); this is for tests that run
 * a program once. */
enum err template_add_sheet(const struct template *t, const struct workload *w, const struct device_desc *d,
                            const struct space *s, const struct config *c, uint64_t seed, struct program *p,
                            struct blobs *blobs, struct why *why);

/* A program without verification passes, for those who only run it: computes no expected values. */
enum err template_kernels(const struct template *t, const struct workload *w, const struct device_desc *d,
                          const struct space *s, const struct config *c, struct program *out, struct blobs *blobs,
                          struct why *why);

/* Loads kernel text from this directory instead of the built-in copies (--kernel-dir); NULL = built in. Call once at
 * start. ERR_INPUT when it has no readable preamble.h; what else is missing is told when it is asked for. */
enum err template_set_kernel_dir(const char *dir, struct why *why);

/* The text of a kernel file ("conv2d/spatial_pack.cl") with the preamble of the dialect (opencl-c or cuda-c) in front:
 * appended to out. Of "MORE+NAME", MORE is pasted between the two. ERR_NOT_FOUND. */
enum err kernel_text(const char *name, enum program_lang lang, struct buf *out);

/* Puts the same text into `blobs`, and its name into *out. Built-in texts are made and hashed once a process; from
 * several threads. ERR_NOT_FOUND, ERR_NOMEM, ERR_LIMIT. */
enum err kernel_blob(const char *name, enum program_lang lang, struct blobs *blobs, struct sha256 *out);

/* The language of kernels for a device. */
enum program_lang kernel_lang(const struct device_desc *d);

#endif
