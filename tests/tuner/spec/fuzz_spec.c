/* Feeds mutated job files to the reader: `fuzz_spec [iterations [seed]]`. What is taken makes programs, or says why
 * not. */
#include "core/rng.h"
#include "search_space/value_list.h"
#include "tests/tuner/spec/job.h"
#include "tuner/spec/spec.h"

#include <stdint.h>

#define MAX_TEXT 16384

static const char *const pieces[] = {"[",
                                     "]",
                                     "{",
                                     "}",
                                     "\"",
                                     ",",
                                     ":",
                                     "0",
                                     "-1",
                                     "1e300",
                                     "null",
                                     "true",
                                     "GROUP",
                                     "n",
                                     "ProblemSize[0]",
                                     "ProblemSize[9]",
                                     "ProblemSize",
                                     "max(GROUP)",
                                     "**",
                                     "((((",
                                     "range(0, 4)",
                                     "[i for i in range(3)]",
                                     "BinaryRaw",
                                     "Generator",
                                     "\"Size\": 0",
                                     "Local",
                                     "Scalar",
                                     "int64",
                                     "double",
                                     "custom",
                                     "WriteOnly",
                                     "\\u0000",
                                     "for"};

static void make_closed(const char *text, size_t n, struct buf *out, struct blobs *files)
{
    struct sha256 scale, plain;

    blobs_put(files, job_kernel, strlen(job_kernel), &scale);
    blobs_put(files, job_reference, strlen(job_reference), &plain);
    buf_printf(out,
               "{\"tune\":{\"schema\":1,\"files\":[{\"name\":\"scale.cl\",\"sha256\":\"%s\"},{\"name\":\"plain.cl\","
               "\"sha256\":\"%s\"}]},",
               scale.hex, plain.hex);
    buf_append(out, text + 1, n - 1); /* without its '{' */
}

static void try_programs(struct spec *s)
{
    struct rng rng;

    rng_init(&rng, 1);
    for (int i = 0; i < 4; i++) {
        struct blobs blobs;
        struct program p;
        struct config c;
        struct why why = {""};

        if (space_sample(spec_space(s), &rng, 100, &c))
            return;
        blobs_init(&blobs, (size_t)64 << 20);
        if (spec_program(s, &c, &p, &blobs, &why) == ERR_OK)
            program_fini(&p);
        else if (!why.text[0]) {
            fprintf(stderr, "no words for a config that makes no program\n");
            abort();
        }
        blobs_fini(&blobs);
    }
}

static void try_text(const char *text, size_t n)
{
    struct blobs files;
    struct buf closed;
    struct spec *s = NULL;
    struct why why = {""};

    blobs_init(&files, 1 << 20);
    buf_init(&closed, 4 * MAX_TEXT);
    make_closed(text, n, &closed, &files);
    if (spec_open(buf_text(&closed), closed.len, &files, &s, &why) == ERR_OK)
        try_programs(s);
    else if (!why.text[0] || strchr(why.text, '\n')) {
        fprintf(stderr, "not one line of words: '%s'\n", why.text);
        abort();
    }
    spec_free(s);
    buf_fini(&closed);
    blobs_fini(&files);
}

static void try_list(const char *text)
{
    cJSON *list = NULL;
    struct why why = {""};

    if (value_list_parse(text, &list, &why) == ERR_OK)
        cJSON_Delete(list);
    else if (!why.text[0])
        abort();
}

/* Swaps, doubles, drops and inserts pieces; n stays below MAX_TEXT. */
static size_t mutate(struct rng *rng, char *text, size_t n)
{
    for (uint64_t k = 1 + rng_below(rng, 4); k > 0; k--) {
        const size_t at = 1 + (size_t)rng_below(rng, n - 1);
        const char *piece = pieces[rng_below(rng, sizeof pieces / sizeof *pieces)];
        const size_t n_piece = strlen(piece);

        if (rng_below(rng, 3) == 0) {
            text[at] = (char)rng_below(rng, 127);
        } else if (rng_below(rng, 2) && n > at + 20) {
            memmove(text + at, text + at + 5, n - at - 5);
            n -= 5;
        } else if (n + n_piece < MAX_TEXT - 1) {
            memmove(text + at + n_piece, text + at, n - at);
            memcpy(text + at, piece, n_piece);
            n += n_piece;
        }
    }
    text[n] = '\0';
    return n;
}

int main(int argc, char **argv)
{
    const long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 3000;
    struct rng rng;

    rng_init(&rng, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    for (long i = 0; i < iterations; i++) {
        char text[MAX_TEXT], list[64 + MAX_TEXT];
        size_t n = strlen(job_file_text);

        memcpy(text, job_file_text, n + 1);
        n = mutate(&rng, text, n);
        try_text(text, n);
        snprintf(list, sizeof list, "[1] + [2**i for i in range(0, 6)] + list(range(32, 1024+1, 32))");
        mutate(&rng, list, strlen(list));
        try_list(list);
    }
    printf("%ld jobs\n", iterations);
    return 0;
}
