/* SPDX-License-Identifier: MIT */
/* tune_parts.h - what the files of libtune share. Nobody else includes this. */
#ifndef TUNE_LIBTUNE_TUNE_PARTS_H
#define TUNE_LIBTUNE_TUNE_PARTS_H

#include "libtune/choice.h"
#include "exec/plan.h"
#include "libtune/tune.h"

#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* One API of devices. `session`, `op` and `packed` are its executor's; calls with them are made under tune.lock. */
struct tune_backend {
    const char *api;
    /* Opens t->session and describes t->device; `device`, `threads`: OpenCL. */
    enum tune_status (*open)(struct tune *t, void *context, void *device, int threads);
    /* Compiles what the executor takes only as code, in place; without the lock. May be NULL. */
    enum tune_status (*compile)(struct tune *t, struct program *p, struct blobs *blobs);
    enum exec_status (*op_open)(void *session, const struct exec_plan *plan, struct exec_words *words, void **out);
    void (*op_close)(void *op);
    enum exec_status (*pack)(void *op, void *queue, const void *weights, struct exec_words *words, void **out);
    enum exec_status (*run)(void *op, void *queue, const void *tensors, const void *packed, struct exec_words *words);
    void (*packed_free)(void *packed);
    void (*close)(void *session);
};

extern const struct tune_backend tune_backend_cl;

/* A workload without a record of its own. */
struct tune_missed {
    char *workload, *instead; /* "nearest dense f32 .., distance 1" */
    enum choice_kind kind;
    double distance;
};

struct tune {
    const struct tune_backend *backend;
    void *session;
    struct nvrtc *nvrtc; /* CUDA: opened by the first plan */
    struct device_desc device;
    struct sha256 fingerprint;
    struct choices *choices;
    char log_key[64];
    struct sha256 log_fingerprint;
    pthread_mutex_t lock;   /* of the session */
    pthread_mutex_t noting; /* of what follows */
    struct tune_missed *missed;
    size_t n_missed;
    atomic_int n_users; /* the caller and plans */
};

struct tune_plan {
    struct tune *t;
    struct choice choice; /* its record is lent by t->choices */
    struct workload workload;
    char *text, *knobs;
    double flops, bytes;
    struct tune_tensor *tensors, *weights; /* the strings of both lie in `names` */
    size_t n_tensors, n_weights;
    char (*names)[3][PROGRAM_ID_BYTES];
    struct exec_plan *exec;
    void *op;
    void *nothing_packed; /* of a plan without weights: made by the first run */
    atomic_int n_users;   /* the caller and weights */
};

struct tune_weights {
    struct tune_plan *plan;
    void *packed;
};

/* Notes the words for the calling thread and returns the status, so that `return tune_fail(...)` reads well. */
enum tune_status tune_fail(enum tune_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Structs of tune.h that begin with their size, `name` in words. take: the caller's into an own one, whose members are
 * 0 where the caller's is shorter; what is longer there must be 0. give: the other way; what the caller's has more
 * becomes 0. TUNE_BAD_ARGUMENT: no size, or a member that is not known here. */
enum tune_status tune_take_sized(const char *name, const void *callers, void *own, size_t n_own);
enum tune_status tune_give_sized(const char *name, const void *own, size_t n_own, void *callers);
/* TUNE_OK stays as it is. */
enum tune_status tune_fail_exec(enum exec_status status, const struct exec_words *words);

/* Logs, workloads and kernels have decimal points, an application's locale perhaps commas: until uselocale(what this
 * returned) the calling thread's numbers are those of the "C" locale. */
locale_t tune_use_points(void);

/* What tune_open_.. of all backends are. */
enum tune_status tune_open_with(const struct tune_backend *backend, const char *log, void *context, void *device,
                                const struct tune_options *options, struct tune **out);
void tune_release(struct tune *t); /* the caller's or a plan's share */
void tune_plan_release(struct tune_plan *plan);

/* Notes what a plan is run with, unless it is exact. Lack of memory is no error: the list lacks it. */
void tune_note_missed(struct tune *t, const char *workload, const struct choice *c);
void tune_forget_missed(struct tune *t);

/* What tune_pack_.. and tune_execute_.. of all backends are. */
enum tune_status tune_pack(struct tune_plan *p, const struct tune_backend *backend, void *queue, const void *weights,
                           size_t n, struct tune_weights **out);
enum tune_status tune_execute(struct tune_plan *p, const struct tune_backend *backend, void *queue, const void *tensors,
                              size_t n, const struct tune_weights *weights);

/* The members of a backend that are calls of an executor alike: TUNE_EXECUTOR(exec_cl) defines them,
 * TUNE_EXECUTOR_CALLS names them in the table. */
#define TUNE_EXECUTOR(x)                                                                                               \
    static enum exec_status op_open(void *session, const struct exec_plan *plan, struct exec_words *words, void **out) \
    {                                                                                                                  \
        struct x##_op *op = NULL;                                                                                      \
        const enum exec_status s = x##_op_open(session, plan, words, &op);                                             \
                                                                                                                       \
        *out = op;                                                                                                     \
        return s;                                                                                                      \
    }                                                                                                                  \
    static void op_close(void *op)                                                                                     \
    {                                                                                                                  \
        x##_op_close(op);                                                                                              \
    }                                                                                                                  \
    static enum exec_status pack(void *op, void *queue, const void *weights, struct exec_words *words, void **out)     \
    {                                                                                                                  \
        struct x##_weights *packed = NULL;                                                                             \
        const enum exec_status s = x##_pack(op, queue, weights, words, &packed);                                       \
                                                                                                                       \
        *out = packed;                                                                                                 \
        return s;                                                                                                      \
    }                                                                                                                  \
    static enum exec_status run(void *op, void *queue, const void *tensors, const void *packed,                        \
                                struct exec_words *words)                                                              \
    {                                                                                                                  \
        return x##_run(op, queue, tensors, packed, words);                                                             \
    }                                                                                                                  \
    static void packed_free(void *packed)                                                                              \
    {                                                                                                                  \
        x##_weights_free(packed);                                                                                      \
    }                                                                                                                  \
    static void close_session(void *session)                                                                           \
    {                                                                                                                  \
        x##_close(session);                                                                                            \
    }
#define TUNE_EXECUTOR_CALLS                                                                                            \
    .op_open = op_open, .op_close = op_close, .pack = pack, .run = run, .packed_free = packed_free,                    \
    .close = close_session

#endif
