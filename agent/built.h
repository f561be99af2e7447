/* SPDX-License-Identifier: MIT */
/* built.h - what a builder answers about one program: its code by content hash, what its kernels take, or why there is
 * none. Made by the builder, carried by the tracker as it is, read by the agent that runs the program. */
#ifndef TUNE_AGENT_BUILT_H
#define TUNE_AGENT_BUILT_H

#include "core/err.h"
#include "core/hash.h"
#include "core/json.h"
#include "logs/record.h"
#include "runtime/device.h"

#include <stdbool.h>
#include <stddef.h>

#define BUILT_NAME_BYTES 80

/* A module's code, and the name it has in a compiler's cache directory. */
struct built_file {
    char name[BUILT_NAME_BYTES];
    struct sha256 blob;
};

struct built {
    enum record_status status; /* ok; compile, limits, timeout, crash, runtime: then there are no files */
    char *why;                 /* words about a failure, compiler output included; NULL = none */
    char stage[16];            /* of a failure here; "" = build. Not carried by the tracker */
    char by[64];               /* the builder */
    char compiler[32];         /* "NVRTC 12.9" */
    double build_ms;
    cJSON *resources; /* as resources_json; NULL = none */
    struct built_file files[PROGRAM_MAX_MODULES];
    int n_files;
};

/* May it become a file's name in a directory of the agent's? */
bool built_name_is_plain(const char *name);

/* All empty; fini frees what it owns and accepts half-made ones. */
void built_init(struct built *b);
void built_fini(struct built *b);

/* NULL on lack of memory. */
cJSON *built_to_json(const struct built *b);
/* From another's hands: ERR_PROTOCOL for names that are no plain file names, hashes that are none, too many files.
 * `out` is initialised by this call and empty after an error. */
enum err built_from_json(const cJSON *object, struct built *out, struct why *why);

/* [{"kernel", "registers", "local_bytes", "spill_bytes", "stack_bytes", "constant_bytes", "max_group"}], what was not
 * told left out; NULL when n is 0 or on lack of memory. */
cJSON *resources_json(const struct kernel_resources *r, size_t n);

/* `own` (taken, may be NULL) with what only `other` (borrowed, may be NULL) knows of the same kernels; a copy of
 * `other` when `own` is NULL. NULL when neither is there. */
cJSON *resources_merge(cJSON *takes_own, const cJSON *other);

#endif
