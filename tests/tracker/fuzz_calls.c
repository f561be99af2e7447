/* SPDX-License-Identifier: MIT */
/* Reads JSON as one of the structs that calls are made of, which the first byte chooses. What is taken keeps its
 * bounds, and is the same after it was written and read again. */
#include "tests/fuzz/fuzz.h"
#include "tracker/calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct call_shape *const shapes[] = {
#define STRUCT(tag, members) &tag##_shape,
#include "tracker/calls_list.h"
};

union any {
#define STRUCT(tag, members) struct tag tag;
#include "tracker/calls_list.h"
};

static bool is_tree(const struct call_member *m)
{
    return m->kind == KIND_OBJECT || m->kind == KIND_LIST || m->kind == KIND_TEXTS || m->kind == KIND_ANY;
}

/* Trees that were read are lent, those that are written are taken. */
static void own_trees(const struct call_shape *shape, union any *x)
{
    for (const struct call_member *m = shape->members(); m->name; m++)
        if (is_tree(m)) {
            cJSON **at = (cJSON **)((char *)x + m->offset);

            *at = *at ? cJSON_Duplicate(*at, true) : NULL;
        }
}

static void check_bounds(const struct call_shape *shape, union any *x)
{
    for (const struct call_member *m = shape->members(); m->name; m++) {
        const char *at = (const char *)x + m->offset;
        const char *text = m->kind == KIND_TEXT ? *(const char *const *)at : NULL;

        if (m->kind == KIND_I64 && m->need == NEED_MUST && *(const int64_t *)at < m->min)
            fuzz_die("%s.%s is below its bound", shape->name, m->name);
        if (m->kind == KIND_REAL && !isfinite(*(const double *)at) && !isnan(m->otherwise.real))
            fuzz_die("%s.%s is no number", shape->name, m->name);
        if (m->need == NEED_MUST && m->kind == KIND_TEXT && !text)
            fuzz_die("%s.%s is not there", shape->name, m->name);
        if (text && m->max && strlen(text) > (size_t)m->max)
            fuzz_die("%s.%s is longer than it may be", shape->name, m->name);
    }
}

static cJSON *write_again(const struct call_shape *shape, const cJSON *tree)
{
    struct why why = {""};
    union any x;
    cJSON *out;

    if (call_read(shape, "again", tree, &x, &why) != ERR_OK)
        fuzz_die("%s: what was written is refused: %s", shape->name, why.text);
    own_trees(shape, &x);
    out = call_write(shape, &x);
    if (!out)
        fuzz_die("%s: what was read is not written", shape->name);
    return out;
}

static void check(const struct call_shape *shape, union any *x)
{
    struct buf texts[2];
    cJSON *once, *twice;

    check_bounds(shape, x);
    own_trees(shape, x);
    once = call_write(shape, x);
    if (!once)
        fuzz_die("%s: what was read is not written", shape->name);
    twice = write_again(shape, once);
    buf_init(&texts[0], MESSAGE_MAX_BYTES);
    buf_init(&texts[1], MESSAGE_MAX_BYTES);
    if (json_print(once, &texts[0]) || json_print(twice, &texts[1]) || strcmp(texts[0].data, texts[1].data) != 0)
        fuzz_die("%s: written again it is another", shape->name);
    buf_fini(&texts[0]);
    buf_fini(&texts[1]);
    cJSON_Delete(once);
    cJSON_Delete(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct call_shape *shape = shapes[(n ? data[0] : 0) % (sizeof shapes / sizeof *shapes)];
    char *text = n > 1 ? fuzz_copy(data + 1, n - 1) : NULL;
    struct why why = {""};
    cJSON *tree = NULL;
    union any x;

    if (text && json_parse(text, n - 1, &tree, NULL) == ERR_OK) {
        if (call_read(shape, "fuzz", tree, &x, &why) == ERR_OK)
            check(shape, &x);
        else
            fuzz_check_words("call", why.text);
    }
    cJSON_Delete(tree);
    free(text);
    return 0;
}
