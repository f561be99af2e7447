/* SPDX-License-Identifier: MIT */
/* child_ops.h - inside a child: its device and the answers to its requests. */
#ifndef TUNE_AGENT_CHILD_OPS_H
#define TUNE_AGENT_CHILD_OPS_H

#include "agent/cage.h"
#include "agent/canary.h"
#include "agent/child_calls.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"
#include "logs/record.h"
#include "runtime/device.h"

#include <stdbool.h>
#include <stddef.h>

#define CHILD_MAX_BLOB_BYTES ((size_t)1 << 31) /* of one request's programs; the parent watches the process anyway */
#define CHILD_FILL_BYTES ((size_t)128 << 20)   /* of inputs kept for the next candidate */
#define CANARY_MAX_MS 20

struct child_program;
struct nvrtc;

struct child {
    int fd; /* of the stream to the parent */
    const struct device_ops *ops;
    struct device *device;
    const char *dir;       /* of blobs */
    const char *cache_dir; /* NULL = none */
    struct nvrtc *nvrtc;   /* loaded when it is wanted */
    int lock_fd;           /* of a device that is not to be used while others time on it; -1 = none */
    struct canary *canary; /* NULL: none for this device, or not asked for yet */
    bool canary_tried;
    struct cage_report cage;
    double peak_gflops;           /* of the canary at its fastest; 0 = not seen */
    struct child_program *anchor; /* the last one timed, loaded: most batches have the same; NULL = none */
    char anchor_hex[SHA256_HEX + 1];
};

/* A program with all its blobs, as read from the work directory. */
struct child_program {
    struct program program;
    struct blobs blobs;
    struct loaded *loaded;
    struct load_report report;
    bool unread; /* a file of the work directory could not be read, or is damaged */
};

void child_program_init(struct child_program *p);
void child_program_fini(struct child *c, struct child_program *p);

/* Unloads the anchor; nothing to do when there is none. */
void child_drop_anchor(struct child *c);

/* Adds a blob of the work directory to the program's; notes a failure in `unread`. */
enum err child_blob_read(struct child *c, struct child_program *p, const char *hex, struct why *why);
/* Parses the program alone; with all its blobs; then loads it on the device. */
enum err child_program_parse(struct child *c, struct child_program *p, const char *hex, struct why *why);
enum err child_program_read(struct child *c, struct child_program *p, const char *hex, struct why *why);
/* Reads a sheet into it, and the blobs that it names. */
enum err child_sheet_read(struct child *c, struct child_program *p, const char *hex, struct why *why);
enum err child_program_load(struct child *c, struct child_program *p, struct why *why);

/* Tells the parent where this child is; i_item as in struct sandbox_end. */
void child_at(struct child *c, const char *stage, int i_item);

/* Builds the canary once in a child's life, where the device can have one. */
void child_open_canary(struct child *c);

/* Median canary time, 0 where there is no canary: once warm, or of three runs as it is now. */
double child_canary_ns(struct child *c);
double child_canary_now_ns(struct child *c);

/* Makes a text (the caller's, by buf_fini): the words, and the compiler's behind them, with the child's own paths left
 * out; "" of ERR_OK. */
void child_words(const struct child *c, enum err e, const struct why *why, const char *log, struct buf *text);

/* The status of a trial that failed with `e`. */
enum record_status status_of_err(enum err e);

/* ---- child.c, child_time.c ---- */

/* Answers; NULL on lack of memory. */
cJSON *child_describe(struct child *c, const cJSON *request);
cJSON *child_verify(struct child *c, const cJSON *request);
cJSON *child_time(struct child *c, const cJSON *request);

/* ---- child_build.c ---- */

/* What a description of a compiler points at. */
struct child_compiler {
    struct why why;
    char words[800];
};

/* Of a CUDA device: is a compiler here that knows it? */
void child_describe_compiler(struct child *c, struct describe_reply *out, struct child_compiler *keeps);
void child_close_compiler(struct child *c);

/* The answer to a request that is not taken, with the words; NULL on lack of memory. */
cJSON *child_refuse(const struct why *why);

/* Answers, of a child without a device too. */
cJSON *child_compiler(struct child *c, const cJSON *request);
cJSON *child_compile(struct child *c, const cJSON *request);

#endif
