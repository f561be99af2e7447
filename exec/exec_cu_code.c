/* SPDX-License-Identifier: MIT */
/* exec_cu_code.c - the code that suits the device, loaded once a session, and its functions. */
#include "exec/exec_cu_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- modules ---- */

/* How well code suits the device: 0 = not at all; a cubin of its own sm before PTX, the highest first, before a cubin
 * of an older one of its major number. */
static int exec_cu_suits(const struct exec_cu *s, const struct exec_binary *b)
{
    int sm = 0;
    if (b->target[0] == '\0')
        return 500; /* nobody said for what */
    if (sscanf(b->target, "sm_%d", &sm) == 1)
        return sm == s->sm ? 3000 : sm / 10 == s->sm / 10 && sm < s->sm ? 1 + sm % 10 : 0;
    return sscanf(b->target, "compute_%d", &sm) == 1 && sm > 0 && sm <= s->sm ? 1000 + sm : 0;
}

/* The best one that suits less than `below`; NULL = none. */
static const struct exec_binary *exec_cu_next(const struct exec_cu *s, const struct exec_module *m, int below)
{
    const struct exec_binary *best = NULL;
    int most = 0;
    for (int i = 0; i < m->n_binaries; i++) {
        const int suits = exec_cu_suits(s, &m->binaries[i]);
        if (suits > most && suits < below) {
            best = &m->binaries[i];
            most = suits;
        }
    }
    return best;
}

/* PTX ends with a NUL; a cubin knows its own length and must be whole for that. */
static enum exec_status exec_cu_load_binary(struct exec_cu *s, const struct exec_binary *b, struct CUmod_st **out,
                                            struct exec_words *words)
{
    char log[1024] = "", what[1200];
    int options[] = {EXEC_CU_JIT_ERROR, EXEC_CU_JIT_ERROR_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    char *image = NULL;
    if (b->target[0] == 's' && (b->n_bytes < 64 || memcmp(b->bytes, "\177ELF", 4) != 0))
        return exec_fail(words, EXEC_BUILD_FAILED, "%s: %zu bytes that are no cubin", b->target, b->n_bytes);
    if (!exec_is_whole(b))
        return exec_fail(words, EXEC_BUILD_FAILED, "code for %s is damaged", b->target);
    image = malloc(b->n_bytes + 1);
    if (!image)
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    memcpy(image, b->bytes, b->n_bytes);
    image[b->n_bytes] = '\0';
    const int error = s->cu.cuModuleLoadDataEx(out, image, 2, options, values);
    free(image);
    (void)snprintf(what, sizeof what, "code for %s%s%.*s", b->target, log[0] != '\0' ? ": " : "",
                   (int)strcspn(log, "\r\n"), log);
    return exec_cu_check(&s->cu, error, what, words) == EXEC_OK ? EXEC_OK : EXEC_BUILD_FAILED;
}

/* The best that the driver takes; the words are those of the last one that it did not. */
static enum exec_status exec_cu_load_module(struct exec_cu *s, const struct exec_module *m, struct CUmod_st **out,
                                            struct exec_words *words)
{
    enum exec_status status = EXEC_NO_DEVICE;
    const struct exec_binary *b = exec_cu_next(s, m, 4000);
    if (!b) {
        char targets[256] = "";
        for (int i = 0; i < m->n_binaries && i < 8; i++) {
            const size_t n = strlen(targets);
            (void)snprintf(targets + n, sizeof targets - n, " %s", m->binaries[i].target);
        }
        return exec_fail(words, EXEC_NO_DEVICE, "%s is an sm_%d: the code here is for%s", s->name, s->sm,
                         m->n_binaries > 0 ? targets : " nothing");
    }
    while (b && status != EXEC_OK && status != EXEC_NO_MEMORY) {
        status = exec_cu_load_binary(s, b, out, words);
        b = exec_cu_next(s, m, exec_cu_suits(s, b));
    }
    return status;
}

/* A free entry of the session's table, or one more. -1 = no memory. */
static int exec_cu_free_entry(struct exec_cu *s)
{
    for (int i = 0; i < s->n_modules; i++)
        if (!s->modules[i].module)
            return i;
    struct exec_cu_module *grown = realloc(s->modules, ((size_t)s->n_modules + 1) * sizeof *grown);
    if (!grown)
        return -1;
    s->modules = grown;
    s->modules[s->n_modules].module = NULL;
    return s->n_modules++;
}

EXEC_API enum exec_status exec_cu_use_module(struct exec_cu *s, const struct exec_module *m, int *out,
                                             struct exec_words *words)
{
    struct CUmod_st *loaded = NULL;
    for (int i = 0; i < s->n_modules; i++) {
        if (s->modules[i].module == m) {
            s->modules[i].n_uses++;
            *out = i;
            return EXEC_OK;
        }
    }
    const int entry = exec_cu_free_entry(s);
    if (entry < 0)
        return exec_fail(words, EXEC_NO_MEMORY, "out of memory");
    enum exec_status status = exec_cu_load_module(s, m, &loaded, words);
    if (status == EXEC_OK) {
        s->modules[entry].module = m;
        s->modules[entry].loaded = loaded;
        s->modules[entry].n_uses = 1;
        *out = entry;
    }
    return status;
}

EXEC_API void exec_cu_drop_module(struct exec_cu *s, int entry)
{
    if (entry >= 0 && --s->modules[entry].n_uses == 0) {
        (void)s->cu.cuModuleUnload(s->modules[entry].loaded);
        s->modules[entry].module = NULL;
    }
}
