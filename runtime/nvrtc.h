/* SPDX-License-Identifier: MIT */
/* nvrtc.h - NVIDIA's run-time compiler, loaded when it is wanted: CUDA C in, a cubin or PTX out. No device is needed.
 */
#ifndef TUNE_RUNTIME_NVRTC_H
#define TUNE_RUNTIME_NVRTC_H

#include "core/blobs.h"
#include "core/buf.h"
#include "core/err.h"
#include "runtime/device.h"
#include "runtime/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvrtc;

/* Loads libnvrtc: from `path` (a file, or the folder it lies in), or where it is NULL from the environment's
 * TUNE_NVRTC, or else the newest of versions 13, 12, 11 that the loader, CUDA_HOME or /usr/local/cuda has.
 * ERR_NOT_FOUND names what was looked for. Thread-safe: calls for one library are taken one after another. */
enum err nvrtc_open(const char *path, struct nvrtc **out, struct why *why);
void nvrtc_close(struct nvrtc *n);

/* The same, but of several that are found the newest that makes code for `sm` which a driver of this version takes
 * (12040 = 12.4: cubins of its own major version and older ones); the newest of all where none does. */
enum err nvrtc_open_for(const char *path, int sm, int driver, struct nvrtc **out, struct why *why);

int nvrtc_version(const struct nvrtc *n);                        /* 13000 = 13.0 */
void nvrtc_name(const struct nvrtc *n, char *out, size_t n_out); /* "NVRTC 13.0" */
const char *nvrtc_path(const struct nvrtc *n);

/* ERR_UNSUPPORTED when this NVRTC makes no code for the architecture; the words name versions that do. */
enum err nvrtc_supports(const struct nvrtc *n, int sm, struct why *why);

/* For which architecture to compile, for a device of `sm`: itself, or where a device is newer than this NVRTC the
 * newest below it, as PTX, of which the driver makes code. as_ptx is only ever set. False when all it makes is newer.
 */
bool nvrtc_target(const struct nvrtc *n, int sm, int *target, bool *as_ptx);

/* What came out: free with nvrtc_built_fini. */
struct nvrtc_built {
    struct buf code;                    /* cubin, or PTX without the final NUL */
    char *log;                          /* the compiler's words; NULL = none */
    struct kernel_resources *resources; /* as the assembler told, a kernel each; none for PTX */
    size_t n_resources;
    int64_t build_ns;
};
void nvrtc_built_fini(struct nvrtc_built *b);

/* Compiles one module of CUDA C for an architecture. ERR_COMPILE with the first error's line in `why` and everything in
 * out->log; ERR_UNSUPPORTED, ERR_NOT_FOUND (source not among the blobs), ERR_NOMEM. `out` is initialised by this call
 * and to be freed in any case. as_ptx: PTX instead of a cubin. */
enum err nvrtc_build(struct nvrtc *n, const struct program_module *m, const struct blobs *blobs, int sm, bool as_ptx,
                     struct nvrtc_built *out, struct why *why);

/* Reads the assembler's figures (option -v) out of a compiler's log: gives a list, one a kernel; none is no error.
 * ERR_NOMEM, ERR_LIMIT. */
enum err nvrtc_read_resources(const char *log, struct kernel_resources **out, size_t *n_out);

/* The name under which a module's cubin is kept in a cache directory ("tune-<64 hex>.cubin"): over architecture,
 * source, options and defines, not over the compiler's version, so that a file made elsewhere is found. `out` has
 * NVRTC_NAME_BYTES. */
#define NVRTC_NAME_BYTES 80
void nvrtc_cache_name(const struct program_module *m, int sm, char *out);

#endif
