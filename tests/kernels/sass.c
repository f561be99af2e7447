/* SPDX-License-Identifier: MIT */
#include "tests/kernels/sass.h"

#include "core/vec.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES 1000000
#define MAX_LABEL 80

enum kind { OTHER, MATH, SHARED_READ, SHARED_WRITE, COPY, STORE, NOTHING };

/* An instruction, or where a label stands (kind NOTHING). */
struct line {
    enum kind kind;
    int bytes;             /* moved; of COPY and STORE */
    char label[MAX_LABEL]; /* of a label: its name; of a branch: where it goes; "" */
    bool is_label;
};

struct function {
    char name[64];
    struct line *lines;
    size_t n, cap;
};

struct loop {
    size_t first, last; /* the last is its branch back */
};

static enum kind kind_of(const char *opcode, size_t n)
{
    static const struct {
        const char *name;
        enum kind kind;
    } table[] = {{"HMMA", MATH},       {"IMMA", MATH},        {"HGMMA", MATH},       {"IGMMA", MATH}, {"QGMMA", MATH},
                 {"FFMA", MATH},       {"FFMA2", MATH},       {"HFMA2", MATH},       {"IDP", MATH},   {"DFMA", MATH},
                 {"LDS", SHARED_READ}, {"LDSM", SHARED_READ}, {"STS", SHARED_WRITE}, {"LDG", COPY},   {"LD", COPY},
                 {"LDGSTS", COPY},     {"UTMALDG", COPY},     {"UBLKCP", COPY},      {"STG", STORE},  {"ST", STORE},
                 {"NOP", NOTHING}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strlen(table[i].name) == n && strncmp(table[i].name, opcode, n) == 0)
            return table[i].kind;
    return OTHER;
}

/* Bytes that an opcode as LDG.E.128.CONSTANT moves; those that move whole tiles count as the widest. */
static int bytes_of(const char *opcode, size_t n)
{
    static const struct {
        const char *suffix;
        int bytes;
    } table[] = {{"128", 16}, {"64", 8}, {"U16", 2}, {"S16", 2}, {"16", 2}, {"U8", 1}, {"S8", 1}, {"8", 1}};
    int bytes = opcode[0] == 'U' ? 16 : 4;

    for (size_t at = 0; at < n; at++)
        for (size_t i = 0; opcode[at] == '.' && i < sizeof table / sizeof table[0]; i++) {
            const size_t length = strlen(table[i].suffix);

            if (strncmp(opcode + at + 1, table[i].suffix, length) == 0 &&
                (at + 1 + length == n || opcode[at + 1 + length] == '.'))
                bytes = table[i].bytes;
        }
    return bytes;
}

/* Constants are put into registers by products with zero: HFMA2.MMA R1, -RZ, RZ, 0, 1. */
static bool is_move(const char *at, const char *end)
{
    const char *zeros = strstr(at, "-RZ, RZ");

    return zeros && zeros < end;
}

/* The text of a line behind an address comment, up to its end: an instruction, without its predicate. */
static struct line read_instruction(const char *at, const char *end)
{
    struct line line = {OTHER, 0, "", false};
    const char *target;
    size_t n;

    if (*at == '@')
        at += strcspn(at, " ;");
    at += strspn(at, " ");
    n = strcspn(at, " ;");
    line.kind = kind_of(at, strcspn(at, ". ;"));
    if (line.kind == MATH && is_move(at, end))
        line.kind = OTHER;
    line.bytes = bytes_of(at, n);
    target = memchr(at, '`', (size_t)(end - at));
    if (strncmp(at, "BRA", 3) == 0 && target && target[1] == '(')
        snprintf(line.label, sizeof line.label, "%.*s", (int)strcspn(target + 2, ")\n"), target + 2);
    return line;
}

/* Reads one line of text; false where it is neither an instruction nor a label. Of two that sm_61 issues together the
 * first stands behind a brace, and the second has one in place of the semicolon. */
