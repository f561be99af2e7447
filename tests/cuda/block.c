/* SPDX-License-Identifier: MIT */
#include "tests/cuda/block.h"

#include "runtime/dtype.h"
#include "tests/cuda/driver_api.h"
#include "tests/cuda/fiber.h"
#include "tests/cuda/races.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define POISON 0xff     /* NaN as f32 and f16, -1 as integer */
#define BAND_BYTES 1024 /* behind the dynamic shared memory of a launch, and beside all shared memory */
#define SIGNAL_BYTES ((size_t)64 << 10)

enum state { READY, AT_BARRIER, AT_WARP, AT_EVENT, DONE };

struct thread {
    struct fiber *fiber; /* NULL: not started, or done */
    enum state state;
    struct emu_dim index;
    int line; /* of what it waits at */
    /* AT_WARP */
    void (*op)(void *const *lanes, void *arg);
    void *mine, *arg;
    unsigned mask;
    int whole;
    /* AT_EVENT */
    bool (*ready)(const void *arg);
    const void *event;
};

static struct {
    const struct block_launch *l;
    struct emu_dim block;
    int n;       /* threads */
    int current; /* running one */
    int n_done;
    uint64_t interval;                /* counts barriers */
    int times[EMULATED_MAX_BARRIERS]; /* that the first thread has come to each */
    struct thread threads[BLOCK_MAX_THREADS];
    sigjmp_buf out;
    volatile int error;
    char words[256];
} run;

int block_thread(void)
{
    return run.current;
}

void block_describe(int thread, char words[80])
{
    const struct thread *t = &run.threads[thread];

    snprintf(words, 80, "thread (%u,%u,%u) %s line %d", t->index.x, t->index.y, t->index.z,
             t->state == READY ? "behind" : "before", t->line);
}

/* Threads. */

static void thread_main(void *arg)
{
    struct thread *t = arg;

    run.l->kernel->call(run.l->params);
    t->state = DONE;
    fiber_wait(t->fiber);
}

static void wait_as(enum state state, int line)
{
    struct thread *t = &run.threads[run.current];

    t->state = state;
    t->line = line;
    fiber_wait(t->fiber);
}

/* Of the process and its children: blocks of a cooperative launch (grid.c). */
static struct emulated_barriers *barriers;

struct emulated_barriers *emulatedBarriers(void)
{
    void *at = barriers;

