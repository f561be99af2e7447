/* fuzz_program.c - every truncation and many seeded mutations of a program are refused or parsed, never a crash; what
 * is parsed prints to a text that parses to the same bytes. `fuzz_program [iterations [seed]]`. */
#include "core/rng.h"
#include "sample_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static long iterations = 20000;
static uint64_t seed = 1;

static void take(const char *text, size_t n)
{
    struct program p, q;
    struct buf first, second;

    if (program_from_json(text, n, &p, NULL) != ERR_OK)
        return;
    buf_init(&first, PROGRAM_MAX_BYTES);
    buf_init(&second, PROGRAM_MAX_BYTES);
    assert_int_equal(program_to_json(&p, &first), ERR_OK);
    assert_int_equal(program_from_json(first.data, first.len, &q, NULL), ERR_OK);
    assert_int_equal(program_to_json(&q, &second), ERR_OK);
    assert_string_equal(first.data, second.data);
    buf_fini(&first);
    buf_fini(&second);
    program_fini(&p);
    program_fini(&q);
}

/* An exact copy in memory of its own, so that a read beyond its end is seen by valgrind and sanitizers. */
static void take_copy(const char *text, size_t n)
{
    char *copy = malloc(n ? n : 1);

    assert_non_null(copy);
    memcpy(copy, text, n);
    take(copy, n);
    free(copy);
}

static void mutate(struct rng *rng, char *text, size_t *n)
{
    static const char *const pieces[] = {
        "0",   "-1", "1e308", "9007199254740993", "null", "{}", "[]", "\"\"", "\"", ",", "}", "true", "24",
        "[[[", "\\", "\"y\""};
    const uint64_t way = rng_below(rng, 4);
    const size_t at = (size_t)rng_below(rng, *n), gone = (size_t)rng_below(rng, *n - at < 12 ? *n - at : 12);

    if (way == 0) {
        text[at] = (char)rng_below(rng, 256);
    } else if (way == 1) { /* a digit for a digit */
        for (size_t i = at; i < *n; i++)
            if (text[i] >= '0' && text[i] <= '9') {
                text[i] = (char)('0' + rng_below(rng, 10));
                break;
            }
    } else {
        const char *piece = way == 2 ? "" : pieces[rng_below(rng, sizeof pieces / sizeof pieces[0])];

        memmove(text + at + strlen(piece), text + at + gone, *n - at - gone);
        memcpy(text + at, piece, strlen(piece));
        *n = *n - gone + strlen(piece);
    }
}

static void mutations_never_crash(void **state)
{
    struct program p;
    struct buf text;
    struct rng rng;
    char *work;

    (void)state;
    rng_init(&rng, seed);
    sample_program(&p);
    buf_init(&text, PROGRAM_MAX_BYTES);
    assert_int_equal(program_to_json(&p, &text), ERR_OK);
    work = malloc(text.len + 256);
    for (long i = 0; i < iterations; i++) {
        size_t n = text.len;

        memcpy(work, text.data, n);
        for (uint64_t k = rng_below(&rng, 3) + 1; k > 0; k--)
            mutate(&rng, work, &n);
        take_copy(work, n);
    }
    free(work);
    buf_fini(&text);
    program_fini(&p);
}

static void truncations_are_refused(void **state)
{
    struct program p, q;
    struct buf text;

    (void)state;
    sample_program(&p);
    buf_init(&text, PROGRAM_MAX_BYTES);
    assert_int_equal(program_to_json(&p, &text), ERR_OK);
    for (size_t n = 0; n < text.len; n++) {
        char *copy = malloc(n ? n : 1);

        memcpy(copy, text.data, n);
        assert_int_not_equal(program_from_json(copy, n, &q, NULL), ERR_OK);
        free(copy);
    }
    buf_fini(&text);
    program_fini(&p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(truncations_are_refused),
                                       cmocka_unit_test(mutations_never_crash)};

    if (argc > 1)
        iterations = strtol(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