static bool read_line(const char *at, const char *end, struct line *out)
{
    const char *comment = at + strspn(at, " \t"), *colon = memchr(at, ':', (size_t)(end - at));
    const char *close = comment + 2 < end ? strstr(comment, "*/") : NULL;

    if (at[0] == '.' && colon) {
        *out = (struct line){NOTHING, 0, "", true};
        snprintf(out->label, sizeof out->label, "%.*s", (int)(colon - at), at);
        return true;
    }
    if (strncmp(comment, "/*", 2) != 0 || !close || close > end || !isxdigit((unsigned char)comment[2]))
        return false;
    close += 2;
    close += strspn(close, " \t{");
    if (close >= end || *close == '/' ||
        (!memchr(close, ';', (size_t)(end - close)) && !memchr(close, '}', (size_t)(end - close))))
        return false;
    *out = read_instruction(close, end);
    return true;
}

static size_t find_label(const struct function *f, const char *label)
{
    size_t i = 0;

    while (i < f->n && !(f->lines[i].is_label && strcmp(f->lines[i].label, label) == 0))
        i++;
    return i;
}

/* The loop that the branch at `i` closes; false for one that goes ahead, and for what is no branch. */
static bool loop_at(const struct function *f, size_t i, struct loop *out)
{
    if (f->lines[i].is_label || !f->lines[i].label[0])
        return false;
    *out = (struct loop){find_label(f, f->lines[i].label), i};
    return out->first < i;
}

static int count(const struct function *f, struct loop in, enum kind kind)
{
    int n = 0;

    for (size_t i = in.first; i <= in.last && i < f->n; i++)
        n += f->lines[i].kind == kind;
    return n;
}

static bool holds(struct loop outer, struct loop inner)
{
    return outer.first <= inner.first && inner.last <= outer.last;
}

static bool is_same(struct loop a, struct loop b)
{
    return a.first == b.first && a.last == b.last;
}

/* Is line i of a loop in a loop within it? */
static bool is_inside(const struct loop *loops, size_t n, struct loop in, size_t i)
{
    for (size_t k = 0; k < n; k++)
        if (loops[k].first <= i && i <= loops[k].last && holds(in, loops[k]) && !is_same(in, loops[k]))
            return true;
    return false;
}

/* Counts a loop's own lines, without those of loops within it. */
static void count_own(const struct function *f, const struct loop *loops, size_t n, struct loop in, int counts[])
{
    for (int kind = OTHER; kind <= NOTHING; kind++)
        counts[kind] = 0;
    for (size_t i = in.first; i <= in.last && i < f->n; i++)
        if (!is_inside(loops, n, in, i))
            counts[f->lines[i].kind]++;
}

/* The loop with the most products of its own, or the whole function; its own lines go to counts. */
static struct loop find_math(const struct function *f, const struct loop *loops, size_t n, int counts[])
{
    struct loop best = {0, f->n - 1};
    int here[NOTHING + 1], most = 0;

    count_own(f, loops, 0, best, counts);
    for (size_t i = 0; i < n; i++) {
        if (count(f, loops[i], MATH) <= most)
            continue;
        count_own(f, loops, n, loops[i], here);
        if (here[MATH] > most) {
            most = here[MATH];
            best = loops[i];
            memcpy(counts, here, sizeof here);
        }
    }
    return best;
}

/* Of the loops within `around` that fetch, the smallest; false without one. */
static bool find_copies(const struct function *f, const struct loop *loops, size_t n, struct loop around,
                        struct loop *out)
{
    bool found = false;

    for (size_t i = 0; i < n; i++)
        if (holds(around, loops[i]) && count(f, loops[i], COPY) > 0 && (!found || holds(*out, loops[i]))) {
            *out = loops[i];
            found = true;
        }
    return found;
}

/* Of a loop's products, per cent that stand between the last fetch that is in no loop within it and the next write to
 * shared memory, which waits for it; the loop goes round. */
