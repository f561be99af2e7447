/* SPDX-License-Identifier: MIT */
/* device.h - devices by table: open one, load a program on it, run it, read and write its buffers.
 * Runs in a child process of the agent (or inside libtune): a device call may crash or hang, and that is the child's
 * end. */
#ifndef TUNE_RUNTIME_DEVICE_H
#define TUNE_RUNTIME_DEVICE_H

#include "core/blobs.h"
#include "core/err.h"
#include "runtime/device_desc.h"
#include "runtime/program.h"
#include "runtime/sense.h"

#include <stdbool.h>
#include <stdint.h>

struct device; /* each backend's own */
struct loaded;

/* What one kernel of a built module takes, as its compiler or driver told; -1 = not told. */
struct kernel_resources {
    char kernel[64];
    int registers;   /* 32-bit, a work-item */
    int local_bytes; /* local (shared) memory of a group, without what a launch adds */
    int spill_bytes; /* stores and loads of registers to memory, a work-item */
    int stack_bytes; /* private memory, a work-item */
    int constant_bytes;
    int max_group; /* work-items that its registers allow */
};
#define LOAD_MAX_RESOURCES 16

/* What happened while loading; filled on failure too. */
struct load_report {
    struct kernel_resources resources[LOAD_MAX_RESOURCES]; /* of the launched kernels, each once; the first 16 */
    int n_resources;
    int64_t build_ns;  /* compiling; PoCL makes code at the first run() only: add that run's wall time */
    bool build_cached; /* the binary came from a cache */
    char compiler[32]; /* that made it, where the backend knows: "NVRTC 13.0"; "" = not told */
    char built_by[64]; /* the builder that made the code loaded, where it came from one; "" = made here */
    char *log;         /* compiler output, at most 16 KiB; free() it; NULL = none */
};

/* Bytes of which whole elements consist before a program has written them. In floats: NaN; 1e36 (f16: 61,280). In whole
 * numbers: verify.c has another NaN, far below 0; far above 0. No maximum, minimum or sum hides both. 0 is for outputs
 * of calls whose results are known: it may be a result. */
enum poison { POISON_OFF = -1, POISON_ZERO = 0, POISON_NAN = 0xff, POISON_HIGH = 0x7b };

struct device_ops {
    const char *name, *summary;
    /* Calls `each` for every device of this backend; ERR_NOT_FOUND when there is none, with words on what is missing.
     */
    enum err (*list)(bool (*each)(const char *selector, const struct device_desc *d, void *arg), void *arg,
                     struct why *why);
    /* selector: "" = the first device, "p.d" (OpenCL), "i" (CUDA), a compiler (c), a file (replay). May block for
     * seconds. */
    enum err (*open)(const char *selector, struct device **out, struct why *why);
    void (*close)(struct device *d);
    const struct device_desc *(*describe)(const struct device *d); /* lends */
    /* What compile() and load() refuse before anything is built. ERR_LIMITS. NULL for a backend without compile(). */
    enum err (*check)(const struct device_desc *d, const struct program *p, struct why *why);
    /* Compiles the modules into `cache_dir`, where load() finds them, without making the device do anything: others may
     * be timing on it. Errors and `report` as of load(). NULL for a
     * backend whose load() compiles. */
    enum err (*compile)(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                        struct load_report *report, struct why *why);
    /* Builds the modules, allocates and fills the buffers, and asks the built kernels for their own limits.
     * Borrows `p` and `blobs` for the call, `d` until unload. PoCL compiles at the first run(), whose wall time counts
     * as build. `cache_dir`: where binaries may be kept between processes, or NULL. ERR_COMPILE, ERR_LIMITS,
     * ERR_DEVICE. */
    enum err (*load)(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                     struct loaded **out, struct load_report *report, struct why *why);
    void (*unload)(struct loaded *l);
    /* Runs all launches of one phase once and waits. device_ns: from the first start to the last end by the device's
     * own clock, wall_ns: by the host's; both may be NULL. ERR_DEVICE; ERR_LIMITS, ERR_TIMEOUT where the driver tells
     * that a launch does not fit or that it ended a long one. */
    enum err (*run)(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns, struct why *why);
    /* Whole buffers to and from host memory (n_elems * element bytes). */
    enum err (*write)(struct loaded *l, int i_buffer, const void *data, struct why *why);
    enum err (*read)(struct loaded *l, int i_buffer, void *data, struct why *why);
    /* What a whole buffer holds, in its place, where that is the host's memory: to be looked at and given back before
     * anything else is done with the buffer. ERR_UNSUPPORTED: read() it. NULL for a backend that never lends. */
    enum err (*lend)(struct loaded *l, int i_buffer, const void **data, struct why *why);
    void (*give_back)(struct loaded *l, int i_buffer, const void *data);
    /* Until the next call: what no kernel may read holds `byte` in every place, so that reading it shows. Fills the
     * bands before and behind the buffers; and each kernel of a run finds local memory filled so, where the backend can
     * reach it. POISON_OFF: runs are as they are timed, the bands stay. NULL for a backend without guards. */
    enum err (*poison)(struct loaded *l, int byte, struct why *why);
    /* ERR_WRONG, naming the buffer, when a kernel has written before the beginning or behind the end of one since
     * `poison`; NULL for a backend without guards. */
    enum err (*check_guards)(struct loaded *l, struct why *why);
    /* What the device's sensors say now; values that cannot be read stay unknown. Fills all of `out`; may take some
     * milliseconds. ERR_DEVICE. NULL for a backend without sensors. */
    enum err (*sense)(struct device *d, struct sense *out);
    /* The program whose kernel has broken the device for this process (after a wild pointer CUDA does nothing any
     * more), NULL = it is sound. The process should end, programs that failed since are not to blame. NULL for a
     * backend that cannot tell. */
    const struct loaded *(*lost_by)(const struct device *d);
    /* True for a backend that answers from records: verification is skipped and run() reports recorded times. */
    bool simulated;
};

/* All backends, NULL-ended: opencl, cuda, c, replay. */
extern const struct device_ops *const device_table[];
/* The one of a name, NULL = none; product code has selectors and takes device_parse: this is for tests. */
const struct device_ops *device_find(const char *name);

/* Splits "opencl:0.1" into a backend and a selector (lent from `text`, "" when absent). ERR_INPUT lists the backends.
 */
enum err device_parse(const char *text, const struct device_ops **ops, const char **selector, struct why *why);

#endif
