/* SPDX-License-Identifier: MIT */
/* spec_private.h - what a job is made of; shared by the files of this folder. */
#ifndef TUNE_KERNELS_SPEC_SPEC_PRIVATE_H
#define TUNE_KERNELS_SPEC_SPEC_PRIVATE_H

#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "kernels/spec/spec.h"

#include "search_space/expr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPEC_WHERE_BYTES 96
#define SPEC_MAX_DEFINITIONS 112
#define SPEC_DEFINE "Define." /* before the name of a macro of Defines */
#define SPEC_ENTRY "tune_"    /* before a kernel's name in C: the function that is called */
#define SPEC_MAX_METRICS 16
#define SPEC_MAX_BLOB_ELEMS ((int64_t)1 << 24) /* of values made here and sent */

/* An element type of T1. Types without a dtype here are bytes to us, `lanes` of them. */
struct spec_type {
    const char *name;
    enum dtype dtype;
    int lanes;     /* values of `dtype` in an element */
    int raw_bytes; /* of a whole number kept as bytes; 0 = a dtype of ours */
    bool is_signed, is_whole;
    int scalar;           /* enum arg_kind, -1 = no scalar argument of it */
    const char *c_scalar; /* its type in C, in words that need no header; NULL = no scalar argument */
};

enum spec_memory { SPEC_SCALAR, SPEC_VECTOR, SPEC_LOCAL };
enum spec_access { SPEC_READ_WRITE, SPEC_READ_ONLY, SPEC_WRITE_ONLY };
enum spec_fill_kind { SPEC_CONSTANT, SPEC_RANDOM, SPEC_GENERATOR, SPEC_BINARY };

struct spec_fill {
    enum spec_fill_kind kind;
    double value; /* constant; largest of random */
    uint64_t seed;
    char *source;       /* generator: an expression of ours in i; owned */
    struct sha256 file; /* binary */
    /* Lazily made values of a blob, kept for the next config of the same size. */
    unsigned char *made;
    size_t n_made;
};

struct spec_arg {
    char id[PROGRAM_ID_BYTES]; /* of its buffer */
    char where[SPEC_WHERE_BYTES];
    enum spec_memory memory;
    enum spec_access access;
    const struct spec_type *type;
    struct spec_type own; /* what `type` is when no table has it: custom */
    bool is_output;
    bool is_symbol; /* a vector that is a __constant__ variable of the module, no argument */
    char
        number[SPACE_NAME_BYTES]; /* name of the quantity: elements of a vector or of local memory, value of a scalar */
    struct spec_fill fill;
    bool is_expected; /* ReferenceArguments say what is right */
    struct spec_fill expected;
    bool has_threshold;
    double threshold;
    enum check_relative relative;
};

/* A kernel with its text and its launch; names of quantities. */
struct spec_kernel {
    struct sha256 source;
    char name[64];
    char *options;
    char prefix[16]; /* of its quantities: "", "Reference." */
    bool is_grouped; /* GlobalSize counts groups */
    bool has_shared; /* SharedMemory */
    bool has_global, has_local;
};

/* A name with an expression, before it becomes a constant or a quantity of the space. */
struct spec_definition {
    char name[SPACE_NAME_BYTES], where[SPEC_WHERE_BYTES];
    char *text;
    bool is_varying; /* with the knobs, known when done */
    enum { DEFINITION_NEW, DEFINITION_OPEN, DEFINITION_DONE } state;
};

/* A number for people, of a config and its time. */
struct spec_metric {
    char name[32];
    struct expr *expression; /* over the slots of spec_metrics.c */
};

struct spec {
    char name[128], workload[512];
    enum program_lang lang;
    struct spec_kernel kernel, reference;
    bool has_reference;
    struct config reference_config;
    bool has_reference_config;
    struct space *space;
    struct config fallback;
    bool has_fallback;
    struct spec_arg args[PROGRAM_MAX_ARGS];
    size_t n_args;
    bool has_operations;
    bool has_threshold; /* for all outputs that name none */
    double threshold;
    enum check_relative relative;
    struct spec_definition definitions[SPEC_MAX_DEFINITIONS];
    size_t n_definitions;
    size_t n_problem; /* sizes of ProblemSize */
    struct blobs files;
    struct spec_budget budget;
    struct spec_metric metrics[SPEC_MAX_METRICS];
    size_t n_metrics;
    int version;
    struct buf notes;
};