static int ahead_percent(const struct function *f, const struct loop *loops, size_t n, struct loop in)
{
    const int n_math = count(f, in, MATH);
    size_t i = in.last, left;
    int n_ahead = 0;

    while (i > in.first && (f->lines[i].kind != COPY || is_inside(loops, n, in, i)))
        i--;
    for (left = in.last - in.first; left > 0; left--) {
        i = i < in.last ? i + 1 : in.first;
        if (f->lines[i].kind == SHARED_WRITE)
            break;
        n_ahead += f->lines[i].kind == MATH;
    }
    return n_math ? 100 * n_ahead / n_math : 0;
}

/* Counts the copies of a loop without those within it. */
static void count_copies(const struct function *f, const struct loop *loops, size_t n, struct loop in,
                         struct sass_counts *out)
{
    int counts[NOTHING + 1];

    count_own(f, loops, n, in, counts);
    out->n_copies = counts[COPY];
    out->n_copying = counts[OTHER] + counts[SHARED_WRITE] + counts[COPY] + counts[STORE];
    out->ahead_percent = ahead_percent(f, loops, n, in);
    for (size_t i = in.first; i <= in.last; i++)
        if (f->lines[i].kind == COPY && !is_inside(loops, n, in, i) &&
            (!out->copy_bytes || f->lines[i].bytes < out->copy_bytes))
            out->copy_bytes = f->lines[i].bytes;
}

static enum err count_function(const struct function *f, struct sass_counts *out)
{
    struct loop *loops = calloc(f->n + 1, sizeof *loops), math, around = {0, SIZE_MAX}, copies = {0, 0};
    int counts[NOTHING + 1];
    size_t n = 0;

    if (!loops)
        return ERR_NOMEM;
    *out = (struct sass_counts){.n_loop = 0};
    snprintf(out->kernel, sizeof out->kernel, "%s", f->name);
    for (size_t i = 0; i < f->n; i++)
        n += loop_at(f, i, &loops[n]);
    math = find_math(f, loops, n, counts);
    out->n_math = counts[MATH];
    for (int kind = OTHER; kind < NOTHING; kind++)
        out->n_loop += counts[kind];
    for (size_t i = 0; i < n; i++)
        if (holds(loops[i], math) && count(f, loops[i], COPY) > 0 && holds(around, loops[i]))
            around = loops[i];
    if (around.last != SIZE_MAX && find_copies(f, loops, n, around, &copies))
        count_copies(f, loops, n, copies, out);
    for (size_t i = 0; i < f->n; i++)
        if (f->lines[i].kind == STORE && (!out->store_bytes || f->lines[i].bytes < out->store_bytes))
            out->store_bytes = f->lines[i].bytes;
    free(loops);
    return ERR_OK;
}

/* Ends a function: its counts become those told if it multiplies more. */
static enum err take(struct function *f, struct sass_counts *best)
{
    struct sass_counts here;
    enum err e = f->n ? count_function(f, &here) : ERR_OK;

    if (!e && f->n && (!best->kernel[0] || here.n_math > best->n_math))
        *best = here;
    f->n = 0;
    return e;
}

enum err sass_count(const char *text, struct sass_counts *out, struct why *why)
{
    struct function f = {.lines = NULL};
    struct sass_counts best = {.n_loop = 0};
    enum err e = ERR_OK;

    while (!e && *text) {
        const char *end = text + strcspn(text, "\n");
        struct line line;

        if (strncmp(text, ".text.", 6) == 0) {
            e = take(&f, &best);
            snprintf(f.name, sizeof f.name, "%.*s", (int)strcspn(text + 6, ":\n"), text + 6);
        } else if (f.name[0] && read_line(text, end, &line)) {
            e = VEC_ROOM(f.lines, f.cap, f.n + 1, MAX_LINES);
            if (!e)
                f.lines[f.n++] = line;
        }
        text = *end ? end + 1 : end;
    }
    if (!e)
        e = take(&f, &best);
    free(f.lines);
    if (!e && !best.kernel[0])
        e = why_set(why, ERR_INPUT, "no function in what the disassembler wrote");
    if (!e)
        *out = best;
    return e;
}
