/* SPDX-License-Identifier: MIT */
#include "exec/team_cl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXEC_TEAM_MOST 256        /* members, the caller among them: a byte says whose turn it is */
#define EXEC_TEAM_AWAKE_NS 500000 /* that a member looks for the next launch before it goes to sleep */
#define EXEC_TEAM_APART_NS 2500   /* that a member begins behind the one before it, ... */
#define EXEC_TEAM_MOST_APART 4    /* as many times at the most */
#define EXEC_TEAM_TURN 256u       /* `turn` is this times the launch's number, and how many parts nobody has taken */
#define EXEC_TEAM_NAME_BYTES 1024

struct exec_team_member {
    struct exec_cl_team *team;
    pthread_t thread;
    cl_command_queue queue;
};

struct exec_cl_team {
    cl_context context;
    cl_uint n; /* devices */
    cl_device_id devices[EXEC_TEAM_MOST];
    struct exec_team_member members[EXEC_TEAM_MOST]; /* the caller's, 0, has no thread */
    cl_uint n_started;                               /* members with a thread, 0 counted */
    /* The launch: written before `turn` says so, read by who has taken a part. */
    cl_kernel kernel;
    size_t grid[3], block[3], split; /* the dimension that is cut */
    size_t share;                    /* groups of a part */
    unsigned n_parts;
    _Atomic unsigned turn, n_done;
    _Atomic int code, sleepers, ends;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static int exec_team_is_basic(cl_device_id device)
{
    char name[EXEC_TEAM_NAME_BYTES] = "", platform_name[EXEC_TEAM_NAME_BYTES] = "";
    cl_platform_id platform = NULL;

    return clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL) == CL_SUCCESS &&
           strncmp(name, "basic-", 6) == 0 &&
           clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) == CL_SUCCESS &&
           clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof platform_name - 1, platform_name, NULL) == CL_SUCCESS &&
           strstr(platform_name, "Portable Computing Language") != NULL;
}

EXEC_API void exec_cl_team_devices(cl_device_id first, cl_uint most, cl_device_id *out, cl_uint *n)
{
    cl_platform_id platform = NULL;
    cl_device_id found[EXEC_TEAM_MOST];
    cl_uint n_found = 0;

    *n = 0;
    if (most == 0 || !exec_team_is_basic(first))
        return;
    out[(*n)++] = first;
    if (clGetDeviceInfo(first, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, EXEC_TEAM_MOST, found, &n_found) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < n_found && i < EXEC_TEAM_MOST && *n < most; i++)
        if (found[i] != first && exec_team_is_basic(found[i]))
            out[(*n)++] = found[i];
}

EXEC_API int exec_cl_team_size(cl_device_id device)
{
    cl_device_id list[EXEC_TEAM_MOST];
    cl_uint n = 0;

    exec_cl_team_devices(device, EXEC_TEAM_MOST, list, &n);
    return n > 0 ? (int)n : 1;
}

/* `n_groups` groups along the split dimension from `begin` on, one group further than they are: PoCL 3.1 keeps what it
 * compiled for offsets of 0 apart, and that for fewer groups than there were before, and lets go of the wrong one where
 * two threads have two of them. So no offset is 0 (exec_cl_team_text takes it off again), and all parts are of one
 * size.
 */
static cl_int exec_team_run_groups(const struct exec_cl_team *t, cl_command_queue queue, size_t begin, size_t n_groups,
                                   const struct exec_cl_team_job *job)
{
    size_t offset[3], global[3];

    for (int d = 0; d < 3; d++) {
        offset[d] = t->block[d];
        global[d] = t->grid[d] * t->block[d];
    }
    offset[t->split] += begin * t->block[t->split];
    global[t->split] = n_groups * t->block[t->split];
    return clEnqueueNDRangeKernel(queue, t->kernel, 3, offset, global, t->block, job ? job->n_wait : 0,
                                  job ? job->wait : NULL, job ? job->event : NULL);
}

static cl_int exec_team_run_part(const struct exec_cl_team *t, cl_command_queue queue, unsigned i_part,
                                 const struct exec_cl_team_job *job)
{
    return exec_team_run_groups(t, queue, t->share * i_part, t->share, job);
}

/* The groups that are left over, fewer than there are parts. */
static cl_int exec_team_run_rest(const struct exec_cl_team *t, cl_command_queue queue)
{
    const size_t end = t->grid[t->split];
    cl_int code = CL_SUCCESS;

    for (size_t at = t->share * t->n_parts; code == CL_SUCCESS && at < end; at += t->share)
        code = exec_team_run_groups(t, queue, at, end - at < t->share ? end - at : t->share, NULL);
    return code;
}

