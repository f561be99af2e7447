/* SPDX-License-Identifier: MIT */
/* nvrtc_resources.c - what the assembler says of each kernel (--ptxas-options=-v), read from the compiler's log:
 *   ptxas info    : Compiling entry function 'k' for 'sm_75'
 *   ptxas info    : Function properties for k
 *       80 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
 *   ptxas info    : Used 20 registers, used 1 barriers, 1024 bytes smem, 368 bytes cmem[0], 4 bytes cmem[2]
 * Functions that are no kernels are told too, without the first line. */
#include "runtime/nvrtc.h"

#include "core/vec.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KERNELS 4096
#define LINE_BYTES 512
#define MOST (1 << 30) /* of any number or sum */

/* The number that ends at `at`, of a line; -1 = none. */
static int number_ending(const char *line, const char *at)
{
    const char *end = at;

    while (at > line && isdigit((unsigned char)at[-1]))
        at--;
    return at < end ? (int)fmin(strtod(at, NULL), MOST) : -1;
}

static int sum_of(int a, int b)
{
    return a < MOST - b ? a + b : MOST;
}

/* The number before `words` in a line; `otherwise` where they are not there. */
static int number_before(const char *line, const char *words, int otherwise)
{
    const char *at = strstr(line, words);
    const int n = at ? number_ending(line, at) : -1;

    return n < 0 ? otherwise : n;
}

/* Bytes of all constant banks but that of the arguments. */
static int constants(const char *line)
{
    int sum = 0;

    for (const char *at = line; (at = strstr(at, " bytes cmem[")); at++)
        if (at[strlen(" bytes cmem[")] != '0' && number_ending(line, at) > 0)
            sum = sum_of(sum, number_ending(line, at));
    return sum;
}

struct reading {
    struct kernel_resources *list;
    size_t n, cap;
    bool inside;          /* the lines are those of the list's last kernel */
    int module_constants; /* told ahead of the kernels */
};

static enum err begin(struct reading *r, const char *quoted)
{
    const size_t n = strcspn(quoted, "'");
    const enum err e = VEC_ROOM(r->list, r->cap, r->n + 1, MAX_KERNELS);

    assert(r->n <= r->cap);
    if (e)
        return e;
    r->list[r->n] = (struct kernel_resources){.registers = -1,
                                              .local_bytes = 0,
                                              .spill_bytes = -1,
                                              .stack_bytes = -1,
                                              .constant_bytes = r->module_constants,
                                              .max_group = -1};
    snprintf(r->list[r->n].kernel, sizeof r->list[r->n].kernel, "%.*s", (int)(n < 63 ? n : 63), quoted);
    r->n++;
    r->inside = true;
    return ERR_OK;
}

static void take_numbers(struct reading *r, const char *line)
{
    struct kernel_resources *k = &r->list[r->n - 1];

    assert(r->n > 0);
    if (strstr(line, "bytes stack frame")) {
        k->stack_bytes = number_before(line, " bytes stack frame", -1);
        k->spill_bytes =
            sum_of(number_before(line, " bytes spill stores", 0), number_before(line, " bytes spill loads", 0));
    } else if (strstr(line, " registers")) {
        k->registers = number_before(line, " registers", -1);
        k->local_bytes = number_before(line, " bytes smem", 0);
        k->constant_bytes = sum_of(k->constant_bytes, constants(line));
    }
}

static enum err take_line(struct reading *r, const char *line)
{
    static const char entry[] = "Compiling entry function '", properties[] = "Function properties for ";
    const char *at = strstr(line, entry);

    if (at)
        return begin(r, at + strlen(entry));
    at = strstr(line, properties);
    if (at)
        r->inside = r->n > 0 && strcmp(at + strlen(properties), r->list[r->n - 1].kernel) == 0;
    else if (r->inside)
        take_numbers(r, line);
    else if (r->n == 0 && strstr(line, " bytes gmem"))
        r->module_constants = constants(line);
    return ERR_OK;
}

enum err nvrtc_read_resources(const char *log, struct kernel_resources **out, size_t *n_out)
{
    struct reading r = {.list = NULL};
    enum err e = ERR_OK;

    for (const char *at = log; !e && *at;) {
        const size_t n = strcspn(at, "\r\n");
        char line[LINE_BYTES];

        snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), at);
        e = take_line(&r, line);
        at += n + strspn(at + n, "\r\n");
    }
    if (e) {
        free(r.list);
        return e;
    }
    *out = r.list;
    *n_out = r.n;
    return ERR_OK;
}
