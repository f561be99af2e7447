/* Feeds mutated .npy files to the reader: `fuzz_npy [iterations [seed]]`, or, built with -fsanitize=fuzzer
 * -DFUZZ_LIBFUZZER, as a libFuzzer target. What is read has the elements its shape says. */
#include "core/rng.h"
#include "kernels/sparse_conv2d/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct npy a = {.values = NULL};
    struct why why;
    int64_t elems = 1;

    if (npy_parse(data, n, &a, &why))
        return 0;
    for (int i = 0; i < a.n_dims; i++)
        elems *= a.shape[i];
    if (elems != a.n_elems || !a.values)
        abort();
    npy_fini(&a);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static const char *const headers[] = {
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
    "{'descr': '>f8', 'fortran_order': True, 'shape': (3,), }\n",
    "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 3, 4), }\n",
};

static size_t sample(struct rng *r, uint8_t out[256])
{
    const char *header = headers[rng_below(r, 3)];
    const size_t n_header = strlen(header), begin = 10, n = begin + n_header + 24;

    memset(out, 0, 256);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (uint8_t)n_header;
    memcpy(out + begin, header, n_header);
    return n + (rng_below(r, 2) ? 24 : 0);
}

int main(int argc, char **argv)
{
    const long n = argc > 1 ? strtol(argv[1], NULL, 10) : 200000;
    struct rng r;

    rng_init(&r, argc > 2 ? (uint64_t)strtoull(argv[2], NULL, 10) : 1);
    for (long i = 0; i < n; i++) {
        uint8_t bytes[256];
        size_t n_bytes = sample(&r, bytes), changes = rng_below(&r, 4);

        while (changes--)
            bytes[rng_below(&r, n_bytes)] =
                rng_below(&r, 2) ? (uint8_t)rng_next(&r) : (uint8_t) "0123456789(),'{}:"[rng_below(&r, 17)];
        if (rng_below(&r, 4) == 0)
            n_bytes = rng_below(&r, n_bytes + 1);
        LLVMFuzzerTestOneInput(bytes, n_bytes);
    }
    printf("%ld files\n", n);
    return 0;
}
#endif
