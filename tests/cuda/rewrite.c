/* SPDX-License-Identifier: MIT */
#include "tests/cuda/rewrite.h"

#include "tests/cuda/emulated_abi.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MAX_KERNELS 256

struct token {
    const char *at;
    size_t n;
};

struct kernels {
    struct {
        struct token name, bounds; /* bounds.n 0: not given */
    } list[MAX_KERNELS];
    int n;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_token(struct token t, const char *word)
{
    return t.n == strlen(word) && memcmp(t.at, word, t.n) == 0;
}

/* The next token from `at`: a word, a string, or one character; line markers and spaces are left out. n 0 = the end. */
static struct token next_token(const char *at)
{
    struct token t;

    for (;;) {
        while (isspace((unsigned char)*at))
            at++;
        if (*at != '#')
            break;
        at += strcspn(at, "\n");
    }
    t = (struct token){at, 0};
    if (*at == '"' || *at == '\'') {
        for (t.n = 1; at[t.n] && at[t.n] != *at; t.n++)
            t.n += at[t.n] == '\\' && at[t.n + 1];
        t.n += at[t.n] != '\0';
    } else if (is_word(*at)) {
        while (is_word(at[t.n]))
            t.n++;
    } else {
        t.n = *at != '\0';
    }
    return t;
}

static struct token after(struct token t)
{
    return next_token(t.at + t.n);
}

/* The ")" that belongs to the "(" at `t`. */
static struct token closing(struct token t)
{
    int depth = 0;

    for (; t.n; t = after(t)) {
        depth += is_token(t, "(") - is_token(t, ")");
        if (!depth)
            return t;
    }
    return t;
}

/* Behind __global__: what is in front of the parameters, and __launch_bounds__(threads, ...). */
static enum err note_kernel(struct token t, struct kernels *k)
{
    struct token name = {NULL, 0}, bounds = {NULL, 0};

    for (t = after(t); t.n; t = after(t)) {
        const struct token open = after(t);

        if (!is_word(*t.at) || !is_token(open, "("))
            continue;
        if (is_token(t, "__launch_bounds__"))
            bounds = (struct token){open.at, (size_t)(closing(open).at - open.at) + 1};
        else if (!is_token(t, "__attribute__") && !is_token(t, "__align__") && !is_token(t, "alignas")) {
            name = t;
            break;
        }
        t = closing(open);
    }
    for (int i = 0; i < k->n; i++)
        if (k->list[i].name.n == name.n && memcmp(k->list[i].name.at, name.at, name.n) == 0)
            return ERR_OK; /* declared before */
    if (k->n == MAX_KERNELS)
        return ERR_LIMIT;
    k->list[k->n].name = name;
    k->list[k->n++].bounds = bounds;
    return ERR_OK;
}

/* True when the declaration that begins at `extern` is of dynamic shared memory: __shared__ comes before its name. */
static struct token find_shared(struct token t)
{
    for (t = after(t); t.n; t = after(t)) {
        if (is_token(t, "__shared__"))
            return t;
        if (is_token(t, "__align__") || is_token(t, "__attribute__") || is_token(t, "alignas")) {
            t = closing(after(t));
            continue;
        }
        break;
    }
    return (struct token){t.at, 0};
}

static const char *copy_dynamic(struct token t, struct token shared, struct buf *out)
{
    const char *from = shared.at + shared.n, *end = from + strcspn(from, ";");

    buf_append(out, t.at, (size_t)(shared.at - t.at));
    buf_append(out, from, (size_t)(end - from));
    buf_puts(out, " __asm__(\"tune_emu_dynamic\")");
    return end;
}

static void put_table(const struct kernels *k, struct buf *out)
{
    buf_puts(out, "\n#define TUNE_EMU_FIRST(x, ...) (x)\n"
                  "#define TUNE_EMU_BOUNDS(...) (int)TUNE_EMU_FIRST(__VA_ARGS__, 0)\n"
                  "static const struct emu_kernel tune_emu_kernels[] = {\n");
    for (int i = 0; i < k->n; i++) {
        const struct token name = k->list[i].name, bounds = k->list[i].bounds;

        buf_printf(out, "TUNE_EMU_KERNEL(%.*s, %s%.*s),\n", (int)name.n, name.at, bounds.n ? "TUNE_EMU_BOUNDS" : "0",
                   (int)bounds.n, bounds.n ? bounds.at : "");
    }
    buf_printf(out,
               "{0, 0, 0, 0, 0}};\n"
               "extern \"C\" struct emu_module tune_emu_module = {EMU_MAGIC, tune_emu_sm, &tune_emu_place,\n"
               "    &tune_emu_services, tune_emu_dynamic, tune_emu_kernels, %d};\n",
               k->n);
}

enum err rewrite_cuda(const char *text, struct buf *out)
{
    struct kernels k = {.n = 0};
    const char *done = text; /* copied up to here */

    for (struct token t = next_token(text); t.n; t = after(t)) {
        struct token shared;

        if (is_token(t, "__global__") && note_kernel(t, &k))
            return ERR_LIMIT;
        if (!is_token(t, "extern"))
            continue;
        shared = find_shared(t);
        if (!shared.n)
            continue;
        buf_append(out, done, (size_t)(t.at - done));
        done = copy_dynamic(t, shared, out);
        t = (struct token){done, 0};
    }
    buf_puts(out, done);
    put_table(&k, out);
    return out->failed ? ERR_NOMEM : ERR_OK;
}