/* Takes a part of launch `turn` that nobody has, the first aside; 0: there is none, or it is over. */
static unsigned exec_team_take(struct exec_cl_team *t, unsigned turn)
{
    unsigned at = atomic_load(&t->turn);

    while (at / EXEC_TEAM_TURN == turn && at % EXEC_TEAM_TURN > 0)
        if (atomic_compare_exchange_weak(&t->turn, &at, at - 1))
            return at % EXEC_TEAM_TURN;
    return 0;
}

/* Does what is left of launch `turn`. */
static void exec_team_help(struct exec_cl_team *t, unsigned turn, cl_command_queue queue)
{
    for (unsigned i; (i = exec_team_take(t, turn)) > 0;) {
        const cl_int code = exec_team_run_part(t, queue, i, NULL), ended = clFinish(queue);

        if (code != CL_SUCCESS || ended != CL_SUCCESS)
            atomic_store(&t->code, code != CL_SUCCESS ? code : ended);
        atomic_fetch_add(&t->n_done, 1);
    }
}

static void exec_team_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static int64_t exec_team_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Returns when there is a launch behind `seen`, or the team ends. */
static void exec_team_await(struct exec_cl_team *t, unsigned seen)
{
    const int64_t until = exec_team_now_ns() + EXEC_TEAM_AWAKE_NS;

    while (exec_team_now_ns() < until)
        for (int i = 0; i < 32; i++) {
            if (atomic_load(&t->turn) / EXEC_TEAM_TURN != seen)
                return;
            exec_team_relax();
        }
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleepers, 1);
    while (atomic_load(&t->turn) / EXEC_TEAM_TURN == seen && !atomic_load(&t->ends))
        pthread_cond_wait(&t->wake, &t->lock);
    atomic_fetch_sub(&t->sleepers, 1);
    pthread_mutex_unlock(&t->lock);
}

/* In step with another member a start waits for each of PoCL's locks that both need, asleep. */
static void exec_team_keep_apart(const struct exec_team_member *m)
{
    const int64_t i = m - m->team->members, n = i < EXEC_TEAM_MOST_APART ? i : EXEC_TEAM_MOST_APART;
    const int64_t until = exec_team_now_ns() + n * EXEC_TEAM_APART_NS;

    while (exec_team_now_ns() < until)
        exec_team_relax();
}

static void *exec_team_main(void *arg)
{
    struct exec_team_member *m = arg;
    unsigned seen = 0;

    while (!atomic_load(&m->team->ends)) {
        exec_team_await(m->team, seen);
        exec_team_keep_apart(m);
        seen = atomic_load(&m->team->turn) / EXEC_TEAM_TURN;
        exec_team_help(m->team, seen, m->queue);
    }
    return NULL;
}

static void exec_team_wake(struct exec_cl_team *t)
{
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

static int exec_team_start_member(struct exec_cl_team *t, cl_uint i)
{
    cl_int code = CL_SUCCESS;

    t->members[i] = (struct exec_team_member){.team = t};
    t->members[i].queue = clCreateCommandQueue(t->context, t->devices[i], 0, &code);
    if (code != CL_SUCCESS)
        return 0;
    if (pthread_create(&t->members[i].thread, NULL, exec_team_main, &t->members[i]) == 0)
        return 1;
    clReleaseCommandQueue(t->members[i].queue);
    return 0;
}

EXEC_API struct exec_cl_team *exec_cl_team_open(cl_context context, cl_device_id first)
{
    cl_device_id list[EXEC_TEAM_MOST];
    size_t n_bytes = 0;
    struct exec_cl_team *t;

    if (!exec_team_is_basic(first) ||
        clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof list, list, &n_bytes) != CL_SUCCESS ||
        n_bytes < 2 * sizeof *list)
        return NULL;
    t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->context = context;
    t->devices[t->n++] = first;
    for (size_t i = 0; i < n_bytes / sizeof *list; i++)
        if (list[i] != first && exec_team_is_basic(list[i]) && t->n < EXEC_TEAM_TURN - 1)
            t->devices[t->n++] = list[i];
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    for (t->n_started = 1; t->n_started < t->n && exec_team_start_member(t, t->n_started);)
        t->n_started++;
    if (t->n_started == t->n && t->n > 1)
        return t;
    exec_cl_team_close(t);
    return NULL;
}

