/* build.h - helpers of the templates: spaces and programs in few lines. */
#ifndef TUNE_KERNELS_BUILD_H
#define TUNE_KERNELS_BUILD_H

#include "kernels/template.h"

/* Adds the operator's tensors as buffers, with the fills for timing (the random pass's). ERR_NOMEM. */
enum err build_tensors(const struct workload *w, struct program *p);

/* Adds a buffer of role PACKED or SCRATCH without content; its index to *out. ERR_LIMIT beyond 2^31-1 elements. */
enum err build_buffer(struct program *p, const char *id, enum buffer_role role, int64_t n_elems, int *out,
                      struct why *why);

/* Adds a module from a kernel file, its text into `blobs`. ERR_NOMEM, ERR_NOT_FOUND. */
enum err build_module(struct program *p, struct blobs *blobs, const char *name, struct program_module **out,
                      struct why *why);

struct build_define {
    const char *name;
    int64_t value;
};

/* Adds defines up to the entry with name == NULL. */
enum err build_defines(struct program_module *m, const struct build_define *list);

/* Adds a launch of module 0 over buffers (`buffers` ends with -1). ERR_NOMEM. */
enum err build_launch(struct program *p, enum launch_phase phase, const char *kernel, const int64_t grid[3],
                      const int64_t block[3], const int *buffers);

struct build_named {
    const char *name;
    double value;
};
struct build_knob {
    const char *name;
    int64_t values[40]; /* ascending or in any order, ended by BUILD_END */
};
#define BUILD_END INT64_MIN

/* Constants, knobs and texts up to the entry with name (or text) NULL. Quantities: pairs {name, expression}. */
enum err build_constants(struct space *s, const struct build_named *list, struct why *why);
enum err build_knobs(struct space *s, const struct build_knob *list, struct why *why);
enum err build_quantities(struct space *s, const char *const (*list)[2], struct why *why);
enum err build_constraints(struct space *s, const char *const *list, struct why *why);

/* Sets knobs to the listed values where the space has them, else to the nearest smaller value (words: left as they
 * are). */
void build_choose(const struct space *s, const struct build_define *list, struct config *out);

/* Lowers knobs in the order of `names` (NULL-ended, again from the front) one value at a time until the config is
 * valid; ERR_NOT_FOUND when all are at their first value and it is not. */
enum err build_make_valid(const struct space *s, const char *const *names, struct config *c);

/* The device's natural float vector: 16 8 4, or 1 for unknown. */
int64_t build_vector(const struct device_desc *d);

/* Threads of a work-group and bytes of local memory that the device allows; defaults (256, 32 KiB) where it does not
 * say. */
int64_t build_max_group(const struct device_desc *d);
int64_t build_max_local(const struct device_desc *d);

#define CEIL(a, b) (((a) + (b)-1) / (b))

#endif
