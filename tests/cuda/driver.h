/* SPDX-License-Identifier: MIT */
/* driver.h - inside of the emulated libcuda.so.1: what its files share. The functions that it exports are those of the
 * public driver API, declared in driver_api.h. */
#ifndef TUNE_TESTS_CUDA_DRIVER_H
#define TUNE_TESTS_CUDA_DRIVER_H

#include "tests/cuda/block.h"
#include "tests/cuda/driver_api.h"

#include <pthread.h>

/* Calls: log, failures on request, errors that stay. */

enum call {
    CALL_FREE,    /* works without a context and after any error */
    CALL_CONTEXT, /* needs a current context that is sane */
    CALL_LAUNCH,  /* the same; errors of a kernel that are asked for come later */
    CALL_WAIT,    /* the same; the place where they come */
};

/* Notes the call in TUNE_CUDA_LOG and tells what it must return at once; 0: go on. Holds the one lock of the driver
 * then, which driver_leave gives back. `name` without _v2. */
CUresult driver_enter(enum call kind, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
CUresult driver_leave(CUresult result);                                          /* gives `result` */
void driver_note(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a line of the log */
bool driver_read_environment(void); /* by cuInit: settings are read, counts begin anew; false: nonsense, told */
bool driver_is_up(void);

/* Stays in the context, as errors of kernels do on a device. */
bool driver_is_sticky(CUresult e);

/* Devices. */

struct device_kind;
int device_count(void);
int device_sm(CUdevice d);
int device_attribute(CUdevice d, int attribute); /* 0 for those that nobody asks for */
int64_t device_memory(CUdevice d);
int64_t environment_number(const char *name, int64_t otherwise);

/* Contexts, and what hangs on them. Things are freed with their context only; a handle of a dead one is told. */

enum magic {
    MAGIC_CONTEXT = 0x63747874,
    MAGIC_MODULE,
    MAGIC_FUNCTION,
    MAGIC_STREAM,
    MAGIC_EVENT,
    MAGIC_GRAPH,
    MAGIC_EXEC
};

struct memory { /* cuMemAlloc, cuMemHostAlloc, globals of modules */
    unsigned char *at;
    size_t n_bytes;
    void *mapping; /* NULL: a module's */
    size_t mapping_bytes;
    const void *owner; /* the module */
    bool host;
    struct touch *touches; /* of a buffer on the device (blocks_apart.h); NULL: not watched */
    struct memory *next;
};

struct CUctx_st {
    unsigned magic;
    CUdevice device;
    int n_retained; /* primary */
    bool alive;
    CUresult sticky, coming; /* coming: becomes sticky at the next wait */
    struct memory *memory;
    int64_t used_bytes;
    struct CUmod_st *modules;
    struct CUstream_st *streams; /* the last made first; the NULL stream is among them */
    struct CUevent_st *events;
    struct CUgraph_st *graphs;
    CUstream null_stream;
    uint64_t n_drained;
    struct CUctx_st *next;
};

CUcontext context_current(void);                                                /* NULL = none */
struct memory *memory_find(CUcontext c, const void *at, size_t n_bytes);        /* the whole range lies in it; NULL */
CUresult memory_note(CUcontext c, void *at, size_t n_bytes, const void *owner); /* a module's global */
void memory_forget(CUcontext c, const void *owner);

struct CUmod_st {
    unsigned magic;
    CUcontext context;
    void *library;
    const struct emu_module *object;
    struct shared_variable {
        struct block_shared range;
        char kernel[128]; /* "" = of a function that any kernel may use */
    } * shared;
    size_t n_shared;
    struct CUfunc_st *functions;
    struct CUmod_st *next;
};

struct CUfunc_st {
    unsigned magic;
    struct CUmod_st *module;
    const struct emu_kernel *kernel;
    size_t static_bytes; /* of shared memory */
    int dynamic_max;     /* opted in */
    struct CUfunc_st *next;
};

bool module_is_alive(const struct CUmod_st *m);
void module_drop(struct CUmod_st *m);
/* The shared object's bytes from where a cubin or PTX lies; takes malloc()ed memory out. 0, 200, 209, 218, 222. */
CUresult image_read(const void *image, CUdevice device, unsigned char **bytes, size_t *n_bytes);
/* Fills m->shared from the object's symbols: static variables of functions. */
CUresult image_find_shared(struct CUmod_st *m, const unsigned char *bytes, size_t n_bytes);

/* Work: what a stream has still to do. */

enum work_kind { WORK_KERNEL, WORK_COPY, WORK_SET, WORK_RECORD, WORK_WAIT, WORK_GRAPH };

struct work {
    enum work_kind kind;
    int stream; /* in a graph: which of its streams */
    struct work *next;
    union {
        struct {
            CUfunction function;
            struct emu_dim grid, block;
            unsigned dynamic_bytes;
            bool cooperative;
            void **params;
        } kernel;
        struct {
            void *to;
            const void *from;
            size_t n_bytes;
        } copy;
        struct {
            void *to;
            uint32_t value;
            size_t n, width;
        } set;
        struct {
            CUevent event;
            uint64_t serial;
        } event;
        CUgraph graph;
    };
};

struct queue {
    struct work *first, *last;
};

struct CUstream_st {
    unsigned magic;
    int id;
    bool alive, blocking; /* blocking: ordered with the NULL stream */
    CUcontext context;
    struct queue queue;
    CUgraph capture; /* not NULL: work goes there, as its stream i_capture */
    int i_capture;
    struct CUstream_st *next;
};

struct CUevent_st {
    unsigned magic;
    int id;
    bool alive, timed;
    CUcontext context;
    uint64_t n_recorded, n_done;
    int64_t done_ns;
    /* In a capture: of which graph, recorded by which stream of it after how much work. */
    CUgraph capture;
    int i_capture;
    int capture_n;
    CUevent twin; /* stands for it in the graph */
    struct CUevent_st *next;
};

#define GRAPH_STREAMS 16

struct CUgraph_st { /* and CUgraphExec_st */
    unsigned magic;
    bool alive, capturing, invalid;
    CUcontext context;
    struct queue work;
    int n_streams;
    int n_work[GRAPH_STREAMS], joined[GRAPH_STREAMS]; /* kernels and the like; so many of them somebody waits for */
    struct CUgraph_st *next;
};

struct work *work_new(enum work_kind kind);
void work_free(struct work *w);
void queue_put(struct queue *q, struct work *w);
/* Appends to a stream (or its capture) and takes `w`. On the NULL stream everything is done at once. */
CUresult stream_put(CUstream s, struct work *w);
CUresult stream_find(CUstream s, CUstream *out); /* NULL and 1 to the context's NULL stream; 400 */
/* Does what is queued, in an order that changes: of one stream and what it waits for, or of all (NULL). The
 * context's sticky error. */
CUresult stream_drain(CUcontext c, CUstream only);
CUresult stream_drain_null(CUcontext c);                  /* what the NULL stream waits for */
CUresult kernel_run(const struct work *w, uint64_t seed); /* launch.c */
bool capture_is_on(CUcontext c);

#endif
