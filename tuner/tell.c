/* SPDX-License-Identifier: MIT */
#include "tuner/tell.h"

#include "core/buf.h"
#include "kernels/operator.h"

#include <stdio.h>

bool tell_computing(double *told_s, const struct workload *w, double waited_s, char words[TELL_WORDS])
{
    const bool is_new = waited_s < *told_s, is_due = (is_new || *told_s < TELL_AFTER_S) && waited_s >= TELL_AFTER_S;
    struct buf text;

    *told_s = waited_s;
    if (!is_due)
        return false;
    buf_init(&text, WORKLOAD_MAX_TEXT);
    workload_text(w, &text);
    snprintf(words, TELL_WORDS, "computing expected values of %s (%.3g GFLOP) ...", buf_text(&text),
             w->op->flops(w) / 1e9);
    buf_fini(&text);
    return true;
}
