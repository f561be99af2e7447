/* SPDX-License-Identifier: MIT */
#include "tests/scarce/every.h"

#include "tests/sanitized.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static struct {
    atomic_bool watches, for_good, failed;
    _Atomic int64_t n, fail_at;
    uintptr_t from, to; /* callers; 0: all */
} memory;

#if defined(__GLIBC__) && !SANITIZED
const bool every_can = true;

#define EVERYBODYS __attribute__((visibility("default")))

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
EVERYBODYS void *malloc(size_t n);
EVERYBODYS void *calloc(size_t n, size_t size);
EVERYBODYS void *realloc(void *p, size_t n);

static bool fails(const void *caller)
{
    int64_t n, fail_at;

    if (!memory.watches || (memory.to && ((uintptr_t)caller < memory.from || (uintptr_t)caller >= memory.to)))
        return false;
    n = ++memory.n;
    fail_at = memory.fail_at;
    if (!fail_at || n < fail_at || (n > fail_at && !memory.for_good))
        return false;
    memory.failed = true;
    errno = ENOMEM;
    return true;
}

EVERYBODYS void *malloc(size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

EVERYBODYS void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

EVERYBODYS void *realloc(void *p, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}
#else
const bool every_can = false;
#endif

void every_begin(int64_t n, bool for_good)
{
    memory.n = 0;
    memory.fail_at = n;
    memory.for_good = for_good;
    memory.failed = false;
    memory.watches = true;
}

void every_end(void)
{
    memory.watches = false;
}

bool every_failed(void)
{
    return memory.failed;
}

int64_t every_count(void)
{
    return memory.n;
}

static int take_object(struct dl_phdr_info *info, size_t n_info, void *arg)
{
    const uintptr_t wanted = (uintptr_t)arg;
    uintptr_t from = UINTPTR_MAX, to = 0;

    (void)n_info;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const uintptr_t at = info->dlpi_addr + h->p_vaddr;

        if (h->p_type != PT_LOAD)
            continue;
        from = at < from ? at : from;
        to = at + h->p_memsz > to ? at + h->p_memsz : to;
    }
    if (wanted < from || wanted >= to)
        return 0;
    memory.from = from;
    memory.to = to;
    return 1;
}

void every_only(uintptr_t address)
{
    dl_iterate_phdr(take_object, (void *)address);
}
