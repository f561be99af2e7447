/* Feeds mutated lines to record_parse: `fuzz_record [iterations [seed]]`, or, built with -fsanitize=fuzzer
 * -DFUZZ_LIBFUZZER, as a libFuzzer target. Each input is tried as it is and once more with a right sum put behind it,
 * so that what lies behind the sum is reached; what parses must print and parse again to the same bytes. */
#include "sample.h"

#include "core/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void print_or_die(const struct record *r, struct buf *line)
{
    buf_init(line, 2 * RECORD_MAX_BYTES);
    if (record_print(r, line) != ERR_OK) {
        fprintf(stderr, "parsed, but does not print\n");
        abort();
    }
}

static void try_line(const char *line, size_t n)
{
    struct record r, back;
    struct buf first, second;
    struct why why;

    if (record_parse(line, n, &r, &why) != ERR_OK)
        return;
    print_or_die(&r, &first);
    if (record_parse(first.data, first.len, &back, &why) != ERR_OK) {
        fprintf(stderr, "printed, but does not parse: %s\n%s", why.text, first.data);
        abort();
    }
    print_or_die(&back, &second);
    if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0) {
        fprintf(stderr, "not the same bytes:\n%s%s", first.data, second.data);
        abort();
    }
    buf_fini(&first);
    buf_fini(&second);
    record_fini(&r);
    record_fini(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *line = malloc(n + 32);

    if (!line)
        return 0;
    if (n)
        memcpy(line, data, n);
    try_line(line, n);
    snprintf(line + n, 32, ",\"crc32c\":\"%08x\"}\n", crc32c(line, n));
    try_line(line, n + 22);
    free(line);
    return 0;
}

#ifndef FUZZ_LIBFUZZER
static const char alphabet[] = "{}[]\",:0123456789.eE+-truefalsn\\u \t\n\x80\xff";

static size_t mutate(struct rng *rng, char *text, size_t n)
{
    const size_t at = rng_below(rng, n + 1), most = n - at < 40 ? n - at : 40, piece = rng_below(rng, most + 1);

    switch (rng_below(rng, 3)) {
    case 0:
        if (at < n)
            text[at] = alphabet[rng_below(rng, sizeof alphabet - 1)];
        return n;
    case 1:
        memmove(text + at, text + at + piece, n - at - piece);
        return n - piece;
    default:
        if (n + piece >= MAX_TEXT)
            return n;
        memmove(text + at + piece, text + at, n - at);
        return n + piece;
    }
}

int main(int argc, char **argv)
{
    const long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct record r = sample_record("t1");
    char text[MAX_TEXT];
    struct buf line;
    struct rng rng;

    rng_init(&rng, seed);
    print_or_die(&r, &line);
    for (long i = 0; i < iterations; i++) {
        size_t n = line.len - 22;

        memcpy(text, line.data, n);
        for (uint64_t k = rng_below(&rng, 4); k > 0; k--)
            n = mutate(&rng, text, n);
        LLVMFuzzerTestOneInput((const uint8_t *)text, n);
    }
    printf("%ld mutated lines\n", iterations);
    buf_fini(&line);
    record_fini(&r);
    return 0;
}
#endif
