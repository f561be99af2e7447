/* template.h - templates by table: one way to compute an operator on a class of device. */
#ifndef TUNE_KERNELS_TEMPLATE_H
#define TUNE_KERNELS_TEMPLATE_H

#include "core/blobs.h"
#include "kernels/operator.h"
#include "kernels/workload.h"
#include "runtime/device_desc.h"
#include "runtime/program.h"
#include "search_space/space.h"

/* How well a template suits a device: templates with the best fit are searched when none is named; baselines never. */
enum fit { FIT_NONE, FIT_BASELINE, FIT_POSSIBLE, FIT_GOOD };

struct template
{
    const char *id; /* "conv2d/spatial_pack" */
    const char *operator_name;
    int version;         /* raised when the text or the meaning of a knob changes; records carry it */
    const char *summary; /* one line for `tune spaces` */
    double tolerance;    /* of the random pass: knobs.md section 11 */
    /* May this template compute `w` on `d`? With words when not. */
    enum fit (*fit)(const struct workload *w, const struct device_desc *d, struct why *why);
    /* Knobs, derived quantities and constraints, sealed by the caller. */
    enum err (*space)(const struct workload *w, const struct device_desc *d, struct space *s, struct why *why);
    /* The default config: valid, sensible on `d` without any measuring (at least 10x the naive template on a CPU). */
    enum err (*fallback)(const struct workload *w, const struct device_desc *d, const struct space *s,
                         struct config *out);
    /* Buffers, modules (sources into `blobs`), launches, needs; everything but passes, names and knobs, which the
     * caller of template_program adds. */
    enum err (*program)(const struct workload *w, const struct device_desc *d, const struct space *s,
                        const struct config *c, struct program *p, struct blobs *blobs, struct why *why);
};

extern const struct template *const template_table[]; /* NULL-ended */
const struct template *template_find(const char *id);

/* Builds and seals the space. */
enum err template_space(const struct template *t, const struct workload *w, const struct device_desc *d,
                        struct space **out, struct why *why);

/* The whole program of one config, checked and with its verification passes. `out` is initialised by this call. */
enum err template_program(const struct template *t, const struct workload *w, const struct device_desc *d,
                          const struct space *s, const struct config *c, struct program *out, struct blobs *blobs,
                          struct why *why);

/* Loads kernel text from this directory instead of the built-in copies (--kernel-dir); NULL = built in. Call once at
 * start. */
void template_set_kernel_dir(const char *dir);

/* The text of a kernel file ("conv2d/spatial_pack.cl") with the dialect's preamble in front: appended to out.
 * ERR_NOT_FOUND. */
enum err kernel_text(const char *name, struct buf *out);

#endif
