/* SPDX-License-Identifier: MIT */
#include "runtime/fence.h"

#include "runtime/device_checks.h"
#include "runtime/program.h"

#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define ALIGNMENT ((uintptr_t)128) /* of a buffer's beginning: the largest vector type's */
#define BEYOND ((size_t)64 << 20)  /* of the bands, for ever out of bounds: addresses, no memory */

/* Buffers with fences, of the process: a device belongs to one thread. */
static struct fence {
    const void *key;
    unsigned char *map, *page, *end; /* pages [page, end) hold what lies between the bands */
    size_t n_map, n;                 /* bytes mapped; of the buffer without its bands */
    unsigned char *begin;            /* of the buffer */
    char name[PROGRAM_ID_BYTES];
    struct fence *next;
} * fences;

static struct fence *fence_of(const void *key)
{
    struct fence *f = fences;

    while (f && f->key != key)
        f = f->next;
    return f;
}

/* ---- what is said of a touch: by a signal's handler, so without anything that allocates or locks ---- */

static struct sigaction before; /* the signal's action: the driver's compiler has one */
static atomic_bool is_told;

static size_t put_text(char *out, size_t at, const char *text)
{
    while (*text)
        out[at++] = *text++;
    return at;
}

static size_t put_number(char *out, size_t at, uintptr_t v)
{
    char digits[24];
    int n = 0;

    do
        digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n)
        out[at++] = digits[--n];
    return at;
}

/* "wrote", "read", or where the processor does not tell "touched memory". */
static const char *verb_of(const void *context)
{
#if defined(__x86_64__) && defined(REG_ERR)
    const ucontext_t *u = context;

    return u->uc_mcontext.gregs[REG_ERR] & 2 ? "wrote" : "read";
#else
    (void)context;
    return "touched memory";
#endif
}

static void tell(const struct fence *f, uintptr_t at, const void *context)
{
    const uintptr_t begin = (uintptr_t)f->begin, end = begin + f->n;
    char text[160];
    size_t n = put_text(text, 0, verb_of(context));

    n = put_text(text, n, at < begin ? " before the beginning of " : at < end ? " into " : " behind the end of ");
    n = put_text(text, n, f->name);
    if (at >= begin && at < end)
        n = put_text(text, n, ", which is only read\n");
    else {
        n = put_text(text, n, ", ");
        n = put_number(text, n, at < begin ? begin - at : at - end);
        n = put_text(text, n, " bytes\n");
    }
    assert(n <= sizeof text);
    (void)!write(STDERR_FILENO, text, n);
}

/* Tells of the first touch; then the instruction is tried again, and ends the process as it would have before. Other
 * threads wait for that. */
static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    const uintptr_t at = (uintptr_t)info->si_addr;

    while (atomic_exchange(&is_told, true))
        (void)pause();
    for (const struct fence *f = fences; f; f = f->next)
        if (at - (uintptr_t)f->map < f->n_map)
            tell(f, at, context);
    (void)sigaction(signal_number, &before, NULL);
}

static void listen_to_faults(void)
{
    const struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    static bool listens;

    if (!listens && sigaction(SIGSEGV, &act, &before) == 0)
        listens = true;
}

/* ---- buffers ---- */

/* All but what lies between the bands: out of bounds for kernels, or open to the host. */
static void set_fence(const struct fence *f, bool closed)
{
    const int access = closed ? PROT_NONE : PROT_READ | PROT_WRITE;

    (void)mprotect(f->map + BEYOND, (size_t)(f->page - f->map) - BEYOND, access);
    (void)mprotect(f->end, (size_t)(f->map + f->n_map - f->end) - BEYOND, access);
}

void fence_set(const void *key, bool closed)
{
    const struct fence *f = fence_of(key);

    if (f)
        set_fence(f, closed);
}

void fence_read_only(const void *key, bool read_only)
{
    const struct fence *f = fence_of(key);

    if (f)
        (void)mprotect(f->page, (size_t)(f->end - f->page), read_only ? PROT_READ : PROT_READ | PROT_WRITE);
}

/* Pages for n bytes between bands. */
static bool map_pages(struct fence *f, size_t n)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), room = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const uintptr_t pages = (room + page - 1) / page * page;

    f->n = n;
    f->n_map = 2 * (BEYOND + GUARD_BYTES) + pages;
    f->map = mmap(NULL, f->n_map, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->map == MAP_FAILED)
        return false;
    f->page = f->map + BEYOND + GUARD_BYTES;
    f->end = f->page + pages;
    f->begin = f->end - room;
    assert(f->begin >= f->page && (uintptr_t)f->begin % ALIGNMENT == 0);
    (void)mprotect(f->map + BEYOND, f->n_map - 2 * BEYOND, PROT_READ | PROT_WRITE);
    return true;
}

void *fence_new(size_t n, const char *name)
{
    struct fence *f = calloc(1, sizeof *f);

    assert(n > 2 * GUARD_BYTES);
    if (!f || !map_pages(f, n - 2 * GUARD_BYTES)) {
        free(f);
        return NULL;
    }
    snprintf(f->name, sizeof f->name, "%s", name);
    f->key = f->begin - GUARD_BYTES;
    listen_to_faults();
    f->next = fences;
    fences = f;
    set_fence(f, true);
    return f->begin - GUARD_BYTES;
}

void fence_know_as(void *at, const void *key)
{
    struct fence *f = fence_of(at);

    assert(f);
    f->key = key;
}

bool fence_free(const void *key)
{
    for (struct fence **at = &fences, *f; (f = *at); at = &f->next)
        if (f->key == key) {
            *at = f->next;
            (void)munmap(f->map, f->n_map);
            free(f);
            return true;
        }
    return false;
}