/* Texts of the file stand in words: control characters in them become blanks, so that they stay one line. */
enum err spec_one_line(struct why *why, enum err e);

/* A member in any of the spellings that files have; NULL when it is missing or null. */
const cJSON *spec_member(const cJSON *object, const char *name);
/* Are all members of a job file's objects known ones? ERR_INPUT names the first that is none, with its path
 * ("KernelSpecification.GlobalSze"). Names that begin with _ or $ are remarks. */
enum err spec_check_members(const cJSON *job, struct why *why);
/* Text of a member; ERR_INPUT when it is missing or no string. `where` is the object's path. */
enum err spec_text(const cJSON *object, const char *where, const char *name, const char **out, struct why *why);

/* spec_expression.c: a T1 expression as one of ours: ProblemSize[0] -> ProblemSize.0, max(knob) -> its largest value.
 */
enum err spec_expression(const struct spec *s, const char *text, const char *where, struct buf *out, struct why *why);
/* May what a name means differ from config to config? Known when the job is settled; true for a name that is none. */
bool spec_varies(const struct spec *s, const char *name);

/* Vectors of the same size in every config: ERR_LIMIT with words where one is no whole number of elements or more than
 * a program's buffers may have; and what vectors are filled with (spec_check_fill). */
enum err spec_check_sizes(struct spec *s, struct why *why);

/* Is each variable to be filled named in a kernel's text? ERR_INPUT with words. */
enum err spec_check_symbols(const struct spec *s, struct why *why);

/* Notes a definition: a number or text of an expression. ERR_INPUT for other items. */
enum err spec_define(struct spec *s, const char *name, const cJSON *item, const char *where, struct why *why);
enum err spec_define_text(struct spec *s, const char *name, const char *text, const char *where, struct why *why);
bool spec_is_free_name(const struct spec *s, const char *name);
/* Definitions become constants and quantities of the space, each behind what it needs; conditions its constraints. */
enum err spec_settle(struct spec *s, const cJSON *conditions, struct why *why);

/* The number of a definition, -1 = none has this name. */
int spec_find_definition(const struct spec *s, const char *name, size_t n);

/* The API and the language's name for people of a kernel; indexed by s->lang. */
struct spec_language {
    const char *name, *api;
    enum program_lang lang;
};
const struct spec_language *spec_language(const struct spec *s);
/* A function of C or C++, which is called once. */
bool spec_is_function(const struct spec *s);

/* A vector that kernels write. */
bool spec_is_written(const struct spec_arg *a);
/* By the name in a file, whatever its case; NULL = it is not known. */
const struct spec_language *spec_language_named(const char *name);

/* spec_c.c: the texts of a job in C get a function that the backend can call: "tune_NAME". ERR_LIMIT, ERR_NOMEM. */
enum err spec_add_entries(struct spec *s, struct why *why);

/* spec_metrics.c: Metrics of a job whose space is sealed. ERR_INPUT, ERR_LIMIT with words. */
enum err spec_read_metrics(struct spec *s, const cJSON *metrics, struct why *why);

/* spec_args.c */
enum err spec_read_args(struct spec *s, const cJSON *kernel, const cJSON *files, struct why *why);
enum err spec_read_threshold(const cJSON *o, const char *where, bool *has, double *threshold,
                             enum check_relative *relative, struct why *why);

/* spec_fill.c: can it fill a vector, of n elements where that is known (else 0)? What is wrong in every config is told
 * before any is tried: ERR_INPUT, ERR_NOT_FOUND. */
enum err spec_check_fill(const struct spec_fill *f, struct spec *s, const struct spec_type *t, int64_t n,
                         const char *where, struct why *why);
/* A program's fill of n elements; values that need it go into `blobs`. */
enum err spec_make_fill(struct spec_fill *f, struct spec *s, const struct spec_type *t, int64_t n, const char *where,
                        struct program_fill *out, struct blobs *blobs, struct why *why);
void spec_fill_fini(struct spec_fill *f);

/* spec_files.c: the tree of a closed job (cJSON_Delete it) and its list of files; the hash of a file by its name in the
 * job. */
enum err spec_parse_closed(const char *closed, size_t n, cJSON **job, const cJSON **list, struct why *why);
enum err spec_file_hash(const cJSON *files, const char *name, const char *where, struct sha256 *out, struct why *why);

#endif
