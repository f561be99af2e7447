/* SPDX-License-Identifier: MIT */
/* spec.h - a person's own kernel from a job file in the community's T1 form: its space, its arguments, its reference,
 * and the program of each config; see docs/kernel-spec.md. */
#ifndef TUNE_KERNELS_SPEC_SPEC_H
#define TUNE_KERNELS_SPEC_SPEC_H

#include "core/blobs.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "runtime/device_desc.h"
#include "runtime/program.h"
#include "search_space/space.h"

#include <stdbool.h>
#include <stddef.h>

#define SPEC_MAX_BYTES ((size_t)1 << 20)        /* of a job file, and of one kernel text */
#define SPEC_MAX_DATA_BYTES ((size_t)256 << 20) /* of one file of values */
#define SPEC_MAX_FILES 64

struct spec;

/* Reads a job file and every file it names (relative to it). `closed` gets the job's JSON with a member "tune" that
 * names the files by hash; their bytes go into `files`. ERR_NOT_FOUND, ERR_IO, ERR_INPUT, ERR_LIMIT with words that
 * begin with the path and name the member. */
enum err spec_load(const char *path, struct buf *closed, struct blobs *files, struct why *why);

/* The device backend that a job file's language is for: "opencl", "cuda", "c"; "opencl" where it cannot be read. */
const char *spec_usual_device(const char *path);

/* Calls `each` with the hash of every file that a closed job needs. ERR_INPUT for text that is none. */
enum err spec_each_file(const char *closed, size_t n, enum err (*each)(const char *hex, void *arg, struct why *why),
                        void *arg, struct why *why);

/* Makes the kernel of a closed job; copies what it needs of `files`. ERR_INPUT, ERR_LIMIT, ERR_UNSUPPORTED with words
 * that name the member ("KernelSpecification.Arguments[2].Size: ..."), ERR_NOT_FOUND for a file that is not there. */
enum err spec_open(const char *closed, size_t n, const struct blobs *files, struct spec **out, struct why *why);
void spec_free(struct spec *s);

/* Lent for the spec's life: "kernel NAME x=4096 y=4096", one line; the sealed space; words for a person about members
 * that have no effect, "" when there are none. */
const char *spec_workload(const struct spec *s);
const struct space *spec_space(const struct spec *s);
const char *spec_notes(const struct spec *s);

/* A number in [1, 2^31) made of the kernel's texts, arguments and sizes: records of another version are no answer. */
int spec_version(const struct spec *s);

/* The config of the parameters' defaults, when it is a valid one. */
bool spec_default(const struct spec *s, struct config *out);

/* False when nothing tells what is right: results are timed, never checked. */
bool spec_is_checked(const struct spec *s);

/* What the file says of the search; 0 = nothing. */
struct spec_budget {
    double trials;   /* ConfigurationCount */
    double time_s;   /* TuningDuration */
    double fraction; /* ConfigurationFraction, of the valid configs */
};
struct spec_budget spec_budget(const struct spec *s);

/* Can the device run it? ERR_UNSUPPORTED with words. */
enum err spec_fits(const struct spec *s, const struct device_desc *d, struct why *why);

/* The metrics that the file names, of a config and its time: an object of numbers in their order, null where one has no
 * value. Empty when it names none; NULL on lack of memory. cJSON_Delete it. */
cJSON *spec_metrics(const struct spec *s, const struct config *c, double time_ns);

/* Appends the macros that a config (knobs by name) is built with, "#define NAME value" a line each. ERR_INPUT with
 * words for knobs that are no config of the space. */
enum err spec_macros(const struct spec *s, const cJSON *knobs, struct buf *out, struct why *why);

/* The program of a config; `out` is initialised by this call, texts and data go into `blobs`. ERR_INPUT or ERR_LIMIT
 * for sizes that are none, with words. */
enum err spec_program(struct spec *s, const struct config *c, struct program *out, struct blobs *blobs,
                      struct why *why);

#endif
