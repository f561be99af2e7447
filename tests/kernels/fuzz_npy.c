/* SPDX-License-Identifier: MIT */
/* Feeds .npy files to the reader. What is read has the elements its shape says. */
#include "kernels/npy.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct npy a = {.values = NULL};
    struct why why = {""};
    void *bytes = fuzz_copy(data, n);
    int64_t elems = 1;

    if (npy_parse(bytes, n, &a, &why)) {
        fuzz_check_words("npy", why.text);
    } else {
        for (int i = 0; i < a.n_dims; i++)
            elems *= a.shape[i];
        if (elems != a.n_elems || !a.values)
            fuzz_die("%lld elements, the shape says %lld", (long long)a.n_elems, (long long)elems);
        npy_fini(&a);
    }
    free(bytes);
    return 0;
}
