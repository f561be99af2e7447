/* SPDX-License-Identifier: MIT */
#include "tests/kernels/check_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_results_open(struct check_results *r, const char *dir)
{
    *r = (struct check_results){.fresh = NULL};
    verdicts_open(&r->kept, dir);
}

void check_results_fini(struct check_results *r)
{
    for (size_t i = 0; i < r->n_fresh; i++)
        free(r->fresh[i].text);
    free(r->fresh);
    verdicts_close(&r->kept);
}

static int key_order(const void *key, const void *fresh)
{
    return strcmp(key, ((const struct check_fresh *)fresh)->key);
}

bool check_results_find(const struct check_results *r, const char *key, struct check_result *out)
{
    const struct check_fresh *fresh =
        r->n_fresh ? bsearch(key, r->fresh, r->n_fresh, sizeof *r->fresh, key_order) : NULL;
    const char *text = fresh ? fresh->text : verdicts_find(&r->kept, key);

    return text && check_result_read(text, out);
}

/* "ok MS" and for each kernel its name and numbers; "failed MS WORDS". */
bool check_result_read(const char *text, struct check_result *out)
{
    int used = 0;

    *out = (struct check_result){0};
    if (sscanf(text, "failed %d %n", &out->ms, &used) == 1 && used) {
        snprintf(out->words, sizeof out->words, "%s", text + used);
        return true;
    }
    if (sscanf(text, "ok %d%n", &out->ms, &used) != 1)
        return false;
    out->ok = true;
    for (text += used; *text && out->n_kernels < CHECK_MAX_KERNELS; text += used) {
        struct kernel_resources *k = &out->kernels[out->n_kernels++];

        if (sscanf(text, " %63s %d %d %d %d %d%n", k->kernel, &k->registers, &k->local_bytes, &k->spill_bytes,
                   &k->stack_bytes, &k->constant_bytes, &used) != 6)
            return false;
    }
    return true;
}

void check_result_write(const struct check_result *result, struct buf *out)
{
    if (!result->ok) {
        (void)buf_printf(out, "failed %d %s", result->ms, result->words);
        return;
    }
    (void)buf_printf(out, "ok %d", result->ms);
    for (size_t i = 0; i < result->n_kernels; i++) {
        const struct kernel_resources *k = &result->kernels[i];

        (void)buf_printf(out, " %s %d %d %d %d %d", k->kernel, k->registers, k->local_bytes, k->spill_bytes,
                         k->stack_bytes, k->constant_bytes);
    }
}
