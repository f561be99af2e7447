/* SPDX-License-Identifier: MIT */
/* cuda.h - what the files of the CUDA backend share. Nobody else includes this. */
#ifndef TUNE_RUNTIME_CUDA_H
#define TUNE_RUNTIME_CUDA_H

#include "core/err.h"
#include "exec/exec_cu_launch.h"
#include "runtime/cuda_arch.h"
#include "runtime/cuda_driver.h"
#include "runtime/cuda_gate.h"
#include "runtime/load.h"
#include "runtime/nvml.h"
#include "runtime/nvrtc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUDA_UUID_BYTES 48

/* How launch lists are replayed: one launch after the other, as one graph, or as what of both was faster. */
enum graph_mode { GRAPH_AUTO, GRAPH_OFF, GRAPH_ON };

struct device {
    cuda_device id;
    cuda_context context; /* the device's primary one, retained: that of the run time's libraries too */
    struct device_desc desc;
    char uuid[CUDA_UUID_BYTES]; /* "GPU-01234567-..."; "" = not told */
    struct nvrtc *nvrtc;        /* opened by the first module that needs it */
    struct nvml_device nvml;    /* sensors; not there: nothing is known */
    bool may_hold;              /* programs may say at which clock and power they run */
    struct nvml_hold hold;      /* at which the device is held */
    enum graph_mode graph;
    /* Cold: before each timed run this buffer of twice the L2 cache is written. 0 = not cold. */
    cuda_ptr flush;
    size_t flush_bytes;
    struct cuda_gate gate;
    const struct loaded *lost_by; /* whose kernel broke the context; NULL = it is sound */
};

/* What compilers told of kernels. */
struct cuda_figures {
    struct kernel_resources *list;
    size_t n;
};

struct loaded {
    struct load head;
    struct device *device;            /* borrowed */
    cuda_module *modules;             /* one a module */
    struct cuda_figures figures;      /* of them */
    cuda_ptr *mems, *pristine;        /* one a buffer, behind a band; what one with reset_each_run starts with */
    struct exec_cu_launches launches; /* stream 0, our own, is always there */
    cuda_stream stream;               /* that one */
    cuda_event start, end;            /* with time */
    struct nvml_hold hold;            /* at which timed runs want the device */
    struct replay {                   /* of the run phase */
        cuda_graph_exec graph;        /* NULL = not made */
        bool refused;                 /* could not be made */
        int n_direct, n_graph;        /* runs of each kind so far */
        int64_t direct_ns, graph_ns;  /* the fastest ones */
    } replay;
};

/* Fills a device's description from its architecture and attributes; ERR_UNSUPPORTED for one that is too old. */
enum err cuda_describe_device(cuda_device id, struct device_desc *out, char uuid[CUDA_UUID_BYTES], struct why *why);

/* Makes the context current for this thread. ERR_DEVICE when a kernel has broken it before. */
enum err cuda_enter(const struct device *d, struct why *why);

/* cuda_failed, noting who broke the context; `l` may be NULL. */
enum err cuda_blame(struct device *d, const struct loaded *l, struct why *why, const char *what, cuda_result error);

/* Gives a loaded module; report->log and build_cached are updated, `figures` gets what the compiler told of kernels
 * (free() it). ERR_COMPILE, ERR_UNSUPPORTED, ERR_NOT_FOUND (no NVRTC, no source), ERR_DEVICE. */
enum err cuda_module_load(struct device *d, const struct program_module *m, const struct blobs *blobs,
                          const char *cache_dir, cuda_module *out, struct load_report *report,
                          struct cuda_figures *figures, struct why *why);

/* device_ops.compile */
enum err cuda_compile(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                      struct load_report *report, struct why *why);

/* What is known to be too much before anything is built. ERR_LIMITS. */
enum err cuda_check_limits(const struct device_desc *d, const struct program *p, struct why *why);

/* What a program's macros nvml_gr_clock (MHz) and nvml_pwr_limit (watts) say, Kernel Tuner's names: knobs of the device
 * beside those of the kernel. ERR_LIMITS for what is no number above 0, and where the device was not opened for it. */
enum err cuda_hold_of(const struct device *d, const struct program *p, struct nvml_hold *out, struct why *why);

/* Before a timed run: holds the device as it wants, and waits a tenth of a second where that is a change. */
enum err cuda_hold(struct device *d, const struct nvml_hold *wanted, struct why *why);

/* Members of device_ops. */
enum err cuda_load(struct device *d, const struct program *p, const struct blobs *blobs, const char *cache_dir,
                   struct loaded **out, struct load_report *report, struct why *why);
enum err cuda_run(struct loaded *l, enum launch_phase phase, int64_t *device_ns, int64_t *wall_ns, struct why *why);

#endif
