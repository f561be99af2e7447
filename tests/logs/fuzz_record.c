/* SPDX-License-Identifier: MIT */
/* Feeds lines to record_parse, each as it is and once more with a right sum put behind it, so that what lies behind the
 * sum is reached; what parses must print and parse again to the same bytes. */
#include "core/hash.h"
#include "logs/record.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_or_die(const struct record *r, struct buf *line)
{
    buf_init(line, 2 * RECORD_MAX_BYTES);
    if (record_print(r, line) != ERR_OK)
        fuzz_die("parsed, but does not print");
}

static void try_line(const char *line, size_t n)
{
    struct record r, back;
    struct buf first, second;
    struct why why;

    if (record_parse(line, n, &r, &why) != ERR_OK)
        return;
    print_or_die(&r, &first);
    if (record_parse(first.data, first.len, &back, &why) != ERR_OK)
        fuzz_die("printed, but does not parse: %s\n%s", why.text, first.data);
    print_or_die(&back, &second);
    if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
        fuzz_die("not the same bytes:\n%s%s", first.data, second.data);
    buf_fini(&first);
    buf_fini(&second);
    record_fini(&r);
    record_fini(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *line = fuzz_copy(data, n), *summed = malloc(n + 32);

    try_line(line, n);
    if (summed) {
        memcpy(summed, line, n);
        snprintf(summed + n, 32, ",\"crc32c\":\"%08x\"}\n", crc32c(line, n));
        try_line(summed, n + 22);
    }
    free(summed);
    free(line);
    return 0;
}
