/* SPDX-License-Identifier: MIT */
#include "tests/scarce/scarce.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* What the linker puts in the place of the names (-Wl,--wrap), and what it found there. */
void *__real_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);

static _Thread_local struct {
    bool watches, for_good, failed;
    int64_t n, fail_at;
} now;
static _Atomic int64_t n_blocks;

static bool fails(void)
{
    if (!now.watches)
        return false;
    now.n++;
    if (!now.fail_at || now.n < now.fail_at || (now.n > now.fail_at && !now.for_good))
        return false;
    now.failed = true;
    return true;
}

void *__wrap_malloc(size_t n)
{
    void *p = fails() ? NULL : __real_malloc(n);

    n_blocks += p != NULL;
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *p = n && size > SIZE_MAX / n ? NULL : __wrap_malloc(n * size);

    return p ? memset(p, 0, n * size) : NULL;
}

void *__wrap_realloc(void *p, size_t n)
{
    if (!p)
        return __wrap_malloc(n);
    return fails() ? NULL : __real_realloc(p, n);
}

void __wrap_free(void *p)
{
    n_blocks -= p != NULL;
    __real_free(p);
}

char *__wrap_strndup(const char *text, size_t n)
{
    const size_t length = strnlen(text, n);
    char *p = __wrap_malloc(length + 1);

    if (!p)
        return NULL;
    memcpy(p, text, length);
    p[length] = '\0';
    return p;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}

/* ---- tests ---- */

/* Trees are counted from the first on. */
__attribute__((constructor)) static void watch_trees(void)
{
    cJSON_Hooks hooks = {.malloc_fn = __wrap_malloc, .free_fn = __wrap_free};

    cJSON_InitHooks(&hooks);
}

void scarce_begin(int64_t n, bool for_good)
{
    now.fail_at = n;
    now.for_good = for_good;
    now.failed = false;
    now.n = 0;
}

void scarce_watch(bool on)
{
    now.watches = on;
}

int64_t scarce_count(void)
{
    return now.n;
}

bool scarce_failed(void)
{
    return now.failed;
}

int64_t scarce_n_blocks(void)
{
    return n_blocks;
}

static bool try(bool (*work)(void *arg), void *arg, int64_t n, bool for_good)
{
    const int64_t before = n_blocks;
    bool ok;

    scarce_begin(n, for_good);
    scarce_watch(true);
    ok = work(arg);
    scarce_watch(false);
    if (n_blocks != before)
        fail_msg("allocation %" PRId64 " failed%s, and %" PRId64 " blocks were kept", n, for_good ? " for good" : "",
                 n_blocks - before);
    return ok;
}

int64_t scarce_each(bool (*work)(void *arg), void *arg)
{
    int64_t n, most = 0;

    assert_true(try(work, arg, 0, false)); /* what is made once and kept is there now */
    for (int for_good = 0; for_good < 2; for_good++)
        for (n = 1;; n++) {
            const bool ok = try(work, arg, n, for_good);

            if (scarce_failed())
                continue;
            assert_true(ok);
            most = n - 1;
            break;
        }
    return most;
}