EXEC_API void exec_cl_team_close(struct exec_cl_team *t)
{
    if (!t)
        return;
    atomic_store(&t->ends, 1);
    exec_team_wake(t);
    for (cl_uint i = 1; i < t->n_started; i++) {
        pthread_join(t->members[i].thread, NULL);
        clReleaseCommandQueue(t->members[i].queue);
    }
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* What a part must not be asked, as it would answer for itself. */
static int exec_team_asks_for_totals(const char *text, size_t n_bytes)
{
    static const char *const words[] = {"get_num_groups", "get_global_size", "get_global_offset",
                                        "get_global_linear_id"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (size_t at = 0, n = strlen(words[i]); at + n <= n_bytes; at++)
            if (memcmp(text + at, words[i], n) == 0)
                return 1;
    return 0;
}

static const char exec_team_head[] =
    "#define get_group_id(d) (get_group_id(d) + get_global_offset(d) / get_local_size(d) - 1)\n"
    "#define get_global_id(d) (get_global_id(d) - get_local_size(d))\n";

EXEC_API cl_program exec_cl_team_text(const struct exec_cl_team *t, const char *text, size_t n_bytes,
                                      const char *options, cl_int *code)
{
    const int splits = !exec_team_asks_for_totals(text, n_bytes);
    const char *parts[] = {splits ? exec_team_head : "", text};
    const size_t n_parts[] = {strlen(parts[0]), n_bytes};
    cl_program program = clCreateProgramWithSource(t->context, 2, parts, n_parts, code);

    if (*code != CL_SUCCESS)
        return NULL;
    *code = clBuildProgram(program, splits ? t->n : 1, t->devices, options, NULL, NULL);
    return program;
}

/* By its text, whose head is ours. */
EXEC_API int exec_cl_team_has(cl_kernel kernel)
{
    cl_program program = NULL;
    size_t n = 0;
    char *text;
    int has;

    if (clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) != CL_SUCCESS ||
        clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &n) != CL_SUCCESS)
        return 0;
    text = calloc(1, n + 1);
    has = text && clGetProgramInfo(program, CL_PROGRAM_SOURCE, n, text, NULL) == CL_SUCCESS &&
          strncmp(text, exec_team_head, sizeof exec_team_head - 1) == 0;
    free(text);
    return has;
}

EXEC_API int exec_cl_team_is_idle(cl_command_queue queue)
{
    cl_event event = NULL;
    cl_int state = CL_QUEUED;

    if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &event) != CL_SUCCESS)
        return 0;
    (void)clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    clReleaseEvent(event);
    return state == CL_COMPLETE;
}

/* Hands out all parts but the first. */
static unsigned exec_team_post(struct exec_cl_team *t)
{
    const unsigned turn = (atomic_load(&t->turn) / EXEC_TEAM_TURN + 1) % (UINT32_MAX / EXEC_TEAM_TURN);

    atomic_store(&t->n_done, 1);
    atomic_store(&t->turn, turn * EXEC_TEAM_TURN + t->n_parts - 1);
    if (atomic_load(&t->sleepers) > 0)
        exec_team_wake(t);
    return turn;
}

EXEC_API cl_int exec_cl_team_start(struct exec_cl_team *t, cl_command_queue queue, const struct exec_cl_team_job *job,
                                   int splits)
{
    unsigned turn;
    cl_int code;

    t->kernel = job->kernel;
    memcpy(t->grid, job->grid, sizeof t->grid);
    memcpy(t->block, job->block, sizeof t->block);
    t->split = t->grid[1] > t->grid[0] ? 1 : 0;
    t->split = t->grid[2] > t->grid[t->split] ? 2 : t->split;
    t->n_parts = !splits ? 1 : t->grid[t->split] < t->n ? (unsigned)t->grid[t->split] : t->n;
    t->share = t->grid[t->split] / t->n_parts;
    if (t->n_parts == 1)
        return exec_team_run_part(t, queue, 0, job);
    atomic_store(&t->code, CL_SUCCESS);
    turn = exec_team_post(t);
    code = exec_team_run_part(t, queue, 0, job);
    if (code == CL_SUCCESS)
        code = exec_team_run_rest(t, queue);
    exec_team_help(t, turn, queue);
    while (atomic_load(&t->n_done) < t->n_parts)
        exec_team_relax();
    return code != CL_SUCCESS ? code : atomic_load(&t->code);
}
