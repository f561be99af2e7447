/* SPDX-License-Identifier: MIT */
/* sandbox.h - the parent's end of one child: start it, ask it, watch its time and memory, end it. The parent survives
 * whatever the child does; nothing the child says is trusted beyond its own trials. */
#ifndef TUNE_AGENT_SANDBOX_H
#define TUNE_AGENT_SANDBOX_H

#include "agent/cage.h"
#include "agent/child_calls.h"
#include "agent/frame.h"
#include "core/err.h"
#include "core/json.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SANDBOX_DEVICE_FD 3 /* the child's end of the stream */

struct sandbox_options {
    const char *mode;        /* "build" "time" "describe": of --child */
    const char *device;      /* "opencl:0.0" */
    const char *dir;         /* the agent's work directory */
    const char *cache_dir;   /* compiler caches; "" = none */
    const char *wrapper;     /* "CMD ARGS" that the child is started through, which becomes it by exec or runs it within
                              * itself (an emulator): what counts is the process started; NULL or "" = none */
    const struct cage *cage; /* what it is shut into; NULL = nothing */
    int threads;             /* worker threads of a CPU runtime; 0 = leave it alone */
    const int *cpus;         /* where it may run; NULL = as the parent. Copied by exec. */
    int n_cpus;
    int64_t data_bytes;      /* RLIMIT_DATA; 0 = none */
    const atomic_bool *stop; /* true: give up at once; may be NULL */
};

struct sandbox {
    const struct sandbox_ops *ops;
    void *arg;         /* of the ops */
    _Atomic pid_t pid; /* 0 = no child; others may kill it */
    int fd;
    int err_fd; /* its stderr, a file without a name */
    struct frame_reader reader;
    const atomic_bool *stop;
    char cache_dir[PATH_MAX];      /* of a process; "" = none */
    int cache_fd;                  /* of that, open: one made anew in its place is another */
    int64_t forks_ns, forks_bytes; /* when the memory of what the child started was looked at; 0 = never yet; and it */
};

/* What a request may spend, by the stage the child reports: start_s until it reports one (0 = build_s), build_s for
 * build and load, run_s for all others, the first verification run ("first") with at most SANDBOX_LATE_S of build_s
 * more: drivers compile then (PoCL makes a kernel's code when it first runs). all_s for the whole of it, whatever
 * stages it reports (a kernel in the child may report one after the other); 0 = unlimited. */
#define SANDBOX_LATE_S 20
struct sandbox_limits {
    double start_s, build_s, run_s, all_s;
    int64_t memory_bytes; /* resident, with what it started; 0 = unlimited */
};

enum sandbox_fate { SANDBOX_REPLIED, SANDBOX_DIED, SANDBOX_TIMEOUT, SANDBOX_MEMORY, SANDBOX_CANCELLED };

/* How a request ended. Anything but REPLIED and the child is gone already. */
struct sandbox_end {
    enum sandbox_fate fate;
    char stage[16]; /* the last one reported: start load build verify time */
    bool first_run; /* of stage verify: the child reported "first" */
    int i_item;     /* the trial of the request it was at, or a place of measure.h; SANDBOX_NOWHERE = it told of none */
    struct why words; /* for people, with the last lines of the child's stderr */
};

/* What children are: processes in an agent; tests answer for them. */
struct sandbox_ops {
    enum err (*start)(struct sandbox *s, const struct sandbox_options *o, struct why *why); /* sets pid > 0 */
    void (*ask)(struct sandbox *s, cJSON *takes_request, const struct sandbox_limits *limits, cJSON **reply,
                struct sandbox_end *end);
    void (*end_child)(struct sandbox *s); /* sets pid = 0 */
    void (*kill)(struct sandbox *s);      /* from any thread: whoever asks it meets its death */
};

extern const struct sandbox_ops sandbox_processes;

/* The caller's memory, no child yet. Keeps `ops` (NULL = processes) and `arg`, which is theirs. */
void sandbox_init(struct sandbox *s, const struct sandbox_ops *ops, void *arg);
bool sandbox_is_alive(const struct sandbox *s);
/* The same, and nobody removed its compiler cache, without which it compiles nothing. */
bool sandbox_is_whole(const struct sandbox *s);

/* Starts a child (ending an earlier one); ERR_IO with words. Call from a thread that lives as long as the process: the
 * child dies with the thread that started it. */
enum err sandbox_start(struct sandbox *s, const struct sandbox_options *o, struct why *why);

/* Kills the child with all it started, from any thread. */
void sandbox_kill(struct sandbox *s);

/* Kills the child with all it started and waits for its end; nothing to do when there is none. */
void sandbox_end_child(struct sandbox *s);

/* Sends a request (takes it) and waits for its reply, which is given when end->fate is REPLIED. */
void sandbox_ask(struct sandbox *s, cJSON *takes_request, const struct sandbox_limits *limits, cJSON **reply,
                 struct sandbox_end *end);

#endif
