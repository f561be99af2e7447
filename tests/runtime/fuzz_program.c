/* SPDX-License-Identifier: MIT */
/* Feeds programs to the reader. What is read prints to a text that is read to the same bytes, and no program is whole
 * when its end is missing. */
#include "runtime/program.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void print(const struct program *p, struct buf *out)
{
    buf_init(out, PROGRAM_MAX_BYTES);
    if (program_to_json(p, out) != ERR_OK)
        fuzz_die("read, but does not print");
}

static void check(const struct program *p)
{
    struct program back;
    struct buf first, second;
    struct why why = {""};

    print(p, &first);
    if (program_from_json(first.data, first.len, &back, &why) != ERR_OK)
        fuzz_die("printed, but is not read: %s", why.text);
    print(&back, &second);
    if (strcmp(first.data, second.data) != 0)
        fuzz_die("not the same bytes:\n%s\n%s", first.data, second.data);
    buf_fini(&first);
    buf_fini(&second);
    program_fini(&back);
}

/* As far as the last '}', and without it. */
static void check_cut(const char *text, size_t n)
{
    struct program p;

    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    if (n && program_from_json(text, n - 1, &p, NULL) == ERR_OK)
        fuzz_die("read without its last byte");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_copy(data, n);
    struct program p;
    struct why why = {""};

    if (program_from_json(text, n, &p, &why) == ERR_OK) {
        check(&p);
        check_cut(text, n);
        program_fini(&p);
    } else {
        fuzz_check_words("program", why.text);
    }
    free(text);
    return 0;
}
