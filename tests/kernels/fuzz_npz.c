/* SPDX-License-Identifier: MIT */
/* Feeds .npz files to the reader. What is read has named arrays with the elements that their shapes say. */
#include "kernels/npz.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static void check(const struct npy *a)
{
    int64_t elems = 1;

    for (int i = 0; i < a->n_dims; i++)
        elems *= a->shape[i];
    if (elems != a->n_elems || !a->values)
        fuzz_die("%lld elements, the shape says %lld", (long long)a->n_elems, (long long)elems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct npz z = {NULL, 0};
    struct why why = {""};
    void *bytes = fuzz_copy(data, n);

    if (npz_parse(bytes, n, &z, &why)) {
        fuzz_check_words("npz", why.text);
    } else {
        for (size_t i = 0; i < z.n; i++)
            check(npz_find(&z, z.list[i].name));
        npz_fini(&z);
    }
    free(bytes);
    return 0;
}