    if (!at)
        at = mmap(NULL, sizeof *barriers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    if (!barriers) {
        barriers = at;
        barriers->left_out = -1;
    }
    return barriers;
}

static void barrier(int line, int number)
{
    if (barriers && number < EMULATED_MAX_BARRIERS && run.current == 0) {
        const int times = ++run.times[number];

        barriers->lines[number] = line;
        barriers->times[number] = times > barriers->times[number] ? times : barriers->times[number];
    }
    if (!barriers || number != barriers->left_out)
        wait_as(AT_BARRIER, line);
}

void block_warp(void (*op)(void *const *lanes, void *arg), void *mine, void *arg, unsigned mask, int whole, int line)
{
    struct thread *t = &run.threads[run.current];

    t->op = op;
    t->mine = mine;
    t->arg = arg;
    t->mask = mask;
    t->whole = whole;
    wait_as(AT_WARP, line);
}

void block_wait(bool (*ready)(const void *arg), const void *arg, int line)
{
    struct thread *t = &run.threads[run.current];

    if (ready(arg))
        return;
    t->ready = ready;
    t->event = arg;
    wait_as(AT_EVENT, line);
}

unsigned char *block_dynamic(void)
{
    return run.l->module->dynamic;
}

static void meet(void *const *lanes, void *first)
{
    unsigned mask = 0;

    for (int i = 0; i < EMU_WARP; i++)
        mask |= lanes[i] ? 1u << i : 0;
    races_meet(*(const int *)first, mask);
}

static void sync_warp(unsigned mask, int line)
{
    int first = run.current - run.current % EMU_WARP;

    block_warp(meet, &first, &first, mask, 0, line);
}

/* Leaves the launch from wherever it is. */
void block_fail(int error, const char *words)
{
    run.error = error;
    snprintf(run.words, sizeof run.words, "%s", words);
    siglongjmp(run.out, 1);
}

static void go_on(int i)
{
    struct thread *t = &run.threads[i];

    run.current = i;
    if (!t->fiber) {
        t->fiber = fiber_new(thread_main, t);
        if (!t->fiber)
            block_fail(2, "no memory for a stack");
    }
    run.l->module->place->thread = t->index;
    fiber_go(t->fiber);
    if (t->state == DONE) {
        fiber_free(t->fiber);
        t->fiber = NULL;
        run.n_done++;
    }
}

/* Warps. */

static int last_of_warp(int first)
{
    return first + EMU_WARP < run.n ? first + EMU_WARP : run.n;
}

static void diverged(const struct thread *a, const struct thread *b, const char *what)
{
    char words[200];

    snprintf(words, sizeof words, "%s: thread (%u,%u,%u) %s line %d, thread (%u,%u,%u) %s line %d", what, a->index.x,
             a->index.y, a->index.z, a->state == DONE ? "ended," : "waits at", a->line, b->index.x, b->index.y,
             b->index.z, b->state == DONE ? "ended," : "waits at", b->line);
    block_fail(719, words);
}

/* All lanes that thread `i` waits for are there and want the same. */
static bool warp_is_complete(int i, int first)
{
    const struct thread *t = &run.threads[i];

    if (t->whole && last_of_warp(first) - first < EMU_WARP)
        block_fail(719, "an instruction of a whole warp in a block whose last warp is not whole");
    for (int k = first; k < last_of_warp(first); k++) {
        const struct thread *other = &run.threads[k];

        if (!(t->mask >> (k - first) & 1))
            continue;
        if (other->state == DONE)
            diverged(t, other, "instruction of a warp");
        if (other->state != AT_WARP || other->line != t->line || other->mask != t->mask || other->op != t->op)
            return false; /* it may come yet; where nobody can go on release_barrier says so */
    }
    return true;
}

static void finish_warp(int i, int first)
{
    struct thread *t = &run.threads[i];
    void *lanes[EMU_WARP] = {NULL};

    for (int k = first; k < last_of_warp(first); k++)
        if (t->mask >> (k - first) & 1) {
            lanes[k - first] = run.threads[k].mine;
            run.threads[k].state = READY;
        }
    t->op(lanes, t->arg);
}

/* Ends the instructions of a warp for which all lanes have come. */
static bool finish_instructions(int first)
{
    bool any = false;

    for (int i = first; i < last_of_warp(first); i++)
        if (run.threads[i].state == AT_WARP && warp_is_complete(i, first)) {
            finish_warp(i, first);
            any = true;
        }
    return any;
}

/* Blocks. */

/* Threads whose event has come go on; true when there is one. */
static bool wake(void)
{
    int waits = -1;
    bool any = false;

    for (int i = 0; i < run.n; i++) {
        if (run.threads[i].state != AT_EVENT)
            continue;
        waits = i;
        if (run.threads[i].ready(run.threads[i].event)) {
            run.threads[i].state = READY;
            any = true;
        }
    }
    if (waits >= 0 && !any) {
        char words[120];

        snprintf(words, sizeof words, "thread (%u,%u,%u) waits at line %d for what nobody does",
                 run.threads[waits].index.x, run.threads[waits].index.y, run.threads[waits].index.z,
                 run.threads[waits].line);
        block_fail(719, words);
    }
    return any;
}

static void release_barrier(void)
{
    for (int i = 1; i < run.n; i++)
        if (run.threads[i].state != run.threads[0].state || run.threads[i].line != run.threads[0].line)
            diverged(&run.threads[0], &run.threads[i], "divergent barrier");
    for (int i = 0; i < run.n; i++)
        run.threads[i].state = READY;
    run.interval++;
    races_barrier(run.n);
}

/* Place k of an order of n that is forwards, backwards or strided. */
static int64_t in_order(int64_t k, int64_t n, uint64_t turn)
{
    switch (turn % 4) {
    case 0:
        return k;
    case 2: /* every second one first */
        return k < (n + 1) / 2 ? 2 * k : 2 * (k - (n + 1) / 2) + 1;
    default:
        return n - 1 - k;
    }
}

/* One warp goes on alone, through all of its own instructions, until all of its threads wait for the block or have
 * ended: instructions of warps order nothing between warps. */
static void run_warp(int first, uint64_t order)
{
    const int n = last_of_warp(first) - first;

    do {
        for (int k = 0; k < n; k++) {
            const int i = first + (int)in_order(k, n, order);

            if (run.threads[i].state == READY)
                go_on(i);
        }
    } while (finish_instructions(first));
}

static void run_block(void)
{
    const uint64_t turn = run.l->seed + run.block.x + run.block.y + run.block.z;
    const int n_warps = (run.n + EMU_WARP - 1) / EMU_WARP;

    for (;;) {
        const uint64_t order = turn + run.interval;

        for (int k = 0; k < n_warps; k++)
            run_warp((int)in_order(k, n_warps, order) * EMU_WARP, order);
        if (run.n_done == run.n)
            break;
        if (!wake())
            release_barrier();
    }
}

static void start_block(void)
{
    const struct block_launch *l = run.l;
    unsigned char *dynamic = l->module->dynamic;

    l->module->place->block = run.block;
    for (size_t i = 0; i < l->n_shared; i++)
        memset(l->shared[i].at, POISON, l->shared[i].n_bytes);
    memset(dynamic, POISON, l->dynamic_bytes + BAND_BYTES);
    copies_start(run.n);
    wgmma_start(run.n);
    bulk_start();
    races_start(run.n);
    apart_block();
    run.n_done = 0;
    run.interval = 0;
    memset(run.times, 0, sizeof run.times);
    for (int i = 0; i < run.n; i++)
        run.threads[i].state = READY;
}

static void check_band(void)
{
    const unsigned char *band = run.l->module->dynamic + run.l->dynamic_bytes;

    for (size_t i = 0; i < BAND_BYTES; i++)
        if (band[i] != POISON)
            block_fail(700, "written behind the end of dynamic shared memory");
}

/* In an order of the seed's: nothing orders blocks, either. */
static void run_blocks(void)
{
    const struct emu_dim g = run.l->grid;
    const int64_t first = run.l->only ? run.l->only - 1 : 0;
    const int64_t n = run.l->only ? 1 : (int64_t)g.x * g.y * g.z;

    for (int64_t k = 0; k < n; k++) {
        const int64_t at = first + in_order(k, n, run.l->seed);

        run.block = (struct emu_dim){(unsigned)(at % g.x), (unsigned)(at / g.x % g.y), (unsigned)(at / g.x / g.y)};
        start_block();
        run_block();
        check_band();
        apart_block_ends();
    }
}

/* Accesses between the first byte of shared memory and its last, and near these, come to races.c, which knows the
 * variables. */
static void watch_shared(const struct block_launch *l)
{
    const unsigned char *dynamic = l->module->dynamic, *first = dynamic, *end = first + l->dynamic_bytes;

    for (size_t i = 0; i < l->n_shared; i++) {
        first = l->shared[i].at < first ? l->shared[i].at : first;
        end = l->shared[i].at + l->shared[i].n_bytes > end ? l->shared[i].at + l->shared[i].n_bytes : end;
    }
    first -= BAND_BYTES;
    end += BAND_BYTES;
    if (!races_watch(first, (size_t)(end - first)))
        block_fail(2, "more shared memory than can be watched");
    for (size_t i = 0; i < l->n_shared; i++)
        races_watch_variable(l->shared[i].at, l->shared[i].n_bytes);
    races_watch_variable(dynamic, l->dynamic_bytes);
    l->module->place->shared = first;
    l->module->place->n_shared = (unsigned long)(end - first);
}

/* All that lies between the first buffer and the last comes to blocks_apart.c, which knows them. */
static void watch_buffers(const struct block_launch *l)
{
    const unsigned char *first = NULL, *end = NULL;

    for (size_t i = 0; i < l->n_buffers; i++) {
        const struct apart_buffer *b = &l->buffers[i];

        first = !first || b->at < first ? b->at : first;
        end = b->at + b->n_bytes > end ? b->at + b->n_bytes : end;
    }
    apart_launch(l->buffers, l->n_buffers);
    l->module->place->buffers = first;
    l->module->place->n_buffers = (unsigned long)(end - first);
}

/* What the processor finds wrong: an access outside of every buffer, a misaligned vector, a trap. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    const struct emu_dim t = run.threads[run.current].index, b = run.block;
    const char *what = "illegal address";

    (void)context;
    run.error = 700;
    if (number == SIGILL) {
        what = "index out of an array or misaligned access, found by a check";
        run.error = 716;
    } else if (number == SIGFPE) {
        what = "division by zero";
        run.error = 719;
    } else if (!info->si_addr) {
        what = "misaligned address";
        run.error = 716;
    }
    snprintf(run.words, sizeof run.words, "%s at %p, block (%u,%u,%u), thread (%u,%u,%u)", what, info->si_addr, b.x,
             b.y, b.z, t.x, t.y, t.z);
    siglongjmp(run.out, 1);
}

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

static void run_guarded(void)
{
    static char stack[SIGNAL_BYTES];
    const stack_t mine = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK}, old[4];
    stack_t old_stack;

    action.sa_sigaction = on_signal;
    sigemptyset(&action.sa_mask);
    sigaltstack(&mine, &old_stack);
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &action, &old[i]);
    if (!sigsetjmp(run.out, 1)) {
        watch_shared(run.l);
        watch_buffers(run.l);
        run_blocks();
    }
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &old[i], NULL);
    sigaltstack(&old_stack, NULL);
}

static void set_threads(const struct emu_dim s)
{
    int i = 0;

    run.n = (int)(s.x * s.y * s.z);
    for (unsigned z = 0; z < s.z; z++)
        for (unsigned y = 0; y < s.y; y++)
            for (unsigned x = 0; x < s.x; x++)
                run.threads[i++] = (struct thread){.index = {x, y, z}};
}

int block_run_all(const struct block_launch *l, char words[256])
{
    return l->together ? grid_run(l, words) : block_run_blocks(l, words);
}

int block_run_blocks(const struct block_launch *l, char words[256])
{
    run.l = l;
    run.error = 0;
    run.words[0] = '\0';
    set_threads(l->size);
    *l->module->services = &block_services;
    l->module->place->grid = l->grid;
    l->module->place->block_size = l->size;
    run_guarded();
    for (int i = 0; i < run.n; i++) /* after an error threads are left in the middle */
        fiber_free(run.threads[i].fiber);
    snprintf(words, 256, "%s", run.words);
    return run.error;
}

const struct emu_services block_services = {
    .barrier = barrier,
    .sync_warp = sync_warp,
    .access = races_access,
    .access_global = apart_access,
    .warp = block_warp,
    .mma = warp_mma,
    .load_matrix = warp_load_matrix,
    .copy_async = copies_add,
    .copy_commit = copies_commit,
    .copy_wait = copies_wait,
    .fail = block_fail,
    .half_to_float = half_to_float,
    .float_to_half = half_from_float,
    .wgmma = wgmma_add,
    .wgmma_commit = wgmma_commit,
    .wgmma_wait = wgmma_wait,
    .barrier_init = bulk_barrier_init,
    .barrier_arrive = bulk_barrier_arrive,
    .barrier_wait = bulk_barrier_wait,
    .tensor_map = bulk_map,
    .tensor_map_see = bulk_map_see,
    .fence_async = races_fence,
    .bring_box = bulk_bring,
};
