/* SPDX-License-Identifier: MIT */
/* Feeds tables of measured configs to the reader. What is read has a value in each cell and a time above 0 or none, and
 * is read again by the columns that were learned to the same numbers. */
#include "tests/fuzz/fuzz.h"
#include "search/learn/records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(const struct records *r, const struct columns *c)
{
    if (r->n == 0 || r->n_knobs != c->n)
        fuzz_die("%zu rows of %zu knobs, %zu columns", r->n, r->n_knobs, c->n);
    for (size_t i = 0; i < r->n * r->n_knobs; i++)
        if (!isfinite(r->values[i]))
            fuzz_die("value %zu is none", i);
    for (size_t i = 0; r->times && i < r->n; i++)
        if (!isnan(r->times[i]) && !(r->times[i] > 0 && isfinite(r->times[i])))
            fuzz_die("row %zu took %g", i, r->times[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = fuzz_file(data, n);
    struct records r = {0}, again = {0};
    struct columns c = {0};
    struct why why = {""};

    if (records_read(path, &r, &c, &why) == ERR_OK) {
        check(&r, &c);
        if (records_read_as(path, &c, true, &again, &why) != ERR_OK || again.n != r.n ||
            memcmp(again.values, r.values, r.n * r.n_knobs * sizeof *r.values) != 0)
            fuzz_die("not the same numbers: %s", why.text);
        records_fini(&again);
        records_fini(&r);
        columns_fini(&c);
    } else {
        fuzz_check_words("table", why.text);
    }
    return 0;
}
