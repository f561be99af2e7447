/* SPDX-License-Identifier: MIT */
/* Feeds lines to the parser of workloads. What is taken has a canonical text that means the same, counts above 0, and
 * tensors. */
#include "kernels/operator.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct workload *w)
{
    struct tensor tensors[OPERATOR_MAX_TENSORS];
    const size_t n = w->op->tensors(w, tensors);
    struct workload back;
    struct why why = {""};
    struct buf text;

    buf_init(&text, WORKLOAD_MAX_TEXT);
    if (workload_text(w, &text) != ERR_OK || workload_parse(buf_text(&text), &back, &why) != ERR_OK ||
        memcmp(&back, w, sizeof back) != 0)
        fuzz_die("not the same workload: '%s' %s", buf_text(&text), why.text);
    if (!(w->op->flops(w) > 0) || !(w->op->bytes_min(w) > 0) || n < 2 || n > OPERATOR_MAX_TENSORS)
        fuzz_die("%s does not count", buf_text(&text));
    for (size_t i = 0; i < n; i++)
        if (tensors[i].n_elems < 1)
            fuzz_die("%s: tensor %s has no elements", buf_text(&text), tensors[i].name);
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    struct workload w;
    struct why why = {""};

    if (workload_parse(text, &w, &why) == ERR_OK)
        check(&w);
    else
        fuzz_check_words("workload", why.text);
    free(text);
    return 0;
}
